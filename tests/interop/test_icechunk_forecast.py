"""A small Icechunk repository of the layout that dynamical.org publishes (tests/data/icechunk/make_forecast.py): each of its commits by readers
that know nothing of Icechunk, and what a mount asks for and keeps when the branch goes from one commit to the next.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import time

import numpy as np
import pytest

import faulty_server
from icechunk_forecast import CHANGED, COMMITS, DATA, ITS_SHARD, OLD, OTHERS, Repository, chunk_files, read_all, wait_for
from mounts import READERS_OF_VIEWS, SYSTEM_PYTHON, ZARR2_PYTHON, mounted, run_reader

XARRAY = """
import hashlib, json, sys, xarray
types = json.loads(sys.argv[3])  # a NetCDF file may have others for the same values
with xarray.open_dataset(sys.argv[2], engine=sys.argv[1], mask_and_scale=False, decode_times=False) as dataset:
    print(json.dumps({name: hashlib.sha256(dataset[name].values.astype(types[name]).tobytes()).hexdigest() for name in dataset.variables}))
"""


@pytest.fixture(params=COMMITS)
def repository(request, tmp_path):
    return Repository(tmp_path, request.param)


def digests(point, arrays, reader):
    view, command = READERS_OF_VIEWS[reader]
    return [one.get("sha256", one) for one in run_reader(command, [point / view / name for name in arrays])]


@pytest.mark.parametrize("repository, number", [("v1", 3), ("v2", 1), ("v2", 3)], indirect=["repository"])
def test_each_reader_sees_each_commit(repository, number):
    arrays = COMMITS[repository.version][str(number)]["arrays"]
    assert arrays["temperature_2m"]["shape"] == [2 + (number == 3), 6, 26, 48]
    repository.go_to(number)
    with mounted(repository.path) as point:
        for reader in ("zarr-python-2", "zarr-python-3", "tensorstore-v3", "gdal", "netcdf"):
            # (GDAL and netCDF-C show an array without dimensions in their own way.)
            wanted = {name: array["sha256"] for name, array in arrays.items() if array["shape"] or reader not in ("gdal", "netcdf")}
            assert digests(point, wanted, reader) == list(wanted.values()), reader
        types = json.dumps({name: array["dtype"] for name, array in arrays.items()})
        for python, engine, file in ((SYSTEM_PYTHON, "netcdf4", f"nc/forecast-{repository.version}.nc"), (ZARR2_PYTHON, "zarr", "v2")):
            run = subprocess.run([python, "-W", "ignore", "-c", XARRAY, engine, point / file, types], capture_output=True, text=True)
            assert run.returncode == 0, run.stderr
            assert json.loads(run.stdout) == {name: array["sha256"] for name, array in arrays.items()}, engine


def test_cdo_computes_with_the_file_of_a_commit(repository):
    with mounted(repository.path, "view=nc") as point:
        run = subprocess.run(["cdo", "-s", "outputf,%.9g", "-selname,temperature_2m", point / f"forecast-{repository.version}.nc"],
                             capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    expected = COMMITS[repository.version]["1"]["arrays"]["temperature_2m"]
    assert hashlib.sha256(np.array(run.stdout.split(), expected["dtype"]).tobytes()).hexdigest() == expected["sha256"]


# --- From one commit to the next ---


class ReadsThatArrive:
    """Counts READs and files read ahead, of which those of the status itself are not counted."""

    def __init__(self, point):
        self.point = point
        before, self.known = self.figures(), self.figures()
        self.of_status = self.known - before

    def figures(self):
        time.sleep(1.2)  # the status is made anew once a second
        status = json.loads((self.point / ".zarrfs/status.json").read_text())
        return np.array([status["requests"]["read"]["ok"], status["read_ahead_files"]])

    def since(self):
        before, self.known = self.known, self.figures()
        return (self.known - before - self.of_status).tolist()


@contextlib.contextmanager
def mounted_anywhere(repository, where):
    if where == "folder":
        with mounted(repository.path, "view=v3") as point:
            yield point
        return
    with faulty_server.serving(repository.path.parent) as server, mounted(f"{server.url}/{repository.path.name}", "view=v3,ttl=0.2") as point:
        yield point


@pytest.mark.parametrize("repository, where", [("v1", "folder"), ("v2", "folder"), ("v2", "web server")], indirect=["repository"])
def test_a_chunk_that_a_commit_leaves_alone_keeps_its_inode_and_its_pages(repository, where):
    with mounted_anywhere(repository, where) as point:
        names = chunk_files(point)
        before = read_all(point, names)
        left_alone = [name for name in names if not name.startswith(ITS_SHARD)]
        assert len(left_alone) > 50 and len(names) - len(left_alone) == 18
        repository.go_to(2)
        wait_for(lambda: (point / CHANGED).read_bytes() != before[CHANGED][1])
        reads = ReadsThatArrive(point)
        assert read_all(point, left_alone) == {name: before[name] for name in left_alone}
        # The kernel may take a page for another purpose, and the files after it are then read ahead.
        assert sum(reads.since()) < len(left_alone) / 3
        for name in left_alone:
            with (point / name).open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        read_all(point, left_alone)
        assert sum(reads.since()) > len(left_alone) / 2, "lost pages are counted"
        assert (point / CHANGED).stat().st_ino != before[CHANGED][0]
        # Documents change with the third commit, and then pages may go, but no inode.
        repository.go_to(3)
        wait_for((point / OTHERS / "c/2/0/0/0").exists)
        kept = [name for name in left_alone if not name.startswith(("valid_time", "init_time"))]  # each is one chunk
        assert read_all(point, kept) == {name: before[name] for name in kept}


def pointers(server):
    """How often the places of a pointer were asked for, and what else was."""
    with server.lock:
        asked = [(path.split("/", 2)[2], headers.get("Range")) for path, _, headers in server.seen]
    return [one for one in asked if one[0] in ("repo", "refs/branch.main/ref.json")], [path for path, _ in asked if "/" in path and "refs" not in path]


def idle(server, point, look, ttl, rounds):
    """What is asked for in so many ttls, while somebody looks at all that they have seen before."""
    server.seen.clear()
    begin = time.monotonic()
    while time.monotonic() < begin + rounds * ttl:
        look()
        time.sleep(ttl / 10)
    elapsed = time.monotonic() - begin
    asked, others = pointers(server)
    return elapsed / ttl, asked, others


@pytest.mark.parametrize("source", ["forecast-v1", "forecast-v2", "references"])
def test_a_repository_is_asked_for_its_pointer_once_a_ttl_whatever_its_size(tmp_path, source):
    """`references` has 20,000 of them. Each sixteenth time both versions' pointers are read whole."""
    shutil.copytree(DATA / source, tmp_path / source)
    tmp_path.chmod(0o755)
    for path in (tmp_path / source).rglob("*"):
        os.utime(path, (OLD, OLD))
    ttl, rounds = 0.2, 12
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/{source}", f"view=v3,ttl={ttl}") as point:
        def look():
            for name in names[::len(names) // 50]:
                (point / name).stat() if source == "references" else (point / name).read_bytes()

        names = [f"t/c/{number}" for number in range(20_000)] if source == "references" else chunk_files(point)
        look()
        time.sleep(1)
        for _ in range(2):
            periods, asked, others = idle(server, point, look, ttl, rounds)
            assert others == [], others
            in_place = "refs/branch.main/ref.json" if source == "forecast-v1" else "repo"
            small = [path for path, wanted in asked if wanted == "bytes=0-0"]
            assert set(small) == {in_place} and rounds / 3 <= len(small) <= periods + 1, asked
            assert len(asked) - len(small) <= 2 and len({path for path, wanted in asked if wanted != "bytes=0-0"}) == len(asked) - len(small), asked


def test_of_a_commit_is_asked_for_what_it_wrote(repository):
    with faulty_server.serving(repository.path.parent) as server, \
            mounted(f"{server.url}/{repository.path.name}", "view=v3,ttl=0.2") as point:
        names = chunk_files(point)
        before = read_all(point, names)
        first = pointers(server)[1]
        assert len([path for path in first if path.startswith("chunks/")]) >= 8  # an index and chunks of four shards
        time.sleep(0.5)
        for number, chunks in ((2, 1), (3, 2)):
            server.seen.clear()
            repository.go_to(number)
            if number == 2:
                wait_for(lambda: (point / CHANGED).read_bytes() != before[CHANGED][1])
            else:
                wait_for((point / OTHERS / "c/2").exists)
            names = chunk_files(point)
            read_all(point, names)
            others = pointers(server)[1]
            assert not set(first) & set(others), "nothing is asked again"
            asked = {kind: {path for path in others if path.startswith(kind)} for kind in ("snapshots", "manifests", "chunks")}
            assert set().union(*asked.values()) == set(others)
            # A manifest for each array that it changed. In version 2 init_time and valid_time are stored inline.
            inline = 2 if number == 3 and repository.version == "v1" else 0
            assert [len(found) for found in asked.values()] == [1, 1 if number == 2 else 4, chunks + inline], others
            assert len([path for path in others if not path.startswith("chunks")]) == len(asked["snapshots"] | asked["manifests"]), others
            first += others
