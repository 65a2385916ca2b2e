"""Who asks: keys of services that expire, and what else is sent for a user."""

import base64
import contextlib
import datetime
import errno
import http.server
import json
import os
import select
import socket
import subprocess
import time

import pytest

import bucket_server
import faulty_server
from local_server import LocalServer
from mounts import ZARRCTL, for_everybody, mounted
from remote import fetcher_of, options_of


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Nothing is known of the user."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


class Service(http.server.BaseHTTPRequestHandler):
    """The metadata of an instance, version 2, and the service that gives keys for tokens: each key is another one."""

    def log_message(self, *_):
        pass

    def key(self):
        self.server.keys += 1
        expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=self.server.seconds)
        return f"KEY{self.server.keys}", f"{expires:%Y-%m-%dT%H:%M:%SZ}"

    def answer(self, text, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        self.answer("metadata-token" if self.path == "/latest/api/token" else "", 200)

    def do_GET(self):
        if self.headers.get("X-aws-ec2-metadata-token") != "metadata-token":
            return self.answer("", 401)
        if not self.path.endswith("/a-role"):
            return self.answer("a-role")
        name, expires = self.key()
        self.answer(json.dumps({"Code": "Success", "AccessKeyId": name, "SecretAccessKey": "s", "Token": "t", "Expiration": expires}))

    def do_POST(self):
        self.server.asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        name, expires = self.key()
        self.answer(f"<X><Credentials><AccessKeyId>{name}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
                    f"<Expiration>{expires}</Expiration></Credentials></X>")


@contextlib.contextmanager
def service(seconds=3600):
    server = LocalServer(Service)
    server.keys, server.seconds, server.asked = 0, seconds, ""
    with server:
        yield server


def key_of(headers):
    return headers["Authorization"].split("Credential=")[1].split("/")[0]


def test_keys_of_the_instance_are_replaced_before_they_expire(monkeypatch):
    with service(seconds=302) as instance:  # five minutes are too few
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", instance.url)
        with bucket_server.serving(3) as server, mounted("s3://bucket/store", f"endpoint={server.url},ttl=0.1") as point:
            for _ in range(600):
                assert (point / "v2/1").read_bytes() == b"\1"
                if key_of(server.headers[-1]) != "KEY1":
                    break
                time.sleep(0.1)
            assert key_of(server.headers[-1]) != "KEY1"
            assert all(headers["X-Amz-Security-Token"] == "t" for headers in map(
                lambda some: {name.title(): value for name, value in some.items()}, server.headers))


def test_a_key_that_is_refused_as_expired_is_replaced(monkeypatch):
    with service() as instance:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", instance.url)
        revoked = set()
        with bucket_server.serving(3, lambda headers: "ExpiredToken" if key_of(headers) in revoked else None) as server:
            with mounted("s3://bucket/store", f"endpoint={server.url},ttl=0.1,timeout=30") as point:
                assert (point / "v2/1").read_bytes() == b"\1"
                time.sleep(11)  # a key that is younger is not asked for again
                revoked.add("KEY1")
                assert (point / "v2/2").read_bytes() == b"\2"
                assert key_of(server.headers[-1]) == "KEY2"


@pytest.mark.parametrize("place", ["environment", "profile"])
def test_a_token_of_a_service_account_is_changed_for_a_key(monkeypatch, tmp_path, place):
    (tmp_path / "token").write_text("web+identity/token\n")
    with service() as sts, bucket_server.serving(3) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        options = f"endpoint={server.url}"
        if place == "environment":
            monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
            monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
        else:
            (tmp_path / ".aws").mkdir()
            (tmp_path / ".aws/config").write_text(
                f"[profile pod]\nrole_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = {tmp_path}/token\n")
            options += ",profile=pod"
        with mounted("s3://bucket/store", options) as point:
            assert (point / "v2/1").read_bytes() == b"\1"
        assert "WebIdentityToken=web%2Bidentity%2Ftoken" in sts.asked and "RoleArn=arn%3Aaws" in sts.asked
        assert key_of(server.headers[-1]) == "KEY1"


def test_a_container_says_in_a_file_who_asks(monkeypatch, tmp_path):
    (tmp_path / "token").write_text("token-of-the-pod\n")
    (tmp_path / "key").write_text(json.dumps({"AccessKeyId": "POD", "SecretAccessKey": "s", "Token": "t", "Expiration": "2099-01-01T00:00:00Z"}))
    with faulty_server.serving(tmp_path) as agent, bucket_server.serving(3) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{agent.url}/key")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
        with mounted("s3://bucket/store", f"endpoint={server.url}") as point:
            assert (point / "v2/1").read_bytes() == b"\1"
        assert key_of(server.headers[-1]) == "POD" and agent.seen[0][2]["Authorization"] == "token-of-the-pod"


def at(zone, seconds):
    """The time so many seconds from now, as that zone's clocks show it."""
    now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=zone)))
    return (now + datetime.timedelta(seconds=seconds)).isoformat(timespec="seconds")


def of_program(place, *lines):
    """A profile whose program runs these lines of the shell."""
    (place / ".aws").mkdir()
    (place / ".aws/config").write_text(f"[default]\nregion = us-east-1\ncredential_process = sh {place}/program\n")
    (place / "program").write_text("\n".join(lines))


def test_a_profile_says_where_the_service_is(tmp_path):
    (tmp_path / ".aws").mkdir()
    with bucket_server.serving(3) as server, bucket_server.serving(3) as other:
        (tmp_path / ".aws/config").write_text(f"[profile lab]\nendpoint_url = {server.url}\nregion = lab-1\n")
        (tmp_path / ".aws/credentials").write_text("[lab]\naws_access_key_id = LAB\naws_secret_access_key = s\n")
        with mounted("s3://bucket/store", "profile=lab") as point:
            assert (point / "v2/1").read_bytes() == b"\1"
        assert "Credential=LAB/" in server.headers[-1]["Authorization"] and "/lab-1/s3/" in server.headers[-1]["Authorization"]
        server.headers.clear()
        with mounted("s3://bucket/store", f"profile=lab,endpoint={other.url}") as point:
            assert (point / "v2/1").read_bytes() == b"\1"
        assert other.headers and not server.headers, "what the user says comes first"


@pytest.mark.parametrize("way", ["another file", "a link"])
def test_a_file_with_passwords_that_is_replaced_is_read_again(folder, expected, tmp_path, way):
    """The process that fetches may read the file that had the name when it began; the next one reads the new one."""
    current = ["one"]

    def refuses(_, headers):
        return None if headers.get("Authorization") == "Basic " + base64.b64encode(f"me:{current[0]}".encode()).decode() else 401

    def write(name, password):
        (tmp_path / name).write_text(f"machine 127.0.0.1 login me password {password}\n")
        (tmp_path / name).chmod(0o600)

    write(".netrc", "one")
    with faulty_server.serving(folder.parent, refuses) as server, mounted(f"{server.url}/ocean.zarr", "ttl=0.1,cache=0") as point:
        assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
        write("new", "two")
        if way == "a link":
            (tmp_path / "link").symlink_to(tmp_path / "new")
            os.replace(tmp_path / "link", tmp_path / ".netrc")
        else:
            os.replace(tmp_path / "new", tmp_path / ".netrc")
        current[0] = "two"
        for _ in range(300):
            try:
                assert (point / "v2/shards/1.1").read_bytes() == expected["v2/shards/1.1"]
                break
            except OSError as error:
                # A file that was looked up while the password was refused, and read after that, is stale.
                assert error.errno in (errno.EACCES, errno.ESTALE), error
            time.sleep(0.1)
        else:
            raise AssertionError((point / ".zarrfs/errors").read_text())


@pytest.mark.skipif(os.getuid() != 0, reason="root's mounts")
def test_the_status_says_who_fetches(tmp_path):
    (tmp_path / "key").write_text(json.dumps({"Version": 1, "AccessKeyId": "KEY", "SecretAccessKey": "s"}))
    of_program(tmp_path, f"cat {tmp_path}/key")
    with bucket_server.serving(3) as server:
        seen = {}
        for name, options in ("plain", "anonymous"), ("cache", f"anonymous,disk_cache={tmp_path}/cache"), ("program", "ttl=1"):
            with mounted("s3://bucket/store", f"endpoint={server.url},region=x,{options}") as point:
                assert (point / "v2/1").read_bytes() == b"\1"
                seen[name] = options_of(point)["fetcher"]
                assert json.loads((point / ".zarrfs/status.json").read_text())["fetcher"] == seen[name]
    assert "uid 0" not in seen["plain"] and int(seen["plain"].rsplit("uid ", 1)[1]) >= 61184
    assert seen["cache"].endswith("uid 0 (disk_cache)")
    assert seen["program"].startswith("no landlock (the fetcher starts programs)") and seen["program"].endswith("uid 0 (credential_process)")


@pytest.mark.parametrize("zone", [-8, 8])
def test_a_program_is_asked_again_before_its_key_expires(tmp_path, zone):
    """It may tell the time of any zone."""
    for name, seconds in ("KEY1", 305), ("KEY2", 3600):
        (tmp_path / name).write_text(json.dumps({"Version": 1, "AccessKeyId": name, "SecretAccessKey": "s", "Expiration": at(zone, seconds)}))
    of_program(tmp_path, f"cd {tmp_path}", "if [ -e asked ]; then cat KEY2; else touch asked; cat KEY1; fi", "echo x >>times")
    with bucket_server.serving(3) as server, mounted("s3://bucket/store", f"endpoint={server.url},ttl=0.1") as point:
        assert key_of(server.headers[-1]) == "KEY1"
        for _ in range(300):
            assert (point / "v2/1").read_bytes() == b"\1"
            if key_of(server.headers[-1]) == "KEY2":
                break
            time.sleep(0.1)
        assert key_of(server.headers[-1]) == "KEY2"
        time.sleep(1)
    assert (tmp_path / "times").read_text() == "x\nx\n"


def test_a_program_is_run_by_the_process_that_fetches(tmp_path):
    key = json.dumps({"Version": 1, "AccessKeyId": "KEY", "SecretAccessKey": "s"})
    of_program(tmp_path, f"echo '{key}'", f"echo $(id -u) $(ps -o pgid= -p $$) >{tmp_path}/who")
    with bucket_server.serving(3) as server, mounted("s3://bucket/store", f"endpoint={server.url}") as point:
        uid, group = map(int, (tmp_path / "who").read_text().split())
        assert (uid, group) == (os.getuid(), fetcher_of(int(options_of(point)["pid"])))


@pytest.mark.skipif(os.getuid() != 0, reason="only root is somebody else")
def test_a_program_is_run_as_who_asks(tmp_path):
    program = for_everybody(ZARRCTL, tmp_path)
    key = json.dumps({"Version": 1, "AccessKeyId": "KEY", "SecretAccessKey": "s"})
    of_program(tmp_path, f"echo '{key}'", f"id -u >{tmp_path}/of-nobody/who")
    (tmp_path / "of-nobody").mkdir()
    os.chown(tmp_path / "of-nobody", 65534, 65534)
    with bucket_server.serving(3) as server:
        command = [program, "cat", "-o", f"endpoint={server.url}", "s3://bucket/store", "", "1"]
        read = subprocess.run(command, user=65534, group=65534, extra_groups=[], capture_output=True, timeout=120)
    assert read.stdout == b"\1" and (tmp_path / "of-nobody/who").read_text() == "65534\n", read.stderr


def test_who_pays_and_how_the_bucket_is_addressed(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    with bucket_server.serving(3) as server:
        endpoint = f"http://localhost:{server.server_port}"
        with mounted("s3://bucket/store", f"endpoint={endpoint},addressing=virtual,requester_pays,region=eu-x-1") as point:
            assert (point / "v2/1").read_bytes() == b"\1"
        for headers in server.headers:
            assert headers["Host"] == f"bucket.localhost:{server.server_port}"
            assert headers["x-amz-request-payer"] == "requester"
            assert "x-amz-request-payer" in headers["Authorization"] and "/eu-x-1/s3/" in headers["Authorization"]


def test_a_proxy_is_asked_and_netrc_says_who_asks(monkeypatch, folder, expected, tmp_path):
    (tmp_path / ".netrc").write_text("machine store.example login me password pass-word\n")
    with faulty_server.serving(folder.parent) as server:
        monkeypatch.setenv("http_proxy", server.url)
        with mounted("http://store.example/ocean.zarr") as point:
            assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
        assert all(target.startswith("http://store.example/") for _, target, _ in server.seen)
        known = "Basic " + base64.b64encode(b"me:pass-word").decode()
        assert all(headers["Authorization"] == known for _, _, headers in server.seen)
        server.seen.clear()
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with mounted(f"{server.url}/ocean.zarr") as point:
            assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
        assert server.seen and all(target.startswith("/") and "Authorization" not in headers for _, target, headers in server.seen)


class Tunnel(http.server.BaseHTTPRequestHandler):
    """A proxy for what is encrypted: it passes bytes on to the server that it was made for, whatever its name."""

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.server.asked.append((self.path, self.headers.get("Proxy-Authorization")))
        with socket.create_connection(self.server.to) as other:
            self.send_response(200)
            self.end_headers()
            ends = {self.connection: other, other: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    if not (data := end.recv(65536)):
                        return
                    ends[end].sendall(data)


def test_what_is_encrypted_goes_through_a_proxy_too(monkeypatch, nginx, expected):
    port = int(nginx[1].rsplit(":", 1)[1])
    monkeypatch.setenv("SSL_CERT_FILE", str(nginx[2]))
    proxy = LocalServer(Tunnel)
    proxy.asked, proxy.to = [], ("127.0.0.1", port)
    with proxy:
        monkeypatch.setenv("https_proxy", proxy.url.replace("://", "://me:pass-word@"))
        monkeypatch.setenv("no_proxy", "")
        with mounted(f"{nginx[1]}/ocean.zarr") as point:
            assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
    known = "Basic " + base64.b64encode(b"me:pass-word").decode()
    assert proxy.asked and set(proxy.asked) == {(f"localhost:{port}", known)}
