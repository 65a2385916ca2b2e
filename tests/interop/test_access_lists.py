"""Access control lists of POSIX: who is kept from a file in the store is kept from it in every view of root's mount."""

import os
import subprocess

import mounts
import numpy as np
import pytest
import zarr

ALICE, LAB = 64001, 64101  # who owns the store, and its group
CAROL = (64002, LAB)  # of that group
DAVE = (64003, 64103)  # of no group of the store
VALUES = np.arange(16, dtype="i4").reshape(4, 4)

# Files with the chunk 0.0 of g/a, or all of it; its documents; and those that repeat its metadata where everybody may read them.
DATA = ["v2/g/a/0.0", "v3/g/a/c/0/0", "gdal/g/a/0.0", "netcdf/g/a/0.0", "java/g/a/0.0", "npy/g/a.npy", "nc/g.nc"]
DOCUMENTS = ["v2/g/a/.zarray", "v3/g/a/zarr.json"]
CONSOLIDATED = {"v2/.zmetadata": '"g/a/.zarray"', "v2/g/.zmetadata": '"a/.zarray"'}


@pytest.fixture
def store(tmp_path):
    if os.getuid() != 0:
        pytest.skip("needs root")
    for folder in [tmp_path, *tmp_path.parents]:  # (pytest's are for this user alone)
        if folder.stat().st_uid == 0 and folder.stat().st_mode & 0o077 == 0 and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    root = zarr.create_group(tmp_path / "store.zarr")
    array = root.create_group("g").create_array("a", shape=(4, 4), chunks=(2, 2), shards=(4, 4), dtype="i4", dimension_names=["y", "x"])
    array[:] = VALUES
    for folder, _, files in os.walk(tmp_path / "store.zarr"):
        os.chown(folder, ALICE, LAB)
        os.chmod(folder, 0o755)
        for name in files:
            os.chown(f"{folder}/{name}", ALICE, LAB)
            os.chmod(f"{folder}/{name}", 0o644)
    return tmp_path / "store.zarr"


def mounted(store, options=None):
    """At a place that others may go to."""
    point = store.with_name("mnt")
    point.mkdir()
    return mounts.mounted(store, options, at=point)


def setfacl(path, *entries):
    for entry in entries:
        subprocess.run(["setfacl", "-m", entry, path], check=True)


def may_read(path, user, group):
    """Whether a process of that user can."""
    return subprocess.run(["cat", path], user=user, group=group, extra_groups=[], capture_output=True).returncode == 0


def readable(point, paths, who):
    return [path for path in paths if may_read(point / path, *who)]


def consolidated(point):
    """Which of the consolidated documents have the array's metadata."""
    return [path for path, name in CONSOLIDATED.items() if name in (point / path).read_text()]


def test_without_a_list_everybody_reads(store):
    with mounted(store) as point:
        for who in (CAROL, DAVE):
            assert readable(point, DATA + DOCUMENTS, who) == DATA + DOCUMENTS
        assert consolidated(point) == list(CONSOLIDATED)


def test_a_named_user_opens_a_file_to_nobody_else(store):
    """chmod 600, then a right for one user: the group bits of the file are the mask by then."""
    shard = store / "g/a/c/0/0"
    shard.chmod(0o600)
    setfacl(shard, f"u:{DAVE[0]}:r")
    assert shard.stat().st_mode & 0o777 == 0o640 and not may_read(shard, *CAROL)
    with mounted(store) as point:
        assert readable(point, DATA, CAROL) == readable(point, DATA, (64009, 64109)) == []
        assert may_read(point / "v3/g/a/c/0/0", ALICE, LAB)


@pytest.mark.parametrize("place", ["g", "g/a", "g/a/c", "g/a/c/0", "g/a/c/0/0"])
@pytest.mark.parametrize("entry", ["u", "g"])
def test_an_entry_that_denies_does(store, place, entry):
    """On the shard, and on each folder above it."""
    user = {"u": DAVE[0], "g": DAVE[1]}[entry]
    setfacl(store / place, f"{entry}:{user}:---")
    assert not may_read(store / "g/a/c/0/0", *DAVE)
    with mounted(store) as point:
        assert readable(point, DATA, DAVE) == []
        if place in ("g", "g/a"):
            assert readable(point, DOCUMENTS, DAVE) == [] and "v2/.zmetadata" not in consolidated(point)
        assert may_read(point / "v3/g/a/c/0/0", ALICE, LAB)


def test_a_list_on_metadata_counts_for_documents_that_repeat_them(store):
    setfacl(store / "g/a/zarr.json", f"u:{DAVE[0]}:---")
    with mounted(store) as point:
        assert readable(point, DOCUMENTS, DAVE) == [] and consolidated(point) == []


def test_a_list_that_is_set_later_is_seen(store):
    shard = store / "g/a/c/0/0"
    with mounted(store) as point:
        assert may_read(point / "v3/g/a/c/0/0", *DAVE)
        setfacl(shard, f"u:{DAVE[0]}:---")
        for _ in range(100):
            if not may_read(point / "v3/g/a/c/0/0", *DAVE):
                break
            subprocess.run(["sleep", "0.1"], check=True)
        else:
            pytest.fail("still readable")


def test_a_mount_for_its_user_alone_is_as_the_store(store):
    setfacl(store / "g/a/c/0/0", f"u:{DAVE[0]}:---")
    with mounted(store, "noallow_other") as point:
        assert (point / "v3/g/a/c/0/0").stat().st_mode & 0o777 == 0o444
