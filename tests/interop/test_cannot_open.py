"""docs/CANNOT_OPEN.md: programs say of a sharded store what the page quotes, and its lines open the mount."""

import re
import subprocess

import pytest
from documented import machine_with_mount
from mounts import DEBIAN_ZARR, ROOT

PAGE = "docs/CANNOT_OPEN.md"
ROWS = re.findall(r"^\| (?!program|---)(.+?) \| (.+?) \| (.+?) \|$", (ROOT / PAGE).read_text(), re.MULTILINE)

# (which Python, a command that opens the store itself, what it says).
REFUSALS = [
    ("zarr2", """python3 -c 'import zarr; zarr.open("/data/ocean.zarr", "r")'""", "zarr.errors.PathNotFoundError: nothing found at path ''"),
    *[("system", """python3 -c 'import zarr; zarr.open("/data/ocean.zarr", "r")'""", "nothing found at path ''")] * (DEBIAN_ZARR == "2"),
    ("zarr2", """python3 -c 'import zarr; zarr.open_group("/data/ocean.zarr", "r")'""",
     "zarr.errors.GroupNotFoundError: group not found at path ''"),
    ("zarr2", """python3 -c 'import zarr; zarr.open_array("/data/ocean.zarr/temperature", "r")'""",
     "zarr.errors.ArrayNotFoundError: array not found at path"),
    ("zarr2", """python3 -c 'import zarr; zarr.open_consolidated("/data/ocean.zarr")'""", "KeyError: '.zmetadata'"),
    ("zarr2", """python3 -c 'import xarray; xarray.open_zarr("/data/ocean.zarr")'""",
     "FileNotFoundError: No such file or directory: '/data/ocean.zarr'"),
    ("system", """python3 -c 'import netCDF4; netCDF4.Dataset("/data/ocean.zarr")'""", "OSError: [Errno -51] NetCDF: Unknown file format"),
    ("zarr3", """python3 -c 'from scipy.io import netcdf_file; netcdf_file("/data/ocean.zarr")'""",
     "IsADirectoryError: [Errno 21] Is a directory"),
    ("", "gdalinfo /data/ocean.zarr", "not recognized as a supported file format"),
    ("", """gdalinfo 'ZARR:"/data/ocean.zarr/temperature"'""", """ZARR:"/data/ocean.zarr/temperature": No such file or directory"""),
    ("", "ncdump -h /data/ocean.zarr", "NetCDF: Unknown file format"),
    ("", "ncdump -h 'file:///data/ocean.zarr#mode=zarr,file'", "netcdf ocean {"),
    ("", "cdo -s sinfon /data/ocean.zarr", "Open failed on >/data/ocean.zarr<"),
    ("", "ncks -m /data/ocean.zarr", "NetCDF: Unknown file format"),
    ("", """Rscript -e 'library(ncdf4); nc_open("/data/ocean.zarr")'""", "Error in R_nc4_open: NetCDF: Unknown file format"),
]

# Which Python a line of the page needs: the first that fits.
PYTHON_OF = {"import zarr": "zarr2", "import xarray": "zarr2", "import netCDF4": "system", "scipy": "zarr3", "": ""}
# What begins so is not run: the programs are not here, or have tests of their own.
NOT_RUN = {
    "ome_zarr": "test_ome.py has it read the view; the sample is no image",
    "zarrfs": "test_generated.py has jzarr read the view",
    "zarrread": "no MATLAB here",
    "ncread": "no MATLAB here",
    "read_zarr_array": "no Rarr here",
}


def commands():
    """The lines of the last column."""
    return [command for _, _, instead in ROWS for command in re.findall(r"`([^`]+)`", instead) if not command.startswith("/")]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with machine_with_mount(tmp_path_factory.mktemp("cannot_open")) as machine:
        yield machine


@pytest.mark.parametrize(("python", "command", "words"), REFUSALS)
def test_program_says_what_the_page_quotes(machine, python, command, words):
    quotes = [quote for _, says, _ in ROWS for quote in re.findall(r"`([^`]+)`", says)]
    assert any(words in quote for quote in quotes), "the page does not have it"
    machine.use(python)
    said = machine.run(command, may_fail=True).replace(str(machine.store), "/data/ocean.zarr")
    # Another version of the program may say what the page quotes of that one.
    assert words in said or any(quote in said for quote in quotes), said


def test_programs_that_show_an_empty_file_find_no_array(machine):
    version = subprocess.run(["gdalinfo", "--version"], capture_output=True, text=True, check=True).stdout
    if re.match(r"GDAL 3\.[0-7]\.", version):
        assert "temperature" not in machine.run("gdalmdiminfo /data/ocean.zarr")
    assert "temperature" not in machine.run("ncdump -h 'file:///data/ocean.zarr#mode=zarr,file'")


@pytest.mark.parametrize("command", [command for command in commands() if command.split("(")[0].split()[0] not in NOT_RUN])
def test_line_opens_the_mount(machine, command):
    machine.use(next(python for word, python in PYTHON_OF.items() if word in command))
    said = machine.run(command)
    assert "temperature" in said or re.search(r"\d \d", said), said


def test_each_line_is_run_or_there_is_a_reason(figures):
    assert len(ROWS) > 20
    for command in commands():
        if reason := NOT_RUN.get(command.split("(")[0].split()[0]):
            figures.append(f"  {PAGE}, not run here: {command} ({reason})")
