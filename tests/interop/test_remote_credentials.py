"""Who asks: keys of services that expire, and what else is sent for a user."""

import base64
import contextlib
import datetime
import http.server
import json
import time

import pytest

import bucket_server
import faulty_server
from local_server import LocalServer
from mounts import mounted


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


def test_a_token_of_a_service_account_is_changed_for_a_key(monkeypatch, tmp_path):
    (tmp_path / "token").write_text("web+identity/token\n")
    with service() as sts, bucket_server.serving(3) as server:
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
        monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.url)
        with mounted("s3://bucket/store", f"endpoint={server.url}") as point:
            assert (point / "v2/1").read_bytes() == b"\1"
        assert "WebIdentityToken=web%2Bidentity%2Ftoken" in sts.asked and "RoleArn=arn%3Aaws" in sts.asked
        assert key_of(server.headers[-1]) == "KEY1"


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
