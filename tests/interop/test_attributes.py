"""Attributes through a mount: what a reader of the store makes of them is what an old reader of the view makes of them, also where they
are broken."""

import json
import subprocess
import sys

import numpy as np
import pytest
from digest import describe
from mounts import READERS, READERS_OF_VIEWS, SYSTEM_PYTHON, ZARR2_PYTHON, mounted, read, run_reader

# As Python writes and reads them.
SOUND = {
    "integer": 2**64, "negative": -(2**63) - 1, "large": 10**40, "list": [1, 2**70, -1.5], "text": str(2**70), "smallest": -(2**63),
}
BROKEN = '{"half": "cut \\ud83d", "large": 1e999, "small": -1e999, "whole": "\\ud83d\\ude00"}'
MENDED = {"half": "cut \ufffd", "large": np.inf, "small": -np.inf, "whole": "\U0001f600"}
VALUES = np.arange(4, dtype="int32")

ZARR_READERS = [name for name in READERS if "zarr-python" in name]


def write(store, attributes):
    """A group that holds an array, both with these attributes, as text."""
    import zarr

    root = zarr.create_group(str(store), zarr_format=3)
    root.create_array("a", shape=(4,), chunks=(2,), shards=(4,), dtype="int32")[:] = VALUES
    for path in [store / "zarr.json", store / "a/zarr.json"]:
        document = {**json.loads(path.read_text()), "attributes": "HERE"}
        path.write_text(json.dumps(document).replace('"HERE"', attributes))


@pytest.mark.parametrize("reader", ZARR_READERS)
def test_integers_of_any_size_keep_their_digits(tmp_path, reader):
    write(tmp_path / "store", json.dumps(SOUND))
    with mounted(tmp_path / "store") as point:
        entry, = read(reader, [point / READERS[reader][0] / "a"])
        errors = (point / ".zarrfs/errors").read_text()
    entry["attributes"].pop("_ARRAY_DIMENSIONS", None)
    assert entry["attributes"] == SOUND
    assert not errors


@pytest.mark.parametrize("reader", ZARR_READERS)
def test_what_is_broken_in_attributes_is_replaced_and_said_once(tmp_path, reader):
    write(tmp_path / "store", BROKEN)
    with mounted(tmp_path / "store") as point:
        for _ in range(2):
            entry, = read(reader, [point / READERS[reader][0] / "a"])
        errors = (point / ".zarrfs/errors").read_text().splitlines()
    entry["attributes"].pop("_ARRAY_DIMENSIONS", None)
    assert entry["attributes"] == MENDED
    assert {key: entry[key] for key in describe(VALUES)} == describe(VALUES)
    for node in ["", "a/"]:
        for what in ["1e999 is read as Infinity", "-1e999 is read as -Infinity", "half a surrogate pair is read as U+FFFD"]:
            assert sum(line.endswith(f" {node}zarr.json: {what}") or line == f"{node}zarr.json: {what}" for line in errors) == 1, errors


def test_an_attribute_without_a_name_hides_no_array_from_gdal(tmp_path):
    write(tmp_path / "store", '{"": "no name", "a": 5}')
    view, command = READERS_OF_VIEWS["gdal"]
    with mounted(tmp_path / "store") as point:
        entry, = run_reader(command, [point / view / "a"])
        assert "gdal: attribute '' left out" in (point / ".zarrfs/errors").read_text()
    assert {key: entry.get(key) for key in describe(VALUES)} == describe(VALUES), entry
    assert entry["attributes"]["a"] == 5 and "" not in entry["attributes"]


@pytest.mark.parametrize("python", [SYSTEM_PYTHON, ZARR2_PYTHON])
def test_attributes_that_are_no_json_hide_no_array_of_the_group(tmp_path, python):
    store = tmp_path / "store"
    subprocess.run([ZARR2_PYTHON, "-c", f"""
import numpy, zarr
group = zarr.open_group({str(store)!r}, mode="w")
group.create_group("g").create_dataset("a", data=numpy.arange(4, dtype="int32"), chunks=2)
"""], check=True)
    (store / "g/.zattrs").write_text('{"title": "half writ')
    with mounted(store) as point:
        assert (point / "v3/g/zarr.json").exists()
        for view, command in [("v2", [python, "read_zarr_python.py"]), ("v3", [sys.executable, "read_zarr_python.py"])]:
            entry, = run_reader(command, [point / view / "g/a"])
            assert {key: entry.get(key) for key in describe(VALUES)} == describe(VALUES), entry
        assert "g/.zattrs: not JSON" in (point / ".zarrfs/errors").read_text()
