"""Virtual chunks of an Icechunk repository that lie on a web server or in a bucket: the repository of test_icechunk_virtual.py."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import faulty_server
from mounts import READERS, ROOT, SYSTEM_PYTHON, ZARRCTL, ZARRFS, mounted, read, zarrctl
from remote import KEY, REMOTE_PYTHON, SECRET, UPLOAD, children, fetcher_of, options_of
from test_icechunk_virtual import DATA, NETCDF, PLACE, VALUES, YEAR_2024, change_locations, values
from test_remote_disk_cache import settled

BUCKET = "virtual-nc"
FIRST = VALUES[:2, :3].tobytes()


class Repository:
    """A copy whose references lead below `start`, an address that ends in a slash."""

    def __init__(self, folder, start):
        before = b"file://" + PLACE
        self.name = "x" * (len(before) - len(start))
        self.prefix = f"{start}{self.name}/"
        self.path = folder / "ocean.icechunk"
        shutil.copytree(DATA / "virtual", self.path)
        change_locations(self.path, before, start + self.name)

    def mounted(self, *options):
        return mounted(self.path, ",".join([f"virtual={self.prefix}", *options]))


def objects(folder, name):
    """Files as a server has them below `folder`."""
    (folder / name).mkdir(parents=True)
    for file in ("ocean.nc", "link.nc"):
        shutil.copyfile(DATA / "virtual.nc", folder / name / file)
        os.utime(folder / name / file, (YEAR_2024, YEAR_2024))
    return folder / name / "ocean.nc"


class Web:
    """A repository with its server."""

    def __init__(self, folder, server):
        self.server = server
        self.repository = Repository(folder, f"{server.url}/")
        self.file = objects(folder / "www", self.repository.name)

    def mounted(self, *options):
        return self.repository.mounted(*options)

    def asked(self, name="ocean.nc"):
        """The headers of each request for a file."""
        with self.server.lock:
            return [headers for path, _, headers in self.server.seen if path.endswith(name)]


@contextlib.contextmanager
def serving(folder, *args, **more):
    folder.chmod(0o755)
    (folder / "www").mkdir()
    with faulty_server.serving(folder / "www", *args, **more) as server:
        yield Web(folder, server)


@pytest.fixture
def web(tmp_path):
    with serving(tmp_path) as found:
        yield found


def errors(point):
    return (point / ".zarrfs/errors").read_text()


def error_of(point, path):
    """Of reading a file, which is not that it is absent."""
    with pytest.raises(OSError) as error:
        (point / path).read_bytes()
    assert not isinstance(error.value, FileNotFoundError)
    return errors(point)


@pytest.mark.parametrize("array", ["plain", "packed", "dated"])
def test_readers_see_the_values_of_the_netcdf_file(web, array):
    with web.mounted() as point:
        seen = {name: read(name, [point / READERS[name][0] / array])[0] for name in
                ("zarr-python-2", "zarr-python-3", "tensorstore-v3") if array != "packed" or name == "zarr-python-2"}
        run = subprocess.run([SYSTEM_PYTHON, "-W", "ignore", "-c", NETCDF, str(point / "nc/ocean.nc"), array], capture_output=True, text=True)
    for name, found in seen.items():
        assert found.get("sha256") == hashlib.sha256(VALUES.tobytes()).hexdigest(), (name, found)
    assert json.loads(run.stdout) == {array: VALUES.tolist()}, run.stderr


def test_a_repository_of_virtualizarr_has_the_values(tmp_path):
    """tests/data/icechunk/make_virtualizarr.py"""
    tmp_path.chmod(0o755)
    with faulty_server.serving(tmp_path) as server:
        before = b"file:///tmp/" + b"v" * 155
        prefix = f"{server.url}/"
        prefix += "x" * (len(before) - len(prefix))
        files = tmp_path / prefix.rsplit("/", 1)[1]
        files.mkdir()
        for name in ("2020.nc", "2021.nc"):
            shutil.copy(ROOT / "tests/data/kerchunk" / name, files)
            os.utime(files / name, (YEAR_2024, YEAR_2024))  # before the references were made, of which each has its time
        shutil.copytree(DATA / "virtualizarr", tmp_path / "repo")
        change_locations(tmp_path / "repo", before, prefix)
        expected = json.loads((ROOT / "tests/data/kerchunk/EXPECTED.json").read_text())["virtualizarr"]
        with mounted(tmp_path / "repo", f"virtual={prefix}/") as point:
            for reader in ("zarr-python-2", "zarr-python-3"):
                found = read(reader, [point / READERS[reader][0] / name for name in expected])
                assert [one.get("sha256") for one in found] == list(expected.values()), (reader, found)
        assert [1 for path, _, _ in server.seen if path.endswith("/2021.nc")]


def test_they_are_read_through_a_repository_on_a_web_server_too(web):
    shutil.copytree(web.repository.path, web.file.parent.parent / "ocean.icechunk")
    options = f"virtual={web.repository.prefix}"
    with mounted(f"{web.server.url}/ocean.icechunk", options) as point:
        assert (values(point, "plain") == VALUES).all()
    with mounted(f"{web.server.url}/ocean.icechunk") as point:
        assert "add -o " + options in error_of(point, "v3/plain/c/0/0")


def test_a_prefix_is_read_without_what_the_store_is_asked_with(web, tmp_path, monkeypatch):
    """Headers, a query, passwords and credentials are the store's."""
    shutil.copytree(web.repository.path, web.file.parent.parent / "ocean.icechunk")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".netrc").write_text("machine 127.0.0.1 login me password secret-netrc\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    (tmp_path / "headers").write_text("X-Token: secret-header\n")
    (tmp_path / "query").write_text("sig=secret-query\n")
    options = f"virtual={web.repository.prefix},headers={tmp_path / 'headers'},query={tmp_path / 'query'}"
    with mounted(f"{web.server.url}/ocean.icechunk", options) as point:
        assert (values(point, "plain") == VALUES).all()
    with web.server.lock:
        of_store = [(target, headers) for path, target, headers in web.server.seen if "/ocean.icechunk/" in path]
        of_prefix = [(target, headers) for path, target, headers in web.server.seen if "/ocean.icechunk/" not in path]
    assert of_prefix
    assert "secret" not in str(of_prefix) and not [1 for _, headers in of_prefix if "Authorization" in headers]
    assert "secret-header" in str(of_store) and "secret-query" in str(of_store) and "Authorization" in str(of_store)


def test_chunks_of_one_object_ask_for_its_version_once(web):
    with web.mounted("immutable") as point:
        assert (values(point, "plain") == VALUES).all()
        assert (values(point, "dated") == VALUES).all()
    wanted = [headers["Range"] for headers in web.asked()]
    assert wanted.count("bytes=0-0") == 1, wanted
    assert len(wanted) <= 1 + 2 * 4, wanted


def test_without_the_option_nothing_is_asked_and_the_error_names_the_prefix(web):
    with mounted(web.repository.path) as point:
        assert (point / "v3/plain/c/0/0").stat().st_size == 24
        assert f"add -o virtual={web.repository.prefix}" in error_of(point, "v3/plain/c/0/0")
        assert "error" in read("zarr-python-2", [point / "v2/plain"])[0]
        assert "fetcher" not in options_of(point)
    assert web.server.seen == []


def test_a_prefix_covers_components_alone(web):
    prefix = web.repository.prefix
    with mounted(web.repository.path, f"virtual={prefix[:-2]}/") as point:
        assert f"add -o virtual={prefix}" in error_of(point, "v3/plain/c/0/0")
    with mounted(web.repository.path, f"virtual={prefix.replace('http:', 'https:')}") as point:
        assert f"add -o virtual={prefix}" in error_of(point, "v3/plain/c/0/0")
    assert web.server.seen == []


def test_prefixes_of_several_kinds_stand_side_by_side(web, tmp_path):
    (tmp_path / "other").mkdir()
    with serving(tmp_path / "other") as other:
        with mounted(web.repository.path, f"virtual=file:///etc/,virtual={other.repository.prefix},virtual={web.repository.prefix}") as point:
            assert (values(point, "plain") == VALUES).all()
            assert (point / "v3/outside/c/0/0").read_bytes() == pathlib.Path("/etc/passwd").read_bytes()[:24]
            assert "add -o virtual=s3://noaa-goes16/a/" in error_of(point, "v3/outside/c/0/1")
        assert other.server.seen == []


def test_a_missing_object_and_a_range_beyond_it_are_errors_and_not_absent(web):
    with web.mounted() as point:
        for array in ("gone", "beyond"):
            assert "0" in os.listdir(point / "v3" / array / "c")
            error_of(point, f"v3/{array}/c/0/0")
            assert "error" in read("zarr-python-2", [point / "v2" / array])[0]
        assert "the file is missing" in errors(point)
        assert "the file ends early" in errors(point)


@pytest.mark.parametrize("status, expected", [(403, "read without credentials"), (401, "read without credentials"), (404, "missing"),
                                              (410, "missing")])
def test_what_a_server_refuses_is_an_error(tmp_path, status, expected):
    with serving(tmp_path, lambda path, headers: status) as web, web.mounted("absent=403") as point:
        assert expected in error_of(point, "v3/plain/c/0/0")


def test_what_passes_is_asked_for_again(tmp_path):
    asked = []

    def fault(path, headers):
        asked.append(path)
        return [503, "reset", "cut"][len(asked) - 1] if len(asked) <= 3 else None

    with serving(tmp_path, fault) as web, web.mounted() as point:
        assert (values(point, "plain") == VALUES).all()


@pytest.mark.parametrize("changed, is_read", [(YEAR_2024 - 10_000, True), (YEAR_2024, True), (YEAR_2024 + 1, False)])
def test_an_object_that_changed_later_than_its_reference_says_is_an_error(web, changed, is_read):
    os.utime(web.file, (changed, changed))
    with web.mounted() as point:
        assert (values(point, "plain") == VALUES).all()  # has no time
        if is_read:
            assert (values(point, "dated") == VALUES).all()
        else:
            assert "the file has changed since" in error_of(point, "v3/dated/c/0/0")


def test_a_time_that_the_server_does_not_say_is_not_taken_for_an_old_one(tmp_path):
    with serving(tmp_path, dates=False) as web, web.mounted() as point:
        assert (values(point, "plain") == VALUES).all()
        assert "sends none" in error_of(point, "v3/dated/c/0/0")


@pytest.mark.parametrize("etags, is_read", [("another-file", True), ("another-filf", False), ("weak", False), (False, False)])
def test_an_object_of_another_etag_is_an_error(tmp_path, etags, is_read):
    with serving(tmp_path, etags=etags) as web, web.mounted() as point:
        if is_read:
            assert (values(point, "tagged") == VALUES).all()
        else:
            assert "its ETag is" in error_of(point, "v3/tagged/c/0/0")


@pytest.mark.parametrize("at", ["branch.main", "all"])
def test_an_object_that_is_replaced_while_it_is_mounted(web, at):
    """Its chunks are other files then; where the reference has a time they are errors."""
    with web.mounted("ttl=0.2", f"at={at}") as point:
        folder = "v3" if at != "all" else "v3/branch.main"
        path = point / folder / "plain/c/0/0"
        assert path.read_bytes() == FIRST
        assert (point / folder / "dated/c/0/0").read_bytes() == FIRST
        before = path.stat().st_ino
        with path.open("rb") as opened:
            content = web.file.read_bytes()
            assert content.count(FIRST) == 1
            web.file.with_name("new").write_bytes(content.replace(FIRST, bytes(24)))
            web.file.with_name("new").rename(web.file)
            end = time.monotonic() + 30
            while path.read_bytes() == FIRST and time.monotonic() < end:
                time.sleep(0.1)
            assert path.read_bytes() == bytes(24)
            assert path.stat().st_ino != before
            with contextlib.suppress(OSError):
                assert os.pread(opened.fileno(), 24, 0) == FIRST
        with pytest.raises(OSError):
            while time.monotonic() < end:
                (point / folder / "dated/c/0/0").read_bytes()
                time.sleep(0.1)


def test_a_redirection_is_not_followed(tmp_path):
    """The server redirects what is a folder, here to one that has the objects."""
    with serving(tmp_path) as web:
        shutil.move(web.file, web.file.with_name("elsewhere"))
        web.file.mkdir()
        with web.mounted() as point:
            assert "which is never followed" in error_of(point, "v3/plain/c/0/0")
        assert {path for path, _, _ in web.server.seen} == {f"/{web.repository.name}/ocean.nc"}


HIDDEN = """
mount --bind hosts /etc/hosts
"$1" "$2" "$3" -o "$4"
cat "$3/v3/plain/c/0/0" > bytes && echo read
cat "$3/.zarrfs/errors"
umount "$3"
"""


def read_with_hosts(folder, repository, prefix, hosts):
    """What a mount says that finds addresses of hosts in a file of ours, in a mount namespace of its own."""
    (folder / "hosts").write_text("127.0.0.1 localhost\n" + hosts)
    (folder / "mnt").mkdir(exist_ok=True)
    run = subprocess.run(["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", HIDDEN, "sh", ZARRFS, repository.path,
                          folder / "mnt", f"timeout=5,virtual={prefix}"], cwd=folder, capture_output=True, text=True, timeout=120)
    return run.stdout + run.stderr


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "::ffff:127.0.0.1"])
def test_a_host_that_leads_to_this_machine_is_not_connected_to(tmp_path, address):
    tmp_path.chmod(0o755)
    (tmp_path / "www").mkdir()
    with faulty_server.serving(tmp_path / "www") as server:
        repository = Repository(tmp_path, f"http://data.example:{server.server_port}/")
        objects(tmp_path / "www", repository.name)
        connected = []
        server.verify_request = lambda *of: connected.append(of) or True
        said = read_with_hosts(tmp_path, repository, repository.prefix, f"{address} data.example\n")
        assert "leads to the address" in said, said
        assert "read\n" not in said
        assert connected == [] and server.seen == []


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200"])
def test_a_host_that_leads_to_a_metadata_service_is_not_connected_to(tmp_path, address):
    tmp_path.chmod(0o755)
    repository = Repository(tmp_path, "http://data.example/")
    said = read_with_hosts(tmp_path, repository, repository.prefix, f"{address} data.example\n")
    assert f"data.example leads to the address {address};" in said, said


def test_a_reference_to_a_metadata_service_needs_a_prefix_that_names_it(tmp_path):
    repository = Repository(tmp_path, "http://169.254.169.254/")
    with mounted(repository.path, "virtual=http://data.example/") as point:
        assert f"add -o virtual={repository.prefix}" in error_of(point, "v3/plain/c/0/0")


def test_a_proxy_on_this_machine_is_not_asked(tmp_path, monkeypatch):
    tmp_path.chmod(0o755)
    repository = Repository(tmp_path, "http://data.example/")
    with faulty_server.serving(tmp_path) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        with repository.mounted() as point:
            assert "leads to the address 127.0.0.1" in error_of(point, "v3/plain/c/0/0")
        assert proxy.seen == []


@pytest.mark.parametrize("host", ["localhost", "[::1]"])
def test_a_prefix_that_names_this_machine_is_read(tmp_path, host):
    tmp_path.chmod(0o755)
    (tmp_path / "www").mkdir()
    with faulty_server.serving(tmp_path / "www", host="::1" if ":" in host else "127.0.0.1") as server:
        repository = Repository(tmp_path, f"http://{host}:{server.server_port}/")
        objects(tmp_path / "www", repository.name)
        with repository.mounted() as point:
            assert (values(point, "plain") == VALUES).all()


@pytest.mark.parametrize("victim", ["worker", "fetcher"])
def test_reading_goes_on_after_a_process_was_killed(web, victim):
    with web.mounted() as point:
        assert (point / "v3/plain/c/0/0").read_bytes() == FIRST
        keeper = int(options_of(point)["pid"])
        fetcher = fetcher_of(keeper)
        killed = fetcher if victim == "fetcher" else next(pid for pid in children(keeper) if pid != fetcher)
        os.kill(killed, signal.SIGKILL)
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                found = values(point, "dated")
                break
            assert time.monotonic() < end
            time.sleep(0.1)
        assert (found == VALUES).all()
        assert killed not in children(keeper)


def test_the_disk_cache_keeps_them(web, tmp_path):
    cache = tmp_path / "cache"
    for is_first in (True, False):
        web.server.sent.clear()
        with web.mounted(f"disk_cache={cache}") as point:
            assert (values(point, "plain") == VALUES).all()
            settled(cache)
        data = [1 for _, begin, end in web.server.sent if end - begin > 1]
        assert bool(data) == is_first, web.server.sent
    content = web.file.read_bytes().replace(FIRST, bytes(24))
    web.file.write_bytes(content)
    os.utime(web.file, (YEAR_2024 + 5, YEAR_2024 + 5))
    with web.mounted(f"disk_cache={cache}") as point:
        assert (point / "v3/plain/c/0/0").read_bytes() == bytes(24)


def test_zarrctl_reads_them_with_the_option(web, tmp_path):
    option = f"virtual={web.repository.prefix}"
    run = subprocess.run([ZARRCTL, "cat", web.repository.path, "plain", "0.1", "-o", option], capture_output=True)
    assert run.stdout == VALUES[:2, 3:].tobytes(), run.stderr
    run = zarrctl("verify", web.repository.path, "plain", "-o", option)
    assert run.returncode == 0, run.stdout + run.stderr
    run = zarrctl("verify", web.repository.path, "plain")
    assert (run.returncode, f"add -o {option}" in run.stdout) == (2, True), run.stdout + run.stderr
    run = zarrctl("info", web.repository.path, "-o", option)
    assert run.returncode == 0 and f"-o {option}" in run.stdout, run.stdout + run.stderr
    run = zarrctl("pack", web.repository.path, tmp_path / "packed.zarr", "--only", "plain", "-o", option)
    assert run.returncode == 0, run.stdout + run.stderr
    with mounted(tmp_path / "packed.zarr") as point:
        assert (values(point, "plain") == VALUES).all()
    with web.mounted() as point:
        run = subprocess.run([ZARRCTL, "cat", point / "v3/plain/c/0/1"], capture_output=True)
        assert run.stdout == VALUES[:2, 3:].tobytes(), run.stderr


# --- Buckets ---


PUBLIC = """
import json, sys, boto3
url, key, secret, bucket = sys.argv[1:]
s3 = boto3.client("s3", endpoint_url=url, aws_access_key_id=key, aws_secret_access_key=secret, region_name="us-east-1")
s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": "*", "Action": ["s3:GetObject"], "Resource": [f"arn:aws:s3:::{bucket}/*"]}]}))
"""


class Bucket:
    def __init__(self, folder, url, bucket, is_public=True):
        self.repository = Repository(folder, f"s3://{bucket}/run=1/")
        objects(folder / "upload", self.repository.name)
        subprocess.run([REMOTE_PYTHON, "-c", UPLOAD, url, KEY, SECRET, bucket, "run=1", folder / "upload"], check=True)
        if is_public:
            subprocess.run([REMOTE_PYTHON, "-c", PUBLIC, url, KEY, SECRET, bucket], check=True)


@pytest.fixture(params=["moto", pytest.param("versitygw", marks=pytest.mark.further_reader)])
def bucket(request, tmp_path, monkeypatch):
    url = request.getfixturevalue(request.param)
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    tmp_path.chmod(0o755)
    return Bucket(tmp_path, url, f"{BUCKET}-{time.monotonic_ns()}")


def test_chunks_in_a_bucket_have_the_values_of_the_netcdf_file(bucket):
    with bucket.repository.mounted() as point:
        assert (values(point, "plain") == VALUES).all()
        assert (values(point, "linked") == VALUES).all()
        assert "the file has changed since" in error_of(point, "v3/dated/c/0/0")
        assert "its ETag is" in error_of(point, "v3/tagged/c/0/0")
        assert "the file is missing" in error_of(point, "v3/gone/c/0/0")
        assert "the file ends early" in error_of(point, "v3/beyond/c/0/0")
        assert "add -o virtual=s3://noaa-goes16/a/" in error_of(point, "v3/outside/c/0/1")


def test_a_bucket_whose_name_only_begins_like_the_prefix_is_another_one(bucket):
    prefix = bucket.repository.prefix
    with mounted(bucket.repository.path, f"virtual={prefix.replace('/run', '-x/run')},virtual={prefix.replace('s3:', 'http:')}") as point:
        assert f"add -o virtual={prefix.replace('=', '%3D')}" in error_of(point, "v3/plain/c/0/0")


@pytest.mark.further_reader
def test_a_bucket_is_read_without_the_credentials_of_the_environment(versitygw, keys, tmp_path, monkeypatch):
    """So one that is not public is an error."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", versitygw)
    tmp_path.chmod(0o755)
    closed = Bucket(tmp_path, versitygw, f"closed-{time.monotonic_ns()}", is_public=False)
    with closed.repository.mounted() as point:
        assert "read without credentials" in error_of(point, "v3/plain/c/0/0")
