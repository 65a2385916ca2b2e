"""A web server, or a bucket's, that fails as asked: each answer to a GET of an object is what `fault(path, headers)` says: a status, a
status and where it redirects, or a name."""

import contextlib
import email.utils
import hashlib
import http.server
import pathlib
import socket
import struct
import threading
import time
import urllib.parse

from local_server import LocalServer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body at once: else each answer waits for an acknowledgement

    def log_message(self, *_):
        pass

    def finish_with(self, status, body=b"", headers=(), claimed=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if claimed is None else claimed))
        self.end_headers()
        self.wfile.write(body)
        if claimed is not None:
            self.close_connection = True

    def do_GET(self):
        server = self.server
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        with server.lock:
            server.seen.append((path, self.path, dict(self.headers)))
        fault = server.fault(path, self.headers)
        if isinstance(fault, int):
            return self.finish_with(fault, b"<html>no</html>", [("Retry-After", "0")] if fault == 503 else [])
        if isinstance(fault, tuple):
            return self.finish_with(fault[0], headers=[("Location", fault[1])])
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return self.connection.close()
        file = server.root / path.lstrip("/")
        if file.is_dir() and not path.endswith("/"):
            address = urllib.parse.urlsplit(self.path)  # (A proxy is told all of it.)
            query = f"?{address.query}" if address.query else ""
            return self.finish_with(301, headers=[("Location", f"http://{self.headers['Host']}{address.path}/{query}")])
        if not file.is_file():
            return self.finish_with(404)
        data, modified = file.read_bytes(), file.stat().st_mtime
        etag = f'"{hashlib.md5(data).hexdigest()}"'
        if fault == "other version":
            etag = f'"{time.time_ns()}"'
        if server.etags == "weak":
            etag = f"W/{etag}"
        elif isinstance(server.etags, str):
            etag = f'"{server.etags}"'
        headers = [("Last-Modified", email.utils.formatdate(modified, usegmt=True))] if server.dates else []
        if server.etags:
            headers.append(("ETag", etag))
        # (A weak one matches nothing.)
        if self.headers.get("If-Match", etag) != etag or "If-Match" in self.headers and server.etags == "weak":
            return self.finish_with(412)
        since = self.headers.get("If-Unmodified-Since")
        if since and int(modified) > email.utils.parsedate_to_datetime(since).timestamp():
            return self.finish_with(412)
        begin, end = 0, len(data)
        wanted = self.headers.get("Range")
        if wanted and wanted.startswith("bytes=-") and server.of_suffix is not None:
            if isinstance(server.of_suffix, int):
                return self.finish_with(server.of_suffix)
            fault = server.of_suffix
        if wanted and fault != "no ranges":
            first, last = wanted.removeprefix("bytes=").split("-")
            begin = max(len(data) - int(last), 0) if first == "" else int(first)
            end = len(data) if first == "" or last == "" else min(int(last) + 1, len(data))
            if begin >= end:
                return self.finish_with(416, headers=[("Content-Range", f"bytes */{len(data)}")])
            if fault == "other range":
                begin, end = begin + 1, end + 1
            headers.append(("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}"))
        part = data[begin:end]
        status = 206 if wanted and fault not in ("no ranges", "part with 200") else 200
        if fault == "contradicting":
            headers.append(("Content-Range", f"bytes {begin}-{end}/{len(data) + 1}"))
        if fault == "cut":
            return self.finish_with(status, part[:len(part) // 2], headers, len(part))
        if fault == "longer":
            return self.finish_with(status, part + b"more", headers)
        if fault == "shorter":
            return self.finish_with(status, part[:len(part) // 2], headers)
        if fault == "drip":
            self.finish_with(status, part[:1], headers, len(part))
            for _ in range(60):
                time.sleep(0.5)
                try:
                    self.wfile.write(b"x")
                except OSError:
                    return None
            return None
        if fault == "stall":
            time.sleep(0.5)
        with server.lock:
            server.sent.append((path, begin, end))
        self.finish_with(status, part, headers)


class Server(LocalServer):
    def handle_error(self, *_):
        pass


@contextlib.contextmanager
def serving(folder, fault=lambda path, headers: None, etags=True, dates=True, of_suffix=None, host="127.0.0.1"):
    """The server, with `url`; `seen`, what was asked for: path, target and headers; and `sent`: path, begin and end of the bytes.
    `etags` may be "weak", or what each object has. `of_suffix`: what becomes of a range that counts from the end, a status or "no ranges"."""
    server = Server(Handler, host)
    server.root, server.fault, server.etags, server.dates = pathlib.Path(folder), fault, etags, dates
    server.of_suffix = of_suffix
    server.lock, server.seen, server.sent = threading.Lock(), [], []
    with server:
        yield server
