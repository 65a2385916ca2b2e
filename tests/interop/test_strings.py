"""Strings of variable length, for readers that know text of a fixed length only: in `gdal`, and as characters in `nc`."""

import json
import os
import pickle
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray
import zarr
from zarr.core.dtype import VariableLengthUTF8

from mounts import SYSTEM_PYTHON, ZARR2_PYTHON, mounted, zarrctl

STATIONS = ["Gr\N{LATIN SMALL LETTER O WITH DIAERESIS}nland", "", "x", "\N{CYRILLIC SMALL LETTER A}bc", "longest one..",
            "\N{CJK UNIFIED IDEOGRAPH-65E5}", "b", "c", "d", "\N{MUSICAL SYMBOL G CLEF}" * 2]
FILL = "fill \N{LATIN SMALL LETTER U WITH DIAERESIS}"


def create(group, name, shape, chunks, **options):
    return group.create_array(name, shape=shape, chunks=chunks, dtype=VariableLengthUTF8(), **options)


def objects(values):
    return np.array(values, dtype=object)


def write(folder):
    """Arrays with and without missing chunks, sharded or not; returns their values by name."""
    root = zarr.create_group(folder)
    create(root, "station", (10,), (2,), shards=(4,), dimension_names=["station"], attributes={"long_name": "name"})[:] = objects(STATIONS)
    sparse = create(root, "sparse", (6, 4), (2, 2), shards=(2, 4), fill_value=FILL, dimension_names=["y", "x"])
    sparse[2:4, 2:4] = objects([["a", "bb"], ["ccc", "dddd"]])
    create(root, "plain", (5,), (2,), compressors=None, dimension_names=["p"])[:] = objects(STATIONS[:5])
    create(root, "empty", (5,), (2,), dimension_names=["p"])
    create(root, "single", (), ())[...] = "h\N{LATIN SMALL LETTER A WITH DIAERESIS}llo"
    root.create_array("t", shape=(10,), chunks=(5,), dtype="f4", dimension_names=["station"])[:] = np.arange(10)
    return {name: np.asarray(root[name][...], object).tolist() for name in ("station", "sparse", "plain", "empty", "single")}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strings") / "strings.zarr"
    return folder, write(folder)


GDAL = """
import json, sys
from osgeo import gdal
import numpy
gdal.UseExceptions()
group = gdal.OpenEx(sys.argv[1], gdal.OF_MULTIDIM_RASTER).GetRootGroup()
out = {}
for name in group.GetMDArrayNames():
    array = group.OpenMDArray(name)
    if array.GetDataType().GetClass() == gdal.GEDTC_STRING:
        shape = [dimension.GetSize() for dimension in array.GetDimensions()]
        out[name] = numpy.array(array.Read(), object).reshape(shape).tolist()
json.dump(out, sys.stdout)
"""


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def read_by_gdal(folder):
    return json.loads(run(SYSTEM_PYTHON, "-c", GDAL, folder))


def test_gdal_reads_every_string(store):
    folder, values = store
    with mounted(folder) as point:
        assert read_by_gdal(point / "gdal") == values
        assert json.loads((point / "gdal/station/.zarray").read_text())["dtype"] == "<U13"
        said = json.loads(run("gdalmdiminfo", "-detailed", point / "gdal"))["arrays"]["station"]
        assert said["values"] == STATIONS and said["attributes"]["long_name"]


def test_zarr_python_2_reads_them_there(store):
    folder, values = store
    code = "import json, sys, zarr\ngroup = zarr.open(sys.argv[1], mode='r')\n" \
           "json.dump({name: array[...].tolist() for name, array in group.arrays() if array.dtype.kind == 'U'}, sys.stdout)"
    with mounted(folder, "view=gdal") as point:
        assert json.loads(run(ZARR2_PYTHON, "-c", code, point)) == values


WITH_XARRAY = """
import pickle, sys
import xarray
data = xarray.open_dataset(sys.argv[1], engine=sys.argv[2])
sys.stdout.buffer.write(pickle.dumps({name: (v.dims, v.values.tolist()) for name, v in data.variables.items()}, protocol=4))
"""


@pytest.mark.parametrize("option,python,engine", [
    ("auto", SYSTEM_PYTHON, "netcdf4"), ("5", SYSTEM_PYTHON, "netcdf4"), ("auto", sys.executable, "scipy")])
def test_xarray_reads_them_from_a_netcdf_file(store, option, python, engine):
    folder, values = store
    with mounted(folder, f"nc={option}") as point:
        kind = run("ncdump", "-k", point / "nc/strings.nc").strip()
        assert kind == {"auto": "64-bit offset", "5": "cdf5"}[option]
        result = subprocess.run(
            [python, "-c", WITH_XARRAY, str(point / "nc/strings.nc"), engine], capture_output=True, timeout=120)
    assert result.returncode == 0, result.stderr.decode()
    read = pickle.loads(result.stdout)
    stored = xarray.open_zarr(folder, consolidated=False, chunks=None)
    for name, expected in values.items():
        dims, found = read[name]
        assert (dims, found) == (stored[name].dims, expected), name


def test_ncdump_has_them_as_characters(store):
    folder, _ = store
    with mounted(folder) as point:
        header = run("ncdump", "-h", point / "nc/strings.nc")
    assert "char station(station, string13)" in header and 'station:_Encoding = "utf-8"' in header


def eventually(holds):
    for _ in range(100):
        if holds():
            return
        time.sleep(0.1)
    assert holds()


def test_a_longer_string_and_a_longer_array_are_a_change_of_metadata(tmp_path):
    folder = tmp_path / "grows.zarr"
    names = create(zarr.create_group(folder), "names", (4,), (2,), shards=(4,), dimension_names=["n"])
    names[:] = objects(["a", "b", "c", "d"])
    with mounted(folder) as point:
        document, chunk = point / "gdal/names/.zarray", point / "gdal/names/0"
        assert json.loads(document.read_text())["dtype"] == "<U1"
        assert chunk.stat().st_size == 16
        before, handle = (document.stat().st_ino, chunk.stat().st_ino), os.open(chunk, os.O_RDONLY)
        header = run("ncdump", "-h", point / "nc/grows.nc")
        assert "string1 = 1" in header
        names[1] = "much longer"
        eventually(lambda: json.loads(document.read_text())["dtype"] == "<U11")
        assert chunk.stat().st_size == 4 * 11 * 4
        assert (document.stat().st_ino, chunk.stat().st_ino) != before
        assert read_by_gdal(point / "gdal")["names"] == ["a", "much longer", "c", "d"]
        eventually(lambda: "string11 = 11" in run("ncdump", "-h", point / "nc/grows.nc"))
        # Who has the old one open never gets items of another size.
        try:
            assert os.pread(handle, 64, 0) == "abcd".encode("utf-32-le")
        except OSError as error:
            assert error.strerror == "Stale file handle"
        os.close(handle)
        names.append(objects(["e", "f"]))
        eventually(lambda: json.loads(document.read_text())["shape"] == [6])
        assert read_by_gdal(point / "gdal")["names"] == ["a", "much longer", "c", "d", "e", "f"]
        names[1] = "s"
        eventually(lambda: json.loads(document.read_text())["dtype"] == "<U1")
        assert read_by_gdal(point / "gdal")["names"] == ["a", "s", "c", "d", "e", "f"]


def test_what_cannot_be_shown_is_told(tmp_path):
    folder = tmp_path / "hard.zarr"
    root = zarr.create_group(folder)
    create(root, "long", (3,), (3,))[:] = objects(["z" * 250, "", "a"])
    create(root, "fits", (3,), (3,))[:] = objects(["z" * 249, "", "a"])
    create(root, "zero", (3,), (3,))[:] = objects(["z\0", "", "a"])
    create(root, "many", (3,), (3,), compressors=None)[:] = objects(["y" * 400, "", "a"])
    create(root, "short", (3,), (3,))[:] = objects(["x", "", "a"])
    reasons = {"long": "250 characters", "zero": "a NUL character"}
    said = {node["path"]: node["views"] for node in json.loads(zarrctl("info", "--json", folder).stdout)["nodes"] if node["path"]}
    for name in ("fits", "short"):
        assert said[name]["gdal"]["shown"], name
    for name, reason in reasons.items():
        assert reason in said[name]["gdal"]["reason"], name
    with mounted(folder, "string_scan=400") as point:
        assert sorted(read_by_gdal(point / "gdal")) == ["fits", "short"]
        header = run("ncdump", "-h", point / "nc/hard.nc")
        assert "char long(" in header and "zero" not in header and "many" not in header
        errors = (point / ".zarrfs/errors").read_text()
        assert "string_scan=400" in (point / ".zarrfs/options").read_text().replace(": ", "=")
    for name, reason in {**reasons, "many": "string_scan=400"}.items():
        assert any(f"{name}: not shown in gdal: " in line and reason in line for line in errors.splitlines()), (name, errors)
        assert name == "long" or any(f"{name}: left out of the file in nc: " in line for line in errors.splitlines()), name


def test_a_listing_looks_at_no_string_and_damage_is_an_error(tmp_path):
    folder = tmp_path / "damaged.zarr"
    root = zarr.create_group(folder)
    create(root, "names", (4,), (4,), compressors=None)[:] = objects(["a", "b", "c", "d"])
    root.create_array("t", shape=(4,), chunks=(4,), dtype="f4")[:] = 1
    chunk = folder / "names/c/0"
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"\xff")  # no UTF-8
    with mounted(folder) as point:
        assert [name for _, folders, _ in os.walk(point / "gdal") for name in sorted(folders)] == ["names", "t"]
        assert "names" not in (point / ".zarrfs/errors").read_text()
        for file in (".zarray", "0"):
            with pytest.raises(OSError, match="Input/output error"):
                (point / "gdal/names" / file).read_bytes()
        with pytest.raises(OSError, match="Input/output error"):
            (point / "nc/damaged.nc").read_bytes()
        assert "names/c/0" in (point / ".zarrfs/errors").read_text()
        assert (point / "gdal/t/0").read_bytes()


def test_hostile_lengths_and_grids_take_little_time(tmp_path):
    folder = tmp_path / "hostile.zarr"
    root = zarr.create_group(folder)
    lengths = {
        "beyond": struct.pack("<II", 4, 2**32 - 1),
        "count": struct.pack("<I", 2**32 - 1),
        "behind": struct.pack("<IIIIII", 4, 0, 0, 0, 0, 0),
        "short": b"\4",
    }
    for name, chunk in lengths.items():
        create(root, name, (4,), (4,), compressors=None)[:] = objects(["a"] * 4)
        (folder / name / "c/0").write_bytes(chunk)
    create(root, "chunks", (2**26,), (1,))[0] = "a"
    create(root, "elements", (2**40,), (2**36,), fill_value="a")
    begin = time.monotonic()
    with mounted(folder, "memory=64M") as point:
        for name in lengths:
            with pytest.raises(OSError, match="Input/output error"):
                (point / "gdal" / name / ".zarray").read_bytes()
        for name in ("chunks", "elements"):
            assert not (point / "gdal" / name / ".zarray").exists(), name
        assert "chunks: not shown in gdal: " in (point / ".zarrfs/errors").read_text()
    assert time.monotonic() - begin < 60
