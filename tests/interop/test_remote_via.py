"""A store that is read through caches of the cluster (via=): nginx with the recipe, and caches that fail."""

import collections
import contextlib
import json
import os
import resource
import shutil
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
import zarr

import faulty_server
from cluster_cache import caching, configured, program
from mounts import ZARRFS, mounted, zarrctl
from remote import BUCKET, PREFIX, start, tree

SHARDS, SIDE = 3, 8
OLD = time.time() - 86400


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A store of chunks of 64 KiB in shards of 4 MiB, which are four slices."""
    top = tmp_path_factory.mktemp("via")
    top.chmod(0o755)
    top.parent.chmod(0o755)
    array = zarr.create_group(top / "large.zarr").create_array(
        "a", shape=(SHARDS * 64, 65536), chunks=(1, 65536), shards=(64, 65536), dtype="u1", compressors=None)
    array[:] = np.random.default_rng(1).integers(0, 256, (SHARDS * 64, 65536), dtype="u1")
    for path in top.rglob("*"):
        os.utime(path, (OLD, OLD))
    return top


def host_of(url):
    return url.removeprefix("http://")


def via_counts(point):
    return json.loads((point / ".zarrfs/status.json").read_text())["network"]["via"]


def with_version(server):
    """How often each range of a version was asked for."""
    return collections.Counter((path, headers.get("Range")) for path, _, headers in list(server.seen) if "If-Match" in headers)


def without_version(server):
    return collections.Counter((path, headers.get("Range")) for path, _, headers in list(server.seen) if "If-Match" not in headers)


def test_sixteen_mounts_cost_the_store_what_one_does(large, tmp_path):
    expected = [path.read_bytes() for path in sorted((large / "large.zarr/a/c").rglob("0")) if path.is_file()]
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(faulty_server.serving(large))
        caches = [stack.enter_context(caching(tmp_path / name, {host_of(origin.url): origin.url})) for name in ("one", "two")]
        options = ",".join(["view=v2", "ttl=600", *(f"via={cache.url}" for cache in caches)])
        points = [stack.enter_context(mounted(f"{origin.url}/large.zarr", options)) for _ in range(16)]
        commands = [["sh", "-c", f"cat $(seq -f '{point}/a/%g.0' 0 {SHARDS * 64 - 1}) | md5sum"] for point in points]
        readers = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
        sums = {reader.communicate()[0] for reader in readers}
        assert len(sums) == 1
        whole = b"".join((points[0] / f"a/{i}.0").read_bytes() for i in range(SHARDS * 64))
        assert subprocess.run("md5sum", input=whole, stdout=subprocess.PIPE).stdout in sums
        assert all(part in shard for shard in expected for part in [shard[:65536]])
        asked = with_version(origin)
        assert asked and set(asked.values()) == {1}, asked
        sent = sum(end - begin for path, begin, end in origin.sent if "/c/" in path)
        stored = sum(map(len, expected))
        assert sent <= 1.05 * stored, (sent, stored)
        # A number of X-Zarrfs-At may end while the mounts ask.
        assert max(without_version(origin).values()) <= 2, without_version(origin)
        counts = [via_counts(point) for point in points]
        assert all(each["failed"] == 0 for each in counts), counts
        assert sum(each["hit"] for each in counts) > 10 * sum(each["miss"] for each in counts), counts
        assert all(cache.log() for cache in caches), "each cache has a share"
        before = len(origin.seen)
        with mounted(f"{origin.url}/large.zarr", options) as again:
            assert (again / "a/7.0").read_bytes() == (points[0] / "a/7.0").read_bytes()
            metrics = (again / ".zarrfs/metrics").read_text()
            hits = via_counts(again)["hit"]
            assert hits > 0
            assert f'zarrfs_network_via_total{{result="hit"}} {hits}\n' in metrics
        assert not [path for path, *_ in origin.seen[before:] if "/c/" in path]


def test_a_bucket_is_listed_and_read_through_a_cache(moto, keys, expected, tmp_path):
    with caching(tmp_path / "cache", {host_of(moto): moto}) as cache:
        with mounted(f"s3://{BUCKET}/{PREFIX}", f"endpoint={moto},via={cache.url}") as point:
            assert tree(point) == expected
            assert via_counts(point)["failed"] == 0
        assert "list-type" not in cache.log() and BUCKET in cache.log(), "the log has no arguments"


@pytest.mark.further_reader
def test_signatures_hold_through_a_cache(versitygw, keys, expected, tmp_path):
    with caching(tmp_path / "cache", {host_of(versitygw): versitygw}) as cache:
        for _ in range(2):
            with mounted(f"s3://{BUCKET}/{PREFIX}", f"endpoint={versitygw},via={cache.url}") as point:
                assert tree(point) == expected
                assert via_counts(point)["failed"] == 0


def test_a_store_that_is_replaced_again_and_again_is_never_read_wrong(tmp_path):
    folder = tmp_path / "www"
    versions = []
    for value in range(12):
        path = tmp_path / f"version{value}"
        array = zarr.create_array(path, shape=(8, 65536), chunks=(1, 65536), shards=(8, 65536), dtype="u1", compressors=None)
        array[:] = value + 1
        versions.append(path / "c/0/0")
    shutil.copytree(tmp_path / "version0", folder / "x.zarr")
    shard = folder / "x.zarr/c/0/0"
    stored = [(time.monotonic(), 1)]  # when each value was stored
    read, errors, stop = [], [], threading.Event()

    def replace():
        for number in range(1, 60):
            if stop.wait(0.25):
                return
            value = number % len(versions)
            shutil.copy(versions[value], folder / "next")
            stored.append((time.monotonic(), value + 1))
            os.replace(folder / "next", shard)

    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(faulty_server.serving(folder))
        cache = stack.enter_context(caching(tmp_path / "cache", {host_of(origin.url): origin.url}))
        options = f"view=v2,ttl=1,via={cache.url}"
        points = [stack.enter_context(mounted(f"{origin.url}/x.zarr", options)) for _ in range(2)]
        writer = threading.Thread(target=replace)
        writer.start()
        try:
            end = time.monotonic() + 12
            while time.monotonic() < end:
                for point in points:
                    begun = time.monotonic()
                    try:
                        chunk = (point / f"{len(read) % 8}.0").read_bytes()
                    except OSError as error:
                        errors.append(error)
                        time.sleep(0.02)
                        continue
                    assert len(chunk) == 65536 and len(set(chunk)) == 1, "bytes of two versions"
                    read.append((begun, chunk[0]))
                    time.sleep(0.01)
        finally:
            stop.set()
            writer.join()
        time.sleep(3)
        for point in points:
            assert set((point / "3.0").read_bytes()) == {stored[-1][1]}
    assert len(read) > 50, errors[:3]
    assert len({value for _, value in read}) > 5
    for begun, value in read:
        # What was current at some time in the last ttl, half of it for the cache, and the second of a reader.
        current = [v for number, (at, v) in enumerate(stored)
                   if number + 1 == len(stored) or stored[number + 1][0] > begun - 2.5]
        assert value in current, (begun, value, stored)


FAULTS = ["reset", "other version", "other range", "cut", "shorter", "longer", "no ranges", "part with 200", "contradicting",
          400, 401, 403, 404, 412, 500, 502, 503, 504, 507]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_cache_that_answers_wrong_costs_time_alone(folder, expected, fault):
    with faulty_server.serving(folder.parent) as origin:
        with faulty_server.serving(folder.parent, lambda path, headers: fault) as cache:
            with mounted(f"{origin.url}/ocean.zarr", f"via={cache.url}") as point:
                assert tree(point) == expected
                counts = via_counts(point)
        assert cache.seen
        # Each answer has another ETag; without a version none is known to be wrong.
        if fault not in ("longer", "other version"):
            assert counts["miss"] + counts["hit"] == 0, counts
            assert counts["failed"] <= 200


def started(source, point, options, log):
    """A mount in the foreground, whose log goes to a file."""
    keeper = subprocess.Popen([ZARRFS, source, point, "-f", "-o", options], stdout=log, stderr=log)
    for _ in range(300):
        if os.path.ismount(point):
            return keeper
        assert keeper.poll() is None
        time.sleep(0.1)
    raise AssertionError("not mounted")


def test_a_cache_that_is_killed_is_left_alone_and_named_in_the_log(large, tmp_path):
    point = tmp_path / "mnt"
    point.mkdir()
    with faulty_server.serving(large) as origin, caching(tmp_path / "cache", {host_of(origin.url): origin.url}) as cache:
        with open(tmp_path / "log", "w") as log:
            keeper = started(f"{origin.url}/large.zarr", point, f"view=v2,via={cache.url}", log)
        try:
            read = [(point / f"a/{i}.0").read_bytes() for i in range(20)]
            cache.kill()
            begin = time.monotonic()
            read += [(point / f"a/{i}.0").read_bytes() for i in range(20, SHARDS * 64)]
            took = time.monotonic() - begin
            failed = via_counts(point)["failed"]
        finally:
            subprocess.run(["umount", point] if os.getuid() == 0 else ["fusermount3", "-u", point], check=True)
            keeper.wait()
    array = zarr.open_group(large / "large.zarr", mode="r")["a"][:]
    assert b"".join(read) == array.tobytes()
    assert failed >= 1
    assert took < 20
    lines = [line for line in (tmp_path / "log").read_text().splitlines() if cache.url in line]
    assert len(lines) == 1 and "is not asked for 60 s" in lines[0], lines


def test_a_cache_that_is_silent_is_left_alone_after_a_quarter_of_timeout(large):
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent, faulty_server.serving(large) as origin:
        port = silent.getsockname()[1]
        begin = time.monotonic()
        with mounted(f"{origin.url}/large.zarr", f"view=v2,timeout=8,via=http://127.0.0.1:{port}") as point:
            assert len((point / "a/0.0").read_bytes()) == 65536
            took = time.monotonic() - begin
    assert 2 <= took < 8, took


def test_a_disk_that_is_full_costs_time_alone(large, tmp_path):
    """Files of the cache cannot grow beyond 100 KB, as on a full disk."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    with faulty_server.serving(large) as origin:
        with caching(tmp_path / "cache", {host_of(origin.url): origin.url}, preexec_fn=limit, restore_signals=False) as cache:
            with mounted(f"{origin.url}/large.zarr", f"view=v2,via={cache.url}") as point:
                read = b"".join((point / f"a/{i}.0").read_bytes() for i in range(SHARDS * 64))
    assert read == zarr.open_group(large / "large.zarr", mode="r")["a"][:].tobytes()


def test_a_folder_that_cannot_be_written_costs_time_alone(large, tmp_path):
    with faulty_server.serving(large) as origin, caching(tmp_path / "cache", {host_of(origin.url): origin.url}) as cache:
        for name in ("zarrfs", "zarrfs-names"):
            shutil.rmtree(tmp_path / "cache" / name)
            (tmp_path / "cache" / name).write_text("not a folder")
        with mounted(f"{origin.url}/large.zarr", f"view=v2,via={cache.url}") as point:
            read = b"".join((point / f"a/{i}.0").read_bytes() for i in range(SHARDS * 64))
    assert read == zarr.open_group(large / "large.zarr", mode="r")["a"][:].tobytes()


# --- The recipe itself. -----------------------------------------------------------------------------------


def ask(cache, request):
    with socket.create_connection(("127.0.0.1", cache.port)) as connection:
        connection.sendall(request.encode() + b"Connection: close\r\n\r\n")
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def test_nginx_accepts_the_recipe(tmp_path):
    (tmp_path / "place").mkdir()
    path = configured(tmp_path / "place", 8080, {"data.example.org": "https://127.0.0.1:443"})
    result = subprocess.run([program(), "-t", "-c", path, "-p", tmp_path / "place"], capture_output=True, text=True)
    assert result.returncode == 0 and "[warn]" not in result.stderr, result.stderr


def test_the_recipe_is_no_open_proxy(folder, tmp_path):
    with faulty_server.serving(folder.parent) as origin, faulty_server.serving(folder.parent) as other:
        with caching(tmp_path / "cache", {host_of(origin.url): origin.url}) as cache:
            good = ask(cache, f"GET {origin.url}/ocean.zarr/zarr.json HTTP/1.1\r\nHost: {host_of(origin.url)}\r\n")
            assert good.startswith(b"HTTP/1.1 200 ") and b"X-Cache-Status: MISS\r\n" in good
            for host in [host_of(other.url), "127.0.0.1", "169.254.169.254", "", "localhost", f"user@{host_of(origin.url)}"]:
                for target in [f"{other.url}/ocean.zarr/zarr.json", "/ocean.zarr/zarr.json"]:
                    answer = ask(cache, f"GET {target} HTTP/1.1\r\nHost: {host}\r\n")
                    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 "), (host, target, answer)
            for method in ("POST", "PUT", "DELETE", "HEAD"):
                answer = ask(cache, f"{method} {origin.url}/ocean.zarr/zarr.json HTTP/1.1\r\nHost: {host_of(origin.url)}\r\n")
                assert answer.startswith(b"HTTP/1.1 405 "), answer
            answer = ask(cache, f"CONNECT {host_of(other.url)} HTTP/1.1\r\nHost: {host_of(other.url)}\r\n")
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
        assert not other.seen


def test_the_log_of_the_recipe_has_no_arguments(folder, tmp_path):
    with faulty_server.serving(folder.parent) as origin, caching(tmp_path / "cache", {host_of(origin.url): origin.url}) as cache:
        ask(cache, f"GET {origin.url}/ocean.zarr/zarr.json?signature=secret HTTP/1.1\r\nHost: {host_of(origin.url)}\r\n")
        assert "/ocean.zarr/zarr.json" in cache.log()
        assert "secret" not in cache.log() + (cache.place / "error.log").read_text()
        assert [target for _, target, _ in origin.seen] == ["/ocean.zarr/zarr.json?signature=secret"]


def test_an_answer_without_a_version_is_used_again_for_the_same_number_alone(folder, tmp_path):
    with faulty_server.serving(folder.parent) as origin, caching(tmp_path / "cache", {host_of(origin.url): origin.url}) as cache:
        def state(number, range_="bytes=-5"):
            answer = ask(cache, f"GET {origin.url}/ocean.zarr/zarr.json HTTP/1.1\r\nHost: {host_of(origin.url)}\r\n"
                                f"Range: {range_}\r\nX-Zarrfs-At: {number}\r\n")
            assert answer.startswith(b"HTTP/1.1 206 ")
            return answer.split(b"X-Cache-Status: ")[1].split(b"\r\n")[0].decode()

        assert [state(1), state(1), state(2), state(1), state(1, "bytes=-6")] == ["MISS", "HIT", "MISS", "HIT", "MISS"]
        assert sum(end - begin for _, begin, end in origin.sent) == 5 + 5 + 6
        assert not [headers for *_, headers in origin.seen if "X-Zarrfs-At" in headers]


def test_the_certificate_of_the_store_is_verified_by_its_name(folder, nginx, tmp_path):
    tls = nginx[1]  # its certificate is for localhost
    host = tls.removeprefix("https://")
    address = tls.replace("localhost", "127.0.0.1")
    other = host.replace("localhost", "other.example")
    with caching(tmp_path / "right", {host: address, other: address}, certificates=nginx[2]) as cache:
        for name, status in [(host, 200), (other, 502)]:
            answer = ask(cache, f"GET http://{name}/ocean.zarr/zarr.json HTTP/1.1\r\nHost: {name}\r\n")
            assert answer.startswith(f"HTTP/1.1 {status} ".encode()), (name, answer)
    with caching(tmp_path / "wrong", {host: address}) as cache:
        answer = ask(cache, f"GET http://{host}/ocean.zarr/zarr.json HTTP/1.1\r\nHost: {host}\r\n")
        assert answer.startswith(b"HTTP/1.1 502 "), answer


def test_a_store_with_tls_is_read_through_a_cache_without(nginx, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(nginx[2]))
    host = nginx[1].removeprefix("https://")
    address = nginx[1].replace("localhost", "127.0.0.1")
    with caching(tmp_path / "cache", {host: address}, certificates=nginx[2]) as cache:
        with mounted(f"{nginx[1]}/ocean.zarr", f"via={cache.url}") as point:
            assert tree(point) == expected
            assert via_counts(point)["failed"] == 0
            assert via_counts(point)["miss"] > 0


def test_a_cache_with_tls_gets_what_others_must_not_see(nginx, folder, expected, tmp_path, monkeypatch):
    """The certificate of the fixture is for localhost."""
    secret = tmp_path / "headers"
    secret.write_text("Authorization: Bearer token\n")

    def fault(path, headers):
        return None if headers["Authorization"] == "Bearer token" else 401

    with faulty_server.serving(folder.parent, fault) as origin:
        with caching(tmp_path / "cache", {host_of(origin.url): origin.url}, tls=nginx[2]) as cache:
            for host, is_trusted in [("localhost", True), ("127.0.0.1", False), ("localhost", False)]:
                with monkeypatch.context() as patch:
                    if is_trusted or host == "127.0.0.1":
                        patch.setenv("SSL_CERT_FILE", str(nginx[2]))
                    with mounted(f"{origin.url}/ocean.zarr", f"headers={secret},via=https://{host}:{cache.port}") as point:
                        assert tree(point) == expected
                        counts = via_counts(point)
                assert (counts["failed"] == 0) == is_trusted and (counts["miss"] > 0) == is_trusted, counts


@pytest.mark.parametrize("what", ["/ocean.zarr/", "/c/"])
def test_a_store_that_redirects_is_read_through_a_cache(folder, expected, tmp_path, what):
    """All of it, or its data alone. The server to which it leads is no store of the cache, and gets nothing that is meant for it."""
    with faulty_server.serving(folder.parent) as there:
        def fault(path, headers):
            return (302, f"{there.url}{path}") if what in path else None

        with faulty_server.serving(folder.parent, fault) as here:
            with caching(tmp_path / "cache", {host_of(here.url): here.url}) as cache:
                with mounted(f"{here.url}/ocean.zarr", f"redirects=follow,via={cache.url}") as point:
                    assert tree(point) == expected
                    counts = via_counts(point)
                assert host_of(there.url) not in cache.log()
        assert there.seen and not [headers for *_, headers in there.seen if "X-Zarrfs-At" in headers]
        assert (counts["miss"] > 0) == (what == "/c/"), counts


def test_zarrctl_reads_through_a_cache(folder, tmp_path):
    with faulty_server.serving(folder.parent) as origin, caching(tmp_path / "cache", {host_of(origin.url): origin.url}) as cache:
        result = zarrctl("verify", "-o", f"via={cache.url}", f"{origin.url}/ocean.zarr")
        assert result.returncode == 0, result
        assert "/ocean.zarr/" in cache.log()
        (tmp_path / "secret").write_text("x: y\n")
        result = zarrctl("info", "-o", f"via={cache.url},headers={tmp_path}/secret", f"{origin.url}/ocean.zarr")
        assert "the secrets of headers= would be sent" in result.stderr


def test_a_file_names_several_caches(folder, expected, tmp_path):
    with faulty_server.serving(folder.parent) as origin, contextlib.ExitStack() as stack:
        caches = [stack.enter_context(caching(tmp_path / str(number), {host_of(origin.url): origin.url})) for number in range(2)]
        (tmp_path / "conf").write_text("\n".join(["view = v3", *(f"via = {cache.url}" for cache in caches)]))
        with mounted(f"{origin.url}/ocean.zarr", f"config={tmp_path}/conf") as point:
            assert tree(point) == {name.removeprefix("v3/"): data for name, data in expected.items() if name.startswith("v3/")}
        assert all(cache.log() for cache in caches)


# --- The option. ------------------------------------------------------------------------------------------


def test_what_would_be_sent_in_clear_text_is_refused(tmp_path, monkeypatch):
    point = tmp_path / "mnt"
    point.mkdir()
    (tmp_path / "secret").write_text("Authorization: Bearer x\n")

    def line(source, options):
        result = start(source, point, options)
        assert result.returncode == 32 and result.stderr.count("\n") == 1, result
        return result.stderr

    for option in ("headers", "query"):
        said = line("https://host.example/x.zarr", f"via=http://127.0.0.1:1,{option}={tmp_path}/secret")
        assert f"via=http://127.0.0.1:1: the secrets of {option}= would be sent to this cache without encryption" in said
    (tmp_path / ".netrc").write_text("machine host.example login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "the password that ~/.netrc has for the store would be sent" in line("https://host.example/x.zarr", "via=http://127.0.0.1:1")


def test_a_store_on_this_machine_has_no_cache(folder, tmp_path):
    result = start(str(folder), tmp_path, "via=http://127.0.0.1:1")
    assert result.returncode == 32
    assert result.stderr == (f"zarrfs: via=http://127.0.0.1:1: {folder} is on this machine; only a store in a bucket or on a web "
                             "server is read through a cache\n")
