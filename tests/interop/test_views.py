"""What a mount looks like to someone who lists, copies or asks."""

import errno
import json
import os
import re
import subprocess

import numpy as np
import pytest
from arrays import ARRAYS, write_store
from digest import describe
from mounts import READERS_OF_VIEWS, ROOT, mounted, read, run_reader, zarrctl

SAMPLE = ROOT / "tests/data/sample.zarr"
BY_NAME = {array.name: array for array in ARRAYS}
NAMES = ["missing/chunk-in-shard", "missing/nothing-written", "key/default-dot", "key/v2-slash", "key/v2-dot", "rank/scalar-unsharded",
         "Grün und 日本/größe ✓", "attributes"]


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views") / "store"
    write_store("zarr-python", folder, [BY_NAME[name] for name in NAMES])
    return folder


@pytest.fixture(scope="session")
def point(store):
    with mounted(store) as point:
        yield point


def files_below(folder):
    return {os.path.relpath(os.path.join(parent, name), folder) for parent, _, names in os.walk(folder) for name in names}


@pytest.mark.parametrize("view,name,files", [
    ("v2", "missing/chunk-in-shard", {".zarray", ".zattrs", "0.0", "1.1"}),
    ("v3", "missing/chunk-in-shard", {"zarr.json", "c/0/0", "c/1/1"}),
    ("v2", "missing/nothing-written", {".zarray", ".zattrs"}),
    ("v3", "missing/nothing-written", {"zarr.json"}),
    ("v2", "rank/scalar-unsharded", {".zarray", ".zattrs", "0"}),
    ("v3", "rank/scalar-unsharded", {"zarr.json", "c"}),
])
def test_an_array_holds_its_metadata_and_the_chunks_that_are_stored(point, view, name, files):
    assert files_below(point / view / name) == files


@pytest.mark.parametrize("view,name,chunk", [
    ("v2", "key/default-dot", "1.2"), ("v3", "key/default-dot", "c.1.2"), ("v2", "key/v2-slash", "1/2"), ("v3", "key/v2-slash", "1/2"),
    ("v2", "key/v2-dot", "1.2"), ("v3", "key/v2-dot", "1.2")])
def test_chunks_are_called_as_the_key_encoding_says(point, view, name, chunk):
    assert chunk in files_below(point / view / name)
    assert not (point / view / name / chunk.replace("1", "01")).exists()


def test_a_separator_can_be_forced(store):
    with mounted(store, "separator=/") as point:
        assert "1/2" in files_below(point / "v2/key/v2-dot")
        entry, = read("zarr-python-2", [point / "v2/key/v2-dot"])
        wanted = describe(BY_NAME["key/v2-dot"].expected())
        assert {key: entry.get(key) for key in wanted} == wanted


def test_one_view_can_be_the_root(store):
    with mounted(store, "view=v2") as point:
        assert {".zgroup", ".zattrs", "key", "missing"} <= set(os.listdir(point))


def test_the_v3_view_is_unsharded(point):
    document = json.loads((point / "v3/missing/chunk-in-shard/zarr.json").read_text())
    assert document["chunk_grid"]["configuration"]["chunk_shape"] == [2, 3]
    assert [codec["name"] for codec in document["codecs"]] == ["bytes", "zstd"]


def test_v2_metadata_are_ascii(point):
    """zarr-python 2.13 decodes them so."""
    folder = point / "v2/attributes"
    assert "日本 \U0001f30a" in json.loads((folder / ".zattrs").read_bytes().decode("ascii")).values()
    assert (folder / ".zarray").read_bytes().decode("ascii")


@pytest.mark.parametrize("view,reader", [("v2", "zarr-python-2"), ("v3", "zarr-python-3")])
def test_a_copy_made_with_rsync_is_a_store(point, tmp_path, view, reader):
    subprocess.run(["rsync", "-a", f"{point}/{view}/", f"{tmp_path}/copy"], check=True)
    arrays = [BY_NAME[name] for name in NAMES]
    for array, entry in zip(arrays, read(reader, [tmp_path / "copy" / array.name for array in arrays])):
        wanted = describe(array.expected())
        assert {key: entry.get(key) for key in wanted} == wanted, array.name


def test_nothing_can_be_written(point):
    for attempt in [lambda: (point / "v2/new").write_text("x"), lambda: (point / "v2/.zgroup").write_text("x"),
                    lambda: (point / "v2/attributes/0.0").unlink(), lambda: (point / "v3/new").mkdir()]:
        with pytest.raises(OSError) as caught:
            attempt()
        assert caught.value.errno in (errno.EROFS, errno.EACCES)


def test_what_v2_cannot_say_is_not_listed_and_info_says_why(tmp_path):
    import zarr

    store = tmp_path / "store"
    root = zarr.create_group(str(store), zarr_format=3)
    root.create_array("names", shape=(4,), chunks=(2,), shards=(4,), dtype="int8")
    document = json.loads((store / "names/zarr.json").read_text())
    document["codecs"][0]["configuration"]["codecs"].insert(0, {"name": "secret"})
    (store / "names/zarr.json").write_text(json.dumps(document))
    root.create_array("count", shape=(4,), chunks=(2,), shards=(4,), dtype="int8")[:] = 1
    info = zarrctl("info", "-l", store)
    assert info.returncode == 0, info.stderr
    assert re.search(r"^names .*\n(?: .*\n)* +v2 +not shown: .*secret", info.stdout, re.MULTILINE), info.stdout
    with mounted(store) as point:
        assert sorted(os.listdir(point / "v2")) == [".zattrs", ".zgroup", ".zmetadata", "count"]
        assert not (point / "v2/names").exists()


def test_a_file_of_the_mount_is_found_in_its_shard(point):
    """zarrctl where: the shard and the range of it that the file is."""
    result = zarrctl("where", point / "v2/missing/chunk-in-shard/1.1")
    assert result.returncode == 0, result.stderr
    assert "missing/chunk-in-shard/c/0/0" in result.stdout


def test_verify_finds_nothing_wrong_with_a_good_store():
    result = zarrctl("verify", SAMPLE)
    assert result.returncode == 0, result.stdout + result.stderr


def test_verify_names_a_flipped_bit(tmp_path):
    store = tmp_path / "store"
    write_store("zarr-python", store, [BY_NAME["codec/gzip-crc32c"]])
    shard = store / "codec/gzip-crc32c/c/0/0"
    content = bytearray(shard.read_bytes())
    content[3] ^= 1
    shard.write_bytes(content)
    result = zarrctl("verify", store)
    assert result.returncode == 1
    assert any("codec/gzip-crc32c/c/0/0" in line for line in result.stdout.splitlines()), result.stdout


def test_netcdf_tells_dimensions_of_one_name_and_two_lengths_apart(tmp_path):
    """It would take the shorter array for as long as the other, and make up values."""
    import zarr

    store = tmp_path / "store"
    root = zarr.create_group(str(store), zarr_format=3, attributes={"ome": {}})
    for name, length in [("0", 4), ("1", 2), ("below/0", 3)]:
        root.create_array(name, shape=(length,), chunks=(2,), dtype="int32", dimension_names=["x"])[:] = np.arange(1, length + 1)
    with mounted(store) as point:
        for name, length in [("0", 4), ("1", 2), ("below/0", 3)]:
            entry, = run_reader(READERS_OF_VIEWS["netcdf"][1], [point / "netcdf" / name])
            wanted = describe(np.arange(1, length + 1, dtype="int32"))
            assert {key: entry.get(key) for key in wanted} == wanted, (name, entry)


def test_no_name_and_no_attribute_of_one_array_keeps_netcdf_from_its_neighbours(tmp_path):
    """netCDF-C 4.9.0 refuses the whole store for a list like [0, 1000], and dies of a name of 300 characters."""
    import zarr

    store = tmp_path / "store"
    root = zarr.create_group(str(store), zarr_format=3)
    odd = {"valid_range": [0, 1000], "": 1, " lead": 1, "x" * 300: 1, "a/b": "c", "mixed": [1, "a"], "nothing": None, "none": []}
    for name, dimension in [("odd", "d" * 300), ("space", " d"), ("good", "d")]:
        root.create_array(name, shape=(2,), chunks=(2,), dtype="int32", dimension_names=[dimension], attributes=odd)[:] = 7
    root.create_group(" g").create_array("a", shape=(2,), chunks=(2,), dtype="int32")
    with mounted(store) as point:
        dumped = subprocess.run(
            ["ncdump", "-v", "good", f"file://{point}/netcdf#mode=zarr,file"], capture_output=True, text=True, timeout=60)
        assert dumped.returncode == 0, dumped.stderr
        assert "good = 7, 7" in dumped.stdout and "good:valid_range = 0., 1000." in dumped.stdout, dumped.stdout
        assert sorted(path.name for path in (point / "netcdf").iterdir() if path.is_dir()) == ["good", "odd", "space"]
