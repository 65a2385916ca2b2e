"""Stores that other implementations made: in each view each array is read with the values that it has in the store.

The values of an original are those of which EXPECTED.json has the digest; where a view or a reader has a wider type, they are
converted here, from what zarr-python 3 reads from the store itself.
"""

import collections
import contextlib
import json
import pathlib
import sys
import warnings

import numpy as np
import pytest
from arrays import write_group
from corpus import PLACE, copy
from digest import describe
from expectations import VIEWS, as_seen
from generated import Kind
from mounts import READERS_OF_VIEWS, SYSTEM_PYTHON, ZARR2_PYTHON, decodes_pcodec, mounted, read, run_reader, zarrctl
from serving import figures_of, served, why_not_shown
from strict import problems_below

EXPECTED = {name: entry for name, entry in json.loads((PLACE / "EXPECTED.json").read_text()).items() if entry["v"] == 3}

# reader: (view, command)
READERS = {**READERS_OF_VIEWS, "zarrs": ("v3", [sys.executable, "read_zarr_python.py", "zarrs.ZarrsCodecPipeline"])}

# The root itself is what no view can show: there is nothing to mount.
REFUSED = {"zarr-java/storage_transformer/exists": "storage_transformers"}


def of_type(*types):
    """name -> the type, of arrays of these types."""
    names = {name: entry["dtype"] for name, entry in EXPECTED.items()}
    names = {name: dtype["name"] if isinstance(dtype, dict) else dtype for name, dtype in names.items()}
    return {name: f"data type '{dtype}'" for name, dtype in names.items() if dtype in types}


OPTIONAL = of_type("optional")
PCODEC = "zarrs/v3_zarr_python/array_pcodec.zarr"
LIBRARIES = {} if decodes_pcodec() else {PCODEC: "needs the library pcodec"}
VARIABLE = of_type("string", "variable_length_bytes")
BYTES = of_type("variable_length_bytes")
TEXT = of_type("fixed_length_utf32")
DATES = of_type("numpy.datetime64", "numpy.timedelta64")

# Not shown by a view, for the reason that `zarrctl info` gives.
NOT_SHOWN = {
    "v2": {**OPTIONAL, **LIBRARIES},
    "v3": {},
    "gdal": {**OPTIONAL, **LIBRARIES, **BYTES},
    "netcdf": {**OPTIONAL, **LIBRARIES, **VARIABLE, **TEXT},
}

BITROUND = {f"zarrs/codec/bitround/bitround_{dtype}.zarr": "codec bitround" for dtype in ["float32", "uint8"]}
NUMCODECS = {
    name: f"codec {codec}" for name, codec in [
        ("zarrita.js/v3/data.zarr/1d.contiguous.delta.i4", "numcodecs.delta"),
        ("zarrita.js/v3/data.zarr/3d.contiguous.delta.i4.mixed", "numcodecs.delta"),
        ("zarrs/v3_zarr_python/array_adler32.zarr", "numcodecs.adler32"),
        ("zarrs/v3_zarr_python/array_fletcher32.zarr", "numcodecs.fletcher32"),
        ("zarrs/v3_zarr_python/array_zfpy.zarr", "numcodecs.zfpy")]}
NOT_INSTALLED = {"zarrs/v3_zarr_python/array_zfpy.zarr": "codec numcodecs.zfpy is not installed"}

# Shown, but the reader does not know a codec or type, from no store whatever; a test sees to it that it still does not.
UNREADABLE = {
    **dict.fromkeys(READERS, {}),
    "zarr-python-3": {**BITROUND, **OPTIONAL, **NOT_INSTALLED},
    "zarrs": {**BITROUND, **OPTIONAL, **NUMCODECS, **TEXT},
    "tensorstore-v2": {**VARIABLE, **TEXT, **DATES, "zarrita.js/v3/data.zarr/1d.contiguous.delta.i4": "filters"},
    "tensorstore-v3": {
        **BITROUND, **OPTIONAL, **VARIABLE, **TEXT, **DATES, **NUMCODECS, **NOT_INSTALLED, PCODEC: "codec numcodecs.pcodec",
        "zarrs/v3_zarr_python/array_bz2.zarr": "codec numcodecs.bz2",
        "zarrs/v3_zarr_python/array_zlib.zarr": "codec numcodecs.zlib",
    },
}

# Nobody's digest is known of either, but what was written is: the values of another array.
SAME_VALUES = {
    f"zarrs/v3_zarr_python/array_{codec}.zarr": "zarrs/v3_zarr_python/array_none.zarr" for codec in ["pcodec", "zfpy"]}


def store_of(name):
    """The outermost folder that is a store: called .zarr, or with a zarr.json that no folder above it has."""
    parts = pathlib.PurePath(name).parts
    folders = [pathlib.PurePath(*parts[:n]) for n in range(2, len(parts) + 1)]
    for folder in folders:
        if folder.suffix == ".zarr" or (PLACE / folder / "zarr.json").exists():
            return str(folder)
    raise AssertionError(f"{name} is in no store")


NAMES = [name for name in EXPECTED if name not in REFUSED]
STORES = sorted({store_of(name) for name in NAMES})
ROOTS = [name for name in NAMES if store_of(name) == name]  # arrays that are stores


@pytest.fixture(scope="session")
def copies(tmp_path_factory):
    """store -> a copy of it."""
    folder = tmp_path_factory.mktemp("corpus")
    return {store: copy(store, folder / str(number)) for number, store in enumerate(STORES)}


@pytest.fixture(scope="session")
def points(copies):
    """store -> its mount point."""
    with contextlib.ExitStack() as stack:
        yield {store: stack.enter_context(mounted(copies[store])) for store in STORES}


@pytest.fixture(scope="session")
def point_of_roots(tmp_path_factory):
    """netCDF opens no array without its group: a mount of one made-up group, in which all stores that are arrays lie."""
    folder = tmp_path_factory.mktemp("roots") / "store"
    write_group(folder)
    for name in ROOTS:
        copy(name, folder / pathlib.PurePath(name).name)
    with mounted(folder) as point:
        yield point


def path_in_view(points, view, name):
    store = store_of(name)
    return points[store] / view / pathlib.PurePath(name).relative_to(store)


@pytest.fixture(scope="session")
def information(copies):
    """name -> what zarrctl says of the array."""
    nodes = {}
    for store, folder in copies.items():
        said = zarrctl("info", "--json", folder)
        assert said.returncode == 0, said.stderr
        nodes.update({str(pathlib.PurePath(store, node["path"])): node for node in json.loads(said.stdout)["nodes"]})
    return nodes


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """What zarr-python 3 reads from the store itself; without the codec bitround, which does nothing on reading."""
    import zarr

    values = {}

    def of(name):
        if name not in values:
            path = PLACE / name
            if name in BITROUND:
                path = copy(name, tmp_path_factory.mktemp("bitround") / "store")
                document = json.loads((path / "zarr.json").read_text())
                document["codecs"] = [codec for codec in document["codecs"] if codec["name"] != "bitround"]
                (path / "zarr.json").write_text(json.dumps(document))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read = zarr.open_array(str(path), mode="r")[...]
            values[name] = np.array(read.tolist(), object) if name in VARIABLE else np.asarray(read)
        return values[name]

    return of


@pytest.fixture(scope="session")
def rightly_seen(originals):
    """All that a reader may say of an array."""
    def of(reader, name):
        values = originals(SAME_VALUES.get(name, name))
        kind = Kind(values.dtype.name, None, values.dtype, ())
        return [describe(some) for some in as_seen(reader, READERS[reader][0], kind, values)]

    return of


def shown(reader):
    return [name for name in NAMES if name not in NOT_SHOWN[READERS[reader][0]]]


def readable(reader):
    return [name for name in shown(reader) if name not in UNREADABLE[reader]]


@pytest.fixture(scope="session")
def readings(points, point_of_roots):
    """reader -> name -> what it saw; each reader runs once."""
    seen = {}

    def path(view, name):
        if view == "netcdf" and name in ROOTS:
            return point_of_roots / view / pathlib.PurePath(name).name
        return path_in_view(points, view, name)

    def of(reader):
        if reader not in seen:
            view, command = READERS[reader]
            seen[reader] = dict(zip(shown(reader), run_reader(command, [path(view, name) for name in shown(reader)])))
        return seen[reader]

    return of


@pytest.fixture(scope="session")
def tally(figures):
    """reader -> serving -> number of arrays that it read right."""
    counts = {reader: collections.Counter() for reader in READERS}
    yield counts
    figures.append(f"arrays of the corpus: {len(EXPECTED)}; read right, of those that the reader knows:")
    for reader, (view, _) in READERS.items():
        hidden, unknown = len(EXPECTED) - len(shown(reader)), len(shown(reader)) - len(readable(reader))
        figures.append(figures_of(reader, view, counts[reader], hidden, unknown))


@pytest.mark.parametrize("reader,name", [(reader, name) for reader in READERS for name in readable(reader)])
def test_values_are_those_of_the_original(readings, rightly_seen, information, tally, reader, name):
    entry = readings(reader)[name]
    assert "error" not in entry, entry
    wanted = rightly_seen(reader, name)
    assert {key: entry[key] for key in wanted[0]} in wanted
    tally[reader][served(information[name]["views"][READERS[reader][0]])] += 1


def test_the_originals_are_the_expected_ones(originals):
    """Guards the comparison itself. Nobody's digest is there where zarr-python 3 could not read the original."""
    for name, entry in EXPECTED.items():
        if "err" not in entry:
            seen = describe(originals(name))
            assert (seen["shape"], seen["sha256"]) == (entry["shape"], entry["sha256"]), name
    assert {name for name, entry in EXPECTED.items() if "err" in entry} == {*REFUSED, *BITROUND, *OPTIONAL, *NOT_INSTALLED, PCODEC}


def test_zfp_without_its_header_is_read_alike(readings, tmp_path):
    """A stream of numcodecs with its header taken off is what the codec `zfp` has, up to the end of the last word."""
    name = "zarrs/v3_zarr_python/array_zfpy.zarr"
    store = copy(name, tmp_path / "store")
    metadata = json.loads((store / "zarr.json").read_text())
    metadata["codecs"] = [{"name": "zfp", "configuration": {"mode": "fixed_accuracy", "tolerance": 0.01}}]
    (store / "zarr.json").write_text(json.dumps(metadata))
    for chunk in store.glob("c/*/*"):
        chunk.write_bytes(chunk.read_bytes()[12:] + bytes(4))
    with mounted(store) as point:
        assert read("zarr-python-2", [point / "v2"])[0]["sha256"] == readings("zarr-python-2")[name]["sha256"]


@pytest.mark.parametrize("view,name", [(view, name) for view in VIEWS for name in NOT_SHOWN[view]])
def test_what_a_view_does_not_show_is_absent_for_the_reason(points, information, view, name):
    path = path_in_view(points, view, name)
    assert not (path / ".zarray").exists() and not (path / "zarr.json").exists()
    if name not in ROOTS:
        assert path.name not in [entry.name for entry in path.parent.iterdir()]
    assert NOT_SHOWN[view][name] in why_not_shown(information[name], view)


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_not_in_the_list_is_shown(information, view):
    assert [name for name in NAMES if why_not_shown(information[name], view)] == [name for name in NAMES if name in NOT_SHOWN[view]]


@pytest.mark.parametrize("reader,name", [(reader, name) for reader in READERS for name in UNREADABLE[reader]])
def test_what_a_reader_cannot_read_is_still_so(readings, reader, name):
    assert "error" in readings(reader)[name]


@pytest.mark.parametrize("name,reason", REFUSED.items())
def test_a_store_that_no_view_can_show_is_not_mounted(tmp_path, name, reason):
    with pytest.raises(RuntimeError, match=reason):
        with mounted(copy(name, tmp_path / "store")):
            pass


def test_the_lists_name_arrays_of_the_corpus():
    for names in [REFUSED, SAME_VALUES, *NOT_SHOWN.values(), *UNREADABLE.values()]:
        assert set(names) <= set(EXPECTED)


@pytest.mark.parametrize("store", STORES)
def test_the_metadata_of_the_v3_view_are_strictly_those_of_the_specification(points, store):
    found, count = problems_below(points[store] / "v3")
    assert not found
    assert count >= sum(store_of(name) == store for name in NAMES)


# xarray, of groups that a new xarray can open in the store itself: all dimensions are named.

NEW_XARRAY = [sys.executable, "read_xarray.py"]
OLD_XARRAYS = {"xarray-2024": [ZARR2_PYTHON, "read_xarray.py"], "debian-xarray": [SYSTEM_PYTHON, "read_xarray.py"]}

GROUPS = sorted({str(pathlib.PurePath(name).parent) for name in NAMES if name not in ROOTS})
OF_XARRAY = ["zarrs/array_write_read.zarr/group", "zarrs/hierarchy.zarr/a", "zarrs/sharded_array_write_read.zarr/group"]

# Groups below the attribute `ome`: there v2 keeps the fill value, and xarray masks it; not so with -o fill=materialize.
OF_XARRAY_AND_OME = [
    *(f"zarr-java/ome/v0.6_scene/example1_instrument_registration.zarr/{group}"
      for group in ["coordinateTransformations", "sampleA_instrument1", "sampleA_instrument2"]),
    *(f"zarr-java/ome/v0.6_scene/example2_multi_instrument_chain.zarr/instrument{number}" for number in [1, 2, 3])]


@pytest.fixture(scope="session")
def in_new_xarray():
    """group -> what a new xarray makes of the store itself."""
    return dict(zip(GROUPS, run_reader(NEW_XARRAY, [PLACE / group for group in GROUPS])))


@pytest.fixture(scope="session")
def in_old_xarrays(points, copies):
    """(reader, whether materialized) -> group -> what it makes of the view `v2`."""
    ome = {store_of(group + "/any"): None for group in OF_XARRAY_AND_OME}
    with contextlib.ExitStack() as stack:
        materialized = {store: stack.enter_context(mounted(copies[store], "fill=materialize")) for store in ome}
        return {
            (reader, where is materialized): dict(zip(groups, run_reader(command, [
                where[store_of(group + "/any")] / "v2" / pathlib.PurePath(group).relative_to(store_of(group + "/any"))
                for group in groups])))
            for reader, command in OLD_XARRAYS.items()
            for where, groups in [(points, OF_XARRAY + OF_XARRAY_AND_OME), (materialized, OF_XARRAY_AND_OME)]}


def test_a_new_xarray_opens_these_groups_and_no_others(in_new_xarray):
    assert [group for group in GROUPS if "error" not in in_new_xarray[group]] == sorted(OF_XARRAY + OF_XARRAY_AND_OME)


@pytest.mark.parametrize("reader", OLD_XARRAYS)
@pytest.mark.parametrize("group", OF_XARRAY + OF_XARRAY_AND_OME)
def test_an_old_xarray_sees_what_a_new_one_sees_in_the_store(in_new_xarray, in_old_xarrays, reader, group):
    seen, stored = in_old_xarrays[reader, group in OF_XARRAY_AND_OME][group], in_new_xarray[group]
    assert stored["variables"]
    if "multiscales" in stored["attributes"].get("ome", {}):  # a pyramid of OME-Zarr 0.6, which is shown as one of 0.4
        assert [one["version"] for one in seen["attributes"]["multiscales"]] == ["0.4"]
        seen, stored = ({**one, "attributes": {name: value for name, value in one["attributes"].items() if name not in ("ome", "multiscales")}}
                        for one in (seen, stored))
    assert seen == stored


@pytest.mark.parametrize("reader", OLD_XARRAYS)
@pytest.mark.parametrize("group", OF_XARRAY_AND_OME)
def test_an_old_xarray_masks_the_fill_value_below_ome(originals, in_old_xarrays, reader, group):
    for name, seen in in_old_xarrays[reader, False][group]["variables"].items():
        values = originals(f"{group}/{name}")
        masked = np.where(values == EXPECTED[f"{group}/{name}"]["fill"], np.nan, values).astype(seen["dtype"])
        assert seen["sha256"] == describe(masked)["sha256"] and np.isnan(masked).any()
