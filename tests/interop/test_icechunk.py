"""Repositories that icechunk has written (tests/data/icechunk): each commit through the views, by readers that know nothing of it.

What is expected was read by icechunk itself and zarr-python 3 when they were written, so that no icechunk is needed here.
"""

import errno
import hashlib
import json
import re
import shutil
import subprocess
import time
import zipfile

import numcodecs
import numpy as np
import pytest
import scipy.io
from html_page import Page
from mounts import READERS, READERS_OF_VIEWS, ROOT, SYSTEM_PYTHON, ZARRCTL, ZARRFS, mounted, read, run_reader, zarrctl

DATA = ROOT / "tests/data/icechunk"
EXPECTED = {version: json.loads((DATA / f"{version}.json").read_text()) for version in ("v1", "v2")}
COMMITS = [(version, at) for version, commits in EXPECTED.items() for at in commits]
# Amended, expired and collected as garbage; arrays that moved, left, grew and shrank: make_lived.py.
LIVED = {version: json.loads((DATA / f"{version}.json").read_text()) for version in ("lived-v1", "lived-v2")}
# (What names of arrays netCDF-C refuses, and how GDAL shows an array without dimensions, is in other tests.)
WHOLE = ["zarr-python-2", "zarr-python-3", "tensorstore-v2", "tensorstore-v3"]

XARRAY = """
import hashlib, json, sys, xarray
answer = {}
with xarray.open_dataset(sys.argv[1], engine="netcdf4", mask_and_scale=False) as dataset:
    for name, variable in dataset.variables.items():
        values = variable.values.astype(variable.dtype.newbyteorder("<"))
        answer[name] = [list(values.shape), hashlib.sha256(values.tobytes()).hexdigest()]
print(json.dumps(answer))
"""


@pytest.mark.parametrize("version, at", [*COMMITS, *((version, "branch.main") for version in LIVED)], ids=lambda value: value)
def test_each_array_has_the_values_that_icechunk_gives(version, at):
    # (The views for readers of regular grids do not show the other one: test_rectilinear.py.)
    arrays = {path: array for path, array in (EXPECTED | LIVED)[version][at]["arrays"].items() if path != "rectilinear"}
    assert len(arrays) >= 3
    with mounted(DATA / version, f"at={at}") as point:
        for reader in WHOLE:
            seen = read(reader, [point / READERS[reader][0] / path for path in arrays])
            for (path, expected), found in zip(arrays.items(), seen, strict=True):
                assert {name: found.get(name) for name in expected} == expected, (reader, path, found)


@pytest.mark.parametrize("version, at", COMMITS, ids=lambda value: value)
def test_each_file_of_v3_that_is_not_decoded_is_what_icechunk_has(version, at):
    """Documents aside, which views complete: chunks of arrays without shards."""
    keys = EXPECTED[version][at]["keys"]
    with mounted(DATA / version, f"at={at},view=v3") as point:
        chunks = [key for key in keys if "/c" in key and not key.startswith("temperature/")]
        assert len(chunks) > 10
        for key in chunks:
            assert hashlib.sha256((point / key).read_bytes()).hexdigest() == keys[key], key


@pytest.mark.parametrize("version", EXPECTED)
def test_a_netcdf_file_of_a_commit(version, tmp_path):
    arrays = EXPECTED[version]["tag.v1.0"]["arrays"]
    shutil.copytree(DATA / version, tmp_path / "ocean.icechunk")
    with mounted(tmp_path / "ocean.icechunk", "at=tag.v1.0") as point:
        run = subprocess.run([SYSTEM_PYTHON, "-W", "ignore", "-c", XARRAY, str(point / "nc/ocean.nc")],
                             capture_output=True, text=True, check=True)
    seen = json.loads(run.stdout)
    for path in ("temperature", "small", "scalar"):
        assert seen[path] == [arrays[path]["shape"], arrays[path]["sha256"]], path


@pytest.mark.parametrize("reader", ["gdal", "netcdf"])
@pytest.mark.parametrize("version", EXPECTED)
def test_gdal_and_netcdf_c_read_it_in_the_views_made_for_them(version, reader):
    arrays = {name: array for name, array in EXPECTED[version]["tag.v1.0"]["arrays"].items() if array["shape"]}
    assert len(arrays) >= 3
    view, command = READERS_OF_VIEWS[reader]
    with mounted(DATA / version, "at=tag.v1.0") as point:
        for name, found in zip(arrays, run_reader(command, [point / view / name for name in arrays]), strict=True):
            assert {part: found.get(part) for part in arrays[name]} == arrays[name], (name, found)


R = """
library(ncdf4)
values <- ncvar_get(nc_open(commandArgs(TRUE)[1]), "small")
cat(as.vector(values), dim(values))
"""


@pytest.mark.parametrize("version", EXPECTED)
def test_cdo_r_and_scipy_read_the_file_of_a_commit(version, tmp_path):
    array = EXPECTED[version]["tag.v1.0"]["arrays"]["small"]
    shutil.copytree(DATA / version, tmp_path / "ocean.icechunk")
    (tmp_path / "read.R").write_text(R)

    def is_it(values):
        return hashlib.sha256(np.array(values, array["dtype"]).tobytes()).hexdigest() == array["sha256"]

    def run(*command):
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    with mounted(tmp_path / "ocean.icechunk", "at=tag.v1.0,nc=2") as point:
        file = point / "nc/ocean.nc"
        assert is_it(run("cdo", "-s", "outputf,%.9g", "-selname,small", file).split())
        *values, columns, rows = run("Rscript", tmp_path / "read.R", file).split()
        assert is_it(values) and [int(rows), int(columns)] == array["shape"]
        with scipy.io.netcdf_file(file, mmap=False) as opened:
            assert is_it(opened.variables["small"][:])


def test_a_manifest_that_does_not_fit_the_memory_is_too_large_with_both_figures(tmp_path):
    shutil.copytree(DATA / "lived-v1", tmp_path / "r")
    for manifest in (tmp_path / "r/manifests").iterdir():
        header = manifest.read_bytes()[:38]
        manifest.write_bytes(header + b"\1" + numcodecs.Zstd().encode(bytes(200 << 20)))
    with mounted(tmp_path / "r", "memory=64M") as point:
        with pytest.raises(OSError) as error:
            (point / "v3/sharded/c/0/0").read_bytes()
        assert error.value.errno == errno.EFBIG
        assert re.search(r"needs \d+ bytes of memory, the limit is 67108864", (point / ".zarrfs/errors").read_text())


@pytest.mark.parametrize("version", LIVED)
def test_a_commit_that_has_expired_is_one_line(version, tmp_path):
    (tmp_path / "mnt").mkdir()
    for snapshot in LIVED[version]["expired"]:
        run = subprocess.run([ZARRFS, DATA / version, tmp_path / "mnt", "-o", f"at={snapshot}"], capture_output=True, text=True)
        assert (run.returncode, run.stderr.count("\n"), "no such snapshot" in run.stderr) == (32, 1, True), run.stderr


@pytest.mark.parametrize("version", EXPECTED)
def test_a_virtual_chunk_is_an_error_and_not_the_fill_value(version):
    with mounted(DATA / version) as point:
        with pytest.raises(OSError):
            (point / "v3/virtual/c/0").read_bytes()
        assert not (point / "v3/virtual/c/1").exists()
        assert "error" in read("zarr-python-2", [point / "v2/virtual"])[0]
        assert "a virtual chunk, 2 bytes at 100 of" in (point / ".zarrfs/errors").read_text()


def test_a_chunk_whose_object_is_missing_is_an_error_and_not_the_fill_value(tmp_path):
    shutil.copytree(DATA / "v1", tmp_path / "v1")
    for chunk in (tmp_path / "v1/chunks").iterdir():
        chunk.unlink()
    with mounted(tmp_path / "v1", "at=tag.v1.0") as point:
        seen = read("zarr-python-2", [point / "v2/temperature", point / "v2/small"])
        assert "error" in seen[0]
        assert seen[1]["sha256"] == EXPECTED["v1"]["tag.v1.0"]["arrays"]["small"]["sha256"]  # stored inline


@pytest.mark.parametrize("version", EXPECTED)
def test_a_name_that_is_not_there_is_one_line(version, tmp_path):
    for at, expected in {"tag.v1.1": "did you mean 'tag.v1.0'?", "tag.gone": "there are branch.dev, branch.main, tag.v1.0",
                         "0000000000000000000G": "no such snapshot"}.items():
        run = subprocess.run([ZARRFS, DATA / version, tmp_path, "-o", f"at={at}"], capture_output=True, text=True)
        assert run.returncode != 0
        assert expected in run.stderr, run.stderr
        assert len(run.stderr.strip().splitlines()) == 1
    run = subprocess.run([ZARRFS, ROOT / "tests/data/sample.zarr", tmp_path, "-o", "at=tag.v1.0"], capture_output=True, text=True)
    assert "not an Icechunk repository" in run.stderr
    run = subprocess.run([ZARRFS, DATA / version, tmp_path, "-o", "at=v1.0"], capture_output=True, text=True)
    assert run.returncode != 0


def test_a_tag_is_immutable_and_a_branch_shows_the_next_commit(tmp_path):
    repository = tmp_path / "v1"
    shutil.copytree(DATA / "v1", repository)
    expected = EXPECTED["v1"]

    def digest(point):
        return read("zarr-python-2", [point / "v2/a/b/native"])[0]["sha256"]

    with mounted(repository, "at=tag.v1.0") as tag, mounted(repository, "at=branch.main") as branch:
        assert "immutable" in (tag / ".zarrfs/options").read_text()
        old, new = (expected[at]["arrays"]["a/b/native"]["sha256"] for at in ("branch.main", "branch.dev"))
        assert old != new
        assert digest(branch) == digest(tag) == old
        pointer = repository / "refs/branch.main/ref.json"
        following = repository / "refs/branch.main/new"
        following.write_text(json.dumps({"snapshot": expected["branch.dev"]["snapshot"]}))
        following.rename(pointer)
        end = time.monotonic() + 20
        while digest(branch) != new and time.monotonic() < end:
            time.sleep(0.2)
        assert digest(branch) == new
        assert digest(tag) == old
        assert not (branch / "v2/virtual").exists()


def test_zarrctl_reads_a_commit(tmp_path):
    assert "virtual" in zarrctl("info", DATA / "v1").stdout
    run = zarrctl("info", DATA / "v1", "-o", "at=tag.v1.0")
    assert "temperature" in run.stdout and "virtual chunks" not in run.stdout, run
    run = zarrctl("info", DATA / "v1", "-o", "at=tag.v1.0", "--html", tmp_path / "page.html")
    assert run.returncode == 0, run.stderr
    page = Page(tmp_path / "page.html")
    assert "temperature" in page.images and "virtual" not in page.sections and page.pre[0].endswith(" -o at=tag.v1.0")
    chunk = zarrctl("cat", DATA / "v1", "a/b/native", "0", "-o", "at=branch.dev")
    assert chunk.returncode == 0, chunk.stderr
    assert "expected branch.NAME" in zarrctl("info", DATA / "v1", "-o", "at=x").stderr
    packed = tmp_path / "packed.zarr"
    run = zarrctl("pack", DATA / "v2", packed, "-o", "at=tag.v1.0")
    assert run.returncode == 0, run
    arrays = EXPECTED["v2"]["tag.v1.0"]["arrays"]
    seen = read("zarr-python-3", [packed / path for path in arrays])
    assert [one.get("sha256") for one in seen] == [one["sha256"] for one in arrays.values()]


@pytest.mark.parametrize("version", EXPECTED)
def test_zarrctl_lists_the_commits(version, tmp_path):
    run = zarrctl("ls", "--snapshots", "--json", DATA / version)
    assert run.returncode == 0, run.stderr
    commits = json.loads(run.stdout)
    by_id = {commit["id"]: commit for commit in commits}
    names = {name: commit["id"] for commit in commits for name in commit["names"]}
    assert names == {at: expected["snapshot"] for at, expected in EXPECTED[version].items() if "." in at}
    assert [commit["time"] for commit in commits] == sorted((commit["time"] for commit in commits), reverse=True)
    at, seen = names["branch.main"], []
    while at:
        seen.append(by_id[at]["message"])
        at = by_id[at]["parent"]
    assert seen[-2:] == ["first arrays", "Repository initialized"], seen
    assert names["tag.v1.0"] in zarrctl("ls", "--snapshots", DATA / version).stdout
    assert "not an Icechunk repository" in zarrctl("ls", "--snapshots", ROOT / "tests/data/sample.zarr").stderr


@pytest.mark.parametrize("version", EXPECTED)
def test_zarrctl_where_names_the_file_that_has_the_chunk(version, tmp_path):
    def stored(source):
        place = json.loads(zarrctl("where", "--json", source, "temperature", "3.3.1").stdout)
        with open(place["file"], "rb") as file:
            file.seek(place["offset"])
            return place, file.read(place["length"])

    chunk = subprocess.run([ZARRCTL, "cat", DATA / version, "temperature", "3.3.1"], capture_output=True, check=True).stdout
    place, found = stored(DATA / version)
    assert found == chunk != b"" and "/chunks/" in place["file"]
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_STORED) as file:
        for path in sorted((DATA / version).rglob("*")):
            if path.is_file():
                file.write(path, str(path.relative_to(DATA / version)))
    place, found = stored(tmp_path / "x.zip")
    assert found == chunk and place["member"].startswith("chunks/")
    inline = zarrctl("where", DATA / version, "small", "0.0")
    assert inline.returncode != 0 and "stored inline" in inline.stderr


@pytest.mark.parametrize("keeps_refs", [True, False], ids=["refs kept", "refs removed"])
def test_a_repository_becomes_one_of_version_2_while_it_is_mounted(tmp_path, keeps_refs):
    """By `repo` as icechunk 2 writes it; its branch is one commit further than that of version 1."""
    repository = tmp_path / "r.icechunk"
    shutil.copytree(DATA / "v1", repository)
    shutil.copy(repository / "refs/tag.v1.0/ref.json", repository / "refs/branch.main/ref.json")
    expected = EXPECTED["v2"]["branch.main"]["keys"]
    chunks = [key for key in expected if key.startswith(("split/c", "small/c"))]
    with mounted(repository, "view=v3") as point:
        assert not (point / "split").exists()
        for part in ("chunks", "manifests", "snapshots"):
            shutil.copytree(DATA / "v2" / part, repository / part, dirs_exist_ok=True)
        shutil.copy(DATA / "v2/repo", repository / "new")
        (repository / "new").rename(repository / "repo")
        if not keeps_refs:
            shutil.rmtree(repository / "refs")
        end = time.monotonic() + 30
        while not (point / "split").exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert len(chunks) > 40
        for key in chunks:
            assert hashlib.sha256((point / key).read_bytes()).hexdigest() == expected[key], key
        assert sorted(path.name for path in (point / "small/c/0").iterdir()) == ["0", "1", "2"]
