"""Writes the data that tools/bench/run reads: `make_store.py FOLDER [--quick]`, with zarr-python 3.

FOLDER/NAME/ for each of the NAMEs below holds
    sharded.zarr/  a group with one sharded v3 array, `data`
    plain.zarr/    the same array as a plain v2 directory, byte for byte the same chunks
    table          "name path offset length" for every file of plain.zarr: where its bytes lie
A NAME that exists already is left alone.
"""
import argparse
import itertools
import json
import math
import os
import shutil
import struct

import numpy as np
import zarr

MISSING = (1 << 64) - 1  # offset and length of an inner chunk that its shard does not hold

# name -> shape, chunk shape, shard shape, zstd level or None for raw chunks. All are uint16.
FULL = {
    "volume": ((512, 1024, 512), (32, 32, 32), (256, 256, 256), 3),
    "32k": ((20000 << 14,), (1 << 14,), (5000 << 14,), None),
    "4m": ((400 << 21,), (1 << 21,), (100 << 21,), None),
}
QUICK = {
    "volume": ((256, 256, 256), (32, 32, 32), (128, 128, 256), 3),
    "32k": ((4000 << 14,), (1 << 14,), (1000 << 14,), None),
    "4m": ((40 << 21,), (1 << 21,), (20 << 21,), None),
}


def smooth_with_noise(start, shape, rng):
    """A field as an instrument sees it, at the given place of the volume; zstd halves it."""
    axes = np.ogrid[tuple(slice(a, a + n) for a, n in zip(start, shape))]
    field = sum(np.sin(axis / (60.0 + 13 * i)) for i, axis in enumerate(axes)).astype("f4")
    noise = rng.standard_normal(shape, dtype="f4")
    return (8000 + 150 * field + 12 * noise).astype("<u2")


def write_sharded(path, shape, chunks, shards, level):
    codec = None if level is None else zarr.codecs.ZstdCodec(level=level)
    array = zarr.create_group(path).create_array(
        "data", shape=shape, chunks=chunks, shards=shards, dtype="uint16", compressors=codec
    )
    rng = np.random.default_rng(1)
    for start in itertools.product(*(range(0, n, s) for n, s in zip(shape, shards))):
        if level is None:
            block = rng.integers(1, 1 << 16, shards, dtype="uint16")
        else:
            block = smooth_with_noise(start, shards, rng)
        array[tuple(slice(a, a + s) for a, s in zip(start, shards))] = block


def inner_chunks(path, shape, chunks, shards):
    """Yields (v2 key, shard file, offset, length) for the layout that write_sharded makes."""
    per_shard = [s // c for s, c in zip(shards, chunks)]
    count = math.prod(per_shard)
    for shard in itertools.product(*(range(n // s) for n, s in zip(shape, shards))):
        file = os.path.join(path, "data", "c", *map(str, shard))
        with open(file, "rb") as f:
            f.seek(-(16 * count + 4), os.SEEK_END)  # the index, then its crc32c
            index = struct.iter_unpack("<QQ", f.read(16 * count))
        inside = itertools.product(*map(range, per_shard))
        for position, (offset, length) in zip(inside, index):
            if offset != MISSING:
                key = (s * n + p for s, n, p in zip(shard, per_shard, position))
                yield ".".join(map(str, key)), file, offset, length


def write_plain(path, table, shape, chunks, level, ranges):
    os.mkdir(path)
    metadata = os.path.join(path, ".zarray")
    with open(metadata, "w") as f:
        compressor = None if level is None else {"id": "zstd", "level": level}
        json.dump({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<u2", "order": "C",
                   "fill_value": 0, "filters": None, "compressor": compressor}, f)
    with open(table, "w") as lines:
        print(".zarray", metadata, 0, os.path.getsize(metadata), file=lines)
        for key, file, offset, length in ranges:
            print(key, file, offset, length, file=lines)
            with open(file, "rb") as shard, open(os.path.join(path, key), "wb") as chunk:
                shard.seek(offset)
                chunk.write(shard.read(length))


def make(folder, shape, chunks, shards, level):
    unfinished = folder + ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    os.makedirs(unfinished)
    sharded = os.path.join(unfinished, "sharded.zarr")
    write_sharded(sharded, shape, chunks, shards, level)
    table = os.path.join(unfinished, "table")
    write_plain(os.path.join(unfinished, "plain.zarr"), table, shape, chunks, level,
                inner_chunks(sharded, shape, chunks, shards))
    with open(table) as f:
        lines = f.read().replace(unfinished + "/", folder + "/")
    with open(table, "w") as f:
        f.write(lines)
    os.rename(unfinished, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--quick", action="store_true", help="a fraction of the size")
    args = parser.parse_args()
    for name, layout in (QUICK if args.quick else FULL).items():
        folder = os.path.join(os.path.abspath(args.folder), name)
        if not os.path.exists(folder):
            print("writing", folder, flush=True)
            make(folder, *layout)


if __name__ == "__main__":
    main()
