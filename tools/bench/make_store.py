"""Writes the data that tools/bench/run reads: `make_store.py FOLDER [--quick]`.

FOLDER/NAME/ for each NAME of FULL below, written by zarr-python 3, holds
    sharded.zarr/  a group with one sharded v3 array, `data`
    plain.zarr/    the same array as a plain v2 directory, byte for byte the same chunks
    table          "name path offset length" for every file of plain.zarr: where its bytes lie
    image.sqfs     plain.zarr/ as a squashfs image that compresses nothing

Of what is large by its number of chunks or arrays (LARGE) only what is said there is written, by
this program itself: zarr-python would take hours. A NAME that exists already is left alone.
"""
import argparse
import itertools
import json
import math
import os
import shutil
import struct
import subprocess

import google_crc32c
import numpy as np
import zarr
from chunks import CHUNK, raw_chunk, zstd_chunk

MISSING = (1 << 64) - 1  # offset and length of an inner chunk that its shard does not hold

# name -> shape, chunk shape, shard shape, zstd level or None for raw chunks. All are uint16. The chunks of
# "decoded" are read decompressed, in the view netcdf.
FULL = {
    "volume": ((512, 1024, 512), (32, 32, 32), (256, 256, 256), 3),
    "decoded": ((256, 1024, 1024), (64, 128, 64), (128, 512, 512), 3),
    "4k": ((10000 << 11,), (1 << 11,), (2500 << 11,), None),
    "32k": ((20000 << 14,), (1 << 14,), (5000 << 14,), None),
    "256k": ((3000 << 17,), (1 << 17,), (1000 << 17,), None),
    "4m": ((400 << 21,), (1 << 21,), (100 << 21,), None),
}
QUICK = {
    "volume": ((128, 128, 128), (32, 32, 32), (64, 64, 128), 3),
    "decoded": ((64, 256, 256), (64, 128, 64), (64, 256, 128), 3),
    "4k": ((500 << 11,), (1 << 11,), (250 << 11,), None),
    "32k": ((500 << 14,), (1 << 14,), (250 << 14,), None),
    "256k": ((100 << 17,), (1 << 17,), (50 << 17,), None),
    "4m": ((10 << 21,), (1 << 21,), (5 << 21,), None),
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
    sharded = os.path.join(folder, "sharded.zarr")
    write_sharded(sharded, shape, chunks, shards, level)
    table = os.path.join(folder, "table")
    plain = os.path.join(folder, "plain.zarr")
    write_plain(plain, table, shape, chunks, level, inner_chunks(sharded, shape, chunks, shards))
    image = os.path.join(folder, "image.sqfs")
    command = ["mksquashfs", plain, image, "-noI", "-noD", "-noF", "-noX", "-no-progress", "-quiet"]
    subprocess.run(command, check=True)


# name -> chunks of the array along each axis, and of a shard. chunks.py has what a
# chunk holds: zstd frames in "zep2", raw bytes in the others.
LARGE = {
    "names": ((1_000_000,), (100_000,)),
    "zep2": ((128, 128, 630), (32, 32, 30)),  # 10.3 million chunks in 336 shards
    "index": ((1_000_000,), (1_000_000,)),
}
LARGE_QUICK = {
    "names": ((20_000,), (5_000,)),
    "zep2": ((32, 32, 60), (16, 16, 15)),
    "index": ((100_000,), (100_000,)),
}
ARRAYS = {False: (100, 1000), True: (4, 100)}  # groups, and arrays in each


def write_json(path, document):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump(document, f)


def array_document(chunks, per_shard, codecs=()):
    """zarr.json of an array of bytes, along the last axis CHUNK of them in a chunk."""
    def elements(counts):
        return [*counts[:-1], counts[-1] * CHUNK]

    sharding = {"chunk_shape": elements([1] * len(chunks)),
                "codecs": [{"name": "bytes"}, *codecs],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
                                 {"name": "crc32c"}],
                "index_location": "end"}
    return {"zarr_format": 3, "node_type": "array", "shape": elements(chunks), "data_type": "uint8",
            "chunk_grid": {"name": "regular",
                           "configuration": {"chunk_shape": elements(per_shard)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0,
            "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
            "attributes": {}}


def written_order(per_shard):
    """In which order zarr-python writes the chunks of a shard: Morton's."""
    places = np.indices(per_shard).reshape(len(per_shard), -1)
    morton = np.zeros(places.shape[1], dtype=np.uint64)
    for bit in range(20):
        for axis, place in enumerate(places):
            of_place = (place >> bit & 1).astype(np.uint64)
            morton |= of_place << np.uint64(bit * len(per_shard) + axis)
    return np.argsort(morton)


def write_shard(path, first, order, chunk_of):
    """The chunks numbered from `first` on, as many as `order` has."""
    chunks = [chunk_of(first + number) for number in order.tolist()]
    lengths = np.fromiter(map(len, chunks), dtype="<u8", count=len(chunks))
    index = np.empty((len(chunks), 2), dtype="<u8")
    index[order, 0] = np.cumsum(lengths) - lengths
    index[order, 1] = lengths
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(b"".join(chunks))
        f.write(index.data)
        f.write(struct.pack("<I", google_crc32c.value(index.tobytes())))


def make_large(folder, chunks, per_shard, is_compressed=False):
    array = os.path.join(folder, "sharded.zarr", "data")
    write_json(os.path.join(array, "..", "zarr.json"), {"zarr_format": 3, "node_type": "group"})
    zstd = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
    document = array_document(chunks, per_shard, [zstd] if is_compressed else [])
    write_json(os.path.join(array, "zarr.json"), document)
    order = written_order(per_shard)
    shards = itertools.product(*(range(n // p) for n, p in zip(chunks, per_shard)))
    for i, shard in enumerate(shards):
        write_shard(os.path.join(array, "c", *map(str, shard)), i * len(order), order,
                    zstd_chunk if is_compressed else raw_chunk)


def make_names(folder, chunks, per_shard):
    """Beside the store, plain.zarr/: empty files of the same names."""
    make_large(folder, chunks, per_shard)
    os.mkdir(os.path.join(folder, "plain.zarr"))
    for i in range(chunks[0]):
        os.close(os.open(os.path.join(folder, "plain.zarr", str(i)), os.O_CREAT | os.O_WRONLY))


def make_arrays(folder, groups, arrays):
    document = array_document((1000,), (100,))
    root = os.path.join(folder, "sharded.zarr")
    group = {"zarr_format": 3, "node_type": "group"}
    write_json(os.path.join(root, "zarr.json"), group)
    for i in range(groups):
        write_json(os.path.join(root, f"g{i}", "zarr.json"), group)
        for j in range(arrays):
            document["attributes"] = {"units": "K", "long_name": f"field {i}/{j}"}
            write_json(os.path.join(root, f"g{i}", f"a{j}", "zarr.json"), document)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--quick", action="store_true", help="a fraction of the size")
    args = parser.parse_args()
    ways = {name: (make, *layout) for name, layout in (QUICK if args.quick else FULL).items()}
    for name, layout in (LARGE_QUICK if args.quick else LARGE).items():
        ways[name] = (make_names if name == "names" else make_large, *layout)
    ways["zep2"] += (True,)
    ways["arrays"] = (make_arrays, *ARRAYS[args.quick])
    for name, (write, *layout) in ways.items():
        folder = os.path.join(os.path.abspath(args.folder), name)
        if os.path.exists(folder):
            continue
        print("writing", folder, flush=True)
        unfinished = folder + ".unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        os.makedirs(unfinished)
        write(unfinished, *layout)
        table = os.path.join(unfinished, "table")
        if os.path.exists(table):
            with open(table) as f:
                lines = f.read().replace(unfinished + "/", folder + "/")
            with open(table, "w") as f:
                f.write(lines)
        os.rename(unfinished, folder)


if __name__ == "__main__":
    main()
