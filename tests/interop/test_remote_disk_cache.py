"""What was fetched and is on the disk is not fetched again; what is wrong with the disk costs speed alone."""

import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import zarr

import bucket_server
import faulty_server
from mounts import ZARRCTL, mounted
from remote import fetcher_of, options_of, start, tree

OLD = time.time() - 86400


@pytest.fixture
def store(tmp_path):
    """A group of an array in shards and one without, written long ago."""
    group = zarr.create_group(tmp_path / "www/ocean.zarr")
    rng = np.random.default_rng(1)
    shards = group.create_array("shards", shape=(64, 64), chunks=(8, 8), shards=(32, 32), dtype="u2")
    shards[:] = rng.integers(0, 1 << 12, shards.shape)
    plain = group.create_array("plain", shape=(64, 64), chunks=(32, 32), dtype="u2")
    plain[:] = rng.integers(0, 1 << 12, plain.shape)
    zarr.consolidate_metadata(tmp_path / "www/ocean.zarr")
    tmp_path.chmod(0o755)
    age(tmp_path)
    return tmp_path / "www/ocean.zarr"


def age(folder):
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD))


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def entries(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file() and path.name.count("-") == 3)


def settled(cache):
    """Waits until nothing more is written."""
    before = None
    while (now := [(path, path.stat().st_size) for path in entries(cache)]) != before or not now or list((cache / "new").iterdir()):
        before = now
        time.sleep(0.5)
    return now


def data(server):
    """What was sent of chunks and indexes: more than the byte that says which version there is."""
    with server.lock:
        return [(path, begin, end) for path, begin, end in server.sent if "/c/" in path and end - begin > 1]


def read_all(server, cache, options=""):
    with mounted(f"{server.url}/ocean.zarr", f"view=v2,disk_cache={cache}{options}") as point:
        found = tree(point)
        settled(cache)
        return {name: content for name, content in found.items() if not name.startswith(".zarrfs")}


@pytest.mark.parametrize("etags", [True, False])
def test_a_second_scan_after_a_remount_fetches_no_data(store, cache, etags):
    with faulty_server.serving(store.parent, etags=etags) as server:
        first = read_all(server, cache)
        assert len(data(server)) > 10
        server.sent.clear()
        again = read_all(server, cache)
        assert again == first and len(first) > 64 + 4
        assert data(server) == []
    with mounted(store, "view=v2") as local:
        assert {name: content for name, content in tree(local).items() if not name.startswith(".zarrfs")} == first
    assert cache.stat().st_mode & 0o777 == 0o700


def test_another_order_and_other_pieces_are_served_from_it(store, cache):
    with faulty_server.serving(store.parent) as server:
        read_all(server, cache)
        server.sent.clear()
        with mounted(f"{server.url}/ocean.zarr", f"view=v3,disk_cache={cache}") as point:
            for chunk in ("7/3", "0/0", "3/5"):
                with open(point / f"shards/c/{chunk}", "rb", buffering=0) as file:
                    while file.read(50):
                        pass
        assert data(server) == []


def test_two_mounts_at_once_share_it(store, cache):
    with faulty_server.serving(store.parent) as server:
        options = f"view=v2,disk_cache={cache}"
        with mounted(f"{server.url}/ocean.zarr", options) as one, mounted(f"{server.url}/ocean.zarr", options) as other:
            first = tree(one / "shards")
            settled(cache)
            server.sent.clear()
            assert tree(other / "shards") == first
            assert data(server) == []


@pytest.mark.parametrize("etags", [True, False])
def test_a_changed_object_is_fetched_again(store, cache, etags):
    with faulty_server.serving(store.parent, etags=etags) as server:
        before = read_all(server, cache)
        array = zarr.open_array(store / "shards", mode="r+")
        array[:32] = array[:32] + 1
        for shard in (store / "shards/c/0").iterdir():
            os.utime(shard, (OLD + 5, OLD + 5))
        after = read_all(server, cache)
        with mounted(store, "view=v2") as local:
            expected = {name: content for name, content in tree(local).items() if not name.startswith(".zarrfs")}
        assert after == expected != before


def test_torn_and_altered_entries_are_fetched_again_and_replaced(store, cache):
    with faulty_server.serving(store.parent) as server:
        first = read_all(server, cache)
        for number, (path, size) in enumerate(settled(cache)):
            if number % 3 == 0:
                os.truncate(path, size // 2)
            else:
                bytes_of = bytearray(path.read_bytes())
                bytes_of[-1 - number % 40] ^= 4
                path.write_bytes(bytes_of)
        server.sent.clear()
        assert read_all(server, cache) == first
        assert len(data(server)) > 10
        server.sent.clear()
        assert read_all(server, cache) == first
        assert data(server) == []


def test_killing_the_process_that_fetches_costs_nothing_but_time(store, cache):
    with faulty_server.serving(store.parent, lambda path, headers: time.sleep(0.02)) as server:
        with mounted(store, "view=v2") as local:
            expected = tree(local / "shards")
        with mounted(f"{server.url}/ocean.zarr", f"view=v2,disk_cache={cache}") as point:
            keeper = int(options_of(point)["pid"])
            for number, name in enumerate(sorted(expected)):
                if number in (5, 30):
                    os.kill(fetcher_of(keeper), signal.SIGKILL)
                assert (point / "shards" / name).read_bytes() == expected[name]
            settled(cache)
        again = read_all(server, cache)
        assert {name: again[f"shards/{name}"] for name in expected} == expected


def test_a_disk_that_is_full_costs_nothing_but_speed(store, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk]).returncode != 0:
        pytest.skip("needs root")
    try:
        with mounted(store, "view=v2") as local, faulty_server.serving(store.parent) as server:
            with mounted(f"{server.url}/ocean.zarr", f"view=v2,disk_cache={disk / 'cache'}") as point:
                assert tree(point / "shards") == tree(local / "shards")
                (disk / "more").write_bytes(bytes(os.statvfs(disk).f_bavail * 4096))
                assert tree(point / "plain") == tree(local / "plain")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_folder_of_somebody_else_or_for_everybody_is_refused(store, cache):
    cache.mkdir(mode=0o755)
    cache.chmod(0o755)
    with faulty_server.serving(store.parent) as server:
        result = start(f"{server.url}/ocean.zarr", store.parent, f"disk_cache={cache}")
        assert result.returncode == 32
        assert result.stderr == f"zarrfs: disk_cache={cache}: others may enter this folder: chmod 700 it, or choose one that does not exist yet\n"
        checked = subprocess.run([ZARRCTL, "ls", f"{server.url}/ocean.zarr", "-o", f"disk_cache={cache}"], capture_output=True, text=True)
        assert checked.returncode != 0 and "chmod 700" in checked.stderr
        if os.getuid() == 0:
            shutil.chown(cache, 4711)
            cache.chmod(0o700)
            result = start(f"{server.url}/ocean.zarr", store.parent, f"disk_cache={cache}")
            assert result.returncode == 32 and "belongs to another user (uid 4711)" in result.stderr


def test_a_folder_with_other_files_is_refused_and_they_stay(store, tmp_path):
    scratch = tmp_path / "scratch"
    results = [scratch / f"project/run{i}/result.nc" for i in range(2)]
    for result in results:
        result.parent.mkdir(parents=True)
        result.write_bytes(bytes(45 << 20))
        os.utime(result, (0, 0))
    (scratch / "old/empty").mkdir(parents=True)
    scratch.chmod(0o700)
    with faulty_server.serving(store.parent) as server:
        source = f"{server.url}/ocean.zarr"
        for command in (
            lambda: start(source, store.parent, f"disk_cache={scratch},disk_cache_size=64M"),
            lambda: subprocess.run([ZARRCTL, "verify", source, "-o", f"disk_cache={scratch}"], capture_output=True, text=True)):
            refused = command()
            assert refused.returncode != 0 and "this folder has other files (" in refused.stderr
            assert f"choose another folder, for example disk_cache={scratch}/zarrfs" in refused.stderr
        # A cache from before, beside which others have put their files since.
        cache = tmp_path / "cache"
        with mounted(source, f"disk_cache={cache}"):
            pass
        shutil.copytree(scratch, cache, dirs_exist_ok=True)
        (cache / "taken").unlink(missing_ok=True)
        read_all(server, cache, ",disk_cache_size=64M")
        settled(cache)
    assert all(path.exists() for path in [*results, scratch / "old/empty", cache / "old/empty"])
    assert all((cache / path.relative_to(scratch)).stat().st_size == 45 << 20 for path in results)


def test_zarrctl_takes_it(store, cache):
    with faulty_server.serving(store.parent) as server:
        for run in range(5):
            server.sent.clear()
            result = subprocess.run(
                [ZARRCTL, "verify", f"{server.url}/ocean.zarr", "-o", f"disk_cache={cache}"], capture_output=True, text=True, timeout=120)
            assert result.returncode == 0, result.stderr
            settled(cache)
            if run > 0 and data(server) == []:  # what it was about to write when it ended is asked for once more
                break
        assert run > 0 and data(server) == []


def test_a_bucket_whose_answers_say_no_time_is_served_from_it(cache):
    with bucket_server.serving(20) as server:
        source, options = "s3://bucket/store", f"view=v2,anonymous,endpoint={server.url},disk_cache={cache}"
        for _ in range(2):
            with mounted(source, options) as point:
                assert [(point / str(chunk)).read_bytes() for chunk in range(20)] == [bytes([chunk]) for chunk in range(20)]
                settled(cache)
