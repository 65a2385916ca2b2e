"""Arrays in the folder of an array, as AnnData makes them of a column called a/b: read by path, and not listed."""

import os
import time

import numpy as np
import pytest
import zarr

from mounts import mounted, read, zarrctl


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("below") / "store"
    zarr.create_group(path)
    for name, options in ("a", {"shards": (4,)}), ("a/b", {"shards": (4,)}), ("a/b/x", {}):
        array = zarr.create_array(path / name, shape=(7,), chunks=(2,), dtype="i4", fill_value=0, dimension_names=["x"], **options)
        array[:] = np.arange(7) + len(name)
    return path


@pytest.mark.parametrize("reader,view", [("zarr-python-2", "v2"), ("zarr-python-3", "v2"), ("tensorstore-v2", "v2")])
def test_readers_open_them_by_path(store, reader, view):
    with mounted(store) as point:
        names = ["a", "a/b", "a/b/x"]
        seen = read(reader, [point / view / name for name in names])
        want = read(reader, [point / view / "a"])[0]
        assert seen[0] == want and len({one["sha256"] for one in seen}) == 3


def test_they_are_in_every_view_that_the_array_is_in_and_not_listed(store):
    with mounted(store) as point:
        for view in "v2", "v3", "java":
            assert "b" not in os.listdir(point / view / "a")
            for name in "a/b", "a/b/x":
                assert zarr.open_array(point / view / name, mode="r")[:].tolist() == [i + len(name) for i in range(7)]
        with pytest.raises(FileNotFoundError):
            os.stat(point / "v2/a/nothing")


def test_one_that_is_added_is_seen(store, tmp_path):
    late = tmp_path / "store"
    zarr.create_array(late / "a", shape=(4,), chunks=(2,), dtype="i4")[:] = 1
    with mounted(late) as point:
        assert not (point / "v2/a/late").exists()
        zarr.create_array(late / "a/late", shape=(4,), chunks=(2,), dtype="i4")[:] = 2
        for _ in range(50):
            if (point / "v2/a/late").exists():
                break
            time.sleep(0.1)
        assert zarr.open_array(point / "v2/a/late", mode="r")[:].tolist() == [2, 2, 2, 2]


def test_verify_names_and_checks_them(store):
    result = zarrctl("verify", store)
    assert result.returncode == 0 and "a/b: is below an array" in result.stdout and "3 arrays" in result.stdout
