"""Servers of stores, to test with, and a store that they have."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

import numpy as np
import pytest
import zarr

from local_server import free_port
from mounts import ROOT, ZARRFS, mounted

REMOTE_PYTHON = ROOT / "build/python/remote/bin/python"
BUCKET, PREFIX = "ocean-bucket", "data/x=1+2 ü%25/ocean.zarr"
KEY, SECRET = "user", "sec/ret+key=="

UPLOAD = """
import os, sys, boto3
url, key, secret, bucket, prefix, folder = sys.argv[1:]
s3 = boto3.client("s3", endpoint_url=url, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1")
s3.create_bucket(Bucket=bucket)
for top, _, names in os.walk(folder):
    for name in names:
        path = os.path.join(top, name)
        s3.upload_file(path, bucket, prefix + "/" + os.path.relpath(path, folder))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("remote")
    top.chmod(0o755)
    top.parent.chmod(0o755)
    path = top / "www" / "ocean.zarr"
    group = zarr.create_group(path)
    shards = group.create_array("shards", shape=(64, 96), shards=(32, 32), chunks=(8, 8), dtype="i4", fill_value=-1)
    shards[:, :64] = np.arange(64 * 64).reshape(64, 64)
    shards[0:8, 64:72] = 5
    plain = group.create_array("deep/plain", shape=(40, 40), chunks=(16, 16), dtype="f8", fill_value=0)
    plain[:16] = np.random.default_rng(1).random((16, 40))
    zarr.consolidate_metadata(path)
    return path


@contextlib.contextmanager
def running(command, port, **more):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    try:
        for _ in range(600):
            assert process.poll() is None, f"{command[0]} ended"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def nginx(folder, tmp_path_factory):
    """The address without and with TLS, the file of the certificate, and the address of a proxy that speaks TLS for the first one."""
    place = tmp_path_factory.mktemp("nginx")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "certificate", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], cwd=place, check=True, capture_output=True)
    port, tls_port, proxy_port = free_port(), free_port(), free_port()
    temporary = " ".join(f"{name}_temp_path {place}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (place / "nginx.conf").write_text(f"""
daemon off; user root; worker_processes 1; pid {place}/pid; error_log {place}/error.log;
events {{ worker_connections 512; }}
http {{ access_log off; {temporary} server {{
  listen 127.0.0.1:{port}; listen 127.0.0.1:{tls_port} ssl http2; ssl_certificate {place}/certificate; ssl_certificate_key {place}/key;
  root {folder.parent}; }}
  server {{ listen 127.0.0.1:{proxy_port} ssl; ssl_certificate {place}/certificate; ssl_certificate_key {place}/key;
  location / {{ proxy_pass http://127.0.0.1:{port}; proxy_set_header Host $http_host; proxy_redirect off; }} }} }}""")
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or str(ROOT / "build/nginx/nginx")
    with running([program, "-c", str(place / "nginx.conf"), "-p", str(place)], port):
        yield f"http://127.0.0.1:{port}", f"https://localhost:{tls_port}", place / "certificate", f"https://localhost:{proxy_port}"


@pytest.fixture(scope="module")
def moto(folder):
    port = free_port()
    with running([str(REMOTE_PYTHON.with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)], port):
        url = f"http://127.0.0.1:{port}"
        subprocess.run([REMOTE_PYTHON, "-c", UPLOAD, url, KEY, SECRET, BUCKET, PREFIX, folder], check=True)
        yield url


@pytest.fixture(scope="module")
def versitygw(folder, tmp_path_factory):
    """It checks each signature."""
    port = free_port()
    program = shutil.which("versitygw") or str(ROOT / "build/go/versitygw")
    keys = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    place = tmp_path_factory.mktemp("versitygw")
    with running([program, "--port", f"127.0.0.1:{port}", "--keep-alive", "posix", str(place)], port, env=keys):
        url = f"http://127.0.0.1:{port}"
        subprocess.run([REMOTE_PYTHON, "-c", UPLOAD, url, KEY, SECRET, BUCKET, PREFIX, folder], check=True)
        yield url


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def tree(top):
    """Every file with its bytes, found by listing."""
    found = {}
    for path, _, names in os.walk(top, onerror=lambda error: (_ for _ in ()).throw(error)):
        for name in names:
            file = pathlib.Path(path, name)
            found[str(file.relative_to(top))] = file.read_bytes()
    return found


@pytest.fixture(scope="module")
def expected(folder):
    with mounted(folder) as point:
        return tree(point)


def start(source, point, options=""):
    command = [str(ZARRFS), source, str(point)] + (["-o", options] if options else [])
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def options_of(point):
    lines = (point / ".zarrfs/options").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def fetcher_of(pid):
    """Of the processes of a mount, that which has the network and no device of the kernel."""
    def target(link):
        try:
            return os.readlink(link)
        except FileNotFoundError:  # closed meanwhile
            return ""

    def has_device(child):
        return any("/dev/fuse" in target(link) for link in pathlib.Path(f"/proc/{child}/fd").iterdir())

    return next(child for child in children(pid) if not has_device(child))
