"""Every older spelling of v3 that is accepted reaches the readers of `v3` in today's, and with it the values that were written.

zarr-python writes each array; then its zarr.json is spelled as drafts and other writers spell it. What lies in the chunks is the same.
"""

import json

import numpy as np
import pytest
from digest import describe
from mounts import mounted, read, zarrctl

READERS = ["zarr-python-3", "tensorstore-v3"]
SHAPE, SHARD, CHUNK = (8, 6), (4, 6), (2, 3)


def inner(document):
    """The configuration of the shards."""
    return document["codecs"][0]["configuration"]


def codec(document, name):
    """That codec of the inner chunks."""
    return next(codec for codec in inner(document)["codecs"] if codec["name"] == name)


def spell_codec(name, configuration, new_name=None):
    def spell(document):
        found = codec(document, name)
        found["name"] = new_name or name
        found["configuration"] = configuration
    return spell


def short_hand(*names):
    def spell(document):
        inner(document)["codecs"] = [
            codec["name"] if codec["name"] in names else codec for codec in inner(document)["codecs"]]
    return spell


def members(**changed):
    return lambda document: document.update(changed)


def without(*names):
    return lambda document: [document.pop(name) for name in names]


def of_shards(without=(), **changed):
    def spell(document):
        inner(document).update(changed)
        for name in without:
            del inner(document)[name]
    return spell


def cases():
    """name -> (arguments of create_array, how to spell its document)"""
    from zarr.codecs import BloscCodec, GzipCodec, TransposeCodec, ZstdCodec

    blosc = {"compressors": [BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle", typesize=4)]}
    plain = {"shards": None, "compressors": None}
    return {
        "transpose-F": ({"filters": [TransposeCodec(order=(1, 0))]}, spell_codec("transpose", {"order": "F"})),
        "transpose-C": ({"filters": [TransposeCodec(order=(0, 1))]}, spell_codec("transpose", {"order": "C"})),
        "endian": ({}, spell_codec("bytes", {"endian": "little"}, "endian")),
        "endian-null": ({}, spell_codec("bytes", {"endian": None})),
        "endian-null-of-single-bytes": ({"dtype": "uint8"}, spell_codec("bytes", {"endian": None})),
        "no-endian": ({}, spell_codec("bytes", {})),
        "short-hand-codecs": ({"dtype": "uint8", "compressors": [GzipCodec(level=2)]}, short_hand("bytes", "gzip")),
        "short-hand-key-encoding": ({}, members(chunk_key_encoding="default")),
        "separator-beside-the-name": ({}, members(chunk_key_encoding={"name": "default", "separator": "/"})),
        "blosc-shuffle-is-a-number": (blosc, spell_codec("blosc", {
            "cname": "zstd", "clevel": 3, "shuffle": 2, "typesize": 4, "blocksize": 0})),
        "blosc-without-shuffle": (blosc, spell_codec("blosc", {"cname": "zstd", "clevel": 3, "typesize": 4, "blocksize": 0})),
        "blosc-typesize-0": (blosc, spell_codec("blosc", {
            "cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 0, "blocksize": 0})),
        "blosc-alone": (blosc, short_hand("blosc")),
        "gzip-level-is-a-float": ({"compressors": [GzipCodec(level=2)]}, spell_codec("gzip", {"level": 2.0})),
        "gzip-without-level": ({"compressors": [GzipCodec(level=2)]}, spell_codec("gzip", {})),
        "zstd-alone": ({"compressors": [ZstdCodec(level=2)]}, short_hand("zstd")),
        "no-codecs": (plain, without("codecs")),
        "empty-codecs": (plain, members(codecs=[])),
        "shard-without-index-codecs": ({}, of_shards(["index_codecs"])),
        "shard-without-codecs": ({"compressors": None}, of_shards(["codecs"])),
        "shard-without-any": ({"compressors": None}, of_shards(["codecs", "index_codecs", "index_location"])),
        "type-is-an-object": ({}, members(data_type={"name": "int32"})),
        "type-with-empty-configuration": ({"dtype": "float64"}, members(data_type={"name": "float64", "configuration": {}})),
        "string-is-an-object": ({"dtype": str, "fill_value": "x"}, members(data_type={"name": "string"})),
        "fill-is-a-float": ({}, members(fill_value=7.0)),
        "fill-null": ({"fill_value": 0}, members(fill_value=None)),
        "no-fill": ({"fill_value": 0}, without("fill_value")),
        "fill-in-bits": ({"dtype": "float32", "fill_value": 7.0}, members(fill_value="0b01000000111000000000000000000000")),
        "fill-plus-infinity": ({"dtype": "float64", "fill_value": np.inf}, members(fill_value="+Infinity")),
        "fill-bare-nan": ({"dtype": "float64", "fill_value": np.nan}, members(fill_value=np.nan)),
        "fill-of-bool-is-a-number": ({"dtype": "bool", "fill_value": True}, members(fill_value=1)),
        "fill-of-complex-is-a-number": ({"dtype": "complex64", "fill_value": 7}, members(fill_value=7)),
        "complex-float32": ({"dtype": "complex64", "fill_value": 7}, members(data_type="complex_float32")),
        "shapes-are-floats": ({}, lambda document: (
            document.update(shape=[8.0, 6.0], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [4.0, 6.0]}}),
            of_shards(chunk_shape=[2.0, 3.0])(document))),
        "nulls-and-extensions": ({}, members(
            attributes=None, dimension_names=None, storage_transformers=None, extensions=[], zarr_format=3.0)),
        "no-attributes": ({}, without("attributes")),
    }


def values(dtype):
    """Half of them are the fill value, whose chunks are not stored."""
    if dtype is str:
        array = np.full(SHAPE, "x", object)
        array[:4, :3] = "größe"
        return array
    array = np.full(SHAPE, 7).astype(dtype)
    array[:4, :3] = np.arange(12).reshape(4, 3)
    return array


@pytest.fixture(scope="session")
def wanted(tmp_path_factory):
    """(store, name -> values)"""
    import zarr

    store = tmp_path_factory.mktemp("legacy") / "store"
    root = zarr.create_group(str(store), zarr_format=3)
    written = {}
    for name, (arguments, spell) in cases().items():
        arguments = {"dtype": "int32", "fill_value": 7, "chunks": CHUNK, "shards": SHARD, **arguments}
        written[name] = values(arguments["dtype"])
        root.create_array(name, shape=SHAPE, **arguments)[:] = written[name]
        path = store / name / "zarr.json"
        document = json.loads(path.read_text())
        spell(document)
        path.write_text(json.dumps(document))
    return store, written


@pytest.fixture(scope="session")
def seen(wanted):
    store, written = wanted
    with mounted(store) as point:
        return {reader: dict(zip(written, read(reader, [point / "v3" / name for name in written]))) for reader in READERS}


# tensorstore has no text of variable length.
@pytest.mark.parametrize("reader,name", [
    (reader, name) for reader in READERS for name in cases() if (reader, name) != ("tensorstore-v3", "string-is-an-object")])
def test_the_view_v3_has_todays_spelling(wanted, seen, reader, name):
    entry, described = seen[reader][name], describe(wanted[1][name])
    assert {key: entry.get(key) for key in described} == described, entry


def test_verify_finds_nothing_wrong_with_them(wanted):
    result = zarrctl("verify", wanted[0])
    assert "no damage" in result.stdout, result.stdout + result.stderr
