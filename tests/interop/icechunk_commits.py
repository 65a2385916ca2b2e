"""A copy of tests/data/icechunk/v1 with a writer that commits as fast as it can, by changing ids and bytes in what icechunk wrote.

Each commit has one number in a chunk of an array (A) and in two chunks of another (B, C), each of which is in a manifest of its own. That of A
is an object, the others are stored inline.
"""

import collections
import json
import os
import shutil
import struct

import numcodecs
import numpy as np

from mounts import ROOT

HEADER = 39
A, B, C = "a/b/native/c/0", "split/c/2/3/0", "split/c/1/2/0"
B_BYTES, C_BYTES = struct.pack("<ii", 38, 39), struct.pack("<ii", 20, 21)  # before
B_AT, C_AT = (38 - 4) * 4, (20 - 4) * 4  # in big-endian values of `split` from the fifth on: 4, 5, 6, 7
DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
KEPT = 2000  # commits


def id_of(name):
    value = 0
    for digit in name:
        value = value << 5 | DIGITS.index(digit)
    return (value >> 4).to_bytes(12, "big")


def name_of(one):
    value = int.from_bytes(one, "big") << 4
    return "".join(DIGITS[value >> 5 * place & 31] for place in reversed(range(20)))


def number_in(path):
    """Of a commit: in the file of A or B below a mount."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return struct.unpack("<q", os.read(descriptor, 8))[0]
    finally:
        os.close(descriptor)


class Commits:
    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(ROOT / "tests/data/icechunk/v1", folder)
        self.pointer = folder / "refs/branch.main/ref.json"
        expected = json.loads((ROOT / "tests/data/icechunk/v1.json").read_text())
        snapshot = next(at for at in expected if "." not in at)  # all of it can be read
        self.snapshot = id_of(snapshot), self.content("snapshots", snapshot)
        chunk = (np.arange(1000) * 7919 % 65521).astype("<u2").tobytes()
        self.chunk = next(id_of(path.name) for path in (folder / "chunks").iterdir() if path.read_bytes() == chunk)
        self.size = len(chunk)
        self.manifests = [next(found for path in (folder / "manifests").iterdir() if id_of(path.name) in self.snapshot[1]
                               and part in (found := (id_of(path.name), self.content("manifests", path.name)))[1])
                          for part in (self.chunk, B_BYTES, C_BYTES)]
        self.number, self.written = 0, collections.deque()
        self.commit()

    def content(self, kind, name):
        stored = (self.folder / kind / name).read_bytes()
        return numcodecs.Zstd().decode(stored[HEADER:])

    def put(self, kind, one, content):
        path = self.folder / kind / name_of(one)
        if kind != "chunks":
            header = bytearray((self.folder / kind).joinpath(self.first[kind]).read_bytes()[:HEADER])
            header[-1] = 0  # not compressed
            content = bytes(header) + content
        path.write_bytes(content)
        self.written.append(path)

    @property
    def first(self):
        return {"snapshots": name_of(self.snapshot[0]), "manifests": name_of(self.manifests[0][0])}

    def commit(self):
        self.number += 1
        chunk, snapshot, *manifests = (os.urandom(12) for _ in range(5))
        number = struct.pack("<q", self.number)
        self.put("chunks", chunk, number + bytes(self.size - len(number)))
        content = self.snapshot[1].replace(self.snapshot[0], snapshot)
        parts = (self.chunk, chunk), (B_BYTES, number), (C_BYTES, number)
        for one, (before, stored), (old, new) in zip(manifests, self.manifests, parts, strict=True):
            self.put("manifests", one, stored.replace(before, one).replace(old, new))
            content = content.replace(before, one)
        self.put("snapshots", snapshot, content)
        following = self.pointer.with_name("new")
        following.write_text(json.dumps({"snapshot": name_of(snapshot)}))
        following.rename(self.pointer)
        while len(self.written) > 5 * KEPT:
            self.written.popleft().unlink()
