"""Zarr v2 stores as input: what zarr-python 2 wrote, readers of either format see, bit for bit, as zarr-python 2 sees it in the store."""

import json
import pathlib
import shutil
import subprocess
import time

import numpy as np
import pytest
import zarr
from digest import describe
from mounts import DEBIAN_ZARR, SYSTEM_PYTHON, ZARR2_PYTHON, mounted, read, zarrctl

WRITER = pathlib.Path(__file__).with_name("writers") / "write_v2.py"
WRITERS = {"zarr-python-2": ZARR2_PYTHON, **({"debian-zarr-python-2": SYSTEM_PYTHON} if DEBIAN_ZARR == "2" else {})}
READERS = {"zarr-python-2": "v2", "zarr-python-3": "v3", **({"debian-zarr-python-2": "v2"} if DEBIAN_ZARR == "2" else {})}

# reader -> name: what it cannot take from any store, mounted or not.
UNREADABLE = {
    "zarr-python-2": {},
    "debian-zarr-python-2": {},
    "zarr-python-3": {},
}


def write(writer, folder):
    """The names of the arrays that it wrote."""
    result = subprocess.run(
        [WRITERS[writer], "-W", "ignore", str(WRITER), str(folder)], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    """writer -> (its store, the names in it)."""
    folder = tmp_path_factory.mktemp("v2")
    return {writer: (folder / writer, write(writer, folder / writer)) for writer in WRITERS}


@pytest.fixture(scope="session", params=WRITERS)
def written(request, stores):
    """(store, mount point, names, name -> what zarr-python 2 reads from the store itself)"""
    store, names = stores[request.param]
    originals = dict(zip(names, read("zarr-python-2", [store / name for name in names])))
    with mounted(store) as point:
        yield store, point, names, originals


def without_attributes(entry):
    return {key: value for key, value in entry.items() if key != "attributes"}


@pytest.mark.parametrize("reader,view", READERS.items())
def test_readers_see_what_the_store_holds(written, reader, view):
    store, point, names, originals = written
    found = dict(zip(names, read(reader, [point / view / name for name in names])))
    if view == "v2":  # passed through: it sees what it sees in the store itself, which may be that it lacks a codec
        originals = dict(zip(names, read(reader, [store / name for name in names])))
        found, originals = ({name: entry if "error" not in entry else {"error": entry["error"].split(":")[0]} for name, entry in side.items()} for side in (found, originals))
    wrong = {
        name: (without_attributes(found[name]), without_attributes(originals[name])) for name in names
        if name not in UNREADABLE[reader] and without_attributes(found[name]) != without_attributes(originals[name])}
    assert not wrong
    still = {name for name in UNREADABLE[reader] if name in names and without_attributes(found[name]) == without_attributes(originals[name])}
    assert not still, "these can be read after all"


def test_attributes_and_dimensions_are_told(written):
    store, point, _, _ = written
    plain = json.loads((store / "attributes/plain/.zattrs").read_text())
    for name in ["attributes/plain", "attributes/dimensions"]:
        array = zarr.open(point / "v3" / name, mode="r")
        # A fill value of v2 masks; in v3 only the attribute does.
        assert dict(array.attrs) == {**plain, "_FillValue": 0}
        assert array.metadata.dimension_names == (("y", "x") if name.endswith("dimensions") else None)
        zattrs = json.loads((point / "v2" / name / ".zattrs").read_text())
        assert {key: zattrs[key] for key in plain} == plain
    assert zattrs["_ARRAY_DIMENSIONS"] == ["y", "x"]
    for folder, wanted in {"": {"store": True}, "attributes": {"title": "né", "numbers": [1, 2]}}.items():
        assert dict(zarr.open_group(point / "v3" / folder, mode="r").attrs) == wanted
        assert json.loads((point / "v2" / folder / ".zattrs").read_text()) == wanted


def test_an_undefined_fill_value_does_not_mask_in_v3(written):
    _, point, names, _ = written
    undefined = [name for name in names if name.endswith("-none")]
    assert undefined
    for name in undefined:
        assert "_FillValue" not in json.loads((point / "v3" / name / "zarr.json").read_text())["attributes"], name


def test_chunks_are_the_stored_files(written):
    store, point, _, _ = written
    for name in ["key/point/1.0", "key/slash/1/0", "compressor/blosc-lz4-1/0.1", "order/F-u1/0.0", "key/point-scalar/0"]:
        stored = (store / name).read_bytes()
        assert (point / "v2" / name).read_bytes() == (point / "v3" / name).read_bytes() == stored, name
    assert not (point / "v3/key/point/2.2").exists(), "a chunk that is not stored has no file"


def test_info_tells_the_format(written):
    store, _, names, _ = written
    told = {node["path"]: node for node in json.loads(zarrctl("info", store, "--json").stdout)["nodes"]}
    assert set(names) <= set(told) and {node["zarr_format"] for node in told.values()} == {2}
    assert "array (v2)" in zarrctl("info", store / "key/old").stdout


def wait_until(condition):
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def mixed(tmp_path):
    """A v3 group with nodes of both formats, and a v2 group with some."""
    def v2(path, **options):
        data = np.arange(12, dtype="<i4").reshape(3, 4)
        zarr.create_array(path, data=data, chunks=(2, 2), zarr_format=2, **options)

    store = tmp_path / "store"
    zarr.create_group(store, zarr_format=3, attributes={"format": 3})
    zarr.create_group(store / "old", zarr_format=2, attributes={"format": 2})
    v2(store / "a")
    v2(store / "old/a", compressors=None, order="F")
    for path in [store / "b", store / "old/b"]:
        zarr.create_array(path, data=np.arange(12, dtype="<i8"), chunks=(2,), shards=(6,), zarr_format=3)
    v2(store / "both")
    shutil.rmtree(store / "both")
    shutil.copytree(store / "b", store / "both")
    shutil.copy(store / "a/.zarray", store / "both/.zarray")
    v2(store / "implicit/a")
    return store


def test_nodes_of_both_formats_are_one_tree(mixed):
    names = ["a", "b", "both", "implicit/a", "old/a", "old/b"]
    wanted = [describe(np.arange(12, dtype="<i4").reshape(3, 4) if name.endswith("a") else np.arange(12, dtype="<i8")) for name in names]
    with mounted(mixed) as point:
        for reader, view in READERS.items():
            assert [without_attributes(entry) for entry in read(reader, [point / view / name for name in names])] == wanted, reader
        for view, opened in [("v3", zarr.open_group(point / "v3", mode="r")), ("v2", zarr.open_group(point / "v2", mode="r", zarr_format=2))]:
            assert sorted(opened) == ["a", "b", "both", "implicit", "old"], view
            assert sorted(opened["old"]) == ["a", "b"] and dict(opened["old"].attrs) == {"format": 2}, view


def test_changes_of_the_documents_are_seen(mixed):
    def shown(name):
        try:
            return json.loads((point / "v3" / name / "zarr.json").read_text())
        except OSError:
            return {}

    def units(name):
        return shown(name).get("attributes", {}).get("units")

    def put(path, text):
        temporary = path.with_name(path.name + ".partial")
        temporary.write_text(text)
        temporary.rename(path)

    with mounted(mixed) as point:
        assert units("old/a") is None
        put(mixed / "old/a/.zattrs", '{"units": "m"}')
        assert wait_until(lambda: units("old/a") == "m")
        (mixed / "old/a/.zattrs").unlink()
        assert wait_until(lambda: units("old/a") is None)

        zarray = json.loads((mixed / "old/a/.zarray").read_text())
        put(mixed / "old/a/.zarray", json.dumps({**zarray, "shape": [5, 4]}))
        assert wait_until(lambda: shown("old/a")["shape"] == [5, 4])
        put(mixed / "old/.zattrs", '{"units": "group"}')
        assert wait_until(lambda: units("old") == "group")

        # Migrated to v3 where it lies.
        document = json.loads((point / "v3/old/a/zarr.json").read_text())
        put(mixed / "old/a/zarr.json", json.dumps({**document, "attributes": {"units": "v3"}}))
        assert wait_until(lambda: units("old/a") == "v3")
        (mixed / "old/a/zarr.json").unlink()
        assert wait_until(lambda: shown("old/a") and units("old/a") is None)

        shutil.copytree(mixed / "a", mixed / "old/new")
        assert wait_until(lambda: "new" in [path.name for path in (point / "v2/old").iterdir()] and shown("old/new"))
        shutil.rmtree(mixed / "old/new")
        assert wait_until(lambda: not (point / "v2/old/new/.zarray").exists())


def test_what_cannot_be_read_is_told_and_the_rest_is_shown(mixed):
    for name, members in {"odd": {"compressor": {"id": "best"}}, "long": {"dtype": "<f16"}}.items():
        shutil.copytree(mixed / "a", mixed / name)
        zarray = json.loads((mixed / name / ".zarray").read_text())
        (mixed / name / ".zarray").write_text(json.dumps({**zarray, **members}))
    with mounted(mixed) as point:
        assert not {"odd", "long"} & {path.name for path in (point / "v3").iterdir()}
        errors = (point / ".zarrfs/errors").read_text()
        assert "odd/.zarray: codec 'best' is not known" in errors and 'long/.zarray: dtype "<f16" is not known' in errors
        assert read("zarr-python-3", [point / "v3/a"])[0]["shape"] == [3, 4]


def test_a_v2_array_can_be_the_store_itself(mixed):
    wanted = describe(np.arange(12, dtype="<i4").reshape(3, 4))
    with mounted(mixed / "old/a") as point:
        for reader, view in READERS.items():
            assert without_attributes(read(reader, [point / view])[0]) == wanted, reader
