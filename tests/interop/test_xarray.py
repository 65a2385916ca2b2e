"""A data set that xarray wrote to v3 is, opened through `v2` by an older xarray, what it is in the store itself.

Compared are dimensions, types, values, attributes and decoded times with what xarray on zarr-python 3 makes of the store. A v2
fill value masks and a v3 fill value does not: zeros and other values that happen to be the fill value must not become NaN.
"""

import itertools
import sys
import warnings

import numpy as np
import pytest
from mounts import DEBIAN_ZARR, SYSTEM_PYTHON, ZARR2_PYTHON, mounted, run_reader

NEW_READER = [sys.executable, "read_xarray.py"]
OLD_READERS = {"xarray-2024": [ZARR2_PYTHON, "read_xarray.py"], "debian-xarray": [SYSTEM_PYTHON, "read_xarray.py"]}

# Without .zmetadata xarray looks for itself which arrays there are, and warns.
MOUNTS = {"consolidated": None, "not-consolidated": "consolidated=no", "materialized": "fill=materialize"}

# group -> variables, coordinates; None: all of them. (One date that cannot be decoded costs a reader the whole group.)
NAT = ["dates_nat"]
GROUPS = {
    "": None,
    "nested": ([], []),
    "nested/deep": (["nan", "zeros", "packed", "dates"], ["time", "x", "crs"]),
    "nat": (NAT, ["time"]),
}

# reason: (readers, names, fields that are not compared). No v2 store whatever would give them.
EXEMPT = {
    "a new xarray decodes the attribute by which it marks durations, an old one leaves it where it is": (
        list(OLD_READERS), ["durations", "step"], {"attribute dtype"}),
}
if DEBIAN_ZARR == "2":
    EXEMPT |= {
        "xarray 2023 unpacks small integers to float32": (["debian-xarray"], ["packed"], {"dtype", "sha256"}),
        "xarray 2023 cannot decode NaT without `_FillValue`": (["debian-xarray"], NAT, {"sha256", "nanoseconds"}),
    }

SHAPE, SHARD, CHUNK = (6, 8, 12), (4, 4, 6), (2, 2, 3)
DIMS = ("time", "y", "x")
ABSENT = -9999


def cube(dtype, rest):
    """Values other than `rest` in a few chunks of a few shards, and `rest` in all others, which therefore are not stored."""
    values = np.full(SHAPE, rest, dtype)
    numbers = np.arange(1, values.size + 1, dtype="int64").reshape(SHAPE) % 113
    for region in [np.s_[:2, :2, :3], np.s_[2:4, 2:4, 3:6], np.s_[4:, 6:, 9:]]:
        values[region] = numbers[region] != 0 if np.dtype(dtype) == bool else numbers[region]
    return values


def with_some(values, item):
    """`item` in a chunk that has other values too."""
    values = values.copy()
    values[0, 0, 1] = values[5, 7, 11] = item
    return values


def variables():
    """name -> (dimensions, values, attributes, encoding). All of them sharded if they have the dimensions of the cube."""
    fill = {"_FillValue": None}
    dates = cube("int64", 0).astype("M8[h]").astype("M8[ns]")
    return {
        # Floats whose `_FillValue` is NaN, as xarray gives it to floats unasked; no `_FillValue`; another one.
        "nan": (DIMS, cube("float32", np.nan), {"units": "K", "long_name": "température"}, {}),
        "nan_in_double": (DIMS, with_some(cube("float64", 0), np.nan), {}, {"_FillValue": np.nan, "fill_value": 0.0}),
        "no_fill": (DIMS, with_some(cube("float32", 0), np.nan), {}, {**fill, "fill_value": 0.0}),
        "no_fill_missing_is_nan": (DIMS, with_some(cube("float32", np.nan), 0), {}, fill),
        "no_fill_missing_is_one": (DIMS, cube("float64", 1), {}, {**fill, "fill_value": 1.0}),
        "number_as_fill": (DIMS, with_some(cube("float32", 0), np.nan), {}, {"_FillValue": np.float32(ABSENT), "fill_value": 0.0}),
        "number_as_both_fills": (DIMS, with_some(cube("float64", np.nan), 0), {}, {
            "_FillValue": float(ABSENT), "fill_value": float(ABSENT)}),
        # Packed.
        "packed": (DIMS, with_some(cube("float32", 2.5), np.nan), {"units": "m"}, {
            "dtype": "int16", "scale_factor": 0.5, "add_offset": 2.5, "_FillValue": -32768}),
        "packed_missing_is_nan": (DIMS, cube("float64", np.nan), {}, {
            "dtype": "int32", "scale_factor": 0.25, "_FillValue": ABSENT, "fill_value": ABSENT}),
        "packed_no_fill": (DIMS, cube("float64", 10), {}, {"dtype": "uint8", "scale_factor": 0.5, "add_offset": 10.0, **fill}),
        # Integers.
        "zeros": (DIMS, cube("int32", 0), {}, {}),
        "zeros_unsigned": (DIMS, cube("uint8", 0), {"flag_values": [0, 1, 2]}, {}),
        "sevens": (DIMS, with_some(cube("int64", 7), 0), {}, {"fill_value": 7}),
        "integers_with_fill": (DIMS, with_some(cube("int16", 0), -1), {}, {"_FillValue": -1}),
        "integers_missing_is_fill": (DIMS, with_some(cube("uint16", 65535), 0), {}, {"_FillValue": 65535, "fill_value": 65535}),
        "fill_never_used": (DIMS, cube("int32", 0), {}, {"_FillValue": ABSENT}),
        "bool": (DIMS, cube("bool", False), {"units": "1"}, {}),
        "bool_missing_is_true": (DIMS, with_some(cube("bool", True), False), {}, {"fill_value": True}),
        # Dates as CF has them, and durations.
        "dates": (DIMS, dates, {}, {"units": "hours since 1970-01-01", "dtype": "int64"}),
        "dates_nat": (DIMS, with_some(dates, np.datetime64("NaT")), {}, {"units": "hours since 1970-01-01", "dtype": "int64"}),
        "dates_nat_and_fill": (DIMS, with_some(dates, np.datetime64("NaT")), {}, {
            "units": "hours since 1970-01-01", "dtype": "int32", "_FillValue": ABSENT}),
        "durations": (DIMS, cube("int64", 0).astype("m8[m]").astype("m8[ns]"), {}, {"units": "minutes", "dtype": "int32"}),
        # Not sharded, with and without values that are not stored.
        "unsharded": (("y", "x"), np.repeat([0, 1, 0, 3], 24).reshape(8, 12).astype("int32"), {}, {"chunks": (2, 3)}),
        "unsharded_nan": (("y", "x"), np.repeat([0, 1, np.nan, 3], 24).reshape(8, 12), {}, {"chunks": (2, 3)}),
        # Strings of any length, some of them empty, and of a fixed one.
        "strings": (("y",), np.array(["a", "", "größe", "日本", "", "", "", "x" * 300], object), {"cf_role": "timeseries_id"}, {
            "chunks": (2,)}),
        "strings_sharded": (("y",), np.array(["a", "", "é", "", "", "", "", ""], object), {}, {"chunks": (1,), "shards": (4,)}),
        "fixed_strings": (("y",), np.array(["a", "", "größe", "日本", "", "", "", "xyz"], "U5"), {}, {"chunks": (2,)}),
    }


def coordinates():
    return {
        "time": (("time",), np.array("2021-12-31T18", "M8[ns]") + np.arange(6) * np.timedelta64(6, "h"), {"axis": "T"}, {
            "units": "hours since 2000-01-01", "calendar": "standard", "dtype": "int64"}),
        "step": (("time",), np.array([0, 1, 2, 0, 0, 5]) * np.timedelta64(10 ** 9, "ns"), {}, {"dtype": "int64"}),
        "x": (("x",), np.linspace(-1, 1, 12), {"units": "degrees_east"}, {}),
        "y": (("y",), np.arange(8, dtype="int32"), {}, {"chunks": (2,)}),
        "area": (("y", "x"), np.arange(96, dtype="float32").reshape(8, 12), {}, {"chunks": (4, 6), "shards": (8, 12)}),
        "crs": ((), np.int32(0), {"grid_mapping_name": "latitude_longitude", "semi_major_axis": 6378137.0}, {}),
        "height": ((), np.float64(0), {"positive": "up"}, {"_FillValue": None}),
        "reference": ((), np.datetime64("2000-01-01", "ns"), {}, {"units": "days since 2000-01-01", "dtype": "int64"}),
        "station": ((), np.array("Zürich", object), {}, {}),
    }


def contents():
    """group -> names of its variables and of its coordinates."""
    everything = [name for name in variables() if name not in NAT], list(coordinates())
    return {group: names or everything for group, names in GROUPS.items()}


def data_set(names, coordinate_names, attributes):
    import xarray

    everything = {**variables(), **coordinates()}
    encoding = {}
    for name in [*names, *coordinate_names]:
        dims, _, _, wanted = everything[name]
        encoding[name] = {**({"chunks": CHUNK, "shards": SHARD} if dims == DIMS else {}), **wanted}
    data = xarray.Dataset(
        {name: everything[name][:3] for name in names}, {name: everything[name][:3] for name in coordinate_names}, attributes)
    return data, encoding


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("xarray") / "store"
    attributes = {"title": "Größe", "Conventions": "CF-1.10", "levels": [1, 2.5], "empty": ""}
    for group, (names, coordinate_names) in contents().items():
        data, encoding = data_set(names, coordinate_names, {**attributes, "group": group})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data.to_zarr(folder, group=group or None, mode="a", zarr_format=3, consolidated=False, encoding=encoding)
    return folder


@pytest.fixture(scope="session")
def wanted(store):
    """group -> what xarray makes of the store itself."""
    return dict(zip(GROUPS, run_reader(NEW_READER, [store / group for group in GROUPS])))


@pytest.fixture(scope="session")
def seen(store):
    """(mount, reader) -> group -> what the reader makes of the view `v2`."""
    answers = {}
    for mount, options in MOUNTS.items():
        with mounted(store, options) as point:
            for reader in OLD_READERS:
                entries = run_reader(OLD_READERS[reader], [point / "v2" / group for group in GROUPS])
                answers[mount, reader] = dict(zip(GROUPS, entries))
    return answers


def exempt(reader, name):
    return set().union(*(fields for readers, names, fields in EXEMPT.values() if reader in readers and name in names))


def without(fields, entry):
    """`fields` may say "attribute NAME"."""
    attributes = {name: value for name, value in entry["attributes"].items() if f"attribute {name}" not in fields}
    return {field: value for field, value in {**entry, "attributes": attributes}.items() if field not in fields}


CASES = [
    (mount, reader, group, name) for mount in MOUNTS for reader in OLD_READERS for group, lists in contents().items()
    for name in itertools.chain(*lists)]


def variable(answer, name):
    assert "error" not in answer, answer
    seen = dict(answer["variables"][name])
    assert "error" not in seen, seen
    return seen


@pytest.mark.parametrize("mount,reader,group,name", CASES, ids=["-".join([*case[:2], *filter(None, case[2:])]) for case in CASES])
def test_a_variable_is_what_it_is_in_the_store(wanted, seen, mount, reader, group, name):
    entry, original = variable(seen[mount, reader][group], name), variable(wanted[group], name)
    assert without(exempt(reader, name), entry) == without(exempt(reader, name), original)


@pytest.mark.parametrize("mount", MOUNTS)
@pytest.mark.parametrize("reader", OLD_READERS)
@pytest.mark.parametrize("group", [group for group in GROUPS if group != "nat"])
def test_a_group_has_the_variables_and_attributes_that_it_has_in_the_store(wanted, seen, mount, reader, group):
    entry, original = seen[mount, reader][group], wanted[group]
    assert "error" not in entry, entry
    assert set(entry["variables"]) == set(original["variables"]) == set(itertools.chain(*contents()[group]))
    assert entry["attributes"] == original["attributes"]


@pytest.mark.parametrize("reason", EXEMPT)
def test_what_is_exempt_still_differs(wanted, seen, reason):
    readers, names, fields = EXEMPT[reason]
    for reader, name in itertools.product(readers, names):
        group = "nat" if name in NAT else ""
        entry, original = variable(seen["consolidated", reader][group], name), variable(wanted[group], name)
        assert entry != original
        assert without(fields, entry) == without(fields, original)


def test_values_are_missing_in_the_store_and_none_of_them_is_nan_by_mistake(store, wanted):
    """Guards the comparison itself: with every chunk stored, fill values would not matter."""
    sharded = [name for name, (dims, *_) in variables().items() if dims == DIMS and name not in NAT]
    for name in sharded:
        shards = [path for path in (store / name / "c").rglob("*") if path.is_file()]
        assert 0 < len(shards) < 8, name  # of 2 x 2 x 2 shards; in each some chunks are missing
    assert len([path for path in (store / "unsharded" / "c").rglob("*") if path.is_file()]) < 16
    assert wanted[""]["variables"]["zeros"]["dtype"] == "<i4"
