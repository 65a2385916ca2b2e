"""What readers get while the worker of a mount is killed, while its keeper is, and after that was started again."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import zarr

from mounts import READERS_FOLDER, SYSTEM_PYTHON, ZARR2_PYTHON, ZARRCTL, ZARRFS, mounted

SHAPE = (32, 32)
CHUNK = (4, 4)
READERS = {
    "zarr-python-3": ("v3", sys.executable),
    "zarr-python-2": ("v2", ZARR2_PYTHON),
    "debian-zarr-python": ("v2", SYSTEM_PYTHON),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("killed") / "store"
    group = zarr.create_group(path)
    array = group.create_array("a", shape=SHAPE, shards=(16, 16), chunks=CHUNK, dtype="i4", fill_value=-1)
    array[...] = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)
    return path


def keeper_of(point):
    return next(int(line.split()[1]) for line in (point / ".zarrfs/options").read_text().splitlines() if line.startswith("pid: "))


def soon(condition):
    for _ in range(250):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("not within five seconds")


def workers_of(keeper):
    return pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()


def kill_worker(keeper):
    """Another one is there when it returns."""
    soon(lambda: len(workers_of(keeper)) == 1)  # (after an upgrade the earlier one finishes what it is doing)
    (worker,) = workers_of(keeper)
    os.kill(int(worker), signal.SIGKILL)
    soon(lambda: workers_of(keeper) not in ([], [worker]))


def kill_keeper(point):
    keeper = keeper_of(point)
    os.kill(keeper, signal.SIGKILL)
    soon(lambda: not pathlib.Path(f"/proc/{keeper}").exists())


class Reader:
    def __init__(self, name, point):
        view, python = READERS[name]
        self.process = subprocess.Popen(
            [python, "-W", "ignore", str(READERS_FOLDER / "read_on.py"), str(point / view / "a"), *map(str, CHUNK)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", env={**os.environ, "PYTHONNOUSERSITE": "1"})
        assert self.process.stdout.readline() == "{}\n"

    def read_all(self, meanwhile=lambda: None):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        meanwhile()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


@contextlib.contextmanager
def killed(store, name):
    """A reader whose mount has just lost its keeper and its worker, and the mount point."""
    with mounted(store) as point:
        reader = Reader(name, point)
        try:
            kill_keeper(point)
            yield reader, point
        finally:
            reader.end()
            subprocess.run([str(ZARRFS), "--unmount", str(point)], check=True)
            subprocess.run(["mount", "-t", "tmpfs", "none", str(point)], check=True)  # which mounted() unmounts


def start_again(store, point):
    result = subprocess.run([str(ZARRFS), str(store), str(point)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


HALF = 2 * (SHAPE[0] // 2 // CHUNK[0]) * (SHAPE[1] // CHUNK[1])  # reads of each half


# While it reads, and between.
@pytest.mark.parametrize("name", READERS)
def test_readers_read_on_while_workers_are_killed(store, name):
    with mounted(store) as point:
        reader = Reader(name, point)
        keeper = keeper_of(point)
        try:
            for delay in [0, 0.01, 0.03, 0.06, None]:
                if delay is None:
                    kill_worker(keeper)
                    answer = reader.read_all()
                else:
                    answer = reader.read_all(lambda delay=delay: (time.sleep(delay), kill_worker(keeper)))
                assert answer == [{"right": HALF}, {"right": HALF}]
        finally:
            reader.end()


@pytest.mark.parametrize("name", READERS)
def test_readers_get_exceptions_and_no_fill_values_when_workers_end_again_and_again(store, name):
    with mounted(store) as point:
        reader = Reader(name, point)
        keeper = keeper_of(point)
        try:
            for _ in range(6):
                kill_worker(keeper)
            soon(lambda: "serves: errors only" in (point / ".zarrfs/options").read_text())
            for half in reader.read_all():
                assert not {"right", "filled", "wrong"} & set(half) and sum(half.values()) == HALF, half
        finally:
            reader.end()


def test_zarr_python_3_gets_exceptions_until_the_mount_is_served_again(store):
    with killed(store, "zarr-python-3") as (reader, point):
        for _ in range(3):
            read_before, others = reader.read_all()
            for half in [read_before, others]:
                assert "filled" not in half and "wrong" not in half, half
            assert "right" not in others and sum(others.values()) == HALF, others
        start_again(store, point)
        assert reader.read_all() == [{"right": HALF}, {"right": HALF}]


# zarr-python 2 takes a file for absent that cannot be looked up, for whatever reason (os.path.isfile): docs/SEMANTICS.md says so. What it had looked up
# it reads for as long as the kernel remembers it, which nobody can promise.
@pytest.mark.parametrize("name", ["zarr-python-2", "debian-zarr-python"])
def test_zarr_python_2_reads_right_again_once_the_mount_is_served_again(store, name):
    with killed(store, name) as (reader, point):
        for half in reader.read_all():
            assert "wrong" not in half, half
        start_again(store, point)
        assert reader.read_all() == [{"right": HALF}, {"right": HALF}]


def test_status_and_list_say_that_the_mount_is_dead_and_what_to_do(store):
    with killed(store, "zarr-python-3") as (_, point):
        status = subprocess.run([str(ZARRCTL), "status", str(point)], capture_output=True, text=True)
        assert status.returncode != 0
        assert f"the mount is dead, its zarrfs was killed (Transport endpoint is not connected); mount it again, or end it " \
               f"with: zarrfs --unmount {point}" in status.stderr
        listed = subprocess.run([str(ZARRFS), "--list"], capture_output=True, text=True, check=True)
        assert f"   dead {point} " in listed.stdout
        assert f"{point} is dead, its process was killed: mount it again, or end it with zarrfs --unmount {point}" in listed.stderr
