"""`zarrctl` on stores in buckets and on web servers, and on paths below mounts of them."""

import json
import select
import subprocess
import threading
import time

import pytest

import faulty_server
from html_page import Page
from mounts import ZARRCTL, mounted, zarrctl
from remote import BUCKET, PREFIX


def run(*words):
    result = zarrctl(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(params=["bucket", "web server"])
def store(request, moto, nginx, keys):
    """Its address, and the words that name its options."""
    return (f"s3://{BUCKET}/{PREFIX}", ["-o", f"endpoint={moto}"]) if request.param == "bucket" else (f"{nginx[0]}/ocean.zarr", [])


def test_a_token_is_read_before_the_process_that_sends_it_is_confined(folder, tmp_path):
    (tmp_path / "token").write_text("X-Token: one\n")

    def refuse(path, headers):
        return None if headers.get("X-Token") == "one" else 401

    with faulty_server.serving(folder.parent, refuse) as server:
        found = json.loads(run("info", "--json", f"{server.url}/{folder.name}", "-o", f"headers={tmp_path / 'token'}"))
    assert {node["path"] for node in found["nodes"]} >= {"shards", "deep/plain"}


def test_references_are_those_of_the_folder(store, folder, tmp_path):
    address, options = store
    run("refs", *options, address, "--out", tmp_path / "remote.json")
    run("refs", folder, "--out", tmp_path / "local.json", "--prefix", address)
    assert json.loads((tmp_path / "remote.json").read_text()) == json.loads((tmp_path / "local.json").read_text())


def test_the_page_has_the_pictures_of_the_folder(store, folder, tmp_path):
    address, options = store
    run("info", *options, address, "--html", tmp_path / "remote.html")
    run("info", folder, "--html", tmp_path / "local.html")
    remote, local = (Page(tmp_path / f"{name}.html") for name in ("remote", "local"))
    assert remote.images == local.images and len(local.images) == 2
    mount = remote.pre[0]
    assert address in mount and all(word in mount for word in options)


def test_the_first_arrays_are_shown_before_the_last_is_read(tmp_path):
    array = {"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "int8", "fill_value": 0, "codecs": [{"name": "bytes"}],
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"}}
    names = [f"a{number:03}" for number in range(200)]
    group = {"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"kind": "inline", "metadata": dict.fromkeys(names, array)}}
    (tmp_path / "s.zarr").mkdir()
    (tmp_path / "s.zarr/zarr.json").write_text(json.dumps(group))
    for name in names:
        (tmp_path / "s.zarr" / name).mkdir()
        (tmp_path / "s.zarr" / name / "zarr.json").write_text(json.dumps(array))
    go_on = threading.Event()

    def fault(path, headers):
        if path.endswith(f"/{names[-1]}/zarr.json"):
            go_on.wait(60)

    with faulty_server.serving(tmp_path, fault) as server:
        command = [ZARRCTL, "info", f"{server.url}/s.zarr"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            said = b""
            while b"a000" not in said and select.select([process.stdout], [], [], 30)[0]:
                said += process.stdout.read1()
            go_on.set()
            assert b"a000" in said and f"{names[-1]}".encode() not in said
            assert f"\n{names[-1]} " in process.stdout.read().decode()


def test_a_packed_store_is_that_of_the_folder(store, folder, tmp_path):
    address, options = store
    for source, more, target in ((address, options, "remote"), (folder, [], "local")):
        run("pack", "--verify", *more, source, tmp_path / target)
    files = [{str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*") if path.is_file()}
             for top in (tmp_path / "remote", tmp_path / "local")]
    assert files[0] == files[1] and any("/c/" in name for name in files[0])


def test_a_path_below_a_mount_is_told_with_the_options_of_the_mount(store, expected):
    address, options = store
    with mounted(address, ",".join(["fill=keep", *options[1:]])) as point:
        for name in ("v2/shards/1.1", "v3/deep/plain/c/0/1"):
            told = json.loads(run("where", "--json", point / name))
            array, chunk = ("shards", "1.1") if "shards" in name else ("deep/plain", "0.1")
            named = json.loads(run("where", "--json", *options, address, array, chunk))
            assert {key: told[key] for key in named if key in ("file", "offset", "length", "present")} == \
                {key: named[key] for key in named if key in ("file", "offset", "length", "present")}
            assert told["view"]["size"] == len(expected[name])
            assert subprocess.run([ZARRCTL, "cat", point / name], capture_output=True, check=True).stdout == expected[name]


@pytest.mark.parametrize("command", [
    ["ls"], ["ls", "--long"], ["ls", "--long", "shards"], ["ls", "deep"], ["ls", "deep/plain"],
    ["map", "shards"], ["map", "--by", "order", "shards"], ["map", "deep/plain"]], ids=" ".join)
def test_what_is_listed_and_drawn_is_that_of_the_folder(store, folder, command):
    address, options = store
    name, *words = command
    paths = [word for word in words if word in ("shards", "deep", "deep/plain")]
    flags = [word for word in words if word not in paths]
    sources = ((options, address), ([], str(folder)))
    # (Long names are broken at the end of a line, and one has a blank.)
    remote, local = ("".join(run(name, *flags, *more, source, *paths).split()).replace("".join(source.split()), "STORE")
                     for more, source in sources)
    assert remote == local and len(local) > len("STORE")
    remote, local = (json.loads(run(name, *flags, "--json", *more, source, *paths)) for more, source in sources)
    key = "array" if "array" in local else "group"
    assert remote.pop(key).removeprefix(address) == local.pop(key).removeprefix(str(folder))
    assert remote == local and remote


def test_the_status_of_a_mount_names_the_store_and_what_was_read(store, expected):
    address, options = store
    with mounted(address, ",".join(options[1:])) as point:
        before = json.loads(run("status", "--json", point))
        assert (before["mount"], before["store"]["name"], before["store"]["problem"]) == (str(point), address, None)
        assert (point / "v2/shards/1.1").read_bytes() == expected["v2/shards/1.1"]
        time.sleep(0.2)  # a text of figures is good for 0.1 s
        after = json.loads(run("status", "--json", point))
        text = run("status", point)
    for figure in ("reads", "read_bytes"):
        assert after["store"][figure] > before["store"][figure]
    assert after["store"]["errors"] == 0
    assert after["requests"]["read"]["ok"] > before["requests"]["read"]["ok"]
    assert address in text


def test_options_that_are_none_are_refused(nginx):
    for options in ("endpont=x", "timeout=0", "fill=keep"):
        result = zarrctl("info", "-o", options, f"{nginx[0]}/ocean.zarr")
        assert result.returncode != 0 and "unknown option or invalid value" in result.stderr
