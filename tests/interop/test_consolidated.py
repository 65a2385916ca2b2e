"""Readers that open a whole hierarchy by its consolidated metadata."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import faulty_server
from mounts import DEBIAN_ZARR, SYSTEM_PYTHON, ZARR2_PYTHON, mounted

ARRAYS = {"a": 1, "h/b": 2, "h/i/größe": 3}

READ_V2 = """
import json, sys, zarr
root = zarr.open_consolidated(sys.argv[1], mode="r")
sub = zarr.open_consolidated(sys.argv[1] + "/h", mode="r")
names = json.loads(sys.argv[2])
print(json.dumps({
    "sums": {name: float(root[name][...].sum()) for name in names},
    "attributes": {name: root[name].attrs["name"] for name in names},
    "root": dict(root.attrs), "below h": sorted(dict(sub.arrays())) + sorted(dict(sub.groups()))}))
"""

READ_V3 = """
import json, sys, zarr
root = zarr.open_group(sys.argv[1], mode="r", use_consolidated=True)
names = json.loads(sys.argv[2])
assert {name for name, _ in root.members(max_depth=None)} == {*names, "h", "h/i"}
print(json.dumps({
    "sums": {name: float(root[name][...].sum()) for name in names},
    "attributes": {name: root[name].attrs["name"] for name in names},
    "root": dict(root.attrs), "below h": sorted(name for name, _ in root["h"].members())}))
"""

READERS = {"zarr-python-2": (ZARR2_PYTHON, READ_V2, "v2"), "zarr-python-3": (sys.executable, READ_V3, "v3")}
if DEBIAN_ZARR == "2":
    READERS["debian-zarr-python-2"] = (SYSTEM_PYTHON, READ_V2, "v2")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    import zarr

    folder = tmp_path_factory.mktemp("consolidated") / "store"
    root = zarr.open_group(str(folder), mode="w", zarr_format=3, attributes={"title": "déjà vu"})
    root.create_group("h/i")
    for name, value in ARRAYS.items():
        array = root.create_array(
            name, shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="float32", fill_value=np.nan, dimension_names=("y", "x"),
            attributes={"name": name})
        array[...] = np.full((8, 8), value, "float32")
    zarr.consolidate_metadata(str(folder))
    return folder


@pytest.mark.parametrize("reader", READERS)
def test_arrays_are_found_and_read(store, reader):
    python, script, view = READERS[reader]
    with mounted(store) as point:
        done = subprocess.run(
            [python, "-W", "ignore", "-c", script, str(point / view), json.dumps(list(ARRAYS))], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["sums"] == {name: 64.0 * value for name, value in ARRAYS.items()}
    assert said["attributes"] == {name: name for name in ARRAYS}
    assert said["root"] == {"title": "déjà vu"}
    assert said["below h"] == ["b", "i"]


def test_it_repeats_the_files_in_plain_ascii(store):
    with mounted(store) as point:
        text = (point / "v2/.zmetadata").read_bytes()
        assert text.isascii()
        summary = json.loads(text)["metadata"]
        files = {str(path.relative_to(point / "v2")): json.loads(path.read_text())
                 for path in (point / "v2").rglob(".z*") if path.name != ".zmetadata"}
    assert summary == files


def test_it_can_be_left_out(store):
    with mounted(store, "consolidated=no") as point:
        assert not (point / "v2/.zmetadata").exists()
        assert "consolidated_metadata" not in json.loads((point / "v3/zarr.json").read_text())
    with mounted(store, "consolidated_max=3") as point:
        assert not (point / "v2/.zmetadata").exists()
        assert "consolidated_metadata" not in json.loads((point / "v3/zarr.json").read_text())
        assert ".zmetadata" not in {path.name for path in (point / "v2").iterdir()}
        assert "zarr.json" in {path.name for path in (point / "v3").iterdir()}
        assert (point / "v2/h/.zmetadata").exists(), "three nodes below"


def test_more_than_64_mib_of_them_in_the_store(store, tmp_path):
    """A store of very many arrays, of which this one has few."""
    copy = tmp_path / "www/many"
    shutil.copytree(store, copy)
    document = json.loads((copy / "zarr.json").read_text())
    nodes = document["consolidated_metadata"]["metadata"]
    gone = json.dumps({**nodes["a"], "attributes": {"comment": "x" * 1500}}, indent=2)
    nodes |= {f"gone{i}": json.loads(gone) for i in range(30_000)}
    (copy / "zarr.json").write_text(json.dumps(document, indent=2))
    assert (copy / "zarr.json").stat().st_size > 64 << 20
    with mounted(copy, "memory=256M") as point:
        assert set(os.listdir(point / "v2")) == {"a", "h", ".zgroup", ".zattrs", ".zmetadata"}
        assert json.loads((point / "v2/.zattrs").read_text()) == {"title": "déjà vu"}
        assert "a" in os.listdir(point / "v3") and not (point / ".zarrfs/errors").read_text()
    # A server that cannot list: the names are those in the document.
    with faulty_server.serving(copy.parent) as server, mounted(f"{server.url}/many", "memory=256M,immutable,consolidated=no") as point:
        assert {"b", "i"} <= set(os.listdir(point / "v2/h"))
        assert len((point / "v2/a/0.0").read_bytes()) > 0
