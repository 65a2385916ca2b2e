"""Stores in zip files, made by those who make them: a mount shows what a mount of the folder shows, and readers read it."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
from corpus import PLACE
from mounts import ZARRCTL, mounted, read, zarrctl


VALUES = {"sharded": np.full((100, 90), -1, "i4"), "plain": np.linspace(0, 1, 1000)}
VALUES["sharded"][:50] = np.arange(50 * 90).reshape(50, 90)


def digest_of(array):
    return hashlib.sha256(VALUES[array].tobytes()).hexdigest()


def fill(store):
    """Sharded and unsharded arrays, a missing shard, a group in a group."""
    import zarr

    root = zarr.open_group(store, mode="w", attributes={"title": "of a zip file"})
    sharded = root.create_array(
        "sharded", shape=(100, 90), chunks=(10, 10), shards=(50, 30), dtype="i4", fill_value=-1, attributes={"unit": "m"})
    sharded[:50] = VALUES["sharded"][:50]
    plain = root.create_array("group/plain", shape=(1000,), chunks=(100,), dtype="f8", compressors=None)
    plain[:] = VALUES["plain"]


def written_by_zarr_python(folder, target):
    from zarr.storage import ZipStore

    store = ZipStore(target, mode="w")
    fill(store)
    store.close()


def run_in(folder, *command):
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def named(name_of, system):
    """Members with the names that another writer gives them."""
    def write(folder, target):
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
            if name_of("./"):
                file.writestr(name_of("./"), b"")
            for path in sorted(pathlib.Path(folder).rglob("*")):
                if path.is_file():
                    member = zipfile.ZipInfo(name_of(f"./{path.relative_to(folder)}"))
                    member.create_system, member.compress_type = system, zipfile.ZIP_DEFLATED
                    file.writestr(member, path.read_bytes())
    return write


WRITERS = {
    "PowerShell 5": named(lambda path: path[2:].replace("/", "\\"), system=0),
    "bsdtar": named(lambda path: path, system=3),
    "zarr-python 3": written_by_zarr_python,
    "zip": lambda folder, target: run_in(folder, "zip", "-r", "-q", target, "."),
    "zip -0": lambda folder, target: run_in(folder, "zip", "-r", "-q", "-0", target, "."),
    "zip, to a pipe": lambda folder, target: run_in(folder, "sh", "-c", 'zip -r -q - . | cat >"$0"', target),
    "7z": lambda folder, target: run_in(folder, "7zz", "a", "-tzip", target, "."),
    "7z, stored": lambda folder, target: run_in(folder, "7zz", "a", "-tzip", "-mx=0", target, "."),
    "Python": lambda folder, target: shutil.make_archive(target.removesuffix(".zip"), "zip", folder),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zip") / "store.zarr"
    fill(str(folder))
    return folder


def snapshot(point):
    """path -> digest, or errno, of each file below a mount; folders with their names."""
    seen = {}
    for path, folders, files in os.walk(point, onerror=lambda error: seen.update({error.filename[len(str(point)):]: error.errno})):
        for name in files:
            file = pathlib.Path(path, name)
            try:
                digest = hashlib.sha256(file.read_bytes()).hexdigest()
            except OSError as error:
                digest = error.errno
            seen[str(file)[len(str(point)):]] = digest
        seen[path[len(str(point)):] + "/"] = sorted(folders)
    return seen


@pytest.mark.parametrize("writer", WRITERS)
def test_zarr_python_2_reads_what_was_written(folder, tmp_path, writer):
    target = str(tmp_path / "store.zarr.zip")
    WRITERS[writer](folder, target)
    with mounted(folder) as of_folder, mounted(target) as of_zip:
        assert snapshot(of_zip) == snapshot(of_folder)
        seen = read("zarr-python-2", [of_zip / "v2" / array for array in ["sharded", "group/plain"]])
        assert [one["sha256"] for one in seen] == [digest_of("sharded"), digest_of("plain")]


@pytest.mark.parametrize("options", [[], ["-0"]], ids=["deflated", "stored"])
def test_the_corpus_in_one_zip_file_is_shown_as_the_folder_is(tmp_path, options):
    shutil.copytree(PLACE, tmp_path / "corpus")
    target = tmp_path / "corpus.zip"
    run_in(tmp_path, "zip", "-r", "-q", *options, str(target), "corpus")
    with mounted(tmp_path / "corpus") as of_folder, mounted(target / "corpus") as of_zip:
        expected = snapshot(of_folder)
        assert sum(isinstance(digest, str) for digest in expected.values()) > 3000
        assert snapshot(of_zip) == expected


def test_names_and_sizes_beyond_the_first_form_of_zip_files(tmp_path):
    """More than 65535 members, as zarr-python writes them: zip64. (Names beyond ASCII are UTF-8.)"""
    target = tmp_path / "many.zip"
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("größe/.zarray", (
            '{"zarr_format": 2, "shape": [70000], "chunks": [1], "dtype": "|u1", "compressor": null, "fill_value": 0, '
            '"order": "C", "filters": null}'))
        for number in range(70000):
            file.writestr(f"größe/{number}", bytes([number % 251]))
    with mounted(target, "view=v2") as point:
        assert (point / "größe/65999").read_bytes() == bytes([65999 % 251])
        assert len(os.listdir(point / "größe")) == 70001


def test_offsets_of_more_than_32_bits(folder, tmp_path):
    with open(tmp_path / "far.zip", "wb") as file:
        file.seek(5 << 30)  # a hole
        with zipfile.ZipFile(file, "w") as far:
            for path in sorted(folder.rglob("*")):
                far.write(path, path.relative_to(folder))
    with mounted(folder) as of_folder, mounted(tmp_path / "far.zip") as of_zip:
        assert snapshot(of_zip) == snapshot(of_folder)


def test_an_ozx_file_is_a_zip_file(folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "image.ozx", "w") as file:
        file.comment = b'{"ome": {"version": "0.5", "zipFile": {"centralDirectory": {"jsonFirst": true}}}}'
        for path in sorted(folder.rglob("*")):
            file.write(path, path.relative_to(folder))
    with mounted(tmp_path / "image.ozx") as point:
        assert "error" not in read("zarr-python-2", [point / "v2/sharded"])[0]


def test_zarrctl_looks_into_zip_files(folder, tmp_path):
    run_in(folder.parent, "zip", "-r", "-q", "-0", str(tmp_path / "all.zip"), folder.name)
    store = tmp_path / "all.zip" / folder.name
    for command in [["info"], ["info", "--json"], ["ls"], ["verify"]]:
        of_zip, of_folder = zarrctl(*command, store), zarrctl(*command, folder)
        assert of_zip.returncode == of_folder.returncode == 0, of_zip.stderr
        assert of_zip.stdout.replace(str(store), str(folder)) == of_folder.stdout
    # Where bytes lie: in the zip file, or, if they were deflated, in what they inflate to.
    chunk = subprocess.run([str(ZARRCTL), "cat", str(store / "sharded"), "0.0"], capture_output=True, check=True).stdout
    where = dict(line.split(None, 1) for line in zarrctl("where", store / "sharded", "0.0").stdout.splitlines())
    assert (where["file"], where["member"]) == (str(tmp_path / "all.zip"), f"{folder.name}/sharded/c/0/0")
    begin = int(where["offset"])
    assert (tmp_path / "all.zip").read_bytes()[begin:begin + int(where["length"])] == chunk
    run_in(folder.parent, "zip", "-r", "-q", str(tmp_path / "deflated.zip"), folder.name)
    deflated = tmp_path / "deflated.zip" / folder.name / "sharded"
    where = zarrctl("where", deflated, "0.0").stdout.splitlines()
    assert where[0] == f"file    {deflated}/c/0/0 (once inflated: it is compressed in the zip file)"
    assert any(line.startswith(folder.name) for line in zarrctl("info", tmp_path / "all.zip").stdout.splitlines())


@pytest.mark.parametrize("spoil,said", [
    (lambda data: data[:-30], "no directory at its end"),
    (lambda data: bytes(100) + data, "bytes were added before"),
    (lambda data: data[100:], "is the file complete"),
    (lambda data: data.replace(b"PK\1\2", b"PK\1\3", 1), "record 0 of its directory is invalid"),
    (lambda data: b"", "no directory at its end"),
])
def test_a_damaged_zip_file_is_not_mounted(folder, tmp_path, spoil, said):
    WRITERS["zip"](folder, str(tmp_path / "x.zip"))
    data = (tmp_path / "x.zip").read_bytes()
    (tmp_path / "x.zip").write_bytes(spoil(data))
    with pytest.raises(RuntimeError, match=f"x.zip: .*{said}"):
        with mounted(tmp_path / "x.zip"):
            pass
    assert said in zarrctl("info", tmp_path / "x.zip").stderr


def test_a_damaged_deflated_member_gives_an_error_and_no_other_does(folder, tmp_path):
    run_in(folder, "zip", "-r", "-q", str(tmp_path / "x.zip"), ".")
    with zipfile.ZipFile(tmp_path / "x.zip") as file:
        member = file.getinfo("group/plain/c/4")
    data = bytearray((tmp_path / "x.zip").read_bytes())
    data[member.header_offset + 30 + len(member.filename) + 80] ^= 1
    (tmp_path / "x.zip").write_bytes(data)
    with mounted(tmp_path / "x.zip") as point:
        with pytest.raises(OSError, match="Input/output error"):
            (point / "v2/group/plain/4").read_bytes()
        assert (point / "v2/group/plain/5").read_bytes() == (folder / "group/plain/c/5").read_bytes()
        assert "group/plain/c/4" in (point / ".zarrfs/errors").read_text()


def test_zarr_python_2_sees_a_zip_file_that_is_written_again(folder, tmp_path):
    import zarr

    WRITERS["zarr-python 3"](folder, str(tmp_path / "x.zip"))
    with mounted(tmp_path / "x.zip") as point:
        before = read("zarr-python-2", [point / "v2/sharded"])[0]
        store = zarr.storage.ZipStore(tmp_path / "next.zip", mode="w")
        fill(store)
        zarr.open_group(store)["sharded"][:] = 7
        store.close()
        os.rename(tmp_path / "next.zip", tmp_path / "x.zip")
        for _ in range(100):
            after = read("zarr-python-2", [point / "v2/sharded"])[0]
            if after != before:
                break
        assert after["sha256"] == hashlib.sha256(np.full((100, 90), 7, "i4").tobytes()).hexdigest()
