"""Arrays that numcodecs.pcodec compressed: where the program was built with the library, every view shows them, decoded; where it was
not, each view but v3 hides them and says which library is missing."""

import shutil
import warnings

import numpy as np
import pytest
import zarr
from digest import describe
from expectations import as_seen
from generated import Kind
from mounts import READERS_OF_VIEWS, decodes_pcodec, mounted, run_reader, zarrctl
from numcodecs import Delta
from numcodecs.pcodec import PCodec as V2PCodec
from zarr.codecs.numcodecs import PCodec

TYPES = ["uint16", "uint32", "uint64", "int16", "int32", "int64", "float16", "float32", "float64"]
CONFIGURATIONS = {
    "default": {},
    "pages": {"equal_pages_up_to": 50},
    "pages-of-one": {"equal_pages_up_to": 1},
    "lookback": {"delta_spec": "try_lookback"},
    "differences": {"delta_spec": "try_consecutive", "delta_encoding_order": 2},
    "classic": {"mode_spec": "classic", "delta_spec": "none", "level": 0},
}
SHAPE, SHARD, CHUNK = (45, 28), (30, 14), (15, 7)

READERS = {name: READERS_OF_VIEWS[name] for name in ["zarr-python-2", "gdal", "netcdf", "zarr-python-3"]}


def values(dtype):
    random = np.random.default_rng(7)
    data = random.integers(0, 90, SHAPE) if dtype.startswith("u") else random.normal(0, 900, SHAPE)
    data[0] = np.arange(SHAPE[1])
    data[30:, 14:] = 3  # chunks that are not stored
    return data.astype(dtype)


def contents():
    """name -> (type, configuration, whether it is sharded)"""
    arrays = {f"{dtype}-{layout}": (dtype, {}, layout == "sharded") for dtype in TYPES for layout in ["sharded", "plain"]}
    return arrays | {f"{name}-{dtype}": (dtype, configuration, True)
                     for name, configuration in CONFIGURATIONS.items() for dtype in ["int64", "float32"]}


ARRAYS = contents()
OF_V2 = {f"{dtype}-{order}{'-filtered' if filters else ''}": (dtype, order, filters)
         for dtype, filters in [("int32", False), ("int32", True), ("float64", False)] for order in "CF"}


def write_v3(folder):
    group = zarr.create_group(str(folder), zarr_format=3)
    for name, (dtype, configuration, sharded) in ARRAYS.items():
        group.create_array(
            name, shape=SHAPE, dtype=dtype, chunks=CHUNK, shards=SHARD if sharded else None, fill_value=3, serializer=PCodec(**configuration),
            compressors=None, config={"write_empty_chunks": False})[...] = values(dtype)


def write_v2(folder):
    group = zarr.create_group(str(folder), zarr_format=2)
    for name, (dtype, order, filters) in OF_V2.items():
        group.create_array(
            name, shape=SHAPE, dtype=dtype, chunks=CHUNK, fill_value=3, order=order, compressors=V2PCodec(),
            filters=[Delta(dtype=np.dtype(dtype).str)] if filters else None)[...] = values(dtype)


@pytest.fixture(scope="module", params=["v3", "v2"])
def written(request, tmp_path_factory):
    """(format, names with their types, the store)"""
    folder = tmp_path_factory.mktemp("pcodec") / "store"
    with warnings.catch_warnings(action="ignore"):
        {"v3": write_v3, "v2": write_v2}[request.param](folder)
    arrays = {"v3": ARRAYS, "v2": OF_V2}[request.param]
    return request.param, {name: array[0] for name, array in arrays.items()}, folder


@pytest.mark.parametrize("reader", READERS)
def test_every_view_shows_the_values_or_names_the_library(written, reader):
    form, types, store = written
    view, command = READERS[reader]
    with mounted(store) as point:
        if view == form == "v2":  # as it is stored, and this reader has no pcodec
            found = run_reader(command, [point / view / name for name in types])
            assert all("pcodec" in entry["error"] for entry in found), found
            return
        if not decodes_pcodec() and view != "v3":
            assert [path.name for path in (point / view).iterdir() if path.is_dir()] == []
            assert zarrctl("info", "-l", store).stdout.count("needs the library pcodec, which this program was built without") >= len(types)
            return
        found = run_reader(command, [point / view / name for name in types])
    for (name, dtype), entry in zip(types.items(), found):
        wanted = [describe(some) for some in as_seen(reader, view, Kind(dtype, None, np.dtype(dtype), ()), values(dtype))]
        assert "error" not in entry, (name, entry)
        assert {key: entry[key] for key in wanted[0]} in wanted, name


def test_a_damaged_chunk_is_an_error_and_no_values(written, tmp_path):
    form, _, store = written
    if not decodes_pcodec():
        assert "pcodec: no" in zarrctl("--version").stdout
        return
    name = "int32-plain" if form == "v3" else "int32-C"
    array = tmp_path / name
    shutil.copytree(store / name, array)
    chunk = array / ("c/0/0" if form == "v3" else "0.0")
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with mounted(array) as point:
        with pytest.raises(OSError):
            (point / "gdal/0.0").read_bytes()
        (point / "gdal/0.1").read_bytes()
    verified = zarrctl("verify", array)
    assert verified.returncode == 1 and "codec 'numcodecs.pcodec'" in verified.stdout + verified.stderr
