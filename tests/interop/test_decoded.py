"""Arrays that v2 cannot describe as they are stored: their chunks are served decoded."""

import json

import numpy as np
import pytest
from digest import describe
from mounts import READERS, mounted, read, zarrctl

BYTES = {"name": "bytes", "configuration": {"endian": "big"}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
CRC32C = {"name": "crc32c"}
TRANSPOSE = {"name": "transpose", "configuration": {"order": [1, 2, 0]}}

CHAINS = {
    "two-compressors": [BYTES, GZIP, ZSTD],
    "checksum-before-compressor": [BYTES, CRC32C, ZSTD],
    "transposed": [TRANSPOSE, BYTES],
    "transposed-and-compressed": [TRANSPOSE, BYTES, GZIP, CRC32C],
}
SHAPE, SHARD, CHUNK = (9, 8, 10), (6, 4, 8), (3, 2, 4)


def values():
    data = np.arange(np.prod(SHAPE), dtype="int32").reshape(SHAPE) * 1000003
    data[3:6, 2:4] = -7  # chunks that are not stored
    return data


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    import zarr

    folder = tmp_path_factory.mktemp("decoded") / "store"
    zarr.create_group(str(folder), zarr_format=3)
    for name, chain in CHAINS.items():
        for sharded in (True, False):
            path = folder / f"{name}-{'sharded' if sharded else 'plain'}"
            path.mkdir()
            codecs = chain if not sharded else [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": CHUNK, "codecs": chain, "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, CRC32C]}}]
            (path / "zarr.json").write_text(json.dumps({
                "zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": "int32", "fill_value": -7, "codecs": codecs,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": SHARD if sharded else CHUNK}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "attributes": {}}))
            zarr.open_array(str(path), mode="r+")[...] = values()
    return folder


def names(store):
    return sorted(path.name for path in store.iterdir() if path.is_dir())


@pytest.mark.parametrize("reader", [name for name, (view, _) in READERS.items()])
def test_every_reader_gets_the_values(store, reader):
    with mounted(store) as point:
        found = read(reader, [point / READERS[reader][0] / name for name in names(store)])
    wanted = describe(values())
    for name, entry in zip(names(store), found):
        assert {key: entry.get(key) for key in wanted} == wanted, name


def test_files_are_as_large_as_the_elements_of_a_chunk(store):
    with mounted(store) as point:
        for name in names(store):
            chunks = [path for path in (point / "v2" / name).iterdir() if not path.name.startswith(".")]
            assert chunks and all(path.stat().st_size == len(path.read_bytes()) == np.prod(CHUNK) * 4 for path in chunks), name
            assert not (point / "v2" / name / "1.1.0").exists(), "a chunk that is not stored has no file"
            zarray = json.loads((point / "v2" / name / ".zarray").read_text())
            assert (zarray["compressor"], zarray["order"], zarray["dtype"]) == (None, "C", "<i4")


def test_info_says_that_chunks_are_decoded(store):
    info = zarrctl("info", "-l", store)
    lines = [line for line in info.stdout.splitlines() if line.startswith("    v2 ")]
    assert info.returncode == 0 and len(lines) == len(names(store))
    assert all("transcoded: chunks decoded" in line for line in lines), info.stdout


def test_a_chunk_that_does_not_decode_cannot_be_read(store, tmp_path):
    import shutil

    copy = tmp_path / "store"
    shutil.copytree(store, copy)
    chunk = copy / "two-compressors-plain/c/0/0/0"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    with mounted(copy) as point:
        file = point / "v2/two-compressors-plain/0.0.0"
        assert file.stat().st_size == np.prod(CHUNK) * 4
        with pytest.raises(OSError):
            file.read_bytes()
        assert (point / "v2/two-compressors-plain/0.0.1").read_bytes()
        assert "two-compressors-plain/c/0/0/0" in (point / ".zarrfs/errors").read_text()
