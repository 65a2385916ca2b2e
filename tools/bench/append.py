"""Appends to an array, row of shards by row of shards, while programs read what it had before.

    build/python/zarr3/bin/python tools/bench/append.py [APPENDS]     # 10,000 by default

Prints how much memory the worker took for it, and how many requests a pass over the old chunks costs afterwards: both are to be
next to nothing. The writer is zarr-python. Mounts with build/release/bin/zarrfs.
"""

import contextlib
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import zarr

ROWS = 2000  # of shards, before
SIDE = 4  # elements of a shard along each axis; chunks have half as many
ZARRFS = Path(__file__).resolve().parents[2] / "build/release/bin/zarrfs"


def elements(row):
    return np.full((SIDE, SIDE), row % 251, "u1")


def figures(mount):
    time.sleep(0.2)  # the text is as old as that
    sums = {}
    for line in (mount / ".zarrfs/metrics").read_text().splitlines():
        if line.startswith("zarrfs_requests_total"):
            operation = line.split('"')[1]
            sums[operation] = sums.get(operation, 0) + int(line.rsplit(" ", 1)[1])
    return sums


def memory(worker):
    status = Path(f"/proc/{worker}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def check(mount, row):
    data = (mount / f"v2/t/{2 * row}.0").read_bytes()
    if data != elements(row).tobytes()[: len(data)] or not data:
        sys.exit(f"row {row}: wrong bytes")


def main():
    appends = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(prefix="zarrfs-append-") as folder:
        store, mount = Path(folder) / "store.zarr", Path(folder) / "mnt"
        array = zarr.open_group(store, mode="w").create_array(
            "t", shape=(ROWS * SIDE, SIDE), chunks=(SIDE // 2, SIDE // 2), shards=(SIDE, SIDE), dtype="u1", compressors=None, fill_value=255
        )
        array[:] = np.concatenate([elements(row) for row in range(ROWS)])
        time.sleep(1.5)  # what was written this instant is looked up again
        with mounted(store, mount) as (_, worker):
            run(array, mount, worker, appends)


@contextlib.contextmanager
def mounted(store, mount):
    """The mount of a store, and the process that serves it."""
    mount.mkdir()
    daemon = subprocess.Popen([ZARRFS, store, mount, "-f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not os.path.ismount(mount):
            time.sleep(0.05)
        yield mount, subprocess.run(["pgrep", "-P", str(daemon.pid)], capture_output=True, text=True).stdout.split()[0]
    finally:
        subprocess.run(["umount", mount], check=False)
        daemon.wait()


def run(array, mount, worker, appends):
    old = range(0, ROWS, 3)
    for _ in range(2):  # what was read before the store was watched is read again
        for row in old:
            check(mount, row)
        time.sleep(1.5)
    inode = (mount / "v2/t/0.0").stat().st_ino
    before = memory(worker)
    is_over, reads = threading.Event(), [0]

    def read():
        while not is_over.is_set():
            check(mount, random.choice(old))
            reads[0] += 1

    readers = [threading.Thread(target=read, daemon=True) for _ in range(2)]
    for reader in readers:
        reader.start()
    start = time.monotonic()
    for row in range(ROWS, ROWS + appends):
        array.append(elements(row), axis=0)
    seconds = time.monotonic() - start
    is_over.set()
    for reader in readers:
        reader.join()
    time.sleep(1.5)  # changes that go on are gathered for a second
    check(mount, ROWS + appends - 1)
    after = memory(worker)
    warm = figures(mount)
    for row in old:
        check(mount, row)
    cost = {operation: count - warm.get(operation, 0) for operation, count in figures(mount).items()}
    print(f"{appends} appends to {ROWS} shards in {seconds:.0f} s, {reads[0]} reads of old chunks meanwhile")
    print(f"memory of the worker: {before:.1f} MiB before, {after:.1f} MiB after, {after - before:+.2f} MiB")
    print(f"inode of an old chunk: {'kept' if (mount / 'v2/t/0.0').stat().st_ino == inode else 'another'}")
    print(f"a pass over {len(old)} old chunks then: {cost['lookup']} look-ups, {cost['read']} reads")


if __name__ == "__main__":
    main()
