"""Every line of docs/OPEN_FROM.md, by the reader that it names; and its mistakes, which say what the table says they do."""

import ast
import json
import re

import numpy as np
import pytest
import zarr
from documented import blocks_by_heading, commands_of, machine_with_mount
from mounts import ROOT, mounted

PAGE = "docs/OPEN_FROM.md"

# Which of PYTHONS has the reader of a heading; "": no Python is asked.
PYTHON_OF = {
    "dask": "ome", "rasterio": "ome", "R": "",
    "xarray": "zarr2", "zarr-python 2": "zarr2", "zarr-python 3": "zarr3", "tensorstore": "zarr3", "GDAL": "system",
    "netCDF-C": "system", "One NetCDF file": "system", "NumPy files": "system", "The shell, numpy, C": "system"}

# Those that tools/setup --readers installs.
FURTHER = {"dask", "rasterio", "R"}
NOT_RUN = {
    "Java": "test_generated.py has jzarr read the view", "QGIS": "it takes the names of GDAL", "Julia": "Debian has no Julia",
    "OME-Zarr: napari, ome-zarr-py": "test_ome.py has both read the view; the sample is no image",
    "Viewers in a browser": "test_recipes.py has zarr.js read through nginx"}

COMMANDS = [
    pytest.param(heading, command, marks=[pytest.mark.further_reader] * (heading in FURTHER))
    for heading, found in blocks_by_heading(PAGE).items() if heading not in NOT_RUN for block in found for command in commands_of(block)]

MISTAKES = [
    ("zarr2", """python3 -c 'import zarr; zarr.open("/mnt/ocean")'""", "Read-only file system: '/mnt/ocean/….partial'"),
    ("zarr3", """python3 -c 'import zarr; zarr.open("/mnt/ocean")'""", "Read-only file system: '/mnt/ocean/….partial'"),
    ("zarr2", """python3 -c 'import zarr; zarr.open("/mnt/ocean", mode="r")'""", "nothing found at path ''"),
    ("zarr2", """python3 -c 'import zarr; zarr.open("/mnt/ocean/v3", mode="r")'""", "nothing found at path ''"),
    ("zarr2", """python3 -c 'import zarr; zarr.open_group("/mnt/ocean", mode="r")'""", "group not found at path ''"),
    ("zarr3", """python3 -c 'import zarr; zarr.open("/mnt/ocean", mode="r")'""", "No group found in store"),
    ("zarr2", """python3 -c 'import xarray; xarray.open_zarr("/mnt/ocean")'""", "No such file or directory: '/mnt/ocean'"),
    ("zarr2", "gdalinfo /mnt/ocean", "unable to open '/mnt/ocean'"),
    ("zarr2", "ncdump -h /mnt/ocean/netcdf", "Unknown file format"),
    ("zarr2", "ls /mnt/ocean/temperature", "/mnt/ocean/temperature': No such file or directory"),
]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with machine_with_mount(tmp_path_factory.mktemp("open_from")) as machine:
        yield machine


def test_each_reader_has_its_heading(figures):
    figures.extend(f"  {PAGE}, not run here: {heading} ({why})" for heading, why in NOT_RUN.items())
    assert {command.values[0] for command in COMMANDS} == set(PYTHON_OF)
    assert {heading for heading, found in blocks_by_heading(PAGE).items() if found} == {*PYTHON_OF, *NOT_RUN}
    assert len(COMMANDS) >= 20


def build_of(command):
    """The command that makes the program."""
    return next(param.values[1] for param in COMMANDS if f" -o {command.split()[0].removeprefix('./')} " in param.values[1])


@pytest.mark.parametrize(("heading", "command"), COMMANDS)
def test_line_opens_it(machine, heading, command):
    machine.use(PYTHON_OF[heading])
    if command.startswith("./"):
        machine.run(build_of(command))
    said = machine.run(command)
    if heading in FURTHER:
        assert re.search(r"\d", said)
    makes = re.search(r"\S+\.(?:tif|nc)$|(?<=^cc -x c -o )\S+", command)
    assert said or (machine.folder / makes[0]).stat().st_size > 1000


def test_first_values_are_those_of_the_sample(machine):
    machine.use("system")
    for command in (command.values[1] for command in COMMANDS if "od -An" in command.values[1]):
        assert machine.run(command).split() == [str(27315 - 11 * x) for x in range(10)]


def test_the_program_in_c_prints_the_numbers_however_the_store_has_them(machine):
    """Big-endian, in Fortran order, in shards that the array does not fill."""
    use, = (param.values[1] for param in COMMANDS if param.values[1].startswith("./"))
    assert machine.run(build_of(use)) == ""
    sample = zarr.open_array(machine.store / "temperature")[...].ravel()
    assert machine.run(use).split("\n")[1].split() == [str(sample[i]) for i in (0, 1, -1)]

    values = np.arange(5 * 7, dtype=">u2").reshape(5, 7) * 1000
    array = zarr.create_array(
        machine.folder / "turned.zarr", shape=(5, 7), shards=(4, 6), chunks=(2, 3), dtype="uint16",
        filters=[zarr.codecs.TransposeCodec(order=(1, 0))], serializer=zarr.codecs.BytesCodec(endian="big"))
    array[...] = values
    with mounted(machine.folder / "turned.zarr") as point:
        header, numbers, _ = machine.run(use.replace("/mnt/ocean/npy/temperature.npy", f"{point}/npy/turned.npy")).split("\n")
    assert ast.literal_eval(header) == {"descr": "<u2", "fortran_order": False, "shape": (5, 7)}
    assert numbers.split() == [str(values.ravel()[i]) for i in (0, 1, -1)]


def test_chunk_files_in_netcdf_are_the_numbers_and_those_beyond_the_array_are_to_be_left_out(machine):
    values = zarr.open_array(machine.store / "temperature")[...]
    folder = machine.mount / "netcdf/temperature"
    document = json.loads((folder / ".zarray").read_text())
    assembled = np.zeros([-(-length // chunk) * chunk for length, chunk in zip(values.shape, document["chunks"])], document["dtype"])
    files = [path for path in folder.iterdir() if path.name[0] != "."]
    for path in files:
        chunk = np.fromfile(path, document["dtype"]).reshape(document["chunks"])
        place = tuple(slice(int(i) * n, (int(i) + 1) * n) for i, n in zip(path.name.split("."), document["chunks"]))
        assembled[place] = chunk
    assert assembled.shape > values.shape and len(files) == 6 * 4 * 4
    assert np.array_equal(assembled[tuple(slice(0, length) for length in values.shape)], values)


@pytest.mark.parametrize(("python", "command", "words"), MISTAKES)
def test_mistake_says_what_the_page_says(machine, python, command, words):
    assert f"`{words}`" in (ROOT / PAGE).read_text()
    machine.use(python)
    said = machine.run(command, may_fail=True).replace(str(machine.mount), "/mnt/ocean")
    assert re.search(".*".join(map(re.escape, words.split("…"))), said), said


def test_views_are_groups_to_netcdf(machine):
    said = machine.run("ncdump -h 'file:///mnt/ocean#mode=zarr,file'")
    assert re.findall(r"^group: (\w+)", said, re.MULTILINE) == ["gdal", "netcdf", "v2"]


def test_arrays_that_differ_are_left_out(machine):
    """With the array of the sample that does not fit the others."""
    machine.use("zarr2")
    mount = machine.folder / "whole"
    mount.mkdir()
    machine.run(f"zarrfs {ROOT}/tests/data/sample.zarr {mount}")
    try:
        call = "python3 -c 'import xarray; print(xarray.open_zarr(\"%s/v2\"%s))'"
        assert "conflicting sizes for dimension 'lat'" in machine.run(call % (mount, ""), may_fail=True)
        assert "temperature" in machine.run(call % (mount, ", drop_variables=[\"depth\"]"))
    finally:
        machine.run(f"zarrfs --unmount {mount}")
