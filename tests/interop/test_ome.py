"""OME-Zarr 0.5 in shards, shown as 0.4 to the readers of v2, and 0.4 as 0.5 to those of v3."""

import errno
import io
import json
import os
import subprocess
import time

import numpy as np
import pytest
import zarr
from mounts import READERS_FOLDER, ROOT, ZARR2_PYTHON, ZARRCTL, mounted

OME_PYTHON = str(ROOT / "build/python/ome/bin/python")
OME05_PYTHON = str(ROOT / "build/python/ome05/bin/python")
XML = "<OME>" + "é" * 300_000 + "</OME>"
AXES = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
SHAPES = [(2, 64, 64), (2, 32, 32)]


def scale(factor):
    return [{"type": "scale", "scale": [1.0, factor, factor]}]


def multiscales(name):
    datasets = [{"path": str(level), "coordinateTransformations": scale(2.0**level)} for level in range(len(SHAPES))]
    return [{"name": name, "axes": AXES, "datasets": datasets}]


def values(seed, level, dtype):
    channels = 1 if dtype == "uint8" else SHAPES[level][0]  # labels have one
    return np.random.default_rng(seed + level).integers(0, 200, (channels, *SHAPES[level][1:])).astype(dtype)


def write_image(group, seed, name, dtype="uint16", sharded=True):
    for level in range(len(SHAPES)):
        data = values(seed, level, dtype)
        array = group.create_array(
            str(level), shape=data.shape, chunks=(1, 16, 16), shards=(len(data), 32, 32) if sharded else None, dtype=dtype,
            **({"dimension_names": ("c", "y", "x")} if sharded else {"chunk_key_encoding": {"name": "v2", "separator": "/"}}))
        array[...] = data


def write(folder, version):
    """As bioformats2raw lays it out: two images in a row, labels of one, a plate, a group OME with a file beside it."""
    new = version == "0.5"

    def group(path, **members):
        if not new:
            for name, value in members.items():
                for each in value if name == "multiscales" else [value]:
                    if name in {"multiscales", "omero", "plate", "well", "image-label"}:
                        each["version"] = "0.4"
        attributes = {"ome": {"version": "0.5", **members}} if new else members
        attributes["beside"] = path
        return zarr.open_group(str(folder / path), mode="a", zarr_format=3 if new else 2, attributes=attributes)

    group(".", **{"bioformats2raw.layout": 3})
    group("OME", series=["0", "1"])
    (folder / "OME/METADATA.ome.xml").write_text(XML)
    write_image(group("0", multiscales=multiscales("first"), omero={"channels": [{"color": "FF0000"}] * 2}), 1, "0", sharded=new)
    group("0/labels", labels=["cells"])
    write_image(
        group("0/labels/cells", multiscales=multiscales("cells"), **{"image-label": {"colors": []}}), 5, "cells", "uint8", new)
    write_image(group("1", multiscales=multiscales("second")), 7, "1", sharded=new)
    wells = [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}]
    group("plate", plate={"rows": [{"name": "A"}], "columns": [{"name": "1"}], "wells": wells, "name": "p"})
    group("plate/A")
    group("plate/A/1", well={"images": [{"path": "0"}]})
    write_image(group("plate/A/1/0", multiscales=multiscales("field")), 9, "field", sharded=new)
    return folder


GROUPS = [".", "OME", "0", "0/labels", "0/labels/cells", "1", "plate", "plate/A/1", "plate/A/1/0"]
IMAGES = {"0": (1, "uint16"), "0/labels/cells": (5, "uint8"), "1": (7, "uint16"), "plate/A/1/0": (9, "uint16")}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ome")
    return {version: write(folder / version, version) for version in ("0.4", "0.5")}


@pytest.fixture(scope="module")
def mounts(stores):
    with mounted(stores["0.5"]) as new, mounted(stores["0.4"]) as old:
        yield {"0.5": new, "0.4": old}


def attributes_in_v2(folder):
    return json.loads((folder / ".zattrs").read_text())


def attributes_in_v3(folder):
    return json.loads((folder / "zarr.json").read_text())["attributes"]


@pytest.mark.parametrize("path", GROUPS)
def test_both_versions_are_the_same_in_either_view(stores, mounts, path):
    written = attributes_in_v2(stores["0.4"] / path)
    assert attributes_in_v2(mounts["0.5"] / "v2" / path) == written
    assert attributes_in_v2(mounts["0.4"] / "v2" / path) == written, "as it is stored"
    written = attributes_in_v3(stores["0.5"] / path)
    assert attributes_in_v3(mounts["0.4"] / "v3" / path) == written
    assert attributes_in_v3(mounts["0.5"] / "v3" / path) == written, "as it is stored"
    assert attributes_in_v2(mounts["0.5"] / "gdal" / path) == written, "which knows nothing of OME-Zarr"


def names_of_dimensions(array):
    return json.loads((array / "zarr.json").read_text()).get("dimension_names")


def test_arrays_of_04_have_the_names_of_the_axes_in_v3(stores, mounts, tmp_path):
    for path, (seed, dtype) in IMAGES.items():
        for level in range(len(SHAPES)):
            array = zarr.open_array(mounts["0.4"] / "v3" / path / str(level), mode="r")
            assert array.metadata.dimension_names == ("c", "y", "x")
            assert np.array_equal(array[...], values(seed, level, dtype))
    with mounted(stores["0.4"], "ome=keep") as point:
        assert names_of_dimensions(point / "v3/0/0") is None
    image = write(tmp_path / "store", "0.4") / "0"
    with mounted(tmp_path / "store") as point:
        assert names_of_dimensions(point / "v3/0/0") == ["c", "y", "x"]
        renamed = (image / ".zattrs").read_text().replace('"c"', '"t"')
        (image / "new").write_text(renamed)
        os.replace(image / "new", image / ".zattrs")
        deadline = time.monotonic() + 30
        while names_of_dimensions(point / "v3/0/0") != ["t", "y", "x"] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert names_of_dimensions(point / "v3/0/0") == ["t", "y", "x"]


def test_keep_changes_nothing(stores):
    with mounted(stores["0.5"], "ome=keep") as point:
        assert attributes_in_v2(point / "v2/0") == attributes_in_v3(stores["0.5"] / "0")
        assert json.loads((point / ".zarrfs/status.json").read_text())["ome"] == "keep"


def test_chunks_have_the_names_that_tools_build_themselves(mounts):
    names = {str(path.relative_to(mounts["0.5"] / "v2/0")) for path in (mounts["0.5"] / "v2/0").rglob("*") if path.is_file()}
    assert "0/1/3/2" in names and "labels/cells/1/0/1/1" in names


@pytest.mark.parametrize("path", IMAGES)
def test_an_old_reader_gets_the_values(mounts, path):
    script = "import sys, numpy, zarr; numpy.save(sys.stdout.buffer, zarr.open(sys.argv[1], mode='r')[sys.argv[2]][...])"
    seed, dtype = IMAGES[path]
    for level in range(len(SHAPES)):
        done = subprocess.run([ZARR2_PYTHON, "-c", script, mounts["0.5"] / "v2", f"{path}/{level}"], capture_output=True, check=True)
        assert np.array_equal(np.load(io.BytesIO(done.stdout)), values(seed, level, dtype))


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_files_beside_the_nodes_are_shown_as_they_are(stores, mounts, version):
    for view in ("v2", "v3"):
        file = mounts[version] / view / "OME/METADATA.ome.xml"
        assert file.name in os.listdir(file.parent)
        assert file.read_text() == XML
        assert file.stat().st_size == len(XML.encode())
        assert file.stat().st_mtime == (stores[version] / "OME/METADATA.ome.xml").stat().st_mtime
    for view in ("gdal", "netcdf"):
        assert "METADATA.ome.xml" not in os.listdir(mounts[version] / view / "OME")


def test_a_file_that_changes_or_goes_is_seen_to(tmp_path):
    store = write(tmp_path / "store", "0.5")
    source = store / "OME/METADATA.ome.xml"
    with mounted(store, "ttl=0") as point:
        shown = point / "v2/OME/METADATA.ome.xml"
        assert shown.read_text() == XML
        (store / "OME/new").write_text("<OME>another</OME>")
        with open(shown) as before:
            os.replace(store / "OME/new", source)
            assert shown.read_text() == "<OME>another</OME>"
            try:
                assert before.read() == XML
            except OSError as error:
                assert error.errno == errno.ESTALE
        with open(source, "w") as file:  # the same inode
            file.write("<OME>ANOTHER</OME>")
        assert shown.read_text() == "<OME>ANOTHER</OME>"
        source.unlink()
        assert not shown.exists()
        assert "METADATA.ome.xml" not in os.listdir(shown.parent)
        source.write_text(XML)
        assert shown.read_text() == XML


def test_info_tells_what_04_cannot_say(tmp_path):
    zarr.open_group(
        str(tmp_path / "store"), mode="w", zarr_format=3, attributes={"ome": {"version": "0.6.dev3", "multiscales": [{}]}})
    with mounted(tmp_path / "store") as point:
        assert attributes_in_v2(point / "v2")["ome"]["version"] == "0.6.dev3"
    done = subprocess.run([ZARRCTL, "info", tmp_path / "store"], capture_output=True, text=True, check=True)
    assert 'OME-Zarr "0.6.dev3": not shown as 0.4' in done.stdout + done.stderr


@pytest.mark.further_reader
@pytest.mark.parametrize("path", IMAGES)
def test_ome_zarr_models_finds_nothing_wrong(mounts, path):
    script = "import sys, zarr; from ome_zarr_models.v05 import Image; print(len(Image.from_zarr(zarr.open_group(sys.argv[1], mode='r')).datasets))"
    for version in ("0.4", "0.5"):
        done = subprocess.run([OME05_PYTHON, "-c", script, mounts[version] / "v3" / path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.further_reader
@pytest.mark.parametrize("path", ["0", "1", "plate", "0/labels/cells"])
def test_ome_zarr_py_and_napari_read_both_alike(stores, mounts, path):
    def read(folder):
        done = subprocess.run([OME_PYTHON, READERS_FOLDER / "read_ome.py", folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    found = read(mounts["0.5"] / "v2" / path)
    assert found == read(stores["0.4"] / path), "as if written in 0.4"
    specs = {spec for node in found["ome-zarr-py"] for spec in node["specs"]}
    assert specs >= ({"Plate"} if path == "plate" else {"Multiscales"})
    if path in IMAGES:
        seed, dtype = IMAGES[path]
        sums = [float(values(seed, level, dtype).sum()) for level in range(len(SHAPES))]
        assert sums in [node["sums"] for node in found["ome-zarr-py"]]
        assert found["napari"], "napari shows layers"
