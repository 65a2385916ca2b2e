"""All commits of an Icechunk repository in one mount (at=all): branches, tags and snapshots are folders of it."""

import contextlib
import errno
import json
import os
import shutil
import struct
import subprocess
import time

import pytest

from icechunk_commits import A, B, C, Commits, number_in
from mounts import ROOT, ZARRFS, mounted, read, zarrctl
from test_worker_killed import keeper_of, kill_worker

DATA = ROOT / "tests/data/icechunk"
EXPECTED = {version: json.loads((DATA / f"{version}.json").read_text()) for version in ("v1", "v2")}


def folder_of(at):
    return at if "." in at else f"snapshot/{at}"


def wait_for(condition):
    """Also if `condition` raises an OSError first, as every name of a damaged branch does."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if condition():
                return
        time.sleep(0.05)
    assert condition()


@pytest.mark.parametrize("version", EXPECTED)
def test_each_commit_is_a_folder_with_the_values_that_icechunk_gives(version, tmp_path):
    shutil.copytree(DATA / version, tmp_path / "r.icechunk")
    names = {at for at in EXPECTED[version] if "." in at}
    with mounted(tmp_path / "r.icechunk", "at=all,consolidated=no") as point:
        for view in ("v2", "v3"):
            folders = {path.name for path in (point / view).iterdir() if path.is_dir()}
            assert folders == names and not (point / view / "snapshot/0000000000000000000G").exists()
            arrays = {f"{folder_of(at)}/{path}": wanted for at, expected in EXPECTED[version].items()
                      for path, wanted in expected["arrays"].items()}
            seen = read(f"zarr-python-{view[1]}", [point / view / path for path in arrays])
            for (path, wanted), found in zip(arrays.items(), seen, strict=True):
                assert {name: found.get(name) for name in wanted} == wanted, (path, found)
        for at in names:
            header = subprocess.run(["ncdump", "-h", point / f"nc/{at}.nc"], capture_output=True, text=True)
            assert header.returncode == 0 and "temperature" in header.stdout, header
        old, new = point / "v3/tag.v1.0", point / "v3" / "snapshot" / EXPECTED[version]["branch.main"]["snapshot"]
        same = subprocess.run(["diff", "-r", new, point / "v3/branch.main", "-x", "virtual"], capture_output=True, text=True)
        assert same.returncode == 0, same.stdout
        differ = subprocess.run(["diff", "-rq", old, new, "-x", "virtual"], capture_output=True, text=True)
        assert differ.returncode == 1 and "temperature/c" in differ.stdout and not differ.stderr, differ
        one, other = (os.stat(folder / "temperature/c/3/3/1") for folder in (point / "v3/branch.main", new))
        assert one.st_ino != other.st_ino


def test_branches_move_and_tags_and_snapshots_do_not_whatever_happens_to_the_process(tmp_path):
    commits = Commits(tmp_path / "r.icechunk")
    refs = commits.folder / "refs"
    first = json.loads(commits.pointer.read_text())["snapshot"]
    (refs / "tag.one").mkdir()
    shutil.copy(commits.pointer, refs / "tag.one/ref.json")
    with mounted(commits.folder, "at=all") as point:
        main, tag, snapshot = (point / "v3" / name for name in ("branch.main", "tag.one", f"snapshot/{first}"))
        file = os.open(point / f"nc/snapshot/{first}.nc", os.O_RDONLY)
        held = os.open(main / A, os.O_RDONLY)

        def upgrade():
            assert subprocess.run([ZARRFS, "--upgrade", point], timeout=60).returncode == 0

        last = 0
        for step in (lambda: None, lambda: kill_worker(keeper_of(point)), upgrade):
            for _ in range(20):
                commits.commit()
                numbers = [number_in(main / path) for path in (A, B, C, A)]
                assert numbers == sorted(numbers) and numbers[0] >= last, (numbers, last)
                last = numbers[-1]
            wait_for(lambda: number_in(main / A) == commits.number)
            assert [number_in(main / path) for path in (A, B, C)] == [commits.number] * 3
            assert [number_in(folder / path) for folder in (tag, snapshot) for path in (A, B, C)] == [1] * 6
            if last < 30:
                assert struct.unpack("<q", os.pread(held, 8, 0))[0] == 1
                assert os.pread(file, 3, 0) == b"CDF"
            step()
        os.close(held)
        os.close(file)

        assert not (point / "v3/branch.new").exists()
        shutil.copytree(refs / "branch.main", refs / "branch.new")
        wait_for((point / "v3/branch.new/a").exists)
        assert number_in(point / "v3/branch.new" / A) == commits.number
        (refs / "tag.one/ref.json.deleted").touch()
        shutil.rmtree(refs / "branch.new")
        wait_for(lambda: not (tag / "zarr.json").exists() and not (point / "v3/branch.new/zarr.json").exists())
        with pytest.raises(OSError):
            number_in(tag / A)  # never the fill value
        assert {path.name for path in (point / "v2").iterdir() if path.is_dir()} == {"branch.dev", "branch.main", "tag.v1.0"}
        assert number_in(snapshot / A) == 1


def test_a_netcdf_file_of_a_tag_is_read_on_while_branches_get_other_arrays(tmp_path):
    repository = tmp_path / "r.icechunk"
    shutil.copytree(DATA / "v1", repository)
    with mounted(repository, "at=all") as point:
        assert (point / "v3/branch.main/virtual/zarr.json").exists()
        tag = os.open(point / "nc/tag.v1.0.nc", os.O_RDONLY)
        branch = os.open(point / "nc/branch.main.nc", os.O_RDONLY)
        shutil.copy(repository / "refs/branch.dev/ref.json", repository / "new")
        (repository / "new").rename(repository / "refs/branch.main/ref.json")
        wait_for(lambda: not (point / "v3/branch.main/virtual/zarr.json").exists())
        for descriptor in (tag, branch):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        assert len(os.pread(tag, 1 << 20, 4096)) > 1000
        with pytest.raises(OSError) as stale:
            os.pread(branch, 1 << 20, 4096)
        assert stale.value.errno == errno.ESTALE
        os.close(tag)
        os.close(branch)


def test_a_repository_becomes_one_of_version_2(tmp_path):
    repository = tmp_path / "r.icechunk"
    shutil.copytree(DATA / "v1", repository)
    with mounted(repository, "at=all,view=v3") as point:
        assert not (point / "branch.main/moved").exists()
        for part in ("chunks", "manifests", "snapshots"):
            shutil.copytree(DATA / "v2" / part, repository / part, dirs_exist_ok=True)
        shutil.copy(DATA / "v2/repo", repository / "new")
        (repository / "new").rename(repository / "repo")
        wait_for((point / "branch.main/moved").exists)


def test_zarrctl_reads_all_commits():
    run = zarrctl("ls", DATA / "v2", "-o", "at=all")
    assert "branch.main" in run.stdout and "snapshot" not in run.stdout, run
    run = zarrctl("ls", "--snapshots", DATA / "v2", "-o", "at=all")
    assert run.returncode == 0 and "tag.v1.0" in run.stdout
    run = zarrctl("info", DATA / "v2", "-o", "at=all")
    assert run.returncode == 0 and "tag.v1.0/temperature" in run.stdout, run
    chunk = zarrctl("where", DATA / "v2", "tag.v1.0/temperature", "3.3.1", "-o", "at=all")
    assert chunk.returncode == 0 and "chunks/" in chunk.stdout, chunk
