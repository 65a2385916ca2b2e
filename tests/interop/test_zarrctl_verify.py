"""`zarrctl verify` of what xarray and zarr-python write: 0 only if everything that is there was read and is sound."""

import json
import os
import shutil
import struct
import subprocess

import numcodecs
import numpy as np
import pytest
import xarray
import zarr
from mounts import IS_SANITIZED, SYSTEM_PYTHON, ZARRCTL, for_everybody, zarrctl
from zarrctl_runs import peak_of

pytestmark = pytest.mark.filterwarnings("ignore")


def dataset():
    n = 7
    text = np.array(["a", "grün", "", "x" * 5000, "日本", "z", "z"], dtype=object)
    return xarray.Dataset({
        "text": (("x",), text), "unicode": (("x",), np.array(["ab", "c", "déf"] + ["q"] * 4)),
        "bytes": (("x",), np.array([b"ab", b"", b"\0\xff", b"q", b"q", b"q", b"q"], dtype=object)), "fixed": (("x",), np.array([b"ab", b"c"] + [b"q"] * 5)),
        "time": (("x",), np.arange(n).astype("M8[ns]")), "flag": (("x",), np.arange(n) % 2 == 0), "complex": (("x",), np.arange(n) * 1j),
        "scalar": ((), "one text"),
    }, coords={"x": list("abcdefg")})


def written(folder, zarr_format, sharded=False):
    encoding = {name: {"chunks": (2,), "shards": (4,)} for name in ("text", "bytes", "time")} if sharded else None
    dataset().to_zarr(folder, zarr_format=zarr_format, encoding=encoding, consolidated=False, mode="w")
    return folder


@pytest.mark.parametrize("zarr_format,sharded", [(2, False), (3, False), (3, True)])
def test_every_store_of_xarray_is_sound(tmp_path, zarr_format, sharded):
    result = zarrctl("verify", written(tmp_path / "store", zarr_format, sharded))
    assert result.returncode == 0, result.stdout
    first, *rest = result.stdout.splitlines()
    assert first.endswith("decoded: no damage") and all("no checksum" in line for line in rest)


def test_object_arrays_of_zarr_python_2_are_sound(tmp_path):
    code = """
import numcodecs, numpy, sys, zarr
group = zarr.open_group(sys.argv[1], mode="w")
group.create_dataset("text", shape=(5, 4), chunks=(2, 3), order="F", dtype=object, object_codec=numcodecs.VLenUTF8())[:] = "ä"
group.create_dataset("bytes", shape=(5, 4), chunks=(2, 3), dtype=object, object_codec=numcodecs.VLenBytes(), compressor=None)[:] = bytes([255, 0])
"""
    subprocess.run([SYSTEM_PYTHON, "-c", code, str(tmp_path / "store")], check=True)
    assert zarrctl("verify", tmp_path / "store").returncode == 0


def chunk(items, count=None):
    return struct.pack("<I", len(items) if count is None else count) + b"".join(struct.pack("<I", len(item)) + item for item in items)


@pytest.mark.parametrize("compressor", [None, numcodecs.Zstd()])
@pytest.mark.parametrize("name,content,reason", [
    ("text", chunk([b"a", b"b"]), None),
    ("text", chunk([b"a", b"b"], count=3), "the chunk states 3 elements, expected 2"),
    ("text", chunk([b"a"], count=2), "the chunk ends before element 1 of 2"),
    ("text", chunk([b"a", b"b"])[:-1], "element 1 of 2 has 1 bytes, but only 0 follow"),
    ("text", chunk([b"a", b"b"]) + b"\0", "1 bytes follow the last of 2 elements"),
    ("text", struct.pack("<III", 2, 0, 0xffffffff), "element 1 of 2 has 4294967295 bytes, but only 0 follow"),
    ("text", chunk([b"a", b"\xff"]), "element 1 of 2 is not UTF-8"),
    ("bytes", chunk([b"a", b"\xff"]), None),
    ("bytes", chunk([b"a", b"\xff"]) + b"\0", "1 bytes follow the last of 2 elements")])
def test_a_chunk_that_breaks_the_format_is_named(tmp_path, compressor, name, content, reason):
    codec = {"text": numcodecs.VLenUTF8(), "bytes": numcodecs.VLenBytes()}[name]
    (tmp_path / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|O", "fill_value": None, "order": "C", "filters": [codec.get_config()],
        "compressor": compressor and compressor.get_config()}))
    (tmp_path / "0").write_bytes(bytes(compressor.encode(content)) if compressor else content)
    result = zarrctl("verify", tmp_path)
    if reason is None:
        assert result.returncode == 0, result.stdout
    else:
        assert result.returncode == 1
        assert result.stdout.splitlines()[0] == f"0: chunk 0: {reason}"


def test_a_codec_that_is_not_known_is_no_sound_store(tmp_path):
    (tmp_path / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", "fill_value": None, "order": "C",
        "filters": [{"id": "json2"}], "compressor": None}))
    (tmp_path / "0").write_bytes(b"[]")
    assert zarrctl("verify", tmp_path).returncode == 3


# Links and permissions

@pytest.fixture
def store(tmp_path):
    """A group "group" with the array "group/array", whose chunks are c/0 and c/1, and beside the store a folder "else"."""
    folder = tmp_path / "store"
    zarr.open_group(folder, mode="w")
    array = zarr.open_group(folder / "group", mode="w").create_array("array", shape=(4,), chunks=(2,), dtype="int16")
    array[:] = 1
    (tmp_path / "else").mkdir()
    return folder


def moved(path, elsewhere):
    """`path` is moved away, and a symbolic link leads to it."""
    shutil.move(path, elsewhere / path.name)
    path.symlink_to(elsewhere / path.name)


@pytest.mark.parametrize("name", ["group/array/c/1", "group/array/c", "group/array/zarr.json", "group/array", "group/zarr.json", "group"])
def test_a_link_that_is_not_followed_is_damage_and_shown(store, name):
    moved(store / name, store.parent / "else")
    result = zarrctl("verify", "--links", "inside", store)
    assert result.returncode == 1
    line = next(line for line in result.stdout.splitlines() if line.startswith(f"{name}: "))
    assert "links=follow" in line
    info = zarrctl("info", "--links", "inside", store)
    assert info.returncode == 0, info.stderr
    assert name in info.stdout and "links=follow" in info.stdout
    for links in ["follow", store.parent / "else"]:
        assert zarrctl("verify", "--links", links, store).returncode == 0
        assert "links=follow" not in zarrctl("info", "--links", links, store).stdout


@pytest.mark.parametrize("name", ["group/array/c/1", "group/array/c", "group/array", "group"])
def test_a_link_to_nowhere_is_damage_whatever_is_followed(store, name):
    shutil.move(store / name, store.parent / "else/gone")
    (store / name).symlink_to("nowhere")
    for links in ["inside", "follow"]:
        result = zarrctl("verify", "--links", links, store)
        assert result.returncode == 1 and f"{name}: " in result.stdout
        assert name in zarrctl("info", "--links", links, store).stdout


def test_links_that_are_no_policy_are_refused(store):
    result = zarrctl("verify", "--links", "relative/folder", store)
    assert result.returncode == 1 and "expected inside, follow or absolute folders" in result.stderr


def as_nobody(*command):
    """What the program says to a user who is not root."""
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=120, user=65534, group=65534, extra_groups=[])


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be another user")
@pytest.mark.parametrize("name", ["group", "group/zarr.json", "group/array", "group/array/c", "group/array/c/1"])
def test_what_a_user_may_not_read_is_told(store, name):
    program = for_everybody(ZARRCTL, store.parent)
    assert as_nobody(program, "verify", store).returncode == 0
    (store / name).chmod(0)
    result = as_nobody(program, "verify", store)
    assert result.returncode == 2 and name in result.stdout and "ermission denied" in result.stdout, result.stdout + result.stderr


def test_a_mount_inside_the_store_is_named_and_no_damage(store):
    inside = store / "mnt"
    inside.mkdir()
    subprocess.run([str(ZARRCTL.with_name("zarrfs")), str(store), str(inside)], check=True, stdin=subprocess.DEVNULL)
    try:
        assert zarrctl("verify", store).returncode == 0
        info = zarrctl("info", store)
        assert info.returncode == 0
        assert sum("mnt" in line for line in info.stdout.splitlines()) == 1
    finally:
        subprocess.run(["umount", str(inside)], check=True)


def test_memory_bounds_what_is_decoded_at_once(tmp_path):
    chunk, chunks = 48 << 20, 8
    array = zarr.create_array(tmp_path / "large", shape=(chunks * chunk,), chunks=(chunk,), dtype="u1", compressors=zarr.codecs.ZstdCodec(level=1))
    for i in range(chunks):
        array[i * chunk:(i + 1) * chunk] = np.arange(chunk, dtype="u4").astype("u1") + i
    code, errors, peak = peak_of("verify", "-j", 8, "--memory", "128M", tmp_path / "large")
    assert (code, errors) == (0, ""), "threads wait for the memory of others"
    assert IS_SANITIZED or peak < 128 + 64
    code, errors, _ = peak_of("pack", "-j", 8, "--memory", "128M", "--verify", tmp_path / "large", tmp_path / "packed")
    assert code == 0, errors
    assert (zarr.open_array(tmp_path / "packed")[chunk * 3:chunk * 3 + 1000] == array[chunk * 3:chunk * 3 + 1000]).all()


def test_memory_that_is_too_little_is_one_line(tmp_path):
    zarr.create_array(tmp_path / "large", shape=(96 << 20,), chunks=(96 << 20,), dtype="u1")[:] = 7
    code, errors, peak = peak_of("cat", "--decode", "--memory", "64M", tmp_path / "large", "0")
    assert code == 1 and errors.count("\n") == 1 and "more than memory=" in errors and (IS_SANITIZED or peak < 64 + 64)
    assert peak_of("cat", "--decode", tmp_path / "large", "0")[0] == 0
    for wrong in ["63M", "much"]:
        code, errors, _ = peak_of("info", "--memory=" + wrong, tmp_path / "large")
        assert code == 1 and errors.count("\n") == 1 and "--memory" in errors
