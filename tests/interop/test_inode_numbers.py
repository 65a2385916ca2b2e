"""The option ids: inode numbers and file handles are the same after the store was mounted again, and what backups make of that."""

import ctypes
import json
import os
import pathlib
import select
import signal
import subprocess
import time

import numpy as np
import pytest
import zarr

from mounts import ZARRFS, mounted

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("kind", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]


def handle_of(path):
    """What an NFS server gives its clients in place of a path."""
    handle, mount = Handle(size=128), ctypes.c_int()
    if LIBC.name_to_handle_at(AT_FDCWD, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount), 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    return handle


def open_by_handle(point, handle, flags=os.O_RDONLY):
    folder = os.open(point, os.O_RDONLY)
    try:
        found = LIBC.open_by_handle_at(folder, ctypes.byref(handle), flags)
        if found < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return found
    finally:
        os.close(folder)


def drop_caches():
    """The kernel forgets what the ids stand for, so that it has to ask."""
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def walk(point, backwards=False):
    """Of each path: its inode number, and what else backups compare."""
    found = {}
    for folder, folders, files in os.walk(point):
        if ".zarrfs" in folders:
            folders.remove(".zarrfs")
        folders.sort(reverse=backwards)
        for name in sorted(folders + files, reverse=backwards):
            path = os.path.join(folder, name)
            info = os.lstat(path)
            found[os.path.relpath(path, point)] = (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_mode)
    return found


@pytest.fixture
def store(tmp_path):
    """Nested and flat names of chunks, a group in a group, two shards."""
    group = zarr.create_group(tmp_path / "store", attributes={"of": "root"})
    inner = group.create_group("inner")
    for where, name, separator in (group, "a", "."), (inner, "b", "/"):
        array = where.create_array(
            name, shape=(8, 8), shards=(8, 4), chunks=(2, 2), dtype="i4", chunk_key_encoding={"name": "v2", "separator": separator})
        array[...] = np.arange(64).reshape(8, 8) + 1
    zarr.consolidate_metadata(tmp_path / "store")
    time.sleep(0.02)  # what is younger than the clock's step is looked at again
    return tmp_path / "store"


def processes_of(point):
    """The keeper, then its worker."""
    keeper = int(dict(line.split(": ", 1) for line in (point / ".zarrfs/options").read_text().splitlines() if ": " in line)["pid"])
    return keeper, int(pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()[0])


def test_a_mount_goes_on_with_the_inode_numbers_of_the_one_before(store, tmp_path):
    ids, at = tmp_path / "ids", tmp_path / "mnt"
    at.mkdir()
    with mounted(store, f"ids={ids}", at=at) as point:
        before = walk(point)
        handles = {path: handle_of(point / path) for path in before}
        contents = {path: (point / path).read_bytes() for path in before if not (point / path).is_dir()}
    assert {"v2/inner/b/3/3", "v3/a/0.0"} <= set(before)
    assert ids.stat().st_mode & 0o777 == 0o600

    # By default the numbers are given in the order in which files are looked up.
    with mounted(store, "consolidated=no", at=at) as point:
        (point / "v2/inner/b/3/3").stat()
        assert walk(point)["v2/a/0.0"][0] != before["v2/a/0.0"][0]

    def check(point):
        for path, handle in handles.items():
            opened = open_by_handle(point, handle, os.O_RDONLY if path in contents else os.O_DIRECTORY)
            if path in contents:
                assert os.read(opened, 1 << 20) == contents[path], path
            else:
                assert os.readlink(f"/proc/self/fd/{opened}") == str(point / path)
                assert sorted(os.listdir(opened)) == sorted(os.listdir(point / path))
            os.close(opened)

    with mounted(store, f"ids={ids}", at=at) as point:
        check(point)
        drop_caches()
        check(point)
        assert walk(point, backwards=True) == before
        _, worker = processes_of(point)
        os.kill(worker, signal.SIGKILL)
        drop_caches()
        check(point)
        assert walk(point) == before

    # Files that have changed meanwhile, and no others, have another number, and their handles are refused.
    zarr.open_array(store / "a", mode="r+")[:, :4] = 7
    with mounted(store, f"ids={ids}", at=at) as point:
        after = walk(point)
        changed = {path for path in before if after[path][0] != before[path][0]}
        assert changed == {f"{view}/a/{row}.{column}" for view in ("v2", "v3", "gdal", "netcdf") for row in range(4) for column in (0, 1)}
        for path in before:
            if path in changed:
                with pytest.raises(OSError, match="Stale file handle"):
                    open_by_handle(point, handles[path])


def test_after_the_mount_was_killed_inode_numbers_stay_and_handles_are_refused(store, tmp_path):
    """What was given out in the last second is unknown, and might be given to other files."""
    ids, point = tmp_path / "ids", tmp_path / "mnt"
    point.mkdir()
    subprocess.run([ZARRFS, store, point, "-o", f"ids={ids}"], check=True)
    before = walk(point)
    handle = handle_of(point / "v2/a/0.0")
    keeper, _ = processes_of(point)
    size = ids.stat().st_size
    for _ in range(100):
        time.sleep(0.1)
        if size == (size := ids.stat().st_size) > 4096:
            break
    time.sleep(1.1)
    os.kill(keeper, signal.SIGKILL)
    started = subprocess.run([ZARRFS, store, point, "-o", f"ids={ids}"], capture_output=True, text=True, check=True)
    try:
        assert f"ids={ids}: the last mount was killed: inode numbers stay the same, but handles of NFS clients are stale" in started.stderr
        assert walk(point, backwards=True) == before
        drop_caches()
        with pytest.raises(OSError, match="Stale file handle"):
            open_by_handle(point, handle)
    finally:
        subprocess.run([ZARRFS, "--unmount", point], check=True)


def test_a_mount_that_fails_or_whose_worker_does_not_end_by_itself_costs_no_handle(store, tmp_path):
    ids, at = tmp_path / "ids", tmp_path / "mnt"
    at.mkdir()
    subprocess.run([ZARRFS, store, at, "-o", f"ids={ids}"], check=True)
    handle = handle_of(at / "v2/a/0.0")
    keeper, worker = processes_of(at)
    ended = os.pidfd_open(keeper)
    os.kill(worker, signal.SIGSTOP)  # the keeper unmounts, and kills it then
    os.kill(keeper, signal.SIGTERM)
    assert select.select([ended], [], [], 60)[0]
    os.close(ended)
    (empty := tmp_path / "empty").mkdir()
    failed = subprocess.run([ZARRFS, empty, at, "-o", f"ids={ids}"], capture_output=True, text=True)
    assert failed.returncode == 32 and "not a Zarr store" in failed.stderr and "ids=" not in failed.stderr
    with mounted(store, f"ids={ids}", at=at) as point:
        os.close(open_by_handle(point, handle))


def test_no_file_of_others_is_written(store, tmp_path):
    point = tmp_path / "mnt"
    point.mkdir()
    (other := tmp_path / "notes").write_text("mine\n")
    (link := tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (foreign := tmp_path / "foreign").write_bytes(b"")
    os.chown(foreign, 65534, 65534)
    for path, why in [(other, "not a file of inode numbers that zarrfs wrote; name a new file"),
                      (link, "a symbolic link; name the file itself"), (tmp_path, "Is a directory"),
                      (foreign, "the file belongs to another user"), (tmp_path / "no/ids", "No such file or directory")]:
        refused = subprocess.run([ZARRFS, store, point, "-o", f"ids={path}"], capture_output=True, text=True)
        assert (refused.returncode, refused.stderr) == (2, f"zarrfs: ids={path}: {why}\n")
    assert other.read_text() == "mine\n" and not (tmp_path / "nowhere").exists() and foreign.stat().st_size == 0
    ids = tmp_path / "ids"
    with mounted(store, f"ids={ids}"):
        refused = subprocess.run([ZARRFS, store, point, "-o", f"ids={ids}"], capture_output=True, text=True)
        assert refused.stderr == f"zarrfs: ids={ids}: another mount uses this file; each mount needs its own\n"


@pytest.mark.parametrize("damage", ["cut", "zeros", "other version"])
def test_a_damaged_file_is_begun_anew(store, tmp_path, damage):
    ids = tmp_path / "ids"
    with mounted(store, f"ids={ids}") as point:
        walk(point)
    content = bytearray(ids.read_bytes())
    if damage == "cut":
        del content[5000:]
    elif damage == "zeros":
        content[4096:] = bytes(len(content) - 4096)
    else:
        content[40] ^= 1  # the format, after 32 bytes of name and whether it was the last time
    ids.write_bytes(content)
    with mounted(store, f"ids={ids}") as point:
        found = walk(point)
        assert len({info[0] for path, info in found.items() if path.startswith("v2/")}) == sum(path.startswith("v2/") for path in found)
        assert (point / "v2/a/0.0").stat().st_size > 0
    with mounted(store, f"ids={ids}") as point:
        assert walk(point, backwards=True) == found


def test_a_backup_finds_nothing_new_after_the_store_was_mounted_again(store, tmp_path):
    """The programs have their default options, except tar, which must not compare devices: each mount is another one."""
    # Borg reads the newest files again, however old they are: those made from this document.
    os.utime(store / "zarr.json")
    (at := tmp_path / "mnt").mkdir()
    environment = {
        **os.environ, "BORG_BASE_DIR": str(tmp_path / "borg"), "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
        "RESTIC_PASSWORD": "x", "RESTIC_CACHE_DIR": str(tmp_path / "restic")}

    def run(*words):
        done = subprocess.run([str(word) for word in words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout + done.stderr

    run("borg", "init", "-e", "none", tmp_path / "b")
    run("restic", "init", "-q", "-r", tmp_path / "r")
    found = []
    for backwards in False, True:
        with mounted(store, f"ids={tmp_path / 'ids'}", at=at) as point:
            walk(point, backwards)
            borg = [line for line in run(
                "borg", "create", "--list", "--filter", "AM", f"{tmp_path / 'b'}::{backwards}", point / "v2").splitlines()
                if line[:2] in ("A ", "M ")]
            restic = json.loads(run("restic", "-r", tmp_path / "r", "backup", "--json", "--host", "h", point / "v2").splitlines()[-1])
            run("tar", "--no-check-device", f"--listed-incremental={tmp_path / 'list'}", "-cPf", tmp_path / "t.tar", point / "v2")
            tar = [name for name in run("tar", "-tPf", tmp_path / "t.tar").splitlines() if not name.endswith("/")]
            rsync = run("rsync", "-ai", f"{point / 'v2'}/", tmp_path / "copy/").splitlines()
            found.append((len(borg), restic["files_new"] + restic["files_changed"], len(tar), len(rsync)))
    files = sum(1 for path in (tmp_path / "copy").rglob("*") if path.is_file())
    assert found[0][:3] == (files, files, files) and found[0][3] > files
    newest = sum(1 for path in (tmp_path / "copy").iterdir() if path.is_file())
    assert found[1][0] == newest and found[1][1:] == (0, 0, 0), found


def test_extended_attributes_say_where_a_chunk_is_stored(store):
    array = np.arange(64, dtype="<i4").reshape(8, 8) + 1
    plain = zarr.create_array(store / "plain", shape=(4,), shards=(4,), chunks=(2,), dtype="<i4", compressors=None, fill_value=0)
    plain[:2] = array[0, :2]
    names = ["user.zarrfs.shard", "user.zarrfs.offset", "user.zarrfs.length"]
    with mounted(store, "xattr") as point:
        file = point / "v2/plain/0"
        assert os.listxattr(file) == names
        shard, offset, length = (os.getxattr(file, name).decode() for name in names)
        assert shard == "plain/c/0"
        stored = (store / shard).read_bytes()
        assert stored[int(offset):int(offset) + int(length)] == file.read_bytes() == array[0, :2].tobytes()
        for other in [point, point / "v2/plain", point / "v2/plain/.zarray", point / ".zarrfs/options"]:
            assert os.listxattr(other) == []
            with pytest.raises(OSError, match="No data available"):
                os.getxattr(other, names[0])
        with pytest.raises(OSError, match="No data available"):
            os.getxattr(file, "user.other")
        subprocess.run(["cp", "-a", point / "v2/plain", store.parent / "copied"], check=True)
    with mounted(store) as point, pytest.raises(OSError, match="Operation not supported"):
        os.getxattr(point / "v2/plain/0", names[0])
