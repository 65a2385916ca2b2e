"""Writes a Zarr v2 store into the folder that argv names, with zarr-python 2; prints the list of its arrays.

What v3 has no word for, what only zarr-python 2 can read, what nobody can, and documents spelled as no writer here spells them.
"""

import json
import pathlib
import shutil
import sys

import numcodecs
import numpy as np
import zarr

OBJECTS = [{"a": 1}, "text", None, [1, 2.5]]


class Writer:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.root = zarr.open_group(str(folder), mode="w")
        self.names = []

    def add(self, name, data, chunks, **options):
        options = {"compressor": None, **options}
        array = self.root.create_dataset(name, shape=data.shape, chunks=chunks, dtype=data.dtype, **options)
        array[...] = data
        self.names.append(name)
        return array

    def edit(self, name, **members):
        path = self.folder / name / ".zarray"
        path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


def write_objects(writer):
    for name, codec, values in [
        ("pickle", numcodecs.Pickle(), OBJECTS), ("json2", numcodecs.JSON(), OBJECTS),
        ("categorize", numcodecs.Categorize(["text", "né"], object), ["text", "né", "text"]),
        ("vlen-array", numcodecs.VLenArray("<i4"), [np.arange(n, dtype="<i4") for n in range(4)]),
    ]:
        writer.add(f"object/{name}", objects(values), (2,), object_codec=codec)
    # (numcodecs has it only beside a package of its own.)
    writer.add("object/msgpack2", objects(OBJECTS), (2,), object_codec=numcodecs.JSON())
    writer.edit("object/msgpack2", filters=[{"id": "msgpack2"}])


def write_types(writer):
    counted = np.arange(12, dtype="<i4")
    writer.add("type/subarray", np.zeros(3, [("id", "|u1"), ("m", "<f4", (2, 2))]), (2,))
    writer.add("type/mixed-orders", np.zeros(3, [("a", "<i4"), ("b", ">i4")]), (2,))
    writer.add("type/long-double", counted.astype("<f16"), (5,), fill_value=0)
    writer.add("type/bare", counted, (5,))
    writer.edit("type/bare", dtype="i4")
    writer.add("type/unknown", counted, (5,))
    writer.edit("type/unknown", dtype={"name": "from the future"})


def write_codecs(writer):
    counted = np.arange(12, dtype="<i4")
    writer.add("codec/unknown", counted, (5,))
    writer.edit("codec/unknown", compressor={"id": "foo", "level": 3})
    writer.add("codec/unknown-filter", counted, (5,), compressor=numcodecs.Zlib(1))
    writer.edit("codec/unknown-filter", filters=[{"id": "foo"}])
    # As GDAL says that it rounded what it wrote.
    writer.add("codec/bitround-of-bytes", counted.astype("|u1"), (5,))
    writer.edit("codec/bitround-of-bytes", filters=[{"id": "bitround", "keepbits": 3}])
    # A frame that does not say its size: decoders of zarr-python 2 refuse it.
    writer.add("codec/zstd-without-size", counted[:5], (5,), compressor=numcodecs.Zstd(1))
    (writer.folder / "codec/zstd-without-size/0").write_bytes(bytes.fromhex("28b52ffd0058a10000") + counted[:5].tobytes())


def write_fills(writer):
    for name, fill in {"null": None, "nan": np.nan, "zero": 0}.items():
        array = writer.root.create_dataset(f"fill/{name}", shape=(7,), chunks=(3,), dtype="<f4", compressor=None, fill_value=fill)
        array[...] = 1.5
        writer.names.append(f"fill/{name}")
        if fill is not None:
            (writer.folder / f"fill/{name}/1").unlink()
    writer.edit("fill/zero", fill_value="0.0")  # as n5-zarr writes it
    writer.edit("fill/nan", fill_value="NaN", fill_note=1)
    masked = writer.add("fill/attribute", np.zeros(4, "<i2"), (2,), fill_value=0)
    masked.attrs["_FillValue"] = 7


def write_keys(writer):
    cube = np.arange(60, dtype="<i2").reshape(3, 4, 5)
    for order in "CF":
        writer.add(f"key/nested-{order}", cube, (2, 2, 2), dimension_separator="/", order=order, compressor=numcodecs.Blosc())
        writer.add(f"key/flat-{order}", cube, (2, 2, 2), order=order)
    writer.add("key/scalar", np.array(2.5), ())
    writer.add("key/scalar-nested", np.array(2.5), (), dimension_separator="/")


def write_damage(writer):
    for name, content in {"empty": b"", "short": b"abc", "long": bytes(99)}.items():
        writer.add(f"damage/{name}", np.arange(8, dtype="<i4"), (4,))
        (writer.folder / f"damage/{name}/1").write_bytes(content)
    writer.add("damage/empty-zlib", np.arange(8, dtype="<i4"), (4,), compressor=numcodecs.Zlib(1))
    (writer.folder / "damage/empty-zlib/1").write_bytes(b"")
    writer.add("damage/fill", np.arange(8, dtype="<i4"), (4,))
    writer.edit("damage/fill", fill_value="no number")


def write_documents(writer):
    data = np.arange(6, dtype="<i4")
    writer.add("document/none", data, (4,))
    writer.add("document/dimensions", data, (4,)).attrs["_ARRAY_DIMENSIONS"] = ["x"]
    writer.add("document/dense", data, (4,))
    path = writer.folder / "document/dense/.zarray"
    path.write_text(json.dumps({**json.loads(path.read_text()), "note": "né"}, separators=(",", ":"), ensure_ascii=False))
    (writer.folder / "document/dense/.zattrs").write_text('{"né":1.50,"n":NaN,"large":123456789012345678901234567890}', encoding="utf-8")
    (writer.folder / "document/.zattrs").write_text("{ }\n\n")
    writer.root.create_group("document/group")


def write_consolidated(writer):
    """consolidated/: .zmetadata there, stale in two ways, and none below or above."""
    writer.add("consolidated/a", np.arange(6, dtype="<i4"), (4,))
    writer.add("consolidated/gone", np.arange(6, dtype="<i4"), (4,))
    writer.add("consolidated/g/b", np.arange(6, dtype="<i4"), (4,)).attrs["text"] = "né"
    zarr.consolidate_metadata(str(writer.folder / "consolidated"))
    shutil.rmtree(writer.folder / "consolidated/gone")
    writer.names.remove("consolidated/gone")
    writer.add("consolidated/new", np.arange(6, dtype="<i4"), (4,))


def main(folder):
    writer = Writer(folder)
    for write in [write_objects, write_types, write_codecs, write_fills, write_keys, write_damage, write_documents, write_consolidated]:
        write(writer)
    json.dump(writer.names, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
