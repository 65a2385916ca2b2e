"""virtual_file=: prefixes of virtual chunks, each with an endpoint and credentials of its own."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time

import pytest

import bucket_server
import faulty_server
from cluster_cache import caching
from mounts import ROOT, ZARRCTL, ZARRFS, mounted, zarrctl
from remote import KEY, SECRET, children, options_of
from test_icechunk_networked import Bucket
from test_icechunk_virtual import VALUES, values

PLACES = ("north", "south", "own", "plain", "paid", "secret", "open")


class Places:
    """A kerchunk set of one array, with a chunk of one byte in each of PLACES."""

    def __init__(self, folder, monkeypatch, stack):
        self.folder = folder
        folder.chmod(0o755)
        for name in ("AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(folder / "home"))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEYOFENVIRONMENT")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-environment")
        (folder / "home/.aws").mkdir(parents=True)
        (folder / "home/.aws/credentials").write_text("".join(
            f"[{name}]\naws_access_key_id = KEY{name.upper()}\naws_secret_access_key = secret-of-{name}\n" for name in ("north", "south")))
        (folder / "home/.aws/config").write_text("[profile south]\nregion = af-south-1\n")
        (folder / "home/.netrc").write_text("machine 127.0.0.1 login me password secret-netrc\n")
        self.data = folder / "www"
        for number, name in enumerate(PLACES):
            (self.data / name).mkdir(parents=True)
            (self.data / name / "data").write_bytes(bytes([number + 1]))
        self.north, self.south, self.default = (stack.enter_context(bucket_server.serving_folder(self.data)) for _ in range(3))
        monkeypatch.setenv("AWS_ENDPOINT_URL", self.default.url)
        self.token = "token-1"
        self.web = stack.enter_context(faulty_server.serving(self.data, self.refuse))
        (folder / "token").write_text("X-Token: token-1\n")
        self.file = folder / "prefixes"
        self.write(f"s3://bucket/store/north/ endpoint={self.north.url} region=eu-north-1 profile=north",
                   f"s3://bucket/store/south/ endpoint={self.south.url} profile=south",
                   "s3://bucket/store/own/ anonymous=no",
                   "s3://bucket/store/paid/ requester_pays region=us-west-2",
                   f"{self.web.url}/secret/ headers={folder}/token")
        self.option = f"virtual_file={self.file},virtual=s3://bucket/store/plain/,virtual={self.web.url}/open/"
        references = {".zgroup": '{"zarr_format": 2}', "a/.zattrs": "{}", "a/.zarray": json.dumps({
            "zarr_format": 2, "shape": [len(PLACES)], "chunks": [1], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C",
            "filters": None})}
        for number, name in enumerate(PLACES):
            start = f"{self.web.url}/" if name in ("secret", "open") else "s3://bucket/store/"
            references[f"a/{number}"] = [f"{start}{name}/data", 0, 1]
        self.set = folder / "set.json"
        self.set.write_text(json.dumps({"version": 1, "refs": references}))

    def refuse(self, path, headers):
        return 401 if path.startswith("/secret/") and headers.get("X-Token") != self.token else None

    def write(self, *lines):
        self.file.write_text("# Where the chunks are.\n\n" + "".join(f"{line}\n" for line in lines))

    def mounted(self, *options):
        return mounted(self.set, ",".join([self.option, *options]))

    def asked(self, server):
        """Who asked for each place: the key and region of the signature, "" without one, and all headers."""
        found = {}
        for (key, _), headers in zip(server.seen, server.headers, strict=True):
            signed = re.search(r"Credential=(\w+)/\d+/([\w-]+)/s3/", headers.get("Authorization", ""))
            found.setdefault(key.split("/")[1], set()).add("/".join(signed.groups()) if signed else headers.get("Authorization", ""))
        return found


@pytest.fixture
def places(tmp_path, monkeypatch):
    with contextlib.ExitStack() as stack:
        yield Places(tmp_path, monkeypatch, stack)


def chunk(point, name):
    return (point / "v2/a" / str(PLACES.index(name))).read_bytes()


def test_each_prefix_is_asked_at_its_endpoint_with_its_own_credentials(places):
    with places.mounted() as point:
        for number, name in enumerate(PLACES):
            assert chunk(point, name) == bytes([number + 1]), name
    assert places.asked(places.north) == {"north": {"KEYNORTH/eu-north-1"}}
    assert places.asked(places.south) == {"south": {"KEYSOUTH/af-south-1"}}
    assert places.asked(places.default) == {"own": {"KEYOFENVIRONMENT/us-east-1"}, "paid": {"KEYOFENVIRONMENT/us-west-2"}, "plain": {""}}
    payers = {key.split("/")[1] for (key, _), headers in zip(places.default.seen, places.default.headers, strict=True)
              if headers.get("x-amz-request-payer") == "requester"}
    assert payers == {"paid"}
    with places.web.lock:
        seen = [(path.split("/")[1], headers) for path, _, headers in places.web.seen]
    assert {place: headers.get("X-Token") for place, headers in seen} == {"secret": "token-1", "open": None}
    everything = str([server.headers for server in (places.north, places.south, places.default)] + seen)
    assert "secret-" not in everything and not [1 for _, headers in seen if "Authorization" in headers]


def test_prefixes_are_not_read_through_the_cache_of_the_store(places, tmp_path):
    (places.folder / "home/.netrc").unlink()  # whose password for the store would go to the cache
    with faulty_server.serving(places.folder) as store:
        host = store.url.removeprefix("http://")
        with caching(tmp_path / "cache", {host: store.url}) as cache:
            with mounted(f"{store.url}/set.json", f"{places.option},via={cache.url}") as point:
                for number, name in enumerate(PLACES):
                    assert chunk(point, name) == bytes([number + 1]), name
                network = json.loads((point / ".zarrfs/status.json").read_text())["network"]
            assert network["via"]["miss"] > 0 and network["via"]["failed"] == 0, network
            logged = cache.log().splitlines()
        assert logged and all(f" {host}/set.json" in line for line in logged), logged
        assert not [headers for *_, headers in store.seen if "X-Token" in headers or "Authorization" in headers]
    assert places.asked(places.north) == {"north": {"KEYNORTH/eu-north-1"}}
    with places.web.lock:
        seen = [(path.split("/")[1], headers) for path, _, headers in places.web.seen]
    assert {place: headers.get("X-Token") for place, headers in seen} == {"secret": "token-1", "open": None}
    assert not [1 for _, headers in seen if "X-Zarrfs-At" in headers]


def test_the_secrets_of_a_prefix_are_not_in_the_mount_and_outlive_its_processes(places):
    with places.mounted() as point:
        shown = "".join(path.read_text() for path in (point / ".zarrfs").iterdir())
        assert f"virtual_file={places.file}" in shown and "token-1" not in shown
        keeper = int(options_of(point)["pid"])
        (places.folder / "token").unlink()
        places.file.unlink()
        for pid in children(keeper):
            os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 60
        for name in ("secret", "north", "plain"):
            while True:
                with contextlib.suppress(OSError):
                    assert chunk(point, name) == bytes([PLACES.index(name) + 1])
                    break
                assert time.monotonic() < end
                time.sleep(0.1)


def test_a_token_of_a_prefix_that_is_renewed_is_read_again(places):
    with places.mounted("ttl=0") as point:
        assert chunk(point, "secret") == b"\6"
        (places.folder / "new").write_text("X-Token: token-2\n")
        (places.folder / "new").rename(places.folder / "token")
        places.token = "token-2"
        (places.data / "secret/data").write_bytes(b"!")
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                if chunk(point, "secret") == b"!":
                    break
            assert time.monotonic() < end
            time.sleep(0.1)


def test_an_upgrade_takes_them_along(places):
    with places.mounted() as point:
        assert chunk(point, "north") == b"\1"
        places.file.unlink()
        run = subprocess.run([ZARRFS, "--upgrade", point], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert chunk(point, "south") == b"\2" and chunk(point, "secret") == b"\6"


def test_zarrctl_takes_the_file(places):
    run = subprocess.run([ZARRCTL, "cat", places.set, "a", "0", "-o", places.option], capture_output=True)
    assert run.stdout == b"\1", run.stderr
    assert places.asked(places.north) == {"north": {"KEYNORTH/eu-north-1"}}
    run = zarrctl("verify", places.set, "-o", places.option)
    assert run.returncode == 0, run.stdout + run.stderr
    with places.mounted() as point:
        run = subprocess.run([ZARRCTL, "cat", point / "v2/a/1"], capture_output=True)
        assert run.stdout == b"\2", run.stderr
    places.write("nonsense")
    run = zarrctl("verify", places.set, "-o", places.option)
    assert (run.returncode, f"{places.file}:3: nonsense: " in run.stderr) == (1, True), run.stderr


@pytest.mark.parametrize("line, expected", [
    ("s3://bucket/store profile=north", "it must end in '/'"),
    ("s3://bucket/store/north/ keys=x", "'keys=x': expected options of this prefix, which are region, "),
    ("https://host/ profile=north", "'profile=north': expected options of this prefix, which are headers, query"),
    ("s3://bucket/store/plain/ profile=north", "given twice"),
    ("s3://bucket/ endpoint=minio:9000", "endpoint=minio:9000: expected https://HOST")])
def test_a_wrong_line_is_refused_with_its_number(places, line, expected):
    places.write("file:///data/", line)
    places.folder.joinpath("mnt").mkdir()
    for word in ((), ("--check",)):
        run = subprocess.run([ZARRFS, *word, places.set, places.folder / "mnt", "-o", places.option], capture_output=True, text=True)
        assert (run.returncode, f"{places.file}:4: " in run.stderr, expected in run.stderr) == (1, True, True), run.stderr
        assert run.stderr.count("\n") == 1


def test_the_file_of_the_page_is_taken(places):
    page = (ROOT / "docs/OPTIONS.md").read_text()
    block = re.search(r"(    # A line that begins with #.*\n)(    .*\n)+", page)[0]
    places.write(*block.replace("/data/nc/", f"{places.data}/").split("\n"))
    (places.folder / "mnt").mkdir()
    run = subprocess.run([ZARRFS, "--check", places.set, places.folder / "mnt", "-o", f"virtual_file={places.file}"], capture_output=True,
                         text=True)
    assert run.returncode == 0, run.stderr


def test_a_file_that_others_may_change_is_refused(places):
    places.file.chmod(0o666)
    (places.folder / "mnt").mkdir()
    run = subprocess.run([ZARRFS, places.set, places.folder / "mnt", "-o", places.option], capture_output=True, text=True)
    assert (run.returncode, "may write to it" in run.stderr) == (1, True), run.stderr


@pytest.mark.further_reader
def test_a_bucket_that_is_not_public_is_read_with_the_profile_of_its_line(versitygw, keys, tmp_path, monkeypatch):
    """This server checks each signature."""
    tmp_path.chmod(0o755)
    closed = Bucket(tmp_path, versitygw, f"closed-{time.monotonic_ns()}", is_public=False)
    (tmp_path / "home/.aws").mkdir(parents=True)
    (tmp_path / "home/.aws/credentials").write_text(f"[ocean]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (tmp_path / "prefixes").write_text(f"{closed.repository.prefix} endpoint={versitygw} profile=ocean\n")
    with mounted(closed.repository.path, f"virtual_file={tmp_path / 'prefixes'}") as point:
        assert (values(point, "plain") == VALUES).all()
