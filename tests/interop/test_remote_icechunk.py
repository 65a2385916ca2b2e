"""Icechunk repositories in buckets, on web servers and in zip files: the same commits, and few requests."""

import contextlib
import json
import os
import shutil
import subprocess
import time
import zipfile

import pytest
import zarr
from zarr.codecs import BloscCodec

import faulty_server
from mounts import ROOT, mounted, read, zarrctl
from remote import KEY, REMOTE_PYTHON, SECRET, UPLOAD, start, tree
from test_remote_disk_cache import settled

DATA = ROOT / "tests/data/icechunk"
EXPECTED = {version: json.loads((DATA / f"{version}.json").read_text()) for version in ("v1", "v2")}
COMMITS = [("v1", "branch.main"), ("v2", "branch.dev"), ("v1", "tag.v1.0"), ("v2", "tag.v1.0"),
           *((version, EXPECTED[version]["tag.v1.0"]["snapshot"]) for version in EXPECTED)]
OLD = time.time() - 86400


def digests(point, arrays):
    return [one.get("sha256") for one in read("zarr-python-3", [point / "v3" / path for path in arrays])]


def check(source, version, at, options=""):
    arrays = EXPECTED[version].get(at, EXPECTED[version]["tag.v1.0"])["arrays"]
    with mounted(source, ",".join(filter(None, [f"at={at}", options]))) as point:
        assert digests(point, arrays) == [array["sha256"] for array in arrays.values()]


@pytest.fixture
def repositories(tmp_path):
    """Of both versions, written long ago."""
    shutil.copytree(DATA, tmp_path / "www")
    tmp_path.chmod(0o755)
    for path in (tmp_path / "www").rglob("*"):
        os.utime(path, (OLD, OLD))
    return tmp_path / "www"


@pytest.fixture(scope="module")
def bucket(moto):
    for version in EXPECTED:
        subprocess.run([REMOTE_PYTHON, "-c", UPLOAD, moto, KEY, SECRET, f"ice-{version}", "x.icechunk", DATA / version], check=True)
    return f"endpoint={moto}"


@pytest.fixture
def zipped(tmp_path):
    for version in EXPECTED:
        with zipfile.ZipFile(tmp_path / f"{version}.zip", "w", zipfile.ZIP_STORED) as file:
            for path in sorted((DATA / version).rglob("*")):
                if path.is_file():
                    file.write(path, str(path.relative_to(DATA)))
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("version, at", COMMITS)
def test_a_commit_in_a_bucket(bucket, keys, version, at):
    check(f"s3://ice-{version}/x.icechunk", version, at, bucket)


@pytest.mark.parametrize("version, at", COMMITS)
def test_a_commit_on_a_web_server(repositories, version, at):
    with faulty_server.serving(repositories) as server:
        check(f"{server.url}/{version}", version, at)
        assert not [path for path, _, _ in server.seen if path.endswith((".zgroup", ".zarray"))], "not asked for after zarr.json"


@pytest.mark.parametrize("version, at", COMMITS[:4])
def test_a_commit_in_a_zip_file(zipped, version, at):
    check(zipped / f"{version}.zip" / version, version, at)
    with faulty_server.serving(zipped) as server:
        check(f"{server.url}/{version}.zip/{version}", version, at)


def test_what_is_not_there_is_one_line(repositories, zipped, tmp_path):
    shutil.copytree(ROOT / "tests/data/sample.zarr", repositories / "plain.zarr")
    with faulty_server.serving(repositories) as server:
        for source, options, expected in (
                (f"{server.url}/v2", "at=tag.v1.1", "did you mean 'tag.v1.0'?"),
                (f"{server.url}/v1", "at=tag.gone", "has no tag.gone"),
                (f"{server.url}/v1", "at=0000000000000000000G", "no such snapshot"),
                (f"{server.url}/plain.zarr", "at=tag.v1.0", "not an Icechunk repository"),
                (str(zipped / "v1.zip"), "at=tag.v1.0", "not an Icechunk repository")):
            result = start(source, "/mnt", f"nonempty,{options}")
            assert result.returncode == 32 and expected in result.stderr and result.stderr.count("\n") == 1, result.stderr


@contextlib.contextmanager
def timed(folder, delay):
    """A server that answers each request after a while, and says when it was asked and when it answered."""
    spans = []

    def fault(path, headers):
        begin = time.monotonic()
        time.sleep(delay)
        spans.append((begin, time.monotonic(), path))

    with faulty_server.serving(folder, fault) as server:
        yield server, spans


def trips(spans):
    """The longest row of requests each of which was asked after the one before was answered."""
    longest = []
    for begin, end, _ in sorted(spans):
        longest.append((end, 1 + max((count for before, count in longest if before <= begin), default=0)))
    return max(count for _, count in longest)


@pytest.mark.parametrize("version, at", [("v1", "tag.v1.0"), ("v2", "tag.v1.0"), ("v1", "branch.main"), ("v2", "branch.main")])
def test_the_first_value_is_six_trips_away_with_the_connection(repositories, version, at):
    with timed(repositories, 0.3) as (server, spans):
        with mounted(f"{server.url}/{version}", f"at={at},view=v2,immutable") as point:
            name = "temperature/3.3.1"  # a chunk in a shard
            assert (point / name).read_bytes()
        assert trips(spans) <= 5, spans


@pytest.mark.parametrize("version", EXPECTED)
def test_a_chunk_has_the_time_of_the_first_snapshot_without_a_request(repositories, version):
    run = zarrctl("ls", "--snapshots", repositories / version)
    first = next(line for line in run.stdout.splitlines() if line.startswith("1CECHNKREP0F1RSTCMT0"))
    with faulty_server.serving(repositories) as server, mounted(f"{server.url}/{version}", "at=tag.v1.0,view=v3") as point:
        for chunk in ("a/b/native/c/0", "temperature/c/0/2/0"):
            found = time.localtime((point / chunk).stat().st_mtime)
            assert time.strftime("%Y-%m-%d %H:%M:%S", found) in first, chunk
        # Only the index of the shard is asked for.
        asked = [path for path, _, _ in server.seen if "/chunks/" in path]
        assert len(asked) == 1, asked


def test_a_plain_store_waits_no_longer_for_it(repositories):
    shutil.copytree(ROOT / "tests/data/sample.zarr", repositories / "plain.zarr")
    with timed(repositories, 0.3) as (server, spans):
        with mounted(f"{server.url}/plain.zarr", "immutable"):
            at_start = list(spans)
        first = [path for begin, _, path in sorted(at_start) if begin < min(end for _, end, _ in at_start)]
        assert sorted(first) == [f"/plain.zarr/{name}" for name in ("refs/branch.main/ref.json", "repo", "zarr.json")]
        assert not [path for _, _, path in spans if path not in first and ("/re" in path or "snapshots" in path)]


def test_a_server_that_refuses_what_is_not_there_has_plain_stores(repositories):
    shutil.copytree(ROOT / "tests/data/sample.zarr", repositories / "plain.zarr")
    with faulty_server.serving(repositories, lambda path, headers: 403 if "/re" in path else None) as server:
        with mounted(f"{server.url}/plain.zarr") as point:
            assert (point / "v3/zarr.json").exists()


@pytest.mark.parametrize("version", EXPECTED)
def test_the_disk_cache_asks_again_for_what_moves_alone(repositories, tmp_path, version):
    seen = []
    with faulty_server.serving(repositories) as server:
        for _ in range(2):
            server.seen.clear()
            with mounted(f"{server.url}/{version}", f"at=branch.dev,view=v2,disk_cache={tmp_path / 'cache'}") as point:
                seen.append({name: content for name, content in tree(point).items() if not name.startswith(".zarrfs")})
                settled(tmp_path / "cache")
        assert seen[0] == seen[1] and len(seen[0]) > 20
        again = {path.split("/", 2)[2] for path, _, _ in server.seen}
        assert again <= {"zarr.json", "repo", "refs/branch.main/ref.json", "refs/branch.dev/ref.json"}, again


def test_a_plain_store_with_names_like_these_is_asked_again(tmp_path):
    """Nothing says that it is a repository, so that its objects may change."""
    chunk = tmp_path / "www/x.zarr/chunks/1CECHNKREP0F1RSTCMT0"
    chunk.mkdir(parents=True)
    tmp_path.chmod(0o755)
    (chunk / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C", "filters": None}))
    for folder in (chunk.parent, chunk.parent.parent):
        (folder / ".zgroup").write_text('{"zarr_format": 2}')
    with faulty_server.serving(tmp_path / "www") as server:
        for value in (1, 2):
            (chunk / "0").write_bytes(bytes([value]) * 4)
            for path in (tmp_path / "www").rglob("*"):
                os.utime(path, (OLD + value, OLD + value))
            with mounted(f"{server.url}/x.zarr", f"disk_cache={tmp_path / 'cache'}") as point:
                assert (point / "v2/chunks/1CECHNKREP0F1RSTCMT0/0").read_bytes() == bytes([value]) * 4
                settled(tmp_path / "cache")


@pytest.mark.parametrize("version", EXPECTED)
def test_a_scan_asks_as_often_as_one_of_the_same_shards_in_a_plain_store(repositories, version):
    with mounted(repositories / version, "at=tag.v1.0") as point:
        source = zarr.open_array(point / "v3/temperature", mode="r")
        # As tests/data/icechunk/make.py has it.
        plain = zarr.open_group(repositories / "plain.zarr", mode="w").create_array(
            "temperature", shape=source.shape, shards=(2, 12, 20), chunks=(1, 6, 10), dtype=source.dtype, fill_value=0,
            compressors=BloscCodec(cname="zstd", clevel=3, shuffle="shuffle"))
        plain[:] = source[:]
    for path in (repositories / "plain.zarr").rglob("*"):
        os.utime(path, (OLD, OLD))
    asked, names = {}, []
    with faulty_server.serving(repositories, lambda path, headers: time.sleep(0.03)) as server:
        for name, options in (("plain.zarr", "immutable"), (version, "at=tag.v1.0")):
            with mounted(f"{server.url}/{name}", f"view=v2,{options}") as point:
                listed = sorted(os.listdir(point / "temperature"))
                names = names or [entry for entry in listed if entry[0].isdigit()]  # the repository has a shard of zeros, too
                server.seen.clear()
                asked[name] = len(names), sum(len((point / "temperature" / entry).read_bytes()) for entry in names), len(server.seen)
    (*plain_bytes, plainly), (*stored, mine) = asked["plain.zarr"], asked[version]
    assert stored == plain_bytes
    # One more at most, by which the reading ahead of the two may differ.
    assert mine <= plainly + 1, asked


def test_a_commit_is_one_request_a_ttl_and_leaves_other_chunks_alone(repositories):
    pointer = repositories / "v1/refs/branch.main/ref.json"
    with faulty_server.serving(repositories) as server, mounted(f"{server.url}/v1", "ttl=0.4,view=v3") as point:
        kept = point / "temperature/c/0/3/0"
        inode, content = kept.stat().st_ino, kept.read_bytes()
        before = (point / "a/b/native/c/0").read_bytes()
        known = {path for path, _, _ in server.seen if path != "/v1/refs/branch.main/ref.json"}
        time.sleep(1)
        server.seen.clear()
        for _ in range(20):
            (point / "a/b/native/c/0").read_bytes()
            time.sleep(0.05)
        assert {path for path, _, _ in server.seen} == {"/v1/refs/branch.main/ref.json"}
        assert len(server.seen) < 12
        pointer.write_text(json.dumps({"snapshot": EXPECTED["v1"]["branch.dev"]["snapshot"]}))
        end = time.monotonic() + 20
        while (point / "a/b/native/c/0").read_bytes() == before and time.monotonic() < end:
            time.sleep(0.1)
        assert (point / "a/b/native/c/0").read_bytes() != before
        assert (kept.stat().st_ino, kept.read_bytes()) == (inode, content)
        again = known & {path for path, _, _ in server.seen}
        # What may be in version 2 by now is looked for in its place.
        assert again <= {"/v1/repo"}, again


def test_zarrctl_reads_one(repositories):
    with faulty_server.serving(repositories) as server:
        run = zarrctl("info", f"{server.url}/v2", "-o", "at=tag.v1.0")
        assert "temperature" in run.stdout and "virtual chunks" not in run.stdout, run
