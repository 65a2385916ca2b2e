"""Reads an array from a folder and from zip files of it, stored and deflated, in turn.

    build/python/zarr3/bin/python tools/bench/zip.py [ROUNDS [--json]]     # 5 by default

Of shards of 32x32x32 zstd chunks and of plain chunks of 1 MiB: all files of a new mount once, read by this program, and a scan by
zarr-python 2. Prints medians, the share of the folder's speed in the same round, and the processor time of the process that serves
the mount; or the shares alone, as JSON. Mounts with build/release/bin/zarrfs, on /dev/shm: everything is in memory.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr
from append import mounted

ROOT = Path(__file__).resolve().parents[2]
ZARR2 = ROOT / "build/python/zarr2/bin/python"
SHAPE = (256, 256, 512)


def fill(store):
    group = zarr.open_group(store, mode="w")
    values = np.random.default_rng(1).normal(1000, 5, SHAPE).astype("u2")
    group.create_array("sharded", shape=SHAPE, chunks=(32, 32, 32), shards=(256, 256, 256), dtype="u2")[:] = values
    group.create_array("plain", shape=SHAPE, chunks=(64, 64, 128), dtype="u2", compressors=None)[:] = values


def files_per_second(folder):
    names = sorted(name for name in os.listdir(folder) if name[0].isdigit())
    start = time.perf_counter()
    for name in names:
        with open(f"{folder}/{name}", "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    return len(names) / (time.perf_counter() - start)


def scan(folder):
    result = subprocess.run(
        [ZARR2, Path(__file__).with_name("read_array.py"), "zarr", folder, "scan"], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)["scan"]


def busy_seconds(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="zarrfs-zip-", dir="/dev/shm") as folder:
        folder = Path(folder)
        fill(folder / "store.zarr")
        for name, level in [("stored", "-0"), ("deflated", "-1")]:
            subprocess.run(["zip", "-q", "-r", level, folder / f"{name}.zip", "."], cwd=folder / "store.zarr", check=True)
        sources = {"folder": folder / "store.zarr", "stored": folder / "stored.zip", "deflated": folder / "deflated.zip"}
        time.sleep(1)  # what is younger may not be cached
        tasks = {"files/s": files_per_second, "scan, MB/s": scan}
        busy, seen = {}, {(array, task, source): [] for array in ["sharded", "plain"] for task in tasks for source in sources}
        mounts = (folder / f"mnt{number}" for number in itertools.count())
        for number in range(rounds):
            turn = list(sources)[number % 3:] + list(sources)[:number % 3]
            for array, task, source in [(a, t, s) for a in ["sharded", "plain"] for t in tasks for s in turn]:
                with mounted(sources[source], next(mounts)) as (mount, worker):
                    before = busy_seconds(worker)
                    seen[array, task, source].append(tasks[task](mount / "v2" / array))
                    busy.setdefault((array, task, source), []).append(busy_seconds(worker) - before)
        found = []
        for (array, task, source), values in seen.items():
            shares = [value / of_folder for value, of_folder in zip(values, seen[array, task, "folder"])]
            found.append((array, task, source, statistics.median(shares)))
            if "--json" in sys.argv:
                continue
            print(f"{array:8} {task:11} {source:9} {statistics.median(values):8.0f}"
                  f"  share {statistics.median(shares):5.2f} ({min(shares):.2f} to {max(shares):.2f})"
                  f"  worker busy for {statistics.median(busy[array, task, source]):.2f} s")
        if "--json" in sys.argv:
            print(json.dumps(found))


if __name__ == "__main__":
    main()
