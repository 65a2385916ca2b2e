"""Kerchunk reference sets, written by kerchunk and VirtualiZarr (tests/data/kerchunk/make.py), of NetCDF files elsewhere."""

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

import faulty_server
import numpy as np
import pytest
import zarr
from mounts import READERS, ROOT, SYSTEM_PYTHON, ZARRFS, mounted, read, zarrctl

DATA = ROOT / "tests/data/kerchunk"
PLACE = "/place/of/the/data"
EXPECTED = json.loads((DATA / "EXPECTED.json").read_text())
NETCDF = """
import hashlib, json, numpy, sys, xarray
with xarray.open_dataset(sys.argv[1], engine="netcdf4", mask_and_scale=False, decode_times=False) as dataset:
    print(json.dumps({name: hashlib.sha256(numpy.ascontiguousarray(dataset[name].values).tobytes()).hexdigest() for name in dataset.variables}))
"""


class Sets:
    def __init__(self, folder):
        self.folder = folder
        self.place = folder / "nc files"
        self.place.mkdir()
        for file in DATA.glob("*.nc"):
            shutil.copyfile(file, self.place / file.name)
        for name in EXPECTED:
            (folder / f"{name}.json").write_text((DATA / f"{name}.json").read_text().replace(PLACE, str(self.place)))
        self.option = f"virtual=file://{self.place}/".replace(" ", "%20")

    def mounted(self, name, *options):
        return mounted(self.folder / f"{name}.json", ",".join([self.option, *options]))


@pytest.fixture
def sets(tmp_path):
    return Sets(tmp_path)


@pytest.mark.parametrize("name", EXPECTED)
def test_readers_see_the_values_that_fsspec_and_zarr_python_read(sets, name):
    with sets.mounted(name) as point:
        for reader in ("zarr-python-2", "zarr-python-3", "tensorstore-v2"):
            view = READERS[reader][0]
            arrays = EXPECTED[name]
            # (tensorstore knows no filters.)
            if reader == "tensorstore-v2":
                arrays = {array: digest for array, digest in arrays.items() if array != "t" or name == "classic"}
            found = read(reader, [point / view / array for array in arrays])
            assert [one.get("sha256") for one in found] == list(arrays.values()), (reader, found)


@pytest.mark.parametrize("name", ["multi", "virtualizarr"])
def test_a_netcdf_file_has_the_values(sets, name):
    with sets.mounted(name, "noallow_other") as point:
        run = subprocess.run([SYSTEM_PYTHON, "-W", "ignore", "-c", NETCDF, str(point / f"nc/{name}.nc")], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == EXPECTED[name]


def test_what_lies_in_the_set_needs_no_option_and_the_rest_names_it(sets):
    with mounted(sets.folder / "single.json") as point:
        assert len((point / "v2/ice/0.0.0").read_bytes()) == 96
        chunk = point / "v2/t/0.0.0"
        assert chunk.stat().st_size == 157
        with pytest.raises(OSError):
            chunk.read_bytes()
        assert "error" in read("zarr-python-2", [point / "v2/t"])[0]
        option = re.search(r"add -o (virtual=.*)", (point / ".zarrfs/errors").read_text())[1]
    with mounted(sets.folder / "single.json", option.replace(",", "\\,")) as point:
        assert (point / "v2/t/0.0.0").read_bytes() == (sets.place / "2020.nc").read_bytes()[1488:1488 + 157]


def test_nothing_outside_the_prefix_is_read(sets, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 500)
    (sets.place / "link.nc").symlink_to(secret)
    references = json.loads((sets.folder / "single.json").read_text())["refs"]
    addresses = [f"{secret}", f"file://{secret}", f"{sets.place}/../secret", f"{sets.place}/%2e%2e/secret", "secret", f"{sets.place}/link.nc",
                 "/etc/passwd", "http://169.254.169.254/latest/meta-data/", "s3://bucket/secret"]
    references |= {f"t/{z}.{y}.0": [addresses[(2 * z + y) % len(addresses)], 0, 157] for z in range(5) for y in range(2)}
    references["t/4.1.0"] = ["/etc/passwd"]  # whole
    document = json.loads(references["t/.zarray"])
    references["t/.zarray"] = json.dumps(document | {"shape": [10, 6, 8]})
    (sets.folder / "hostile.json").write_text(json.dumps(references))
    with sets.mounted("hostile") as point:
        for z in range(5):
            for y in range(2):
                assert f"{z}.{y}.0" in os.listdir(point / "v2/t")
                with pytest.raises(OSError) as error:
                    (point / f"v2/t/{z}.{y}.0").read_bytes()
                assert error.value.errno != errno.ENOENT, (z, y)


def test_a_file_that_is_missing_replaced_or_cut_is_never_the_fill_value(sets):
    with sets.mounted("single", "ttl=0.1") as point:
        chunk, file = point / "v2/t/1.1.0", sets.place / "2020.nc"
        before = chunk.read_bytes()
        inode = chunk.stat().st_ino
        other = sets.place / "other"
        other.write_bytes(bytes(reversed(file.read_bytes())))
        other.rename(file)
        time.sleep(0.3)
        assert chunk.read_bytes() == file.read_bytes()[1960:1960 + 158] != before
        assert chunk.stat().st_ino != inode
        os.truncate(file, 1970)
        time.sleep(0.3)
        with pytest.raises(OSError) as error:
            chunk.read_bytes()
        assert error.value.errno != errno.ENOENT
        file.unlink()
        time.sleep(0.3)
        assert "1.1.0" in os.listdir(chunk.parent)
        with pytest.raises(OSError) as error:
            chunk.read_bytes()
        assert error.value.errno != errno.ENOENT
        assert "the file is missing" in (point / ".zarrfs/errors").read_text()


def test_a_replaced_set_is_seen(sets):
    path = sets.folder / "single.json"
    with sets.mounted("single") as point:
        assert sorted(json.loads((point / "v2/.zattrs").read_text())) == []
        references = json.loads(path.read_text())
        references["refs"][".zattrs"] = '{"title": "new"}'
        (sets.folder / "next").write_text(json.dumps(references))
        (sets.folder / "next").rename(path)
        end = time.monotonic() + 20
        while json.loads((point / "v2/.zattrs").read_text()) != {"title": "new"} and time.monotonic() < end:
            time.sleep(0.1)
        assert json.loads((point / "v2/.zattrs").read_text()) == {"title": "new"}


def test_a_set_on_a_web_server(sets, tmp_path):
    tmp_path.chmod(0o755)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/version0.json") as point:
        arrays = {name: digest for name, digest in EXPECTED["version0"].items() if name != "t"}
        found = read("zarr-python-2", [point / "v2" / array for array in arrays])
        assert [one.get("sha256") for one in found] == list(arrays.values())


@pytest.mark.parametrize("is_set_there", [False, True])
def test_references_to_a_web_server(sets, tmp_path, is_set_there):
    tmp_path.chmod(0o755)
    with faulty_server.serving(tmp_path) as server:
        address = f"{server.url}/nc%20files"
        references = (DATA / "virtualizarr.json").read_text().replace(PLACE, address)
        references = json.loads(references)
        references["refs"]["whole/.zarray"] = json.dumps(
            {"zarr_format": 2, "shape": [15945], "chunks": [15945], "dtype": "|u1", "order": "C", "compressor": None, "filters": None, "fill_value": 0})
        references["refs"]["whole/0"] = [f"{address}/2020.nc"]
        shape = json.loads(references["refs"]["t/.zarray"]) | {"shape": [8, 7, 8]}
        references["refs"]["gone/.zarray"], references["refs"]["gone/3.2.0"] = json.dumps(shape), [f"{address}/2022.nc", 0, 10]
        (tmp_path / "web.json").write_text(json.dumps(references))
        with mounted(f"{server.url}/web.json" if is_set_there else tmp_path / "web.json", f"virtual={address}/") as point:
            for reader in ("zarr-python-2", "zarr-python-3"):
                found = read(reader, [point / READERS[reader][0] / array for array in EXPECTED["virtualizarr"]])
                assert [one.get("sha256") for one in found] == list(EXPECTED["virtualizarr"].values()), (reader, found)
            assert (point / "v2/whole/0").read_bytes() == (sets.place / "2020.nc").read_bytes()
            with pytest.raises(OSError) as error:
                (point / "v2/gone/3.2.0").read_bytes()
            assert error.value.errno != errno.ENOENT


def test_zarrctl(sets, tmp_path):
    path = sets.folder / "multi.json"
    said = zarrctl("info", path).stdout
    assert "5 arrays" in said and f"virtual chunks lie below {sets.place}: -o {sets.option}" in said
    assert "t" in zarrctl("ls", path).stdout.split()
    assert "no damage" in zarrctl("verify", "-o", sets.option, path).stdout
    copy = tmp_path / "copy.zarr"
    zarrctl("pack", "-o", sets.option, path, copy)
    found = read("zarr-python-3", [copy / name for name in EXPECTED["multi"]])
    assert [one.get("sha256") for one in found] == list(EXPECTED["multi"].values())


def test_zarrctl_where_names_the_file_that_a_reference_is_to(sets):
    path = sets.folder / "templates.json"
    references = json.loads((DATA / "templates.json").read_text())["refs"]
    _, offset, length = references["t/0.1.0"]
    said = zarrctl("where", "-o", sets.option, path, "t", "0.1.0")
    place = f"{sets.place}/2020.nc"
    assert said.returncode != 0 and f"t/0.1.0: a reference to {length} bytes at {offset} of file://{place}" in said.stderr
    with open(place, "rb") as file:
        file.seek(offset)
        assert len(file.read(length)) == length
    said = zarrctl("where", "-o", sets.option, path, "ice", "1.0.0")
    assert said.returncode != 0 and "ice/1.0.0: stored inline, in the reference set" in said.stderr


def test_what_zarrctl_refs_writes_is_a_set(tmp_path):
    values = np.arange(64 * 48, dtype="<u4").reshape(64, 48)
    array = zarr.create_array(tmp_path / "s.zarr", shape=values.shape, shards=(32, 24), chunks=(8, 8), dtype="<u4", fill_value=0)
    array[...] = values
    made = zarrctl("refs", tmp_path / "s.zarr", "--out", tmp_path / "refs.json", "--prefix", f"file://{tmp_path}/s.zarr")
    assert made.returncode == 0, made.stderr
    with mounted(tmp_path / "refs.json", f"virtual=file://{tmp_path}/s.zarr/") as point:
        for reader in ("zarr-python-2", "tensorstore-v3"):
            assert read(reader, [point / READERS[reader][0]])[0].get("sha256") == hashlib.sha256(values.tobytes()).hexdigest()


@pytest.mark.parametrize("content, words", [
    ('{"version": 1, "gen": [{"key": "a{{i}}"}], "refs": {}}', "the set generates references"),
    ('{"version": 1, "templates": {"f": "{{c}}.nc"}, "refs": {}}', 'the template "f" has arguments'),
    ('{"version": 2}', "version 2; expected 0 or 1"),
    ('{"version": 1, "refs": {"a": ["x", 1]}}', "a: expected [ADDRESS]"),
    ("{", "not JSON at byte"),
])
def test_what_cannot_be_read_is_refused_with_a_reason(tmp_path, content, words):
    (tmp_path / "x.json").write_text(content)
    (tmp_path / "mnt").mkdir()
    run = subprocess.run([ZARRFS, tmp_path / "x.json", tmp_path / "mnt"], capture_output=True, text=True)
    assert run.returncode == 32 and words in run.stderr, run


def test_a_set_in_parquet_names_the_command_that_converts_it(tmp_path):
    (tmp_path / "x.parq/t").mkdir(parents=True)
    (tmp_path / "x.parq/t/refs.0.parq").touch()
    (tmp_path / "x.parq/.zmetadata").write_text('{"metadata":{".zgroup":{"zarr_format":2}},"record_size":10}')
    (tmp_path / "mnt").mkdir()
    run = subprocess.run([ZARRFS, tmp_path / "x.parq", tmp_path / "mnt"], capture_output=True, text=True)
    assert run.returncode == 32 and "a kerchunk set in Parquet; convert it first: python3 -c" in run.stderr, run
