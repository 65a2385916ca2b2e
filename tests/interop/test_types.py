"""Data types and fill values beyond the core: what readers see is what lies in the chunk, and the fill value where none does."""

import base64
import dataclasses
import json

import numpy as np
import pytest
from digest import describe
from mounts import DEBIAN_ZARR, mounted, read

OLD_READERS = ["zarr-python-2", f"debian-zarr-python-{DEBIAN_ZARR}"]


@dataclasses.dataclass
class Type:
    data_type: object  # as in zarr.json
    fill: object       # as in zarr.json
    dtype: object      # numpy's, little-endian
    values: list       # of the one chunk that is stored
    fill_element: object
    read_by_zarr3: tuple = ("little", "big")  # the byte orders in which zarr-python 3 can read the type

    def array(self, items):
        if np.dtype(self.dtype).kind in "mM":
            return np.array(items, "<i8").view(self.dtype)
        return np.array(items, self.dtype)


def configured(name, **configuration):
    return {"name": name, "configuration": configuration}


NOT_A_TIME = -2**63


def date(kind, unit, scale, fill, fill_element=None):
    code = "M8" if kind == "datetime" else "m8"
    return Type(
        configured(f"numpy.{kind}64", unit=unit, scale_factor=scale), fill, f"<{code}" if unit == "generic" else f"<{code}[{scale}{unit}]",
        [0, -1, 2**40, 7], fill if fill_element is None else fill_element)


def opaque(name, size, fill, fill_bytes):
    return Type(name, fill, f"|V{size}", [bytes(range(i, i + size)) for i in range(4)], fill_bytes, ())


FLAT = [("id", "|u1"), ("x", "<f4"), ("s", "<U2"), ("when", "<M8[s]"), ("tag", "|S3")]
FLAT_FIELDS = [
    ("id", "uint8"), ("x", "float32"), ("s", configured("fixed_length_utf32", length_bytes=8)),
    ("when", configured("numpy.datetime64", unit="s", scale_factor=1)), ("tag", configured("null_terminated_bytes", length_bytes=3))]
FLAT_FILL = (7, 1.5, "é", -1, b"ab")
NESTED = [("id", "|u1"), ("at", [("x", "<f4"), ("n", [("i", "<i2"), ("c", "<c8")])])]


def packed(items, dtype):
    return np.array(items, dtype).tobytes()


TYPES = {
    "utf32": Type(configured("fixed_length_utf32", length_bytes=16), "né", "<U4", ["a", "日本語!", "", "\U0001f600"], "né"),
    "utf32-empty-fill": Type(configured("fixed_length_utf32", length_bytes=8), "", "<U2", ["a", "bc", "", "é"], ""),
    "utf32-long-fill": Type(configured("fixed_length_utf32", length_bytes=8), "abc", "<U2", ["a", "bc", "", "é"], "ab", ()),
    "null-terminated": Type(
        configured("null_terminated_bytes", length_bytes=3), base64.b64encode(b"ab").decode(), "|S3", [b"a", b"abc", b"", b"\xff"], b"ab"),
    "raw": Type(configured("raw_bytes", length_bytes=3), base64.b64encode(b"\1\2\0").decode(), "|V3", [b"\0\1\2"] * 4, b"\1\2\0"),
    "datetime-s": date("datetime", "s", 1, "NaT", NOT_A_TIME),
    "datetime-D": date("datetime", "D", 1, 11),
    "datetime-10us": date("datetime", "us", 10, NOT_A_TIME),
    "datetime-greek-us": date("datetime", "μs", 1, 5),
    "datetime-generic": date("datetime", "generic", 1, "NaT", NOT_A_TIME),
    "timedelta-ns": date("timedelta", "ns", 1, 0),
    "timedelta-generic": date("timedelta", "generic", 1, 3),
    "structured-base64": Type(
        configured("structured", fields=[list(field) for field in FLAT_FIELDS]),
        base64.b64encode(packed(FLAT_FILL, FLAT)).decode(), FLAT, [(1, -0.0, "xy", 5, b"abc"), FLAT_FILL, (0, np.nan, "", 0, b""), FLAT_FILL],
        FLAT_FILL),
    "struct-object": Type(
        configured("struct", fields=[{"name": name, "data_type": data_type} for name, data_type in FLAT_FIELDS]),
        {"id": 7, "x": 1.5, "s": "é", "when": -1, "tag": base64.b64encode(b"ab").decode()}, FLAT, [FLAT_FILL] * 4, FLAT_FILL, ()),
    "struct-nested": Type(
        configured("struct", fields=[
            {"name": "id", "data_type": "uint8"},
            {"name": "at", "data_type": configured("struct", fields=[
                {"name": "x", "data_type": "float32"},
                {"name": "n", "data_type": configured("structured", fields=[["i", "int16"], ["c", "complex64"]])}])}]),
        {"id": 1, "at": {"x": "NaN", "n": {"i": -2, "c": [0.5, "-Infinity"]}}}, NESTED,
        [(i, (i / 8, (i * 300, complex(i, -i)))) for i in range(4)], (1, (np.nan, (-2, complex(0.5, -np.inf)))), ()),
    "int4": opaque("int4", 1, -1, b"\x0f"),
    "uint2": opaque("uint2", 1, 3, b"\3"),
    "float8": opaque("float8_e4m3", 1, 1, b"\x38"),
    "bfloat16": opaque("bfloat16", 2, 1.5, b"\xc0\x3f"),
    "complex-bfloat16": opaque("complex_bfloat16", 4, [1.5, 0], b"\xc0\x3f\0\0"),
}
# The bytes of an opaque element lie in the order of the array.
REVERSED_UNIT = {"bfloat16": 2, "complex-bfloat16": 2}
# (numpy does not swap dates without a unit when it converts between byte orders.)
CASES = [(name, order) for name in TYPES for order in ["little", "big"] if order == "little" or not name.endswith("generic")]


def in_order(name, element, order):
    unit = REVERSED_UNIT.get(name)
    if unit is None or order == "little":
        return element
    return b"".join(element[at:at + unit][::-1] for at in range(0, len(element), unit))


def expected(name, order):
    """Chunk 0 is stored, chunk 1 is not."""
    type_ = TYPES[name]
    return np.concatenate([type_.array(type_.values), type_.array([in_order(name, type_.fill_element, order)] * 4)])


@pytest.fixture(scope="session")
def point(tmp_path_factory):
    store = tmp_path_factory.mktemp("types") / "store"
    for name, order in CASES:
        type_ = TYPES[name]
        folder = store / order / name
        (folder / "c").mkdir(parents=True)
        values = type_.array(type_.values)
        (folder / "c/0").write_bytes((values if order == "little" else values.astype(values.dtype.newbyteorder(">"))).tobytes())
        (folder / "zarr.json").write_text(json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": type_.data_type, "fill_value": type_.fill,
            "chunk_grid": configured("regular", chunk_shape=[4]), "chunk_key_encoding": configured("default", separator="/"),
            "codecs": [configured("bytes", endian=order)], "attributes": {}}))
    for folder in [store, store / "little", store / "big"]:
        (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    with mounted(store) as point:
        yield point


def see(reader, point, view, cases):
    entries = read(reader, [point / view / order / name for name, order in cases])
    for entry in entries:
        entry.pop("attributes", None)
    return dict(zip(cases, entries))


@pytest.fixture(scope="session")
def seen_by_old_readers(point):
    return {reader: see(reader, point, "v2", CASES) for reader in OLD_READERS}


# (reader, type): why it cannot open the array.
REFUSED = {("debian-zarr-python-3", "struct-nested"): "Field elements must be 2- or 3-tuples"}


@pytest.mark.parametrize("reader", OLD_READERS)
@pytest.mark.parametrize("name,order", CASES)
def test_old_readers_see_values_and_fill(seen_by_old_readers, reader, name, order):
    if (reader, name) in REFUSED:
        assert REFUSED[reader, name] in seen_by_old_readers[reader][name, order]["error"]
        return
    assert seen_by_old_readers[reader][name, order] == describe(expected(name, order))


READ_BY_ZARR3 = [(name, order) for name, order in CASES if order in TYPES[name].read_by_zarr3]


@pytest.fixture(scope="session")
def seen_by_zarr3(point):
    return see("zarr-python-3", point, "v3", READ_BY_ZARR3)


@pytest.mark.parametrize("name,order", READ_BY_ZARR3)
def test_zarr_python_3_sees_the_same_in_v3(seen_by_zarr3, name, order):
    assert seen_by_zarr3[name, order] == describe(expected(name, order))
