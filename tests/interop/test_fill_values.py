"""Missing data stay missing, and what was measured stays what it was, whatever `fill=` and the other options of names say: old xarray on
`v2` beside new xarray on the store."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
import xarray
import zarr
from mounts import ROOT, SYSTEM_PYTHON, mounted

OLD_XARRAY = ROOT / "build/python/zarr2/bin/python"
READ = """
import json, sys, numpy, xarray
dataset = xarray.open_zarr(sys.argv[1], consolidated=False)
print(json.dumps({name: [str(array.dtype), numpy.where(numpy.isnan(array.values.astype(float)), None, array.values.astype(float)).tolist()]
                  for name, array in dataset.variables.items()}))
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Arrays of 4 x 4 in shards of 2 x 4, of which only the first is stored."""
    path = tmp_path_factory.mktemp("fill") / "store.zarr"
    group = zarr.create_group(path)

    def add(name, dtype, fill_value, values, **attributes):
        array = group.create_array(
            name, shape=(4, 4), chunks=(2, 2), shards=(2, 4), dtype=dtype, fill_value=fill_value, dimension_names=["y", "x"],
            attributes=attributes)
        array[:2] = np.asarray(values, dtype).reshape(2, 4)

    add("packed", "i2", 0, [100, 0, -999, 7, 1, 2, 3, 4], _FillValue=-999, scale_factor=0.5, add_offset=273.15)
    add("masked", "i4", -1, [1, -1, 0, 3, 4, 5, 6, 7], _FillValue=-1)
    add("measured", "i4", 0, [0, 1, 2, 3, 4, 5, 6, 7])
    add("flags", "bool", False, [True, False, True, True, False, False, True, True])
    add("real", "f8", np.nan, [0, 1, np.nan, 3, 4, 5, 6, 7])
    add("real_masked", "f4", 0, [0, 1, -9, 3, 4, 5, 6, 7], _FillValue="AAAAAAAAIsA=")  # -9 as xarray writes it
    return path


@pytest.fixture(scope="module")
def expected(store):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dataset = xarray.open_zarr(store, consolidated=False)
    return {name: array.values.astype(float) for name, array in dataset.variables.items()}


OPTIONS = ["", "fill=auto", "fill=keep", "fill=materialize", "separator=.", "separator=/", "consolidated=no", "ome=keep", "view=v2",
           "compressors=zlib", "fill=keep,compressors=zlib", "links=inside", "links=follow", "string_scan=1k", "nc=2"]


@pytest.mark.parametrize("options", OPTIONS)
def test_values_are_those_of_the_store(store, expected, options):
    with mounted(store, options or None) as point:
        folder = point if options == "view=v2" else point / "v2"
        result = subprocess.run([OLD_XARRAY, "-W", "ignore", "-c", READ, folder], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        found = json.loads(result.stdout)
    assert sorted(found) == sorted(expected)
    for name, (dtype, values) in found.items():
        values = np.array(values, dtype=float)
        wanted = expected[name].copy()
        if "fill=keep" in options and name == "measured":
            wanted[wanted == 0] = np.nan  # its fill value, which xarray masks then, as OPTIONS says
        assert np.array_equal(values, wanted, equal_nan=True), (name, dtype, values, wanted)
        if name == "flags":
            assert dtype == "bool"


READ_NETCDF = READ.replace("xarray.open_zarr(sys.argv[1], consolidated=False)", 'xarray.open_dataset(sys.argv[1], engine="netcdf4")')
OF_OTHER_VIEWS = ["", "fill=keep,nc=2", "fill=materialize", "separator=.,nc=5", "ome=keep,consolidated=no,compressors=zlib"]


@pytest.mark.parametrize("options", OF_OTHER_VIEWS)
def test_so_are_those_of_v3_and_nc(store, expected, options):
    """With new xarray on `v3`, and with that of netCDF-C on `nc`."""
    with mounted(store, options or None) as point:
        for python, code, path in ((sys.executable, READ, point / "v3"), (SYSTEM_PYTHON, READ_NETCDF, point / "nc/store.nc")):
            result = subprocess.run([python, "-W", "ignore", "-c", code, path], capture_output=True, text=True)
            assert result.returncode == 0, result.stderr
            found = json.loads(result.stdout)
            assert sorted(found) == sorted(expected)
            for name, (dtype, values) in found.items():
                precision = 1e-6 if dtype == "float32" else 0  # which xarray of 2023 takes for packed numbers
                assert np.allclose(np.array(values, dtype=float), expected[name], rtol=precision, atol=0, equal_nan=True), (path, name, values)
