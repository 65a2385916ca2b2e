"""Stores in buckets and on web servers: the same files as from the folder they were uploaded from, or errors; never absent."""

import errno
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
import zarr

import faulty_server
from mounts import READERS, ZARRFS, mounted, read, zarrctl
from remote import BUCKET, KEY, PREFIX, SECRET, children, fetcher_of, free_port, options_of, start, tree


# --- The same as the folder ------------------------------------------------------------------------


def test_a_web_server_gives_the_files_of_the_folder(nginx, expected):
    with mounted(f"{nginx[0]}/ocean.zarr") as point:
        assert tree(point) == expected


def test_so_does_one_with_tls(nginx, expected, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(nginx[2]))
    with mounted(f"{nginx[1]}/ocean.zarr") as point:
        assert tree(point) == expected


def test_so_does_one_behind_a_proxy_that_speaks_tls_for_it(nginx, expected, monkeypatch):
    """It redirects folders to http://, as it knows nothing of the proxy."""
    monkeypatch.setenv("SSL_CERT_FILE", str(nginx[2]))
    with mounted(f"{nginx[3]}/ocean.zarr") as point:
        assert not (point / "v3/deep/c").is_file()
        assert tree(point) == expected
        assert not (point / ".zarrfs/errors").read_text()


def test_so_does_a_bucket(moto, expected, keys):
    with mounted(f"s3://{BUCKET}/{PREFIX}", f"endpoint={moto}") as point:
        assert tree(point) == expected


@pytest.mark.further_reader
def test_so_does_a_bucket_whose_server_checks_signatures(versitygw, expected, keys, monkeypatch):
    with mounted(f"s3://{BUCKET}/{PREFIX}", f"endpoint={versitygw}") as point:
        assert tree(point) == expected
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    result = start(f"s3://{BUCKET}/{PREFIX}", "/mnt", f"nonempty,endpoint={versitygw}")
    assert result.returncode == 32 and "is the secret key right?" in result.stderr


@pytest.mark.parametrize("reader", ["zarr-python-2", "zarr-python-3", "tensorstore-v2", "gdal"])
def test_old_readers_read_a_bucket(moto, folder, keys, reader):
    view = READERS[reader][0]
    with mounted(f"s3://{BUCKET}/{PREFIX}", f"endpoint={moto}") as point, mounted(folder) as local:
        names = ["shards", "deep/plain"]
        assert read(reader, [point / view / name for name in names]) == read(reader, [local / view / name for name in names])


def test_zarrctl_reads_the_same_sources(moto, nginx, folder, keys):
    for source, options in [(f"s3://{BUCKET}/{PREFIX}", ["-o", f"endpoint={moto}"]), (f"{nginx[0]}/ocean.zarr", [])]:
        verified = zarrctl("verify", *options, source)
        assert verified.returncode == 0 and "no damage" in verified.stdout, verified.stderr
        names = [node["path"] for node in json.loads(zarrctl("info", "--json", *options, source).stdout)["nodes"]]
        assert names == [node["path"] for node in json.loads(zarrctl("info", "--json", folder).stdout)["nodes"]]
        one = [subprocess.run([str(ZARRFS.with_name("zarrctl")), "cat", *more, where, "shards", "1.1"], capture_output=True).stdout
               for more, where in ((options, source), ([], str(folder)))]
        assert one[0] == one[1] != b""


@pytest.mark.parametrize("view", ["v2", "gdal", "java"])
def test_of_a_damaged_chunk_no_part_is_given(tmp_path, view):
    """Of a folder's chunks only those that are read to their end are compared with a checksum that the view leaves out."""
    array = zarr.create_array(
        tmp_path / "a", shape=(2, 1 << 16), shards=(2, 1 << 16), chunks=(1, 1 << 16), dtype="i4", fill_value=-1,
        compressors=[zarr.codecs.Crc32cCodec()])
    array[:] = np.arange(2 << 16).reshape(2, -1)
    shard = tmp_path / "a/c/0/0"
    stored = bytearray(shard.read_bytes())
    stored[(1 << 18) - 1] ^= 1  # the last byte of the first chunk
    shard.write_bytes(stored)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/a", f"view={view}") as point:
        with open(point / "0.0", "rb", buffering=0) as damaged, pytest.raises(OSError) as error:
            damaged.read(10)
        assert error.value.errno == errno.EIO
        assert "c/0/0: crc32c checksum" in (point / ".zarrfs/errors").read_text()
        assert np.fromfile(point / "1.0", "<i4").tolist() == array[1].tolist()


# --- What a web server cannot list -----------------------------------------------------------------


def test_what_a_web_server_cannot_list_is_an_error_that_names_the_option(folder, expected, tmp_path):
    store = tmp_path / "www" / "ocean.zarr"
    shutil.copytree(folder, store)
    document = json.loads((store / "zarr.json").read_text())
    del document["consolidated_metadata"]
    (store / "zarr.json").write_text(json.dumps(document))
    keys_file = tmp_path / "keys"
    keys_file.write_text("".join(f"./{path.relative_to(store)}\n" for path in store.rglob("*") if path.is_file()))
    with faulty_server.serving(store.parent) as server:
        with mounted(f"{server.url}/ocean.zarr") as point:
            with pytest.raises(OSError) as listed:
                os.listdir(point / "v2")
            assert listed.value.errno == errno.EOPNOTSUPP
            assert "list=FILE" in (point / ".zarrfs/errors").read_text()
            assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]  # by its name
            assert len(os.listdir(point / "v2/deep/plain")) == 5
        with mounted(f"{server.url}/ocean.zarr", "list_max=2") as point:
            with pytest.raises(OSError) as listed:
                os.listdir(point / "v2/deep/plain")
            assert listed.value.errno == errno.EOPNOTSUPP
        with mounted(f"{server.url}/ocean.zarr", f"list={keys_file}") as point:
            got, want = tree(point / "v2"), {k.removeprefix("v2/"): v for k, v in expected.items() if k.startswith("v2/")}
            assert got == want
            # Who may replace the file has no worker read another one.
            keys_file.rename(tmp_path / "moved")
            keys_file.write_text("elsewhere/zarr.json\n")
            keeper = int(options_of(point)["pid"])
            (worker,) = set(children(keeper)) - {fetcher_of(keeper)}
            os.kill(worker, signal.SIGKILL)
            assert tree(point / "v2") == want
            assert worker not in children(keeper)
        keys_file.write_text("elsewhere/zarr.json\n")
        result = start(f"{server.url}/ocean.zarr", "/mnt", f"nonempty,list={keys_file}")
        assert result.returncode == 32 and "elsewhere/zarr.json, a key in list=FILE, does not exist" in result.stderr


def test_an_old_nested_store_is_read_where_the_server_does_not_say_that_it_is(tmp_path):
    """Its .zarray has no dimension_separator: were 0.0 looked for, every chunk would be absent."""
    array = tmp_path / "a"
    (array / "0").mkdir(parents=True)
    (array / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [2, 2], "chunks": [1, 2], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C",
        "filters": None}))
    (array / "0/0").write_bytes(b"\1\2")
    with faulty_server.serving(tmp_path, lambda path, headers: 404 if path == "/a/0" else None) as server:
        with mounted(f"{server.url}/a") as point:
            assert (point / "v2/0/0").read_bytes() == b"\1\2"


@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("where", ["folder", "web server"])
def test_a_variable_whose_first_chunk_is_not_stored_is_read(tmp_path, where, separator):
    """xarray with zarr-python 2 writes no dimension_separator; the axis may begin before the data."""
    array = tmp_path / "store/a"
    array.mkdir(parents=True)
    (tmp_path / "store/.zgroup").write_text('{"zarr_format": 2}')
    (array / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [3, 2], "chunks": [1, 2], "dtype": "|u1", "compressor": None, "fill_value": 7, "order": "C",
        "filters": None}))
    chunk = array / f"2{separator}0"
    chunk.parent.mkdir(exist_ok=True)
    chunk.write_bytes(b"\1\2")
    shown = separator if where == "folder" else "."
    with faulty_server.serving(tmp_path) as server:
        for options in "", "separator=.", "separator=/":
            with mounted(f"{server.url}/store" if where == "web server" else tmp_path / "store", options) as point:
                name = options[-1:] or shown
                assert not (point / f"v2/a/0{name}0").exists()
                assert (point / f"v2/a/2{name}0").read_bytes() == b"\1\2"
                assert zarr.open_array(point / "v3/a", mode="r")[:].tolist() == [[7, 7], [7, 7], [1, 2]]
                assert set(tree(point / "v2/a")) == {".zarray", f"2{name}0"}
                assert not (point / ".zarrfs/errors").read_text()


# --- Faults ----------------------------------------------------------------------------------------


def read_anew(path):
    """Not from the pages that the kernel has."""
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.read()


EACH_READ = "ttl=0.1,cache=0"  # is a request


@pytest.mark.parametrize("reads,share,options", [
    (360, 0.2, "ttl=0.1"), (360, 0.2, EACH_READ), pytest.param(100_000, 0.02, EACH_READ, marks=pytest.mark.further_reader)])
def test_faults_that_pass_cost_no_wrong_byte_and_make_nothing_absent(folder, expected, reads, share, options):
    chance = random.Random(7)
    kinds = ["reset", "cut", "stall", "shorter", "longer", "other range", "other version", 500, 503, 429]

    def fault(path, headers):
        return chance.choice(kinds) if chance.random() < share else None

    with faulty_server.serving(folder.parent, fault) as server, mounted(f"{server.url}/ocean.zarr", options) as point:
        chunks = [name for name in expected if name.startswith("v2/") and not pathlib.Path(name).name.startswith(".")]
        wrong, stale = [], []

        def reader(seed):
            own = random.Random(seed)
            for name in own.choices(chunks, k=reads // 6):
                data = None
                while data is None:
                    try:
                        data = read_anew(point / name)
                    except OSError as error:  # Two answers of the file were of two versions.
                        assert error.errno == errno.ESTALE, error
                        stale.append(name)
                        time.sleep(0.01)  # (A name may lead to the earlier one for ttl=; without a pause that is 1,600 tries.)
                if data != expected[name]:
                    wrong.append(name)

        threads = [threading.Thread(target=reader, args=(seed,)) for seed in range(6)]
        failures = []
        before, threading.excepthook = threading.excepthook, lambda what: failures.append(what.exc_value)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            threading.excepthook = before
        assert not wrong and not failures and len(stale) < reads / 10
        print(f"{reads} reads, {len(server.seen)} requests, {len(stale)} stale")
        assert len([1 for path, _, _ in server.seen if "/c/" in path]) > (reads if options == EACH_READ else reads / 6)


@pytest.mark.parametrize("kind", [500, 403, 401, "reset", "other range", 302, 418])
def test_faults_that_stay_are_errors_of_files_that_exist(folder, kind):
    broken = {"is": False}

    def fault(path, headers):
        return kind if broken["is"] and "/c/" in path and headers.get("Range") else None

    with faulty_server.serving(folder.parent, fault) as server, mounted(f"{server.url}/ocean.zarr", "timeout=1") as point:
        assert (point / "v2/deep/plain/0.0").read_bytes()
        broken["is"] = True
        absent = [] if kind == "other range" else ["deep/plain/2.2"]  # of which no range is asked for
        for name in ["deep/plain/0.1", "shards/0.0", *absent]:
            path = point / "v2" / name
            assert os.path.isfile(path), name
            with pytest.raises(OSError) as failed:
                path.read_bytes()
            assert failed.value.errno != errno.ENOENT
        broken["is"] = False
        time.sleep(1.1)
        assert (point / "v2/deep/plain/0.1").read_bytes()


def test_403_is_absence_only_where_the_user_says_so(folder):
    def fault(path, headers):
        file = folder.parent / path.lstrip("/")
        return 403 if "/c/" in path and not file.exists() else None

    with faulty_server.serving(folder.parent, fault) as server:
        with mounted(f"{server.url}/ocean.zarr") as point:
            with pytest.raises(PermissionError):
                (point / "v2/deep/plain/2.2").read_bytes()
            assert "absent=403" in (point / ".zarrfs/errors").read_text()
        with mounted(f"{server.url}/ocean.zarr", "absent=403") as point:
            assert not (point / "v2/deep/plain/2.2").exists()
            assert (point / "v2/deep/plain/0.0").exists()


def test_a_server_without_ranges_is_cut_or_refused(folder, expected, tmp_path):
    with faulty_server.serving(folder.parent, lambda path, headers: "no ranges") as server:
        with mounted(f"{server.url}/ocean.zarr") as point:
            for name in ("v2/shards/0.0", "v2/shards/3.3", "v2/deep/plain/0.1"):
                assert (point / name).read_bytes() == expected[name]
    array = zarr.create_array(tmp_path / "big", shape=(1 << 20,), shards=(1 << 20,), chunks=(1 << 18,), dtype="i4", compressors=None)
    array[:] = 1
    with faulty_server.serving(tmp_path, lambda path, headers: "no ranges") as server, mounted(f"{server.url}/big") as point:
        assert os.path.isfile(point / "v2/3")
        with pytest.raises(OSError) as failed:
            (point / "v2/3").read_bytes()
        assert failed.value.errno != errno.ENOENT


def test_an_object_that_is_replaced_gives_old_or_new_bytes_and_no_mixture(tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(8, 1 << 16), shards=(8, 1 << 16), chunks=(1, 1 << 16), dtype="i4", compressors=None)
    array[:] = 1
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/a", "ttl=0.1") as point:
        stop = threading.Event()
        mixtures = []

        def write():
            for value in range(2, 12):
                array[:] = value
                time.sleep(0.4)
            stop.set()

        writer = threading.Thread(target=write)
        writer.start()
        seen = set()
        while not stop.is_set():
            try:
                with open(point / "v2/3.0", "rb") as file:
                    values = set(np.frombuffer(file.read(), "i4").tolist())
            except OSError as error:
                assert error.errno == errno.ESTALE, error
                continue
            seen |= values
            if len(values) != 1:
                mixtures.append(values)
        writer.join()
        assert not mixtures and len(seen) > 1
        time.sleep(1.5)
        assert np.frombuffer((point / "v2/3.0").read_bytes(), "i4")[0] == 11


def test_a_server_without_etags_and_dates_needs_immutable(folder, expected):
    with faulty_server.serving(folder.parent, etags=False) as server, mounted(f"{server.url}/ocean.zarr") as point:
        assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
    with faulty_server.serving(folder.parent, etags=False, dates=False) as server:
        result = start(f"{server.url}/ocean.zarr", "/mnt", "nonempty")
        assert result.returncode == 32 and "immutable" in result.stderr
        with mounted(f"{server.url}/ocean.zarr", "immutable") as point:
            assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]


# --- The process that fetches ----------------------------------------------------------------------


def test_readers_notice_nothing_when_the_process_that_fetches_or_the_worker_is_killed(folder, expected):
    with faulty_server.serving(folder.parent) as server, mounted(f"{server.url}/ocean.zarr", "ttl=0.1") as point:
        keeper = int(options_of(point)["pid"])
        chunks = [name for name in expected if name.startswith("v2/shards/") and ".z" not in name]
        for turn in range(6):
            os.kill(children(keeper)[turn % 2], signal.SIGKILL)
            for name in chunks[turn::6]:
                assert (point / name).read_bytes() == expected[name]
            for _ in range(100):
                if len(children(keeper)) == 2:
                    break
                time.sleep(0.05)
            assert len(children(keeper)) == 2


def test_the_worker_has_no_network(nginx):
    with mounted(f"{nginx[0]}/ocean.zarr") as point:
        sandbox = options_of(point)["sandbox"]
        if os.getuid() == 0:
            assert sandbox.endswith(", no network")
        assert "seccomp" in sandbox


def test_an_upgrade_keeps_the_mount(nginx, expected):
    with mounted(f"{nginx[0]}/ocean.zarr") as point:
        with open(point / "v2/shards/0.0", "rb") as file:
            result = subprocess.run([ZARRFS, "--upgrade", str(point)], capture_output=True, text=True)
            assert result.returncode == 0, result.stderr
            assert file.read() == expected["v2/shards/0.0"]
        assert tree(point) == expected


# --- Who asks --------------------------------------------------------------------------------------


def test_secrets_are_sent_and_never_shown(folder, tmp_path):
    (tmp_path / "headers").write_text("Authorization: Bearer secret1\n")
    (tmp_path / "query").write_text("sig=secret2%2B&se=2030\n")
    with faulty_server.serving(folder.parent) as server:
        with mounted(f"{server.url}/ocean.zarr", f"headers={tmp_path}/headers,query={tmp_path}/query") as point:
            (point / "v2/shards/0.0").read_bytes()
            keeper = int(options_of(point)["pid"])
            shown = (point / ".zarrfs/options").read_text() + (point / ".zarrfs/errors").read_text()
            shown += pathlib.Path("/proc/self/mountinfo").read_text()
            for pid in [keeper, *children(keeper)]:
                shown += pathlib.Path(f"/proc/{pid}/cmdline").read_text()
            assert "secret1" not in shown and "secret2" not in shown
        assert all(headers["Authorization"] == "Bearer secret1" for _, _, headers in server.seen)
        assert all(target.endswith("?sig=secret2%2B&se=2030") for _, target, _ in server.seen)
    for address in ("https://user:secret@host/x", "https://host/x?sig=secret"):
        result = start(address, "/mnt", "nonempty")
        assert result.returncode == 32 and "secret" not in result.stderr and result.stderr.count("\n") == 1


def network_figures(point):
    network = json.loads((point / ".zarrfs/status.json").read_text())["network"]
    metrics = (point / ".zarrfs/metrics").read_text()
    assert f'zarrfs_network_requests_total{{kind="get"}} {network["get"]}\n' in metrics
    assert f'zarrfs_network_requests_total{{kind="list"}} {network["list"]}\n' in metrics
    assert f'zarrfs_network_received_bytes_total {network["received_bytes"]}\n' in metrics
    return network


def test_the_status_says_what_the_store_was_asked(folder, expected):
    """What a bucket costs: each request that reached it, also those that were repeated."""
    failing = iter([503, 503])
    with faulty_server.serving(folder.parent, lambda path, headers: next(failing, None) if "/c/" in path else None) as server, \
            mounted(f"{server.url}/ocean.zarr", "cache=0,index_cache=0") as point:
        for name in ("v2/shards/0.0", "v2/shards/5.5"):
            assert (point / name).read_bytes() == expected[name]
            os.kill(fetcher_of(int(options_of(point)["pid"])), signal.SIGKILL)
        assert (point / "v2/shards/2.3").read_bytes() == expected["v2/shards/2.3"]
        said = network_figures(point)
        # (Requests that are under way when a process is killed are not counted.)
        assert said["list"] == 0 and len(server.seen) - 2 <= said["get"] <= len(server.seen)
        assert said["received_bytes"] >= sum(end - begin for _, begin, end in server.sent) * 0.9


def test_so_it_does_of_listings(moto, expected, keys):
    with mounted(f"s3://{BUCKET}/{PREFIX}", f"endpoint={moto}") as point:
        assert len(os.listdir(point / "v2/deep/plain")) > 2
        assert network_figures(point)["list"] > 0


def test_keys_are_found_in_profiles_programs_and_services(moto, expected, tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    key = {"Version": 1, "AccessKeyId": KEY, "SecretAccessKey": SECRET, "SessionToken": "token", "Expiration": "2099-01-01T00:00:00Z"}
    (tmp_path / "key.json").write_text(json.dumps(key))
    (tmp_path / "config").write_text(
        f"[default]\nregion = us-east-1\n[profile program]\ncredential_process = cat {tmp_path}/key.json\n")
    (tmp_path / "credentials").write_text(f"[stored]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    source = f"s3://{BUCKET}/{PREFIX}"
    refused = start(source, "/mnt", f"nonempty,endpoint={moto}")
    assert refused.returncode == 32 and "anonymous" in refused.stderr
    for option in ("profile=program", "profile=stored"):
        with mounted(source, f"endpoint={moto},{option}") as point:
            assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
    with faulty_server.serving(tmp_path) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{server.url}/key.json")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "container-token")
        with mounted(source, f"endpoint={moto}") as point:
            assert (point / "v2/shards/0.0").read_bytes() == expected["v2/shards/0.0"]
        assert server.seen[0][2]["Authorization"] == "container-token"


def test_what_is_wrong_with_an_address_is_one_line(nginx, moto, keys, folder, monkeypatch):
    def line(source, options=""):
        result = start(source, "/mnt", f"nonempty,{options}")
        assert result.returncode == 32 and result.stderr.count("\n") == 1, result.stderr
        return result.stderr

    assert "there is no such bucket" in line("s3://no-such-bucket/x", f"endpoint={moto}")
    assert "is it spelled right?" in line(f"s3://{BUCKET}/nothing", f"endpoint={moto}")
    assert "is the address spelled right?" in line(f"{nginx[0]}/nothing.zarr")
    assert "is not trusted" in line(f"{nginx[1]}/ocean.zarr")
    assert "does not accept connections" in line(f"http://127.0.0.1:{free_port()}/x", "timeout=1")
    assert "the host no-such-host.invalid was not found" in line("http://no-such-host.invalid/x", "timeout=1")
    assert "answers 400 to HTTP without TLS: does it expect https://?" in line(f"{nginx[1].replace('https', 'http')}/ocean.zarr")
    assert "unknown scheme 'hf://'" in (said := line("hf://datasets/me/ocean.zarr")) and "redirects=follow" in said
    dead = f"127.0.0.1:{free_port()}"
    with monkeypatch.context() as patch:
        patch.setenv("http_proxy", f"http://{dead}")
        assert f"the proxy {dead} does not accept connections" in line("http://data.example.org/x", "timeout=1")
        patch.setenv("http_proxy", "http://no-such-proxy.invalid")
        assert "Could not resolve proxy: no-such-proxy.invalid; the environment" in line("http://data.example.org/x", "timeout=1")
    with faulty_server.serving(folder.parent, lambda path, headers: 302) as server:
        assert "redirects to" in line(f"{server.url}/ocean.zarr")
