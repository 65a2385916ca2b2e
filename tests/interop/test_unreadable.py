"""What cannot be read is an exception to every reader, never the fill value.

Each case breaks a store that was written by zarr-python 3, and asks the readers for all of the array: where they give values, these are the
stored ones. That the array is already open when it happens makes no difference.
"""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import zarr
from mounts import READERS_FOLDER, SYSTEM_PYTHON, ZARR2_PYTHON, mounted, zarrctl

DATA = np.arange(1, 65, dtype="i4").reshape(8, 8)
OPTIONS = "ttl=0.05"

READERS = {
    "zarr-python-2": ("v2", [ZARR2_PYTHON, "zarr"]),
    "zarr-python-3": ("v3", [sys.executable, "zarr"]),
    "tensorstore": ("v3", [sys.executable, "tensorstore"]),
    "gdal": ("gdal", [SYSTEM_PYTHON, "gdal"]),
}


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    group = zarr.open_group(folder, mode="w")
    array = group.create_array("a", shape=DATA.shape, shards=(4, 4), chunks=(2, 2), dtype="i4", fill_value=0)
    array[:] = DATA
    group.create_array("b", shape=(4, ), chunks=(2, ), dtype="i4")[:] = 7
    return folder


class Follower:
    """A reader in a process of its own that opens the array and reads all of it each time it is asked: "right", "wrong" or "exception"."""

    def __init__(self, name, point):
        view, (python, kind) = READERS[name]
        self.process = subprocess.Popen(
            [python, "-W", "ignore", str(READERS_FOLDER / "follow_array.py"), kind, str(point / view / "a")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONNOUSERSITE": "1"})
        assert self.answer() == "open"

    def answer(self):
        line = self.process.stdout.readline().strip()
        assert line, f"the reader ended with {self.process.wait()}"
        return line

    def ask(self):
        self.process.stdin.write("read\n")
        self.process.stdin.flush()
        line = self.answer()
        if not line.startswith("values "):
            return "exception"
        return "right" if json.loads(line.removeprefix("values ")) == DATA.tolist() else "wrong"

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def dangling(path):
    """In the place of what is there: a symbolic link to nothing."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to("/nowhere/at/all")


def broken_document(store):
    (store / "a/zarr.json").write_text('{"zarr_format": 3')


CASES = {
    "the store is deleted": shutil.rmtree,
    "the store is emptied": lambda store: [shutil.rmtree(store / "a"), shutil.rmtree(store / "b"), (store / "zarr.json").unlink()],
    "the store is moved away": lambda store: store.rename(store.with_name("aside")),
    "the array is deleted": lambda store: shutil.rmtree(store / "a"),
    "its document is deleted": lambda store: (store / "a/zarr.json").unlink(),
    "its document is half written": broken_document,
    "its document is a link to nothing": lambda store: dangling(store / "a/zarr.json"),
    "the array is a link to nothing": lambda store: dangling(store / "a"),
    "its folder of shards is a link to nothing": lambda store: dangling(store / "a/c"),
    "a row of shards is a link to nothing": lambda store: dangling(store / "a/c/1"),
    "a shard is a link to nothing": lambda store: dangling(store / "a/c/1/1"),
    "a shard is cut off": lambda store: os.truncate(store / "a/c/1/1", 10),
}


@pytest.mark.parametrize("case", CASES)
def test_an_array_that_is_open_reads_as_stored_or_not_at_all(store, case):
    with mounted(store, OPTIONS) as point:
        readers = {name: Follower(name, point) for name in READERS}
        assert {name: reader.ask() for name, reader in readers.items()} == {name: "right" for name in READERS}
        CASES[case](store)
        subprocess.run(["sleep", "0.3"], check=True)
        # (The kernel may still have the pages of chunks that it knows: then they are right.)
        answers = {name: reader.ask() for name, reader in readers.items()}
        assert "wrong" not in answers.values(), answers
        new = {name: subprocess_of(name, point) for name in READERS}
        # (A store that was moved away, with nothing in its place, is still the one that was mounted.)
        assert set(new.values()) == {"right" if "moved" in case else "exception"}, new
        copied = subprocess.run(["cp", "-r", str(point / "v2"), str(store.with_name("copy"))], capture_output=True)
        whole = case in ("the array is deleted", "its document is deleted", "the store is moved away")
        assert whole or copied.returncode != 0, "a copy of it would be taken for the whole"
        for reader in readers.values():
            reader.close()
        assert "moved" in case or (point / ".zarrfs/errors").read_text() != ""


def subprocess_of(name, point):
    """What a reader that opens the array now makes of it."""
    try:
        reader = Follower(name, point)
    except AssertionError:
        return "exception"
    try:
        return reader.ask()
    finally:
        reader.close()


@pytest.mark.parametrize("case", [case for case in CASES if "link" in case or "cut off" in case])
def test_verify_says_so(store, case):
    assert zarrctl("verify", store).returncode == 0
    CASES[case](store)
    assert zarrctl("verify", store).returncode != 0
