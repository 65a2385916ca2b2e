"""Virtual chunks of an Icechunk repository, which lie in a NetCDF4 file outside it: tests/data/icechunk/make_virtual.py."""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import numcodecs
import numpy as np
import pytest
from mounts import READERS, ROOT, SYSTEM_PYTHON, ZARRCTL, ZARRFS, mounted, read, zarrctl

DATA = ROOT / "tests/data/icechunk"
PLACE, HEADER = b"/" + b"v" * 159, 39
YEAR_2024 = 1704067200  # the checksum of `dated`
VALUES = (np.arange(24, dtype="<f4").reshape(4, 6) * 1.5 - 7).astype("<f4")
NETCDF = """
import json, sys, xarray
with xarray.open_dataset(sys.argv[1], engine="netcdf4", mask_and_scale=False) as dataset:
    print(json.dumps({name: dataset[name].values.tolist() for name in sys.argv[2:]}))
"""


def change_file(file, before, after):
    """`after` must be as long as `before`."""
    stored = file.read_bytes()
    is_compressed = stored[HEADER - 1]
    content = numcodecs.Zstd().decode(stored[HEADER:]) if is_compressed else stored[HEADER:]
    assert len(before) == len(after.encode())
    file.write_bytes(stored[:HEADER - 1] + b"\0" + content.replace(before, after.encode()))


def change_locations(repository, before, after):
    for manifest in (repository / "manifests").iterdir():
        change_file(manifest, before, after)


class Repository:
    """A copy that refers to files in `place`, a folder whose path has the length of PLACE."""

    def __init__(self, folder):
        start = str(folder / "nc")
        self.place = pathlib.Path(start + "x" * (len(PLACE) - len(start)))
        assert len(str(self.place)) == len(PLACE)
        self.place.mkdir()
        self.file = self.place / "ocean.nc"
        shutil.copyfile(DATA / "virtual.nc", self.file)
        os.utime(self.file, (YEAR_2024, YEAR_2024))
        self.path = folder / "ocean.icechunk"
        shutil.copytree(DATA / "virtual", self.path)
        change_locations(self.path, PLACE, str(self.place))

    def mounted(self, *options):
        return mounted(self.path, ",".join([f"virtual=file://{self.place}/", *options]))


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def values(point, array, view="v3"):
    separator = "/" if view == "v3" else "."
    whole = np.zeros((4, 6), "<f4")
    for y in range(2):
        for x in range(2):
            name = f"{y}{separator}{x}"
            chunk = (point / view / array / ("c/" + name if view == "v3" else name)).read_bytes()
            whole[2 * y:2 * y + 2, 3 * x:3 * x + 3] = np.frombuffer(chunk, "<f4").reshape(2, 3)
    return whole


def test_a_repository_of_icechunk_2_3_and_virtualizarr_has_the_values(tmp_path):
    """tests/data/icechunk/make_virtualizarr.py"""
    start, place = str(tmp_path / "nc"), b"/tmp/" + b"v" * 155
    files = pathlib.Path(start + "x" * (len(place) - len(start)))
    files.mkdir()
    for name in ("2020.nc", "2021.nc"):
        shutil.copy(ROOT / "tests/data/kerchunk" / name, files)
        os.utime(files / name, (YEAR_2024, YEAR_2024))  # before the references were made, of which each has its time
    shutil.copytree(DATA / "virtualizarr", tmp_path / "repo")
    change_locations(tmp_path / "repo", place, str(files))
    expected = json.loads((ROOT / "tests/data/kerchunk/EXPECTED.json").read_text())["virtualizarr"]
    with mounted(tmp_path / "repo", f"virtual=file://{files}/") as point:
        for reader in ("zarr-python-2", "zarr-python-3"):
            found = read(reader, [point / READERS[reader][0] / name for name in expected])
            assert [one.get("sha256") for one in found] == list(expected.values()), (reader, found)


@pytest.mark.parametrize("array", ["plain", "packed", "dated"])
def test_readers_see_the_values_of_the_netcdf_file(repository, array):
    with repository.mounted() as point:
        seen = {name: read(name, [point / READERS[name][0] / array])[0] for name in
                ("zarr-python-2", "zarr-python-3", "tensorstore-v3") if array != "packed" or name == "zarr-python-2"}
    for name, found in seen.items():
        assert found.get("sha256") == hashlib.sha256(VALUES.tobytes()).hexdigest(), (name, found)


def test_a_netcdf_file_has_the_values(repository):
    with repository.mounted("noallow_other") as point:
        run = subprocess.run([SYSTEM_PYTHON, "-W", "ignore", "-c", NETCDF, str(point / "nc/ocean.nc"), "plain", "packed", "dated"],
                             capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == dict.fromkeys(("plain", "packed", "dated"), VALUES.tolist())


def test_without_the_option_the_error_names_the_prefix_to_add(repository):
    with mounted(repository.path) as point:
        assert (point / "v3/plain/c/0/0").stat().st_size == 24
        with pytest.raises(OSError):
            (point / "v3/plain/c/0/0").read_bytes()
        assert "error" in read("zarr-python-2", [point / "v2/plain"])[0]
        option = re.search(r"add -o (virtual=\S+)", (point / ".zarrfs/errors").read_text())[1]
    with mounted(repository.path, option) as point:
        assert (values(point, "plain") == VALUES).all()


def test_what_lies_outside_the_prefix_is_an_error(repository):
    (repository.place.with_name(repository.place.name + "-x")).mkdir()
    shutil.copyfile(repository.file, repository.place.with_name(repository.place.name + "-x") / "ocean.nc")
    with repository.mounted() as point:
        for chunk, expected in {"0/0": "add -o virtual=file:///etc/", "1/0": f"add -o virtual=file://{repository.place}-x/",
                                "0/1": "add -o virtual=s3://noaa-goes16/a/"}.items():
            with pytest.raises(OSError):
                (point / "v3/outside/c" / chunk).read_bytes()
            assert expected in (point / ".zarrfs/errors").read_text()
        assert not (point / "v3/outside/c/1/1").exists()  # nothing names it


@pytest.mark.parametrize("target", ["/etc/passwd", "../elsewhere.nc"])
def test_a_link_is_not_followed_out_of_the_prefix(repository, target):
    shutil.copyfile(repository.file, repository.place.parent / "elsewhere.nc")
    link = repository.place / "link.nc"
    link.symlink_to(target)
    with repository.mounted("links=follow") as point, pytest.raises(OSError):
        (point / "v3/linked/c/0/0").read_bytes()
    link.unlink()
    link.symlink_to("ocean.nc")
    with repository.mounted() as point:
        assert (values(point, "linked") == VALUES).all()


def test_a_missing_file_and_a_range_beyond_it_are_errors_and_not_absent(repository):
    with repository.mounted() as point:
        for array in ("gone", "beyond"):
            assert "0" in os.listdir(point / "v3" / array / "c")
            with pytest.raises(OSError) as error:
                (point / "v3" / array / "c/0/0").read_bytes()
            assert not isinstance(error.value, FileNotFoundError)
            assert "error" in read("zarr-python-2", [point / "v2" / array])[0]
        errors = (point / ".zarrfs/errors").read_text()
        assert "the file is missing" in errors
        assert "the file ends early" in errors


@pytest.mark.parametrize("changed, is_read", [(YEAR_2024 - 10_000, True), (YEAR_2024 + 0.5, True), (YEAR_2024 + 1, False)])
def test_a_file_that_changed_later_than_its_reference_says_is_an_error(repository, changed, is_read):
    os.utime(repository.file, (changed, changed))
    with repository.mounted() as point:
        assert (values(point, "plain") == VALUES).all()  # has no time
        if is_read:
            assert (values(point, "dated") == VALUES).all()
            return
        with pytest.raises(OSError):
            values(point, "dated")
        assert "the file has changed since" in (point / ".zarrfs/errors").read_text()


def test_a_file_with_another_etag_is_an_error(repository):
    with repository.mounted() as point:
        with pytest.raises(OSError):
            values(point, "tagged")
        assert "its ETag is" in (point / ".zarrfs/errors").read_text()


@pytest.mark.parametrize("at", ["branch.main", "all"])
def test_a_file_that_is_replaced_while_it_is_mounted(repository, at):
    """Its chunks are other files then; where the reference has a time they are errors."""
    with repository.mounted("ttl=0.2", f"at={at}") as point:
        folder = "v3" if at != "all" else "v3/branch.main"
        path = point / folder / "plain/c/0/0"
        expected = VALUES[:2, :3].tobytes()
        assert path.read_bytes() == expected
        assert (point / folder / "dated/c/0/0").read_bytes() == expected
        with path.open("rb") as opened:
            following = repository.place / "new"
            content = repository.file.read_bytes()
            assert content.count(expected) == 1
            following.write_bytes(content.replace(expected, bytes(24)))
            following.rename(repository.file)
            end = time.monotonic() + 20
            while path.read_bytes() == expected and time.monotonic() < end:
                time.sleep(0.1)
            assert path.read_bytes() == bytes(24)
            with contextlib.suppress(OSError):
                assert os.pread(opened.fileno(), 24, 0) == expected
        with pytest.raises(OSError):
            while time.monotonic() < end:
                (point / folder / "dated/c/0/0").read_bytes()
                time.sleep(0.1)


def test_a_chunk_has_the_owner_and_no_more_rights_than_its_file_and_the_folders_above(repository):
    def mode(point):
        return (point / "v3/plain/c/0/0").stat().st_mode & 0o777

    repository.file.chmod(0o640)
    os.chown(repository.file, 1234, 5678)
    with repository.mounted("noallow_other") as point:
        found = (point / "v3/plain/c/0/0").stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 5678, 0o440)
    repository.file.chmod(0o644)
    repository.place.chmod(0o755)
    for closed in (repository.place, repository.place.parent):
        before = closed.stat().st_mode & 0o777
        closed.chmod(0o700)
        with repository.mounted("allow_other") as point:
            assert mode(point) & 0o077 == 0, closed
            run = subprocess.run([SYSTEM_PYTHON, "-W", "ignore", "-c", NETCDF, str(point / "nc/ocean.nc"), "plain"],
                                 capture_output=True, text=True)
            assert run.returncode != 0  # a file of its own would be open to others
        closed.chmod(before)


def test_what_is_no_prefix_is_one_line(repository, tmp_path):
    for prefix, expected in {"s3://noaa-goes16": "s3://BUCKET/PREFIX/", f"file://{repository.place}": "with / at its end",
                             "file:///nowhere/at/all/": "No such file or directory", "/data/nc/": "file:///DIR/",
                             "https://me@host/": "https://HOST/PATH/",
                             f"file://{repository.file}/": "Not a directory"}.items():
        run = subprocess.run([ZARRFS, repository.path, tmp_path, "-o", f"virtual={prefix}"], capture_output=True, text=True)
        assert run.returncode != 0
        assert expected in run.stderr, run.stderr
        assert len(run.stderr.strip().splitlines()) == 1


def test_a_prefix_that_the_mount_would_hide_is_refused(repository):
    run = subprocess.run([ZARRFS, repository.path, repository.place.parent, "-o", f"nonempty,virtual=file://{repository.place}/"],
                         capture_output=True, text=True)
    assert run.returncode != 0
    assert "would hide" in run.stderr


def test_several_prefixes_after_o_and_in_a_configuration_file(repository, tmp_path):
    other = repository.place.with_name(repository.place.name + "-x")
    other.mkdir()
    shutil.copyfile(repository.file, other / "ocean.nc")
    prefixes = [f"virtual = file://{folder}/" for folder in (repository.place, other)]
    config = tmp_path / "zarrfs.conf"
    config.write_text("\n".join(prefixes) + "\n")
    for options in (",".join(prefixes).replace(" = ", "="), f"config={config}"):
        with mounted(repository.path, options) as point:
            assert (values(point, "plain") == VALUES).all()
            assert len((point / "v3/outside/c/1/0").read_bytes()) == 24


def test_zarrctl_reads_them_with_the_option(repository):
    option = f"virtual=file://{repository.place}/"
    run = subprocess.run([ZARRCTL, "cat", repository.path, "plain", "0.1", "-o", option], capture_output=True)
    assert run.stdout == VALUES[:2, 3:].tobytes(), run.stderr
    run = zarrctl("verify", repository.path, "plain", "-o", option)
    assert run.returncode == 0, run.stdout + run.stderr
    run = zarrctl("verify", repository.path, "plain")
    assert (run.returncode, "add -o virtual=" in run.stdout) == (2, True), run.stdout + run.stderr
    run = zarrctl("info", repository.path, "-o", "virtual=s3://noaa-goes16")
    assert run.returncode == 1
    assert "must end in '/'" in run.stderr or "no '/' follows" in run.stderr, run.stderr


def test_info_names_the_prefixes_that_references_need(repository):
    needed = {f"file://{repository.place}/", f"file://{repository.place}-x/", "file:///etc/", "s3://noaa-goes16/a/"}
    run = zarrctl("info", repository.path)
    assert set(re.findall(r"-o virtual=(\S+)", run.stdout)) == needed, run.stdout + run.stderr
    run = zarrctl("info", "--json", repository.path)
    assert set(json.loads(run.stdout)["virtual"]) == needed
    assert "virtual" not in json.loads(zarrctl("info", "--json", ROOT / "tests/data/sample.zarr").stdout)


# --- Locations that name a container: tests/data/icechunk/make_containers.py ---


class Named:
    """A copy of a repository whose container `ocean` is a folder of PLACE's length."""

    def __init__(self, folder, version):
        start = str(folder / "nc")
        self.place = pathlib.Path(start + "x" * (len(PLACE) - len(start)))
        self.place.mkdir()
        shutil.copyfile(DATA / "virtual.nc", self.place / "ocean.nc")
        self.path = folder / "named.icechunk"
        shutil.copytree(DATA / f"containers-v{version}", self.path)
        if version == 2:
            change_file(self.path / "repo", PLACE, str(self.place))


@pytest.mark.parametrize("at", ["branch.main", "snapshot", "all"])
def test_a_location_that_names_a_container_leads_below_its_prefix(tmp_path, at):
    named = Named(tmp_path, 2)
    commit = at
    if at == "snapshot":
        commit = re.search(r"\b[0-9A-Z]{20}\b", zarrctl("ls", "--snapshots", named.path).stdout)[0]
    with mounted(named.path, f"virtual=file://{named.place}/,at={commit}") as point:
        array = "named" if at != "all" else "branch.main/named"
        assert (values(point, array) == VALUES).all()


def test_a_container_gives_no_access(tmp_path):
    """Its prefix is checked like any other location."""
    named = Named(tmp_path, 2)
    with mounted(named.path) as point:
        for array, expected in (("named", f"add -o virtual=file://{named.place}/"), ("outside", "add -o virtual=s3://noaa-goes16/a/"),
                                ("above", "it has '.' or '..' as a component"),
                                ("unknown", "no virtual chunk container named 'nobody'")):
            chunk = point / "v3" / array / "c/0/0"
            assert chunk.stat().st_size == 24
            with pytest.raises(OSError) as error:
                chunk.read_bytes()
            assert not isinstance(error.value, FileNotFoundError)
            assert expected in (point / ".zarrfs/errors").read_text(), array
    run = zarrctl("info", named.path)
    assert f"-o virtual=file://{named.place}/" in run.stdout and "-o virtual=s3://noaa-goes16/a/" in run.stdout, run.stdout
    run = zarrctl("verify", named.path, "named", "-o", f"virtual=file://{named.place}/")
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_containers_of_version_1_are_not_read(tmp_path):
    named = Named(tmp_path, 1)
    with mounted(named.path, f"virtual=file://{named.place}/") as point:
        with pytest.raises(OSError):
            (point / "v3/named/c/0/0").read_bytes()
        assert "icechunk.upgrade_icechunk_repository()" in (point / ".zarrfs/errors").read_text()
