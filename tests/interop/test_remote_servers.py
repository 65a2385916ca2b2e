"""Servers that do it in another way: no strong ETags, no ranges from the end, answers of a wrong length, silence, refusals, other clocks."""

import concurrent.futures
import contextlib
import datetime
import errno
import os
import random
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
import zarr

import bucket_server
import faulty_server
from mounts import ZARRFS, mounted
from remote import start, tree


def chunks_of(expected):
    return [name for name in expected if name.startswith("v2/") and ".z" not in name]


# --- A bucket that may be read but not listed --------------------------------------------------------


def of_get_object_only(root):
    """As S3 answers without s3:ListBucket: 403 for listings, and for objects that do not exist."""
    return lambda path, headers: None if (root / path.lstrip("/")).is_file() else 403


@pytest.mark.parametrize("more", ["", "list"])
def test_a_bucket_that_cannot_be_listed_is_read_like_a_web_server(folder, expected, tmp_path, more):
    options = "anonymous,absent=403,region=us-east-1"
    if more:
        names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        (tmp_path / "list").write_text("\n".join(names) + "\n")
        options += f",list={tmp_path}/list"
    with faulty_server.serving(folder.parent.parent, of_get_object_only(folder.parent.parent)) as server:
        source = f"s3://{folder.parent.name}/ocean.zarr"
        with mounted(source, f"{options},endpoint={server.url}") as point:
            assert tree(point) == expected
            assert not (point / ".zarrfs/errors").read_text()
        # Without absent=403 nobody knows whether what is refused exists.
        with mounted(source, f"{options},endpoint={server.url}".replace("absent=403,", "")) as point:
            assert (point / "v3/shards/zarr.json").read_bytes() == expected["v3/shards/zarr.json"]
            with pytest.raises(PermissionError):
                (point / "v3/shards/nothing").read_bytes()


# --- Versions and ranges ---------------------------------------------------------------------------


@pytest.mark.parametrize("etags", ["weak", False])
def test_without_a_strong_etag_its_date_is_asked_for(folder, expected, etags):
    with faulty_server.serving(folder.parent, etags=etags) as server, mounted(f"{server.url}/ocean.zarr") as point:
        assert tree(point) == expected
        asked = [headers for _, _, headers in server.seen]
        assert any("If-Unmodified-Since" in headers for headers in asked) and not any("If-Match" in headers for headers in asked)


@pytest.mark.parametrize("etags,pause", [(True, 0.5), ("weak", 0.5), (False, 2.1)])
def test_a_chunk_of_several_requests_is_of_one_version(tmp_path, etags, pause):
    array = zarr.create_array(tmp_path / "a", shape=(2, 5 << 19), shards=(2, 5 << 19), chunks=(1, 5 << 19), dtype="i4", compressors=None)
    array[:] = 1
    turn = threading.Event()

    def fault(path, headers):
        first = headers.get("Range", "").removeprefix("bytes=").split("-")[0]
        if "/c/" in path and turn.is_set() and int(first or 0) > 15 << 20:
            time.sleep(0.4)  # while it is replaced

    with faulty_server.serving(tmp_path, fault, etags=etags) as server, mounted(f"{server.url}/a", "ttl=0.1,view=v2") as point:
        turn.set()
        stop, seen = threading.Event(), []

        def write():
            for value in range(2, 7):
                before = len(seen)
                array[:] = value
                time.sleep(pause + value % 3 * 0.2)
                for _ in range(200):
                    if len(seen) > before:
                        break
                    time.sleep(0.1)
            stop.set()

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            writer = pool.submit(write)
            while not stop.is_set() and not writer.done():
                try:
                    values = np.unique(np.frombuffer((point / "1.0").read_bytes(), "i4")).tolist()
                except OSError as error:
                    assert error.errno == 116, error  # ESTALE
                    continue
                assert len(values) == 1
                seen += values
            writer.result()
        time.sleep(1)
        assert np.unique(np.frombuffer((point / "1.0").read_bytes(), "i4")).tolist() == [6]
        assert len(set(seen)) > 1


@pytest.mark.parametrize("of_suffix", ["no ranges", 400, 500, 501, 416])
def test_a_server_need_not_know_ranges_from_the_end(tmp_path, of_suffix):
    array = zarr.create_array(tmp_path / "a", shape=(8, 1 << 19), shards=(2, 1 << 19), chunks=(1, 1 << 19), dtype="i4", compressors=None)
    array[:] = np.arange(8)[:, None] + 1
    with faulty_server.serving(tmp_path, of_suffix=of_suffix) as server, mounted(f"{server.url}/a", "view=v2") as point:
        for row in range(8):
            assert (np.frombuffer((point / f"{row}.0").read_bytes(), "i4") == row + 1).all()
        if of_suffix != 416:
            assert len([1 for _, _, headers in server.seen if headers.get("Range", "").startswith("bytes=-")]) == 1, "and is asked once"


def test_a_container_of_azure_is_a_web_server_that_takes_a_signature(folder, expected, tmp_path):
    """Azure itself is not here: the paths are those of its emulator, which `endpoint` names."""
    (tmp_path / "oceans").mkdir()
    (tmp_path / "oceans/data").symlink_to(folder.parent)
    (query := tmp_path / "sas").write_text("sv=2024&sig=x%2B\n")
    with faulty_server.serving(tmp_path, of_suffix=500) as server:
        with mounted("az://oceans/data/ocean.zarr", f"endpoint={server.url},query={query}") as point:
            assert tree(point) == expected
        assert all(path.endswith("?sv=2024&sig=x%2B") for _, path, _ in server.seen)


def test_a_server_may_answer_ranges_with_200_and_content_range(folder, expected):
    """As rclone's S3 server does."""
    with faulty_server.serving(folder.parent, lambda path, headers: "part with 200") as server:
        with mounted(f"{server.url}/ocean.zarr") as point:
            assert tree(point) == expected
        run = subprocess.run([ZARRFS.with_name("zarrctl"), "verify", f"{server.url}/ocean.zarr"], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stdout + run.stderr


def test_headers_that_contradict_each_other_are_an_error(folder, expected):
    fault = lambda path, headers: "contradicting" if "/c/" in path else None  # noqa: E731
    with faulty_server.serving(folder.parent, fault) as server, mounted(f"{server.url}/ocean.zarr", "timeout=1") as point:
        with pytest.raises(OSError) as error:
            (point / "v2/deep/plain/0.1").read_bytes()
        assert error.value.errno == errno.EIO
        assert "two different headers" in (point / ".zarrfs/errors").read_text()


# --- What may pass ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["other range", "shorter", "longer", "cut"])
def test_answers_of_a_wrong_length_are_asked_for_again(folder, expected, kind):
    odd = random.Random(5)

    def fault(path, headers):
        return kind if "/c/" in path and odd.random() < 0.5 else None

    with faulty_server.serving(folder.parent, fault) as server, mounted(f"{server.url}/ocean.zarr") as point:
        for name in chunks_of(expected):
            assert (point / name).read_bytes() == expected[name]


def test_an_answer_that_does_not_come_is_asked_for_again(folder, expected):
    """Fifteen seconds of silence are enough."""
    silent, over = [], threading.Event()

    def fault(path, headers):
        if "/deep/plain/c/0/1" in path and not silent:
            silent.append(path)
            over.wait(60)

    with faulty_server.serving(folder.parent, fault) as server, mounted(f"{server.url}/ocean.zarr") as point:
        begin = time.monotonic()
        assert (point / "v2/deep/plain/0.1").read_bytes() == expected["v2/deep/plain/0.1"]
        assert silent and 10 < time.monotonic() - begin < 30
        over.set()


def test_no_more_is_asked_for_at_once_than_the_server_bears(tmp_path):
    """It bears four requests, and answers 503 to more."""
    array = zarr.create_array(tmp_path / "a", shape=(400, 64), shards=(20, 64), chunks=(1, 64), dtype="i4", compressors=None)
    array[:] = np.arange(400)[:, None] + 1
    lock, state = threading.Lock(), {"running": 0, "refused": 0, "answered": 0}

    def fault(path, headers):
        with lock:
            state["running"] += 1
            refuses = state["running"] > 4
            state["refused" if refuses else "answered"] += 1
        time.sleep(0.05)
        with lock:
            state["running"] -= 1
        return 503 if refuses else None

    rows = list(range(400))
    random.Random(1).shuffle(rows)
    with faulty_server.serving(tmp_path, fault) as server, mounted(f"{server.url}/a", "view=v2") as point:
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            for row, data in zip(rows, pool.map(lambda row: (point / f"{row}.0").read_bytes(), rows)):
                assert (np.frombuffer(data, "i4") == row + 1).all()
    assert state["answered"] > 400 and state["refused"] < state["answered"] / 3, state


def test_as_many_requests_are_made_at_once_as_the_user_says(tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(40, 64), chunks=(1, 64), dtype="i4", compressors=None)
    array[:] = np.arange(40)[:, None] + 1
    lock, running, most = threading.Lock(), [], []

    def fault(path, headers):
        with lock:
            running.append(path)
            most.append(len(running))
        time.sleep(0.05)
        with lock:
            running.remove(path)

    with faulty_server.serving(tmp_path, fault) as server, mounted(f"{server.url}/a", "view=v2,connections=3") as point:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            assert all(pool.map(lambda row: (point / f"{row}.0").read_bytes(), range(40)))
    assert max(most) == 3


# --- Refusals --------------------------------------------------------------------------------------


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDSECRETLY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token-secret")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("refusal,said", [
    ("InvalidAccessKeyId", "does not know the access key: are the credentials those of this service?"),
    ("SignatureDoesNotMatch", "is the secret key right?"),
    ("ExpiredToken", "get new credentials"),
    ((404, "XAdminUserNotFound", (), ""), "does not know the access key"),
    ("AccessDenied", "absent=403"),
    ((400, "AuthorizationHeaderMalformed", (), "<Region>eu-x-1</Region>"), "use region=eu-x-1"),
    ((400, "AuthorizationHeaderMalformed", [("x-amz-bucket-region", "eu-x-2")], ""), "use region=eu-x-2"),
    ((301, "PermanentRedirect", [("x-amz-bucket-region", "eu-x-3")], ""), "use region=eu-x-3"),
    ((307, "TemporaryRedirect", [("Location", "http://other.example/")], ""), "redirects to 'http://other.example/'"),
    ((404, "NoSuchBucket", (), ""), "there is no such bucket"),
    ((403, "RequestTimeTooSkewed", (), ""), "this machine's clock is wrong"),
])
def test_a_refusal_is_one_line_that_says_what_to_do(key, refusal, said):
    with bucket_server.serving(3, lambda headers: refusal) as server:
        result = start("s3://bucket/store", "/mnt", f"nonempty,endpoint={server.url},timeout=3")
        assert result.returncode == 32 and result.stderr.count("\n") == 1 and said in result.stderr, result.stderr
        assert "secret" not in result.stderr.replace("the secret key", "")


def test_a_bucket_that_is_not_public_is_said_to_be_none():
    with bucket_server.serving(3, lambda headers: "AccessDenied") as server:
        result = start("s3://bucket/store", "/mnt", f"nonempty,anonymous,endpoint={server.url}")
        assert result.returncode == 32 and result.stderr.count("\n") == 1 and "is the bucket public?" in result.stderr, result.stderr
        result = start("s3://bucket/store", "/mnt", f"nonempty,anonymous,endpoint={server.url.replace('http', 'https')},timeout=1")
        assert result.returncode == 32 and result.stderr.count("\n") == 1 and "does it expect http://?" in result.stderr, result.stderr


@pytest.mark.parametrize("ahead", [-7200, 7200])
def test_requests_are_signed_by_the_clock_of_the_server(key, ahead):
    def is_wrong(headers):
        signed = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC).timestamp()
        return abs(signed - time.time() - ahead) > 900

    # The first two are refused at once, so that the second one is refused after the first one taught the time.
    both = threading.Barrier(2, timeout=1)

    def refuses(headers):
        if not is_wrong(headers):
            return None
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait()
        return "RequestTimeTooSkewed"

    with bucket_server.serving(40, refuses, ahead=ahead) as server:
        with mounted("s3://bucket/store", f"endpoint={server.url},view=v2") as point:
            assert [(point / str(chunk)).read_bytes()[0] for chunk in range(40)] == list(range(40))
            assert len([1 for headers in server.headers if is_wrong(headers)]) < 5


# --- The log ---------------------------------------------------------------------------------------


def test_no_secret_is_in_the_log(folder, tmp_path):
    """However wrong the server's answers are, and however much is logged."""
    (tmp_path / "headers").write_text("Authorization: Bearer secret1\n")
    (tmp_path / "query").write_text("sig=secret2\n")
    kinds = iter([500, 403, 401, "reset", 302, 418, "cut", "other range"] * 100)
    broken = {"is": False}
    (point := tmp_path / "mnt").mkdir()
    options = f"headers={tmp_path}/headers,query={tmp_path}/query,log_level=debug,timeout=1,ttl=0.1,cache=0"
    with faulty_server.serving(folder.parent, lambda path, headers: next(kinds) if broken["is"] else None) as server:
        with open(tmp_path / "log", "wb") as log:
            mount = subprocess.Popen([ZARRFS, "-f", f"{server.url}/ocean.zarr", point, "-o", options], stderr=log, stdout=log)
        try:
            for _ in range(200):
                if os.path.ismount(point):
                    break
                time.sleep(0.1)
            (point / "v2/shards/0.0").read_bytes()
            broken["is"] = True
            failed = 0
            for name in ("0.0", "1.1", "2.2", "5.5", "0.5", "3.3"):
                try:
                    (point / "v2/shards" / name).read_bytes()
                except OSError:
                    failed += 1
            assert failed > 2
        finally:
            mount.send_signal(signal.SIGINT)
            mount.wait(60)
        assert any("secret2" in target for _, target, _ in server.seen)
    said = (tmp_path / "log").read_text()
    assert said.count("\n") > 3 and server.url in said and "secret1" not in said and "secret2" not in said
