"""Stores that netCDF-C wrote with mode=nczarr: its notes on names, shapes and types are used, and not shown where a view changes them."""

import json
import subprocess

import numpy as np
import pytest
import zarr
from mounts import ROOT, SYSTEM_PYTHON, mounted

TYPES = {"_nczarr_array": "|J0", "_nczarr_attr": "|J0"}


def array(folder, name, values, dimensions, scalar=False, types=None, attributes=None):
    """As netCDF-C 4.10.1 writes it."""
    path = folder / name
    path.mkdir(parents=True)
    values = np.asarray(values)
    (path / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": values.shape, "dtype": values.dtype.str, "chunks": values.shape, "fill_value": -1, "order": "C",
        "compressor": None, "filters": None}))
    notes = {"dimension_references": dimensions, **({"scalar": 1} if scalar else {}), "storage": "chunked"}
    (path / ".zattrs").write_text(json.dumps({
        **(attributes or {}), "_ARRAY_DIMENSIONS": ["_scalar_"] if scalar else [each.rpartition("/")[2] for each in dimensions],
        "_nczarr_array": notes, "_nczarr_attr": {"types": {**(types or {}), **TYPES}}}))
    (path / ".".join(["0"] * values.ndim)).write_bytes(values.tobytes())


def write(folder):
    folder.mkdir()
    for group, dimensions, arrays, groups in (("", {"t": {"size": 2, "unlimited": 1}, "x": 3}, ["v", "s", "x"], ["g"]), ("g", {"y": 2}, ["w"], [])):
        path = folder / group
        path.mkdir(exist_ok=True)
        (path / ".zgroup").write_text('{"zarr_format": 2}')
        (path / ".zattrs").write_text(json.dumps({
            "title": "hello", "num": 5, "_nczarr_group": {"dimensions": dimensions, "arrays": arrays, "groups": groups},
            "_nczarr_superblock": {"version": "2.0.0"}, "_nczarr_attr": {"types": {"title": ">S1", "num": "<i2", "_nczarr_group": "|J0"}}}))
    array(folder, "v", np.arange(6, dtype="<i2").reshape(2, 3), ["/t", "/x"], types={"rng": "<f4", "units": ">S1"},
          attributes={"rng": [0.1, 2], "units": "m"})
    array(folder, "s", np.array([2.5]), [], scalar=True)
    array(folder, "x", np.array([1, 2, 3], "<i4"), ["/x"])
    array(folder / "g", "w", np.ones((2, 3), "<i4"), ["/g/y", "/x"])


READ = """
import json, sys
import netCDF4
def plain(value):
    return [value.dtype.str, value.tolist()] if hasattr(value, "dtype") else value
with netCDF4.Dataset(sys.argv[1]) as data:
    seen = {name: [v.dimensions, v.dtype.str, v[...].tolist(), {k: plain(v.getncattr(k)) for k in v.ncattrs()}] for name, v in data.variables.items()}
    json.dump([seen, {k: plain(data.getncattr(k)) for k in data.ncattrs()}], sys.stdout)
"""


NEWER = ROOT / "build/python/netcdf/bin/python"


@pytest.fixture(params=[SYSTEM_PYTHON, pytest.param(str(NEWER), marks=pytest.mark.further_reader)], ids=["debian", "4.10.1"])
def seen(request):
    def read(address):
        result = subprocess.run([request.param, "-c", READ, str(address)], capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)
    return read


@pytest.fixture(scope="module")
def mount(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nczarr") / "notes.zarr"
    write(folder)
    with mounted(folder) as point:
        yield point


@pytest.mark.parametrize("mode", ["zarr", "nczarr"])
def test_netcdf_c_reads_the_view_in_either_mode(seen, mount, mode):
    variables, attributes = seen(f"file://{mount}/netcdf#mode={mode},file")
    assert {name: each[:3] for name, each in variables.items()} == {
        "v": [["t", "x"], "<i2", [[0, 1, 2], [3, 4, 5]]], "s": [["_scalar_"], "<f8", [2.5]], "x": [["x"], "<i4", [1, 2, 3]]}
    assert attributes["title"] == "hello"
    assert not [name for name in attributes if name.startswith("_nczarr")]


def test_a_file_of_netcdf_has_scalars_and_types_by_these_notes(seen, mount):
    variables, attributes = seen(mount / "nc/notes.nc")
    assert variables["s"][:3] == [[], "<f8", 2.5]
    assert variables["v"][3]["rng"] == ["<f4", np.array([0.1, 2], "f4").tolist()]
    assert variables["v"][3]["units"] == "m"
    assert attributes == {"title": "hello", "num": ["<i2", 5]}
    for name, each in variables.items():
        assert set(each[3]) <= {"rng", "units", "_FillValue"}, name


def test_documents_of_views_that_change_it_lack_these_notes(mount):
    for view, name in (("v3", "zarr.json"), ("gdal", ".zattrs"), ("netcdf", ".zattrs"), ("java", ".zattrs")):
        for folder in ("", "v/", "s/", "g/w/"):
            assert "_nczarr" not in (mount / view / folder / name).read_text(), (view, folder)
    assert "_nczarr_array" in (mount / "v2/v/.zattrs").read_text()


@pytest.mark.parametrize("version", ["4.10.1", "4.9.0"])
def test_dimensions_without_names_of_their_own_have_those_of_the_notes(seen, tmp_path, version):
    write(tmp_path / "store")
    for name in ("v", "x"):
        attributes, zarray = (json.loads((tmp_path / "store" / name / each).read_text()) for each in (".zattrs", ".zarray"))
        notes = attributes.pop("_nczarr_array")
        del attributes["_ARRAY_DIMENSIONS"]
        if version == "4.9.0":
            zarray["_NCZARR_ARRAY"] = {"dimrefs": notes["dimension_references"], "storage": "chunked"}
        else:
            attributes["_nczarr_array"] = notes
        (tmp_path / "store" / name / ".zattrs").write_text(json.dumps(attributes))
        (tmp_path / "store" / name / ".zarray").write_text(json.dumps(zarray))
    with mounted(tmp_path / "store") as point:
        assert json.loads((point / "v3/v/zarr.json").read_text())["dimension_names"] == ["t", "x"]
        for view in ("gdal", "netcdf"):
            assert json.loads((point / view / "v/.zattrs").read_text())["_ARRAY_DIMENSIONS"] == ["t", "x"]
        assert seen(point / "nc/store.nc")[0]["v"][0] == ["t", "x"]


@pytest.mark.parametrize("mode", ["zarr", "nczarr"])
def test_a_store_that_was_saved_again_from_a_view_opens(seen, tmp_path, mode):
    """netCDF-C 4.9.3 and later show _NCZARR_ATTR as a text, which xarray saves; 4.9.0 refuses a store with such an attribute."""
    group = zarr.create_group(tmp_path / "again.zarr", zarr_format=2)
    saved = group.create_array("a", shape=(3,), chunks=(3,), dtype="<i4", attributes={
        "_NCZARR_ATTR": json.dumps({"types": {"_FillValue": "<i4"}}), "_ARRAY_DIMENSIONS": ["x"], "units": "m"})
    saved[:] = [1, 2, 3]
    with mounted(tmp_path / "again.zarr") as point:
        variables, _ = seen(f"file://{point}/netcdf#mode={mode},file")
    assert variables["a"][:3] == [["x"], "<i4", [1, 2, 3]]
