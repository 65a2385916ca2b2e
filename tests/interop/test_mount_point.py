"""The mount point while a store is opened and a mount lives: whoever owns a folder above it may put something else in its place."""

import fcntl
import os
import pathlib
import select
import shutil
import signal
import subprocess
import threading

import faulty_server
import pytest
from mounts import ROOT, ZARRFS, unmount
from remote import start

STORE = "sample.zarr"


def mounts():
    """What zarrfs has mounted, by mount point."""
    lines = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    return {line[4] for line in lines if line[line.index("-") + 1] == "fuse.zarrfs"}


@pytest.fixture
def theirs(tmp_path):
    """A folder of somebody else, with the mount point in it."""
    if os.getuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path / "theirs"
    (folder / "above/mnt").mkdir(parents=True)
    yield folder
    for point in [point for point in mounts() if point.startswith(str(tmp_path))]:
        subprocess.run(["umount", "-l", point], check=True)


@pytest.fixture
def target(tmp_path):
    """A folder of root that nothing may be mounted on."""
    (tmp_path / "target/mnt").mkdir(parents=True)
    return tmp_path / "target"


def swapped_mount_point(theirs, target):
    (theirs / "above/mnt").rmdir()
    (theirs / "above/mnt").symlink_to(target)


def swapped_folder_above(theirs, target):
    (theirs / "above").rename(theirs / "elsewhere")
    (theirs / "above").symlink_to(target)


def another_folder(theirs, _):
    (theirs / "above/mnt").rename(theirs / "above/before")
    (theirs / "above/mnt").mkdir()


@pytest.mark.parametrize("swap", [swapped_mount_point, swapped_folder_above, another_folder])
def test_a_mount_point_that_is_replaced_while_the_store_opens_is_not_mounted_on(theirs, target, swap):
    asked, swapped = threading.Event(), threading.Event()

    def fault(_path, _headers):
        asked.set()
        assert swapped.wait(60)

    with faulty_server.serving(ROOT / "tests/data", fault) as server:
        result = []
        point = theirs / "above/mnt"
        mounting = threading.Thread(target=lambda: result.append(start(f"{server.url}/{STORE}", point, "view=v3")))
        mounting.start()
        assert asked.wait(60)
        swap(theirs, target)
        swapped.set()
        mounting.join()
    assert result[0].returncode == 32
    assert result[0].stderr == f"zarrfs: the mount point {point} was replaced while the store was opened: nothing is mounted\n"
    assert not [mount for mount in mounts() if mount.startswith(str(theirs.parent))]
    assert sorted(path.name for path in target.iterdir()) == ["mnt"]


def test_no_process_of_a_mount_keeps_what_its_caller_had_open(tmp_path):
    """A lock that a script holds while it mounts, and the end of a pipe."""
    point = tmp_path / "mnt"
    point.mkdir()
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.dup2(lock, 250, inheritable=True)
    read, write = os.pipe()
    command = [str(ZARRFS), str(ROOT / "tests/data" / STORE), str(point)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, pass_fds=[250, write])
    for each in (lock, 250, write):
        os.close(each)
    try:
        assert select.select([read], [], [], 0)[0] and os.read(read, 1) == b"", "the pipe is open"
        with open(tmp_path / "lock") as again:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert (point / "v2/.zgroup").is_file()
    finally:
        os.close(read)
        unmount(str(point))


def test_a_mount_is_unmounted_where_it_is(theirs, target):
    """Somebody renames a folder above the mount point and puts a link to another mount in its place."""
    point, decoy = theirs / "above/mnt", target / "mnt"
    for place in (point, decoy):
        assert start(ROOT / "tests/data" / STORE, place).returncode == 0
    keeper = int(dict(line.split(": ", 1) for line in (point / ".zarrfs/options").read_text().splitlines() if ": " in line)["pid"])
    (theirs / "above").rename(theirs / "elsewhere")
    (theirs / "above").symlink_to(target)
    ended = os.pidfd_open(keeper)
    os.kill(keeper, signal.SIGTERM)
    assert select.select([ended], [], [], 60)[0]
    os.close(ended)
    assert str(decoy) in mounts() and str(theirs / "elsewhere/mnt") not in mounts()


def test_a_mount_point_that_was_made_is_removed_where_it_is(theirs, target):
    """Not the empty folder that a link leads to by now."""
    work = theirs / "above"
    shutil.copytree(ROOT / "tests/data" / STORE, work / STORE)
    subprocess.run([ZARRFS, STORE], cwd=work, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    made = [pathlib.Path(point) for point in mounts() if point.startswith(str(work))]
    assert len(made) == 1
    (target / made[0].name).mkdir()
    work.rename(theirs / "elsewhere")
    work.symlink_to(target)
    subprocess.run(["umount", theirs / "elsewhere" / made[0].name], check=True)
    deadline = 600
    while (theirs / "elsewhere" / made[0].name).exists() and deadline:
        deadline -= 1
        threading.Event().wait(0.1)
    assert not (theirs / "elsewhere" / made[0].name).exists()
    assert (target / made[0].name).is_dir()
