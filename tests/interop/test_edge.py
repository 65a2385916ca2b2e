"""One tiny store an edge case: values, a missing file, EIO, or no array at all (sharding specification, "Binary shard format",
and core specification, "Array metadata"). TABLE says which of these it is in each view. Every case is an array below one made-up
root group, so that one mount serves all."""

import dataclasses
import errno
import json
import re
import subprocess

import numpy as np
import pytest
from arrays import write_group
from corpus import PLACE, copy
from digest import describe
from expectations import GDAL_READS
from mounts import READERS_OF_VIEWS, mounted, run_reader, zarrctl
from serving import why_not_shown
from strict import problems_below

# view -> reader
READERS = {"v2": "zarr-python-2", "v3": "zarr-python-3", "gdal": "gdal", "netcdf": "netcdf"}

CASES = sorted(path.name for path in (PLACE / "edge").iterdir() if path.is_dir())

COUNTING = np.arange(24, dtype="int32").reshape(4, 6)


def counting(*replaced):
    """The values 0 to 23, with the chunk of 2 x 3 at (row, column) replaced by another one or by a number."""
    values = COUNTING.copy()
    for row, column, source in replaced:
        values[2 * row:2 * row + 2, 3 * column:3 * column + 3] = source
    return values


def filled(value, dtype="int32", shape=(4, 6)):
    return np.full(shape, np.array(value, dtype))


# What lies at bytes 90 to 113 of the shard: the last data and the first index entry.
OVER_THE_INDEX = np.frombuffer((PLACE / "edge/overlap_index/c/0/0").read_bytes()[90:114], "<i4").reshape(2, 3)
NAN_WITH_PAYLOAD = filled(0x7FC00001, "uint32").view("float32")

# Outcomes. A case has one in each view.


@dataclasses.dataclass(frozen=True)
class Values:
    """The array is read, with these values. Chunks that are not stored, as (row, column), are files of fill values, or no files."""

    values: np.ndarray
    missing: tuple = ()
    made_up: tuple = ()


@dataclasses.dataclass(frozen=True)
class Damaged:
    """These chunks are listed, and reading them is EIO; the other ones are whole. A reader reports an error."""

    chunks: tuple


@dataclasses.dataclass(frozen=True)
class NotListed:
    """The view does not show the array; `zarrctl info` gives the reason."""

    reason: str


@dataclasses.dataclass(frozen=True)
class NotKnown:
    """The view shows the array, but its reader does not know the type or codec: what it says of it."""

    error: str


def same(outcome, **others):
    """The same outcome in each view but for `others`."""
    return {**dict.fromkeys(READERS, outcome), **others}


def shown(values, **others):
    return same(Values(values), **others)


def unstored(values, *chunks):
    """Of chunks that are not stored: the old readers for which the fill value is not said need a file."""
    made_up = Values(values, made_up=chunks)
    return same(Values(values, missing=chunks), gdal=made_up, netcdf=made_up)


def said_only_in_v3(values):
    """An array of one chunk that is not stored, of a fill value that .zarray cannot say to the last bit."""
    return same(Values(values, made_up=((0, 0),)), v3=Values(values, missing=((0, 0),)))


def only(v2, v3=None, **hidden):
    """Not shown by the other views; `hidden`: view -> the reason."""
    return {"v2": Values(v2), "v3": v3 or Values(v2), **{view: NotListed(reason) for view, reason in hidden.items()}}


def numbers_of(v2, wide):
    """Numbers that numpy does not have: bytes to zarr-python 2, unknown to zarr-python 3, in a wider type to the others."""
    numbers = Values(np.zeros(2, wide))
    return shown(np.zeros(2, v2), v3=NotKnown("No Zarr data type found"), gdal=numbers, netcdf=numbers)


# What lies at bytes 90 to 113 of the shard: the last data and the first index entry.
OVER_THE_INDEX = np.frombuffer((PLACE / "edge/overlap_index/c/0/0").read_bytes()[90:114], "<i4").reshape(2, 3)
NAN_WITH_PAYLOAD = filled(0x7FC00001, "uint32").view("float32")
TWO_RAW = np.frombuffer(b"\1\2" * 2, "V2")
SCALAR = shown(np.array(42, "int32"), netcdf=Values(np.array([42], "int32")))
COMPLEX = {"netcdf": NotListed("data type 'complex64'")}
RAW = dict.fromkeys(["gdal", "netcdf"], "data type 'r16'")
EMPTY = dict.fromkeys(["gdal", "netcdf"], "empty dimension")

# The index entry of this chunk cannot be right; nothing can be known of the shard.
DAMAGED_CHUNK = same(Damaged(((0, 1),)))
DAMAGED_SHARD = same(Damaged(tuple(np.ndindex(2, 2))))

TABLE = {
    **dict.fromkeys([
        "ok", "ok_start", "idx_be", "idx_nocrc", "idx_transposed", "inner_crc", "inner_transpose", "nested", "outer_crc",
        "outer_transpose", "m_bytes_noendian_i4", "m_chunkshape_float", "m_cke_default_noconf", "m_cke_dot", "m_cke_old_str",
        "m_cke_short", "m_cke_v2", "m_cke_v2_slash", "m_codecs_empty", "m_dimnull", "m_dtype_obj", "m_endian_name",
        "m_extensions_empty", "m_noattrs", "m_nocodecs", "m_nofill", "m_short_codec", "m_storage_tr_empty", "m_unknown_mu_false",
        "outer_gzip",
    ], shown(COUNTING)),

    # Shards: what an index may say, odd as it is, and what it cannot.
    "all_empty": unstored(filled(9), *np.ndindex(2, 2)),
    "missing_shard": unstored(filled(9), *np.ndindex(2, 2)),
    "empty1": unstored(counting((0, 1, 9)), (0, 1)),
    "dup": shown(counting((0, 1, COUNTING[:2, :3]))),
    "overlap": shown(counting((0, 1, [[6, 7, 8], [3, 4, 5]]))),  # bytes of two other chunks
    "overlap_index": shown(counting((0, 1, OVER_THE_INDEX))),  # every reader accepts it
    # Chunks of a shard that lie outside the array do not exist.
    "edge": same(Values(np.array([[0, 1, 2, 3], [6, 7, 8, 9], [12, 13, 14, 15]], "int32"), missing=((2, 0),))),
    "edge_shard_missing_outer": same(Values(np.array([[0, 1, 2], [6, 7, 8], [12, 13, 14]], "int32"), missing=((0, 1),))),
    **dict.fromkeys([
        "empty_len_only", "empty_off_only", "huge_len", "len0", "long_len", "oob", "past_end", "short_len", "wrap", "wrap2",
        "zero_zero",
    ], DAMAGED_CHUNK),
    **dict.fromkeys(["file_empty", "idx_badcrc", "trunc_index"], DAMAGED_SHARD),
    "idx_gzip": same(NotListed("index_codecs make the size of the index vary")),
    "inner_gt_shard": same(NotListed("inner chunk shape [8, 12] does not divide the shard shape [4, 6]")),
    "nodivide": same(NotListed("inner chunk shape [3, 4] does not divide the shard shape [4, 6]")),

    # Metadata: what must not be passed over, and what the v3 view passes on without having to understand it.
    "m_storage_tr_one": same(NotListed("storage_transformers: expected none")),
    "m_unknown_field": same(NotListed('"foo": unknown member without "must_understand": false')),
    "m_unknown_mu_true": same(NotListed('"foo": unknown member without "must_understand": false')),
    "m_codec_mu_false": same(NotListed("codec 'example.foo' is not known"), v3=NotKnown("Unknown codec: 'example.foo'")),
    "m_fill_null": shown(filled(0)),
    "m_bytes_short_u1": shown(np.array([1, 2, 3, 4], "uint8")),

    # Fill values.
    "i4_float": unstored(filled(3), (0, 0)),
    "b_int": shown(filled(False, "bool"), netcdf=Values(filled(0, "uint8"))),
    "u8_max": unstored(filled(2**64 - 1, "uint64"), (0, 0)),
    "c8_alias": shown(filled(0, "complex64"), **COMPLEX),
    "c8_num": {**unstored(filled(1.5, "complex64"), (0, 0)), **COMPLEX},
    "c8_arr": {**said_only_in_v3(filled(complex(1.5, np.nan), "complex64")), **COMPLEX},
    **dict.fromkeys(["f4_bin", "f4_hex", "f4_hexup"], said_only_in_v3(NAN_WITH_PAYLOAD)),
    "f4_hex_short": unstored(filled(0x7F, "uint32").view("float32"), (0, 0)),
    "f4_exp": unstored(filled(1000, "float32"), (0, 0)),
    "f4_inf": unstored(filled(np.inf, "float32"), (0, 0)),
    "f4_int": unstored(filled(1, "float32"), (0, 0)),
    "f4_nan": unstored(filled(np.nan, "float32"), (0, 0)),
    "f4_negz": unstored(filled(-0.0, "float32"), (0, 0)),
    "f4_pinf": unstored(filled(np.inf, "float32"), (0, 0)),

    # Types and shapes. (zarr-python 3 knows r16 only by its other spelling, raw_bytes.)
    "r16": only(TWO_RAW, NotKnown("No Zarr data type found"), **RAW),
    "raw_bytes": only(TWO_RAW, **RAW),
    "dt_bfloat16": numbers_of("V2", "float32"),
    "dt_float8_e4m3": numbers_of("V1", "float32"),
    "dt_int4": numbers_of("V1", "int8"),
    "dt_uint2": numbers_of("V1", "uint8"),
    **dict.fromkeys(["scalar", "scalar_shard", "scalar_v2key"], SCALAR),
    "chunk0_dim0": only(filled(0, shape=(0, 6)), **EMPTY),
    "zero_len": only(filled(0, shape=(0, 6)), **EMPTY),
}


def rows(kind):
    return [(view, case) for case, outcomes in TABLE.items() for view, outcome in outcomes.items() if isinstance(outcome, kind)]


def outcome_of(view, case):
    return TABLE[case][view]


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    folder = copy("edge", tmp_path_factory.mktemp("edge") / "store")
    write_group(folder)
    return folder


@pytest.fixture(scope="session")
def point(store):
    with mounted(store) as point:
        yield point


@pytest.fixture(scope="session")
def information(store):
    """case -> what zarrctl says of it."""
    return {node["path"]: node for node in json.loads(zarrctl("info", "--json", store).stdout)["nodes"]}


@pytest.fixture(scope="session")
def readings(point):
    """view -> case -> what its reader saw of all that the table says to be shown; netCDF opens the group once for all."""
    names = {view: [case for case in TABLE if not isinstance(TABLE[case][view], NotListed)] for view in READERS}
    return {
        view: dict(zip(names[view], run_reader(READERS_OF_VIEWS[reader][1], [point / view / name for name in names[view]])))
        for view, reader in READERS.items()}


def chunk_file(point, view, case, row, column):
    folder = point / view / case
    return folder / "c" / str(row) / str(column) if view == "v3" else folder / f"{row}.{column}"


def listing(folder):
    return [entry.name for entry in folder.iterdir()] if folder.exists() else []


def reads_eio(path):
    # Old readers take a file that cannot be looked up for a missing chunk, which is fill values: the error comes with the data.
    assert path.is_file() and path.stat().st_size > 0
    try:
        path.read_bytes()
    except OSError as error:
        return error.errno == errno.EIO
    return False


def test_every_case_of_the_corpus_has_an_outcome_in_each_view():
    assert sorted(TABLE) == CASES
    assert all(set(outcomes) == set(READERS) for outcomes in TABLE.values())


@pytest.mark.parametrize("view,case", rows(Values))
def test_values(readings, view, case):
    entry, values = readings[view][case], outcome_of(view, case).values
    assert "error" not in entry, entry
    types = GDAL_READS.get(values.dtype.str, [values.dtype]) if view == "gdal" else [values.dtype]
    wanted = [describe(values.astype(dtype)) for dtype in types]
    assert {key: entry[key] for key in wanted[0]} in wanted


@pytest.mark.parametrize("view,case", [row for row in rows(Values) if outcome_of(*row).missing])
def test_a_chunk_that_is_not_there_has_no_file(point, view, case):
    for row, column in outcome_of(view, case).missing:
        path = chunk_file(point, view, case, row, column)
        assert path.name not in listing(path.parent)
        with pytest.raises(FileNotFoundError):
            path.stat()


@pytest.mark.parametrize("view,case", [row for row in rows(Values) if outcome_of(*row).made_up])
def test_a_chunk_that_is_not_stored_is_a_file_of_fill_values(point, information, view, case):
    outcome = outcome_of(view, case)
    height, width = information[case]["chunk_shape"]
    for row, column in outcome.made_up:
        path = chunk_file(point, view, case, row, column)
        assert path.name in listing(path.parent)
        assert path.read_bytes() == outcome.values[height * row:height * (row + 1), width * column:width * (column + 1)].tobytes()


@pytest.mark.parametrize("view,case", rows(Damaged))
def test_damaged_chunks_are_eio_and_the_others_are_whole(point, readings, view, case):
    for row, column in np.ndindex(2, 2):
        path = chunk_file(point, view, case, row, column)
        assert path.name in listing(path.parent)
        if (row, column) in outcome_of(view, case).chunks:
            assert reads_eio(path)
        else:
            assert path.read_bytes() == COUNTING[2 * row:2 * row + 2, 3 * column:3 * column + 3].tobytes()
    # (GDAL has read nothing, and says that this is too little.)
    assert ("has not expected size" if view == "gdal" else "Input/output error") in readings[view][case]["error"]


@pytest.mark.parametrize("view,case", rows(NotListed))
def test_what_a_view_does_not_show_is_not_listed_for_the_reason(point, information, view, case):
    assert case not in listing(point / view)
    assert not (point / view / case).exists()
    assert outcome_of(view, case).reason in why_not_shown(information[case], view)


@pytest.mark.parametrize("view,case", rows((Values, Damaged, NotKnown)))
def test_what_a_view_shows_is_listed(point, information, view, case):
    assert case in listing(point / view)
    assert not why_not_shown(information[case], view)


@pytest.mark.parametrize("view,case", rows(NotKnown))
def test_what_a_reader_does_not_know_it_still_does_not(readings, view, case):
    assert outcome_of(view, case).error in readings[view][case]["error"]


@pytest.mark.parametrize("case", [case for view, case in rows(NotKnown) if view == "v3"])
def test_the_v3_view_passes_on_what_it_need_not_understand(point, store, case):
    original = json.loads((store / case / "zarr.json").read_text())
    shown = json.loads((point / "v3" / case / "zarr.json").read_text())
    assert shown["data_type"] == original["data_type"]
    named = [codec if isinstance(codec, str) else codec["name"] for codec in original["codecs"]]
    assert [codec["name"] for codec in shown["codecs"]] == named


def test_the_metadata_of_the_v3_view_are_strictly_those_of_the_specification(point, store):
    found, count = problems_below(point / "v3")
    assert not found
    assert count == 1 + len([case for case in TABLE if not isinstance(TABLE[case]["v3"], NotListed)])
    assert len(problems_below(store)[0]) >= 15  # the originals are not


def test_a_damaged_array_spoils_none_of_its_neighbours_in_netcdf(point, readings):
    """All arrays of the group were read from one opened data set."""
    address = f"file://{point / 'netcdf'}#mode=zarr,file"
    seen = subprocess.run(["ncdump", "-h", address], capture_output=True, text=True, timeout=120)
    assert seen.returncode == 0, seen.stderr
    assert sorted(re.findall(r"^\t\w+ (\w+)\(", seen.stdout, re.MULTILINE)) == sorted(readings["netcdf"])
    damaged = {case for view, case in rows(Damaged) if view == "netcdf"}
    assert {case for case, entry in readings["netcdf"].items() if "error" in entry} == damaged


def test_verify_names_every_damaged_array_and_no_other(store):
    result = zarrctl("verify", store)
    assert result.returncode == 1
    named = {case for case in CASES for line in result.stdout.splitlines() if line.startswith(case + "/")}
    assert named >= {case for _, case in rows(Damaged)}
    assert not named & {case for _, case in rows(Values)}
