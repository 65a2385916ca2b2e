"""`zarrctl` on stores in buckets and on web servers, and on paths below mounts of them."""

import json
import subprocess

import pytest

from mounts import ZARRCTL, mounted, zarrctl
from remote import BUCKET, PREFIX


def run(*words):
    result = zarrctl(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(params=["bucket", "web server"])
def store(request, moto, nginx, keys):
    """Its address, and the words that name its options."""
    return (f"s3://{BUCKET}/{PREFIX}", ["-o", f"endpoint={moto}"]) if request.param == "bucket" else (f"{nginx[0]}/ocean.zarr", [])


def test_references_are_those_of_the_folder(store, folder, tmp_path):
    address, options = store
    run("refs", *options, address, "--out", tmp_path / "remote.json")
    run("refs", folder, "--out", tmp_path / "local.json", "--prefix", address)
    assert json.loads((tmp_path / "remote.json").read_text()) == json.loads((tmp_path / "local.json").read_text())


def test_a_packed_store_is_that_of_the_folder(store, folder, tmp_path):
    address, options = store
    for source, more, target in ((address, options, "remote"), (folder, [], "local")):
        run("pack", "--verify", *more, source, tmp_path / target)
    files = [{str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}
             for top in (tmp_path / "remote", tmp_path / "local")]
    assert files[0] == files[1] and any("/c/" in name for name in files[0])


def test_a_path_below_a_mount_is_told_with_the_options_of_the_mount(store, expected):
    address, options = store
    with mounted(address, ",".join(["fill=keep", *options[1:]])) as point:
        for name in ("v2/shards/1.1", "v3/deep/plain/c/0/1"):
            told = json.loads(run("where", "--json", point / name))
            array, chunk = ("shards", "1.1") if "shards" in name else ("deep/plain", "0.1")
            named = json.loads(run("where", "--json", *options, address, array, chunk))
            assert {key: told[key] for key in named if key in ("file", "offset", "length", "present")} == \
                {key: named[key] for key in named if key in ("file", "offset", "length", "present")}
            assert told["view"]["size"] == len(expected[name])
            assert subprocess.run([ZARRCTL, "cat", point / name], capture_output=True, check=True).stdout == expected[name]


def test_options_that_are_none_are_refused(nginx):
    for options in ("endpont=x", "timeout=0", "fill=keep"):
        result = zarrctl("info", "-o", options, f"{nginx[0]}/ocean.zarr")
        assert result.returncode != 0 and "no such option" in result.stderr
