"""Writes the stores that tools/bench/remote puts into a bucket: `make_remote.py FOLDER`.

FOLDER/32.zarr and FOLDER/1m.zarr: an array `data` of 128 MiB in shards of 256x256x256, with zstd chunks of
32x32x32 (64 KiB) and of 1 MiB. FOLDER/v2-32.zarr, FOLDER/v2-1m.zarr: a quarter of the same as Zarr v2, without
shards. FOLDER/arrays.zarr: 100 arrays in a group; FOLDER/consolidated.zarr: the same
with consolidated metadata. Written by zarr-python 3. What exists already is left alone.
"""
import pathlib
import shutil
import sys

import numcodecs
import numpy as np
import zarr
from make_store import smooth_with_noise

SHAPE, SHARDS = (512, 512, 256), (256, 256, 256)
CHUNKS = {"32.zarr": (32, 32, 32), "1m.zarr": (64, 64, 128)}


def write_volume(path, chunks):
    array = zarr.create_group(path).create_array("data", shape=SHAPE, chunks=chunks, shards=SHARDS, dtype="uint16")
    rng = np.random.default_rng(1)
    for start in np.ndindex(*(n // s for n, s in zip(SHAPE, SHARDS))):
        at = tuple(i * s for i, s in zip(start, SHARDS))
        array[tuple(slice(a, a + s) for a, s in zip(at, SHARDS))] = smooth_with_noise(at, SHARDS, rng)


def write_plain(path, chunks):
    array = zarr.create_group(path, zarr_format=2).create_array(
        "data", shape=SHARDS, chunks=chunks, dtype="uint16", compressors=numcodecs.Zstd())
    array[:] = smooth_with_noise((0, 0, 0), SHARDS, np.random.default_rng(1))


def write_arrays(path, consolidated):
    group = zarr.create_group(path)
    for number in range(100):
        array = group.create_array(f"array{number:03}", shape=(100,), chunks=(10,), shards=(50,), dtype="i4")
        array[:] = number
    if consolidated:
        zarr.consolidate_metadata(path)


def main():
    top = pathlib.Path(sys.argv[1])
    top.mkdir(parents=True, exist_ok=True)
    writers = {name: lambda path, c=chunks: write_volume(path, c) for name, chunks in CHUNKS.items()}
    writers |= {f"v2-{name}": lambda path, c=chunks: write_plain(path, c) for name, chunks in CHUNKS.items()}
    writers["arrays.zarr"] = lambda path: write_arrays(path, False)
    writers["consolidated.zarr"] = lambda path: write_arrays(path, True)
    for name, write in writers.items():
        if (top / name).exists():
            continue
        shutil.rmtree(top / "new", ignore_errors=True)
        write(top / "new")
        (top / "new").rename(top / name)


if __name__ == "__main__":
    main()
