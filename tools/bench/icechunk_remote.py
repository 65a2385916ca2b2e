"""An Icechunk repository on a web server behind a slow link, compared with the same shards as a plain store.

    python tools/bench/icechunk_rows.py --remote [ROUNDS]     # 3 by default

Needs what icechunk_rows.py does, nginx, and build/release with benchmarks (slow_link). The link has TRIP and MBIT; each row has a
mount and a link of its own. Prints, with the goal:

    scan         every chunk file in v2, of the repository and of the plain store in turns: its speed, and requests
    first value  from the command until a chunk in a shard was read, in trips: by how much longer it takes if trips are longer
    commit       requests in ten times ttl= without one; then those after a commit that touches another array
"""

import contextlib
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import zarr
from icechunk_rows import create, fill, scan
from remote_bench import BUILD, Passed, free_port, running

TRIP, MBIT = 30, 400  # milliseconds, and megabits a second
LONGER = 300  # milliseconds
TTL = 0.5  # seconds
GOALS = {"speed": 0.95, "requests": 1.05, "trips": 6}


@contextlib.contextmanager
def web(folder):
    """The port of a web server that has the folder."""
    port = free_port()
    temporary = " ".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; user root; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; events {{ worker_connections 512; }}\n"
        f"http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n")
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin") or BUILD / "nginx/nginx"
    with running([program, "-c", folder / "nginx.conf", "-p", folder], port, stderr=subprocess.DEVNULL):
        yield port


@contextlib.contextmanager
def link(server, trip=TRIP, mbit=MBIT):
    port = free_port()
    command = [BUILD / "release/bin/slow_link", port, server, trip / 2, mbit]
    with running(command, port, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield f"http://127.0.0.1:{port}", Passed(process)


@contextlib.contextmanager
def mounted(source, point, options="ro"):
    point.mkdir()
    subprocess.run([BUILD / "release/bin/zarrfs", source, point, "-o", options], check=True, stdout=subprocess.DEVNULL)
    try:
        yield point
    finally:
        subprocess.run(["umount", point], check=True)


def row(label, found, goal, at_most, unit):
    met = found <= goal if at_most else found >= goal
    print(f"{label}: {found:.2f} {unit}, goal {'at most' if at_most else 'at least'} {goal}: {'met' if met else 'missed'}", flush=True)


def scans(folder, server, rounds):
    speeds, requests = [], []
    for number in range(rounds):
        found = {}
        for name in ("repository", "plain.zarr"):
            with link(server) as (url, passed), mounted(f"{url}/{name}", folder / f"{name}{number}") as mount:
                passed.restart()
                found[name] = (scan(mount / "v2/t"), *passed())
        (mine, asked, down), (other, asked_there, down_there) = found["repository"], found["plain.zarr"]
        print(f"  repository {mine:.1f} MB/s, {asked} requests, {down / 1e6:.1f} MB; plain store {other:.1f} MB/s, {asked_there} requests, "
              f"{down_there / 1e6:.1f} MB", flush=True)
        speeds.append(mine / other)
        requests.append(asked / asked_there)
    row("scan", statistics.median(speeds), GOALS["speed"], False, "x the plain store")
    row("requests of the scan", statistics.median(requests), GOALS["requests"], True, "x those of the plain store")


def first_value(folder, server, rounds):
    """Of a chunk in a shard. A longer trip tells what takes trips from what takes time on this machine."""
    seconds = {TRIP: [], LONGER: []}
    for number in range(rounds):
        for trip in seconds:
            with link(server, trip) as (url, _):
                start = time.perf_counter()
                with mounted(f"{url}/repository", folder / f"first{trip}.{number}") as mount:
                    (mount / "v2/small/0").read_bytes()
                    seconds[trip].append(time.perf_counter() - start)
    short, longer = (statistics.median(each) for each in seconds.values())
    trips = (longer - short) * 1e3 / (LONGER - TRIP)
    print(f"  {short * 1e3:.0f} ms, behind {LONGER} ms {longer * 1e3:.0f} ms: {trips:.2f} trips")
    row("first value after a cold mount, with the connection", round(trips), GOALS["trips"], True, "whole trips")


def commits(folder, server, repository):
    with link(server) as (url, passed), mounted(f"{url}/repository", folder / "commits", f"ttl={TTL}") as mount:
        scan(mount / "v2/t")
        names = sorted(path.name for path in (mount / "v2/t").iterdir() if path.name[0].isdigit())
        (mount / "v2/small/0").read_bytes()
        passed.restart()
        periods, start = 10, time.perf_counter()
        time.sleep(periods * TTL)
        row("requests while nothing changes", passed()[0] / ((time.perf_counter() - start) / TTL), 1.1, True, "a ttl")
        session = repository.writable_session("main")
        zarr.open_group(session.store)["small"][:] = 2
        session.commit("another value")
        passed.restart()
        start = time.perf_counter()
        while (mount / "v2/small/0").read_bytes()[0] != 2 and time.perf_counter() - start < 60:
            time.sleep(0.01)
        seen = time.perf_counter() - start
        asked = passed()[0]
        for name in names[:100]:
            (mount / "v2/t" / name).read_bytes()
        periods = (time.perf_counter() - start) / TTL
        print(f"  a commit is seen after {seen:.2f} s and {asked} requests")
        row("requests after it, for chunks that it did not touch", passed()[0] - asked - periods - 1, 0, True, "beyond one a ttl")


def run(rounds):
    with tempfile.TemporaryDirectory(prefix="zarrfs-icechunk-", dir="/dev/shm") as name:
        folder = Path(name)
        folder.chmod(0o755)
        fill(zarr.open_group(folder / "plain.zarr", mode="w"))
        repository = create(folder / "repository")
        session = repository.writable_session("main")
        group = zarr.open_group(session.store, mode="w")
        fill(group)
        group.create_array("small", shape=(8192,), chunks=(4096,), shards=(8192,), dtype="u1", compressors=None)[:] = 1
        session.commit("filled")
        time.sleep(3)  # of a file that has just changed, a web server's answer may be out of date
        with web(folder) as server:
            scans(folder, server, rounds)
            first_value(folder, server, rounds)
            commits(folder, server, repository)
