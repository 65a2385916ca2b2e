"""Three writers rewrite and append to a sharded array while an old reader reads it through the mount.

Each inner chunk is filled with a number that is used once, so that a mixture of two versions shows inside a chunk, and a chunk at
a wrong place too.
"""

import collections
import contextlib
import errno
import itertools
import json
import random
import subprocess
import time

import numpy as np
import pytest
from arrays import WRITERS, write_group
from digest import describe
from mounts import READERS_FOLDER, ZARR2_PYTHON, mounted, read

CHUNK = 64  # 16 KiB each, not compressed
SHARD = 2 * CHUNK
COLUMNS = 2 * SHARD
ROWS = 2 * SHARD  # in the beginning
APPENDED = 4  # times one row of shards
SECONDS = 6

METADATA = {
    "shape": [ROWS, COLUMNS], "data_type": "uint32", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [SHARD, SHARD]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [CHUNK, CHUNK], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        "index_location": "end"}}],
    "attributes": {},
}

# What may be raised while a shard changes, and must succeed when it is repeated.
# zarrs rewrites shards in place: what is half written cannot be read.
RETRIED = {"zarr-python": {errno.ESTALE}, "tensorstore": {errno.ESTALE}, "zarrs": {errno.ESTALE, errno.EIO}}


class ZarrPython:
    def __init__(self, folder):
        import zarr

        folder.mkdir()
        (folder / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "array", **METADATA}))
        self.array = zarr.open_array(str(folder), mode="r+")

    def write(self, row, column, values):
        self.array[row:row + values.shape[0], column:column + values.shape[1]] = values

    def resize(self, rows):
        self.array.resize((rows, COLUMNS))


class TensorStore:
    def __init__(self, folder):
        import tensorstore

        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{folder}/"}, "metadata": METADATA}
        self.array = tensorstore.open(spec, create=True).result()

    def write(self, row, column, values):
        self.array[row:row + values.shape[0], column:column + values.shape[1]].write(values).result()

    def resize(self, rows):
        self.array = self.array.resize(exclusive_max=[rows, COLUMNS]).result()


@contextlib.contextmanager
def opened(writer, folder):
    """The array, empty, for the writer."""
    import zarr

    pipeline = "zarrs.ZarrsCodecPipeline" if writer == "zarrs" else "zarr.core.codec_pipeline.BatchedCodecPipeline"
    with zarr.config.set({"codec_pipeline.path": pipeline}):
        yield (TensorStore if writer == "tensorstore" else ZarrPython)(folder)


class Written:
    """Writes numbers, and knows them."""

    def __init__(self, array):
        self.array = array
        self.values = np.zeros((ROWS, COLUMNS), "uint32")
        self.numbers = collections.defaultdict(set)  # of each chunk, "row.column"
        self.next = itertools.count(1)

    def fill(self, row, column, rows, columns):
        block = self.values[row:row + rows, column:column + columns]
        for r in range(0, rows, CHUNK):
            for c in range(0, columns, CHUNK):
                number = next(self.next)
                self.numbers[f"{(row + r) // CHUNK}.{(column + c) // CHUNK}"].add(number)
                block[r:r + CHUNK, c:c + CHUNK] = number
        self.array.write(row, column, block)

    def append(self):
        rows = len(self.values)
        self.values = np.concatenate([self.values, np.zeros((SHARD, COLUMNS), "uint32")])
        self.array.resize(rows + SHARD)
        self.fill(rows, 0, SHARD, COLUMNS)

    def rewrite(self):
        """A whole shard, or one chunk of it."""
        size = random.choice([SHARD, CHUNK])
        self.fill(random.randrange(0, len(self.values), size), random.randrange(0, COLUMNS, size), size, size)


@pytest.mark.parametrize("writer", WRITERS)
def test_readers_see_what_was_written_while_writers_write(writer, tmp_path):
    store = tmp_path / "store"
    write_group(store)
    with opened(writer, store / "a") as array, mounted(store) as point:
        written = Written(array)
        written.fill(0, 0, ROWS, COLUMNS)
        at_first = set(written.numbers)
        follower = subprocess.Popen(
            [ZARR2_PYTHON, "-W", "ignore", str(READERS_FOLDER / "follow_zarr_python.py"), str(point / "v2/a"), str(CHUNK),
             str(CHUNK)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        end = time.monotonic() + SECONDS
        appends = [end - SECONDS * share / (APPENDED + 1) for share in range(1, APPENDED + 1)]
        while time.monotonic() < end:
            if appends and time.monotonic() > appends[-1]:
                appends.pop()
                written.append()
            written.rewrite()
            time.sleep(random.choice([0, 0.01, 0.1]))
        followed = json.loads(follower.communicate(timeout=60)[0])

        wanted = describe(written.values)
        deadline = time.monotonic() + 5
        while True:
            entry, = read("zarr-python-2", [point / "v2/a"])
            if {key: entry.get(key) for key in wanted} == wanted or time.monotonic() > deadline:
                break

    assert followed["errors"] == []
    assert {int(number) for number in followed["retried"]} <= RETRIED[writer]
    assert followed["mixed"] == []
    for chunk, numbers in followed["seen"].items():
        # Where rows have been appended there is nothing at first.
        allowed = written.numbers[chunk] | (set() if chunk in at_first else {0})
        assert set(numbers) <= allowed, chunk
    assert max(len(numbers) for numbers in followed["seen"].values()) > 2, "the reader saw hardly any change"
    assert {key: entry.get(key) for key in wanted} == wanted
