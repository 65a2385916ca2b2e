"""A mount that another program makes and gives to zarrfs as /dev/fd/N, as drivers in a cluster do.

The program has no capability, and neither /dev/fuse nor the mount in its view.
"""

import contextlib
import ctypes
import errno
import os
import pathlib
import signal
import subprocess
import time

import numpy as np
import pytest
import zarr

from mounts import ZARRFS
from test_worker_killed import kill_worker, workers_of

LIBC = ctypes.CDLL(None, use_errno=True)
SHAPE = (32, 32)
NOBODY = 65534
MNT_DETACH = 2


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("given") / "store"
    group = zarr.create_group(path)
    array = group.create_array("a", shape=SHAPE, shards=(16, 16), chunks=(4, 4), dtype="i4", fill_value=-1)
    array[...] = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)
    for folder in (path, *path.parents):
        if folder.stat().st_uid == os.getuid() and folder != pathlib.Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    return path


def mount(point, flags="allow_other"):
    """The descriptor of a mount without the options that zarrfs gives its own: it can be written, and the kernel checks nothing."""
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,{flags}"
    if LIBC.mount(b"driver", os.fsencode(point), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return device


def command(source, device, *options):
    return [str(ZARRFS), str(source), f"/dev/fd/{device}", "-f", *options]


def hidden(point, arguments, has_device):
    """The command that runs another without capabilities, in a namespace without the mount, and without /dev/fuse."""
    hide = "" if has_device else "mount --bind /dev/null /dev/fuse || exit 9; "
    script = f'umount -l "$0" || exit 9; {hide}exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs'
    script += ' --bounding-set=-all --inh-caps=-all "$@"'
    return ["unshare", "--mount", "--propagation=private", "sh", "-c", script, str(point), *arguments]


@contextlib.contextmanager
def given(source, point, *options, has_device=False, flags="allow_other"):
    """A process that serves `source` at `point`; the driver keeps no descriptor of the connection."""
    point.mkdir(exist_ok=True)
    device = mount(point, flags)
    process = None
    try:
        arguments = hidden(point, command(source, device, *options), has_device)
        process = subprocess.Popen(arguments, pass_fds=(device,), stderr=subprocess.PIPE, text=True)
        os.close(device)
        yield process
    finally:
        LIBC.umount2(os.fsencode(point), MNT_DETACH)
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def values(point):
    return zarr.open_array(point / "v3/a", mode="r")[...]


EXPECTED = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)


@pytest.mark.parametrize("has_device", [False, True])
def test_a_pod_without_privileges_serves_a_mount_that_it_does_not_see(store, tmp_path, has_device):
    point = tmp_path / "mnt"
    with given(store, point, has_device=has_device) as process:
        assert np.array_equal(values(point), EXPECTED)
        status = (point / ".zarrfs/options").read_text()
        assert "capabilities: none\n" in status or "capabilities: 0" in status, status
    assert process.returncode == 0, process.stderr.read()


@pytest.mark.parametrize("has_device", [False, True])
def test_readers_do_not_notice_that_the_worker_is_killed(store, tmp_path, has_device):
    point = tmp_path / "mnt"
    with given(store, point, has_device=has_device) as process:
        assert np.array_equal(values(point), EXPECTED)
        with open(point / "v2/a/0.0", "rb") as chunk:
            for _ in range(3):
                before = os.stat(point / "v2/a/0.1").st_ino
                kill_worker(process.pid)
                assert np.array_equal(values(point), EXPECTED)
                assert os.stat(point / "v2/a/0.1").st_ino == before
            assert len(chunk.read()) > 0


def test_where_no_worker_can_take_over_the_mount_is_dead_and_never_hangs(store, tmp_path):
    """Without /dev/fuse, before Linux 6.9: requests that a killed worker has read would never be answered."""
    point = tmp_path / "mnt"
    with given(store, point, "-o", "no_resend") as process:
        assert np.array_equal(values(point), EXPECTED)
        (worker,) = workers_of(process.pid)
        os.kill(int(worker), signal.SIGKILL)
        assert process.wait(20) == 2
        with pytest.raises(OSError) as raised:
            os.stat(point / "v2/a")
        assert raised.value.errno == errno.ENOTCONN
    assert "the program that made it has to unmount it" in process.stderr.read()


def test_it_ends_when_it_is_told_to_and_then_nothing_seems_absent(store, tmp_path):
    point = tmp_path / "mnt"
    with given(store, point) as process:
        assert np.array_equal(values(point), EXPECTED)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        with pytest.raises(OSError) as raised:
            os.stat(point / "v2")
        assert raised.value.errno == errno.ENOTCONN
    assert "no longer served" in process.stderr.read()


def test_nothing_can_be_written_whatever_the_mount_says(store, tmp_path):
    point = tmp_path / "mnt"
    with given(store, point):
        group = point / "v2/.zgroup"
        text = group.read_text()
        for write in (
            lambda: (point / "v2/new").mkdir(),
            lambda: (point / "v2/new").touch(),
            lambda: (point / "v2/new").symlink_to("/"),
            lambda: os.mkfifo(point / "v2/new"),
            lambda: os.link(group, point / "v2/new"),
            lambda: group.unlink(),
            lambda: (point / "v2/a").rmdir(),
            lambda: group.rename(point / "v2/other"),
            lambda: group.write_text("x"),
            lambda: group.chmod(0o777),
            lambda: os.truncate(group, 0),
            lambda: os.utime(group),
            lambda: os.setxattr(group, "user.x", b"y"),
        ):
            with pytest.raises(OSError) as raised:
                write()
            assert raised.value.errno == errno.EROFS, write
        assert not os.access(group, os.W_OK)
        assert group.read_text() == text


def run(arguments, device):
    done = subprocess.run(arguments, pass_fds=(device,), capture_output=True, text=True, timeout=30)
    return done.returncode, done.stderr


def test_a_descriptor_that_cannot_be_served_is_refused_with_a_sentence(store, tmp_path):
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    code, text = run(command(store, device), device)
    os.close(device)
    assert (code, text.count("\n")) == (32, 1) and "nothing is mounted with this descriptor" in text

    point = tmp_path / "mnt"
    point.mkdir()
    device = mount(point)
    try:
        os.read(device, 1 << 17)  # the first message of the kernel
        code, text = run(command(store, device), device)
        assert (code, text.count("\n")) == (32, 1) and "another program has already served this mount" in text
    finally:
        LIBC.umount2(os.fsencode(point), MNT_DETACH)
        os.close(device)

    device = mount(point)
    LIBC.umount2(os.fsencode(point), MNT_DETACH)
    code, text = run(command(store, device), device)
    os.close(device)
    assert (code, text.count("\n")) == (32, 1) and "has the mount ended?" in text


def test_the_list_of_mounts_names_it_by_its_process(store, tmp_path):
    with given(store, tmp_path / "mnt") as process:
        assert np.array_equal(values(tmp_path / "mnt"), EXPECTED)
        listed = subprocess.run([ZARRFS, "--list"], capture_output=True, text=True, timeout=30).stdout
        assert any(line.split()[0] == str(process.pid) and "given" in line for line in listed.splitlines()), listed
    listed = subprocess.run([ZARRFS, "--list"], capture_output=True, text=True, timeout=30).stdout
    assert str(process.pid) not in listed.split()


def test_a_mount_in_the_background_ends_with_its_driver(store, tmp_path):
    point = tmp_path / "mnt"
    point.mkdir()
    device = mount(point, "default_permissions")
    try:
        arguments = command(store, device)
        arguments.remove("-f")
        done = subprocess.run(arguments, pass_fds=(device,), capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
        os.close(device)
        assert np.array_equal(values(point), EXPECTED)
        keeper = next(line.split()[1] for line in (point / ".zarrfs/options").read_text().splitlines() if line.startswith("pid: "))
        assert len(workers_of(keeper)) == 1
    finally:
        LIBC.umount2(os.fsencode(point), MNT_DETACH)
    end = time.monotonic() + 20
    while os.path.exists(f"/proc/{keeper}") and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{keeper}")
