"""What zarrctl says of a store is what the files hold: compared with the bytes on disk and with zarr-python."""

import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
from arrays import ARRAYS, write_group, write_store
from corpus import PLACE
from mounts import ROOT, ZARRCTL, mounted, zarrctl

SAMPLE = ROOT / "tests/data/sample.zarr"
BY_NAME = {array.name: array for array in ARRAYS}
NAMES = ["codec/gzip", "codec/gzip-crc32c", "codec/f-order-3d", "missing/chunk-in-shard", "nested/two", "nested/checksum-around-shard",
         "key/v2-dot", "key/default-dot-unsharded", "key/v2-dot-scalar", "attributes"]


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zarrctl") / "store"
    write_store("zarr-python", folder, [BY_NAME[name] for name in NAMES])
    return folder


def told(*arguments, code=0):
    """The JSON document that zarrctl prints."""
    result = zarrctl(*arguments, "--json")
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def refused(*arguments, code=1):
    """The one line that zarrctl prints instead of an answer."""
    result = zarrctl(*arguments)
    assert result.returncode == code, result.stdout + result.stderr
    line, = result.stderr.splitlines()
    assert line.startswith("zarrctl: ")
    return line


def raw(*arguments):
    result = subprocess.run([ZARRCTL, *map(str, arguments)], capture_output=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def terminal(*arguments, keys=(), **environment):
    """Exit code and all that appears on a terminal; `keys`: (seconds, what is typed then)."""
    pid, fd = pty.fork()
    if pid == 0:
        for name in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        os.execv(ZARRCTL, ["zarrctl", *map(str, arguments)])
    output = b""
    start = time.monotonic()
    waiting = list(keys)
    try:
        while time.monotonic() - start < 60:
            if waiting and time.monotonic() - start > waiting[0][0]:
                os.write(fd, waiting.pop(0)[1])
            if not select.select([fd], [], [], 0.05)[0]:
                continue
            try:
                block = os.read(fd, 1 << 16)
            except OSError:  # EIO: the other end is closed
                break
            if not block:
                break
            output += block
    finally:
        os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output.decode()


def flip(path, offset):
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def chunk_of(array, coordinates):
    """The elements of a chunk, those outside the array left out."""
    region = tuple(slice(i * n, (i + 1) * n) for i, n in zip(coordinates, array.chunks))
    return array.expected()[region]


# info

def test_info_tells_what_the_metadata_say(store):
    nodes = {node["path"]: node for node in told("info", store)["nodes"]}
    assert nodes[""]["node_type"] == nodes["codec"]["node_type"] == "group"
    assert {path for path, node in nodes.items() if node["node_type"] == "array"} == set(NAMES)
    for name in NAMES:
        array, node = BY_NAME[name], nodes[name]
        assert (tuple(node["shape"]), node["data_type"], tuple(node["chunk_shape"])) == (array.shape, array.data_type, array.chunks)
        assert node["shard_shape"] == (list(array.outer) if array.outer else None)
        assert node["chunks"] == np.prod([-(-s // c) for s, c in zip(array.shape, array.chunks)], dtype=int)
    assert nodes["attributes"]["dimension_names"] == ["lat", "lon"]
    assert nodes["key/v2-dot-scalar"]["views"]["v3"]["first_chunk"] == "0"


def test_info_says_what_a_view_does(store):
    lines = zarrctl("info", store, "codec/gzip-crc32c").stdout.splitlines()
    assert "    codecs   bytes(little), gzip(5), crc32c" in lines
    assert "    v2       cut: chunks without their last 4 bytes (checksum), order C, named 0.0" in lines
    assert "    v2       exact: chunks as they are, order F, named 0.0.0" in zarrctl("info", store, "codec/f-order-3d").stdout.splitlines()


def test_info_of_an_array_is_the_same_from_its_own_folder(store):
    assert told("info", store / "codec/gzip") == told("info", store, "codec/gzip")


def test_info_gives_the_reason_for_unusable_metadata(tmp_path):
    write_group(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/zarr.json").write_text("{")
    _, node = told("info", tmp_path)["nodes"]
    assert node["node_type"] == "unusable" and node["reason"]
    assert any(line.startswith("broken  not shown: ") for line in zarrctl("info", tmp_path).stdout.splitlines())


def test_control_characters_of_names_do_not_reach_the_terminal(tmp_path):
    write_group(tmp_path / "a\x1b[31m")
    assert "\x1b" not in zarrctl("info", tmp_path).stdout
    assert told("info", tmp_path)["nodes"][1]["path"] == "a\x1b[31m"


# ls

def test_ls_of_a_group_lists_the_nodes(store):
    assert [node["name"] for node in told("ls", store)["nodes"]] == sorted({name.split("/")[0] for name in NAMES})
    lines = zarrctl("ls", store / "key").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["default-dot-unsharded", "array"], ["v2-dot", "array"], ["v2-dot-scalar", "array"]]


def test_ls_of_an_array_lists_the_objects_and_counts_the_chunks(store):
    folder = store / "missing/chunk-in-shard"
    only, = told("ls", store, "missing/chunk-in-shard")["objects"]
    assert (only["key"], only["chunks"], only["places"]) == ("missing/chunk-in-shard/c/0/0", 2, 4)
    assert only["size"] == (folder / "c/0/0").stat().st_size
    chunks = told("ls", "-l", folder)["objects"][0]["chunk_list"]
    assert [chunk["chunk"] for chunk in chunks] == ["0.0", "1.1"]


def test_places_of_an_edge_shard_are_those_inside_the_array(store):
    places = {o["key"].removeprefix("codec/gzip/c/"): o["places"] for o in told("ls", store, "codec/gzip")["objects"]}
    assert places == {"0/0": 4, "0/1": 4, "1/0": 4, "1/1": 4}  # 4 x 4 chunks in shards of 2 x 2
    scalar, = told("ls", store, "key/v2-dot-scalar")["objects"]
    assert (scalar["key"], scalar["places"]) == ("key/v2-dot-scalar/0", 1)


# where, cat

@pytest.mark.parametrize("name", [name for name in NAMES if BY_NAME[name].shape])
def test_where_and_cat_agree_and_decoded_bytes_are_the_values(store, name):
    array = BY_NAME[name]
    coordinates = (1,) * len(array.shape)
    label = ".".join(map(str, coordinates))
    place = told("where", store / name, label)
    content = pathlib.Path(place["file"]).read_bytes()[place["offset"]:place["offset"] + place["length"]]
    assert raw("cat", store / name, label) == content
    chunk = np.frombuffer(raw("cat", "--decode", store, name, label), array.dtype.newbyteorder("<")).reshape(array.chunks)
    values = chunk_of(array, coordinates)
    assert np.array_equal(chunk[tuple(slice(n) for n in values.shape)], values)


def test_every_spelling_of_a_chunk_names_it(store):
    answers = [zarrctl("where", store / "codec/gzip", name).stdout for name in ["1.1", "1/1", "c/1/1", "c.1.1"]]
    assert len(set(answers)) == 1 and "offset" in answers[0]
    for name in ["01.1", "1.1.0", "1", "1.4", "-1.0", "c", "1./1", "", "1.1 "]:
        assert "no chunk of a grid of 4 x 4" in refused("where", store / "codec/gzip", name)


def test_an_array_without_dimensions_has_one_chunk(store):
    folder = store / "key/v2-dot-scalar"
    for words in [[], ["0"], ["c"]]:
        assert told("where", folder, *words)["file"] == str(folder / "0")


def test_a_missing_chunk_is_said_to_be_missing(store):
    folder = store / "missing/chunk-in-shard"
    for chunk in ["0.1", "3.3"]:  # not in its shard; no shard
        assert "not stored" in refused("where", folder, chunk)
        assert "not stored" in refused("cat", folder, chunk)
    assert told("where", folder, "0.1", code=1)["present"] is False


def test_where_finds_the_file_of_a_mount(store):
    with mounted(store) as point:
        for path, name, chunk in [("v3/codec/gzip/c/1/1", "codec/gzip", "1.1"), ("v2/codec/gzip/1.1", "codec/gzip", "1.1"),
                                  ("v2/key/v2-dot-scalar/0", "key/v2-dot-scalar", "0"), ("v2/nested/two/0.1", "nested/two", "0.1")]:
            place = told("where", point / path)
            view = place.pop("view")
            assert (view["name"], view["size"]) == (path.split("/")[0], (point / path).stat().st_size)
            assert place == told("where", store / name, chunk)
            content = pathlib.Path(place["file"]).read_bytes()[place["offset"]:place["offset"] + place["length"]]
            assert (point / path).read_bytes() == content
        # The v2 file leaves the checksum out, and so does its range.
        assert told("where", point / "v2/codec/gzip-crc32c/0.0")["length"] == (point / "v2/codec/gzip-crc32c/0.0").stat().st_size
        assert "not stored" in refused("where", point / "v2/missing/chunk-in-shard/0.1")
        refused("where", point / "v2/codec/gzip/.zarray")
        refused("where", point / "v2/codec")


def test_where_finds_the_file_of_a_mount_of_one_view(tmp_path, store):
    source = tmp_path / "with blank, and comma"
    shutil.copytree(store, source)
    with mounted(source, "view=v2") as point:
        place = told("where", point / "codec/gzip/1.1")
        assert place.pop("view")["name"] == "v2"
        assert place == told("where", source / "codec/gzip", "1.1")


# verify

def test_links_out_of_the_store_are_followed_where_that_is_said(tmp_path):
    store = tmp_path / "store"
    shutil.copytree(SAMPLE, store)
    outside = tmp_path / "outside/temperature"
    shutil.move(store / "temperature", outside.parent / "temperature")
    (store / "temperature").symlink_to(outside)
    name = "0.0.0"
    followed = told("where", "--links=follow", store, "temperature", name)
    assert (followed["offset"], followed["length"]) == tuple(told("where", SAMPLE, "temperature", name)[key] for key in ("offset", "length"))
    assert told("where", f"--links={outside.parent}", store, "temperature", name) == followed
    line = refused("where", "--links=inside", store, "temperature", name, code=2)
    assert f"temperature: a symbolic link to {outside}, which leaves the store" in line
    assert f"links={outside.parent} or links=follow" in line
    assert "not inside, follow or absolute folders" in refused("ls", "--links=outside", store)


def test_verify_counts_what_it_checked(store):
    answer = told("verify", store)
    assert (answer["complete"], answer["damaged"], answer["damage"], answer["unchecked"]) == (True, 0, [], [])
    objects = [path for path in store.rglob("*") if path.is_file() and path.name != "zarr.json"]
    assert (answer["arrays"], answer["objects"]) == (len(NAMES), len(objects))
    assert answer["chunks"] == sum(o["chunks"] for name in NAMES for o in told("ls", store, name)["objects"])


def test_verify_does_not_depend_on_the_number_of_threads():
    answers = [zarrctl("verify", SAMPLE, "--jobs", jobs).stdout for jobs in [1, 7]]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name,chunk,at", [  # zstd frames are written without a checksum: there the magic number is hit
    ("codec/gzip", "1.1", -6), ("codec/gzip-crc32c", "0.0", -1), ("key/default-dot-unsharded", "3.2", 0), ("nested/two", "0.1", 0)])
def test_verify_names_the_chunk_with_a_flipped_bit(tmp_path, store, name, chunk, at):
    copy = tmp_path / "store"
    shutil.copytree(store, copy)
    place = told("where", copy / name, chunk)
    flip(pathlib.Path(place["file"]), place["offset"] + at % place["length"])
    damage, = told("verify", copy, code=1)["damage"]
    assert copy / damage["key"] == pathlib.Path(place["file"])
    assert (damage["chunk"], damage["others"]) == (chunk, 0)
    line = zarrctl("verify", copy).stdout.splitlines()[0]
    assert line.startswith(f"{damage['key']}: chunk {chunk}: ")


def test_verify_checks_the_checksum_around_a_shard(tmp_path, store):
    copy = tmp_path / "store"
    shutil.copytree(store, copy)
    shard = copy / "nested/checksum-around-shard/c/0/0"
    flip(shard, shard.stat().st_size - 1)
    damage, = told("verify", copy, code=1)["damage"]
    assert damage["key"] == "nested/checksum-around-shard/c/0/0" and "checksum of the shard" in damage["reason"]


def test_verify_tells_a_damaged_index_once(tmp_path, store):
    copy = tmp_path / "store"
    shutil.copytree(store, copy)
    shard = copy / "codec/gzip/c/0/0"
    flip(shard, shard.stat().st_size - 1)
    answer = told("verify", copy, code=1)
    damage, = answer["damage"]
    assert (damage["chunk"], damage["others"], answer["damaged"]) == ("0.0", 3, 4)


def test_verify_finds_broken_metadata(tmp_path):
    write_group(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/zarr.json").write_text("{")
    damage, = told("verify", tmp_path, code=1)["damage"]
    assert damage["key"] == "broken/zarr.json"


@pytest.mark.parametrize("case", ["m_codec_mu_false", "nodivide"])
def test_what_cannot_be_decoded_is_named_and_is_no_damage(case):
    result = zarrctl("verify", PLACE / "edge" / case)
    assert result.returncode == 3
    first, summary = result.stdout.splitlines()
    assert "checked: " in first and "no damage; 1 array not or not fully checked" in summary
    assert "3 no damage was found, but not everything could be checked" in zarrctl("verify", "--help").stdout


def write_slow_array(folder):
    """Many chunks that take a while to inflate."""
    data = zlib.compress(bytes(1 << 22), 9, wbits=31)
    codecs = [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 9}}]
    (folder / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [4000 << 22], "data_type": "uint8", "fill_value": 0, "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 22]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}}))
    (folder / "c.0").write_bytes(data)
    for i in range(1, 4000):
        os.link(folder / "c.0", folder / f"c.{i}")


def wait_until_it_catches(process, number):
    """A program that has just started, on a machine with much else to do, dies of a signal."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        caught = re.search(r"^SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
        if int(caught[1], 16) >> (number - 1) & 1:
            return
        time.sleep(0.02)
    raise AssertionError("it does not catch the signal")


def test_ctrl_c_ends_verify_with_a_summary(tmp_path):
    write_slow_array(tmp_path)
    process = subprocess.Popen([ZARRCTL, "verify", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until_it_catches(process, signal.SIGINT)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "")
    assert out.startswith("stopped early: 1 array")


# map

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
        answer = told("map", drawn / "t", "--slice", number)
        cells = {tuple(cell["chunk"]): (cell["object"], cell["offset"], cell["bytes"], cell["position"]) for cell in answer["cells"]}
        assert cells == {chunk: what for chunk, what in chunks.items() if chunk[0] == number}
        assert (answer["slice"], answer["places"], answer["stored"]) == ([number], 72, len(cells))
        assert answer["bytes"] == sum(length for _, _, length, _ in cells.values())


def test_map_takes_the_first_slice_that_has_chunks(drawn):
    assert told("map", drawn, "t")["slice"] == [1]
    for wrong in ["4", "1,1", "-1", "x", "1,"]:
        assert "for example --slice 0" in refused("map", drawn, "t", "--slice", wrong)
    assert "more than two axes" in refused("map", drawn, "flat", "--slice", "0")


def test_map_of_what_is_no_array_of_shards_is_refused(drawn):
    assert "--by size or --by present" in refused("map", drawn, "flat", "--by", "order")
    assert "zarrctl ls" in refused("map", drawn)
    assert "FILE.svg or FILE.png" in refused("map", drawn, "t", "--out", "t.pdf")
    assert "no/such/t.svg" in refused("map", drawn, "t", "--out", "/no/such/t.svg", code=2)


def rectangles(path):
    tree = ElementTree.fromstring(path.read_text())
    name = "{http://www.w3.org/2000/svg}"
    return tree, {kind: [r for r in tree.iter(name + "rect") if r.get("class") == kind] for kind in ["chunk", "damaged", "legend"]}


@pytest.mark.parametrize("by", ["size", "order", "present"])
def test_svg_has_a_rectangle_for_each_stored_chunk(tmp_path, drawn, by):
    out = tmp_path / "t.svg"
    result = zarrctl("map", drawn / "t", "--by", by, "--out", out)
    assert result.returncode == 0, result.stderr
    tree, found = rectangles(out)
    chunks = {chunk: what for chunk, what in stored_chunks(drawn / "t", (2, 2, 3)).items() if chunk[0] == 1}
    assert len(found["chunk"]) == len(chunks) and not found["damaged"] and found["legend"]
    texts = "\n".join(tree.itertext())
    for text in [str(drawn / "t"), "[4, 12, 24] uint32", "slice 1, *, *", "axis 1 (lat)", "axis 2 (lon)", "no shard",
                 f"{len(chunks)} of 72 chunks stored, in 4 shards"]:
        assert text in texts, text
    # One place in the picture each, in the grid of the chunks.
    places = {(float(r.get("x")), float(r.get("y"))) for r in found["chunk"]}
    assert len(places) == len(chunks)
    columns, rows = sorted({x for x, _ in places}), sorted({y for _, y in places})
    assert len(columns) == len({c for _, _, c in chunks}) and len(rows) == len({r for _, r, _ in chunks})
    # The words of a rectangle name its chunk; colours go up with what is shown.
    colors = {}
    for rectangle in found["chunk"]:
        name = re.match(r"chunk (\S+):", rectangle[0].text)[1]
        colors[tuple(int(part) for part in name.split("/")[-3:] if part.isdigit()) or name] = rectangle.get("fill")
    if by == "present":
        assert len(set(colors.values())) == 1
    else:
        assert {"#440154", "#fde725"} <= set(colors.values())
    if by == "size":
        sizes = sorted({length for _, _, length, _ in chunks.values()})
        largest = sum(length == sizes[-1] for _, _, length, _ in chunks.values())
        assert list(colors.values()).count("#fde725") == largest


def pixels(path):
    """Width, height and the rows of an RGB picture of 8 bits."""
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(content):
        length, kind = int.from_bytes(content[at:at + 4], "big"), content[at + 4:at + 8]
        body = content[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == int.from_bytes(content[at + 8 + length:at + 12 + length], "big")
        if kind == b"IHDR":
            width, height = (int.from_bytes(body[i:i + 4], "big") for i in (0, 4))
            assert body[8:10] == b"\x08\x02"
        if kind == b"IDAT":
            data += body
        at += 12 + length
    raw, stride, rows = zlib.decompress(data), 3 * width, []
    before = np.zeros(stride, np.uint8)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], np.frombuffer(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)], np.uint8).copy()
        if kind == 1:
            line = np.add.accumulate(line.reshape(-1, 3), dtype=np.uint8).reshape(-1)
        elif kind == 2:
            line += before
        elif kind in (3, 4):
            work, above = line.astype(int), before.astype(int)
            for i in range(stride):
                left, upper, corner = (work[i - 3] if i >= 3 else 0), above[i], (above[i - 3] if i >= 3 else 0)
                if kind == 3:
                    work[i] = (work[i] + (left + upper) // 2) & 255
                else:
                    guess = left + upper - corner
                    nearest = min((abs(guess - left), 0, left), (abs(guess - upper), 1, upper), (abs(guess - corner), 2, corner))[2]
                    work[i] = (work[i] + nearest) & 255
            line = work.astype(np.uint8)
        rows.append(line)
        before = line
    return np.array(rows).reshape(height, width, 3)


def test_png_shows_the_stored_chunks(tmp_path, drawn):
    out = tmp_path / "t.png"
    result = zarrctl("map", drawn / "t", "--by", "present", "--out", out)
    assert result.returncode == 0, result.stderr
    picture = pixels(out)
    blue = (picture == (0x1f, 0x5f, 0x9e)).all(axis=2)
    count = told("map", drawn / "t")["stored"]
    assert int(blue.sum()) == count * 54 * 54 + 24 * 24  # cells of 28 less the gap, twice as large; one in the legend
    assert blue[0].sum() == blue[:, 0].sum() == 0


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
    stored = told("map", drawn / "t")["stored"]
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
        told("map", drawn / "t")["stored"]


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
    assert told("map", drawn / "line")["stored"] == 280
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
        with open(tmp_path / "out", "wb") as out:
            process = subprocess.Popen([ZARRCTL, "map", tmp_path, *arguments], stdout=out)
            _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        return (tmp_path / "out").read_text(), usage.ru_maxrss

    text, _ = run()
    assert len(text.splitlines()) < 60 and max(map(len, text.splitlines())) <= 80 and "of 10000000 chunks" in text
    text, _ = run("--json")
    answer = json.loads(text)
    assert (answer["places"], answer["stored"], sum(cell["stored"] for cell in answer["cells"])) == (10 ** 7, 10 ** 6, 10 ** 6)
    assert len(answer["cells"]) <= 10 ** 4 and len(text) < 10 ** 7
    for name in ["t.svg", "t.png"]:
        _, kilobytes = run("--out", tmp_path / name)
        assert (tmp_path / name).stat().st_size < 10 ** 7
        assert "ASAN_OPTIONS" in os.environ or kilobytes < 600_000
    assert 0 < len(rectangles(tmp_path / "t.svg")[1]["chunk"]) < 150 * 150


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
    assert zarrctl("map", copy / "t", "--slice", "1", "--out", tmp_path / "t.svg").returncode == 1
    tree, found = rectangles(tmp_path / "t.svg")
    assert len(found["damaged"]) == len(damaged) and "damaged or unreadable" in "".join(tree.itertext())


def test_names_are_safe_in_a_picture(tmp_path):
    name = 'a<b>&"\x1b[31m\udcff'
    (tmp_path / name).mkdir()
    (tmp_path / name / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 0, "codecs": [{"name": "bytes"}],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"},
        "dimension_names": ["<&\x07>"]}))
    result = subprocess.run([ZARRCTL, "map", tmp_path / name, "--out", tmp_path / "t.svg"], capture_output=True)
    assert result.returncode == 0, result.stderr
    texts = "\n".join(ElementTree.fromstring((tmp_path / "t.svg").read_text()).itertext())
    assert 'a<b>&"' in texts and "(<&\\x07>)" in texts


# status, log-level

METRICS = """\
# HELP zarrfs_build_info What is mounted.
# TYPE zarrfs_build_info gauge
zarrfs_build_info{version="0.1.0"} 1
zarrfs_start_time_seconds 1.7e9
# TYPE zarrfs_requests_total counter
zarrfs_requests_total{operation="lookup",result="ok"} 1234567
zarrfs_requests_total{operation="lookup",result="absent"} 12
zarrfs_requests_total{operation="lookup",result="error"} 0
zarrfs_requests_total{operation="read",result="ok"} 800
zarrfs_requests_total{operation="read",result="error"} 3
zarrfs_requests_total{operation="other",result="ok"} 5
# TYPE zarrfs_request_duration_seconds histogram
zarrfs_request_duration_seconds_bucket{operation="read",le="1e-05"} 0
zarrfs_request_duration_seconds_bucket{operation="read",le="0.001"} 500
zarrfs_request_duration_seconds_bucket{operation="read",le="0.01"} 1000
zarrfs_request_duration_seconds_bucket{operation="read",le="+Inf"} 1000
zarrfs_request_duration_seconds_sum{operation="read"} 2.5
zarrfs_request_duration_seconds_count{operation="read"} 1000
zarrfs_request_duration_seconds_bucket{operation="lookup",le="1e-05"} 0
zarrfs_request_duration_seconds_bucket{operation="lookup",le="+Inf"} 0
zarrfs_request_duration_seconds_sum{operation="lookup"} 0
zarrfs_request_duration_seconds_count{operation="lookup"} 0
zarrfs_read_bytes_total 1048576
zarrfs_cache_hits_total{cache="index"} 30
zarrfs_cache_misses_total{cache="index"} 10
zarrfs_cache_evictions_total{cache="index"} 2
zarrfs_cache_bytes{cache="index"} 1024
zarrfs_cache_limit_bytes{cache="index"} 4096
zarrfs_cache_hits_total{cache="chunk"} 0
zarrfs_cache_misses_total{cache="chunk"} 0
zarrfs_cache_bytes{cache="chunk"} 0
zarrfs_cache_limit_bytes{cache="chunk"} 2048
zarrfs_store_reads_total 77
zarrfs_store_read_bytes_total 2048
zarrfs_store_errors_total 4
zarrfs_arrays 6
zarrfs_damage_total 2
a_metric_of_later{label="with \\"quotes\\", {braces} and \\\\"} NaN 1700000000000
"""


def write_mount_files(folder, metrics=METRICS, options="version: 0.1.0\nsource: /data/ocean\nview: all\nlog_level: info\n"):
    """What a mount shows of itself, in a plain folder: zarrctl reads files, also through NFS."""
    (folder / ".zarrfs").mkdir()
    (folder / ".zarrfs/options").write_text(options)
    (folder / ".zarrfs/errors").write_text("".join(f"error {i}\n" for i in range(9)))
    if metrics is not None:
        (folder / ".zarrfs/metrics").write_text(metrics)
    return folder


def test_status_tells_the_metrics_to_programs(tmp_path):
    answer = told("status", write_mount_files(tmp_path))
    assert (answer["source"], answer["view"], answer["version"]) == ("/data/ocean", "all", "0.1.0")
    assert answer["requests"]["lookup"] == {"ok": 1234567, "absent": 12, "error": 0}
    read = answer["requests"]["read"]
    assert (read["ok"], read["absent"], read["error"], read["mean_seconds"]) == (800, 0, 3, 0.0025)
    assert read["p99_seconds"] == pytest.approx(0.001 + 0.009 * 490 / 500)  # inside the bucket of the 990th of 1000
    assert answer["caches"]["index"] == {"bytes": 1024, "limit_bytes": 4096, "hits": 30, "misses": 10, "evictions": 2}
    assert answer["store"] == {"reads": 77, "read_bytes": 2048, "errors": 4}
    assert (answer["arrays"], answer["damage"], answer["read_bytes"]) == (6, 2, 1048576)
    assert answer["start_time_seconds"] == 1.7e9 and len(answer["errors"]) == 9


def test_status_tells_the_metrics_to_people(tmp_path):
    result = subprocess.run([ZARRCTL, "status", write_mount_files(tmp_path)], capture_output=True, text=True, env={**os.environ, "TZ": "UTC"})
    assert (result.returncode, result.stderr) == (0, "")
    text = result.stdout
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for row in ["source /data/ocean", "view all", "log info", "lookup 1,234,567 12 0", "read 800 0 3 2.5 ms 9.8 ms",
                "index 1.0 KiB 4.0 KiB 25 % 75.0 % of 40 2", "chunk 0 bytes 2.0 KiB 0 % not asked yet 0",
                "store 77 reads, 2.0 KiB, 4 errors", "damage 2 damaged objects", "error 8"]:
        assert row in rows, text
    assert any(row.startswith("since 2023-11-14 22:13:20 (") for row in rows)
    assert "error 3" not in rows and "the last 5 of 9 messages" in text


def test_status_without_metrics_tells_the_rest(tmp_path):
    result = zarrctl("status", write_mount_files(tmp_path, metrics=None))
    assert result.returncode == 2 and "source    /data/ocean" in result.stdout and "error 8" in result.stdout
    assert "(0.1.0) is older than this zarrctl" in result.stderr
    (tmp_path / ".zarrfs/metrics").write_text("zarrfs_arrays 1\nzarrfs_requests_total{operation=read} 3\n")
    result = zarrctl("status", tmp_path)
    assert result.returncode == 2 and "line 2 is no metric" in result.stderr


def test_status_of_a_mount(store):
    with mounted(store) as point:
        result = zarrctl("status", point)
        assert (result.returncode, result.stderr) == (0, "")
        assert f"source    {store}" in result.stdout.splitlines()
        assert "inside a zarrfs mount" in refused("status", point / "v2")


def test_status_of_what_is_no_mount_says_so(tmp_path):
    assert "no zarrfs mount" in refused("status", tmp_path)
    assert "No such file" in refused("status", tmp_path / "nowhere")
    assert "no zarrfs mount" in refused("log-level", tmp_path, "debug")


def test_status_of_a_dead_mount_says_how_to_clear_it(store):
    with mounted(store) as point:
        pids = []
        for path in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):  # gone meanwhile
                if path.name.isdigit() and str(point).encode() in (path / "cmdline").read_bytes().split(b"\0"):
                    pids.append(int(path.name))
        assert pids
        for number in [signal.SIGSTOP, signal.SIGKILL]:  # stopped first: none can notice that another went
            for pid in pids:
                os.kill(pid, number)
        for _ in range(100):
            if not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids):
                break
            time.sleep(0.05)
        for command in [["status"], ["log-level"]]:
            assert f"Transport endpoint is not connected); mount it again, or end it with: zarrfs --unmount {point}" in refused(*command, point, code=2)


# Takes SIGUSR2 as the daemon does, and writes the level where the mount shows it.
FAKE_DAEMON = """
import ctypes, pathlib, sys
libc = ctypes.CDLL(None)
options, name, levels = pathlib.Path(sys.argv[1]), sys.argv[2], ["error", "warning", "info", "debug"]
libc.prctl(15, name.encode(), 0, 0, 0)
signals = (ctypes.c_ulong * 16)(1 << 11)
libc.sigprocmask(0, signals, None)
def say(level):
    new = options.with_name("new")
    new.write_text(f"source: /data/ocean\\npid: {__import__('os').getpid()}\\nlog_level: {level}\\n")
    new.rename(options)
say("info")
print("ready", flush=True)
info = (ctypes.c_int * 32)()
while libc.sigwaitinfo(signals, info) > 0:
    say(levels[info[6] - 1])
"""


@pytest.fixture
def fake_daemon(tmp_path):
    processes = []

    def start(*arguments):
        (tmp_path / ".zarrfs").mkdir()
        process = subprocess.Popen([sys.executable, "-c", FAKE_DAEMON, tmp_path / ".zarrfs/options", *arguments], stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout.readline() == "ready\n"
        return tmp_path

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_log_level_changes_the_level(fake_daemon):
    point = fake_daemon("zarrfs")
    assert zarrctl("log-level", point).stdout == "info\n"
    for level in ["debug", "error", "warning", "info"]:
        result = zarrctl("log-level", point, level)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
        assert zarrctl("log-level", point).stdout == level + "\n"
    assert "loud" in refused("log-level", point, "loud")


def test_log_level_of_a_mount(store):
    with mounted(store, "log_level=warning") as point:
        assert zarrctl("log-level", point).stdout == "warning\n"
        for level in ["debug", "error", "info"]:
            result = zarrctl("log-level", point, level)
            assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
            assert f"log_level: {level}" in (point / ".zarrfs/options").read_text().splitlines()
            assert zarrctl("log-level", point).stdout == level + "\n"
        assert (point / "v3/zarr.json").stat().st_size > 0


def test_log_level_sends_nothing_to_another_program(fake_daemon):
    point = fake_daemon("python")
    assert "is python, not zarrfs" in refused("log-level", point, "debug", code=2)
    assert zarrctl("log-level", point).stdout == "info\n"
    (point / ".zarrfs/options").write_text("pid: 4194304\nlog_level: info\n")  # no process has this number
    assert "which is not here" in refused("log-level", point, "debug", code=2)


def test_log_level_of_another_user_s_mount_is_explained(fake_daemon):
    if os.getuid() != 0:
        return  # only root can be two users
    point = fake_daemon("zarrfs")
    for folder in [point, *point.parents]:
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o11)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", ZARRCTL, "log-level", point, "debug"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2 and "runs as root: do this as that user or as root" in result.stderr


def test_log_level_of_an_old_zarrfs_is_explained(tmp_path):
    assert "too old" in refused("log-level", write_mount_files(tmp_path), "debug", code=2)


# The command line

@pytest.mark.parametrize("command", ["info", "ls", "verify"])
def test_what_is_not_there_is_one_line_and_exit_code_2(tmp_path, command):
    assert "nowhere" in refused(command, tmp_path / "nowhere", code=2)
    assert "no Zarr group or array" in refused(command, tmp_path, code=2)


def test_wrong_usage_is_one_line_and_exit_code_1(store):
    for arguments in [[], ["frobnicate"], ["info"], ["info", store, "a", "b"], ["info", store, "--frobnicate"], ["where"],
                      ["verify", store, "--jobs", "0"], ["where", store / "codec/gzip"], ["where", store / "codec", "0.0"],
                      ["where", store / "codec/gzip", "one"]]:
        refused(*arguments)


def test_a_path_does_not_leave_the_store(store):
    refused("info", store / "codec", "../key")


def test_a_closed_pipe_is_no_crash(store):
    command = f"'{ZARRCTL}' info '{store}' | head -n 1; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert result.returncode in (0, 128 + signal.SIGPIPE) and result.stderr == ""


def test_a_full_disk_is_exit_code_2(store):
    with open("/dev/full", "w") as full:
        result = subprocess.run([ZARRCTL, "info", store], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 2 and result.stderr.startswith("zarrctl: standard output: ")


COMMANDS = ["info", "ls", "where", "cat", "verify", "map", "status", "log-level"]


def test_help_tells_the_commands():
    text = zarrctl("--help").stdout
    assert all(f"  {command} " in text for command in COMMANDS)
    assert zarrctl("--version").stdout.startswith("zarrctl ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_ends_with_examples(command):
    _, examples = zarrctl(command, "--help").stdout.split("Examples:\n")
    lines = examples.splitlines()
    assert 2 <= len(lines) <= 3 and all(line.startswith(f"  zarrctl {command} ") for line in lines)


def test_errors_say_what_to_do_next(tmp_path, store):
    assert "is the path spelled right" in refused("info", tmp_path / "nowhere", code=2)
    assert "zarrctl info STORE" in refused("info", store, "nowhere", code=2)
    assert "zarrctl ls lists them" in refused("where", store / "codec", "0.0")
    assert "zarrctl map --help" in refused("map", store, "--frobnicate")


# Colours and terminals

def test_colours_follow_the_option_and_the_environment(store):
    def colored(*arguments, **environment):
        base = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE")}
        result = subprocess.run([ZARRCTL, "info", store, *arguments], capture_output=True, text=True, env={**base, **environment})
        assert result.returncode == 0, result.stderr
        return "\x1b[" in result.stdout

    assert not colored()
    assert colored(CLICOLOR_FORCE="1") and not colored(CLICOLOR_FORCE="0")
    assert not colored(CLICOLOR_FORCE="1", NO_COLOR="1")
    assert colored("--color=always", NO_COLOR="1") and not colored("--color=never", CLICOLOR_FORCE="1")
    assert "--color" in refused("info", store, "--color=sometimes")
    assert terminal("info", store, TERM="xterm")[1].count("\x1b[") > 0
    assert "\x1b[" not in terminal("info", store, TERM="xterm", NO_COLOR="1")[1]
    assert "\x1b[" not in terminal("info", store, TERM="dumb")[1]


def test_colours_do_not_move_columns(store):
    plain = zarrctl("ls", "-l", store / "key").stdout
    assert re.sub(r"\x1b\[\d*m", "", zarrctl("ls", "-l", store / "key", "--color=always").stdout) == plain


def test_progress_has_rate_and_time_left_and_goes_away(tmp_path):
    write_slow_array(tmp_path)
    code, text = terminal("verify", tmp_path, keys=[(2.5, b"\x03")], TERM="xterm", COLUMNS="100")
    assert code == 130
    assert re.search(r"\[#*\.*\] \d+ of 4000 objects, \d.* read, .*/s, \d+:\d\d left\x1b\[K", text), text
    # What is left on the screen, once every redrawn line is gone, is the summary alone.
    screen = re.sub(r"(\r[^\r\n]*)+\r\x1b\[K", "", text.replace("^C", ""))
    assert re.sub(r"\x1b\[\d*m", "", screen).lstrip("\r\n").startswith("stopped early: 1 array"), repr(text)


def test_progress_fits_the_terminal(tmp_path):
    write_slow_array(tmp_path)
    _, text = terminal("verify", tmp_path, keys=[(2, b"\x03")], TERM="xterm", COLUMNS="30")
    drawn = [part for part in text.split("\r") if " of 4000" in part]
    assert drawn and all(len(part.split("\x1b")[0]) < 30 for part in drawn)


def test_nothing_is_drawn_on_a_dumb_terminal(tmp_path):
    write_slow_array(tmp_path)
    _, text = terminal("verify", tmp_path, keys=[(2, b"\x03")], TERM="dumb")
    assert "\x1b" not in text and " of 4000" not in text


def test_ctrl_c_ends_what_waits(tmp_path):
    (tmp_path / ".zarrfs").mkdir()
    os.mkfifo(tmp_path / ".zarrfs/options")
    code, text = terminal("status", tmp_path, keys=[(0.5, b"\x03")], TERM="xterm")
    assert code == 130 and text.replace("^C", "").replace("\x1b[0m", "").strip() == ""


# The corpus

@pytest.mark.parametrize("name", sorted(str(path.parent.relative_to(PLACE)) for path in PLACE.rglob("zarr.json")))
def test_no_store_of_the_corpus_is_too_odd(name):
    for arguments in [["info"], ["info", "--json"], ["ls", "-l"], ["verify"], ["map"]]:
        result = zarrctl(*arguments, PLACE / name)
        assert result.returncode in ((0, 1, 3) if arguments == ["verify"] else (0, 1)), result.stderr
        assert all(line.startswith("zarrctl: ") for line in result.stderr.splitlines())
