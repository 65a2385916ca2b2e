"""A bucket that exists in arithmetic: an array in Zarr v2 of so many chunks of one byte. Nobody uploads it, and it lists a page at a time."""

import bisect
import contextlib
import hashlib
import http.server
import json
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
        headers = [("ETag", etag)]
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


@contextlib.contextmanager
def serving(chunks, refuses=lambda headers: None, host="127.0.0.1", ahead=0):
    """The server, with `seen`, keys and queries, and `headers`. `refuses`: the code of an error, or its status, code, headers and what
    more is in its XML; or None. `ahead`: seconds of its clock."""
    server = Server(Handler, host)
    server.make(chunks)
    server.refuses, server.ahead = refuses, ahead
    with server:
        yield server
