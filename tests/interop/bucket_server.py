"""A bucket that lists a page at a time: one that exists in arithmetic, an array in Zarr v2 of so many chunks of one byte, which nobody
uploads; or one that has the files of a folder."""

import bisect
import contextlib
import email.utils
import hashlib
import http.server
import json
import pathlib
import time
import urllib.parse
from xml.sax.saxutils import escape

from local_server import LocalServer

PAGE = 1000


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string((timestamp or time.time()) + self.server.ahead)

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True))
        key = urllib.parse.unquote(address.path).removeprefix("/bucket").lstrip("/")
        self.server.seen.append((key, query))
        self.server.headers.append(dict(self.headers))
        if (refusal := self.server.refuses(self.headers)):
            status, code, headers, more = (403, refusal, (), "") if isinstance(refusal, str) else refusal
            return self.answer(status, f"<Error><Code>{code}</Code>{more}</Error>".encode(), headers)
        if "list-type" in query:
            return self.answer(200, self.server.page(query).encode())
        value = self.server.value(key)
        if value is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        etag = f'"{hashlib.md5(value).hexdigest()}"'
        headers = [("ETag", etag), *self.server.times(key)]
        wanted = self.headers.get("Range")
        if not wanted:
            return self.answer(200, value, headers)
        first, last = wanted.removeprefix("bytes=").split("-")
        begin = max(len(value) - int(last), 0) if first == "" else int(first)
        end = len(value) if first == "" or last == "" else min(int(last) + 1, len(value))
        if begin >= end:
            return self.answer(416, b"<Error><Code>InvalidRange</Code></Error>")
        self.answer(206, value[begin:end], [*headers, ("Content-Range", f"bytes {begin}-{end - 1}/{len(value)}")])


class Server(LocalServer):
    def times(self, key):
        return []

    def make(self, chunks):
        self.metadata = json.dumps({
            "zarr_format": 2, "shape": [chunks], "chunks": [1], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C",
            "filters": None}).encode()
        self.names = sorted([".zarray", *map(str, range(chunks))])
        self.chunks, self.seen, self.headers = chunks, [], []

    def value(self, key):
        name = key.removeprefix("store/")
        if name == ".zarray":
            return self.metadata
        if not name.isdigit() or str(int(name)) != name or int(name) >= self.chunks:
            return None
        return bytes([int(name) % 251])

    def page(self, query):
        prefix, most = query["prefix"], min(int(query["max-keys"]), PAGE)
        names = self.names if prefix == "store/" else []
        begin = bisect.bisect_right(names, query.get("continuation-token", ""))
        some = names[begin:begin + most]
        more = begin + most < len(names)
        inner = "".join(f"<Contents><Key>store/{escape(name)}</Key><Size>1</Size></Contents>" for name in some)
        token = f"<NextContinuationToken>{some[-1]}</NextContinuationToken>" if more else ""
        return (f"<ListBucketResult><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(some)}</KeyCount>"
                f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{inner}</ListBucketResult>")


class FolderServer(LocalServer):
    """The bucket's prefix is "store"."""

    def make(self, folder):
        self.folder = pathlib.Path(folder)
        self.seen, self.headers = [], []

    def value(self, key):
        file = self.folder / key.removeprefix("store/")
        return file.read_bytes() if file.is_file() else None

    def times(self, key):
        modified = (self.folder / key.removeprefix("store/")).stat().st_mtime
        return [("Last-Modified", email.utils.formatdate(modified, usegmt=True))]

    def entry(self, below, prefix, name):
        if name.endswith("/"):
            return f"<CommonPrefixes><Prefix>{escape(prefix + name)}</Prefix></CommonPrefixes>"
        file = below / name
        modified = time.strftime("%Y-%m-%dT%H:%M:%S.789Z", time.gmtime(file.stat().st_mtime))
        etag = escape(f'"{hashlib.md5(file.read_bytes()).hexdigest()}"', {'"': "&quot;"})
        return (f"<Contents><Key>{escape(prefix + name)}</Key><Size>{file.stat().st_size}</Size><ETag>{etag}</ETag>"
                f"<LastModified>{modified}</LastModified></Contents>")

    def page(self, query):
        prefix, most = query["prefix"], min(int(query["max-keys"]), PAGE)
        below = self.folder / prefix.removeprefix("store/")
        paths = below.iterdir() if below.is_dir() else []
        names = sorted(path.name + "/" * path.is_dir() for path in paths)
        begin = bisect.bisect_right(names, query.get("continuation-token", ""))
        some = names[begin:begin + most]
        more = begin + most < len(names)
        inner = "".join(self.entry(below, prefix, name) for name in some)
        token = f"<NextContinuationToken>{escape(some[-1])}</NextContinuationToken>" if more else ""
        return (f"<ListBucketResult><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(some)}</KeyCount>"
                f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{inner}</ListBucketResult>")


@contextlib.contextmanager
def serving_folder(folder):
    """The server, with `seen`, keys and queries; its store is `s3://bucket/store`."""
    server = FolderServer(Handler)
    server.make(folder)
    server.refuses, server.ahead = (lambda headers: None), 0
    with server:
        yield server


@contextlib.contextmanager
def serving(chunks, refuses=lambda headers: None, host="127.0.0.1", ahead=0):
    """The server, with `seen`, keys and queries, and `headers`. `refuses`: the code of an error, or its status, code, headers and what
    more is in its XML; or None. `ahead`: seconds of its clock."""
    server = Server(Handler, host)
    server.make(chunks)
    server.refuses, server.ahead = refuses, ahead
    with server:
        yield server
