"""Names of nodes and dimensions, and which values are missing because of them: what old readers see through a mount is what new
ones see in the store."""

import sys

import numpy as np
import pytest
from digest import describe
from mounts import DEBIAN_ZARR, SYSTEM_PYTHON, ZARR2_PYTHON, mounted, run_reader

NEW_READER = [sys.executable, "read_xarray.py"]
OLD_READERS = {"xarray-2024": [ZARR2_PYTHON, "read_xarray.py"], f"debian-xarray-on-zarr-{DEBIAN_ZARR}": [SYSTEM_PYTHON, "read_xarray.py"]}

# group -> dimension_names and attributes of its array
GROUPS = {
    "stale": (["y", "x"], {"_ARRAY_DIMENSIONS": ["lat", "lon"]}),
    "second-unnamed": (["y", None], {}),
    "first-unnamed": ([None, "x"], {}),
}


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """group -> one array each, of which half the chunks are not stored."""
    import zarr

    folder = tmp_path_factory.mktemp("names") / "store"
    root = zarr.create_group(str(folder), zarr_format=3)
    values = np.zeros((4, 6), "int32")
    values[:2] = np.arange(12).reshape(2, 6)
    for name, (names, attributes) in GROUPS.items():
        group = root.create_group(name)
        group.create_array(
            "data", shape=(4, 6), chunks=(2, 3), shards=(4, 6), dtype="int32", fill_value=0, dimension_names=names,
            attributes=attributes)[:] = values
        for coordinate, length in [("y", 4), ("x", 6)]:
            group.create_array(
                coordinate, shape=(length,), chunks=(length,), dtype="float64", dimension_names=[coordinate])[:] = np.arange(length) + 0.5
    return folder


@pytest.fixture(scope="session")
def wanted(store):
    return dict(zip(GROUPS, run_reader(NEW_READER, [store / group for group in GROUPS])))


@pytest.fixture(scope="session")
def seen(store):
    with mounted(store) as point:
        return {
            reader: dict(zip(GROUPS, run_reader(command, [point / "v2" / group for group in GROUPS])))
            for reader, command in OLD_READERS.items()}


@pytest.mark.parametrize("reader", OLD_READERS)
def test_dimension_names_beat_a_left_over_attribute(wanted, seen, reader):
    entry, original = seen[reader]["stale"], wanted["stale"]
    assert original["variables"]["data"]["dims"] == ["y", "x"]
    assert entry["variables"]["data"]["dims"] == ["y", "x"], entry
    assert {name for name, variable in entry["variables"].items() if variable["coordinate"]} == {"y", "x"}


@pytest.mark.parametrize("group", ["second-unnamed", "first-unnamed"])
@pytest.mark.parametrize("reader", OLD_READERS)
def test_zeros_of_an_array_of_which_some_dimension_has_no_name_are_zeros(wanted, seen, reader, group):
    entry, original = seen[reader][group]["variables"]["data"], wanted[group]["variables"]["data"]
    assert original["dtype"] == "<i4", "xarray opens it in v3, and masks nothing"
    assert {key: entry.get(key) for key in ["shape", "dtype", "sha256"]} == {
        key: original[key] for key in ["shape", "dtype", "sha256"]}, entry
    assert [dim for dim in entry["dims"] if not dim.startswith("dim_")] == [dim for dim in original["dims"] if dim]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_data_array_without_a_name_is_shown(tmp_path, zarr_format):
    """xarray calls it __xarray_dataarray_variable__."""
    import xarray

    store = tmp_path / "store"
    values = np.arange(12, dtype="float32").reshape(3, 4)
    xarray.DataArray(values, dims=["y", "x"]).to_zarr(store, zarr_format=zarr_format, consolidated=False)
    with mounted(store) as point:
        readings = [run_reader(NEW_READER, [point / "v3"])[0]]
        readings += [run_reader(command, [point / "v2"])[0] for command in OLD_READERS.values()]
        assert not (point / ".zarrfs" / "errors").read_text()
    for reading in readings:
        seen = reading["variables"]["__xarray_dataarray_variable__"]
        assert {name: seen[name] for name in ["shape", "dtype", "sha256"]} == describe(values)
        assert seen["dims"] == ["y", "x"]
