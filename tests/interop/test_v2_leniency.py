"""Arrays of Zarr v2 that are spelled as numpy, n5-zarr and tensorstore do, and their readers take: they are in the views that rewrite or
decode them, too, with the values that were written."""

import base64
import json
import subprocess

import numpy as np
import pytest
from digest import describe
from mounts import READERS_OF_VIEWS, ZARR2_PYTHON, mounted, run_reader

SHAPE, CHUNK = (8, 6), (2, 3)
NUMBERS = ["zarr-python-3", "tensorstore-v3", "gdal", "netcdf"]
ZARR = ["zarr-python-3"]

PAIR = [["a", "<i2"], ["b", "|u1"]]
NESTED = [["", "<i2"], ["x", "<f4", [2, 2]], ["s", [["t", "<i2", 3]]]]

# name -> (dtype of numpy, fill value, members of .zarray, readers)
CASES = {
    "fill-text": ("<i4", 0, {"fill_value": "0"}, NUMBERS),
    "fill-text-float": ("<f4", 0, {"fill_value": "0.0"}, NUMBERS),
    "fill-text-of-an-integer": ("|u1", 7, {"fill_value": "7.0"}, NUMBERS),
    "fill-text-nan": ("<f8", np.nan, {"fill_value": "nan"}, NUMBERS),
    "dtype-without-order": ("<i4", 7, {"dtype": "i4"}, NUMBERS),
    "dtype-of-the-machine": ("<f8", 7, {"dtype": "=f8"}, NUMBERS),
    "any-order": ("<i2", 7, {"order": "A"}, NUMBERS),
    "fields": ([tuple(field) for field in PAIR], None, {}, ZARR),
    "fields-nested-and-without-names": ("nested", None, {"dtype": NESTED}, ZARR),
    "fill-of-all-bytes": ("|S4", b"ab", {"fill_value": base64.b64encode(b"ab\0\0").decode()}, ZARR),
    "long-items": ("|S70000", b"", {}, ZARR),
}


def dtype_of(given):
    if given == "nested":
        return np.dtype([("f0", "<i2"), ("x", "<f4", (2, 2)), ("s", [("t", "<i2", (3,))])])
    return np.dtype(given)


def write(store):
    """name -> values, of which half are the fill value and not stored."""
    subprocess.run([ZARR2_PYTHON, "-c", f"import zarr; zarr.open_group({str(store)!r}, mode='w')"], check=True)
    written = {}
    for name, (given, fill, members, _) in CASES.items():
        dtype = dtype_of(given)
        values = np.zeros(SHAPE, dtype)
        if fill is not None:
            values[:] = fill
        if dtype.names:
            values[:4, :3] = np.frombuffer(bytes(i % 100 for i in range(12 * dtype.itemsize)), dtype).reshape(4, 3)
        else:
            values[:4, :3] = np.arange(12).reshape(4, 3)
        written[name] = values
        folder = store / name
        folder.mkdir()
        plain = dtype.descr if dtype.names else dtype.str
        document = {
            "zarr_format": 2, "shape": SHAPE, "chunks": CHUNK, "dtype": plain, "compressor": None, "order": "C", "filters": None,
            "fill_value": "NaN" if fill != fill else fill.decode() if isinstance(fill, bytes) else fill}
        (folder / ".zarray").write_text(json.dumps({**document, **members}))
        for i, j in [(0, 0), (1, 0)]:
            chunk = values[2 * i:2 * i + 2, 3 * j:3 * j + 3]
            (folder / f"{i}.{j}").write_bytes(np.ascontiguousarray(chunk).tobytes())
    return written


@pytest.fixture(scope="session")
def seen(tmp_path_factory):
    """(name -> values, (reader, name) -> what it sees)"""
    store = tmp_path_factory.mktemp("lenient") / "store"
    written = write(store)
    answers = {}
    with mounted(store) as point:
        for reader in NUMBERS:
            view, command = READERS_OF_VIEWS[reader]
            names = [name for name in CASES if reader in CASES[name][3]]
            answers |= {(reader, name): entry for name, entry in zip(
                names, run_reader(command, [point / view / name for name in names]))}
    return written, answers


@pytest.mark.parametrize("reader,name", [(reader, name) for name in CASES for reader in CASES[name][3]])
def test_the_values_are_those_that_were_written(seen, reader, name):
    written, answers = seen
    values, entry = written[name], answers[reader, name]
    wanted = describe(values)
    if values.dtype.names:  # an array in a field comes as fields; the bytes are the same
        del wanted["dtype"]
    assert {key: entry.get(key) for key in wanted} == wanted, entry


@pytest.mark.parametrize("reader", ["gdal", "netcdf"])
def test_what_only_encoders_use_keeps_no_array_from_being_decoded(tmp_path, reader):
    import zarr
    from zarr.codecs import BloscCodec

    store = tmp_path / "store"
    values = np.arange(48, dtype="int32").reshape(SHAPE)
    root = zarr.create_group(str(store), zarr_format=3)
    root.create_array(
        "a", shape=SHAPE, chunks=CHUNK, dtype="int32", compressors=[BloscCodec(cname="zstd", shuffle="shuffle", typesize=4)])[:] = values
    document = json.loads((store / "a/zarr.json").read_text())
    document["codecs"][1]["configuration"].update(typesize=0, clevel=None, shuffle="best", blocksize=-1, more=1)
    (store / "a/zarr.json").write_text(json.dumps(document))
    with mounted(store) as point:
        view, command = READERS_OF_VIEWS[reader]
        entry, = run_reader(command, [point / view / "a"])
    assert {key: entry.get(key) for key in describe(values)} == describe(values), entry
