"""Lists, and then looks up, the chunks of an unsharded array of very many.

    build/python/zarr3/bin/python tools/bench/many_chunks.py [CHUNKS]     # 1,000,000 by default

Prints how long the first and the last name of a listing take through the mount and in the plain folder, and how much memory the
worker took for the listing and for each chunk that was looked up then. Mounts with build/release/bin/zarrfs. (The chunks are links
to few files in /dev/shm.)
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import zarr
from append import figures, memory, mounted

NAMES_OF_A_FILE = 30_000  # of ext4 no file may have more than 65,000


def fill(store, count):
    array = zarr.open_group(store, mode="w").create_array("t", shape=(count,), chunks=(1,), dtype="u1", compressors=None, fill_value=255)
    array[0] = 7
    folder = store / "t/c"
    for name in range(1, count):
        if name % NAMES_OF_A_FILE == 0:
            (folder / str(name)).write_bytes(b"\7")
        else:
            os.link(folder / str(name // NAMES_OF_A_FILE * NAMES_OF_A_FILE), folder / str(name))


def listed(folder):
    """Seconds until the first name, and until the last."""
    start = time.monotonic()
    with os.scandir(folder) as entries:
        next(entries)
        first = time.monotonic() - start
        count = 1 + sum(1 for _ in entries)
    return first, time.monotonic() - start, count


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="zarrfs-chunks-", dir="/dev/shm") as folder:
        store = Path(folder) / "store.zarr"
        fill(store, count)
        with mounted(store, Path(folder) / "mnt") as (mount, worker):
            (mount / "v2/t/0").stat()
            before = memory(worker)
            for label, path in [("plain folder", store / "t/c"), ("v2/t", mount / "v2/t"), ("v3/t/c", mount / "v3/t/c")]:
                first, last, names = listed(path)
                print(f"listing of {label}: first name after {first * 1e3:.0f} ms, all {names:,} after {last:.1f} s")
            print(f"memory of the worker: {before:.1f} MiB before, {memory(worker) - before:+.2f} MiB by the listings")
            before, start = memory(worker), time.monotonic()
            for name in range(count):
                os.stat(mount / f"v2/t/{name}")
            seconds, grown = time.monotonic() - start, memory(worker) - before
            print(f"{count:,} look-ups in {seconds:.0f} s ({figures(mount)['lookup']:,} requests): {grown:+.1f} MiB, {grown * 2**20 / count:.1f} bytes each")


if __name__ == "__main__":
    main()
