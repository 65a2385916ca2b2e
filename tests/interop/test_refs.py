"""`zarrctl refs`: what fsspec's reference file system reads of the references is what the store holds."""

import contextlib
import fcntl
import functools
import http.server
import json
import os
import subprocess

import numpy as np
import pytest
import xarray
import zarr
from digest import describe
from local_server import LocalServer
from mounts import ZARR2_PYTHON, run_reader, zarrctl
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarrctl_runs import flip, refused, resolved

READER = [ZARR2_PYTHON, "read_references.py", "file"]


def create(group, name, values, chunks, shards, dimensions=None, **more):
    array = group.create_array(
        name, shape=values.shape, chunks=chunks, shards=shards, dtype=values.dtype, dimension_names=dimensions, **more)
    array[...] = values
    return array


@pytest.fixture(scope="module")
def ocean(tmp_path_factory):
    """Arrays whose chunks are byte ranges of the store in v2: with checksums, holes, an odd name, without shards."""
    folder = tmp_path_factory.mktemp("refs") / "an ocean #1.zarr"
    random = np.random.default_rng(7)
    group = zarr.create_group(str(folder), attributes={"title": "Ocean"})
    t = random.normal(size=(6, 20, 30)).astype("f4")
    t[2:4] = np.nan  # no chunks
    names = ("time", "lat", "lon")
    create(group, "t", t, (1, 5, 10), (2, 10, 30), names, compressors=[ZstdCodec(level=1)], fill_value=np.nan)
    salt = random.integers(0, 9, (6, 20, 30)).astype("i2")
    salt[:, :10] = 0  # holes whose zeros are data
    create(group, "salt", salt, (2, 5, 10), (2, 10, 30), names, compressors=[GzipCodec(), Crc32cCodec()])
    create(group, "time", np.arange(6) * 0.5, (6,), None, ("time",))
    below = group.create_group("deep/er")
    create(below, "swapped é", np.arange(24, dtype=">u4").reshape(4, 6), (2, 3), (4, 6), compressors=[BloscCodec(cname="lz4")])
    create(below, "scalar", np.array(7.5), (), None)
    zarr.consolidate_metadata(str(folder))
    return folder


def every_array(group, above=""):
    for name, member in group.members():
        if isinstance(member, zarr.Group):
            yield from every_array(member, above + name + "/")
        else:
            yield above + name, describe(np.asarray(member[...], member.dtype))


def arrays_of(store):
    return dict(every_array(zarr.open_group(str(store), mode="r")))


def expected(store):
    with xarray.open_dataset(store, engine="zarr", consolidated=False) as data:
        variables = {name: describe(np.asarray(data[name])) for name in data.variables}
    return {"consolidated": True, "zarr": arrays_of(store), "xarray": variables}


def make(store, out, *options, code=0):
    result = zarrctl("refs", store, "--out", out, *options)
    assert result.returncode == code, result.stderr
    return result.stderr


class Ranges(http.server.SimpleHTTPRequestHandler):
    """A server that answers ranges, and nothing but them for chunks."""

    def do_GET(self):
        asked = self.headers.get("Range")
        if asked is None:
            return super().do_GET()
        first, last = map(int, asked.removeprefix("bytes=").split("-"))
        with open(self.translate_path(self.path), "rb") as file:
            file.seek(first)
            content = file.read(last + 1 - first)
        self.send_response(206)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(folder):
    with LocalServer(functools.partial(Ranges, directory=folder)) as server:
        yield server.url


@pytest.mark.parametrize("name", ["refs.json", "refs.parq"])
def test_old_readers_read_what_the_store_holds(ocean, tmp_path, name):
    make(ocean, out := tmp_path / name)
    assert run_reader(READER, [out]) == {str(out): expected(ocean)}


@pytest.mark.parametrize("name", ["refs.json", "refs.parq"])
def test_they_do_so_from_a_server(ocean, tmp_path, name):
    with serving(ocean.parent) as url:
        make(ocean, out := tmp_path / name, "--prefix", f"{url}/an%20ocean%20%231.zarr/")
        assert url in json.dumps(json.loads(out.read_text())) if out.is_file() else True
        assert run_reader([*READER[:2], "http"], [out]) == {str(out): expected(ocean)}


def test_references_into_a_zip_file(ocean, tmp_path):
    (name, stored), deflated = ("ocean.zip", tmp_path / "ocean.zip"), tmp_path / "deflated.zip"
    for file, *options in [(stored, "-0"), (deflated,)]:
        subprocess.run(["zip", "-rq", *options, str(file), ocean.name], cwd=ocean.parent, check=True)
    make(stored / ocean.name, out := tmp_path / "refs.json")
    assert run_reader(READER, [out]) == {str(out): expected(ocean)}
    with serving(tmp_path) as url:
        make(stored / ocean.name, served := tmp_path / "served.parq", "--prefix", f"{url}/{name}")
        assert run_reader([*READER[:2], "http"], [served]) == {str(served): expected(ocean)}
    assert "must be decoded" in make(deflated / ocean.name, tmp_path / "none.json", code=3)
    make(deflated / ocean.name, inlined := tmp_path / "inlined.json", "--inline-decoded", "1M")
    assert run_reader(READER, [inlined]) == {str(inlined): expected(ocean)}


def test_references_of_a_group_inside_a_store(ocean, tmp_path):
    make(ocean, out := tmp_path / "below.json", "deep")
    seen = run_reader(READER, [out])[str(out)]["zarr"]
    assert seen == {name.removeprefix("deep/"): one for name, one in arrays_of(ocean).items() if name.startswith("deep/")}
    refs = json.loads(out.read_text())["refs"]
    assert refs["er/scalar/0"] == [f"file://{ocean}/deep/er/scalar/c", 0, 8 + 9]  # zstd
    make(ocean / "deep", below := tmp_path / "prefix.json", "--prefix", "s3://bucket/deep")
    assert json.loads(below.read_text())["refs"]["er/scalar/0"][0] == "s3://bucket/deep/er/scalar/c"


def test_tables_of_parquet_follow_each_other(tmp_path):
    group = zarr.create_group(str(store := tmp_path / "many.zarr"))
    array = group.create_array("a/b", shape=(300, 100), chunks=(1, 1), shards=(100, 100), dtype="u1", compressors=None)
    array[102, :3] = array[299, 99] = 1
    make(store, out := tmp_path / "many.parq", "--fill", "keep")
    assert {path.name for path in (out / "a/b").iterdir()} == {"refs.1.parq", "refs.2.parq"}
    program = f"""
import fsspec
system = fsspec.filesystem("reference", fo={str(out)!r}, remote_protocol="file")
found = {{key: system.cat_file("a/b/" + key) for key in ("0.0", "102.0", "102.2", "102.3", "299.98", "299.99") if "a/b/" + key in system.references}}
assert found == {{"102.0": b"\\1", "102.2": b"\\1", "299.99": b"\\1"}}, found
"""
    subprocess.run([ZARR2_PYTHON, "-c", program], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root writes there")
def test_root_writes_references_into_the_folder_of_another_user(ocean, tmp_path):
    (folder := tmp_path / "theirs").mkdir()
    folder.chmod(0o1700)
    os.chown(folder, 65534, 65534)
    make(ocean, out := folder / "refs.json")
    os.chown(out, 65534, 65534)
    os.truncate(out, 0)
    make(ocean, out)
    assert json.loads(out.read_text())["refs"]


def test_references_for_readers_of_v3(ocean, tmp_path):
    make(ocean, out := tmp_path / "refs.json", "--view", "v3")
    unsharded = tmp_path / "unsharded"
    for key, content in resolved(out):
        (unsharded / key).parent.mkdir(parents=True, exist_ok=True)
        (unsharded / key).write_bytes(content)
    group = zarr.open_group(str(unsharded), mode="r", use_consolidated=True)
    assert group["t"].shards is None
    assert dict(every_array(group)) == arrays_of(ocean)


def test_what_has_to_be_decoded_is_named_and_left_out(ocean, tmp_path):
    store = tmp_path / "decoded.zarr"
    group = zarr.create_group(str(store))
    values = np.arange(4 * 6 * 8, dtype="i4").reshape(4, 6, 8)
    create(group, "turned", values, (2, 3, 4), (4, 6, 8), ("x", "y", "z"), filters=[TransposeCodec(order=(2, 0, 1))])
    create(group, "plain", values + 1, (2, 3, 4), (4, 6, 8), ("x", "y", "z"))
    for name in ["refs.json", "refs.parq"]:
        stderr = make(store, out := tmp_path / name, code=3)
        assert stderr.startswith(f"zarrctl: {store}/turned: left out: its chunks must be decoded")
        assert set(run_reader(READER, [out])[str(out)]["zarr"]) == {"plain"}
        assert "turned" not in (out if out.is_file() else out / ".zmetadata").read_text()
        make(store, some := tmp_path / f"some-{name}", "--inline-decoded", "500", code=3)
        assert set(run_reader(READER, [some])[str(some)]["zarr"]) == {"plain"}
        make(store, whole := tmp_path / f"whole-{name}", "--inline-decoded", "1k")
        assert run_reader(READER, [whole])[str(whole)] == expected(store)


def test_zstd_frames_that_old_decoders_refuse_are_patched_or_left_out(tmp_path):
    store = tmp_path / "streamed.zarr"
    group = zarr.create_group(str(store))
    create(group, "a", np.arange(64, dtype="i4"), (64,), None, compressors=[ZstdCodec(level=1)])
    # 256 bytes in one raw block of a frame that does not state its size.
    raw = np.arange(64, dtype="<i4").tobytes()
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + (len(raw) << 3 | 1).to_bytes(3, "little") + raw
    (store / "a/c/0").write_bytes(frame)
    assert "left out" in make(store, tmp_path / "out.json", code=3)
    make(store, out := tmp_path / "in.json", "--inline-decoded", "1k")
    assert run_reader(READER, [out])[str(out)]["zarr"] == arrays_of(store)


def test_parquet_has_no_names_that_its_readers_do_not_find(tmp_path):
    store = tmp_path / "nested.zarr"
    group = zarr.create_group(str(store), zarr_format=2)
    create(group, "a", np.arange(24).reshape(4, 6), (2, 3), None,
           chunk_key_encoding={"name": "v2", "separator": "/"}, attributes={"_ARRAY_DIMENSIONS": ["y", "x"]})
    assert "add --separator ." in make(store, tmp_path / "left.parq", code=3)
    make(store, dots := tmp_path / "dots.parq", "--separator", ".")
    make(store, slashes := tmp_path / "slashes.json")
    seen = run_reader(READER, [dots, slashes])
    assert seen[str(dots)]["zarr"] == seen[str(slashes)]["zarr"] == arrays_of(store)
    assert "--view v2" in refused("refs", store, "--view", "v3", "--out", tmp_path / "v3.parq")


def test_holes_that_would_be_masked_are_fill_values_up_to_a_bound(tmp_path):
    store = tmp_path / "holes.zarr"
    group = zarr.create_group(str(store))
    group.create_array("a", shape=(1 << 30,), chunks=(1 << 14,), dtype="i4", dimension_names=["x"], compressors=None)
    assert "--fill keep" in make(store, tmp_path / "auto.json", code=3)
    make(store, out := tmp_path / "keep.json", "--fill", "keep")
    assert json.loads(json.loads(out.read_text())["refs"]["a/.zarray"])["fill_value"] == 0


def test_damage_leaves_no_references(ocean, tmp_path):
    store = tmp_path / "damaged.zarr"
    group = zarr.create_group(str(store))
    create(group, "a", np.arange(24).reshape(4, 6), (2, 3), (4, 6))
    (before := tmp_path / "refs.json").write_text("before")
    flip(store / "a/c/0/0", -3)
    for out in [before, tmp_path / "refs.parq"]:
        assert "a/c/0/0" in refused("refs", store, "--out", out)
    assert before.read_text() == "before"
    assert not list((tmp_path / "refs.parq").iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"damaged.zarr", "refs.json", "refs.parq"}
    (tmp_path / "refs.parq/mine").touch()
    assert "not empty" in refused("refs", ocean, "--out", tmp_path / "refs.parq")


@pytest.mark.parametrize("out", ["refs.json", "refs.parq"])
def test_what_a_killed_run_has_left_is_removed_by_the_next(tmp_path, out):
    zarr.create_group(tmp_path / "a.zarr").create_array("a", shape=(4,), chunks=(2,), dtype="i4")[:] = 1
    folder = tmp_path / out if out.endswith("parq") else tmp_path
    folder.mkdir(exist_ok=True)
    abandoned, others = folder / ".zarrctl-partial-0123456789abcdef-0", folder / "zarrctl-partial-mine"
    abandoned.write_text("{")
    if out.endswith("json"):
        others.write_text("mine")
        live = folder / ".zarrctl-partial-fedcba9876543210-0"
        with live.open("w") as held:
            fcntl.lockf(held, fcntl.LOCK_EX)  # as a run does that is under way
            assert zarrctl("refs", tmp_path / "a.zarr", "--out", tmp_path / out).returncode == 0
            assert live.exists() and others.exists()
    assert zarrctl("refs", tmp_path / "a.zarr", "--out", tmp_path / out).returncode == 0
    assert not abandoned.exists() and not list(folder.glob(".zarrctl-partial-*"))
