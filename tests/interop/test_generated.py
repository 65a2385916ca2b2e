"""What zarr-python 3 reads from a store is what old readers read from views.

Where zarr-python does not know the type, it is what tensorstore reads from the store. The arrays are those of generated.py, the store is that of random_store.py; what a
view and a reader make of each is said in expectations.py.
"""

import collections
import json
import re
import subprocess

import numpy as np
import pytest
from digest import describe
from expectations import ALL_VIEWS, as_seen, attributes_as_shown, masked, serving, v2_fill, why_unreadable
from generated import KINDS, OF_NUMCODECS, generated
from mounts import READERS_OF_JAVA, READERS_OF_VIEWS, SYSTEM_PYTHON, mounted, run_reader
from serving import NOT_SHOWN, figures_of, served
from strict import problems_below

READERS = {**READERS_OF_VIEWS, **READERS_OF_JAVA}


def marks_of(reader):
    return [pytest.mark.further_reader] * (reader == "jzarr")


@pytest.fixture(scope="session")
def rightly_seen(originals, opaque):
    """All that a reader may say of an array."""
    def of(reader, case):
        values = as_seen(reader, READERS[reader][0], case.kind, originals[case.name], opaque.get(case.name))
        return [describe(some) for some in values]

    return of


@pytest.fixture(scope="session")
def point(random_store):
    with mounted(random_store) as point:
        yield point


def shown(reader):
    return [case for case in generated() if serving(READERS[reader][0], case)[0] != NOT_SHOWN]


def readable(reader):
    return [case for case in shown(reader) if not why_unreadable(reader, case)]


@pytest.fixture(scope="session")
def readings(point):
    """reader -> name -> what it saw; each reader runs once."""
    seen = {}

    def of(reader):
        if reader not in seen:
            view, command = READERS[reader]
            cases = shown(reader)
            seen[reader] = {case.name: entry for case, entry in zip(
                cases, run_reader(command, [point / view / case.name for case in cases]))}
        return seen[reader]

    return of


@pytest.fixture(scope="session")
def tally(figures):
    """reader -> serving -> number of arrays that it read right."""
    counts = {reader: collections.Counter() for reader in READERS}
    yield counts
    figures.append(f"generated arrays: {len(generated())}; read right, of those that the reader knows:")
    for reader, (view, _) in READERS.items():
        hidden = sum(serving(view, case)[0] == NOT_SHOWN for case in generated())
        unknown = len(shown(reader)) - len(readable(reader))
        figures.append(figures_of(reader, view, counts[reader], hidden, unknown))


CASES = [(reader, case) for reader in READERS for case in readable(reader)]


@pytest.mark.parametrize(
    "reader,case", [pytest.param(reader, case, marks=marks_of(reader), id=f"{reader}-{case}") for reader, case in CASES])
def test_values_are_those_in_the_store(readings, rightly_seen, tally, reader, case):
    entry = readings(reader)[case.name]
    assert "error" not in entry, entry
    wanted = rightly_seen(reader, case)
    assert {key: entry[key] for key in wanted[0]} in wanted
    tally[reader][serving(READERS[reader][0], case)[0]] += 1


@pytest.mark.parametrize("reader", [pytest.param(reader, marks=marks_of(reader)) for reader in READERS])
def test_what_a_reader_is_said_not_to_know_it_still_does_not_read(readings, rightly_seen, reader):
    read_right = {}  # reason: whether all arrays were
    for case in shown(reader):
        if reason := why_unreadable(reader, case):
            entry, right = readings(reader)[case.name], rightly_seen(reader, case)
            is_right = "error" not in entry and {key: entry[key] for key in right[0]} in right
            read_right[reason] = is_right and read_right.get(reason, True)
    assert not any(read_right.values()), read_right


def test_what_was_written_is_what_is_read_from_the_store(originals):
    """Guards the comparison itself: it would pass too, if nobody had written anything."""
    lossy = {"numcodecs.bitround", "numcodecs.quantize", "numcodecs.fixedscaleoffset"}
    for case in generated():
        if not lossy & set(case.features):
            for region in case.regions:
                assert describe(originals[case.name][region]) == describe(case.written()[region]), case
    assert len(generated()) >= 300
    drawn = collections.Counter(feature for case in generated() for feature in case.features)
    for feature in ["F", "transposed", "two-transposes", "nested", "index-start", "gzip-zstd", "crc32c-zstd", *OF_NUMCODECS]:
        assert drawn[feature] >= 3, feature
    assert all(sum(case.writer == writer for case in generated()) >= 30 for writer in ["zarr-python", "zarrs", "tensorstore"])


@pytest.mark.parametrize("view", ALL_VIEWS)
def test_chunks_are_served_as_expected(information, view):
    wrong = {}
    for case in generated():
        said = served(information[case.name][view])
        if said != serving(view, case)[0]:
            wrong[str(case)] = (said, *serving(view, case))
    assert not wrong


def widened(values):
    """As the views of files have types that numpy lacks."""
    values = np.asarray(values)
    if values.dtype.kind == "V" or values.dtype.isbuiltin != 1:
        return values.astype("f4") if "float" in values.dtype.name else values.astype("i1")
    return values


def test_npy_files_have_the_values_of_the_store(point, originals, information):
    compared = 0
    for case in generated():
        if information[case.name]["npy"]["shown"] and (case.kind.is_narrow or case.kind.dtype.kind in "biufcmMUS"):
            values, expected = np.load(point / "npy" / f"{case.name}.npy", mmap_mode="r"), originals[case.name]
            assert describe(np.asarray(values)) == describe(widened(expected) if case.kind.is_narrow else expected), case
            compared += 1
    assert compared >= 200


READ_NETCDF = """
import sys
import netCDF4, numpy
data = netCDF4.Dataset(sys.argv[1])
data.set_auto_maskandscale(False)
data.set_auto_chartostring(False)
numpy.savez(sys.argv[2], **{name: numpy.asarray(variable[...]) for name, variable in data.variables.items()})
"""


def test_netcdf_files_have_the_values_of_the_store(point, originals, information, tmp_path):
    compared = 0
    for kind in KINDS:
        cases = [case for case in generated() if case.kind is kind and information[case.name]["nc"]["shown"]]
        if not cases or not (kind.is_narrow or kind.dtype.kind in "biufmM"):
            continue
        target = tmp_path / f"{kind.name}.npz"
        subprocess.run([SYSTEM_PYTHON, "-c", READ_NETCDF, point / "nc" / f"{kind.name}.nc", target], check=True, timeout=120)
        with np.load(target) as read:
            for case in cases:
                name, expected = case.name.split("/")[1], np.asarray(originals[case.name])
                if name not in read:
                    assert 0 in case.shape, case  # of a dimension of no length there is one in a file at most
                    continue
                expected = widened(expected) if kind.is_narrow else expected.astype("i8") if kind.dtype.kind in "mM" else expected
                values = read[name]
                assert values.shape == expected.shape, case
                wide = "f8" if values.dtype.kind == "f" else object
                assert np.array_equal(values.astype(wide), expected.astype(wide), equal_nan=wide == "f8"), case
                compared += 1
    assert compared >= 150


READ_TEXTS = """
import json, sys
import netCDF4

def joined(characters, encoding):
    if characters.ndim > 1:
        return [joined(part, encoding) for part in characters]
    return characters.tobytes().rstrip(b"\\0").decode(encoding)

found = {}
for path in sys.argv[1:]:
    with netCDF4.Dataset(path) as data:
        for name, variable in data.variables.items():
            variable.set_auto_chartostring(False)
            variable.set_auto_mask(False)  # of characters it takes zeros for masked
            texts = joined(variable[...], getattr(variable, "_Encoding", "ascii"))
            variable.set_auto_chartostring(True)
            # Its own decoding is wrong where a character takes more than a byte (up to 1.7.2).
            by_itself = variable[...].tolist() if hasattr(variable, "_Encoding") and json.dumps(texts, ensure_ascii=False).isascii() else None
            found[name] = texts, by_itself
json.dump(found, sys.stdout)
"""


def test_texts_in_netcdf_files_are_those_of_the_store(point, originals, information):
    cases = [case for case in generated() if case.kind.name == "string" or case.kind.dtype.kind in "US"]
    files = sorted({point / "nc" / f"{case.kind.name}.nc" for case in cases})
    found = json.loads(run(SYSTEM_PYTHON, "-W", "ignore", "-c", READ_TEXTS, *files))
    decoded = 0
    for case in cases:
        assert information[case.name]["nc"]["shown"], case
        expected = originals[case.name]
        expected = (np.char.decode(expected) if expected.dtype.kind == "S" else expected).tolist()
        texts, by_itself = found[case.name.split("/")[1]]
        assert texts == expected, case
        assert by_itself in (None, expected), case
        decoded += by_itself is not None
    assert len(cases) >= 20 and decoded >= 2


@pytest.mark.parametrize("view", ALL_VIEWS)
def test_what_a_view_does_not_show_is_absent(point, view):
    for kind in KINDS:
        here = {path.name for path in (point / view / kind.name).iterdir() if not path.name.startswith((".z", "zarr.json"))}
        wanted = {case.name.split("/")[1] for case in generated() if case.kind is kind and serving(view, case)[0] != NOT_SHOWN}
        assert here == wanted, kind.name


def entries_of(readings, reader):
    """Of arrays that were read; the test of their values says which were not."""
    return [(case, entry) for case in readable(reader) if "error" not in (entry := readings(reader)[case.name])]


@pytest.mark.parametrize("reader", [name for name, (view, _) in READERS.items() if view == "v2" and "zarr-python" in name])
def test_zarr_python_2_sees_attributes_and_dimension_names(readings, reader):
    for case, entry in entries_of(readings, reader):
        attributes = dict(entry["attributes"])
        names = attributes.pop("_ARRAY_DIMENSIONS")
        assert attributes == attributes_as_shown("v2", case), case
        given = case.document.get("dimension_names") or [None] * len(case.shape)
        assert len(names) == len(given) and all(old in (None, new) for old, new in zip(given, names)), case


def test_gdal_takes_for_no_data_what_is_to_be_masked(readings):
    for case, entry in entries_of(readings, "gdal"):
        if case.kind.dtype.kind in "iufmM":
            value = masked("gdal", case)
            assert entry["nodata"] == (None if value is None else repr(float(value))), case
            assert entry["attributes"].get("units") == attributes_as_shown("gdal", case).get("units"), case


def test_netcdf_sees_attributes_and_what_is_to_be_masked(readings):
    for case, entry in entries_of(readings, "netcdf"):
        attributes = dict(entry["attributes"])
        assert repr(attributes.pop("_FillValue", None)) == repr(masked("netcdf", case)), case
        if "nested" in attributes:  # objects are text to it
            attributes["nested"] = json.loads(attributes["nested"])
        assert attributes == attributes_as_shown("netcdf", case), case
        # To netCDF a dimension is its name, in all groups of the store.
        names = case.document.get("dimension_names") or [None] * len(case.shape)
        assert all(
            old is None or new == f"{old}_{length}"
            for old, new, length in zip(names, entry["dimensions"], case.shape)), case
        assert len(entry["dimensions"]) == max(1, len(case.shape)), case


def test_the_metadata_of_the_v3_view_are_strictly_those_of_the_specification(point):
    found, count = problems_below(point / "v3")
    assert not found
    assert count == 1 + len(KINDS) + len(generated())


def number_of_chunks(case):
    return int(np.prod([-(-length // chunk) for length, chunk in zip(case.shape, case.chunks)], dtype=int))


def test_a_fill_value_that_would_be_masked_is_not_said_in_v2_and_missing_chunks_are_files_instead(point):
    made = 0
    for case in shown("zarr-python-2"):
        folder = point / "v2" / case.name
        fill = json.loads((folder / ".zarray").read_text())["fill_value"]
        if case.kind.dtype.kind in "biuf" and not case.kind.is_narrow:
            assert fill == v2_fill(case) or fill == "NaN" and np.isnan(v2_fill(case)), case
        if fill is None:
            files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
            assert len(files) == number_of_chunks(case), case
            made += "all" not in case.features
    assert made > 50


# Programs, on a sample.

PLAIN = ["uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"]


def sample(view, rank):
    """Of each plain type the arrays of this rank."""
    return [case for case in generated()
            if case.kind.name in PLAIN and len(case.shape) == rank and serving(view, case)[0] != NOT_SHOWN]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@pytest.mark.parametrize("case", sample("gdal", 2)[::2], ids=str)
def test_gdal_programs_read_a_plane_as_a_raster(point, originals, tmp_path, case):
    path, values = point / "gdal" / case.name, originals[case.name]
    said = json.loads(run("gdalinfo", "-json", path))
    assert said["size"] == [*reversed(case.shape)]
    assert len(said["bands"]) == 1
    run("gdal_translate", "-q", "-of", "ENVI", path, tmp_path / "plane")
    copied = np.fromfile(tmp_path / "plane", values.dtype).reshape(case.shape)
    assert describe(copied) == describe(values)


@pytest.mark.parametrize("name", ["uint16", "float64", "complex64", "structured", "datetime_s", "bfloat16"])
def test_gdal_opens_a_group_and_finds_its_arrays(point, name):
    said = json.loads(run("gdalmdiminfo", point / "gdal" / name))
    assert set(said["arrays"]) == {case.name.split("/")[1] for case in shown("gdal") if case.kind.name == name}


def test_gdal_programs_read_a_plane_of_a_cube(point, originals, tmp_path):
    cubes = [case for case in sample("gdal", 3) if min(case.shape) > 1]
    assert len(cubes) >= 4
    for case in cubes[:6]:
        values = originals[case.name]
        last = case.shape[0] - 1
        name = case.name.split("/")[1]
        run("gdal_translate", "-q", "-of", "ENVI", f'ZARR:"{point / "gdal" / case.name}":/{name}:{last}', tmp_path / name)
        assert describe(np.fromfile(tmp_path / name, values.dtype).reshape(case.shape[1:])) == describe(values[last]), case


@pytest.mark.parametrize("name", ["uint8", "int16", "int32", "int64", "bool"])
def test_ncdump_prints_the_values(point, originals, name):
    text = run("ncdump", "-l", "1000000", f"file://{point / 'netcdf' / name}#mode=zarr,file")
    for case in generated():
        if case.kind.name == name and serving("netcdf", case)[0] != NOT_SHOWN:
            printed, = re.findall(rf"^ {case.name.split('/')[1]} =([^;]*);", text, re.MULTILINE)
            missing = masked("netcdf", case)
            numbers = [missing if word.strip() == "_" else int(word) for word in printed.split(",")]
            assert numbers == originals[case.name].astype("int64").ravel().tolist(), case
