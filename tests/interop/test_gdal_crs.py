"""GDAL finds the coordinate system of an array in the view `gdal`, and has nothing to warn of."""

import json
import subprocess

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
root = gdal.OpenEx(sys.argv[1], gdal.OF_MULTIDIM_RASTER).GetRootGroup()
seen = {}
for name in root.GetMDArrayNames():
    array = root.OpenMDArray(name)
    system = array.GetSpatialRef()
    seen[name] = [system and system.GetAuthorityCode(None), array.ReadAsArray().tolist()]
json.dump([seen, warnings], sys.stdout)
"""
WKT = """
from osgeo import osr
system = osr.SpatialReference()
system.ImportFromEPSG(32633)
print(system.ExportToWkt(["FORMAT=WKT2_2019"]), system.ExportToPROJJSON().replace("\\n", " "), sep="\\n")
"""
VALUES = np.arange(6, dtype="f4").reshape(2, 3)


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
