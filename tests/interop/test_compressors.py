"""compressors=LIST: what readers with few compressors are shown, of stores in shards and of those that are already v2."""

import json

import numpy as np
import pytest
import zarr
from digest import describe
from mounts import READERS, READERS_OF_JAVA, mounted, run_reader
from numcodecs import Blosc, Delta, LZ4, Zlib
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

VALUES = np.random.default_rng(22).integers(0, 9, (7, 30)).astype("int16")
NEW = {"zstd": ZstdCodec(), "gzip": GzipCodec(), "blosc": BloscCodec(cname="zstd"), "none": None}
OLD = {"lz4": LZ4(), "zlib": Zlib(3), "blosc": Blosc(), "none": None}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compressors")
    for version, codecs in ((3, NEW), (2, OLD)):
        group = zarr.open_group(folder / str(version), mode="w", zarr_format=version)
        for name, codec in codecs.items():
            shards = {"shards": (4, 20)} if version == 3 else {}
            array = group.create_array(name, shape=VALUES.shape, chunks=(2, 10), dtype="int16", fill_value=3, compressors=codec, **shards)
            array[:4] = VALUES[:4]  # the other chunks are missing
    return folder


WANTED = VALUES.copy()
WANTED[4:] = 3


def compressors_of(folder, names):
    said = {name: json.loads((folder / name / ".zarray").read_text())["compressor"] for name in names}
    return {name: compressor and compressor["id"] for name, compressor in said.items()}


def check_values(reader, folder, names):
    for entry in run_reader(reader[1], [folder / name for name in names]):
        assert "error" not in entry, entry
        assert {key: entry[key] for key in ("shape", "dtype", "sha256")} == describe(WANTED)


def test_a_store_in_shards(stores):
    with mounted(stores / "3", "compressors=zlib:blosc") as point:
        assert compressors_of(point / "v2", NEW) == {"zstd": None, "gzip": None, "blosc": "blosc", "none": None}
        assert (point / "v2/zstd/0.0").stat().st_size == 2 * 10 * 2
        check_values(READERS["zarr-python-2"], point / "v2", NEW)


def test_filters_are_handed_on_to_readers_that_know_all_compressors(tmp_path):
    from zarr.codecs.numcodecs import Delta as NewDelta

    new = zarr.create_array(tmp_path / "3", shape=VALUES.shape, chunks=(2, 10), shards=(4, 20), dtype="int16", filters=NewDelta(dtype="<i2"))
    old = zarr.create_array(tmp_path / "2", zarr_format=2, shape=VALUES.shape, chunks=(2, 10), dtype="int16", filters=Delta("<i2"))
    new[...] = old[...] = WANTED
    for version in ("2", "3"):
        for options, filters in ((None, ["delta"]), ("compressors=zlib:zstd", None)):
            with mounted(tmp_path / version, options) as point:
                said = json.loads((point / "v2/.zarray").read_text())["filters"]
                assert (said and [each["id"] for each in said]) == filters
                check_values(READERS["zarr-python-2"], point / "v2", [""])


def test_a_store_that_is_already_v2(stores):
    with mounted(stores / "2", "compressors=zlib") as point:
        assert compressors_of(point / "v2", OLD) == {"lz4": None, "zlib": "zlib", "blosc": None, "none": None}
        for name in ("zlib/.zarray", "zlib/0.0", "none/0.0"):
            assert (point / "v2" / name).read_bytes() == (stores / "2" / name).read_bytes()
        assert json.loads((point / "v2/lz4/.zarray").read_text())["fill_value"] == 3
        assert (point / "v2/lz4/0.0").stat().st_size == 2 * 10 * 2
        assert not (point / "v2/lz4/3.0").exists()
        check_values(READERS["zarr-python-2"], point / "v2", OLD)
    with mounted(stores / "2", "compressors=none,view=v2") as point:
        assert set(compressors_of(point, OLD).values()) == {None}
        assert json.loads((point / ".zarrfs/status.json").read_text())["compressors"] == "none"


@pytest.mark.further_reader
@pytest.mark.parametrize("version", ["2", "3"])
def test_jzarr_reads_what_zarr_python_3_writes_by_default(stores, version):
    names = OLD if version == "2" else NEW
    with mounted(stores / version) as point:
        check_values(READERS_OF_JAVA["jzarr"], point / "java", names)
