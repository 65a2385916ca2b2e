"""Reads one variable of a NetCDF file in the view `nc` from its begin to its end, and what that is to be compared with.

    build/python/zarr3/bin/python tools/bench/nc.py [ROUNDS]     # 5 by default

Prints medians, in MB/s of the file: what decompresses all chunks in one thread (numcodecs, whose input is in memory); `cp` of the file
from a new mount to a file in memory; the same reader again once the kernel has the pages; and the same of a real NetCDF file. One
array has slabs of chunks (one chunk along the first axis, all along the others) that fit into `cache`; of the next they do not, and its
chunks are decoded once for each part of a slab that fits. Mounts with build/release/bin/zarrfs, or $ZARRFS_BIN; stores are on /dev/shm.
"""

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numcodecs
import numpy as np
import zarr

ZARRFS = Path(os.environ.get("ZARRFS_BIN") or Path(__file__).resolve().parents[2] / "build/release/bin/zarrfs")
SHAPE = (48, 1024, 1024)
BYTES = int(np.prod(SHAPE)) * 4
CHUNKS = {"planes": (1, 512, 1024), "blocks": (16, 128, 128)}
# (array, options, what its slabs are)
CASES = [("planes", "", "4 MiB"), ("blocks", "", "64 MiB"), ("blocks", "cache=32M", "64 MiB, twice the cache")]


def fill(folder):
    values = np.cumsum(np.random.default_rng(1).normal(0, 1, SHAPE).astype("f4").round(1), axis=2, dtype="f4")
    for name, chunks in CHUNKS.items():
        root = zarr.create_group(folder / f"{name}.zarr")
        shards = tuple(-(-length // chunk) * chunk for length, chunk in zip((16, 512, 1024), chunks))
        array = root.create_array(name, shape=SHAPE, chunks=chunks, shards=shards, dtype="f4", dimension_names=("t", "y", "x"))
        array[:] = values


@contextlib.contextmanager
def mounted(store, point, options):
    subprocess.run([ZARRFS, store, point, *(["-o", options] if options else [])], check=True, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        subprocess.run(["umount", point], check=True)


def rate(work):
    start = time.perf_counter()
    work()
    return BYTES / (time.perf_counter() - start) / 1e6


def decoding(chunks):
    codec = numcodecs.Zstd()

    def work():
        for chunk in chunks:
            codec.decode(chunk)

    return rate(work)


def reading(path):
    def work():
        with open(path, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass

    return rate(work)


def copying(path, target):
    speed = rate(lambda: subprocess.run(["cp", path, target], check=True))
    target.unlink()
    return speed


def measure(folder, name, options):
    store, point = folder / f"{name}.zarr", folder / "mnt"
    figures = {}
    with mounted(store, point, options):
        chunks = [path.read_bytes() for path in sorted((point / "v2" / name).iterdir()) if not path.name.startswith(".")]
    figures["decoding"] = decoding(chunks)
    with mounted(store, point, options):
        file = point / "nc" / f"{name}.nc"
        figures["cp"] = copying(file, folder / "copy")
        figures["again"] = reading(file)
    with mounted(store, point, options):
        shutil.copyfile(point / "nc" / f"{name}.nc", folder / "real.nc")
    reading(folder / "real.nc")
    figures["real file"] = reading(folder / "real.nc")
    (folder / "real.nc").unlink()
    return figures


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="zarrfs-nc-", dir="/dev/shm") as folder:
        folder = Path(folder)
        (folder / "mnt").mkdir()
        fill(folder)
        seen = {case: [] for case in CASES}
        for _ in range(rounds):
            for case in CASES:
                seen[case].append(measure(folder, *case[:2]))
        for (name, options, slab), figures in seen.items():
            median = {what: statistics.median(figure[what] for figure in figures) for what in figures[0]}
            words = ", ".join(f"{what} {speed:.0f}" for what, speed in median.items())
            share = statistics.median(figure["cp"] / figure["decoding"] for figure in figures)
            warm = statistics.median(figure["again"] / figure["real file"] for figure in figures)
            print(f"{name} {options or 'as by default'} (slabs of {slab}): {words}; cp {share:.2f} of decoding, again {warm:.2f} of a real file")


if __name__ == "__main__":
    main()
