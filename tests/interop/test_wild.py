"""Stores as popular writers make them, from the first example of each one's documentation: through every view, the values of the source.

What they wrote is kept in wild/stores, and wild/writers.txt says who wrote it; wild/renew writes it anew. All stores are one
mount: a folder of stores.
"""

import json
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import faulty_server
from mounts import READERS, READERS_OF_JAVA, READERS_FOLDER, READERS_OF_VIEWS, SYSTEM_PYTHON, mounted, run_reader, zarrctl

sys.path.insert(0, str(READERS_FOLDER))
from digest import describe  # noqa: E402

WILD = pathlib.Path(__file__).with_name("wild")
STORES = sorted((WILD / "stores").glob("*.zip"))
NAMES = [path.stem for path in STORES]
REPOSITORY = "icechunk-1.1.21"  # a mount of its own, with what published-layouts has
# One mount each: those whose chunks or documents a server without listings is asked for in different ways.
BEHIND_A_SERVER = [name for name in NAMES if name.startswith(("gdal", "netcdf", "ome-zarr-py-0.12", "xarray", "zarr-python"))]
READERS_HERE = {
    **{name: READERS_OF_VIEWS[name] for name in ("zarr-python-2", "zarr-python-3", "tensorstore-v3", "gdal", "netcdf")},
    "java": READERS_OF_JAVA["zarr-python-2-of-java"],
    "jzarr": READERS_OF_JAVA["jzarr"],
}

# Which tensorstore reads in no store of Zarr v3: they have zlib.
NOT_BY_TENSORSTORE = {"jzarr-0.4.2/group/zlib", "kerchunk-layout/sst", "published-layouts/pace"}

READ_NC = """
import json, sys
sys.path.insert(0, sys.argv[1])
import netCDF4
import numpy as np
from digest import describe
entries = []
for path, name, wanted in json.load(sys.stdin):
    try:
        with netCDF4.Dataset(path) as data:
            variable = data.variables[name]
            variable.set_auto_maskandscale(False)
            entries.append(describe(np.asarray(variable[...]).astype(wanted)))
    except Exception as error:
        entries.append({"error": f"{type(error).__name__}: {error}"})
json.dump(entries, sys.stdout)
"""


def is_number(entry):
    return entry["dtype"][1:2] in tuple("iuf")


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The folder of all stores, its mount, and what zarr-python 3 reads of each array in the folder, by its path."""
    folder = tmp_path_factory.mktemp("wild") / "stores"
    for path in STORES:
        if path.stem == REPOSITORY:
            continue
        with zipfile.ZipFile(path) as file:
            file.extractall(folder / path.stem)
    paths = [path.parent for path in folder.rglob(".zarray")]
    paths += [path.parent for path in folder.rglob("zarr.json") if json.loads(path.read_text())["node_type"] == "array"]
    names = sorted(str(path.relative_to(folder)) for path in paths)
    seen = run_reader(READERS["zarr-python-3"][1], [folder / name for name in names])
    assert {name.split("/")[0] for name in names} | {REPOSITORY} == set(NAMES)
    assert not [(name, one) for name, one in zip(names, seen, strict=True) if "error" in one]
    with mounted(folder) as point:
        yield folder, point, dict(zip(names, seen, strict=True))


def wanted_of(source, reader):
    if reader.startswith("zarr-python"):
        return source
    left_out = NOT_BY_TENSORSTORE if reader.startswith("tensorstore") else set()
    return {name: one for name, one in source.items() if is_number(one) and one["shape"] and 0 not in one["shape"] and name not in left_out}


@pytest.mark.parametrize("reader", [pytest.param(name, marks=[pytest.mark.further_reader] * (name == "jzarr")) for name in READERS_HERE])
def test_each_view_has_the_values_of_the_source(stores, reader):
    _, point, source = stores
    view, command = READERS_HERE[reader]
    wanted = wanted_of(source, reader)
    seen = run_reader(command, [point / view / name for name in wanted])
    faults = {}
    for (name, one), got in zip(wanted.items(), seen, strict=True):
        if reader == "gdal" and one["dtype"] == "|i1":  # which GDAL 3.6 reads as int16
            one = describe(np.load(point / "npy" / f"{name}.npy").astype("i2"))
        if (got.get("shape"), got.get("sha256")) != (one["shape"], one["sha256"]):
            faults[name] = (got.get("error"), got.get("shape"), got.get("dtype"), one["shape"], one["dtype"])
    assert not faults


def npy_faults(point, source):
    numbers = {name: one for name, one in source.items() if is_number(one)}
    for name, one in numbers.items():
        values = np.load(point / "npy" / f"{name}.npy", mmap_mode="r")
        assert list(values.shape) == one["shape"], name
    paths = [str(point / "npy" / f"{name}.npy") for name in numbers]
    result = subprocess.run(
        [SYSTEM_PYTHON, "-c", "import sys; sys.path.insert(0, sys.argv[1])\nimport numpy, digest\n"
         "digest.main(lambda path: (numpy.load(path), {}))", str(READERS_FOLDER)],
        input=json.dumps(paths), capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    seen = zip(numbers.items(), json.loads(result.stdout), strict=True)
    return {name: got for (name, one), got in seen if got.get("sha256") != one["sha256"]}


def nc_faults(point, source):
    numbers = {name: one for name, one in source.items() if is_number(one) and one["shape"]}
    asked = [(str(point / "nc" / f"{group or 'forecasts'}.nc"), variable, one["dtype"])
             for name, one in numbers.items() for group, _, variable in [name.rpartition("/")]]
    result = subprocess.run([SYSTEM_PYTHON, "-c", READ_NC, str(READERS_FOLDER)], input=json.dumps(asked), capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    seen = zip(numbers.items(), json.loads(result.stdout), strict=True)
    return {name: got for (name, one), got in seen if (got.get("shape"), got.get("sha256")) != (one["shape"], one["sha256"])}


FAULTS_IN_FILES = {"npy": npy_faults, "nc": nc_faults}


@pytest.mark.parametrize("view", FAULTS_IN_FILES)
def test_files_have_the_values_of_the_source(stores, view):
    _, point, source = stores
    assert not FAULTS_IN_FILES[view](point, source)


@pytest.mark.parametrize("name", BEHIND_A_SERVER)
def test_a_web_server_without_listings_gives_the_same(stores, name):
    folder, _, source = stores
    arrays = {path.partition("/")[2]: one for path, one in source.items() if path.startswith(f"{name}/")}
    with faulty_server.serving(folder) as server, mounted(f"{server.url}/{name}") as point:
        view, command = READERS_HERE["zarr-python-2"]
        seen = run_reader(command, [point / view / path for path in arrays])
        assert [one.get("sha256", one) for one in seen] == [one["sha256"] for one in arrays.values()]


@pytest.mark.parametrize("reader", ["zarr-python-2", "zarr-python-3", "gdal", "netcdf", "java", *FAULTS_IN_FILES])
def test_a_repository_of_icechunk_has_the_values_of_the_same_layouts(stores, reader, tmp_path):
    _, _, source = stores
    with zipfile.ZipFile(WILD / f"stores/{REPOSITORY}.zip") as file:
        file.extractall(tmp_path / "forecasts")
    layouts = {path.partition("/")[2]: one for path, one in source.items() if path.startswith("published-layouts/")}
    assert {"aifs", "gefs", "ifs", "imerg", "pace"} <= set(layouts)
    with mounted(tmp_path / "forecasts") as point:
        if reader in FAULTS_IN_FILES:
            assert not FAULTS_IN_FILES[reader](point, layouts)
            return
        view, command = READERS_HERE[reader]
        seen = run_reader(command, [point / view / name for name in layouts])
        assert "not shown" not in (point / ".zarrfs/errors").read_text()
    assert [one.get("sha256", one) for one in seen] == [one["sha256"] for one in layouts.values()]


def test_nothing_is_hidden_and_nothing_is_wrong(stores):
    folder, point, _ = stores
    list(point.rglob("*"))
    assert "not shown" not in (point / ".zarrfs/errors").read_text()
    assert zarrctl("verify", folder).returncode == 0


def test_the_list_says_who_wrote_each_store():
    lines = [line.split() for line in (WILD / "writers.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert sorted(line[0] for line in lines) == sorted(NAMES)
