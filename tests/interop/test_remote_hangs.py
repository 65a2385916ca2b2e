"""Servers and processes that hang: a mount of a bucket or web server ends when it is told to, and reading it ends."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

import faulty_server
from mounts import IS_SANITIZED, ZARRFS, mounted
from remote import BUCKET, KEY, PREFIX, SECRET, children, fetcher_of, options_of, start


def ends(pid, seconds=20):
    for _ in range(seconds * 20):
        state = pathlib.Path(f"/proc/{pid}/stat")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if state.read_text().rsplit(") ", 1)[1][0] != "Z":
                time.sleep(0.05)
                continue
        return True
    return False


def wait_for(condition):
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(condition)


def reading(path):
    """A process that reads the file, and waits."""
    reader = subprocess.Popen(["env", "--default-signal=INT", "cat", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    return reader


@pytest.fixture
def hanging(folder):
    """A server that does not answer requests for chunks while `is_on`."""
    state = {"is_on": False, "go_on": threading.Event()}

    def fault(path, headers):
        if state["is_on"] and "/c/" in path:
            state["go_on"].wait(60)
        return None

    with faulty_server.serving(folder.parent, fault) as server:
        yield server, state
        state["go_on"].set()


@pytest.mark.parametrize("how", ["unmount", "signal"])
@pytest.mark.parametrize("what", ["server", "fetcher"])
def test_a_mount_ends_while_a_reader_waits(hanging, tmp_path, how, what):
    server, state = hanging
    assert start(f"{server.url}/ocean.zarr", tmp_path).returncode == 0
    keeper = int(options_of(tmp_path)["pid"])
    processes = children(keeper)
    if what == "server":
        state["is_on"] = True
    else:
        os.kill(fetcher_of(keeper), signal.SIGSTOP)
    reader = reading(tmp_path / "v2/shards/0.0")
    assert reader.poll() is None
    if how == "unmount":
        reader.kill()  # (What is busy is not unmounted.)
        assert reader.wait(20)
        for _ in range(50):
            if subprocess.run([ZARRFS, "--unmount", tmp_path], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
    else:
        os.kill(keeper, signal.SIGTERM)
        time.sleep(0.2)
        os.kill(keeper, signal.SIGTERM)  # detaches
    assert all(ends(pid) for pid in [keeper, *processes])
    reader.wait(20)
    assert not os.path.ismount(tmp_path)


def test_an_interrupted_reader_ends_and_what_it_waited_for_is_kept(folder, expected, tmp_path):
    shutil.copytree(folder, store := tmp_path / "ocean.zarr")
    for path in store.rglob("*"):
        os.utime(path, (1e9, 1e9))  # What has just been written is asked for again.
    waits, go_on = threading.Event(), threading.Event()

    def fault(path, headers):
        if waits.is_set() and "/c/" in path:
            go_on.wait(60)

    with faulty_server.serving(tmp_path, fault) as server, mounted(f"{server.url}/ocean.zarr", "view=v2") as point:
        (point / "shards/0.0").read_bytes()
        server.seen.clear()
        waits.set()
        reader = reading(point / "shards/3.2")
        begin = time.monotonic()
        reader.send_signal(signal.SIGINT)
        reader.wait(20)
        assert time.monotonic() - begin < 5 and server.seen
        go_on.set()
        time.sleep(1)
        assert (point / "shards/3.2").read_bytes() == expected["v2/shards/3.2"]
        asked = [(path, headers["Range"]) for path, _, headers in server.seen]
        assert len(asked) == len(set(asked)), "and not asked for again"


def test_a_start_is_interrupted_while_the_server_hangs(tmp_path):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        caller = subprocess.Popen([ZARRFS, f"http://127.0.0.1:{server.getsockname()[1]}/x", tmp_path], stderr=subprocess.DEVNULL)
        for _ in range(200):
            if children(caller.pid) and len(children(children(caller.pid)[0])) == 2:
                break
            time.sleep(0.05)
        keeper = children(caller.pid)[0]
        processes = children(keeper)
        caller.send_signal(signal.SIGINT)
        caller.wait(20)
        assert all(ends(pid) for pid in [keeper, *processes])
        assert not os.path.ismount(tmp_path)


def test_a_stopped_fetcher_costs_readers_time_alone(folder, expected):
    """While it is stopped another worker starts; and its pieces of memory are free again."""
    with faulty_server.serving(folder.parent) as server, mounted(f"{server.url}/ocean.zarr", "timeout=60") as point:
        keeper = int(options_of(point)["pid"])
        fetcher = fetcher_of(keeper)
        worker = next(child for child in children(keeper) if child != fetcher)
        os.kill(fetcher, signal.SIGSTOP)
        reader = reading(point / "v2/shards/0.0")
        os.kill(worker, signal.SIGKILL)
        time.sleep(1)
        os.kill(fetcher, signal.SIGCONT)
        assert reader.wait(60) == 0
        for name, data in expected.items():
            if name.startswith("v2/shards/"):
                assert (point / name).read_bytes() == data


def test_an_upgrade_replaces_a_stopped_fetcher(folder, expected):
    with faulty_server.serving(folder.parent) as server, mounted(f"{server.url}/ocean.zarr") as point:
        keeper = int(options_of(point)["pid"])
        fetcher = fetcher_of(keeper)
        os.kill(fetcher, signal.SIGSTOP)
        result = subprocess.run([ZARRFS, "--upgrade", str(point)], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
        assert ends(fetcher)


def test_a_server_that_drips_is_given_up(folder):
    """A byte a second is no stall, and would go on for hours."""
    drips = {"is": False}
    with faulty_server.serving(folder.parent, lambda path, headers: "drip" if drips["is"] and "/c/" in path else None) as server:
        with mounted(f"{server.url}/ocean.zarr", "timeout=2") as point:
            assert (point / "v2/deep/plain/0.1").read_bytes()
            drips["is"] = True
            begin = time.monotonic()
            with pytest.raises(OSError):
                (point / "v2/deep/plain/0.0").read_bytes()
            assert time.monotonic() - begin < 30


def test_a_fetcher_that_cannot_stay_is_not_started_all_the_time(folder, expected):
    with faulty_server.serving(folder.parent) as server, mounted(f"{server.url}/ocean.zarr") as point:
        keeper = int(options_of(point)["pid"])
        seen = set()
        end = time.monotonic() + 5
        while time.monotonic() < end:
            with contextlib.suppress(StopIteration, FileNotFoundError, ProcessLookupError):
                fetcher = fetcher_of(keeper)
                os.kill(fetcher, signal.SIGKILL)
                seen.add(fetcher)
            time.sleep(0.05)
        assert 1 < len(seen) <= 4
        assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]


def stack_of(pid):
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return next(line.split("-")[0] for line in maps.splitlines() if line.endswith("[stack]"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root looks into other processes")
def test_each_fetcher_is_a_program_of_its_own_while_that_can_run(folder, expected, tmp_path, monkeypatch):
    """A distribution's upgrade takes a library away while the mount lives."""
    if IS_SANITIZED:
        return
    words = [line.split() for line in subprocess.run(["ldd", ZARRFS], capture_output=True, text=True).stdout.splitlines()]
    library = next((line[2] for line in words if line[0] == "libzstd.so.1"), None)
    if library is None:
        pytest.skip("a static program")
    shutil.copy(library, tmp_path / "libzstd.so.1")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    point, log = tmp_path / "mnt", tmp_path / "log"
    point.mkdir()
    with faulty_server.serving(folder.parent) as server, open(log, "w") as output:
        keeper = subprocess.Popen([ZARRFS, f"{server.url}/ocean.zarr", point, "-f", "-o", "cache=0"], stdout=output, stderr=output)

        def has_another(before):
            with contextlib.suppress(OSError, StopIteration):  # at its end and its start
                return fetcher_of(keeper.pid) != before

        def replaced():
            before = fetcher_of(keeper.pid)
            os.kill(before, signal.SIGKILL)
            wait_for(lambda: has_another(before))
            return stack_of(fetcher_of(keeper.pid))

        try:
            wait_for(lambda: "is mounted at" in log.read_text())
            stacks = {stack_of(keeper.pid), stack_of(fetcher_of(keeper.pid)), replaced()}
            assert len(stacks) == 3
            (tmp_path / "libzstd.so.1").unlink()
            (tmp_path / "libzstd.so.1").write_text("no library")
            before = fetcher_of(keeper.pid)
            os.kill(before, signal.SIGKILL)
            wait_for(lambda: "the program of the fetcher ended with exit code 127 before it began" in log.read_text())
            wait_for(lambda: has_another(before))
            assert stack_of(fetcher_of(keeper.pid)) == stack_of(keeper.pid)
            assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
        finally:
            keeper.terminate()
            keeper.wait(20)


def test_nobody_else_starts_a_fetcher():
    result = subprocess.run([ZARRFS, "--fetch", "0", "https://127.0.0.1:9/x", "/mnt"], capture_output=True, text=True, timeout=20)
    assert result.returncode == 2 and "start message: not a memory file" in result.stderr


def memory_of(pid):
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end, modes = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if modes.startswith("r") and int(end, 16) - int(begin, 16) < 1 << 30:  # (A sanitizer's are larger.)
                with contextlib.suppress(OSError, ValueError):
                    memory.seek(int(begin, 16))
                    yield memory.read(int(end, 16) - int(begin, 16))


@pytest.mark.skipif(os.getuid() != 0, reason="only root looks into other processes")
@pytest.mark.parametrize("place", ["environment", "profile", "headers"])
def test_the_process_that_reads_the_store_knows_no_secret(moto, folder, keys, tmp_path, monkeypatch, place):
    (tmp_path / "credentials").write_text(f"[default]\nregion = us-east-1\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    (tmp_path / "headers").write_text(f"Authorization: Bearer {SECRET}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    with faulty_server.serving(folder.parent) as server:
        source, options = f"s3://{BUCKET}/{PREFIX}", f"endpoint={moto}"
        if place != "environment":
            monkeypatch.delenv("AWS_ACCESS_KEY_ID")
            monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        if place == "headers":
            source, options = f"{server.url}/ocean.zarr", f"headers={tmp_path}/headers"
        with mounted(source, options) as point:
            assert (point / "v2/shards/0.0").read_bytes()
            keeper = int(options_of(point)["pid"])
            fetcher = fetcher_of(keeper)
            worker = next(child for child in children(keeper) if child != fetcher)
            assert any(SECRET.encode() in part for part in memory_of(fetcher))
            assert SECRET not in pathlib.Path(f"/proc/{worker}/environ").read_text()
            # (The runtime of a sanitizer has a copy of the environment.)
            if not (place == "environment" and IS_SANITIZED):
                assert not any(SECRET.encode() in part for part in memory_of(worker))
