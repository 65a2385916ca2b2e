"""Compares an Icechunk repository through a mount with the same shards as a plain store, and with icechunk itself, in turns.

    python tools/bench/icechunk_rows.py [ROUNDS [REFERENCES]]     # 5 and 1,000,000 by default
    python tools/bench/icechunk_rows.py --remote [ROUNDS]     # behind a slow link: icechunk_remote.py

Needs a Python environment with icechunk and zarr-python 3. Prints, as medians and as shares in the same round:

    scan        every chunk file in v2, of the repository and of the plain store
    random      single chunks in random order by zarr-python 3, through v3 and by icechunk, with 1 thread and with 16
    references  an array of that many virtual references, one file for ten: until a mount shows the first chunk, what a look-up
                takes then, and the memory of the worker

The array is as dynamical.org publishes AIFS: 1x61x241x240 in shards of 1x61x723x1440, here with fewer times and levels. Mounts with
build/release/bin/zarrfs, on /dev/shm: everything is in memory.
"""

import concurrent.futures
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import icechunk
import numpy as np
import zarr
from append import memory, mounted

SHAPE, SHARD, CHUNK = (4, 8, 721, 1440), (1, 8, 723, 1440), (1, 8, 241, 240)
READS = 200  # of random chunks
THREADS = 16


def fill(group):
    values = np.random.default_rng(1).normal(280, 10, SHAPE).astype("f4").view("u4") & 0xFFFFF000  # 11 bits are kept
    array = group.create_array("t", shape=SHAPE, chunks=CHUNK, shards=SHARD, dtype="f4", fill_value=float("nan"),
                               compressors=zarr.codecs.BloscCodec(cname="zstd", clevel=3, shuffle="shuffle", typesize=4))
    array[:] = values.view("f4")


def create(path):
    return icechunk.Repository.create(icechunk.local_filesystem_storage(str(path)))


def scan(folder):
    """MB a second of all its files."""
    start, size = time.perf_counter(), 0
    for name in sorted(name for name in os.listdir(folder) if name[0].isdigit()):
        with open(folder / name, "rb", buffering=0) as file:
            while part := file.read(1 << 20):
                size += len(part)
    return size / (time.perf_counter() - start) / 1e6


def random_chunks(array, threads):
    """Chunks a second."""
    counts = [-(-size // chunk) for size, chunk in zip(SHAPE, CHUNK, strict=True)]
    generator = random.Random(1)
    places = [[generator.randrange(count) for count in counts] for _ in range(READS)]

    def one(place):
        return array[tuple(slice(at * chunk, (at + 1) * chunk) for at, chunk in zip(place, CHUNK, strict=True))].size

    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, places))
    return READS / (time.perf_counter() - start)


def show(label, rows, unit):
    columns = list(zip(*rows, strict=True))
    first, other = (statistics.median(column) for column in columns)
    print(f"{label}: {first:,.0f} beside {other:,.0f} {unit}, {statistics.median(a / b for a, b in rows):.2f} x", flush=True)


def compare(folder, rounds):
    plain, repository = folder / "plain.zarr", folder / "repository"
    fill(zarr.open_group(plain, mode="w"))
    repo = create(repository)
    session = repo.writable_session("main")
    fill(zarr.open_group(session.store, mode="w"))
    session.commit("filled")
    scans, by_threads = [], {1: [], THREADS: []}
    for number in range(rounds):
        with mounted(plain, folder / f"plain{number}") as (beside, _), mounted(repository, folder / f"mnt{number}") as (mount, _):
            scans.append((scan(mount / "v2/t"), scan(beside / "v2/t")))
            through = zarr.open_array(mount / "v3/t", mode="r")
            itself = zarr.open_group(repo.readonly_session("main").store, mode="r")["t"]
            for threads, rows in by_threads.items():
                rows.append((random_chunks(through, threads), random_chunks(itself, threads)))
    show("scan of v2, repository beside plain store", scans, "MB/s")
    for threads, rows in by_threads.items():
        show(f"random chunks, {threads} threads, v3 beside icechunk", rows, "chunks/s")


def references(folder, count):
    repo = create(folder / "references")
    session = repo.writable_session("main")
    zarr.open_group(session.store, mode="w").create_array("t", shape=(count,), chunks=(1,), dtype="u1", compressors=None)
    step = 100_000
    for first in range(0, count, step):
        session.store.set_virtual_refs("t", [
            icechunk.VirtualChunkSpec([at], f"s3://bucket/data/of-some-length/file{at // 10:08}.nc", at % 10 * 1000, 1000, None)
            for at in range(first, min(first + step, count))], validate_containers=False)
    session.commit("referred")
    manifest = max(path.stat().st_size for path in (folder / "references/manifests").iterdir())
    with mounted(folder / "references", folder / "of-references") as (mount, worker):
        before, start = memory(worker), time.perf_counter()
        os.stat(mount / "v2/t/0")
        ready = time.perf_counter() - start
        places = random.Random(1).sample(range(count), min(count, 10_000))
        start = time.perf_counter()
        for place in places:
            os.stat(mount / f"v2/t/{place}")
        each = (time.perf_counter() - start) / len(places)
        print(f"{count:,} references in a manifest of {manifest / 1e6:.1f} MB: first chunk after {ready * 1e3:.0f} ms, "
              f"then {each * 1e6:.0f} us a look-up, {memory(worker) - before:+.1f} MiB")


def main():
    if sys.argv[1:2] == ["--remote"]:
        import icechunk_remote
        return icechunk_remote.run(int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="zarrfs-icechunk-", dir="/dev/shm") as folder:
        compare(Path(folder), rounds)
        references(Path(folder), count)


if __name__ == "__main__":
    main()
