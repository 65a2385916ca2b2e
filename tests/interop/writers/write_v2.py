"""Writes a Zarr v2 store into the folder that argv names, with zarr-python 2; prints the list of its arrays.

Every type, order, compressor, filter and fill value that zarr-python 2 knows how to write occurs. Shapes are no multiples of
chunks, and some chunks are never written, but where missing ones are undefined (fill value null).
"""

import base64
import json
import pathlib
import sys

import numcodecs
import numpy as np
import zarr

SHAPE, CHUNKS = (7, 5), (3, 2)
WRITTEN = (slice(0, 6), slice(0, 4))  # whole chunks; the last row and column of chunks is missing

POINT = [("id", "|u1"), ("x", "<f4"), ("s", "<U2"), ("when", "<M8[s]"), ("tag", "|S3")]
BIG_POINT = [("id", "|u1"), ("x", ">f4"), ("n", ">i2")]
MIXED_POINT = [("id", ">u2"), ("x", "<f8"), ("n", ">i4")]
NESTED = [("id", "|u1"), ("at", [("x", "<f4"), ("n", [("i", "<i2"), ("c", "<c8")])])]


def numbers(dtype):
    dtype = np.dtype(dtype)
    counted = np.arange(35).reshape(SHAPE)
    if dtype.kind == "b":
        return counted % 3 == 0
    if dtype.kind == "f":
        return (counted / 8 - 1).astype(dtype)
    if dtype.kind == "c":
        return (counted / 8 - 1j * counted).astype(dtype)
    return (counted * 3 - (20 if dtype.kind == "i" else 0)).astype(dtype)


def values(dtype):
    dtype = np.dtype(dtype)
    if dtype.kind in "biufc":
        return numbers(dtype)
    counted = np.arange(35).reshape(SHAPE)
    if dtype.kind in "mM":
        return (counted * 1000 - 7).astype(dtype.newbyteorder("=").str.replace("=", "<")).astype(dtype)
    if dtype.kind == "S":
        return np.array([b"x" * (i % (dtype.itemsize + 1)) for i in counted.flat], dtype).reshape(SHAPE)
    if dtype.kind == "U":
        return np.array(["né日\U0001f600"[: i % 5] for i in counted.flat], dtype).reshape(SHAPE)
    filled = np.empty(SHAPE, dtype)
    if dtype.names is None:
        raw = np.random.default_rng(1).integers(0, 256, 35 * dtype.itemsize, "u1")
        return np.frombuffer(raw.tobytes(), dtype).reshape(SHAPE)
    for name in dtype.names:
        filled[name] = values(dtype[name]) if dtype[name].kind != "S" else b"ab"
    return filled


class Writer:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.names = []
        self.root = zarr.open_group(str(folder), mode="w")

    def add(self, name, dtype="<i4", data=None, shape=SHAPE, chunks=CHUNKS, written=WRITTEN, attributes=None, **options):
        options = {"compressor": None, "fill_value": 0, **options}
        if options["fill_value"] is None:
            written = ...
        array = self.root.create_dataset(name, shape=shape, chunks=chunks, dtype=dtype, **options)
        array[written] = (values(dtype) if data is None else data)[written]
        array.attrs.update(attributes or {})
        self.names.append(name)

    def edit(self, name, **members):
        """Members of .zarray as other writers have them."""
        path = self.folder / name / ".zarray"
        path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


def write_types(writer):
    small = ["|b1", "|i1", "|u1"]
    large = [f"{order}{kind}" for kind in ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"] for order in "<>"]
    others = ["|S5", "<U4", ">U4", "|V3", "<M8[s]", ">M8[D]", "<M8[10us]", "<m8[ns]", "|V1"]
    for dtype in small + large + others:
        fill = 0 if np.dtype(dtype).kind not in "SUVmM" else {"S": b"", "U": "", "V": 0, "M": 0, "m": 0}[np.dtype(dtype).kind]
        writer.add(f"type/{dtype[1:]}{'-big' if dtype[0] == '>' else ''}", dtype, fill_value=fill)
    writer.add("type/struct", POINT)
    writer.add("type/struct-nested", NESTED)
    writer.add("type/struct-big", BIG_POINT)
    writer.add("type/struct-mixed", MIXED_POINT)
    texts = np.array(["né日"[: i % 4] * (i % 7) for i in range(35)], object).reshape(SHAPE)
    writer.add("type/vlen-utf8", object, texts, object_codec=numcodecs.VLenUTF8(), fill_value="")
    writer.add("type/vlen-utf8-blosc", object, texts, object_codec=numcodecs.VLenUTF8(), fill_value="n", compressor=numcodecs.Blosc())
    blobs = np.array([bytes(range(i)) for i in range(35)], object).reshape(SHAPE)
    writer.add("type/vlen-bytes", object, blobs, object_codec=numcodecs.VLenBytes(), fill_value=None)


def write_fills(writer):
    for dtype, fills in {
        "|b1": [True, None], "<i2": [-5, None], ">u8": [2**64 - 1], "<f4": [np.nan, np.inf, -np.inf, 0.1, -0.0, None], ">f8": [1e300, np.nan],
        "<c8": [1 - 2j, None], "|S4": [b"ab", None], "<U3": ["né", None], "|V3": [b"\1\2\3", None], "<M8[s]": [np.datetime64("NaT"), 5, None],
    }.items():
        for number, fill in enumerate(fills):
            writer.add(f"fill/{dtype[1:]}-{'none' if fill is None else number}", dtype, fill_value=fill)
    for name, dtype, fill in [("struct", POINT, (7, 1.5, "é", -1, b"ab")), ("struct-big", BIG_POINT, (7, 1.5, -2)),
                              ("struct-mixed", MIXED_POINT, (7, 1.5, -2))]:
        writer.add(f"fill/{name}", dtype)
        # (zarr-python 2.13 takes no structure as fill value, but reads it.)
        writer.edit(f"fill/{name}", fill_value=base64.b64encode(np.array(fill, dtype).tobytes()).decode())
    writer.add("fill/struct-none", POINT, fill_value=None)
    writer.add("fill/b1-integer", "|b1", fill_value=True)
    writer.edit("fill/b1-integer", fill_value=1)


def write_orders(writer):
    for order in "CF":
        for dtype in ["|u1", ">f4"]:
            writer.add(f"order/{order}-{dtype[1:]}", dtype, order=order, compressor=numcodecs.Zlib(1))
    cube = np.arange(4 * 5 * 6, dtype="<i2").reshape(4, 5, 6)
    for order in "CF":
        writer.add(f"order/{order}-3d", "<i2", cube, cube.shape, (2, 3, 4), ..., order=order)
        writer.add(f"order/{order}-1d", "<i2", np.arange(9, dtype="<i2"), (9,), (4,), ..., order=order)


def write_compressors(writer):
    compressors = {
        "none": None, "zlib": numcodecs.Zlib(3), "gzip": numcodecs.GZip(3), "zstd": numcodecs.Zstd(3), "bz2": numcodecs.BZ2(2),
        "lzma": numcodecs.LZMA(preset=1), "lz4": numcodecs.LZ4()}
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for shuffle in [-1, 0, 1, 2]:
            compressors[f"blosc-{cname}-{shuffle}"] = numcodecs.Blosc(cname, 5, shuffle)
    for name, compressor in compressors.items():
        writer.add(f"compressor/{name}", "<i4", compressor=compressor)
    writer.add("compressor/blosc-of-bytes", "|u1", compressor=numcodecs.Blosc("lz4", 5, -1))
    writer.add("compressor/blosc-of-long-items", "|S300", compressor=numcodecs.Blosc(), fill_value=b"")


def write_filters(writer):
    filters = {
        "delta": ("<i4", [numcodecs.Delta("<i4")]),
        "delta-big": (">i4", [numcodecs.Delta(">i4")]),
        "delta-as-small": ("<i4", [numcodecs.Delta("<i4", "<i2")]),
        "delta-as-big": ("<i4", [numcodecs.Delta("<i4", ">i2")]),
        "delta-twice": ("<i4", [numcodecs.Delta("<i4"), numcodecs.Delta("<i4")]),
        "delta-float": ("<f4", [numcodecs.Delta("<f4")]),
        "fixedscaleoffset": ("<f8", [numcodecs.FixedScaleOffset(offset=-1, scale=8, dtype="<f8", astype="|u1")]),
        "fixedscaleoffset-delta": (
            "<f4", [numcodecs.FixedScaleOffset(offset=-1, scale=8, dtype="<f4", astype="<i2"), numcodecs.Delta("<i2")]),
        "quantize": ("<f4", [numcodecs.Quantize(2, "<f4")]),
        "bitround": ("<f4", [numcodecs.BitRound(10)]),
        "bitround-double": ("<f8", [numcodecs.BitRound(10)]),
        "astype": ("<i4", [numcodecs.AsType("<i8", "<i4")]),
        "packbits": ("|b1", [numcodecs.PackBits()]),
        "shuffle": ("<i4", [numcodecs.Shuffle(4)]),
        "delta-shuffle": ("<i4", [numcodecs.Delta("<i4"), numcodecs.Shuffle(4)]),
        "crc32": ("<i4", [numcodecs.CRC32()]),
        "adler32": ("<i4", [numcodecs.Adler32()]),
        "fletcher32": ("<i4", [numcodecs.Fletcher32()]) if hasattr(numcodecs, "Fletcher32") else None,
        "jenkins": ("<i4", [numcodecs.JenkinsLookup3()]) if hasattr(numcodecs, "JenkinsLookup3") else None,
        "zlib-as-filter": ("<i4", [numcodecs.Zlib(1)]),
    }
    for name, case in filters.items():
        for compressor in [None, numcodecs.Zstd(1)] if case else []:
            for order in "CF":
                label = f"filter/{name}-{'zstd' if compressor else 'alone'}-{order}"
                writer.add(label, case[0], filters=case[1], compressor=compressor, order=order)


def write_layouts(writer):
    for name, separator in {"point": ".", "slash": "/"}.items():
        writer.add(f"key/{name}", dimension_separator=separator)
        writer.add(f"key/{name}-scalar", "<f8", np.float64(2.5), (), (), (), dimension_separator=separator)
    writer.add("key/scalar-missing", "<f8", np.zeros(()), (), (), (), fill_value=3.5)
    (writer.folder / "key/scalar-missing/0").unlink()
    writer.add("key/empty", "<i4", np.zeros((0, 5), "<i4"), (0, 5), (3, 2), ...)
    writer.add("key/old", attributes={"units": "m"})
    text = json.loads((writer.folder / "key/old/.zarray").read_text())
    text.pop("dimension_separator", None)
    (writer.folder / "key/old/.zarray").write_text(json.dumps(text))


def write_attributes(writer):
    attributes = {"units": "m", "text": "né", "list": [1, 2.5, None], "nested": {"a": {"b": []}}, "limit": 1e300}
    writer.add("attributes/plain", attributes=attributes)
    writer.add("attributes/dimensions", attributes={**attributes, "_ARRAY_DIMENSIONS": ["y", "x"]})
    writer.root["attributes"].attrs.update({"title": "né", "numbers": [1, 2]})
    writer.root.attrs["store"] = True


def main(folder):
    writer = Writer(folder)
    for write in [write_types, write_fills, write_orders, write_compressors, write_filters, write_layouts, write_attributes]:
        write(writer)
    json.dump(writer.names, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
