"""Stores of web servers that redirect (redirects=follow)."""

import re
import subprocess

import numpy as np
import pytest
import zarr

import faulty_server
from mounts import ZARRCTL, ZARRFS, mounted

VALUES = np.arange(64, dtype="i4").reshape(8, 8)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("redirects") / "ocean.zarr"
    group = zarr.create_group(path)
    group.create_array("sharded", shape=(8, 8), shards=(4, 4), chunks=(2, 2), dtype="i4", fill_value=-1)[...] = VALUES
    group.create_array("plain", shape=(8, 8), chunks=(4, 4), dtype="i4", fill_value=-1)[...] = VALUES
    zarr.consolidate_metadata(path)
    return path


def values(point, name):
    return zarr.open_array(point / "v3" / name, mode="r")[...]


def to(server, status=302, query=""):
    return lambda path, headers: (status, f"{server.url}{path}{query}")


def failure(source, options):
    run = subprocess.run([ZARRFS, "--check", source, "/mnt", "-o", f"nonempty,timeout=5,{options}"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 32 and run.stderr.count("\n") == 1, run.stderr
    return run.stderr


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_values_are_those_of_where_it_leads(store, status):
    with faulty_server.serving(store.parent) as there, faulty_server.serving(store.parent, to(there, status, "?signed=1")) as here:
        with mounted(f"{here.url}/ocean.zarr", "redirects=follow") as point:
            for name in ("sharded", "plain"):
                assert np.array_equal(values(point, name), VALUES)
        assert here.sent == [] and {target.partition("?")[2] for _, target, _ in there.seen} == {"signed=1"}
        result = subprocess.run([ZARRCTL, "verify", f"{here.url}/ocean.zarr", "-o", "redirects=follow"], capture_output=True, timeout=60)
        assert result.returncode == 0, result.stderr


def test_by_default_it_is_an_error_that_names_the_option(store):
    with faulty_server.serving(store.parent) as there, faulty_server.serving(store.parent, to(there)) as here:
        assert "or use redirects=follow" in failure(f"{here.url}/ocean.zarr", "redirects=no")
        assert there.seen == []


def test_another_host_gets_no_secret(store, tmp_path):
    (tmp_path / "headers").write_text("Authorization: Bearer secret\n")
    (tmp_path / "query").write_text("key=secret\n")
    for name in ("headers", "query"):
        (tmp_path / name).chmod(0o600)
    with faulty_server.serving(store.parent) as there, faulty_server.serving(store.parent, to(there)) as here:
        options = f"redirects=follow,headers={tmp_path}/headers,query={tmp_path}/query"
        with mounted(f"{here.url}/ocean.zarr", options) as point:
            assert np.array_equal(values(point, "sharded"), VALUES)
        assert all("secret" in target and "secret" in headers["Authorization"] for _, target, headers in here.seen)
        assert there.seen
        assert not any("secret" in target or "secret" in str(headers) for _, target, headers in there.seen)


def test_an_object_that_is_replaced_is_never_mixed(store, tmp_path):
    array = zarr.create_array(tmp_path / "a.zarr", shape=(64,), chunks=(64,), dtype="i8", compressors=None)
    array[...] = 1
    with faulty_server.serving(tmp_path) as there, faulty_server.serving(tmp_path, to(there)) as here:
        with mounted(f"{here.url}/a.zarr", "redirects=follow,ttl=1,view=v3") as point:
            for value in range(2, 6):
                array[...] = value
                for _ in range(20):
                    try:
                        read = np.frombuffer((point / "c/0").read_bytes(), "i8")
                    except OSError:
                        continue
                    assert len(read) == 64 and (read == read[0]).all()


def test_what_is_not_there_is_the_fill_value_and_a_server_that_fails_is_an_error(store, tmp_path):
    array = zarr.create_array(tmp_path / "a.zarr", shape=(8,), chunks=(4,), dtype="i4", fill_value=7)
    array[:4] = 1
    state = {"broken": False}

    def fault(path, headers):
        return 500 if state["broken"] and "/c/" in path else None

    with faulty_server.serving(tmp_path, fault) as there, faulty_server.serving(tmp_path, to(there)) as here:
        with mounted(f"{here.url}/a.zarr", "redirects=follow,view=v3,timeout=2,ttl=1") as point:
            assert zarr.open_array(point, mode="r")[...].tolist() == [1, 1, 1, 1, 7, 7, 7, 7]
        state["broken"] = True
        with mounted(f"{here.url}/a.zarr", "redirects=follow,view=v3,timeout=2") as point:
            with pytest.raises(OSError):
                (point / "c/0").read_bytes()


def test_it_does_not_go_round_for_ever(store):
    with faulty_server.serving(store.parent) as here:
        here.fault = lambda path, headers: (302, f"{here.url}{path}?again")
        assert "redirects to" in failure(f"{here.url}/ocean.zarr", "redirects=follow")
        paths = [path for path, _, _ in here.seen]
        assert max(paths.count(path) for path in paths) <= 12, "five redirections, and not for ever"


@pytest.mark.parametrize("address", ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "[::1]:1", "0.0.0.0:1"])
def test_a_server_leads_nobody_to_a_guarded_address(store, address):
    with faulty_server.serving(store.parent, lambda path, headers: (302, f"http://{address}{path}")) as here:
        text = failure(f"{here.url}/ocean.zarr", "redirects=follow")
        assert re.search(r"leads to the address .*, which is not followed", text), text
