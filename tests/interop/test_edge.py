"""One tiny store an edge case: values, a missing file, EIO, or no array at all (sharding specification, "Binary shard format",
and core specification, "Array metadata"). Every case is an array below one made-up root group, so that one mount serves all."""

import errno
import json
import re

import numpy as np
import pytest
from arrays import write_group
from corpus import PLACE, copy
from digest import describe
from mounts import mounted, read, zarrctl

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

# Shown and read: the values, in both views unless a list says otherwise.
VALUES = {
    **dict.fromkeys([
        "ok", "ok_start", "idx_be", "idx_nocrc", "idx_transposed", "inner_crc", "inner_transpose", "nested", "outer_crc",
        "outer_transpose", "m_bytes_noendian_i4", "m_chunkshape_float", "m_cke_default_noconf", "m_cke_dot", "m_cke_old_str",
        "m_cke_short", "m_cke_v2", "m_cke_v2_slash", "m_codecs_empty", "m_dimnull", "m_dtype_obj", "m_endian_name",
        "m_extensions_empty", "m_noattrs", "m_nocodecs", "m_nofill", "m_short_codec", "m_storage_tr_empty", "m_unknown_mu_false", "outer_gzip",
    ], COUNTING),
    "all_empty": filled(9),
    "missing_shard": filled(9),
    "empty1": counting((0, 1, 9)),
    "dup": counting((0, 1, COUNTING[:2, :3])),
    "overlap": counting((0, 1, [[6, 7, 8], [3, 4, 5]])),  # bytes of two other chunks
    "overlap_index": counting((0, 1, OVER_THE_INDEX)),  # odd, but every reader accepts it
    "edge": np.array([[0, 1, 2, 3], [6, 7, 8, 9], [12, 13, 14, 15]], "int32"),
    "edge_shard_missing_outer": np.array([[0, 1, 2], [6, 7, 8], [12, 13, 14]], "int32"),
    "m_bytes_short_u1": np.array([1, 2, 3, 4], "uint8"),
    "m_fill_null": filled(0),
    "i4_float": filled(3),
    "b_int": filled(False, "bool"),
    "u8_max": filled(2**64 - 1, "uint64"),
    "c8_alias": filled(0, "complex64"),
    "c8_num": filled(1.5, "complex64"),
    "c8_arr": filled(complex(1.5, np.nan), "complex64"),
    "f4_bin": NAN_WITH_PAYLOAD,
    "f4_hex": NAN_WITH_PAYLOAD,
    "f4_hexup": NAN_WITH_PAYLOAD,
    "f4_hex_short": filled(0x7F, "uint32").view("float32"),
    "f4_exp": filled(1000, "float32"),
    "f4_inf": filled(np.inf, "float32"),
    "f4_int": filled(1, "float32"),
    "f4_nan": filled(np.nan, "float32"),
    "f4_negz": filled(-0.0, "float32"),
    "f4_pinf": filled(np.inf, "float32"),
    "r16": np.frombuffer(b"\1\2" * 2, "V2"),
    "raw_bytes": np.frombuffer(b"\1\2" * 2, "V2"),
    "scalar": np.array(42, "int32"),
    "scalar_shard": np.array(42, "int32"),
    "scalar_v2key": np.array(42, "int32"),
    "chunk0_dim0": filled(0, shape=(0, 6)),
    "zero_len": filled(0, shape=(0, 6)),
    **dict.fromkeys(["dt_float8_e4m3", "dt_int4", "dt_uint2"], np.zeros(2, "V1")),
    "dt_bfloat16": np.zeros(2, "V2"),
}

# The index entry of the chunk at row 0, column 1 cannot be right: EIO for this one, the others are read.
DAMAGED_CHUNK = [
    "empty_len_only", "empty_off_only", "huge_len", "len0", "long_len", "oob", "past_end", "short_len", "wrap", "wrap2", "zero_zero"]

# Nothing can be known of the shard: EIO for each of its chunks.
DAMAGED_SHARD = ["file_empty", "idx_badcrc", "trunc_index"]

# The metadata say what must not be passed over: no view shows the array.
REFUSED = {
    "idx_gzip": "an index of variable size",
    "inner_gt_shard": "inner chunks larger than the shard",
    "nodivide": "inner chunks do not divide the shard",
    "m_storage_tr_one": "a storage transformer",
    "m_unknown_field": "an unknown member",
    "m_unknown_mu_true": "an unknown member that must be understood",
}

# The v3 view passes on what it need not understand; v2 has no word for it.
ONLY_IN_V3 = {"m_codec_mu_false": "codec"}

# zarr-python 3 knows only the other spelling of r16, raw_bytes, and no numbers that numpy does not have.
NOT_READ_IN_V3 = ["r16", "dt_bfloat16", "dt_float8_e4m3", "dt_int4", "dt_uint2"]

READERS = {"v2": "zarr-python-2", "v3": "zarr-python-3"}


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
def readings(point):
    """view -> case -> what its reader saw."""
    names = sorted([*VALUES, *DAMAGED_CHUNK, *DAMAGED_SHARD])
    return {view: dict(zip(names, read(reader, [point / view / name for name in names]))) for view, reader in READERS.items()}


def chunk_file(point, view, case, row, column):
    folder = point / view / case
    return folder / f"{row}.{column}" if view == "v2" else folder / "c" / str(row) / str(column)


def is_shown(point, view, case):
    shown = case in [entry.name for entry in (point / view).iterdir()]
    assert shown == (point / view / case).exists()
    return shown


def reads_eio(path):
    # Old readers take a file that cannot be looked up for a missing chunk, which is fill values: the error comes with the data.
    assert path.is_file() and path.stat().st_size > 0
    try:
        path.read_bytes()
    except OSError as error:
        return error.errno == errno.EIO
    return False


def test_every_case_of_the_corpus_has_one_expectation():
    lists = [*VALUES, *DAMAGED_CHUNK, *DAMAGED_SHARD, *REFUSED, *ONLY_IN_V3]
    assert sorted(lists) == CASES


@pytest.mark.parametrize("view,case", [
    (view, case) for view in READERS for case in VALUES if view == "v2" or case not in NOT_READ_IN_V3])
def test_values(readings, view, case):
    entry = readings[view][case]
    assert "error" not in entry
    wanted = describe(VALUES[case])
    assert {key: entry[key] for key in wanted} == wanted


@pytest.mark.parametrize("view", READERS)
@pytest.mark.parametrize("case,row,column", [
    ("all_empty", 0, 0), ("missing_shard", 0, 0), ("empty1", 0, 1), ("edge_shard_missing_outer", 0, 1), ("edge", 2, 0)])
def test_a_chunk_that_is_not_there_has_no_file(point, view, case, row, column):
    path = chunk_file(point, view, case, row, column)
    assert not path.exists()
    assert not path.parent.exists() or path.name not in [entry.name for entry in path.parent.iterdir()]


@pytest.mark.parametrize("view", READERS)
@pytest.mark.parametrize("case", DAMAGED_CHUNK)
def test_a_damaged_chunk_is_eio_and_the_others_are_whole(point, readings, view, case):
    assert reads_eio(chunk_file(point, view, case, 0, 1))
    for row, column in [(0, 0), (1, 0), (1, 1)]:
        chunk = COUNTING[2 * row:2 * row + 2, 3 * column:3 * column + 3]
        assert chunk_file(point, view, case, row, column).read_bytes() == chunk.tobytes()
    assert "error" in readings[view][case]


@pytest.mark.parametrize("view", READERS)
@pytest.mark.parametrize("case", DAMAGED_SHARD)
def test_each_chunk_of_a_damaged_shard_is_listed_and_eio(point, readings, view, case):
    for row, column in np.ndindex(2, 2):
        path = chunk_file(point, view, case, row, column)
        assert path.name in [entry.name for entry in path.parent.iterdir()]
        assert reads_eio(path)
    assert "error" in readings[view][case]


@pytest.mark.parametrize("case", [*DAMAGED_CHUNK, *DAMAGED_SHARD])
def test_gdal_sees_the_damage_too(point, case):
    entry, = read("gdal", [point / "v2" / case])
    assert "error" in entry


@pytest.mark.parametrize("view,case", [
    *((view, case) for view in READERS for case in REFUSED), *(("v2", case) for case in ONLY_IN_V3)])
def test_what_a_view_must_not_show_is_not_shown(point, view, case):
    assert not is_shown(point, view, case)


@pytest.mark.parametrize("case", ONLY_IN_V3)
def test_the_v3_view_passes_on_what_it_need_not_understand(point, store, case):
    assert is_shown(point, "v3", case)
    original = json.loads((store / case / "zarr.json").read_text())
    shown = json.loads((point / "v3" / case / "zarr.json").read_text())
    assert shown["data_type"] == original["data_type"]
    assert [codec["name"] for codec in shown["codecs"]] == [codec["name"] for codec in original["codecs"]]


@pytest.mark.parametrize("case", [*REFUSED, *ONLY_IN_V3])
def test_info_gives_the_reason(store, case):
    result = zarrctl("info", store / case)
    assert re.search(r"not shown: \S", result.stdout), result.stdout + result.stderr


def test_verify_names_every_damaged_array_and_no_other(store):
    result = zarrctl("verify", store)
    assert result.returncode == 1
    named = {case for case in CASES for line in result.stdout.splitlines() if line.startswith(case + "/")}
    assert named >= {*DAMAGED_CHUNK, *DAMAGED_SHARD}
    assert not named & {*VALUES}
