"""What zarrctl says of a store is what the files hold: compared with the bytes on disk and with zarr-python."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import zlib

import numpy as np
import pytest
from arrays import ARRAYS, write_group, write_store
from corpus import PLACE
from mounts import IS_SANITIZED, ROOT, ZARRCTL, mounted, zarrctl
from zarrctl_runs import document, flip, raw, refused, terminal

SAMPLE = ROOT / "tests/data/sample.zarr"
BY_NAME = {array.name: array for array in ARRAYS}
NAMES = ["codec/gzip", "codec/gzip-crc32c", "codec/f-order-3d", "missing/chunk-in-shard", "nested/two", "nested/checksum-around-shard",
         "key/v2-dot", "key/default-dot-unsharded", "key/v2-dot-scalar", "attributes"]


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zarrctl") / "store"
    write_store("zarr-python", folder, [BY_NAME[name] for name in NAMES])
    return folder


def chunk_of(array, coordinates):
    """The elements of a chunk, those outside the array left out."""
    region = tuple(slice(i * n, (i + 1) * n) for i, n in zip(coordinates, array.chunks))
    return array.expected()[region]


# info

def test_info_tells_what_the_metadata_say(store):
    nodes = {node["path"]: node for node in document("info", store)["nodes"]}
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
    assert "    v2       cut: chunks without their last 4 bytes (checksum, checked), order C, named 0.0" in lines
    assert "    v2       exact: chunks as they are, order F, named 0.0.0" in zarrctl("info", store, "codec/f-order-3d").stdout.splitlines()


def test_info_is_a_line_for_each_array_and_a_paragraph_on_the_views(tmp_path):
    import zarr

    root = zarr.create_group(tmp_path / "ocean.zarr")
    t2m = root.create_array("t2m", shape=(96, 181, 360), chunks=(24, 181, 360), shards=(48, 181, 360), dtype="int16", dimension_names=("time", "y", "x"),
                            attributes={"units": "K", "long_name": "2 metre\x1b temperature" + "!" * 80})
    t2m[:48] = 7
    root.create_array("deep/name", shape=(3,), chunks=(1,), dtype="<U4")
    root.create_array("deep/c", shape=(3,), chunks=(1,), dtype="complex64")
    root.create_group("bare")
    lines = zarrctl("info", tmp_path / "ocean.zarr").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["bare", "deep/c", "deep/name", "t2m"]
    assert re.split("  +", lines[4]) == ["t2m", "int16", "96x181x360 (time, y, x)", "4 chunks in 2 shards", "11.9 MiB", "K",
                                         "2 metre\\x1b temperature" + "!" * 40 + "..."], lines[4]
    assert lines[5:7] == ["", "3 arrays in 3 groups"]
    views = "\n".join(lines[7:])
    assert "All of them in v2, v3, " in views and re.search(r"^(netcdf|nc)[\w, ]* lacks? ", views, re.MULTILINE) and "deep/c: " in views, views
    for more in (["-l"], ["t2m"]):
        text = zarrctl("info", tmp_path / "ocean.zarr", *more).stdout
        assert "    size     11.9 MiB decoded, " in text and " stored\n" in text and "    units    K\n" in text, text


def test_info_shows_arrays_before_it_has_found_all(tmp_path):
    """Of many, the first lines are there at once; and what it says of views stays short."""
    write_group(tmp_path / "many")
    one = json.loads((SAMPLE / "depth/zarr.json").read_text()) | {"data_type": "complex64", "fill_value": [0.0, 0.0]}
    for i in range(3000):
        (tmp_path / f"many/a{i:04}").mkdir()
        (tmp_path / f"many/a{i:04}/zarr.json").write_text(json.dumps(one))
    run = subprocess.Popen([ZARRCTL, "info", tmp_path / "many"], stdout=subprocess.PIPE, text=True)
    start = time.monotonic()
    head = [run.stdout.readline() for _ in range(10)]
    first = time.monotonic() - start
    rest = run.stdout.read().splitlines()
    assert run.wait() == 0 and head[1].startswith("a0000") and len(rest) < 3030
    assert first < (time.monotonic() - start) / 2
    assert any("a0000, a0001, a0002, a0003 and 2,996 more: " in line for line in rest), rest[-10:]


def test_info_of_an_array_is_the_same_from_its_own_folder(store):
    assert document("info", store / "codec/gzip") == document("info", store, "codec/gzip")


def test_info_gives_the_reason_for_unusable_metadata(tmp_path):
    write_group(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/zarr.json").write_text("{")
    _, node = document("info", tmp_path)["nodes"]
    assert node["node_type"] == "unusable" and node["reason"]
    for details in ([], ["-l"]):
        assert any(line.startswith("broken  not shown: ") for line in zarrctl("info", *details, tmp_path).stdout.splitlines())


def test_control_characters_of_names_do_not_reach_the_terminal(tmp_path):
    write_group(tmp_path / "a\x1b[31m")
    assert "\x1b" not in zarrctl("info", tmp_path).stdout
    assert document("info", tmp_path)["nodes"][1]["path"] == "a\x1b[31m"


# ls

def test_ls_of_a_group_lists_the_nodes(store):
    assert [node["name"] for node in document("ls", store)["nodes"]] == sorted({name.split("/")[0] for name in NAMES})
    lines = zarrctl("ls", store / "key").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["default-dot-unsharded", "array"], ["v2-dot", "array"], ["v2-dot-scalar", "array"]]


def test_ls_of_an_array_lists_the_objects_and_counts_the_chunks(store):
    folder = store / "missing/chunk-in-shard"
    only, = document("ls", store, "missing/chunk-in-shard")["objects"]
    assert (only["key"], only["chunks"], only["places"]) == ("missing/chunk-in-shard/c/0/0", 2, 4)
    assert only["size"] == (folder / "c/0/0").stat().st_size
    chunks = document("ls", "-l", folder)["objects"][0]["chunk_list"]
    assert [chunk["chunk"] for chunk in chunks] == ["0.0", "1.1"]


def test_places_of_an_edge_shard_are_those_inside_the_array(store):
    places = {o["key"].removeprefix("codec/gzip/c/"): o["places"] for o in document("ls", store, "codec/gzip")["objects"]}
    assert places == {"0/0": 4, "0/1": 4, "1/0": 4, "1/1": 4}  # 4 x 4 chunks in shards of 2 x 2
    scalar, = document("ls", store, "key/v2-dot-scalar")["objects"]
    assert (scalar["key"], scalar["places"]) == ("key/v2-dot-scalar/0", 1)


# where, cat

@pytest.mark.parametrize("name", [name for name in NAMES if BY_NAME[name].shape])
def test_where_and_cat_agree_and_decoded_bytes_are_the_values(store, name):
    array = BY_NAME[name]
    coordinates = (1,) * len(array.shape)
    label = ".".join(map(str, coordinates))
    place = document("where", store / name, label)
    content = pathlib.Path(place["file"]).read_bytes()[place["offset"]:place["offset"] + place["length"]]
    assert raw("cat", store / name, label) == content
    chunk = np.frombuffer(raw("cat", "--decode", store, name, label), array.dtype.newbyteorder("<")).reshape(array.chunks)
    values = chunk_of(array, coordinates)
    assert np.array_equal(chunk[tuple(slice(n) for n in values.shape)], values)


def test_every_spelling_of_a_chunk_names_it(store):
    answers = [zarrctl("where", store / "codec/gzip", name).stdout for name in ["1.1", "1/1", "c/1/1", "c.1.1"]]
    assert len(set(answers)) == 1 and "offset" in answers[0]
    for name in ["01.1", "1.1.0", "1", "1.4", "-1.0", "c", "1./1", "1.1 "]:
        assert f"no chunk {name}: chunks go from 0.0 to 3.3" in refused("where", store / "codec/gzip", name)
    for words in [[store / "codec/gzip", ""], [store / "codec/gzip"], [store, "codec/gzip"]]:
        assert "codec/gzip: which chunk? For example: 0.0" in refused("where", *words)


def test_an_array_without_dimensions_has_one_chunk(store):
    folder = store / "key/v2-dot-scalar"
    for words in [[], ["0"], ["c"]]:
        assert document("where", folder, *words)["file"] == str(folder / "0")


def test_a_missing_chunk_is_said_to_be_missing(store):
    folder = store / "missing/chunk-in-shard"
    for chunk in ["0.1", "3.3"]:  # not in its shard; no shard
        assert "not stored" in refused("where", folder, chunk)
        assert "not stored" in refused("cat", folder, chunk)
    assert document("where", folder, "0.1", code=1)["present"] is False


def test_where_finds_the_file_of_a_mount(store):
    with mounted(store) as point:
        for path, name, chunk in [("v3/codec/gzip/c/1/1", "codec/gzip", "1.1"), ("v2/codec/gzip/1.1", "codec/gzip", "1.1"),
                                  ("v2/key/v2-dot-scalar/0", "key/v2-dot-scalar", "0"), ("v2/nested/two/0.1", "nested/two", "0.1")]:
            place = document("where", point / path)
            view = place.pop("view")
            assert (view["name"], view["size"]) == (path.split("/")[0], (point / path).stat().st_size)
            assert place == document("where", store / name, chunk)
            content = pathlib.Path(place["file"]).read_bytes()[place["offset"]:place["offset"] + place["length"]]
            assert (point / path).read_bytes() == content
        # The v2 file leaves the checksum out, and so does its range.
        assert document("where", point / "v2/codec/gzip-crc32c/0.0")["length"] == (point / "v2/codec/gzip-crc32c/0.0").stat().st_size
        assert "not stored" in refused("where", point / "v2/missing/chunk-in-shard/0.1")
        refused("where", point / "v2/codec/gzip/.zarray")
        refused("where", point / "v2/codec")


def test_where_finds_the_file_of_a_mount_of_one_view(tmp_path, store):
    source = tmp_path / "with blank, and comma"
    shutil.copytree(store, source)
    with mounted(source, "view=v2") as point:
        place = document("where", point / "codec/gzip/1.1")
        assert place.pop("view")["name"] == "v2"
        assert place == document("where", source / "codec/gzip", "1.1")


# verify

def test_links_out_of_the_store_are_followed_where_that_is_said(tmp_path):
    store = tmp_path / "store"
    shutil.copytree(SAMPLE, store)
    outside = tmp_path / "outside/temperature"
    shutil.move(store / "temperature", outside.parent / "temperature")
    (store / "temperature").symlink_to(outside)
    name = "0.0.0"
    followed = document("where", "--links=follow", store, "temperature", name)
    assert (followed["offset"], followed["length"]) == tuple(document("where", SAMPLE, "temperature", name)[key] for key in ("offset", "length"))
    assert document("where", f"--links={outside.parent}", store, "temperature", name) == followed
    line = refused("where", "--links=inside", store, "temperature", name, code=2)
    assert f"temperature: a symbolic link to {outside}, which leaves the store" in line
    assert f"links={outside.parent} or links=follow" in line
    assert "expected inside, follow or absolute folders" in refused("ls", "--links=outside", store)


def test_verify_counts_what_it_checked(store):
    answer = document("verify", store)
    assert (answer["complete"], answer["damaged"], answer["damage"], answer["unchecked"]) == (True, 0, [], [])
    objects = [path for path in store.rglob("*") if path.is_file() and path.name != "zarr.json"]
    assert (answer["arrays"], answer["objects"]) == (len(NAMES), len(objects))
    assert answer["chunks"] == sum(o["chunks"] for name in NAMES for o in document("ls", store, name)["objects"])


def test_verify_does_not_depend_on_the_number_of_threads():
    answers = [zarrctl("verify", SAMPLE, "--jobs", jobs).stdout for jobs in [1, 7]]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name,chunk,at", [  # zstd frames are written without a checksum: there the magic number is hit
    ("codec/gzip", "1.1", -6), ("codec/gzip-crc32c", "0.0", -1), ("key/default-dot-unsharded", "3.2", 0), ("nested/two", "0.1", 0)])
def test_verify_names_the_chunk_with_a_flipped_bit(tmp_path, store, name, chunk, at):
    copy = tmp_path / "store"
    shutil.copytree(store, copy)
    place = document("where", copy / name, chunk)
    flip(pathlib.Path(place["file"]), place["offset"] + at % place["length"])
    damage, = document("verify", copy, code=1)["damage"]
    assert copy / damage["key"] == pathlib.Path(place["file"])
    assert (damage["chunk"], damage["others"]) == (chunk, 0)
    line = zarrctl("verify", copy).stdout.splitlines()[0]
    assert line.startswith(f"{damage['key']}: chunk {chunk}: ")


def test_verify_checks_the_checksum_around_a_shard(tmp_path, store):
    copy = tmp_path / "store"
    shutil.copytree(store, copy)
    shard = copy / "nested/checksum-around-shard/c/0/0"
    flip(shard, shard.stat().st_size - 1)
    damage, = document("verify", copy, code=1)["damage"]
    assert damage["key"] == "nested/checksum-around-shard/c/0/0" and "checksum of the shard" in damage["reason"]


def test_verify_tells_a_damaged_index_once(tmp_path, store):
    copy = tmp_path / "store"
    shutil.copytree(store, copy)
    shard = copy / "codec/gzip/c/0/0"
    flip(shard, shard.stat().st_size - 1)
    answer = document("verify", copy, code=1)
    damage, = answer["damage"]
    assert (damage["chunk"], damage["others"], answer["damaged"]) == ("0.0", 3, 4)


def test_verify_finds_broken_metadata(tmp_path):
    write_group(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/zarr.json").write_text("{")
    damage, = document("verify", tmp_path, code=1)["damage"]
    assert damage["key"] == "broken/zarr.json"


@pytest.mark.parametrize("case", ["m_codec_mu_false", "nodivide"])
def test_what_cannot_be_decoded_is_named_and_is_no_damage(case):
    result = zarrctl("verify", PLACE / "edge" / case)
    assert result.returncode == 3
    first, summary, *_ = result.stdout.splitlines()
    assert "checked: " in first and "no damage; 1 array not fully checked" in summary
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


# The command line

@pytest.mark.parametrize("command", ["info", "ls", "verify"])
def test_what_is_not_there_is_one_line_and_exit_code_2(tmp_path, command):
    assert "nowhere" in refused(command, tmp_path / "nowhere", code=2)
    assert "not a Zarr store: no zarr.json, .zgroup or .zarray" in refused(command, tmp_path, code=2)


def test_a_command_that_does_not_exist_is_compared_with_those_that_do(store):
    assert "unknown command 'wher': did you mean 'where'?" in refused("wher", store)
    assert "unknown command 'frobnicate' (see zarrctl --help)" in refused("frobnicate", store)


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


def test_whoever_wrote_the_store_it_is_read_in_a_sandbox(tmp_path):
    size = 1 << 20  # more than a pipe holds
    (tmp_path / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [size], "chunks": [size], "dtype": "|u1", "order": "C", "fill_value": 0, "compressor": None,
        "filters": None}))
    (tmp_path / "0").write_bytes(bytes(size))
    with subprocess.Popen([ZARRCTL, "cat", tmp_path, "0"], stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout.read(1) == b"\0"  # it waits for somebody to read the rest
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        assert len(process.stdout.read()) > 0
        process.stdout.close()
    assert "\nNoNewPrivs:\t1\n" in status
    assert "\nSeccomp:\t2\n" in status or IS_SANITIZED


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
    assert "check the spelling" in refused("info", tmp_path / "nowhere", code=2)
    assert "zarrctl info STORE" in refused("info", store, "nowhere", code=2)
    assert "zarrctl ls lists them" in refused("where", store / "codec", "0.0")
    assert "zarrctl map --help" in refused("map", store, "--frobnicate")


# Colours and terminals

def test_an_address_of_another_kind_is_no_folder(store):
    for command in (["info"], ["ls"], ["verify"], ["where"], ["pack", "--dry-run"]):
        said = refused(*command, "hf://datasets/me/ocean.zarr", *(["/nowhere"] if command[0] == "pack" else []))
        assert "unknown scheme 'hf://'" in said and "https://huggingface.co/" in said, (command, said)
    assert "s3://bucket/packed.zarr: a pack is written to a folder" in refused("pack", store, "s3://bucket/packed.zarr")


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


# The corpus

@pytest.mark.parametrize("name", sorted(str(path.parent.relative_to(PLACE)) for path in PLACE.rglob("zarr.json")))
def test_no_store_of_the_corpus_is_too_odd(name):
    for arguments in [["info"], ["info", "--json"], ["ls", "-l"], ["verify"], ["map"]]:
        result = zarrctl(*arguments, PLACE / name)
        assert result.returncode in ((0, 1, 3) if arguments == ["verify"] else (0, 1)), result.stderr
        assert all(line.startswith("zarrctl: ") for line in result.stderr.splitlines())
