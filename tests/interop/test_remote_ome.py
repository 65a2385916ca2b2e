"""OME-Zarr on web servers that list nothing: what a group says lies below it is listed, and a row of a plate is a folder."""

import errno
import os
import subprocess
import time

import numpy as np
import pytest
import zarr

import faulty_server
from mounts import READERS_OF_VIEWS, ZARR2_PYTHON, mounted, run_reader

AXES = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
VERSIONS = {2: "0.4", 3: "0.5"}


def group(path, version, members):
    """A group with OME-Zarr's metadata as its version has them."""
    zarr.create_group(path, zarr_format=version, attributes=members if version == 2 else {"ome": {"version": "0.5", **members}})


def image(path, version):
    levels = [{"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [1 << level] * 2}]} for level in range(2)]
    group(path, version, {"multiscales": [{"version": VERSIONS[version], "name": "cells", "axes": AXES, "datasets": levels}]})
    for level in range(2):
        shape = (8 >> level, 8 >> level)
        options = {"shards": (4, 4), "dimension_names": ["y", "x"]} if version == 3 else {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
        array = zarr.create_array(path / str(level), shape=shape, chunks=(2, 2), dtype="u2", zarr_format=version, **options)
        array[:] = 1 + np.arange(shape[0] * shape[1]).reshape(shape)


def documents(folder):
    return [folder / name for name in ("zarr.json", ".zgroup", ".zattrs")]


@pytest.fixture(scope="module", params=VERSIONS, ids=VERSIONS.values())
def stores(request, tmp_path_factory):
    """A plate whose rows have no document, as converters publish it; an image with labels; what bioformats2raw writes."""
    version, top = request.param, tmp_path_factory.mktemp("ome")
    top.chmod(0o755)
    top.parent.chmod(0o755)
    wells = [{"path": path, "rowIndex": row, "columnIndex": column}
             for path, row, column in (("A/1", 0, 0), ("A/2", 0, 1), ("B/1", 1, 0))]
    group(top / "plate.zarr", version, {"plate": {"version": VERSIONS[version], "rows": [{"name": "A"}, {"name": "B"}],
                                                  "columns": [{"name": "1"}, {"name": "2"}], "wells": wells}})
    for well in wells:
        group(top / "plate.zarr" / well["path"], version, {"well": {"version": VERSIONS[version], "images": [{"path": "0"}]}})
        image(top / "plate.zarr" / well["path"] / "0", version)
    image(top / "image.zarr", version)
    group(top / "image.zarr/labels", version, {"labels": ["nuclei"]})
    image(top / "image.zarr/labels/nuclei", version)
    group(top / "slide.zarr", version, {"bioformats2raw.layout": 3})
    group(top / "slide.zarr/OME", version, {"series": ["0", "label"]})
    image(top / "slide.zarr/0", version)
    image(top / "slide.zarr/label", version)
    group(top / "plain.zarr", version, {"bioformats2raw.layout": 3})
    image(top / "plain.zarr/0", version)
    image(top / "plain.zarr/1", version)
    for row in "AB":
        for document in documents(top / "plate.zarr" / row):
            document.unlink(missing_ok=True)
    return version, top


def names(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith(".") and name != "zarr.json")


@pytest.mark.parametrize("view", ["v2", "v3"])
def test_what_groups_name_is_listed(stores, view):
    _, top = stores
    with faulty_server.serving(top) as server:
        with mounted(f"{server.url}/plate.zarr") as point:
            assert [names(point / view / path) for path in ("", "A", "B", "B/1", "B/1/0")] == [["A", "B"], ["1", "2"], ["1"], ["0"], ["0", "1"]]
            assert not (point / view / "C").exists() and not (point / view / "A/3").exists()
        with mounted(f"{server.url}/image.zarr") as point:
            assert [names(point / view / path) for path in ("", "labels")] == [["0", "1", "labels"], ["nuclei"]]
        with mounted(f"{server.url}/slide.zarr") as point:
            assert names(point / view) == ["0", "OME", "label"]
        with mounted(f"{server.url}/plain.zarr") as point:
            assert [name for name in names(point / view) if name != "OME"] == ["0", "1"]


def test_readers_reach_wells_by_groups_and_by_paths(stores):
    _, top = stores
    wanted = (1 + np.arange(64)).tolist()
    by_groups = "import sys, zarr; print(zarr.open(sys.argv[1], mode='r')['B']['1/0/0'][:].ravel().tolist())"
    with faulty_server.serving(top) as server, mounted(f"{server.url}/plate.zarr") as point:
        read = subprocess.run([ZARR2_PYTHON, "-c", by_groups, point / "v2"], capture_output=True, text=True, check=True)
        assert read.stdout.strip() == str(wanted)
        assert zarr.open_group(point / "v3", mode="r")["B"]["1/0/0"][:].ravel().tolist() == wanted
        view, command = READERS_OF_VIEWS["gdal"]
        (seen,) = run_reader(command, [point / view / "B/1/0/0"])
        assert seen["shape"] == [8, 8], seen


def test_of_consolidated_metadata_each_part_of_a_path_is_a_folder(stores, tmp_path):
    version, _ = stores
    root = zarr.create_group(tmp_path / "c.zarr", zarr_format=version)
    root.create_array("rows/a/x", shape=(2,), chunks=(1,), dtype="i4")[:] = [3, 4]
    zarr.consolidate_metadata(tmp_path / "c.zarr")
    for folder in ("rows", "rows/a"):
        for document in documents(tmp_path / "c.zarr" / folder):
            document.unlink(missing_ok=True)
    tmp_path.chmod(0o755)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/c.zarr") as point:
        assert zarr.open_array(point / "v3/rows/a/x", mode="r")[:].tolist() == [3, 4]
        assert zarr.open_group(point / "v3", mode="r", use_consolidated=False)["rows"]["a"]["x"][:].tolist() == [3, 4]
        assert names(point / "v2/rows") == ["a"]


def test_chunks_that_are_not_stored_cost_no_documents(tmp_path):
    array = zarr.create_array(tmp_path / "a.zarr", shape=(400,), chunks=(1,), dtype="i4", fill_value=-1)
    array[0] = 1
    for path in tmp_path.rglob("*"):
        os.utime(path, (time.time() - 86400,) * 2)
    tmp_path.chmod(0o755)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/a.zarr") as point:
        server.seen.clear()
        for i in range(1, 301):
            with pytest.raises(OSError) as absent:
                (point / f"v3/c/{i}").read_bytes()
            assert absent.value.errno == errno.ENOENT
        # No group above is asked what it names for each of them.
        assert len([path for path, _, _ in server.seen if path.endswith((".json", ".zarray", ".zattrs"))]) < 150
