"""Arrays whose shards differ in shape, as zarr-python 3.4 writes them (tests/data/make_rectilinear.py): readers that know regular grids
only read through the mount what it reads.
"""

import errno
import json
import os
import pathlib
import shutil
import subprocess
import time

import numpy as np
import pytest
from digest import describe
from mounts import READERS_FOLDER, READERS_OF_VIEWS, ROOT, SYSTEM_PYTHON, ZARR2_PYTHON, mounted, run_reader, zarrctl
from zarrctl_runs import document, flip, refused

STORE = ROOT / "tests/data/rectilinear.zarr"
with np.load(STORE.with_suffix(".npz")) as file:
    VALUES = dict(file)
UNEQUAL = "unequal"  # is not in shards
SHOWN = {name: values for name, values in VALUES.items() if name != UNEQUAL}
WHY_NOT = "chunk grid 'rectilinear': chunks of 4 and 6 elements along axis 0, and no inner chunks"


@pytest.fixture(scope="module")
def mount():
    with mounted(STORE) as point:
        yield point


@pytest.fixture
def copy(tmp_path):
    return pathlib.Path(shutil.copytree(STORE, tmp_path / "copy.zarr"))


def run_code(python, code, *arguments):
    """What Python code prints, as JSON, that may import what the readers do."""
    result = subprocess.run(
        [python, "-W", "ignore", "-c", code, *arguments], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONNOUSERSITE": "1", "PYTHONPATH": str(READERS_FOLDER)})
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def chunk_files(array):
    return {str(path.relative_to(array)) for path in array.rglob("*") if path.is_file() and not path.name.startswith((".z", "zarr"))}


@pytest.mark.parametrize("reader", sorted(READERS_OF_VIEWS))
def test_readers_read_what_zarr_python_3_4_reads(mount, reader):
    view, command = READERS_OF_VIEWS[reader]
    entries = run_reader(command, [mount / view / name for name in SHOWN])
    for (name, values), entry in zip(SHOWN.items(), entries, strict=True):
        assert "error" not in entry, (name, entry)
        assert {key: entry[key] for key in ("shape", "dtype", "sha256")} == describe(values), name


def test_files_of_whole_arrays_hold_the_same(mount):
    for name, values in SHOWN.items():
        np.testing.assert_array_equal(np.load(mount / "npy" / f"{name}.npy", mmap_mode="r"), values, strict=True)
    code = """
import json, netCDF4, sys
from digest import describe
with netCDF4.Dataset(sys.argv[1]) as dataset:
    dataset.set_auto_maskandscale(False)
    print(json.dumps({name: describe(dataset[name][...]) for name in sys.argv[2:]}))
"""
    names = ["months", "both", "nested", "grown"]
    expected = {name: describe(SHOWN[name].astype("i4") if name == "both" else SHOWN[name]) for name in names}  # CDF-2 has no uint16
    assert run_code(SYSTEM_PYTHON, code, mount / "nc" / "rectilinear.nc", *names) == expected


def test_the_views_show_regular_grids(mount):
    shown = json.loads((mount / "v3/months/zarr.json").read_text())
    assert shown["chunk_grid"] == {"name": "regular", "configuration": {"chunk_shape": [1, 3, 4]}}
    assert [codec["name"] for codec in shown["codecs"]] == ["bytes", "zstd"]
    assert json.loads((mount / "v2/months/.zarray").read_text())["chunks"] == [1, 3, 4]
    assert json.loads((mount / "v3/equal/zarr.json").read_text())["chunk_grid"]["configuration"] == {"chunk_shape": [4]}


def test_each_chunk_has_one_file_and_no_other_exists(mount):
    assert chunk_files(mount / "v3/months") == {f"c/{t}/{y}/{x}" for t in range(90) for y in range(2) for x in range(2)}
    # Of [20, 15] in chunks of [2, 3]: without those of zeros, which are not stored.
    stored = {f"c/{y}/{x}" for y in range(10) for x in range(5) if SHOWN["both"][2 * y:2 * y + 2, 3 * x:3 * x + 3].any()}
    assert chunk_files(mount / "v3/both") == stored and len(stored) < 50
    assert not (mount / "v3/both/c/10/0").exists()


def test_each_folder_lists_its_own_chunks_also_those_that_are_not_stored():
    with mounted(STORE, "fill=materialize,separator=/") as point:
        assert chunk_files(point / "v2/both") == {f"{y}/{x}" for y in range(10) for x in range(5)}
        assert sorted(os.listdir(point / "v2/months/31/1")) == ["0", "1"]
        assert (point / "v2/both/2/0").stat().st_size > 0


def test_arrays_without_shards_are_not_shown(mount):
    for view in ("v2", "v3", "gdal", "netcdf"):
        assert UNEQUAL not in os.listdir(mount / view)
    line, = [line for line in zarrctl("info", STORE).stdout.splitlines() if "not shown" in line]
    assert WHY_NOT in line
    assert WHY_NOT in refused("where", STORE, UNEQUAL, "0")


def test_info_tells_the_shapes():
    text = zarrctl("info", STORE, "months").stdout
    assert "shards   up to [31, 6, 8], 3 in all" in text and "chunks   [1, 3, 4], 360 in all" in text
    node, = document("info", STORE, "grown")["nodes"]
    assert node["chunk_shape"] == [2, 2] and node["shard_shape"] == [6, 4] and node["shards"] == 3
    assert node["shard_shapes"] == [[4, 6, 4], [4]]
    node, = document("info", STORE, "equal_shards")["nodes"]
    assert node["shard_shape"] == [4] and "shard_shapes" not in node


def test_ls_counts_the_places_of_each_shard():
    assert [(o["key"], o["chunks"], o["places"]) for o in document("ls", STORE, "months")["objects"]] == [
        ("months/c/0/0/0", 124, 124), ("months/c/1/0/0", 112, 112), ("months/c/2/0/0", 124, 124)]
    assert [o["places"] for o in document("ls", STORE, "grown")["objects"]] == [4, 6, 2]


def test_where_gives_the_bytes_of_the_chunk_file(mount):
    for name, chunk in [("months", "30.1.1"), ("months", "31.0.0"), ("months", "59.0.1"), ("nested", "7.2"), ("index_at_start", "6")]:
        place = document("where", STORE, name, chunk)
        with open(place["file"], "rb") as shard:
            shard.seek(place["offset"])
            stored = shard.read(place["length"])
        assert stored == (mount / "v3" / name / "c" / chunk.replace(".", "/")).read_bytes(), (name, chunk)
    assert document("where", STORE, "months", "31.0.0")["file"].endswith("months/c/1/0/0")


def test_map_draws_every_chunk():
    result = document("map", STORE, "both")
    assert result["grid"] == [10, 5] and result["objects"] == 11 and result["damaged"] == 0
    assert sum(cell["stored"] for cell in result["cells"]) == result["stored"] == 39
    for name in ("both", "months", "index_at_start"):
        assert zarrctl("map", STORE, name).returncode == 0


def test_references_are_to_the_same_bytes(tmp_path):
    file = tmp_path / "refs.json"
    result = zarrctl("refs", STORE, "--out", file)
    assert result.returncode in (0, 3), result.stderr
    code = """
import fsspec, json, sys, zarr
from digest import describe
system = fsspec.filesystem("reference", fo=sys.argv[1], remote_protocol="file")
print(json.dumps({name: describe(array[...]) for name, array in zarr.open_group(system.get_mapper(""), mode="r").arrays()}))
"""
    assert run_code(ZARR2_PYTHON, code, file) == {name: describe(values) for name, values in SHOWN.items()}


def test_pack_copies_the_shards(copy, tmp_path):
    shutil.rmtree(copy / UNEQUAL)
    assert zarrctl("pack", copy, tmp_path / "packed.zarr").returncode == 0
    for name in SHOWN:
        source = chunk_files(copy / name)
        if name != "equal":
            assert {key: (copy / name / key).read_bytes() for key in source} == {
                key: (tmp_path / "packed.zarr" / name / key).read_bytes() for key in chunk_files(tmp_path / "packed.zarr" / name)}
    with mounted(tmp_path / "packed.zarr") as point:
        view, command = READERS_OF_VIEWS["zarr-python-2"]
        entries = run_reader(command, [point / view / name for name in SHOWN])
    assert [entry["sha256"] for entry in entries] == [describe(values)["sha256"] for values in SHOWN.values()]


def test_verify_finds_damage_where_it_is(copy):
    result = zarrctl("verify", copy)
    assert WHY_NOT in result.stdout + result.stderr
    shutil.rmtree(copy / UNEQUAL)
    assert zarrctl("verify", copy).returncode == 0
    # The shard of February has an index of its own size.
    february = copy / "months/c/1/0/0"
    flip(february, february.stat().st_size - 10)
    result = zarrctl("verify", copy)
    assert result.returncode == 1 and "months/c/1/0/0" in result.stdout and "checksum" in result.stdout
    # One of another length in its place.
    shutil.copy(copy / "months/c/0/0/0", february)
    with mounted(copy) as point:
        for chunk, is_sound in [("30.0.0", True), ("31.0.0", False), ("58.1.1", False), ("59.0.0", True)]:
            path = point / "v2/months" / chunk
            assert path.exists()
            if is_sound:
                path.read_bytes()
                continue
            with pytest.raises(OSError) as raised:
                path.read_bytes()
            assert raised.value.errno == errno.EIO


def test_a_changed_shard_changes_the_files_of_its_chunks_and_no_others(copy):
    with mounted(copy) as point:
        files = {t: point / f"v3/months/c/{t}/0/0" for t in (0, 30, 31, 58, 59, 89)}
        before = {t: (path.read_bytes(), path.stat().st_ino) for t, path in files.items()}
        os.replace(shutil.copy(copy / "months/c/2/0/0", copy / "new"), copy / "months/c/0/0/0")
        limit = time.monotonic() + 30
        while files[0].read_bytes() == before[0][0] and time.monotonic() < limit:
            time.sleep(0.1)
        after = {t: (path.read_bytes(), path.stat().st_ino) for t, path in files.items()}
        assert after[0][0] == before[59][0] and after[30][0] == before[89][0]
        assert after[0][1] != before[0][1]
        for t in (31, 58, 59, 89):
            assert after[t] == before[t], t


def test_an_array_that_grows_shows_its_new_shards(copy):
    zarr_json = copy / "grown/zarr.json"
    grown = json.loads(zarr_json.read_text())
    grown["shape"] = [16, 4]
    grown["chunk_grid"]["configuration"]["chunk_shapes"][0].append(2)
    with mounted(copy) as point:
        assert len(chunk_files(point / "v3/grown")) == 12
        (copy / "new").write_text(json.dumps(grown))
        shutil.copy(copy / "grown/c/2/0", copy / "new shard")
        os.replace(copy / "new", zarr_json)
        limit = time.monotonic() + 30
        while len(chunk_files(point / "v3/grown")) == 12 and time.monotonic() < limit:
            time.sleep(0.1)
        files = chunk_files(point / "v3/grown")
        assert files == {f"c/{y}/{x}" for y in range(7) for x in range(2)}
        view, command = READERS_OF_VIEWS["zarr-python-2"]
        entry, = run_reader(command, [point / view / "grown"])
    assert entry["shape"] == [16, 4]
