"""Dimensions, and types of fill values, as netCDF-C sees them: 4.9.0 knows a dimension by its name alone, in the whole store."""

import json
import subprocess

import numpy as np
import pytest
import zarr
from digest import describe
from mounts import READERS_OF_VIEWS, SYSTEM_PYTHON, mounted, run_reader

OPEN_WITH_XARRAY = """
import json, sys, xarray
data = xarray.open_dataset(sys.argv[1], engine="netcdf4", mask_and_scale=False)
print(json.dumps({name: [variable.dims, variable.values.tolist()] for name, variable in data.variables.items()}))
"""


def values_of(shape):
    return np.arange(1, np.prod(shape) + 1, dtype="int32").reshape(shape)


def write(store, arrays):
    """`arrays`: dimension names and shape by path; groups are made."""
    root = zarr.create_group(str(store), zarr_format=3)
    for path, (names, shape) in arrays.items():
        array = root.create_array(path, shape=shape, chunks=(2,) * len(shape), dtype="int32", dimension_names=names)
        array[...] = values_of(shape)


def dimensions_read(point, arrays):
    """The names that netCDF-C gives to the dimensions, by path; shapes and values must be right."""
    entries = run_reader(READERS_OF_VIEWS["netcdf"][1], [point / "netcdf" / path for path in arrays])
    for (path, (_, shape)), entry in zip(arrays.items(), entries):
        wanted = describe(values_of(shape))
        assert {key: entry.get(key) for key in wanted} == wanted, (path, entry)
    return {path: entry["dimensions"] for path, entry in zip(arrays, entries)}


# (arrays, names of the dimensions)
CASES = {
    "the coordinate variable's": (
        {"a": (["x"], [2]), "b": (["x", "y"], [2, 3]), "x": (["x"], [4])},
        {"a": ["x_2"], "b": ["x_2", "y"], "x": ["x"]}),
    "most": (
        {"a": (["t", "x"], [3, 4]), "b": (["x"], [2]), "c": (["x"], [4])},
        {"a": ["t", "x"], "b": ["x_2"], "c": ["x"]}),
    "the smaller": (
        {"a": (["x", "y", "z"], [7, 2, 5]), "b": (["x", "y", "z"], [4, 2, 5])},
        {"a": ["x_7", "y", "z"], "b": ["x", "y", "z"]}),
    "a name that is taken": (
        {"a": (["x"], [4]), "b": (["x"], [2]), "c": (["x_4"], [7])},
        {"a": ["x_4_"], "b": ["x"], "c": ["x_4"]}),
    "two lengths in one array": ({"a": (["x", "x"], [4, 2])}, {"a": ["x_4", "x"]}),
    "another group": (
        {"a": (["x"], [4]), "x": (["x"], [4]), "g/b": (["x"], [2]), "g/h/c": (["x"], [3])},
        {"a": ["x"], "x": ["x"], "g/b": ["x_2"], "g/h/c": ["x_3"]}),
    "a name that another group makes": (
        {"a": (["x_3", "y_3"], [4, 5]), "g/h/c": (["x"], [3])},
        {"a": ["x_3_4", "y_3"], "g/h/c": ["x_3"]}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("options", [None, "consolidated=no"])
def test_of_several_lengths_one_keeps_the_name(tmp_path, case, options):
    arrays, names = CASES[case]
    write(tmp_path / "store", arrays)
    with mounted(tmp_path / "store", options) as point:
        assert dimensions_read(point, arrays) == names
        # All of the store at once, and from its root.
        dumped = subprocess.run(
            ["ncdump", f"file://{point}/netcdf#mode=zarr,file"], capture_output=True, text=True, timeout=60)
        assert dumped.returncode == 0, dumped.stderr
        for path, written in names.items():
            assert f"int {path.split('/')[-1]}({', '.join(written)}) ;" in dumped.stdout, dumped.stdout


def test_xarray_opens_arrays_of_one_name_and_two_lengths(tmp_path):
    arrays = CASES["the coordinate variable's"][0]
    write(tmp_path / "store", arrays)
    with mounted(tmp_path / "store") as point:
        result = subprocess.run(
            [SYSTEM_PYTHON, "-W", "ignore", "-c", OPEN_WITH_XARRAY, f"file://{point}/netcdf#mode=zarr,file"],
            capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        variables = json.loads(result.stdout)
    assert variables == {
        "a": [["x_2"], [1, 2]], "b": [["x_2", "y"], [[1, 2, 3], [4, 5, 6]]], "x": [["x"], [1, 2, 3, 4]]}


def test_beyond_consolidated_max_all_names_carry_their_lengths(tmp_path):
    arrays = {"a": (["t"], [3]), "b": (["x"], [2]), "x": (["x"], [4])}
    write(tmp_path / "store", arrays)
    with mounted(tmp_path / "store", "consolidated_max=2") as point:
        assert dimensions_read(point, arrays) == {"a": ["t_3"], "b": ["x_2"], "x": ["x_4"]}
    with mounted(tmp_path / "store", "consolidated_max=3") as point:
        assert dimensions_read(point, arrays) == {"a": ["t"], "b": ["x_2"], "x": ["x"]}


def test_nccopy_keeps_what_xarray_has_written(tmp_path):
    """It refuses a _FillValue of another type than its variable."""
    import xarray

    data = xarray.Dataset(
        {"f4": (["t", "x"], np.array([[1, np.nan, 3], [4, 5, 6]], "float32"), {"units": "K"}),
         "f8": (["x"], np.array([1, np.nan, 3])),
         "i2": (["x"], np.array([1, -1, 3], "int16"), {"_FillValue": np.int16(-1)}),
         "u1": (["x"], np.array([1, 5, 3], "uint8"), {"_FillValue": np.uint8(5)}),
         "i4": (["x"], np.array([1, 2, 3], "int32"))},
        coords={"x": [0.5, 1.5, 2.5], "t": np.array(["2000-01-01", "2000-01-03"], "datetime64[ns]")})
    data.to_zarr(str(tmp_path / "store"), zarr_format=3, consolidated=False)
    with mounted(tmp_path / "store") as point:
        for mode in ("zarr", "nczarr"):
            copy = tmp_path / f"{mode}.nc"
            copied = subprocess.run(
                ["nccopy", "-k", "nc4", f"file://{point}/netcdf#mode={mode},file", str(copy)],
                capture_output=True, text=True, timeout=60)
            assert copied.returncode == 0, copied.stderr
            dumped = subprocess.run(["ncdump", str(copy)], capture_output=True, text=True, timeout=60).stdout
            for line in ("float f4(t, x)", "f4:_FillValue = NaNf", "f8:_FillValue = NaN ", "i2:_FillValue = -1s", "u1:_FillValue = 5UB",
                         "f4 =\n  1, _, 3,\n  4, 5, 6", "f8 = 1, _, 3", "i2 = 1, _, 3", "u1 = 1, _, 3", "i4 = 1, 2, 3",
                         "x = 0.5, 1.5, 2.5", "t = 0, 2"):
                assert line in dumped, (line, dumped)
            assert "_NCZARR" not in dumped
