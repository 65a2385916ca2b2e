"""Chunk keys with a suffix (zarr-extensions, `suffix`): views have plain names, which their readers know."""

import json
import os
import time

import numpy as np
import pytest
import zarr

import faulty_server
from mounts import mounted, read, zarrctl

ENCODINGS = {
    "default": ({"name": "suffix", "configuration": {"suffix": ".tiff", "base-encoding": {"name": "default"}}}, "/"),
    "v2": ({"name": "suffix", "configuration": {"suffix": ".shard.zip", "base_encoding": {"name": "v2"}}}, "."),
    "plain": ({"name": "suffix", "configuration": {"suffix": ".raw"}}, "/"),  # without shards
    "zarrs": ({"name": "zarrs.default_suffix", "configuration": {"separator": "/", "suffix": ".bin"}}, "/"),
}
VALUES = {0: 7, 1: np.arange(20), 2: np.arange(480).reshape(20, 24)}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Written by zarr-python 3, which has no such encoding: its chunks and metadata are given the names after that."""
    folder = tmp_path_factory.mktemp("suffix")
    folder.chmod(0o755)
    folder.parent.chmod(0o755)
    root = zarr.create_group(folder / "s.zarr")
    for name, (encoding, separator) in ENCODINGS.items():
        for rank in 0, 1, 2:
            array = root.create_array(
                f"{name}{rank}", shape=(20, 24)[:rank], chunks=(4, 6)[:rank], dtype="i4", **({"shards": (8, 12)[:rank]} if rank and name != "plain" else {}),
                chunk_key_encoding={"name": "v2" if name == "v2" else "default", "separator": separator})
            array[...] = VALUES[rank]
            path = folder / "s.zarr" / f"{name}{rank}"
            for chunk in [one for one in path.rglob("*") if one.is_file() and one.name != "zarr.json"]:
                chunk.rename(f"{chunk}{encoding['configuration']['suffix']}")
            document = json.loads((path / "zarr.json").read_text())
            document["chunk_key_encoding"] = encoding
            (path / "zarr.json").write_text(json.dumps(document))
    return folder / "s.zarr"


NAMES = [f"{name}{rank}" for name in ENCODINGS for rank in VALUES]


def check(point):
    for reader, view in ("zarr-python-2", "v2"), ("zarr-python-3", "v3"):
        for name, seen in zip(NAMES, read(reader, [point / view / name for name in NAMES]), strict=True):
            assert "error" not in seen, (name, seen)
    for name in NAMES:
        array = zarr.open_array(point / "v3" / name, mode="r")
        assert array[...].tolist() == np.asarray(VALUES[int(name[-1])]).tolist()
        assert "suffix" not in (point / "v3" / name / "zarr.json").read_text()


def test_views_have_plain_names(store):
    with mounted(store) as point:
        check(point)
        assert sorted(os.listdir(point / "v2/default2"))[:4] == [".zarray", ".zattrs", "0.0", "0.1"]
        assert [sorted(os.listdir(point / f"v3/{name}2" / "c/1")) for name in ("default", "zarrs", "plain")] == [["0", "1", "2", "3"]] * 3
        assert [sorted(os.listdir(point / f"v3/{name}1" / "c")) for name in ("default", "zarrs", "plain")] == [["0", "1", "2", "3", "4"]] * 3
        assert not (point / "v3/default2/c/0/0.tiff").exists()
        # A change of a stored object is one of its chunks.
        before = (point / "v2/default2/0.0").read_bytes()
        shard = store / "default2/c/0/0.tiff"
        content = shard.read_bytes()
        shard.unlink()
        deadline = time.monotonic() + 20
        while (point / "v2/default2/0.0").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        shard.write_bytes(content)
        while not (point / "v2/default2/0.0").exists():
            assert time.monotonic() < deadline + 20
            time.sleep(0.05)
        assert (point / "v2/default2/0.0").read_bytes() == before


def test_a_web_server_and_zarrctl_give_the_same(store, tmp_path):
    with faulty_server.serving(store.parent) as server, mounted(f"{server.url}/s.zarr") as point:
        check(point)
    verified = zarrctl("verify", store)
    assert verified.returncode == 0 and "no damage" in verified.stdout, verified.stdout
    packed = zarrctl("pack", store, tmp_path / "packed.zarr")
    assert packed.returncode == 0, packed.stderr
    with mounted(tmp_path / "packed.zarr") as point:
        check(point)
