"""Stores of Zarr v2 that other implementations made: passed through in v2, and every array reads the same in the other views."""

import contextlib
import json
import pathlib

import pytest
from corpus import PLACE, copy
from mounts import decodes_pcodec, mounted, read

EXPECTED = {name: entry for name, entry in json.loads((PLACE / "EXPECTED.json").read_text()).items() if entry["v"] == 2}

# With a zarr.json beside the .zarray: no sources of v2, and not passed through.
BOTH = {name for name in EXPECTED if (PLACE / name / "zarr.json").exists()}

VIEWS = {"v2": "zarr-python-2", "v3": "zarr-python-3", "gdal": "gdal"}

# Of no codec that v3 has, or of one that needs a library that is not there.
OF_OBJECTS = {"zarrita.js/v2/data.zarr/1d.contiguous.json2.O": "codec json2"}
OF_PCODEC = dict.fromkeys(["zarrs/v2/array_pcodec_C.zarr", "zarrs/v3/array_pcodec.zarr"], "codec numcodecs.pcodec")
OF_ZFPY = dict.fromkeys(["zarrs/v2/array_zfpy_C.zarr", "zarrs/v3/array_zfpy.zarr"], "codec numcodecs.zfpy")

OF_STRINGS = [
    "zarrita.js/v2/data.zarr/3d.chunked.O",
    *(f"zarrs/zarr_python_compat/{name}.zarr" for name in ["cities_v2", "str_v2_fv_0", "str_v2_fv_null"])]

# Not shown by a view, for the reason; a test sees to it that they are really absent, so that the list cannot rot.
NOT_DECODED = {} if decodes_pcodec() else OF_PCODEC
NOT_SHOWN = {"v2": dict.fromkeys(BOTH & NOT_DECODED.keys(), "codec numcodecs.pcodec"), "v3": OF_OBJECTS, "gdal": {**OF_OBJECTS, **NOT_DECODED}}

# Shown, but the view's reader does not know a codec or type; a test sees to it that it still does not.
UNREADABLE = {"v2": dict.fromkeys((OF_PCODEC.keys() | OF_ZFPY.keys()) - BOTH, "a codec that numcodecs has only beside packages of their own"), "v3": OF_ZFPY, "gdal": {}}

# Of chunks that are not stored, where the fill value is null, zarr-python 2 makes whatever is in its memory.
UNDEFINED = [f"zarrs/zarr_python_compat/{name}_v2_fv_null.zarr" for name in ["bool", "float", "int"]]

# GDAL makes texts of them that are no longer as long as each other: the digest is another.
TEXTS = [
    *(f"zarrita.js/v2/data.zarr/{name}" for name in [
        "1d.contiguous.S7", "1d.contiguous.U13.be", "1d.contiguous.U13.le", "1d.contiguous.U7", "2d.chunked.U7"]),
    *(f"zarrs/zarr_python_compat/fixed_length_utf32_v2_{order}.zarr" for order in ["be", "le"]),
    *OF_STRINGS]


def store_of(name):
    """The outermost folder that is a store: called .zarr, or a group with no group above it."""
    parts = pathlib.PurePath(name).parts
    folders = [pathlib.PurePath(*parts[:n]) for n in range(2, len(parts) + 1)]
    for folder in folders:
        if folder.suffix == ".zarr" or (PLACE / folder / "zarr.json").exists() or (PLACE / folder / ".zgroup").exists():
            return str(folder)
    raise AssertionError(f"{name} is in no store")


@pytest.fixture(scope="session")
def copies(tmp_path_factory):
    """store -> a copy of it."""
    folder = tmp_path_factory.mktemp("corpus")
    stores = sorted({store_of(name) for name in EXPECTED})
    return {store: pathlib.Path(copy(store, folder / str(number))) for number, store in enumerate(stores)}


@pytest.fixture(scope="session")
def points(copies):
    """store -> its mount point."""
    with contextlib.ExitStack() as stack:
        yield {store: stack.enter_context(mounted(path)) for store, path in copies.items()}


def path_in_copy(copies, name):
    store = store_of(name)
    return copies[store] / pathlib.PurePath(name).relative_to(store)


def path_in_view(points, view, name):
    store = store_of(name)
    return points[store] / view / pathlib.PurePath(name).relative_to(store)


@pytest.fixture(scope="session")
def readings(points):
    """view -> name -> what its reader saw."""
    shown = {view: [name for name in EXPECTED if name not in NOT_SHOWN[view]] for view in VIEWS}
    return {
        view: dict(zip(names, read(VIEWS[view], [path_in_view(points, view, name) for name in names])))
        for view, names in shown.items()}


@pytest.fixture(scope="session")
def originals(copies):
    """name -> what zarr-python 2 sees in the store itself."""
    return dict(zip(EXPECTED, read("zarr-python-2", [path_in_copy(copies, name) for name in EXPECTED])))


def cases(lists, inside):
    return [(view, name) for view in VIEWS for name in EXPECTED if (name in lists[view]) == inside]


SHOWN = [case for case in cases(NOT_SHOWN, False) if case[1] not in UNREADABLE[case[0]]]


@pytest.mark.parametrize("view,name", SHOWN)
def test_values_are_those_of_the_original(readings, originals, view, name):
    entry = readings[view][name]
    assert "error" not in entry
    if view == "v2" and name not in BOTH:
        if name in UNDEFINED:
            entry, originals[name]["sha256"] = {**entry, "sha256": "?"}, "?"
        assert entry == originals[name]
        return
    assert entry["shape"] == EXPECTED[name]["shape"]
    if "err" not in EXPECTED[name] and not (view == "gdal" and name in TEXTS):  # where nobody could read the original, there is only the shape to compare
        assert entry["sha256"] == EXPECTED[name]["sha256"]


def is_of_a_reader(path):
    """Whether a reader of v2 opens it: a document, or a file whose path is numbers."""
    return path.name.startswith(".z") or all(part.isdigit() for part in str(path).replace("/", ".").split("."))


@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - BOTH))
def test_files_are_those_of_the_store(copies, points, name):
    array = path_in_copy(copies, name)
    stored = {path.relative_to(array): path.read_bytes() for path in array.rglob("*") if path.is_file() and is_of_a_reader(path.relative_to(array))}
    shown = path_in_view(points, "v2", name)
    assert {path.relative_to(shown): path.read_bytes() for path in shown.rglob("*") if path.is_file()} == stored


@pytest.mark.parametrize("view,name", cases(NOT_SHOWN, True))
def test_what_a_view_cannot_show_is_absent(points, view, name):
    path = path_in_view(points, view, name)
    assert not (path / ".zarray").exists() and not (path / "zarr.json").exists()
    if path.parent != points[store_of(name)]:
        assert path.name not in [entry.name for entry in path.parent.iterdir()]


@pytest.mark.parametrize("view,name", cases(UNREADABLE, True))
def test_what_a_reader_cannot_read_is_still_so(readings, view, name):
    assert "error" in readings[view][name]


def test_the_lists_name_arrays_of_the_corpus():
    for names in [*NOT_SHOWN.values(), *UNREADABLE.values()]:
        assert set(names) <= set(EXPECTED)
