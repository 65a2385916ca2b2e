"""checksums.py OLD NEW ROUNDS: what checking the checksums that `v2` leaves out costs.

Mounts the same stores with two programs `zarrfs`, by turns, and reads each chunk file once after the mount. Prints the median time of
a file and NEW/OLD, for chunks of 64 KiB, 1 MiB and 16 MiB, with and without crc32c.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import zarr

SIZES = {"64 KiB": 1 << 16, "1 MiB": 1 << 20, "16 MiB": 1 << 24}
BYTES = 64 << 20  # of each array
CODECS = {"crc32c": zarr.codecs.Crc32cCodec(), "none": None}


def write(folder):
    values = np.random.default_rng(1).integers(0, 256, BYTES, "u1")
    for size in SIZES.values():
        for name, codec in CODECS.items():
            array = zarr.create_array(folder / f"{name}-{size}.zarr", shape=(BYTES,), shards=(BYTES,), chunks=(size,), dtype="u1", compressors=codec)
            array[:] = values


def first_touch(program, store, count, point):
    """Seconds a chunk file."""
    server = subprocess.Popen([program, store, point, "-f", "-o", "view=v2"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(2000):
            if (point / ".zarray").exists():
                break
            time.sleep(0.005)
        buffer = bytearray(1 << 20)
        begin = time.perf_counter()
        for chunk in range(count):
            with open(point / str(chunk), "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass
        return (time.perf_counter() - begin) / count
    finally:
        subprocess.run(["fusermount3", "-u", point], check=True)
        server.wait(30)


def main(old, new, rounds):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = pathlib.Path(name)
        write(folder)
        point = folder / "mnt"
        point.mkdir()
        print(f"{'chunks':8} {'checksum':8} {'old, us':>10} {'new, us':>10} {'new/old':>8}")
        for label, size in SIZES.items():
            for codec in CODECS:
                store = folder / f"{codec}-{size}.zarr"
                times = {old: [], new: []}
                for turn in range(int(rounds)):
                    for program in (old, new) if turn % 2 == 0 else (new, old):
                        times[program].append(first_touch(program, store, BYTES // size, point))
                before, after = (statistics.median(times[program]) for program in (old, new))
                print(f"{label:8} {codec:8} {before * 1e6:10.0f} {after * 1e6:10.0f} {after / before:8.2f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
