"""Compares two builds of zarrfs: that of the package and the portable one, a change and what was before it.

    build/python/zarr3/bin/python tools/bench/programs.py READFILES ZARRFS ZARRFS [ROUNDS]     # 15 by default

READFILES is the program of tools/bench/readfiles.cc. In each round each of the two is mounted anew, in turn, and all files of an array
of 32x32x32 zstd chunks are read: for the first time, again, and (in the view java) decoded; then for seconds in a mount with ttl=0.1,
whose names are looked up ten times a second. (Over less than some of these periods the rate says when names expired.) Prints for each
the median rate, and the median over the rounds of the second one's speed as a share of the first one's. The store is in /dev/shm.
"""

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

SHAPE = (256, 256, 512)
# Each with its view, and how often all files are read.
TASKS = {"first touch": ("v2", 1), "warm": ("v2", 1), "decoded": ("java", 1)}
TASKS_OF_EXPIRING = {"warm, ttl=0.1": ("v2", 100)}


def rates(readfiles, zarrfs, store, mount, tasks, *options):
    subprocess.run([zarrfs, store, mount, *options], check=True)
    try:
        found = {}
        for task, (view, times) in tasks.items():
            folder = mount / view / "sharded"
            names = mount.with_suffix(f".{view}-{times}")
            if not names.exists():
                files = sorted(name for name in os.listdir(folder) if name[0].isdigit())
                names.write_text("".join(f"{folder}/{name}\n" for name in files) * times)
            said = json.loads(subprocess.run([readfiles, names], capture_output=True, text=True, check=True).stdout)
            found[task] = said["files"] / said["seconds"]
        return found
    finally:
        subprocess.run(["umount", mount], check=True)


def main():
    readfiles, *programs = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 15
    with tempfile.TemporaryDirectory(prefix="zarrfs-programs-", dir="/dev/shm") as folder:
        folder = Path(folder)
        group = zarr.open_group(folder / "store", mode="w")
        values = np.random.default_rng(1).normal(1000, 5, SHAPE).astype("u2")
        group.create_array("sharded", shape=SHAPE, chunks=(32, 32, 32), shards=(256, 256, 256), dtype="u2")[:] = values
        (folder / "mnt").mkdir()
        time.sleep(1)  # what is younger may not be cached
        seen = {(program, task): [] for task in (*TASKS, *TASKS_OF_EXPIRING) for program in programs}
        for number in range(rounds + 1):
            for program in programs if number % 2 else programs[::-1]:
                found = rates(readfiles, program, folder / "store", folder / "mnt", TASKS)
                found |= rates(readfiles, program, folder / "store", folder / "mnt", TASKS_OF_EXPIRING, "-o", "ttl=0.1")
                for task, rate in found.items():
                    if number > 0:  # (before that, pages of the programs and of the store were read)
                        seen[program, task].append(rate)
        for task in (*TASKS, *TASKS_OF_EXPIRING):
            first, second = (seen[program, task] for program in programs)
            shares = sorted(b / a for a, b in zip(first, second))
            print(f"{task:13} {statistics.median(first):8.0f} and {statistics.median(second):8.0f} files/s, the second one's share "
                  f"{statistics.median(shares):.3f} ({shares[len(shares) // 4]:.3f} to {shares[-1 - len(shares) // 4]:.3f} for half of the rounds)")


if __name__ == "__main__":
    main()
