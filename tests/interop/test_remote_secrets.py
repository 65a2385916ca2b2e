"""The files of headers= and query= are renewed while the store is mounted."""

import os
import pathlib
import signal
import subprocess
import time
import urllib.parse

import faulty_server
import pytest
from mounts import ZARRFS, mounted
from remote import fetcher_of, options_of, start

NAMES = ("v2/shards/0.0", "v2/shards/5.5", "v2/shards/2.3")


class Guard:
    """Answers with `status` unless a request has the secret that is valid now."""

    def __init__(self, status):
        self.status, self.token, self.refused = status, "1", 0

    def __call__(self, path, headers):
        if headers.get("Authorization") == f"Bearer {self.token}":
            return None
        self.refused += 1
        return self.status


def put(path, text):
    new = path.with_name("new")
    new.write_text(text)
    new.rename(path)


def rewrite(path, text):
    path.write_text(text)


def swap(path, text):
    """As Kubernetes does: the name is a link into a folder that another one replaces."""
    folder = path.with_name(f"folder-{time.monotonic_ns()}")
    folder.mkdir()
    (folder / "token").write_text(text)
    link = path.with_name("new")
    link.symlink_to(folder / "token")
    link.rename(path)


@pytest.mark.parametrize("status,replace", [(401, put), (403, put), (401, rewrite), (401, swap)])
def test_renewed_secrets_are_sent(folder, expected, tmp_path, status, replace):
    file = tmp_path / "headers"
    replace(file, "Authorization: Bearer 1\n")
    guard = Guard(status)
    with faulty_server.serving(folder.parent, guard) as server, \
            mounted(f"{server.url}/ocean.zarr", f"headers={file},cache=0,index_cache=0") as point:
        assert (point / NAMES[0]).read_bytes() == expected[NAMES[0]]
        for number, name in enumerate(NAMES, start=2):
            replace(file, f"Authorization: Bearer {number}\n")
            guard.token = str(number)
            # At once: the first request is refused, looked into, and repeated.
            assert (point / name).read_bytes() == expected[name]
        # Without a request that is refused, too.
        replace(file, "Authorization: Bearer 9\n")
        time.sleep(3)
        guard.token, before = "9", guard.refused
        assert (point / "v2/shards/4.4").read_bytes() == expected["v2/shards/4.4"]
        assert guard.refused == before


def test_a_signature_of_addresses_is_renewed(folder, expected, tmp_path):
    file = tmp_path / "query"
    put(file, "sig=1\n")
    with faulty_server.serving(folder.parent) as server, \
            mounted(f"{server.url}/ocean.zarr", f"query={file},cache=0,index_cache=0") as point:
        put(file, "sig=2\n")
        time.sleep(3)
        before = len(server.seen)
        assert (point / NAMES[0]).read_bytes() == expected[NAMES[0]]
        assert {urllib.parse.urlsplit(target).query for _, target, _ in server.seen[before:]} == {"sig=2"}


@pytest.mark.parametrize("option", ["headers", "query"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_secret_that_has_expired_is_named(folder, tmp_path, option, status):
    secret = tmp_path / "secret"
    put(secret, "Authorization: Bearer old\n" if option == "headers" else "sig=old\n")
    with faulty_server.serving(folder.parent, lambda path, headers: status) as server:
        result = start(f"{server.url}/ocean.zarr", "/mnt", f"nonempty,{option}={secret}")
    assert result.returncode == 32 and f"has the secret in {option}={secret} expired?" in result.stderr, result.stderr
    assert "absent=403" not in result.stderr


def test_a_secret_that_stays_wrong_is_an_error(folder, tmp_path):
    put(tmp_path / "headers", "Authorization: Bearer 1\n")
    guard = Guard(403)
    with faulty_server.serving(folder.parent, guard) as server, \
            mounted(f"{server.url}/ocean.zarr", f"headers={tmp_path}/headers,cache=0,index_cache=0") as point:
        guard.token = "2"
        fetcher = fetcher_of(int(options_of(point)["pid"]))
        begun = time.monotonic()
        with pytest.raises(PermissionError):
            (point / NAMES[0]).read_bytes()
        assert time.monotonic() - begun < 5
        assert fetcher_of(int(options_of(point)["pid"])) == fetcher, "the file is the same: nothing begins anew"


@pytest.mark.parametrize("how", ["owner", "folder"])
def test_secrets_of_others_are_not_sent(folder, expected, tmp_path, how):
    """A link that somebody gave the name of such a file would have the next fetcher send what it leads to."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "headers").write_text("Authorization: Bearer secret1\n")
    (place / "query").write_text("sig=secret2\n")
    other = tmp_path / "other"
    other.write_text("Other: file\n")
    if how == "folder":
        place.chmod(0o777)
    elif os.geteuid() == 0:
        for name in ("headers", "query"):
            os.chown(place / name, 12345, 12345)
    else:
        other = pathlib.Path("/etc/passwd")  # which is root's
    options = f"headers={place}/headers,query={place}/query,cache=0,index_cache=0"
    with faulty_server.serving(folder.parent) as server, mounted(f"{server.url}/ocean.zarr", options) as point:
        keeper = int(options_of(point)["pid"])
        for name in ("headers", "query"):
            (place / name).unlink()
            (place / name).symlink_to(other)
        before = len(server.seen)
        os.kill(fetcher_of(keeper), signal.SIGKILL)
        for name in NAMES:
            assert (point / name).read_bytes() == expected[name]
            time.sleep(1)  # in which what changed is seen, too
        assert len(server.seen) > before
        for _, target, headers in server.seen:
            assert headers["Authorization"] == "Bearer secret1" and "Other" not in headers and target.endswith("?sig=secret2")


def test_an_upgrade_sends_renewed_secrets(folder, expected, tmp_path):
    file = tmp_path / "headers"
    put(file, "Authorization: Bearer 1\n")
    guard = Guard(401)
    with faulty_server.serving(folder.parent, guard) as server, \
            mounted(f"{server.url}/ocean.zarr", f"headers={file},cache=0,index_cache=0") as point:
        put(file, "Authorization: Bearer 2\n")
        guard.token = "2"
        result = subprocess.run([ZARRFS, "--upgrade", str(point)], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        assert (point / NAMES[0]).read_bytes() == expected[NAMES[0]]
        assert pathlib.Path(point / "v2").is_dir()
