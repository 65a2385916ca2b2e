"""`zarrctl map` draws what the indexes of the shards hold."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from mounts import IS_SANITIZED, ZARRCTL, zarrctl
from zarrctl_runs import document, flip, peak_of, refused, terminal


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A store to draw: `t` (shards of 2 x 2 x 3 chunks, the first slice empty), `flat` (no shards), `line` (one axis)."""
    import zarr

    folder = tmp_path_factory.mktemp("map") / "drawn.zarr"
    group = zarr.create_group(str(folder))
    random = np.random.default_rng(1)
    values = random.integers(1, 1 << 20, (4, 12, 24)).astype("u4")
    t = group.create_array("t", shape=(4, 12, 24), chunks=(1, 2, 2), shards=(2, 4, 6), dtype="u4", dimension_names=["time", "lat", "lon"])
    t[1:, :4, 6:18] = values[1:, :4, 6:18]
    t[1:, 8:11, 15:20] = values[1:, 8:11, 15:20] % 3
    flat = group.create_array("flat", shape=(30, 50), chunks=(10, 10), dtype="u4")
    flat[:, 10:35] = random.integers(0, 1 << 31, (30, 25))
    line = group.create_array("line", shape=(5000,), chunks=(10,), shards=(100,), dtype="u4")
    line[500:3300] = np.arange(1, 2801)
    return folder


def index_of(shard, count):
    """The entries of an index at the end of a shard: place -> (offset, length)."""
    content = shard.read_bytes()
    pairs = np.frombuffer(content[-16 * count - 4:-4], "<u8").reshape(-1, 2)
    return {i: (int(offset), int(length)) for i, (offset, length) in enumerate(pairs) if offset != (1 << 64) - 1}


def stored_chunks(folder, per_shard):
    """What the indexes of all shards of an array hold: chunk -> (object, offset, length, position in the shard)."""
    chunks = {}
    for shard in folder.glob("c/**/*"):
        if not shard.is_file():
            continue
        outer = [int(part) for part in shard.relative_to(folder / "c").parts]
        entries = index_of(shard, int(np.prod(per_shard)))
        by_offset = sorted(entries, key=lambda place: entries[place][0])
        for place, (offset, length) in entries.items():
            inner = np.unravel_index(place, per_shard)
            chunk = tuple(int(o * n + i) for o, n, i in zip(outer, per_shard, inner))
            chunks[chunk] = (str(shard.relative_to(folder.parent)), offset, length, by_offset.index(place))
    return chunks


def test_map_says_of_each_chunk_what_the_index_says(drawn):
    chunks = stored_chunks(drawn / "t", (2, 2, 3))
    for number in range(4):
        answer = document("map", drawn / "t", "--slice", number)
        cells = {tuple(cell["chunk"]): (cell["object"], cell["offset"], cell["bytes"], cell["position"]) for cell in answer["cells"]}
        assert cells == {chunk: what for chunk, what in chunks.items() if chunk[0] == number}
        assert (answer["slice"], answer["places"], answer["stored"]) == ([number], 72, len(cells))
        assert answer["bytes"] == sum(length for _, _, length, _ in cells.values())


def test_map_takes_the_first_slice_that_has_chunks(drawn):
    assert document("map", drawn, "t")["slice"] == [1]
    for wrong in ["4", "1,1", "-1", "x", "1,"]:
        assert "for example --slice 0" in refused("map", drawn, "t", "--slice", wrong)
    assert "more than two axes" in refused("map", drawn, "flat", "--slice", "0")


def test_map_of_what_is_no_array_of_shards_is_refused(drawn):
    assert "--by size or --by present" in refused("map", drawn, "flat", "--by", "order")
    assert "zarrctl ls" in refused("map", drawn)


def drawing(text):
    """The part of a drawn map between its numbers and its legend: lines without their labels."""
    lines = text.split("\n\n")[1].splitlines()[1:]
    return [line[len(re.match(r" *\d+ | +", line)[0]):] for line in lines]


def as_text(*arguments, columns=80, locale="C.UTF-8", code=0):
    result = subprocess.run([ZARRCTL, "map", *map(str, arguments)], capture_output=True, text=True, encoding="utf-8",
                            env={**os.environ, "COLUMNS": str(columns), "LINES": "40", "LC_ALL": locale})
    assert result.returncode == code, result.stderr
    return result.stdout


def test_text_has_a_block_for_each_stored_chunk(drawn):
    stored = document("map", drawn / "t")["stored"]
    text = as_text(drawn / "t", "--by", "present", columns=20)
    assert sum(line.count("█") for line in drawing(text)) == stored
    wide = as_text(drawn / "t", "--by", "present")
    assert sum(line.count("█") for line in drawing(wide)) == 2 * stored
    assert sum(line.count("·") for line in drawing(wide)) == 4 * 6 - stored  # the places of four shards
    assert "│" in wide and "┼" in wide and "axis 1 (lat)" in wide


def test_text_is_ascii_where_the_locale_is(drawn):
    for by in ["size", "order", "present"]:
        text = as_text(drawn / "t", "--by", by, locale="C")
        assert text.isascii()
        assert not as_text(drawn / "t", "--by", by, locale="de_DE.UTF-8").isascii()
    assert sum(line.count("#") for line in drawing(as_text(drawn / "t", "--by", "present", locale="C", columns=20))) == \
        document("map", drawn / "t")["stored"]


def test_text_numbers_the_chunks_of_a_small_shard(drawn):
    chunks = stored_chunks(drawn / "t", (2, 2, 3))
    row = [f"{chunks[(1, 0, column)][3]:>2}" for column in range(3, 9)]
    assert "│" + "".join(row[:3]) + "│" + "".join(row[3:]) + "│" in drawing(as_text(drawn / "t", "--by", "order"))[0]


@pytest.mark.parametrize("columns", [10, 20, 33, 47, 80, 200])
@pytest.mark.parametrize("name", ["t", "flat", "line"])
def test_text_fits_the_terminal(drawn, name, columns):
    text = as_text(drawn / name, columns=columns)
    assert all(len(line) <= columns for line in text.splitlines()), text


def test_text_takes_the_width_of_the_terminal(drawn):
    def width(columns):
        code, text = terminal("map", drawn / "line", TERM="xterm", LC_ALL="C.UTF-8", NO_COLOR="1", COLUMNS=columns)
        assert code == 0
        return max(len(line) for line in text.splitlines())

    assert 30 < width("40") <= 40 and 60 < width("80") <= 80


def test_map_of_one_axis_is_folded(drawn):
    text = as_text(drawn / "line", "--by", "present")
    assert sum(line.count("█") for line in drawing(text)) == 280
    assert document("map", drawn / "line")["stored"] == 280
    labels = [int(line.split()[0]) for line in text.split("\n\n")[1].splitlines()[1:]]
    assert labels == list(range(0, 500, labels[1]))


def test_map_of_ten_million_chunks_is_bounded(tmp_path):
    import google_crc32c

    count = 100 * 1000  # chunks of a shard, one byte each
    index = np.stack([np.arange(count, dtype="<u8"), np.ones(count, "<u8")], axis=1).tobytes()
    shard = bytes(count) + index + google_crc32c.value(index).to_bytes(4, "little")
    codecs = [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, 1], "codecs": [{"name": "bytes"}], "index_codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}], "index_location": "end"}}]
    (tmp_path / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [10000, 1000], "data_type": "uint8", "fill_value": 1, "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000, 100]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}}))
    (tmp_path / "c.0.0").write_bytes(shard)
    for i in range(1, 10):
        os.link(tmp_path / "c.0.0", tmp_path / f"c.{i}.{i}")

    def run(*arguments):
        code, _, peak = peak_of("map", tmp_path, *arguments, out=tmp_path / "out")
        assert code == 0
        return (tmp_path / "out").read_text(), peak

    text, _ = run()
    assert len(text.splitlines()) < 60 and max(map(len, text.splitlines())) <= 80 and "of 10000000 chunks" in text
    text, _ = run("--json")
    answer = json.loads(text)
    assert (answer["places"], answer["stored"], sum(cell["stored"] for cell in answer["cells"])) == (10 ** 7, 10 ** 6, 10 ** 6)
    assert len(answer["cells"]) <= 10 ** 4 and len(text) < 10 ** 7
    _, peak = run("--by", "order")
    assert IS_SANITIZED or peak < 600


def test_damaged_and_unreadable_shards_are_shown_and_named(tmp_path, drawn):
    copy = tmp_path / "store"
    shutil.copytree(drawn, copy)
    shard = copy / "t/c/0/0/1"
    flip(shard, shard.stat().st_size - 1)
    (copy / "t/c/0/0/2").write_bytes(b"short")
    assert json.loads(zarrctl("map", copy / "t", "--json").stdout)["slice"] == [1]  # damage is not what to look at first
    result = zarrctl("map", copy / "t", "--slice", "1", "--json")
    assert result.returncode == 1
    assert sorted(line.split(":")[1].strip() for line in result.stderr.splitlines()) == ["t/c/0/0/1", "t/c/0/0/2"]
    answer = json.loads(result.stdout)
    damaged = {tuple(cell["chunk"]) for cell in answer["cells"] if cell["damaged"]}
    assert {(1, row, column) for row in range(2) for column in range(3, 6)} <= damaged
    assert answer["damaged"] == len(damaged)
    assert sum(line.count("×") for line in drawing(as_text(copy / "t", "--slice", "1", columns=20, code=1))) == len(damaged)
    assert sum(line.count("X") for line in drawing(as_text(copy / "t", "--slice", "1", locale="C", code=1))) == len(damaged)


def test_names_are_safe_in_a_map(tmp_path):
    name = 'a<b>&"\x1b[31m\udcff'
    (tmp_path / name).mkdir()
    (tmp_path / name / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 0, "codecs": [{"name": "bytes"}],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"},
        "dimension_names": ["<&\x07>"]}))
    # (Its first line has 80 columns, so a long path would be cut within the name.)
    result = subprocess.run([ZARRCTL, "map", name], cwd=tmp_path, capture_output=True)
    assert result.returncode == 0, result.stderr
    assert b'a<b>&"\\x1b' in result.stdout and b"(<&\\x07>)" in result.stdout
