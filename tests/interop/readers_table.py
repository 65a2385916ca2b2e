#!/usr/bin/env python3
"""Rewrites the table in docs/READERS.md: what each view does with a data type or codec, as `zarrctl info` says of an array with it.

The program is that of mounts.py: ZARRFS_BIN, or the release build.
"""

import json
import pathlib
import tempfile

from mounts import ROOT, decodes_pcodec, zarrctl
from serving import served

PAGE = ROOT / "docs/READERS.md"
BEGIN, END = "<!-- table: made by tests/interop/readers_table.py -->", "<!-- end of the table -->"

VIEWS = ["v2", "gdal", "netcdf", "java", "v3"]
HEADER = ["zarr-python 2, xarray (`v2`)", "GDAL 3.6 (`gdal`)", "netCDF-C (`netcdf`)", "jzarr (`java`)", "v3 readers without sharding (`v3`)"]


def configured(name, **configuration):
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


LITTLE, BIG, PLAIN = configured("bytes", endian="little"), configured("bytes", endian="big"), configured("bytes")
CRC32C, GZIP, ZSTD = configured("crc32c"), configured("gzip", level=5), configured("zstd", level=3, checksum=False)
BLOSC = configured("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=2, blocksize=0)


def sharded(codecs, chunk=(2, 3), location="end"):
    return configured(
        "sharding_indexed", chunk_shape=list(chunk), codecs=codecs, index_codecs=[LITTLE, CRC32C], index_location=location)


def array(data_type="uint16", codecs=(LITTLE,), fill=0, shape=(8, 12), chunks=(4, 6)):
    return {
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type, "fill_value": fill,
        "chunk_grid": configured("regular", chunk_shape=list(chunks)), "chunk_key_encoding": configured("default", separator="/"),
        "codecs": list(codecs), "attributes": {}}


def rectilinear(chunk_shapes, codecs=(LITTLE,)):
    grid = configured("rectilinear", kind="inline", chunk_shapes=chunk_shapes)
    return {**array(codecs=codecs), "chunk_grid": grid}


def numbers(names, fill=0, codecs=(LITTLE,)):
    return [array(name, codecs, fill) for name in names.split()]


def numcodecs(name, data_type="uint16", **configuration):
    return array(data_type, [LITTLE, configured(f"numcodecs.{name}", **configuration)])


def filtered(name, data_type="float32", to_bytes=LITTLE, fill=0, **configuration):
    return array(data_type, [configured(name, **configuration), to_bytes], fill)


STRUCT = [["i", "int32"], ["x", "float64"]]
TEXT = configured("fixed_length_utf32", length_bytes=16)

# row: arrays, of which a view does the same with all
DATA_TYPES = {
    "`bool`": numbers("bool", False, [PLAIN]),
    "`int8`, `uint8`": numbers("int8 uint8", codecs=[PLAIN]),
    "`int16` to `int64`, `uint16`, `uint32`": numbers("int16 int32 int64 uint16 uint32"),
    "`uint64`": numbers("uint64"),
    "`float16`": numbers("float16", 0.0),
    "`float32`, `float64`": numbers("float32 float64", 0.0),
    "`complex64`, `complex128`": numbers("complex64 complex128", [0.0, 0.0]),
    "`bfloat16`": numbers("bfloat16", 0.0),
    "`float8_*`, `float6_*`, `float4_*`": numbers(
        "float8_e4m3 float8_e5m2 float8_e3m4 float8_e8m0fnu float6_e2m3fn float4_e2m1fn", 1.0),
    "`int2`, `int4`, `uint2`, `uint4`": numbers("int2 int4 uint2 uint4"),
    "`complex_bfloat16`": numbers("complex_bfloat16", [0.0, 0.0]),
    "`numpy.datetime64`, `numpy.timedelta64`": [
        array(configured(f"numpy.{name}", unit="s", scale_factor=1)) for name in ("datetime64", "timedelta64")],
    "`fixed_length_utf32`": [array(TEXT, fill="")],
    "`null_terminated_bytes`": [array(configured("null_terminated_bytes", length_bytes=4), fill="")],
    "`structured`, `struct`": [
        array(configured("structured", fields=STRUCT), fill="AAAAAAAAAAAAAAAA"),
        array(configured("struct", fields=[{"name": name, "data_type": type_} for name, type_ in STRUCT]),
              fill={"i": 0, "x": 0.0})],
    "`raw_bytes`, `r*`": [array(configured("raw_bytes", length_bytes=3), fill="AAAA"), array("r24", fill=[0, 0, 0])],
    "`string`": [array("string", [configured("vlen-utf8")], "")],
    "`bytes`, `variable_length_bytes`": [
        array(name, [configured("vlen-bytes")], "") for name in ("bytes", "variable_length_bytes")],
}

CODECS = {
    "`bytes`, little-endian": [array()],
    "`bytes`, big-endian": [array(codecs=[BIG])],
    "`transpose` to F order": [array(codecs=[configured("transpose", order=[1, 0]), LITTLE])],
    "`transpose` to another order": [array(
        codecs=[configured("transpose", order=[1, 2, 0]), LITTLE], shape=(8, 8, 8), chunks=(2, 3, 4))],
    "`gzip`, `zstd`": [array(codecs=[LITTLE, codec]) for codec in (GZIP, ZSTD)],
    "`blosc`": [array(codecs=[LITTLE, BLOSC])],
    "`numcodecs.zlib`": [numcodecs("zlib", level=1)],
    "`numcodecs.lz4`, `lzma`": [
        numcodecs("lz4", acceleration=1), numcodecs("lzma", format=1, check=-1, preset=None, filters=None)],
    "`numcodecs.bz2`": [numcodecs("bz2", level=1)],
    "a checksum last (`crc32c`, `numcodecs.crc32`, `adler32`, `fletcher32`, `jenkins_lookup3`)": [
        array(codecs=[LITTLE, CRC32C]), *(numcodecs(name) for name in ("crc32", "adler32", "fletcher32", "jenkins_lookup3"))],
    "a checksum before a compressor": [array(codecs=[LITTLE, CRC32C, ZSTD])],
    "two compressors": [array(codecs=[LITTLE, GZIP, ZSTD])],
    "`string` with `zstd`": [array("string", [configured("vlen-utf8"), ZSTD], "")],
    "`string` with two compressors": [array("string", [configured("vlen-utf8"), GZIP, ZSTD], "")],
    "`bitround`": [filtered("bitround", keepbits=6), filtered("numcodecs.bitround", keepbits=6)],
    "`numcodecs.shuffle`": [numcodecs("shuffle", elementsize=2)],
    "`numcodecs.delta`, `fixedscaleoffset`": [
        filtered("numcodecs.delta", "int32", dtype="<i4", astype="<i4"),
        filtered("numcodecs.fixedscaleoffset", offset=0, scale=8, dtype="<f4", astype="<i4")],
    "`numcodecs.quantize`, `astype`": [
        filtered("numcodecs.quantize", digits=1, dtype="<f4", astype="<f4"),
        filtered("numcodecs.astype", "int32", encode_dtype="<i8", decode_dtype="<i4")],
    "`packbits`": [filtered("numcodecs.packbits", "bool", PLAIN, False), array("bool", [configured("packbits")], False)],
    "`scale_offset`, `cast_value`": [
        filtered("scale_offset", offset=1, scale=2),
        array("float32", [configured("cast_value", data_type="int32", rounding="nearest-even"), LITTLE])],
    "`zfpy`": [array("float32", [configured("numcodecs.zfpy")])],
    "`zfp`": [array("float32", [configured("zfp", mode="reversible")])],
    "`pcodec`, where the program was built with its library": [
        array("float32", [configured(name)]) for name in ("pcodec", "numcodecs.pcodec")],
}

# row: what the table says of it, if not what the program says
OF_OTHER_PROGRAMS = {} if decodes_pcodec() else {
    "`pcodec`, where the program was built with its library": ["transcoded"] * 4 + ["exact"]}

LAYOUTS = {
    "shards, with their index at the end or at the start": [
        array(codecs=[sharded([LITTLE], location=location)]) for location in ("end", "start")],
    "shards that differ in length, of equal inner chunks": [rectilinear([[4, 2, 4], [6, 9]], [sharded([LITTLE])])],
    "shards in shards": [array(codecs=[sharded([sharded([LITTLE], (1, 3))])])],
    "rank 0": [array(shape=(), chunks=())],
    "a dimension of length 0": [array(shape=(0, 12))],
    "chunks longer than the array": [array(shape=(3, 12))],
}

SECTIONS = {"Data types": DATA_TYPES, "Codecs": CODECS, "Layouts": LAYOUTS}


def cells(path):
    said = zarrctl("info", "--json", path)
    if said.returncode != 0:
        raise RuntimeError(f"zarrctl info {path}: {said.stderr}")
    views = json.loads(said.stdout)["nodes"][0]["views"]
    return [served(views[view]) if view in views else "no such view" for view in VIEWS]


def table():
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for title, rows in SECTIONS.items():
            lines += ["", f"| {title} | {' | '.join(HEADER)} |", "|---" * (1 + len(HEADER)) + "|"]
            for row, arrays in rows.items():
                said = []
                for document in arrays:
                    path = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "array"
                    path.mkdir()
                    (path / "zarr.json").write_text(json.dumps(document))
                    said.append(cells(path))
                if row in OF_OTHER_PROGRAMS:
                    said = [OF_OTHER_PROGRAMS[row]]
                if any(some != said[0] for some in said):
                    raise RuntimeError(f"row {row}: not the same for all: {said}")
                lines.append(f"| {row} | {' | '.join(said[0])} |")
    return "\n".join([BEGIN, *lines, "", END])


def committed():
    text = PAGE.read_text()
    return text[text.index(BEGIN):text.index(END) + len(END)]


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().replace(committed(), table()))
