"""What becomes of an Icechunk repository while somebody reads it: upgraded, collected as garbage, of names that are no file names, damaged on
purpose. And how much memory its references take."""

import contextlib
import errno
import functools
import json
import os
import pathlib
import re
import subprocess
import time

import numcodecs
import pytest

import faulty_server
from icechunk_forecast import CHANGED, COMMITS, DATA, ITS_SHARD, Repository, chunk_files, read_all, wait_for
from icechunk_commits import HEADER
from mounts import READERS_OF_VIEWS, ZARRFS, mounted, run_reader, zarrctl
from test_worker_killed import keeper_of, workers_of

FIRST_SNAPSHOT = "1CECHNKREP0F1RSTCMT0"


@pytest.fixture(params=COMMITS)
def repository(request, tmp_path):
    return Repository(tmp_path, request.param)


@contextlib.contextmanager
def mounted_from(where, repository, options):
    """And the server, or None."""
    if where == "folder":
        with mounted(repository.path, options) as point:
            yield point, None
        return
    with faulty_server.serving(repository.path.parent) as server, mounted(f"{server.url}/{repository.path.name}", f"{options},ttl=0.2") as point:
        yield point, server


@pytest.mark.parametrize("where", ["folder", "web server"])
def test_an_upgrade_to_version_2_changes_nothing_that_is_shown(tmp_path, where):
    """By icechunk.upgrade_icechunk_repository(), which removes refs/ and config.yaml."""
    repository = Repository(tmp_path, "v1")
    repository.go_to(3)
    with mounted_from(where, repository, "view=v3") as (point, server):
        before = read_all(point, chunk_files(point))
        repository.upgrade()
        if server is None:
            time.sleep(3)
        else:
            server.seen.clear()
            wait_for(lambda: [1 for path, _, headers in server.seen[:] if path.endswith("/repo") and headers["Range"] == "bytes=0-0"])
        assert read_all(point, chunk_files(point)) == before
        assert (point / ".zarrfs/errors").read_text() == ""
    with mounted(repository.path, "view=v3") as point:
        assert {name: content for name, (_, content) in read_all(point, chunk_files(point)).items()} == \
            {name: content for name, (_, content) in before.items()}


@pytest.mark.parametrize("where", ["folder", "web server"])
def test_garbage_is_collected_under_a_reader(repository, where):
    """What is open of the commit before has its own bytes or is an error; the branch is read on, also what nobody has read before."""
    with mounted(repository.path, "view=v3") as point:
        old = {name: (point / name).read_bytes() for name in chunk_files(point) if name.startswith(ITS_SHARD)}
    with mounted_from(where, repository, "view=v3") as (point, _):
        assert (point / CHANGED).read_bytes() == old[CHANGED]
        opened = {name: os.open(point / name, os.O_RDONLY) for name in old if name != CHANGED}
        repository.go_to(2)
        wait_for(lambda: (point / CHANGED).read_bytes() != old[CHANGED])
        removed = repository.collect(2)
        assert removed["manifests"] >= 1 and removed["chunks"] >= 1 and removed["snapshots"] >= 2, removed
        errors = 0
        for name, descriptor in opened.items():
            try:
                assert os.pread(descriptor, 1 << 20, 0) == old[name]  # a folder's object may still be open
            except OSError as error:
                assert error.errno in (errno.ESTALE, errno.EIO), error
                errors += 1
            os.close(descriptor)
        assert errors > 0 or where == "folder"
        arrays = COMMITS[repository.version]["2"]["arrays"]
        _, command = READERS_OF_VIEWS["zarr-python-3"]
        found = run_reader(command, [point / name for name in arrays])
        assert [one.get("sha256") for one in found] == [array["sha256"] for array in arrays.values()], found


@pytest.mark.parametrize("version, where", [("v1", "folder"), ("v2", "folder"), ("v2", "web server")])
def test_garbage_is_collected_under_a_reader_of_a_snapshot(tmp_path, version, where):
    """(A web server cannot list the branches of version 1.)"""
    repository = Repository(tmp_path, version)
    repository.go_to(2)
    first = repository.snapshot(1)
    with mounted_from(where, repository, "at=all") as (point, _):
        seen = point / "v3/snapshot" / first
        kept = (seen / "temperature_2m/c/0/0/0/0").read_bytes()  # so the manifest is known
        assert repository.collect(2)["chunks"] >= 1
        for path in (seen / CHANGED, point / "v2/snapshot" / first / "temperature_2m/1.0.0.1", point / f"nc/snapshot/{first}.nc"):
            with pytest.raises(OSError) as error:
                path.read_bytes()
            assert error.value.errno != errno.ENOENT, error.value
        assert (seen / "temperature_2m/c/0/0/0/0").read_bytes() == kept, "the branch needs it"
        errors = (point / ".zarrfs/errors").read_text()
        assert "missing in the repository" in errors, errors
        arrays = COMMITS[version]["2"]["arrays"]
        found = run_reader(READERS_OF_VIEWS["zarr-python-2"][1], [point / "v2/branch.main" / name for name in arrays])
        assert [one.get("sha256") for one in found] == [array["sha256"] for array in arrays.values()], found


def test_names_that_are_no_file_names(repository):
    """`at=` takes them as they are; below `at=all` they are in %XX."""
    repository.go_to(3)
    names = {"50%": "50%25", "a b": "a b", "x\ny": "x%0Ay", "main": "main"}
    if repository.version == "v2":
        names |= {"exp/é": "exp%2Fé", "..": ".."}  # and one of 260 bytes
    with mounted(repository.path, "at=all") as point:
        for view in ("v2", "v3", "nc"):
            assert {path.name for path in (point / view).iterdir() if path.is_dir()} == {f"branch.{name}" for name in names.values()}
        for name in names.values():
            assert (point / f"v3/branch.{name}" / CHANGED).read_bytes()
            assert (point / f"nc/branch.{name}.nc").read_bytes()[:3] == b"CDF"
        assert not (point / "v3/branch.exp").exists()
    for name in names:
        run = zarrctl("ls", repository.path, "-o", f"at=branch.{name}")
        assert run.returncode == 0 and "temperature_2m" in run.stdout, run


def test_a_rectilinear_array_on_a_branch_with_a_slash(tmp_path):
    repository = Repository(tmp_path, "v2")
    repository.go_to(3)
    expected = COMMITS["v2"]["months"]["arrays"]["months"]
    for options, folder in (("at=branch.exp/é", ""), ("at=all", "branch.exp%2Fé")):
        with mounted(repository.path, options) as point:
            for reader in ("zarr-python-2", "zarr-python-3", "tensorstore-v3", "gdal"):
                view, command = READERS_OF_VIEWS[reader]
                found = run_reader(command, [point / view / folder / "months"])[0]
                assert {key: found.get(key) for key in expected} == expected, (reader, found)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_first_snapshot_has_nothing(version, tmp_path):
    (tmp_path / "mnt").mkdir()
    run = subprocess.run([ZARRFS, DATA / version, tmp_path / "mnt", "-o", f"at={FIRST_SNAPSHOT}"], capture_output=True, text=True)
    assert (run.returncode, run.stderr.count("\n")) == (32, 1), run
    assert "no zarr.json" in run.stderr, run.stderr
    with mounted(DATA / version, "at=all") as point:
        assert not (point / "v3/snapshot" / FIRST_SNAPSHOT / "zarr.json").exists()


# --- Memory ---


def memory(point):
    return json.loads((point / ".zarrfs/status.json").read_text())["memory"]["bytes"]


def settled_memory(point):
    """The status is made anew once a second."""
    time.sleep(1.5)
    return memory(point)


def test_a_reference_takes_32_bytes_at_most():
    """20,000 virtual chunks, ten of a file."""
    with mounted(DATA / "references", "view=v3") as point:
        before = settled_memory(point)
        for number in range(0, 20_000, 1000):
            assert (point / f"t/c/{number}").stat().st_size == 1000
        assert 16 * 20_000 < settled_memory(point) - before <= 32 * 20_000
        with pytest.raises(OSError):
            (point / "t/c/19999").read_bytes()
        errors = (point / ".zarrfs/errors").read_text()
        assert "1000 bytes at 9000 of s3://bucket/data/of-some-length/file00001999.nc" in errors, errors
        assert "add -o virtual=s3://bucket/data/of-some-length/" in errors


def reference_set(folder, count):
    references = {".zgroup": '{"zarr_format":2}', "t/.zarray": json.dumps({
        "zarr_format": 2, "shape": [count], "chunks": [1], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C", "filters": None})}
    for number in range(count):
        references[f"t/{number}"] = [f"s3://bucket/data/of-some-length/file{number // 10:08}.nc", number % 10 * 1000, 1000]
    (folder / "set.json").write_text(json.dumps({"version": 1, "refs": references}))
    return folder / "set.json"


def test_a_reference_of_a_set_takes_32_bytes_at_most(tmp_path):
    count = 100_000
    path = reference_set(tmp_path, count)
    with mounted(path, "view=v2") as point:
        assert (point / "t/99999").stat().st_size == 1000
        assert 12 * count < settled_memory(point) <= 32 * count


def test_a_set_that_does_not_fit_the_memory_is_refused_with_both_figures(tmp_path):
    (tmp_path / "mnt").mkdir()
    (tmp_path / "set.json").write_text(json.dumps({".zgroup": '{"zarr_format":2}', "t/0": "x" * (70 << 20)}))
    run = subprocess.run([ZARRFS, tmp_path / "set.json", tmp_path / "mnt", "-o", "memory=64M"], capture_output=True, text=True)
    assert (run.returncode, run.stderr.count("\n")) == (32, 1), run
    assert re.search(r"a reference set of 73\d+ bytes needs \d+ bytes of memory .* 67108864$", run.stderr), run.stderr


# --- Repositories that were made to do harm ---


def bomb(stored):
    """A gigabyte of zeros in some 30 KB, with the header of another file."""
    part = numcodecs.Zstd().encode(bytes(64 << 20))
    return stored[:HEADER - 1] + b"\1" + 16 * part


def huge_counts(stored):
    """Offsets and lengths of a flatbuffer that lead far away."""
    content = bytearray(numcodecs.Zstd().decode(stored[HEADER:]) if stored[HEADER - 1] else stored[HEADER:])
    for place in range(8, len(content) - 4, 16):
        content[place:place + 4] = b"\xf0\xff\xff\x7f"
    return stored[:HEADER - 1] + b"\0" + bytes(content)


@functools.cache
def incompressible():
    return numcodecs.Zstd(1).encode(os.urandom(40 << 20))


HARM = {"bomb": bomb, "huge counts": huge_counts, "cut": lambda stored: stored[:len(stored) // 2], "empty": lambda stored: b"",
        "half the memory": lambda stored: stored[:HEADER - 1] + b"\0" + bytes(40 << 20),
        "incompressible": lambda stored: stored[:HEADER - 1] + b"\1" + incompressible()}

TOO_LARGE = ("bomb", "incompressible")


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("version, kind", [("v1", "snapshots"), ("v1", "manifests"), ("v2", "repo")])
def test_a_hostile_repository_is_an_error_within_ten_seconds_and_its_memory(tmp_path, version, kind, harm):
    repository = Repository(tmp_path, version)
    for path in [repository.pointer] if kind == "repo" else list((repository.path / kind).iterdir()):
        path.write_bytes(HARM[harm](path.read_bytes()))
    (tmp_path / "mnt").mkdir()
    begin = time.monotonic()
    if kind != "manifests":
        run = subprocess.run([ZARRFS, repository.path, tmp_path / "mnt", "-o", "memory=64M"], capture_output=True, text=True, timeout=60)
        assert (run.returncode, run.stderr.count("\n")) == (32, 1), run
    else:
        with mounted(repository.path, "memory=64M") as point:
            for view, chunk in (("v3", CHANGED), ("v2", "temperature_2m/1.0.0.0"), ("v3", "latitude/c/0")):
                with pytest.raises(OSError) as error:
                    (point / view / chunk).read_bytes()
                assert error.value.errno == (errno.EFBIG if harm in TOO_LARGE else errno.EIO), (error.value, (point / ".zarrfs/errors").read_text())
            assert (point / "v3/temperature_2m/zarr.json").read_text()
            worker, = workers_of(keeper_of(point))
            peak = int(pathlib.Path(f"/proc/{worker}/status").read_text().split("VmHWM:")[1].split()[0]) << 10
            assert peak < 160 << 20 or ZARRFS.with_name("sanitizers").read_text().strip(), peak
    assert time.monotonic() < begin + 10


def test_a_pointer_that_does_not_end_is_one_line(tmp_path):
    repository = Repository(tmp_path, "v1")
    (tmp_path / "mnt").mkdir()
    for content in (b'{"snapshot":"' + bytes(1 << 20), b"[" * (1 << 20), b""):
        repository.pointer.write_bytes(content)
        run = subprocess.run([ZARRFS, repository.path, tmp_path / "mnt"], capture_output=True, text=True, timeout=60)
        assert (run.returncode, run.stderr.count("\n")) == (32, 1), run
