"""Each group as one NetCDF file: real readers of NetCDF read it value for value as xarray reads the store."""

import json
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray
import zarr

from mounts import SYSTEM_PYTHON, ZARRCTL, mounted


def write_ocean(folder):
    """What climate data look like: packed, masked, times, coordinates, text, missing chunks."""
    rng = np.random.default_rng(1)
    temperature = rng.normal(280, 10, (6, 20, 30)).astype("float32")
    temperature[1, 2:5] = np.nan
    data = xarray.Dataset(
        {
            "temperature": (("time", "lat", "lon"), temperature, {"units": "K", "valid_range": np.array([200, 350], "float32")}),
            "packed": (("time", "lat"), rng.normal(0, 1, (6, 20)), {"long_name": "packed in int16"}),
            "flags": (("lat", "lon"), rng.integers(0, 255, (20, 30)).astype("uint8"), {"flag_values": [0, 1, 2]}),
            "land": (("lat", "lon"), rng.integers(0, 2, (20, 30)).astype(bool)),
            "count": (("lon",), np.arange(30, dtype="int64") * 1000),
            "half": (("lon",), np.arange(30).astype("float16") / 3),
            "level": ((), np.float64(2.5)),
        },
        coords={
            "time": np.datetime64("2020-01-01", "ns") + np.arange(6) * np.timedelta64(36, "h"),
            "lat": np.linspace(-80, 80, 20),
            "lon": np.linspace(0, 348, 30).astype("float32"),
        },
        attrs={"title": "An ocean", "number": 5, "numbers": [1.5, 2.5]})
    encoding = {
        "temperature": {"chunks": (2, 7, 11), "shards": (4, 14, 33)},
        "packed": {"dtype": "int16", "scale_factor": 0.001, "add_offset": 1.0, "_FillValue": -32768, "chunks": (4, 20)},
    }
    data.to_zarr(folder, zarr_format=3, encoding=encoding, consolidated=False)
    root = zarr.open_group(folder)
    sparse = root.create_array("sparse", shape=(20, 30), chunks=(7, 7), dtype="int32", fill_value=7, dimension_names=("lat", "lon"))
    sparse[:7, :7] = 1
    sub = root.create_group("sub", attributes={"institution": "below"})
    sub.create_array("x", shape=(4,), chunks=(3,), dtype="int32", dimension_names=("x",))[:] = [4, 3, 2, 1]
    sub.create_group("deeper").create_array("y", shape=(2,), chunks=(1,), dtype="int8")[:] = 9


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nc") / "ocean.zarr"
    write_ocean(folder)
    return folder


@pytest.fixture(scope="module", params=["auto", "5"])
def mount(request, store):
    with mounted(store, f"nc={request.param}") as point:
        yield point / "nc", request.param


@pytest.fixture(scope="module")
def cdf2(store):
    """For readers that do not know CDF-5."""
    with mounted(store) as point:
        yield point / "nc"


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def raw_of(store):
    """The stored numbers by name, as Python says them."""
    return {name: array[...] for name, array in zarr.open_group(store, mode="r").arrays()}


def test_names_of_files(store, mount):
    nc, _ = mount
    assert sorted(path.name for path in nc.iterdir()) == ["ocean.nc", "sub", "sub.nc"]
    assert sorted(path.name for path in (nc / "sub").iterdir()) == ["deeper", "deeper.nc"]


def test_ncdump_knows_the_format_and_copies_it(store, mount, tmp_path):
    nc, option = mount
    assert run("ncdump", "-k", nc / "ocean.nc").strip() == {"auto": "64-bit offset", "5": "cdf5"}[option]
    run("nccopy", "-k", "nc4", nc / "ocean.nc", tmp_path / "copy.nc")
    assert run("ncdump", "-n", "x", tmp_path / "copy.nc") == run("ncdump", "-n", "x", nc / "ocean.nc")


READ = """
import json, sys
import netCDF4, numpy
data = netCDF4.Dataset(sys.argv[1])
data.set_auto_maskandscale(False)
out = {}
for name, variable in data.variables.items():
    out[name] = [str(variable.dtype), list(variable.dimensions), numpy.asarray(variable[...]).astype(float).tolist()]
json.dump(out, sys.stdout)
"""


def test_netcdf4_reads_every_value(store, mount):
    nc, option = mount
    values = json.loads(run(SYSTEM_PYTHON, "-c", READ, nc / "ocean.nc"))
    stored = raw_of(store)
    assert sorted(values) == sorted(stored)
    for name, expected in stored.items():
        assert np.array_equal(np.array(values[name][2]), expected.astype(float), equal_nan=True), name
    types = {name: values[name][0] for name in ("flags", "count", "half", "land", "packed", "temperature")}
    exact = {"flags": "uint8", "count": "int64"} if option == "5" else {"flags": "int16", "count": "int32"}
    assert types == {**exact, "half": "float32", "land": "int8", "packed": "int16", "temperature": "float32"}
    assert values["temperature"][1] == ["time", "lat", "lon"]


WITH_XARRAY = """
import pickle, sys
import xarray
data = xarray.open_dataset(sys.argv[1], engine=sys.argv[2])
out = {name: (v.dims, v.values, {k: v.attrs[k] for k in v.attrs}) for name, v in data.variables.items()}
sys.stdout.buffer.write(pickle.dumps((out, dict(data.attrs)), protocol=4))
"""


def decoded_with(python, engine, path):
    result = subprocess.run([python, "-c", WITH_XARRAY, str(path), engine], capture_output=True, timeout=120)
    assert result.returncode == 0, result.stderr.decode()
    return pickle.loads(result.stdout)


def expect_as_store(store, read, attrs):
    expected = xarray.open_zarr(store, consolidated=False, chunks=None)
    assert set(read) == set(expected.variables)
    for name, variable in expected.variables.items():
        dims, values, _ = read[name]
        assert tuple(dims) == variable.dims, name
        assert (values.dtype.kind == "b") == (variable.dtype.kind == "b"), name
        if variable.dtype.kind == "M":
            assert np.array_equal(values.astype("M8[ns]"), variable.values.astype("M8[ns]")), name
        else:
            # (Older versions of xarray unpack in float32.)
            np.testing.assert_allclose(values.astype(float), variable.values.astype(float), rtol=1e-6, atol=1e-6, err_msg=name)
    assert attrs["title"] == "An ocean" and attrs["number"] == 5 and list(attrs["numbers"]) == [1.5, 2.5]


def test_xarray_decodes_as_from_the_store(store, mount):
    nc, _ = mount
    expect_as_store(store, *decoded_with(SYSTEM_PYTHON, "netcdf4", nc / "ocean.nc"))


def test_xarray_with_scipy_reads_cdf2(store, cdf2):
    read = decoded_with(sys.executable, "scipy", cdf2 / "ocean.nc")
    expect_as_store(store, *read)


GDAL = """
import json, sys
from osgeo import gdal
gdal.UseExceptions()
data = gdal.Open(f'NETCDF:"{sys.argv[1]}":temperature')
json.dump(data.GetRasterBand(2).ReadAsArray().astype(float).tolist(), sys.stdout)
"""


def test_gdal_reads_a_band_of_cdf2(store, cdf2):
    band = np.array(json.loads(run(SYSTEM_PYTHON, "-c", GDAL, cdf2 / "ocean.nc")))
    expected = zarr.open_array(store / "temperature")[1].astype(float)
    # (Rows come from north to south.)
    assert np.array_equal(band, expected, equal_nan=True) or np.array_equal(band[::-1], expected, equal_nan=True)


OPEN_SCIPY = "import sys, scipy.io; scipy.io.netcdf_file(sys.argv[1])"
OPEN_GDAL = "import sys; from osgeo import gdal; gdal.UseExceptions(); gdal.Open(sys.argv[1])"
OPEN_R = "library(ncdf4); nc_open(commandArgs(TRUE)[1])"


@pytest.mark.parametrize("command", [
    [sys.executable, "-c", OPEN_SCIPY], [SYSTEM_PYTHON, "-c", OPEN_GDAL], ["Rscript", "-e", OPEN_R]], ids=["scipy", "gdal", "r"])
def test_those_that_are_said_not_to_know_cdf5_open_cdf2_alone(store, cdf2, command):
    def opens(path):
        return subprocess.run([*command, str(path)], capture_output=True, timeout=120).returncode == 0

    assert opens(cdf2 / "ocean.nc")
    with mounted(store, "nc=5") as point:
        assert not opens(point / "nc/ocean.nc"), "a row in READERS.md says so"


R = """
library(ncdf4)
f <- nc_open(commandArgs(TRUE)[1])
cat(sum(ncvar_get(f, "count")), dim(ncvar_get(f, "temperature")), ncvar_get(f, "packed")[3, 2], ncatt_get(f, 0, "title")$value, sep=";")
"""


def test_r_reads_cdf2(store, cdf2, tmp_path):
    (tmp_path / "read.R").write_text(R)
    total, lon, lat, time, packed, title = run("Rscript", tmp_path / "read.R", cdf2 / "ocean.nc").strip().split(";")
    assert float(total) == zarr.open_array(store / "count")[...].sum()
    assert (lon, lat, time, title) == ("30", "20", "6", "An ocean")
    assert float(packed) == pytest.approx(float(xarray.open_zarr(store, consolidated=False)["packed"].values[1, 2]), abs=1e-9)


def test_nco_cuts_out_a_hyperslab(store, mount, tmp_path):
    nc, _ = mount
    run("ncks", "-O", "-4", "-v", "temperature", "-d", "time,1,3", "-d", "lon,5,9", nc / "ocean.nc", tmp_path / "part.nc")
    values = json.loads(run(SYSTEM_PYTHON, "-c", READ, tmp_path / "part.nc"))["temperature"][2]
    assert np.array_equal(np.array(values), zarr.open_array(store / "temperature")[1:4, :, 5:10].astype(float), equal_nan=True)


def test_nco_averages_over_records_of_a_copy(store, cdf2, tmp_path):
    run("ncks", "-O", "--mk_rec_dmn", "time", "-v", "temperature", cdf2 / "ocean.nc", tmp_path / "records.nc")
    run("ncra", "-O", tmp_path / "records.nc", tmp_path / "mean.nc")
    run("ncwa", "-O", "-a", "time", "-v", "temperature", cdf2 / "ocean.nc", tmp_path / "same.nc")
    read = [json.loads(run(SYSTEM_PYTHON, "-c", READ, tmp_path / name))["temperature"][2] for name in ("mean.nc", "same.nc")]
    np.testing.assert_allclose(np.array(read[0]).ravel(), np.array(read[1]).ravel(), rtol=1e-6)


def test_cdo_reads_what_it_can_represent(store, mount):
    nc, _ = mount
    expected = xarray.open_zarr(store, consolidated=False)
    for name in ("sparse", "flags", "count"):  # (of int64 in CDF-5 it makes double)
        numbers = run("cdo", "-s", "outputf,%.9g", f"-selname,{name}", nc / "ocean.nc").split()
        assert [float(number) for number in numbers] == expected[name].values.ravel().tolist(), name


def test_texts_are_characters(tmp_path):
    root = zarr.create_group(tmp_path / "text.zarr")
    root.create_array("station", shape=(3,), chunks=(2,), dtype="<U6", dimension_names=("station",))[:] = ["a", "\N{GREEK SMALL LETTER MU}m", "Halle"]
    root.create_array("code", shape=(3,), chunks=(2,), dtype="S3", dimension_names=("station",))[:] = [b"a", b"bcd", b""]
    with mounted(tmp_path / "text.zarr") as point:
        read, _ = decoded_with(SYSTEM_PYTHON, "netcdf4", point / "nc/text.nc")
    assert read["station"][1].tolist() == ["a", "\N{GREEK SMALL LETTER MU}m", "Halle"]
    assert read["code"][1].tolist() == [b"a", b"bcd", b""]


def test_integers_that_fit_no_int_need_cdf5(tmp_path):
    root = zarr.create_group(tmp_path / "ids.zarr")
    root.create_array("id", shape=(2,), chunks=(2,), dtype="uint64", dimension_names=("x",))[:] = [2**63 + 1, 5]
    for option, kind, names in (("auto", "cdf5", ["id"]), ("2", "64-bit offset", [])):
        with mounted(tmp_path / "ids.zarr", f"nc={option}") as point:
            assert run("ncdump", "-k", point / "nc/ids.nc").strip() == kind
            assert list(json.loads(run(SYSTEM_PYTHON, "-c", READ, point / "nc/ids.nc"))) == names
            if names:
                assert "9223372036854775809, 5" in run("ncdump", point / "nc/ids.nc")
    said = json.loads(run(ZARRCTL, "info", "--json", tmp_path / "ids.zarr"))
    assert said["nodes"][1]["views"]["nc"] == {"shown": True, "serving": "assembled"}
    told = said["nodes"][0]["views"]["nc"]
    assert "left_out" not in told
    assert told["cdf5"].startswith("CDF-5, which GDAL, R and SciPy cannot open, because of id: data type 'uint64'")
    assert told["cdf5"].endswith("; nc=2 leaves it out")
    assert told["cdf5"] in run(ZARRCTL, "info", tmp_path / "ids.zarr")
    said = json.loads(run(ZARRCTL, "info", "--json", "--nc", "2", tmp_path / "ids.zarr"))
    told, = said["nodes"][0]["views"]["nc"]["left_out"]
    assert told.startswith("id: data type 'uint64': CDF-2 has no such type")


def test_truth_values_are_that_again_in_xarray_unless_one_is_masked(tmp_path):
    values = np.array([True, False, True])
    group = zarr.create_group(tmp_path / "bool.zarr", zarr_format=3)
    for name, attributes in {"plain": {}, "named": {"dtype": "i1"}, "masked": {"_FillValue": False}}.items():
        array = group.create_array(name, shape=(3,), chunks=(2,), dtype=bool, attributes=attributes, dimension_names=("x",))
        array[:] = values
    with mounted(tmp_path / "bool.zarr") as point:
        paths = {"netcdf4": point / "nc/bool.nc", "netcdf": f"file://{point}/netcdf#mode=zarr,file"}
        for path in paths.values():
            read, _ = decoded_with(SYSTEM_PYTHON, "netcdf4", path)
            assert {name: read[name][1].dtype.kind == "b" for name in read} == {"plain": True, "named": False, "masked": False}
            for name in ("plain", "named"):
                assert read[name][1].tolist() == values.tolist()
            np.testing.assert_array_equal(read["masked"][1], [1, np.nan, 1])


def test_what_netcdf_cannot_say_is_told(tmp_path):
    root = zarr.create_group(tmp_path / "odd.zarr")
    for name, shape, dimensions in (("none", (0, 2), ("n", "two")), ("wrong", (2, 0), ("two", "n")), ("good", (2,), ("two",)), ("older", (2,), ("two",))):
        root.create_array(name, shape=shape, chunks=(1,) * len(shape), dtype="int8", dimension_names=dimensions)
    root.create_array("complex", shape=(2,), chunks=(1,), dtype="complex64", dimension_names=("two",))
    with mounted(tmp_path / "odd.zarr") as point:
        values = json.loads(run(SYSTEM_PYTHON, "-c", READ, point / "nc/odd.nc"))
        assert values == {"good": ["int8", ["two"], [0.0, 0.0]], "older": ["int8", ["two"], [0.0, 0.0]], "none": ["int8", ["n", "two"], []]}
    said = run(ZARRCTL, "info", tmp_path / "odd.zarr")
    assert "wrong: a NetCDF file may have only one dimension of length 0" in said
    assert "complex64" in said


def test_one_name_with_two_lengths(tmp_path):
    root = zarr.create_group(tmp_path / "two.zarr")
    for name, length in (("x", 4), ("other", 3)):
        root.create_array(name, shape=(length,), chunks=(2,), dtype="int8", dimension_names=("x",))
    root.create_group("two")
    root.create_group("two.nc")
    with mounted(tmp_path / "two.zarr") as point:
        assert sorted(path.name for path in (point / "nc").iterdir()) == ["two", "two.nc", "two.nc.nc", "two_.nc", "two__.nc"]
        assert "other" not in run("ncdump", "-h", point / "nc/two_.nc"), "that is the group's"
        values = json.loads(run(SYSTEM_PYTHON, "-c", READ, point / "nc/two__.nc"))
    assert {name: value[1] for name, value in values.items()} == {"x": ["x"], "other": ["x_3"]}
    said = json.loads(run(ZARRCTL, "info", "--json", tmp_path / "two.zarr"))["nodes"]
    assert {node["path"]: node["views"]["nc"]["file"] for node in said if node["node_type"] == "group"} == {
        "": "two__.nc", "two": "two_.nc", "two.nc": "two.nc.nc"}
    assert {node["path"]: node["views"]["npy"]["file"] for node in said if node["node_type"] == "array"} == {
        "x": "x.npy", "other": "other.npy"}
    assert "nc       the file is two__.nc" in run(ZARRCTL, "info", "-l", tmp_path / "two.zarr")


LARGE = (5, 1 << 10, 1 << 20)  # bytes

READ_LARGE = """
import netCDF4, sys
data = netCDF4.Dataset(sys.argv[1])
print(data.data_model, {name: variable[-1, -1, -5:].tolist() for name, variable in data.variables.items() if name != "none"})
"""
SCIPY_LARGE = """
import scipy.io, sys
print(scipy.io.netcdf_file(sys.argv[1]).variables["huge"][-1, -1, -5:].tolist())
"""


def write_large(folder, *names):
    """Of each array the last of 5 GiB are stored."""
    root = zarr.create_group(folder)
    for name in names:
        array = root.create_array(
            name, shape=LARGE, chunks=(1, 16, 1 << 18), shards=(1, 64, 1 << 20), dtype="int8", dimension_names=("t", "y", "x"))
        array[-1, -1, -5:] = [1, 2, 3, 4, 5]
    return root


def bytes_read(point):
    metric, = (line for line in (point / ".zarrfs/metrics").read_text().splitlines() if line.startswith("zarrfs_store_read_bytes_total "))
    return float(metric.split()[1])


def test_a_hyperslab_of_a_large_variable_costs_its_chunks(tmp_path):
    root = write_large(tmp_path / "one.zarr", "huge")
    root["huge"][0, 64:128] = np.random.default_rng(1).integers(0, 99, (64, 1 << 20), "int8")  # which nobody asks for
    root.create_array("small", shape=(3, 1, 5), chunks=(2, 1, 5), dtype="int32", dimension_names=("s", "one", "five"))[:] = 1
    with mounted(tmp_path / "one.zarr") as point:
        file = point / "nc/one.nc"
        assert run("ncdump", "-k", file).strip() == "64-bit offset", "the large variable is the last one"
        assert file.stat().st_size > 5 << 30
        assert run(SYSTEM_PYTHON, "-c", READ_LARGE, file).strip() == "NETCDF3_64BIT_OFFSET {'small': [1, 1, 1, 1, 1], 'huge': [1, 2, 3, 4, 5]}"
        assert run(sys.executable, "-c", SCIPY_LARGE, file).strip() == "[1, 2, 3, 4, 5]"
        assert "1, 2, 3, 4, 5" in run("ncks", "-H", "-C", "-v", "huge", "-d", "t,4", "-d", "y,1023", "-d", f"x,{(1 << 20) - 5},", file)
        assert bytes_read(point) < 1 << 20


def test_what_cdf2_has_no_room_for_needs_cdf5(tmp_path):
    """netCDF-C refuses a file of CDF-2 in which a variable beyond 4 GiB is not the last, or that has records, too."""
    write_large(tmp_path / "two.zarr", "huge", "large")
    root = write_large(tmp_path / "records.zarr", "huge")
    root.create_array("none", shape=(0, 3), chunks=(1, 3), dtype="int8", dimension_names=("n", "three"))
    for name, variables in (("two", ["huge", "large"]), ("records", ["huge"])):
        for option, model, shown in (("auto", "NETCDF3_64BIT_DATA", variables), ("2", "NETCDF3_64BIT_OFFSET", ["huge"])):
            with mounted(tmp_path / f"{name}.zarr", f"nc={option}") as point:
                said = run(SYSTEM_PYTHON, "-c", READ_LARGE, point / f"nc/{name}.nc").strip()
                assert said == f"{model} {dict.fromkeys(shown, [1, 2, 3, 4, 5])}"
                assert ("none(n, three)" in run("ncdump", "-h", point / f"nc/{name}.nc")) == (name == "records" and option == "auto")
    assert "none: its length is 0" in run(ZARRCTL, "info", "--nc", "2", tmp_path / "records.zarr")


def test_groups_below_are_files_of_their_own(store, mount):
    nc, _ = mount
    read, attrs = decoded_with(SYSTEM_PYTHON, "netcdf4", nc / "sub.nc")
    assert read["x"][1].tolist() == [4, 3, 2, 1] and attrs["institution"] == "below"
    read, _ = decoded_with(SYSTEM_PYTHON, "netcdf4", nc / "sub/deeper.nc")
    assert read["y"][1].tolist() == [9, 9]


def test_whole_numbers_along_one_axis_that_fit_int_need_no_cdf5(tmp_path):
    """As an axis is chunked that was appended to: more chunks, and more bytes, than are looked at of other arrays."""
    root = zarr.create_group(tmp_path / "axis.zarr")
    hours = np.arange(300_000, dtype="int64") * 3
    root.create_array("time", shape=hours.shape, chunks=(3000,), dtype="int64", dimension_names=("time",))[:] = hours
    path = tmp_path / "axis.zarr"
    with mounted(path) as point:
        assert run("ncdump", "-k", point / "nc/axis.nc").strip() == "64-bit offset"
        read, _ = decoded_with(SYSTEM_PYTHON, "netcdf4", point / "nc/axis.nc")
        assert np.array_equal(read["time"][1], hours)
    with mounted(path, "string_scan=1K") as point:
        assert run("ncdump", "-k", point / "nc/axis.nc").strip() == "cdf5"
    root["time"][-1] = 2**40
    with mounted(path) as point:
        assert run("ncdump", "-k", point / "nc/axis.nc").strip() == "cdf5"
    assert "CDF-5, which GDAL, R and SciPy cannot open, because of time: data type 'int64'" in run(ZARRCTL, "info", path)


def test_coordinates_of_the_groups_above_come_along_the_nearest_first(tmp_path):
    """As xarray writes a tree: what children have in common only once."""
    root = zarr.create_group(tmp_path / "tree.zarr")

    def add(group, name, values, *dimensions):
        values = np.asarray(values, dtype="float32")
        group.create_array(name, shape=values.shape, chunks=values.shape, dtype="float32", dimension_names=dimensions)[:] = values

    add(root, "lat", [1, 2, 3], "lat")
    add(root, "lon", [4, 5], "lon")
    add(root, "depth", [1, 2, 3, 4], "depth")  # of another length
    add(root, "z", [6, 7], "lon")  # along another dimension
    add(root, "unused", [8, 9], "unused")
    near = root.create_group("surface")
    add(near, "lat", [10, 20, 30], "lat")
    below = near.create_group("daily")
    add(below, "sst", np.arange(12).reshape(3, 2, 2), "lat", "lon", "z")
    add(below, "salt", [1, 2], "depth")
    with mounted(tmp_path / "tree.zarr") as point:
        file = point / "nc/surface/daily.nc"
        read, _ = decoded_with(SYSTEM_PYTHON, "netcdf4", file)
        assert sorted(read) == ["lat", "lon", "salt", "sst"]
        assert [read[name][1].tolist() for name in ("lat", "lon")] == [[10, 20, 30], [4, 5]]
        before = file.stat().st_mode & 0o777
        (tmp_path / "tree.zarr/lon/zarr.json").chmod(0o600)
        for _ in range(100):
            if file.stat().st_mode & 0o777 != before:
                break
            time.sleep(0.1)
        assert (before, file.stat().st_mode & 0o777) == (0o444, 0o400)
        document = tmp_path / "tree.zarr/lon/zarr.json"
        document.write_text(document.read_text().replace('"lon"', '"other"'))
        for _ in range(100):
            read, _ = decoded_with(SYSTEM_PYTHON, "netcdf4", file)
            if "lon" not in read:
                break
            time.sleep(0.1)
        assert sorted(read) == ["lat", "salt", "sst"]
