"""Copies of tests/data/icechunk/forecast-v1 and -v2 (make_forecast.py), whose branch goes from one commit to the next."""

import json
import os
import shutil
import time

import numcodecs
from icechunk_commits import HEADER, id_of
from mounts import ROOT

DATA = ROOT / "tests/data/icechunk"
COMMITS = {f"v{spec}": json.loads((DATA / f"forecast-v{spec}.json").read_text()) for spec in (1, 2)}
# The second commit changes a chunk of this shard.
CHANGED, ITS_SHARD, OTHERS = "temperature_2m/c/1/0/0/0", "temperature_2m/c/1/", "precipitation_surface"
OLD = time.time() - 86400


class Repository:
    """A copy, long ago written, whose branch is at the first commit."""

    def __init__(self, folder, version):
        folder.chmod(0o755)
        self.version, self.path = version, folder / f"forecast-{version}.icechunk"
        shutil.copytree(DATA / f"forecast-{version}", self.path)
        self.pointer = self.path / ("repo" if version == "v2" else "refs/branch.main/ref.json")
        self.pointers = {}  # of version 2, by commits
        for path in list(self.path.glob("repo*")):
            self.pointers[path.suffix[1:] or "1"] = path.read_bytes()
            if path.suffix:
                path.unlink()
        for path in self.path.rglob("*"):
            os.utime(path, (OLD, OLD))

    def snapshot(self, number):
        return COMMITS[self.version][str(number)]["snapshot"]

    def go_to(self, number):
        """Has the branch at this commit."""
        content = self.pointers[str(number)] if self.version == "v2" else json.dumps({"snapshot": self.snapshot(number)}).encode()
        following = self.pointer.with_name("new")
        following.write_bytes(content)
        os.utime(following, (OLD + number, OLD + number))
        following.rename(self.pointer)

    def upgrade(self):
        """As icechunk does it, to version 2, at the third commit."""
        (self.path / "new").write_bytes(self.pointers["upgraded"])
        (self.path / "new").rename(self.path / "repo")
        shutil.rmtree(self.path / "refs")
        (self.path / "config.yaml").unlink()

    def collect(self, number):
        """Removes all that this commit does not need; how many files of each kind."""
        kept, removed = {self.snapshot(number)}, {}
        for kind in ("snapshots", "manifests", "chunks"):
            files = list((self.path / kind).iterdir())
            for path in [path for path in files if path.name not in kept]:
                path.unlink()
                removed[kind] = removed.get(kind, 0) + 1
            if kind != "chunks":  # ids are as they are in what is decompressed
                content = b"".join(numcodecs.Zstd().decode((self.path / kind / name).read_bytes()[HEADER:]) for name in kept)
                below = self.path / {"snapshots": "manifests", "manifests": "chunks"}[kind]
                kept = {path.name for path in below.iterdir() if id_of(path.name) in content}
        return removed


def chunk_files(point):
    """Of a view like v3, below it."""
    return sorted(str(path.relative_to(point)) for array in ("temperature_2m", OTHERS, "valid_time", "init_time")
                  for path in (point / array / "c").rglob("*") if path.is_file())


def read_all(point, names):
    """Inodes and contents."""
    return {name: ((point / name).stat().st_ino, (point / name).read_bytes()) for name in names}


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()
