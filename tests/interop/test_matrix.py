"""Whatever three writers wrote, six readers read through the mount, bit for bit."""

import contextlib

import numpy as np
import pytest
from arrays import ARRAYS, WRITERS, writable, write_store
from digest import describe
from mounts import READERS, mounted, read

# (reader, prefix of the array's name): what it cannot take from any store, mounted or not. GDAL here is 3.6 and later.
UNREADABLE = {
    ("gdal", "type/complex"): "refuses a fill value [re, im]",
    ("gdal", "fill/16-complex64"): "refuses a fill value [re, im]",
    ("gdal", "fill/17-complex128"): "refuses a fill value [re, im]",
    ("gdal", "type/r"): "has no opaque type",
    ("gdal", "fill/r24"): "has no opaque type",
    ("gdal", "fill/13-uint64"): "passes fill values through a double, which 2^64-1 does not fit",
    ("zarr-python-2", "fill/16-complex64"): "computes re + 1j * im: NaN in one part makes both NaN",
    ("zarr-python-2", "fill/17-complex128"): "computes re + 1j * im: infinity in one part makes the other NaN",
    ("debian-zarr-python-2", "fill/16-complex64"): "computes re + 1j * im: NaN in one part makes both NaN",
    ("debian-zarr-python-2", "fill/17-complex128"): "computes re + 1j * im: infinity in one part makes the other NaN",
    ("debian-zarr-python-3", "type/complex"): "takes a fill value [re, im] for two values",
    ("debian-zarr-python-3", "fill/16-complex64"): "takes a fill value [re, im] for two values",
    ("debian-zarr-python-3", "fill/17-complex128"): "takes a fill value [re, im] for two values",
    ("debian-zarr-python-3", "fill/3-float32"): "takes a fill value of -0.0 for 0.0",
    ("debian-zarr-python-3", "fill/4-float64"): "takes a fill value of -0.0 for 0.0",
    ("tensorstore-v2", "type/r"): "takes opaque bytes for one more dimension",
    ("tensorstore-v2", "fill/r"): "takes opaque bytes for one more dimension",
    ("tensorstore-v3", "type/r"): "takes opaque bytes for one more dimension",
    ("tensorstore-v3", "fill/r"): "takes opaque bytes for one more dimension",
}


def readable(reader):
    return [a for a in ARRAYS if not any(r == reader and a.name.startswith(p) for r, p in UNREADABLE)]


@pytest.fixture(scope="session")
def mounts(tmp_path_factory):
    """writer -> mount point of a store that holds all the arrays, written by it."""
    with contextlib.ExitStack() as stack:
        points = {}
        for writer in WRITERS:
            store = tmp_path_factory.mktemp("stores") / writer
            write_store(writer, store, writable(writer))
            points[writer] = stack.enter_context(mounted(store))
        yield points


@pytest.fixture(scope="session")
def readings(mounts):
    """(writer, reader) -> name -> what the reader saw; each reader runs once a store."""
    seen = {}

    def of(writer, reader):
        if (writer, reader) not in seen:
            view = READERS[reader][0]
            arrays = [a for a in readable(reader) if a in writable(writer)]  # (what is not readable may crash it)
            entries = read(reader, [mounts[writer] / view / a.name for a in arrays])
            seen[writer, reader] = {a.name: entry for a, entry in zip(arrays, entries)}
        return seen[writer, reader]

    return of


def pytest_generate_tests(metafunc):
    if "array" in metafunc.fixturenames:
        cases = [(w, r, a) for w in WRITERS for r in READERS for a in readable(r) if a in writable(w)]
        metafunc.parametrize("writer,reader,array", cases, ids=[f"{w}-{r}-{a}" for w, r, a in cases])


def test_values_are_the_written_ones(readings, writer, reader, array):
    entry = readings(writer, reader)[array.name]
    assert "error" not in entry
    values = array.expected()
    if reader == "gdal":  # widens int8, float16 and bool; nothing is lost
        values = values.astype(entry["dtype"])
    wanted = describe(values)
    assert {key: entry[key] for key in wanted} == wanted


@pytest.mark.parametrize("reader", READERS)
def test_attributes_are_the_written_ones(readings, reader):
    array, = (a for a in ARRAYS if a.name == "attributes")
    attributes = readings("zarr-python", reader)["attributes"]["attributes"]
    if READERS[reader][0] == "v2" and reader != "gdal":  # GDAL makes dimensions of it
        assert attributes.pop("_ARRAY_DIMENSIONS") == ["lat", "lon"]
    assert attributes == array.attributes


def test_values_hold_the_extremes_they_promise():
    """Guards the comparison itself: a matrix of zeros would pass too."""
    array, = (a for a in ARRAYS if a.name == "type/float64-big")
    assert np.isnan(array.expected()).any() and np.isinf(array.expected()).any()
    array, = (a for a in ARRAYS if a.name == "type/uint64-big")
    assert array.expected().max() == 2**64 - 1
