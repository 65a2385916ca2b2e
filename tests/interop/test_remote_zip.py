"""Zip files in buckets and on web servers."""

import json
import os
import subprocess
import time
import zipfile

import pytest

import faulty_server
from mounts import ZARRCTL, mounted, read, zarrctl
from remote import KEY, REMOTE_PYTHON, SECRET, UPLOAD, start, tree

INNER = "in +ü%/ocean.zarr"


@pytest.fixture(scope="module")
def zips(folder, tmp_path_factory):
    """Stored members, in the file itself; deflated ones, in a folder of it."""
    place = tmp_path_factory.mktemp("zips")
    for name, method, below in (("stored.zip", zipfile.ZIP_STORED, ""), ("all data.OZX", zipfile.ZIP_DEFLATED, INNER + "/")):
        with zipfile.ZipFile(place / name, "w", method) as file:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    file.write(path, below + str(path.relative_to(folder)))
    return place


@pytest.fixture(scope="module")
def bucket(moto, zips):
    subprocess.run([REMOTE_PYTHON, "-c", UPLOAD, moto, KEY, SECRET, "zips", "z", zips], check=True)
    return f"endpoint={moto}"


def test_a_zip_file_in_a_bucket_is_shown_as_the_folder_is(bucket, expected, keys):
    for source in ("s3://zips/z/stored.zip", f"s3://zips/z/all data.OZX/{INNER}"):
        with mounted(source, bucket) as point:
            assert tree(point) == expected


def test_so_is_one_on_a_web_server(zips, expected):
    with faulty_server.serving(zips) as server:
        for source in (f"{server.url}/stored.zip/", f"{server.url}/all%20data.OZX/in%20+%C3%BC%25/ocean.zarr"):
            with mounted(source, "list_max=1") as point:
                assert tree(point) == expected
                assert read("zarr-python-2", [point / "v2/shards"])
        assert {path for path, _, _ in server.seen} == {"/stored.zip", "/all data.OZX"}


def test_it_is_read_by_range_and_not_asked_for_at_each_look(zips, expected):
    chunks = [name for name in expected if name.startswith("v2/shards/") and ".z" not in name]
    with faulty_server.serving(zips) as server, mounted(f"{server.url}/stored.zip", "immutable") as point:
        before = len(server.seen)
        for name in chunks:
            assert (point / name).read_bytes() == expected[name]
        assert len(server.seen) - before < 5 * len(chunks)
        assert all("Range" in headers for _, _, headers in server.seen)


def test_zarrctl_looks_into_it(zips, bucket, folder, expected, keys):
    source = "s3://zips/z/stored.zip"
    verified = zarrctl("verify", "-o", bucket, source)
    assert verified.returncode == 0 and "no damage" in verified.stdout, verified.stderr
    place = json.loads(zarrctl("where", "--json", "-o", bucket, source, "shards", "1.1").stdout)
    assert place["file"] == source and place["member"].startswith("shards/c/")
    with open(zips / "stored.zip", "rb") as file:
        file.seek(place["offset"])
        stored = file.read(place["length"])
    assert stored == subprocess.run([ZARRCTL, "cat", folder, "shards", "1.1"], capture_output=True).stdout != b""


def test_one_that_is_written_again_is_seen_and_never_mixed(zips, folder, tmp_path):
    def write(value):
        with zipfile.ZipFile(tmp_path / "new", "w") as file:
            file.writestr("a/.zarray", json.dumps({
                "zarr_format": 2, "shape": [1 << 18], "chunks": [1 << 17], "dtype": "|u1", "compressor": None, "fill_value": 0,
                "order": "C", "filters": None}))
            file.writestr(".zgroup", '{"zarr_format": 2}')
            for chunk in ("0", "1"):
                file.writestr(f"a/{chunk}", bytes([value]) * (1 << 17))
            file.comment = bytes([value]) * 50  # moves nothing, and changes what is read at the end
        os.replace(tmp_path / "new", tmp_path / "x.zip")

    write(1)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/x.zip", "ttl=0.2") as point:
        seen = []
        for value in (1, 2, 3):
            write(value)
            for _ in range(100):
                with open(point / "v2/a/1", "rb") as file:
                    try:
                        values = set(file.read())
                    except OSError:
                        continue
                assert len(values) == 1
                seen += values
                if values == {value}:
                    break
                time.sleep(0.1)
            assert values == {value}
        assert seen == sorted(seen)


@pytest.mark.parametrize("cut", [0, 10, -30])
def test_what_is_no_zip_file_is_said(zips, tmp_path, cut):
    (tmp_path / "x.zip").write_bytes((zips / "stored.zip").read_bytes()[:cut])
    with faulty_server.serving(tmp_path) as server:
        result = start(f"{server.url}/x.zip", "/mnt", "nonempty")
        assert result.returncode == 32 and result.stderr.count("\n") == 1 and "zip file" in result.stderr
        absent = start(f"{server.url}/y.zip", "/mnt", "nonempty")
        assert absent.returncode == 32 and "y.zip: no such object" in absent.stderr, absent.stderr
