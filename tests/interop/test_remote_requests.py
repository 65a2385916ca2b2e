"""What a mount of a web server or bucket asks for: how many requests, and how many bytes."""

import concurrent.futures
import errno
import json
import os
import random
import shutil
import subprocess
import threading
import time

import numpy as np
import pytest
import zarr

import faulty_server
from mounts import ZARR2_PYTHON, mounted

OLD = time.time() - 86400  # names of what changed so long ago live for a minute


def age(folder):
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD))


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    top = tmp_path_factory.mktemp("speed")
    top.chmod(0o755)
    top.parent.chmod(0o755)
    many = zarr.create_group(top / "many.zarr")
    for number in range(40):
        many.create_array(f"a{number}", shape=(4,), chunks=(2,), shards=(4,), dtype="i4")[:] = number
    zarr.consolidate_metadata(top / "many.zarr")
    cube = zarr.create_group(top / "cube.zarr").create_array(
        "data", shape=(64, 64, 64), chunks=(8, 8, 8), shards=(32, 32, 32), dtype="u2")
    cube[:] = np.random.default_rng(1).integers(0, 1 << 12, cube.shape)
    both = zarr.create_group(top / "both.zarr")
    for number in range(10):
        both.create_group(f"g{number}")
    data = both.create_array("data", shape=(64, 64, 64), chunks=(8, 8, 8), shards=(32, 32, 32), dtype="u2")
    data[:] = cube[:]
    zarr.consolidate_metadata(top / "both.zarr")
    sparse = zarr.create_array(top / "sparse.zarr", shape=(64,), chunks=(2,), shards=(32,), dtype="i4", fill_value=-1)
    sparse[:32] = 1
    age(top)
    return top


def asked(server, part=""):
    """Targets of the requests so far, without those of the start."""
    with server.lock:
        return [path for path, _, _ in server.seen if part in path]


def keys_of(store, tmp_path):
    """A file of all keys, so that a store without consolidated metadata can be listed."""
    (file := tmp_path / "keys").write_text("".join(f"{path.relative_to(store)}\n" for path in store.rglob("*") if path.is_file()))
    return file


def test_a_group_is_listed_by_asking_for_its_nodes_at_once(stores, tmp_path):
    running, most = [], []

    def fault(path, headers):
        running.append(path)
        most.append(len(running))
        time.sleep(0.05)
        running.remove(path)

    shutil.copytree(stores / "many.zarr", plain := tmp_path / "plain.zarr")
    (plain / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    tmp_path.chmod(0o755)
    age(plain)
    with faulty_server.serving(tmp_path, fault) as server, mounted(f"{server.url}/plain.zarr", f"list={keys_of(plain, tmp_path)}") as point:
        assert len([name for name in os.listdir(point / "v2") if name.startswith("a")]) == 40
        documents = [path for path in asked(server, "/a") if path.endswith("/zarr.json")]
        assert len(documents) == len(set(documents)) == 40, "one request a node"
        assert max(most) > 8


@pytest.mark.parametrize("version", [2, 3])
def test_consolidated_metadata_list_a_group_with_one_request(tmp_path, version):
    group = zarr.create_group(tmp_path / "many.zarr", zarr_format=version)
    for number in range(40):
        group.create_array(f"a{number}", shape=(4,), chunks=(2,), dtype="i4")[:] = number
    group.create_group("g").create_array("b", shape=(4,), chunks=(2,), dtype="i4")
    zarr.consolidate_metadata(tmp_path / "many.zarr")
    tmp_path.chmod(0o755)
    age(tmp_path)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/many.zarr") as point:
        server.seen.clear()
        subprocess.run(["ls", "-l", point / "v2"], check=True, stdout=subprocess.DEVNULL)
        assert asked(server, "/a") == [], "no request for a node"
        assert sorted(name for name in os.listdir(point / "v2") if not name.startswith(".")) == sorted([*(f"a{n}" for n in range(40)), "g"])
        assert (point / "v2/a7/.zarray").exists() and len(asked(server, "/a7/zarr.json" if version == 3 else "/a7/.zarray")) == 1
        assert [name for name in os.listdir(point / "v2/g") if not name.startswith(".")] == ["b"]


def test_out_of_date_consolidated_metadata_decide_nothing_but_a_listing(tmp_path):
    group = zarr.create_group(tmp_path / "old.zarr")
    for name in ("same", "other", "gone"):
        group.create_array(name, shape=(4,), chunks=(2,), dtype="i4", fill_value=9)[:] = 1
    zarr.consolidate_metadata(tmp_path / "old.zarr")
    shutil.rmtree(tmp_path / "old.zarr/gone")
    shutil.rmtree(tmp_path / "old.zarr/other")
    zarr.create_array(tmp_path / "old.zarr/other", shape=(6,), chunks=(3,), dtype="f8")[:] = 2.5
    zarr.create_array(tmp_path / "old.zarr/added", shape=(4,), chunks=(2,), dtype="i4")[:] = 3
    tmp_path.chmod(0o755)
    age(tmp_path)
    keys = keys_of(tmp_path / "old.zarr", tmp_path)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/old.zarr", f"view=v2,list={keys}") as point:
        # The bucket or its list names what is there.
        assert sorted(name for name in os.listdir(point) if not name.startswith(".")) == ["added", "other", "same"]
        assert json.loads((point / "other/.zarray").read_text())["shape"] == [6]
        assert json.loads((point / ".zmetadata").read_text())["metadata"]["other/.zarray"]["dtype"] == "<f8"
        done = subprocess.run(
            [ZARR2_PYTHON, "-c", "import sys, zarr; g = zarr.open(sys.argv[1], 'r'); print(g['other'][:].tolist(), g['added'][:].tolist())", point],
            capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == "[2.5, 2.5, 2.5, 2.5, 2.5, 2.5] [3, 3, 3, 3]", done.stderr
        # What is gone is no array of fill values.
        os.path.isdir(point / "gone")
        with pytest.raises(OSError):
            os.listdir(point / "gone")
        with pytest.raises(OSError) as error:
            (point / "gone/0").read_bytes()
        assert error.value.errno != errno.ENOENT or not (point / "gone").exists()


def test_what_was_asked_serves_all_names_for_half_of_their_life(stores):
    with faulty_server.serving(stores) as server, mounted(f"{server.url}/cube.zarr", "view=v2") as point:
        (point / "data/0.0.0").read_bytes()
        server.seen.clear()
        for at in range(4):
            (point / f"data/{at}.1.1").read_bytes()
            time.sleep(0.2)
        assert not [path for path in asked(server) if path.endswith("zarr.json")]
        assert len([1 for _, _, headers in server.seen if headers.get("Range") == "bytes=0-0"]) == 0


@pytest.mark.parametrize("view", ["v2", "netcdf"])
def test_a_chunk_is_one_request_however_it_is_read(stores, view):
    with faulty_server.serving(stores) as server, mounted(f"{server.url}/cube.zarr", f"view={view}") as point:
        (point / "data/0.0.0").read_bytes()
        server.seen.clear()
        with open(point / "data/3.1.2", "rb", buffering=0) as file:
            while file.read(100):
                pass
        assert len(asked(server)) == 1


def test_many_readers_of_a_chunk_are_one_request(stores):
    with faulty_server.serving(stores, lambda path, headers: time.sleep(0.3)) as server:
        with mounted(f"{server.url}/cube.zarr", "view=v2") as point:
            (point / "data/0.0.0").read_bytes()
            server.seen.clear()
            with concurrent.futures.ThreadPoolExecutor(100) as pool:
                read = set(pool.map(lambda _: (point / "data/3.1.2").read_bytes(), range(100)))
            assert len(read) == 1 and len(asked(server)) == 1
            # So is the index of a shard that nobody has read of.
            server.seen.clear()
            with concurrent.futures.ThreadPoolExecutor(100) as pool:
                assert all(pool.map(lambda at: (point / f"data/{4 + at % 4}.{4 + at // 4 % 4}.7").read_bytes(), range(100)))
            indexes = [path for path, _, headers in server.seen if headers.get("Range", "").startswith("bytes=-")]
            assert indexes.count("/cube.zarr/data/c/1/1/1") == 1 and len(indexes) == len(set(indexes))


def test_an_absent_shard_is_asked_for_once(stores):
    with faulty_server.serving(stores) as server, mounted(f"{server.url}/sparse.zarr", "view=v2,ttl=60") as point:
        assert (point / "0").exists()
        server.seen.clear()
        assert not any((point / str(chunk)).exists() for chunk in range(16, 32))
        assert len(asked(server, "/c/1")) == 1


def scanned(server, point, places):
    """Reads chunks one after the other: the requests for data, and the bytes of what they asked for."""
    server.seen.clear()
    read = [(point / "data" / ".".join(map(str, place))).read_bytes() for place in places]
    ranges = [headers["Range"].removeprefix("bytes=").split("-") for path, _, headers in server.seen if "/c/" in path]
    data = [(int(first), int(last)) for first, last in ranges if first]
    return read, data


ORDERS = {
    "rows": lambda place: place,
    "columns": lambda place: place[::-1],
    "backwards": lambda place: tuple(-at for at in place),
    "slabs": lambda place: (place[1], place[0], place[2]),
}


@pytest.mark.parametrize("order", ORDERS)
def test_chunks_are_fetched_ahead_in_the_order_of_the_array(stores, order):
    places = sorted(np.ndindex(8, 8, 8), key=ORDERS[order])
    with mounted(stores / "cube.zarr", "view=v2") as local:
        expected = [(local / "data" / ".".join(map(str, place))).read_bytes() for place in places]
    stored = sum(path.stat().st_size for path in (stores / "cube.zarr/data/c").rglob("*") if path.is_file())
    with faulty_server.serving(stores, lambda path, headers: time.sleep(0.01)) as server:
        with mounted(f"{server.url}/cube.zarr", "view=v2") as point:
            read, data = scanned(server, point, places)
    assert read == expected
    assert len(data) < len(places) / 4, "neighbours are one request"
    assert sum(last - first + 1 for first, last in data) < 1.05 * stored, "and no byte is fetched twice"


def test_random_readers_get_what_they_read_and_no_more(stores):
    places = list(np.ndindex(8, 8, 8))
    random.Random(3).shuffle(places)
    places = places[:120]
    with faulty_server.serving(stores) as server, mounted(f"{server.url}/cube.zarr", "view=v2") as point:
        read, data = scanned(server, point, places)
        assert sum(last - first + 1 for first, last in data) < 1.05 * sum(map(len, read))


def test_names_do_not_wait_behind_data(stores):
    listed, held = threading.Event(), []

    def fault(path, headers):
        # Chunks, not what tells where they are.
        if "/c/" in path and "If-Match" in headers:
            held.append(path)
            assert listed.wait(60)

    with faulty_server.serving(stores, fault) as server, mounted(f"{server.url}/both.zarr", "view=v2,connections=4") as point:
        places = [f"{at}.{at}.{other}" for at in range(8) for other in range(4)]
        with concurrent.futures.ThreadPoolExecutor(len(places)) as pool:
            read = [pool.submit((point / "data" / place).read_bytes) for place in places]
            while len(held) < 3:
                time.sleep(0.05)
            time.sleep(0.5)  # The others wait behind them.
            server.seen.clear()
            names = [name for name in os.listdir(point) if name.startswith("g")]
            documents = [(point / name / ".zgroup").read_bytes() for name in names]
            assert asked(server, "/g0/zarr.json") and not any(chunk.done() for chunk in read)
            listed.set()
            assert len(documents) == 10 and all(chunk.result() for chunk in read)


def test_bandwidth_limits_data_and_no_names(tmp_path):
    rate = 1 << 20
    group = zarr.create_group(tmp_path / "noise.zarr")
    noise = np.random.default_rng(2).bytes(8 * rate)
    for name, more in ("sharded", {"shards": (8 * rate,)}), ("plain", {}):
        group.create_array(name, shape=(8 * rate,), chunks=(rate // 2,), dtype="u1", compressors=None, **more)[:] = np.frombuffer(noise, "u1")
    for number in range(20):
        group.create_group(f"g{number}")
    zarr.consolidate_metadata(tmp_path / "noise.zarr")
    age(tmp_path)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/noise.zarr", f"view=v2,bandwidth={rate},timeout=2") as point:
        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            read = [pool.submit((point / array / str(number)).read_bytes) for array in ("sharded", "plain") for number in range(16)]
            time.sleep(0.5)
            asked_at = time.monotonic()
            assert all((point / f"g{number}/.zgroup").read_bytes() for number in range(20))
            names_took = time.monotonic() - asked_at
            assert not all(chunk.done() for chunk in read)
            data = b"".join(chunk.result() for chunk in read)
        took = time.monotonic() - begun
        assert data == 2 * noise, "what waits longer than timeout= fails none of them"
        received = json.loads((point / ".zarrfs/status.json").read_text())["network"]["received_bytes"]
    assert received / (took + 1) < 1.1 * rate + (8 << 20) / took, (received, took)
    assert took > 10 and names_took < 2, (took, names_took)


def test_readers_wait_at_once_up_to_connections(stores):
    running, most, barrier = [], [], threading.Event()

    def fault(path, headers):
        if not barrier.is_set():
            return
        running.append(path)
        most.append(len(running))
        time.sleep(1)
        running.remove(path)

    with faulty_server.serving(stores, fault) as server, mounted(f"{server.url}/cube.zarr", "view=v2,immutable,connections=128") as point:
        names = [f"{i}.{j}.{k}" for i in range(8) for j in range(8) for k in range(8)]
        for first in (f"{i}.{j}.{k}" for i in (0, 4) for j in (0, 4) for k in (0, 4)):
            (point / "data" / first).read_bytes()  # the indexes are known
            names.remove(first)
        barrier.set()
        with concurrent.futures.ThreadPoolExecutor(96) as pool:
            list(pool.map(lambda name: (point / "data" / name).read_bytes(), random.Random(1).sample(names, 96)))
        assert max(most) > 80, max(most)
