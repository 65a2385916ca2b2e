"""Stores as popular writers make them, from the first example of each one's documentation: through every view, the values of the source.

What they wrote is kept in wild/stores; wild/write.py writes it anew.
"""

import json
import pathlib
import zipfile

import pytest

import faulty_server
from mounts import READERS, READERS_OF_VIEWS, mounted, run_reader, zarrctl

STORES = sorted((pathlib.Path(__file__).with_name("wild") / "stores").glob("*.zip"))
SOURCE_READER = READERS["zarr-python-3"][1]
READERS_HERE = {name: READERS_OF_VIEWS[name] for name in ("zarr-python-2", "zarr-python-3", "tensorstore-v3", "gdal", "netcdf")}


@pytest.fixture(scope="module", params=STORES, ids=[path.stem for path in STORES])
def store(request, tmp_path_factory):
    """The store, its mount, and what zarr-python 3 reads of each array in the store."""
    folder = tmp_path_factory.mktemp("wild") / "store"
    with zipfile.ZipFile(request.param) as file:
        file.extractall(folder)
    paths = [path.parent for path in folder.rglob(".zarray")]
    paths += [path.parent for path in folder.rglob("zarr.json") if json.loads(path.read_text())["node_type"] == "array"]
    names = sorted(str(path.relative_to(folder)) for path in paths)
    seen = run_reader(READERS["zarr-python-3"][1], [folder / name for name in names])
    assert names and not [one for one in seen if "error" in one]
    with mounted(folder) as point:
        yield folder, point, dict(zip(names, seen, strict=True))


@pytest.mark.parametrize("reader", READERS_HERE)
def test_each_view_has_the_values_of_the_source(store, reader):
    _, point, source = store
    view, command = READERS_HERE[reader]
    wanted = dict(source)
    if not reader.startswith("zarr-python"):  # numbers, and no scalars
        wanted = {name: one for name, one in source.items() if one["dtype"][1:2] in tuple("iuf") and one["shape"]}
    if reader == "netcdf":  # opens variables of the root group here
        wanted = {name: one for name, one in wanted.items() if "/" not in name}
    seen = run_reader(command, [point / view / name for name in wanted]) if wanted else []
    for (name, one), got in zip(wanted.items(), seen, strict=True):
        if "too many values to unpack" in got.get("error", ""):
            continue  # GDAL shows the coordinates of an array beside it, which the script of this reader does not expect
        assert "error" not in got, (name, got)
        assert (got["shape"], got["sha256"]) == (one["shape"], one["sha256"]), (name, got, one)


def test_a_web_server_without_listings_gives_the_same(store):
    folder, _, source = store
    if not any((folder / name).exists() for name in ("zarr.json", ".zgroup")):
        return  # tensorstore writes no document of the root, which is what a web server is asked for
    with faulty_server.serving(folder.parent) as server, mounted(f"{server.url}/{folder.name}") as point:
        for reader in "zarr-python-2", "zarr-python-3":
            view, command = READERS_HERE[reader]
            seen = run_reader(command, [point / view / name for name in source])
            assert [one.get("sha256", one) for one in seen] == [one["sha256"] for one in source.values()]


def test_nothing_is_hidden_and_nothing_is_wrong(store):
    folder, point, _ = store
    list(point.rglob("*"))
    assert "not shown" not in (point / ".zarrfs/errors").read_text()
    assert zarrctl("verify", folder).returncode == 0
