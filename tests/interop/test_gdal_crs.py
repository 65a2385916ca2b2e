"""GDAL finds the coordinate system of an array in the view `gdal`, and has nothing to warn of."""

import json
import pathlib
import subprocess
import zipfile

import numpy as np
import pytest
import zarr
from mounts import SYSTEM_PYTHON, mounted

READ = """
import json, sys
from osgeo import gdal, osr
gdal.UseExceptions()
warnings = []
gdal.PushErrorHandler(lambda level, number, text: warnings.append(text))
seen = {}
def look(group, path):
    for name in group.GetMDArrayNames() or []:
        array = group.OpenMDArray(name)
        system = array.GetSpatialRef()
        seen[path + name] = [system and system.GetAuthorityCode(None), array.ReadAsArray().tolist()]
    for name in group.GetGroupNames() or []:
        look(group.OpenGroup(name), path + name + "/")
look(gdal.OpenEx(sys.argv[1], gdal.OF_MULTIDIM_RASTER).GetRootGroup(), "")
json.dump([seen, warnings], sys.stdout)
"""
WKT = """
from osgeo import osr
system = osr.SpatialReference()
system.ImportFromEPSG(32633)
print(system.ExportToWkt(["FORMAT=WKT2_2019"]), system.ExportToPROJJSON().replace("\\n", " "), sep="\\n")
"""
VALUES = np.arange(6, dtype="f4").reshape(2, 3)
WILD = pathlib.Path(__file__).with_name("wild") / "stores"


def seen(folder):
    result = subprocess.run([SYSTEM_PYTHON, "-c", READ, str(folder)], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", ["proj:wkt2", "proj:projjson", "proj:code", "crs_wkt", "spatial_ref"])
def test_an_array_has_the_system_that_its_own_attributes_name(tmp_path, name):
    wkt, projjson = subprocess.run([SYSTEM_PYTHON, "-c", WKT], capture_output=True, text=True, check=True).stdout.splitlines()
    value = {"proj:projjson": json.loads(projjson), "proj:code": "EPSG:32633"}.get(name, wkt)
    group = zarr.create_group(tmp_path / "store", zarr_format=3)
    for array, attributes in {"with": {name: value}, "without": {}}.items():
        group.create_array(array, shape=(2, 3), chunks=(2, 3), dtype="f4", attributes=attributes, dimension_names=("y", "x"))[:] = VALUES
    with mounted(tmp_path / "store") as point:
        read, warnings = seen(point / "gdal")
        assert name in json.loads((point / "gdal/with/.zattrs").read_text())
    assert read == {"with": ["32633", VALUES.tolist()], "without": [None, VALUES.tolist()]}
    assert not warnings


def raster(group, name, attributes=None, size=(2, 3), dimensions=("y", "x")):
    array = group.create_array(name, shape=size, chunks=size, dtype="f4", attributes=attributes or {}, dimension_names=dimensions)
    array[:] = np.arange(size[0] * size[1]).reshape(size)


def variable(group, name, attributes):
    group.create_array(name, shape=(), dtype="i4", attributes=attributes)[...] = 0


def systems(folder):
    """The system of each array of two dimensions, as GDAL finds it, and what it warns of."""
    with mounted(folder) as point:
        read, warnings = seen(point / "gdal")
    return {name: code for name, (code, values) in read.items() if isinstance(values, list) and isinstance(values[0], list)}, warnings


@pytest.mark.parametrize("store, expected", [
    ("rioxarray-0.23.0", {"dem": "32633"}),
    ("geozarr-layout", {f"measurements/reflectance/{level}/{band}": "32633" for level in ("r10m", "r20m") for band in ("b02", "b03")})])
def test_rasters_of_real_writers_have_their_system(tmp_path, store, expected):
    with zipfile.ZipFile(WILD / f"{store}.zip") as file:
        file.extractall(tmp_path / "store")
    found, warnings = systems(tmp_path / "store")
    assert found == expected
    assert not warnings


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_nearest_variable_of_a_grid_mapping_says_the_system(tmp_path, zarr_format):
    code = "from osgeo import osr; s = osr.SpatialReference(); s.ImportFromEPSG({}); print(s.ExportToWkt())"
    wkt = {epsg: subprocess.run([SYSTEM_PYTHON, "-c", code.format(epsg)], capture_output=True, text=True, check=True).stdout.strip()
           for epsg in (4326, 32633)}
    root = zarr.create_group(tmp_path / "store", zarr_format=zarr_format)
    inner = root.create_group("inner")
    def add(group, name, attributes, size=(2, 3)):
        names = {"dimension_names": ("y", "x")} if zarr_format == 3 else {}
        group.create_array(name, shape=size, chunks=size, dtype="f4", attributes=attributes, **names)[:] = 1
    variable(root, "crs", {"crs_wkt": wkt[4326]})
    variable(root, "far", {"spatial_ref": wkt[4326]})
    variable(inner, "crs", {"spatial_ref": wkt[32633]})
    variable(root, "silent", {"grid_mapping_name": "latitude_longitude"})
    add(root, "above", {"grid_mapping": "crs"})
    add(inner, "near", {"grid_mapping": "crs"})
    add(inner, "up", {"grid_mapping": "far"})
    add(inner, "extended", {"grid_mapping": "crs: x y far: lat lon"})
    add(inner, "own", {"grid_mapping": "crs", "crs_wkt": wkt[4326]})
    for number, name in enumerate(["silent", "missing", "", "/", "../crs", "a\x00b", "x" * 300, 5, None, ["crs"], {"crs": 1}, "itself"]):
        add(root, "itself" if name == "itself" else f"none{number}", {"grid_mapping": name})
    found, warnings = systems(tmp_path / "store")
    wanted = {"above": "4326", "inner/near": "32633", "inner/up": "4326", "inner/extended": "32633", "inner/own": "4326"}
    assert {name: code for name, code in found.items() if code is not None} == wanted
    assert len(found) == len(wanted) + 12
    assert not warnings


def test_a_group_says_the_system_of_its_own_arrays_alone(tmp_path):
    root = zarr.create_group(tmp_path / "store", zarr_format=3, attributes={"proj:code": "EPSG:4326", "spatial:dimensions": ["y", "x"]})
    raster(root, "direct")
    raster(root, "bounds", dimensions=("y", "edges"))
    raster(root, "own", {"proj:code": "EPSG:32633"})
    raster(root.create_group("deeper"), "none")
    raster(root.create_group("other", attributes={"proj:code": "EPSG:3857"}), "nearer")
    for number, value in enumerate([5, None, [], {}, "", "EPSG"]):
        raster(root.create_group(f"wrong{number}", attributes={"proj:code": value, "multiscales": value}), "none")
    found, warnings = systems(tmp_path / "store")
    assert {name: code for name, code in found.items() if code is not None} == {"direct": "4326", "own": "32633", "other/nearer": "3857"}
    assert not warnings


def test_the_levels_of_a_pyramid_are_no_reason_to_warn_and_have_the_system(tmp_path):
    layout = [{"asset": "0"}, {"asset": "1", "derived_from": "0"}, {"asset": "2/data", "derived_from": "1"}]
    root = zarr.create_group(tmp_path / "store", zarr_format=3, attributes={"multiscales": {"layout": layout}, "proj:code": "EPSG:32633"})
    for name, size in ("0", 8), ("1", 4), ("2/data", 2):
        raster(root.require_group("2") if "/" in name else root, name.rpartition("/")[2], size=(size, size))
    for axis in "yx":
        root.create_array(axis, shape=(4,), chunks=(4,), dtype="f8", dimension_names=(axis,))[:] = np.arange(4) * 10.0
    found, warnings = systems(tmp_path / "store")
    assert found == {"0": "32633", "1": "32633", "2/data": "32633"}
    assert not warnings
    with mounted(tmp_path / "store") as point:
        names = [json.loads((point / "gdal" / level / ".zattrs").read_text())["_ARRAY_DIMENSIONS"] for level in ("0", "1", "2/data")]
        for level, size in ("0", 8), ("1", 4):
            assert json.loads((point / "v2" / level / ".zattrs").read_text()) == {"_ARRAY_DIMENSIONS": ["y", "x"]}
            assert json.loads((point / "gdal" / level / ".zarray").read_text())["shape"] == [size, size]
    assert names == [["y_8", "x_8"], ["y", "x"], ["y", "x"]]


def test_the_sizes_of_an_image_are_no_reason_to_warn(tmp_path):
    datasets = [{"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]} for level in range(2)]
    axes = [{"name": name, "type": "space"} for name in "yx"]
    group = zarr.create_group(tmp_path / "image", zarr_format=3, attributes={
        "ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}})
    for level, shape in enumerate([(4, 6), (2, 3)]):
        group.create_array(str(level), shape=shape, chunks=shape, dtype="f4", dimension_names=("y", "x"))[:] = 1
    with mounted(tmp_path / "image") as point:
        read, warnings = seen(point / "gdal")
    assert [np.array(values).shape for _, values in read.values()] == [(4, 6), (2, 3)]
    assert not warnings
