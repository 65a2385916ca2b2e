"""`zarrctl sample`: three small stores, which real readers open as they are and through a mount."""

import hashlib
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorstore
import xarray
import zarr
from documented import blocks
from mounts import ROOT, SYSTEM_PYTHON, ZARR2_PYTHON, ZARRCTL, ZARRFS, mounted, run_reader

OME05_PYTHON = str(ROOT / "build/python/ome05/bin/python")
OME_PYTHON = str(ROOT / "build/python/ome/bin/python")
STORES = ["cells.zarr", "heights.zarr", "ocean.zarr"]


def sample(folder):
    return subprocess.run([ZARRCTL, "sample", folder], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "try"
    result = sample(folder)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].endswith(f": zarrfs {folder}/ocean.zarr")
    return folder


@pytest.fixture(scope="module")
def mount(stores):
    with mounted(stores) as point:
        yield point


def arrays(store):
    return {path: node for path, node in zarr.open_group(str(store), mode="r").members(max_depth=None) if isinstance(node, zarr.Array)}


def run(python, program, *arguments):
    result = subprocess.run([python, "-W", "ignore", "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def digest_of(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def test_writes_the_same_three_everywhere_and_replaces_none(stores, tmp_path):
    assert sorted(path.name for path in stores.iterdir()) == STORES
    assert sum(path.stat().st_size for path in stores.rglob("*") if path.is_file()) < 2 << 20
    before = digest_of(stores)
    again = sample(stores)
    assert again.returncode == 1 and again.stderr.endswith("ocean.zarr: exists already\n")
    assert digest_of(stores) == before
    (tmp_path / "here").mkdir()
    assert sample(tmp_path / "here").returncode == 0
    assert digest_of(tmp_path / "here") == before
    (tmp_path / "file").write_text("mine")
    assert sample(tmp_path / "file").returncode != 0 and (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", STORES)
def test_readers_of_v3_get_the_same_values_with_and_without_consolidated_metadata(stores, name):
    found = arrays(stores / name)
    assert len(found) in (4, 6)
    assert any(array.shards for array in found.values()) and zarr.open_group(str(stores / name)).metadata.consolidated_metadata
    for path, array in found.items():
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(stores / name / path)}}
        other = tensorstore.open(spec, open=True).result()
        np.testing.assert_array_equal(other.read().result(), array[...])
        single = zarr.open_array(str(stores / name / path), mode="r")
        assert single.metadata.to_dict()["attributes"] == array.metadata.to_dict()["attributes"] and single.shards == array.shards
    assert subprocess.run([ZARRCTL, "verify", stores / name], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", STORES)
def test_old_readers_get_these_values_through_the_mount(stores, mount, name):
    paths = list(arrays(stores / name))
    wanted = run_reader([sys.executable, "read_zarr_python.py"], [stores / name / path for path in paths])
    for reader, view in ((ZARR2_PYTHON, "v2"), (sys.executable, "v3")):
        entries = run_reader([reader, "read_zarr_python.py"], [mount / view / name / path for path in paths])
        for path, one, other in zip(paths, wanted, entries, strict=True):
            assert one["sha256"] == other["sha256"] and one["dtype"] == other["dtype"], (path, one, other)


def test_the_first_lines_of_the_readme_work_on_it(stores, tmp_path):
    lines = [line.partition("  #")[0] for block in blocks((ROOT / "README.md").read_text()) for line in block]
    wanted = [line for line in lines if re.match(r"python3 -c|gdalinfo|ncdump|ls /mnt/ocean/npy", line)]
    assert len(wanted) == 6
    with mounted(stores / "ocean.zarr") as point:
        for line in wanted:
            command = line.replace("/mnt/ocean", str(point)).replace("python3", f"{ZARR2_PYTHON} -W ignore")
            result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
            assert result.returncode == 0 and "temperature" in result.stdout + command, f"{command}: {result.stdout}{result.stderr}"


DATASET = """
import sys, xarray
data = xarray.open_zarr(sys.argv[2]) if sys.argv[1] == "zarr" else xarray.open_dataset(sys.argv[2])
print(data.time.dt.month.values.tolist(), data.sizes["lat"], int(data.temperature.isnull().sum()), int(data.depth.isnull().sum()))
print(*(round(float(data.temperature.sel(lat=lat).mean()), 2) for lat in (1, 45)), data.temperature.units)
"""


def test_xarray_decodes_the_climate_store(stores, mount):
    with xarray.open_zarr(str(stores / "ocean.zarr")) as data:
        missing = int(data.temperature.isnull().sum()), int(data.depth.isnull().sum())
        values = [round(float(data.temperature.sel(lat=lat).mean()), 2) for lat in (1, 45)]
        assert missing[0] == 12 * missing[1] and 0 < missing[1] < 90 * 180 / 2
        assert 25 < values[0] < 32 and 5 < values[1] < 20
        assert [len(data.attrs), *data.temperature.encoding["shards"]] == [2, 6, 90, 90]
    expected = [f"{list(range(1, 13))} 90 {missing[0]} {missing[1]}", f"{values[0]} {values[1]} degC"]
    assert run(ZARR2_PYTHON, DATASET, "zarr", mount / "v2/ocean.zarr").splitlines() == expected
    assert run(SYSTEM_PYTHON, DATASET, "netcdf", mount / "nc/ocean.zarr.nc").splitlines() == expected


GDAL = """
import sys
from osgeo import gdal
raster = gdal.Open(sys.argv[1])
band = raster.GetRasterBand(1)
values = band.ReadAsArray()
print(raster.GetSpatialRef().GetAuthorityCode(None), raster.GetGeoTransform(), band.GetNoDataValue(), (values == -32768).sum(), values.max(), band.GetUnitType())
"""


def test_gdal_places_the_raster(stores, mount):
    heights = arrays(stores / "heights.zarr")["height"][...]
    expected = ("32633 (390000.0, 30.0, 0.0, 5200000.0, 0.0, -30.0) -32768.0 "
                f"{(heights == -32768).sum()} {heights.max()} m")
    assert (heights == -32768).sum() == 120 * 121 // 2
    assert run(SYSTEM_PYTHON, GDAL, f'ZARR:"{mount}/gdal/heights.zarr/height"').strip() == expected
    assert "32633" in run(SYSTEM_PYTHON, GDAL, f"NETCDF:{mount}/nc/heights.zarr.nc:height")


def test_image_has_labels_for_readers_of_both_versions(stores, mount):
    ome = json.loads((mount / "v3/cells.zarr/zarr.json").read_text())["attributes"]["ome"]
    old = json.loads((mount / "v2/cells.zarr/.zattrs").read_text())
    assert [channel["color"] for channel in ome["omero"]["channels"]] == ["3355FF", "00FF66"]
    assert old["multiscales"][0]["version"] == "0.4" and old["multiscales"][0]["axes"] == ome["multiscales"][0]["axes"]
    assert json.loads((mount / "v2/cells.zarr/labels/.zattrs").read_text())["labels"] == ["nuclei"]
    levels = [arrays(stores / "cells.zarr")[f"labels/nuclei/{level}"] for level in range(3)]
    assert set(np.unique(levels[0][...])) == set(range(61))
    assert [level.shape for level in levels] == [(512, 512), (256, 256), (128, 128)]
    image = arrays(stores / "cells.zarr")["0"][...]
    assert image[0][levels[0][...] > 0].mean() > 5 * image[0][levels[0][...] == 0].mean(), "nuclei are bright where labels are"


VALIDATE = """
import sys, zarr
from ome_zarr_models import open_ome_zarr
for path in sys.argv[1:]: print(type(open_ome_zarr(zarr.open_group(path, mode="r"))).__name__)
"""
NAPARI = """
import sys
from napari_ome_zarr import napari_get_reader
for data, options, kind in napari_get_reader(sys.argv[1])(sys.argv[1]): print(kind, options.get("name"), [level.shape for level in data])
"""


@pytest.mark.further_reader
def test_image_is_valid_and_shown(stores, mount):
    assert run(OME05_PYTHON, VALIDATE, stores / "cells.zarr", stores / "cells.zarr/labels/nuclei").split() == ["Image", "ImageLabel"]
    said = run(OME_PYTHON, NAPARI, mount / "v2/cells.zarr")
    assert "image ['nuclei', 'membranes'] [(2, 512, 512), (2, 256, 256), (2, 128, 128)]" in said
    assert "labels nuclei [(512, 512), (256, 256), (128, 128)]" in said


def test_at_a_terminal_and_in_help_every_view_has_a_line(stores, tmp_path):
    said = subprocess.run(
        ["script", "-qec", f"{ZARRFS} {stores}/ocean.zarr {tmp_path}", "/dev/null"], capture_output=True, text=True, timeout=60).stdout
    subprocess.run([ZARRFS, "--unmount", tmp_path], check=True)
    help_text = subprocess.run([ZARRFS, "--help"], capture_output=True, text=True, check=True).stdout
    for view, what in (("nc", "one NetCDF file for each group"), ("npy", "one .npy file for each array")):
        assert re.search(rf"^  {tmp_path}/{view} +{what} \(not listed\)\r?$", said, re.MULTILINE), said
        assert re.search(rf"^  {view} +{what} \(not listed\)$", help_text, re.MULTILINE)
