"""`zarrctl status` and `zarrctl log-level`: what a mount reports about itself, and how much it logs."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from mounts import ROOT, ZARRCTL, for_everybody, mounted, zarrctl
from zarrctl_runs import document, refused, terminal

SAMPLE = ROOT / "tests/data/sample.zarr"

STATUS = {
    "format": 1, "version": "0.1.0", "pid": 4194304, "start_time_seconds": 1.7e9, "log_level": "info",  # no process has this number
    "store": {"name": "/data/ocean", "problem": None, "reads": 77, "read_bytes": 2048, "errors": 4},
    "view": "all", "changes": {"detected_by": "ttl", "ttl_seconds": 2.5},
    "caches": {"index": {"bytes": 1024, "limit_bytes": 4096, "hits": 30, "misses": 10, "evictions": 2},
               "chunk": {"bytes": 0, "limit_bytes": 2048, "hits": 0, "misses": 0, "evictions": 0}},
    "requests": {"lookup": {"ok": 1234567, "absent": 12, "error": 0, "timed": 0},
                 "read": {"ok": 800, "absent": 0, "error": 3, "timed": 1000, "mean_seconds": 0.0025, "p99_seconds": 0.0098},
                 "other": {"ok": 5, "absent": 0, "error": 0}},
    "read_bytes": 1048576, "arrays": 6, "damage": 2, "errors": [f"error {i}" for i in range(9)]}


def write_status(folder, **changes):
    """What a mount shows of itself, in a plain folder: zarrctl reads a file, also through NFS."""
    (folder / ".zarrfs").mkdir(exist_ok=True)
    (folder / ".zarrfs/status.json").write_text(json.dumps({**STATUS, **changes}))
    return folder


def test_status_for_programs_is_the_document_of_the_mount(tmp_path):
    assert document("status", write_status(tmp_path)) == {"mount": str(tmp_path), **STATUS}


def test_status_for_people_has_options_figures_and_errors(tmp_path):
    result = subprocess.run([ZARRCTL, "status", write_status(tmp_path)], capture_output=True, text=True, env={**os.environ, "TZ": "UTC"})
    assert (result.returncode, result.stderr) == (0, "")
    text = result.stdout
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for row in ["store /data/ocean", "view all", "changes checked for every 2.5 s (ttl)", "log info", "lookup 1,234,567 12 0",
                "read 800 0 3 2.5 ms 9.8 ms", "index 1.0 KiB 4.0 KiB 25 % 75.0 % of 40 2", "chunk 0 bytes 2.0 KiB 0 % not used yet 0",
                "reads 77 of the store, 2.0 KiB, 4 errors", "damage 2 damaged objects", "error 8"]:
        assert row in rows, text
    assert any(row.startswith("since 2023-11-14 22:13:20 (") for row in rows)
    assert "error 3" not in rows and "the last 5 of 9 messages" in text


def test_status_of_a_store_that_is_gone_says_so(tmp_path):
    write_status(tmp_path, store={**STATUS["store"], "problem": "/data/ocean: No such file"})
    assert "gone or cannot be read: /data/ocean: No such file\n" in zarrctl("status", tmp_path).stdout


@pytest.mark.parametrize("changes,text", [
    ({"detected_by": "watch", "watch_limit": None}, "reported by the store\n"),
    ({"detected_by": "watch", "watch_limit": "too many folders"}, "reported by the store; elsewhere checked for within a minute: too many folders\n"),
    ({"detected_by": "age", "not_watched": "not a local disk"}, "checked for within a minute: not a local disk\n"),
    ({"detected_by": "immutable"}, "not checked for (immutable)\n")])
def test_status_says_how_changes_are_detected(tmp_path, changes, text):
    assert "changes   " + text in zarrctl("status", write_status(tmp_path, changes=changes)).stdout


@pytest.mark.parametrize("command", [["status"], ["log-level"]])
def test_a_mount_by_another_version_is_explained(tmp_path, command):
    (tmp_path / ".zarrfs").mkdir()
    assert "older than this zarrctl; unmount and mount it again" in refused(*command, tmp_path, code=2)
    assert "zarrctl of the same version" in refused(*command, write_status(tmp_path, format=2), code=2)
    (tmp_path / ".zarrfs/status.json").write_text("{")
    assert "status.json: not JSON" in refused(*command, tmp_path)


@pytest.mark.parametrize("value", [None, "text", 1e300, [1], {"key": 1}])
def test_an_unexpected_value_is_no_crash(tmp_path, value):
    for key in STATUS.keys() - {"format"}:
        assert zarrctl("status", write_status(tmp_path, **{key: value})).returncode == 0, key


def test_status_of_a_mount():
    with mounted(SAMPLE) as point:
        result = zarrctl("status", point)
        assert (result.returncode, result.stderr) == (0, "")
        assert f"store     {SAMPLE}" in result.stdout.splitlines()
        assert "inside a zarrfs mount" in refused("status", point / "v2")


def test_status_of_what_is_no_mount_says_so(tmp_path):
    assert "not a zarrfs mount" in refused("status", tmp_path)
    assert "No such file" in refused("status", tmp_path / "nowhere")
    assert "not a zarrfs mount" in refused("log-level", tmp_path, "debug")


def test_status_of_a_dead_mount_says_how_to_clear_it():
    with mounted(SAMPLE) as point:
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
import ctypes, json, os, pathlib, sys
libc = ctypes.CDLL(None)
status, name, levels = pathlib.Path(sys.argv[1]), sys.argv[2], ["error", "warning", "info", "debug"]
libc.prctl(15, name.encode(), 0, 0, 0)
signals = (ctypes.c_ulong * 16)(1 << 11)
libc.sigprocmask(0, signals, None)
def write(level):
    new = status.with_name("new")
    new.write_text(json.dumps({"format": 1, "pid": os.getpid(), "log_level": level}))
    new.rename(status)
write("info")
print("ready", flush=True)
info = (ctypes.c_int * 32)()
while libc.sigwaitinfo(signals, info) > 0:
    write(levels[info[6] - 1])
"""


@pytest.fixture
def fake_daemon(tmp_path):
    processes = []

    def start(*arguments):
        (tmp_path / ".zarrfs").mkdir()
        process = subprocess.Popen([sys.executable, "-c", FAKE_DAEMON, tmp_path / ".zarrfs/status.json", *arguments], stdout=subprocess.PIPE, text=True)
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


def test_log_level_of_a_mount():
    with mounted(SAMPLE, "log_level=warning") as point:
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
    assert "which does not exist here" in refused("log-level", write_status(point), "debug", code=2)


def test_log_level_of_another_user_s_mount_is_explained(fake_daemon, tmp_path):
    if os.getuid() != 0:
        return  # only root can be two users
    point = fake_daemon("zarrfs")
    for folder in [point, *point.parents]:
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o11)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", for_everybody(ZARRCTL, tmp_path), "log-level", point, "debug"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2 and "runs as root: do this as that user or as root" in result.stderr


def test_ctrl_c_ends_what_waits(tmp_path):
    (tmp_path / ".zarrfs").mkdir()
    os.mkfifo(tmp_path / ".zarrfs/status.json")
    code, text = terminal("status", tmp_path, keys=[(0.5, b"\x03")], TERM="xterm")
    assert code == 130 and text.replace("^C", "").replace("\x1b[0m", "").strip() == ""
