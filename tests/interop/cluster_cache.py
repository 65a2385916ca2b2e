"""nginx with packaging/cache/nginx.conf, on ports of this machine, for the tests of via= and tools/bench/cluster."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

from local_server import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "packaging/cache/nginx.conf"


def program():
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or str(ROOT / "build/nginx/nginx")


def configured(place, port, origins, certificates=None, tls=None, address="127.0.0.1"):
    """The recipe with the folder `place` instead of the machine's, and these origins: addresses by Host, as "http://127.0.0.1:80".
    `certificates`: which authorities the cache trusts. `tls`: the file of the cache's own certificate; its key is the file "key" there.
    `address`: where the cache listens."""
    text = RECIPE.read_text()

    def put(old, new):
        nonlocal text
        assert old in text, old
        text = text.replace(old, new)

    upstreams, hosts = [], []
    for number, (host, origin) in enumerate(origins.items()):
        scheme, where = origin.split("://")
        upstreams.append(f"upstream origin{number} {{ server {where}; keepalive 64; }}")
        hosts.append(f'"{host}" {scheme}://origin{number};')
    put("""  upstream data_example_org {
    server data.example.org:443;
    keepalive 64;
  }
""", "\n".join(upstreams))
    put("    data.example.org https://data_example_org;", "\n".join(hosts))
    put("user www-data;", f"daemon off; {'user root;' if os.getuid() == 0 else ''}")
    put("worker_processes auto;", "worker_processes 2;")
    put("/run/nginx.pid", f"{place}/pid")
    put("/var/log/nginx", str(place))
    put("/var/lib/nginx", str(place))
    own = f"ssl_certificate {tls}; ssl_certificate_key {tls.with_name('key')};" if tls else ""
    put("listen 8080 default_server", f"{own} listen {address}:{port} {'ssl' if tls else ''} default_server")
    put("min_free=2g ", "")
    put("buffer=64k flush=5s", "")
    if certificates:
        put("/etc/ssl/certs/ca-certificates.crt", str(certificates))
    temporary = " ".join(f"{name}_temp_path {place}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    put("http {\n", f"http {{\n{temporary}\n")
    path = place / "nginx.conf"
    path.write_text(text)
    return path


class Cache:
    def __init__(self, place, port, command, address, **more):
        self.place, self.port, self.url = place, port, f"http://{address}:{port}"
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        for _ in range(600):
            assert self.process.poll() is None, (place / "error.log").read_text()
            with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
                return
            time.sleep(0.1)

    def log(self):
        return (self.place / "zarrfs.log").read_text()

    def workers(self):
        return [int(child) for child in pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]

    def kill(self):
        for pid in [self.process.pid, *self.workers()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self.process.wait()


@contextlib.contextmanager
def caching(place, origins, certificates=None, tls=None, address="127.0.0.1", **more):
    """A running cache. `origins`: see configured()."""
    place.mkdir(parents=True, exist_ok=True)
    port = free_port()
    path = configured(place, port, origins, certificates, tls, address)
    cache = Cache(place, port, [program(), "-c", str(path), "-p", str(place)], address, **more)
    try:
        yield cache
    finally:
        cache.process.terminate()
        cache.process.wait()
