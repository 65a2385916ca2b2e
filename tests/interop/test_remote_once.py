"""What is asked of a store behind a network, by key: each thing once."""

import collections
import contextlib
import errno
import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import zarr

import bucket_server
import faulty_server
from mounts import ZARR2_PYTHON, mounted

OLD = time.time() - 86400  # names of what changed so long ago live for a minute
ARRAYS = 10

LIST = ["ls", "{point}", "{point}/{view}"]
LONG = ["sh", "-c", "ls {point} {point}/{view}; ls -l {point}/{view}"]
FIND = ["find", "{point}/{view}"]
USAGE = ["du", "{point}/{view}"]
XARRAY = "import sys, xarray; print(*xarray.open_zarr(sys.argv[1], consolidated=sys.argv[2] == 'yes'))"


def xarray(python, consolidated):
    return [python, "-W", "ignore", "-c", XARRAY, "{point}/{view}", consolidated]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    top = tmp_path_factory.mktemp("once")
    top.chmod(0o755)
    top.parent.chmod(0o755)
    for name in ("plain", "consolidated"):
        group = zarr.create_group(top / f"{name}.zarr")
        for number in range(ARRAYS):
            array = group.create_array(f"a{number}", shape=(8,), chunks=(2,), shards=(4,), dtype="i4", dimension_names=["x"])
            array[:] = number
        if name == "consolidated":
            zarr.consolidate_metadata(top / f"{name}.zarr")
    for path in top.rglob("*"):
        os.utime(path, (OLD, OLD))
    return top


class Asked:
    """The requests of a mount, by key; listings of a bucket end in "/"."""

    def __init__(self, server, key_of):
        self.server, self.key_of = server, key_of

    def __call__(self):
        return collections.Counter(self.key_of(seen) for seen in list(self.server.seen))


def key_in_bucket(seen):
    key, query = seen
    return query["prefix"].removeprefix("store/").rstrip("/") + "/" if "list-type" in query and query["max-keys"] != "1" else key.removeprefix("store/")


@contextlib.contextmanager
def served(place, store, options=""):
    """A mount of the store, and what it has asked."""
    with contextlib.ExitStack() as stack:
        if place == "bucket":
            server = stack.enter_context(bucket_server.serving_folder(store))
            source, more = "s3://bucket/store", f"endpoint={server.url},anonymous"
        else:
            server = stack.enter_context(faulty_server.serving(store.parent))
            source, more = f"{server.url}/{store.name}", ""
            if store.name == "plain.zarr":
                keys = store.with_name("keys")
                keys.write_text("".join(f"{path.relative_to(store)}\n" for path in store.rglob("*") if path.is_file()))
                more = f"list={keys}"
        point = stack.enter_context(mounted(source, ",".join(filter(None, (options, more))) or None))
        yield point, Asked(server, key_in_bucket if place == "bucket" else lambda seen: seen[0].split("/", 2)[2]), server


def run(command, point, view="v3"):
    done = subprocess.run([word.format(point=point, view=view) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


TABLE = {
    # what is run, in which view, and how many documents of arrays it may ask for if they are consolidated
    "ls": (LIST, "v3", 0),
    "ls -l after ls": (LONG, "v3", ARRAYS),
    "find": (FIND, "v3", ARRAYS),
    "du": (USAGE, "v3", ARRAYS),
    "xarray, zarr-python 3": (xarray(sys.executable, "no"), "v3", ARRAYS),
    "xarray, zarr-python 2, consolidated": (xarray(ZARR2_PYTHON, "yes"), "v2", ARRAYS),
    "xarray, zarr-python 2": (xarray(ZARR2_PYTHON, "no"), "v2", ARRAYS),
}


@pytest.mark.parametrize("what", TABLE)
@pytest.mark.parametrize("store", ["plain", "consolidated"])
@pytest.mark.parametrize("place", ["web server", "bucket"])
@pytest.mark.parametrize("options", ["", "ttl=120"])
def test_each_thing_is_asked_once(stores, options, place, store, what):
    command, view, arrays = TABLE[what]
    with served(place, stores / f"{store}.zarr", options) as (point, asked, _):
        run(command, point, view)
        seen = asked()
    assert seen["zarr.json"] == 1, seen
    documents = [key for key in seen if key.startswith("a") and key.endswith("/zarr.json")]
    assert len(documents) <= (ARRAYS if store == "plain" else arrays), documents
    # A node may have the name of a document of Zarr v2, in the view v3 alone; consolidated metadata or a listing tells.
    absent = {key for key in seen if ".z" in key}
    assert not absent, absent
    # Without ttl= it is asked again after half a second what is absent, what a folder holds, and whether an array is still there.
    twice = {key: times for key, times in seen.items() if times > 1}
    assert not options or not {key for key in twice if "/c/" not in key and key != "/"}, twice
    # A reader that looks for a name and lists the group at the same time asks for two listings.
    assert not options or seen["/"] <= 2, seen
    # One object of a bucket shows that the versions in listings are those of objects.
    assert sum(times - 1 for key, times in twice.items() if "/c/" in key) <= (place == "bucket"), twice


def test_a_change_is_seen_in_time_however_often_the_answer_before_was_used(tmp_path):
    store = tmp_path / "young.zarr"
    tmp_path.chmod(0o755)
    zarr.create_group(store).create_array("a", shape=(4,), chunks=(2,), dtype="i4")[:] = 1
    with served("bucket", store, "view=v3,ttl=3") as (point, asked, _):
        (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {"new": 1}}')
        begin = time.monotonic()
        while time.monotonic() - begin < 3.2:
            os.listdir(point)
            (point / "zarr.json").read_text()
            time.sleep(0.1)
        assert "new" in (point / "zarr.json").read_text()


def write(store, chunks, size, compressors=None):
    """An array of unsharded chunks of so many bytes, if they are not compressed."""
    store.parent.chmod(0o755)
    array = zarr.create_group(store).create_array("a", shape=(chunks * size // 4,), chunks=(size // 4,), dtype="i4", compressors=compressors)
    array[:] = np.random.default_rng(1).integers(0, 1 << 20, array.shape)
    for path in store.rglob("*"):
        os.utime(path, (OLD, OLD))
    return store


def ranges(server, key):
    """The ranges of this key that were asked for, and whether they were asked for of one version."""
    if isinstance(server, bucket_server.FolderServer):
        asked = [(seen, headers) for (seen, _), headers in zip(server.seen, server.headers, strict=True)]
    else:
        asked = [(path, headers) for path, _, headers in list(server.seen)]
    return [(headers.get("Range"), "If-Match" in headers) for seen, headers in asked if seen.endswith(key)]


@pytest.mark.parametrize("place", ["web server", "bucket"])
@pytest.mark.parametrize("compressors", [None, zarr.codecs.ZstdCodec()])
def test_a_chunk_that_no_listing_told_is_one_request(tmp_path, place, compressors):
    store = write(tmp_path / "chunks.zarr", 40, 100_000, compressors)
    with served(place, store, "view=v2") as (point, _, server):
        for chunk in np.random.default_rng(2).permutation(40):
            assert (point / f"a/{chunk}").read_bytes() == (store / f"a/c/{chunk}").read_bytes()
            assert ranges(server, f"/a/c/{chunk}") == [("bytes=0-1048575", False)]


@pytest.mark.parametrize("shards", [None, (2, 2)])
def test_the_first_chunk_in_v3_is_not_a_request_for_each_chunk_of_the_array(tmp_path, shards):
    store = zarr.create_group(tmp_path / "grid.zarr")
    array = store.create_array("a", shape=(60, 60), chunks=(1, 1), shards=shards, dtype="i4", fill_value=-1, compressors=None)
    array[7, 9] = 5
    with served("web server", tmp_path / "grid.zarr", "view=v3") as (point, _, server):
        assert np.frombuffer((point / "a/c/7/9").read_bytes(), "i4") == [5]
        assert not (point / "a/c/7/10").exists() and not (point / "a/c/60").exists()
        assert zarr.open_array(point / "a", mode="r")[7, 9:12].tolist() == [5, -1, -1]
        asked = [path for path, _, _ in server.seen if "/a/c" in path]
    assert len(asked) <= 12, asked  # not 3,600 or 900


@pytest.mark.parametrize("place", ["web server", "bucket"])
def test_what_was_kept_of_a_chunk_is_not_used_later_than_its_name(tmp_path, place):
    store = write(tmp_path / "chunks.zarr", 2, 100_000)
    with served(place, store, "view=v2,ttl=1") as (point, _, server):
        assert (point / "a/0").stat().st_size == 100_000
        time.sleep(1.2)
        assert (point / "a/0").read_bytes() == (store / "a/c/0").read_bytes()
        assert ranges(server, "/a/c/0")[-1] == ("bytes=0-99999", True)
        assert (point / "a/1").stat().st_size == 100_000
        (store / "a/c/1").write_bytes(b"1234" * 25_000)
        time.sleep(1.2)
        assert (point / "a/1").read_bytes() == b"1234" * 25_000


def test_a_program_that_asks_for_sizes_alone_soon_gets_no_bytes(tmp_path):
    store = write(tmp_path / "plain.zarr", 400, 100_000)
    with served("web server", store, "view=v2,ttl=120") as (point, _, server):
        assert {(point / f"a/{chunk}").stat().st_size for chunk in range(400)} == {100_000}
        sent = sum(end - begin for path, begin, end in server.sent if "/a/c/" in path)
    assert sent < (17 << 20), "of 40 MB"


@pytest.fixture(scope="module")
def chunks(tmp_path_factory):
    """A store of unsharded chunks, of which a listing takes three pages."""
    store = tmp_path_factory.mktemp("chunks") / "chunks.zarr"
    store.parent.chmod(0o755)
    store.parent.parent.chmod(0o755)
    array = zarr.create_group(store).create_array("a", shape=(2_500,), chunks=(1,), dtype="u2", compressors=None)
    array[:] = 1 + np.arange(2_500)
    for path in store.rglob("*"):
        os.utime(path, (OLD, OLD))
    return store


@pytest.mark.parametrize("command", [["ls", "-U"], ["ls", "-l"], ["du"], ["find", "-L"]])
@pytest.mark.parametrize("options", ["", "ttl=120"])
def test_names_times_and_sizes_of_unsharded_chunks_are_pages_of_a_listing(chunks, options, command):
    with served("bucket", chunks, options) as (point, asked, _):
        run([*command, "{point}/{view}/a/c"], point)
        seen = asked()
        listed, objects = seen["a/c/"], {key for key in seen if key.startswith("a/c/") and key != "a/c/"}
        # A look-up of the folder reads a page. One chunk shows that versions in listings are those of objects.
        assert listed <= 3 + 1 and len(objects) <= 1 and sum(seen.values()) < 20, seen
        assert (point / "v3/a/c/77").read_bytes() == np.uint16(78).tobytes()
        after = asked()
        assert sum((after - seen).values()) <= 2, after - seen


def test_a_chunk_that_was_listed_and_is_replaced_is_old_or_new(chunks, tmp_path):
    tmp_path.chmod(0o755)
    shutil.copytree(chunks, store := tmp_path / "copy.zarr")
    for path in store.rglob("*"):
        os.utime(path, (OLD, OLD))
    with served("bucket", store, "view=v3,ttl=3") as (point, asked, _):
        sizes = {name: (point / "a/c" / name).stat().st_size for name in os.listdir(point / "a/c")}
        assert len(sizes) == 2_500 and set(sizes.values()) == {2}
        for chunk in range(10):
            (store / f"a/c/{chunk}").write_bytes(b"\7\7")
        begin = time.monotonic()
        while (late := time.monotonic() - begin > 3.2) or True:
            for chunk in range(10):
                try:
                    read = (point / f"a/c/{chunk}").read_bytes()
                except OSError as error:
                    assert error.errno == errno.ESTALE and not late
                else:
                    assert read in ((np.uint16(1 + chunk).tobytes(), b"\7\7") if not late else (b"\7\7",))
            if late:
                break
            time.sleep(0.1)


def test_the_size_of_a_listed_zstd_chunk_takes_its_first_18_bytes(tmp_path):
    """Of one whose frame states it, as those of zarr-python do."""
    tmp_path.chmod(0o755)
    array = zarr.create_group(store := tmp_path / "zstd.zarr").create_array(
        "a", shape=(80_000,), chunks=(1_000,), dtype="i4", compressors=zarr.codecs.ZstdCodec())
    array[:] = np.random.default_rng(1).integers(0, 1 << 20, array.shape)
    for path in store.rglob("*"):
        os.utime(path, (OLD, OLD))
    with mounted(store, "view=v2") as point:
        sizes = {path.name: path.stat().st_size for path in (point / "a").iterdir() if path.name.isdigit()}
    with served("bucket", store, "view=v2,ttl=120") as (point, asked, server):
        names = os.listdir(point / "a")
        assert {name: (point / "a" / name).stat().st_size for name in names if name.isdigit()} == sizes
        ranges = [
            headers["Range"] for (key, _), headers in zip(server.seen, server.headers, strict=True)
            if key.startswith("store/a/c/") and headers["Range"] != "bytes=0-0"]
        assert ranges == ["bytes=0-17"] * len(sizes)
        assert (point / "a/7").read_bytes() == (store / "a/c/7").read_bytes()


@pytest.mark.parametrize("path", ["1", "a/1"])
def test_a_read_waits_once_for_a_server_that_hangs(tmp_path, path):
    group = zarr.create_group(tmp_path / "plain.zarr")
    for array in ("a", "b"):
        group.create_array(array, shape=(8,), chunks=(2,), dtype="i4")[:] = 1
    store = tmp_path / ("plain.zarr" if "/" in path else "plain.zarr/a")
    for file in tmp_path.rglob("*"):
        os.utime(file, (OLD, OLD))
    hangs, go_on = threading.Event(), threading.Event()

    def fault(*_):
        if hangs.is_set():
            go_on.wait(120)

    with (faulty_server.serving(store.parent, fault) as server,
          mounted(f"{server.url}/{store.name}", "view=v2,timeout=2,ttl=0.1") as point):
        try:
            (point / path).read_bytes()
            time.sleep(0.5)
            hangs.set()
            begin, before = time.monotonic(), len(server.seen)
            with pytest.raises(OSError) as error:
                (point / path).read_bytes()
            assert error.value.errno == errno.ETIMEDOUT
            assert time.monotonic() - begin < 2 * 2 + 1 and len(server.seen) - before <= 2
            hangs.clear()
            time.sleep(2.5)
            assert (point / path).read_bytes()
        finally:
            go_on.set()


@pytest.mark.parametrize("shards", [None, 400_000])
@pytest.mark.parametrize("place", ["web server", "bucket"])
def test_sizes_of_zstd_chunks_that_nobody_reads_take_18_bytes(tmp_path, place, shards):
    """Wherever the chunks are, once 16 MiB were fetched in vain."""
    tmp_path.chmod(0o755)
    array = zarr.create_group(store := tmp_path / "chunks.zarr").create_array(
        "a", shape=(8_000_000,), chunks=(20_000,), shards=shards and (shards,), dtype="i4", compressors=zarr.codecs.ZstdCodec())
    array[:] = np.random.default_rng(1).integers(0, 1 << 30, array.shape)
    for path in store.rglob("*"):
        os.utime(path, (OLD, OLD))
    order = [int(chunk) for chunk in np.random.default_rng(2).permutation(400)]
    with mounted(store, "view=v2") as point:
        sizes = {chunk: (point / f"a/{chunk}").stat().st_size for chunk in order}
    with served(place, store, "view=v2,ttl=120") as (point, _, server):
        for chunk in order[:20]:
            assert len((point / f"a/{chunk}").read_bytes()) == sizes[chunk]
        assert {chunk: (point / f"a/{chunk}").stat().st_size for chunk in order[:300]} == {chunk: sizes[chunk] for chunk in order[:300]}
        before = len(ranges(server, ""))
        assert {chunk: (point / f"a/{chunk}").stat().st_size for chunk in order[300:]} == {chunk: sizes[chunk] for chunk in order[300:]}
        asked = [of.removeprefix("bytes=").split("-") for of, _ in ranges(server, "")[before:] if of]
        lengths = [1 + int(end) - int(begin) for begin, end in asked if begin]
        assert lengths.count(18) == 100 and sum(lengths) <= 100 * 19 + 100
        # A program that reads gets whole chunks by one request again.
        before = len(ranges(server, ""))
        assert len((point / f"a/{order[-1]}").read_bytes()) == sizes[order[-1]]
        assert len(ranges(server, "")) == before + 1
