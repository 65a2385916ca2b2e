"""The rows of tools/bench/remote that measure zarrfs."""
import itertools
import json
import os
import statistics
import subprocess
import tempfile
import time

from mounts import mounted
from remote_bench import BUILD, HERE, MISSING, read_indexes, unread_names

ORDERS = ("f", "reverse", "axis0", "axis1", "axis2")


def scans(bench, store, orders):
    """zarr-python 2 on a new mount, in each order."""
    for order in orders:
        with bench.link() as (url, passed), bench.mount(url, store) as mount:
            passed.restart()
            answer = bench.read("zarr2", "zarr", mount.inside, order)
            if answer is None:
                raise RuntimeError("zarr-python 2 failed")
            bench.check((store, order), answer, "zarr-python 2")
            figures = {}
            if "reading_seconds" in answer:
                full = bench.seconds(store) + bench.seconds_until_it_is_a_scan()
                decoding = answer["seconds"] - answer["reading_seconds"]
                figures["reading_percent"] = bench.share(store, answer["reading_seconds"])
                figures["limit_percent"] = bench.share(store, full + decoding)
            bench.add(f"{store} {order}: zarr-python 2", link_percent=bench.share(store, answer["seconds"]), **figures,
                      **bench.traffic(store, passed), rss_mib=mount.memory_mib("VmHWM"))


def at_once(bench, store):
    """Several readers of one array on one mount."""
    for who, readers in (("two of zarr-python 2, a half each", [("zarr2", "zarr", part) for part in ("part:0/2", "part:1/2")]),
                         ("dask, 4 processes", [("ome", "dask", "scan")])):
        with bench.link() as (url, passed), bench.mount(url, store) as mount:
            passed.restart()
            answers = bench.read_at_once([(environment, reader, mount.inside, task) for environment, reader, task in readers])
            if None in answers:
                bench.add(f"{store} scan: {who}", missing=MISSING)
                continue
            seconds = max(answer["seconds"] for answer in answers)
            bench.add(f"{store} scan: {who}", link_percent=bench.share(store, seconds), **bench.traffic(store, passed))


def randoms(bench, store):
    """A program that reads files, and zarr-python 2; the indexes are known."""
    for threads, count in ((1, 100), (16, 800)):
        with bench.link() as (url, passed), bench.mount(url, store) as mount:
            names = unread_names(mount.inside, count)
            passed.restart()
            answer = bench.read_files(names, threads)
            requests, down = passed()
            size = answer["bytes"] / len(names)
            limit = min(threads / (bench.args.trip / 1000 + size / bench.rate), bench.rate / size)
            bench.add(f"{store} random T={threads}: files", chunks_per_s=answer["files_per_s"], limit=limit,
                      of_limit=answer["files_per_s"] / limit, GETs_per_chunk=requests / len(names),
                      bytes_of_read=down / answer["bytes"])
        with bench.link() as (url, _), bench.mount(url, store) as mount:
            read_indexes(mount.inside)
            answer = bench.read("zarr2", "zarr", mount.inside, f"random:{count}", threads)
            if answer:
                bench.add(f"{store} random T={threads}: zarr-python 2", chunks_per_s=answer["pieces"] / answer["seconds"])


# Of the row `crowd`: less than the stores have, so that chunks are forgotten.
CACHES = {"cache": 32, "index_cache": 8, "node_cache": 8}  # MiB
BESIDE = 64  # MiB that all processes may take beyond


def crowd(bench, store):
    """64 readers of all chunks at random."""
    options = [f"{name}={mib}M" for name, mib in CACHES.items()]
    with bench.link() as (url, passed), bench.mount(url, store, *options) as mount:
        names = unread_names(mount.inside, 2 * bench.chunks[store])
        passed.restart()
        answer = bench.read_files(names, 64)
        _, down = passed()
        bench.add(f"{store} random T=64: files", chunks_per_s=answer["files_per_s"], median_ms=answer["median_ms"],
                  slowest_of_median=answer["slowest_ms"] / answer["median_ms"], bytes_of_read=down / answer["bytes"],
                  memory_mib=mount.memory_shared_once_mib(),
                  memory_of_bound=mount.memory_shared_once_mib() / (sum(CACHES.values()) + BESIDE))


ROUNDS = 5  # of scans that take less than a second


def from_disk(bench, store):
    """Scans, each on a new mount, of what the first one has left on the disk, and in turns of the store in a local folder: the
    medians. `trips_seconds`: what four trips take, to learn which versions there are by now (of documents, of the shards)."""
    local = ([bench.args.bin / "zarrfs", BUILD / "bench/remote/stores" / store, "MNT", "-f"], "v2/data")
    seconds = {"first": [], "again": [], "local": []}
    with tempfile.TemporaryDirectory(dir=bench.scratch) as cache, bench.link() as (url, passed):
        for round_ in range(ROUNDS + 1):
            with bench.mount(url, store, f"disk_cache={cache}") as mount:
                passed.restart()
                answer = bench.read("zarr2", "zarr", mount.inside, "scan")
                requests, down = passed()
                bench.check((store, "scan"), answer, "zarr-python 2")
                seconds["again" if round_ else "first"].append(answer["seconds"])
                if round_ == 0:
                    time.sleep(3)  # until all of it is written
            with mounted(local, bench.scratch) as mount:
                seconds["local"].append(bench.read("zarr2", "zarr", mount.inside, "scan")["seconds"])
    bench.add(f"{store} disk_cache: first", seconds=seconds["first"][0])
    bench.add(f"{store} disk_cache: again", seconds=statistics.median(seconds["again"]), requests=requests,
              bytes_of_stored=down / bench.stored[store], trips_seconds=4 * bench.args.trip / 1000)
    bench.add(f"{store} in a local folder", seconds=statistics.median(seconds["local"]))


def listings(bench):
    """`ls -la` also shows the documents of the group, of which .zmetadata is made of those of all nodes."""
    for store, hidden in itertools.product(("arrays.zarr", "consolidated.zarr"), (False, True)):
        with bench.link() as (url, passed), bench.mount(url, store) as mount:
            passed.restart()
            start = time.perf_counter()
            entries = [entry.stat(follow_symlinks=False) for entry in os.scandir(mount.point / "v2")
                       if hidden or not entry.name.startswith(".")]
            seconds = time.perf_counter() - start
            bench.add(f"{store}: ls -l{'a' * hidden}", seconds=seconds, entries=len(entries), requests=passed()[0])


def ready(bench):
    """From the command until the mount answers."""
    with bench.link() as (url, passed):
        start = time.perf_counter()
        with bench.mount(url, "32.zarr"):
            seconds = time.perf_counter() - start
            bench.add("mount ready", seconds=seconds, trips=seconds * 1000 / bench.args.trip, requests=passed()[0])


def local_zip(bench):
    """tools/bench/zip.py, whose store is local."""
    command = [BUILD / "python/zarr3/bin/python", HERE / "zip.py", "3", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600)
    if done.returncode != 0:
        return bench.add("zip on a local disk", missing=MISSING)
    shares = json.loads(done.stdout)
    bench.add("zip on a local disk", **{f"{array}, {task}": share for array, task, source, share in shares if source == "stored"})
