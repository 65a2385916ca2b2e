"""Listings of buckets that come in pages, and keys of every spelling."""

import os
import pathlib
import subprocess
import urllib.parse

import numpy as np
import pytest
import zarr

import bucket_server
from mounts import mounted, read, zarrctl
from remote import KEY, REMOTE_PYTHON, SECRET, UPLOAD, tree


def pages(server):
    return [query for _, query in server.seen if query.get("max-keys") == "1000"]


@pytest.mark.parametrize("chunks", [4_500, pytest.param(1_000_000, marks=pytest.mark.further_reader)])
def test_a_folder_of_many_pages_is_listed_whole(chunks):
    with bucket_server.serving(chunks) as server:
        with mounted("s3://bucket/store", f"endpoint={server.url},anonymous,ttl=1000,view=v2") as point:
            with os.scandir(point) as entries:
                names = {entry.name for entry in entries if not entry.name.startswith(".z")}
            assert names == {str(number) for number in range(chunks)}
            assert len(pages(server)) < chunks // 1000 + 50  # once, and again for what the kernel asks in between
            assert (point / "4321").read_bytes() == bytes([4321 % 251])
            assert not (point / str(chunks)).exists()


def test_of_many_pages_none_may_be_missing():
    """A listing that breaks off is an error, whole or not."""
    with bucket_server.serving(4_500) as server:
        page = server.page
        server.page = lambda query: "<broken>" if query.get("continuation-token", "") > "3" else page(query)
        with mounted("s3://bucket/store", f"endpoint={server.url},anonymous,ttl=1000,view=v2,timeout=1") as point:
            with pytest.raises(OSError):
                os.listdir(point)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A store with names that addresses, signatures and XML spell in another way."""
    path = tmp_path_factory.mktemp("odd") / "odd =+%25&'(),;@!$*~ü-𝕏 store"
    group = zarr.create_group(path)
    for name in ("a=b", "a+b", "a b", "a%b", "a%20b", "ü/𝕏", "<&>\"'", "(a)!*~$@,;:?#[]"):
        array = group.create_array(name, shape=(16,), shards=(8,), chunks=(4,), dtype="i4", attributes={"name": name})
        array[:] = np.arange(16) + len(name)
    zarr.consolidate_metadata(path)
    return path


@pytest.mark.parametrize("server", ["moto", "nginx", pytest.param("versitygw", marks=pytest.mark.further_reader)])
def test_keys_of_every_spelling(server, odd, request, keys, folder):
    if server == "nginx":
        link = folder.parent / odd.name
        if not link.exists():
            link.symlink_to(odd)
        source, options = f"{request.getfixturevalue('nginx')[0]}/{urllib.parse.quote(odd.name)}", None
    else:
        url = request.getfixturevalue(server)
        subprocess.run([REMOTE_PYTHON, "-c", UPLOAD, url, KEY, SECRET, "odd", odd.name, odd], check=True)
        source, options = f"s3://odd/{odd.name}", f"endpoint={url}"
    with mounted(odd) as local, mounted(source, options) as point:
        want = tree(local)
        assert len(want) > 100 and tree(point) == want
        assert read("zarr-python-2", [point / "v2/a%20b"]) == read("zarr-python-2", [local / "v2/a%20b"])
    verified = zarrctl("verify", *(["-o", options] if options else []), source)
    assert verified.returncode == 0 and "no damage" in verified.stdout, verified.stderr


def test_an_endpoint_may_be_an_address_of_ipv6(keys):
    if not pathlib.Path("/proc/net/if_inet6").exists() or not pathlib.Path("/proc/net/if_inet6").read_text():
        pytest.skip("needs IPv6")
    with bucket_server.serving(3, host="::1") as server:
        with mounted("s3://bucket/store", f"view=v2,endpoint={server.url},region=us-east-1") as point:
            assert [(point / str(chunk)).read_bytes() for chunk in range(3)] == [b"\0", b"\1", b"\2"]
        assert all("Authorization" in headers and headers["Host"] == server.url.removeprefix("http://") for headers in server.headers)
