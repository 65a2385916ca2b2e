"""A store of Zarr v2 in the view v2, and an unsharded one of v3 in the view v3, is the store: byte for byte, and to its readers."""

import json
import pathlib
import subprocess
import time

import numpy as np
import pytest
import zarr
from mounts import DEBIAN_ZARR, SYSTEM_PYTHON, ZARR2_PYTHON, mounted, read, zarrctl

WRITERS_FOLDER = pathlib.Path(__file__).with_name("writers")
PYTHONS = {"zarr-python-2": ZARR2_PYTHON, **({"debian-zarr-python-2": SYSTEM_PYTHON} if DEBIAN_ZARR == "2" else {})}
OPTIONS = [None, "fill=materialize", "fill=keep", "consolidated_max=0"]


def files(folder):
    """path below the folder -> bytes; None for what is not made of bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def split_consolidated(folder):
    """(files but for .zmetadata, path -> .zmetadata parsed)"""
    found = files(folder)
    consolidated = {path: json.loads(found.pop(path)) for path in list(found) if path.endswith(".zmetadata")}
    return found, consolidated


def differences(wanted, found):
    return {path for path in wanted.keys() | found.keys() if wanted.get(path) != found.get(path)}


@pytest.fixture(scope="module", params=[f"{script}-{writer}" for script in ["write_v2", "write_v2_odd"] for writer in PYTHONS])
def v2_store(request, tmp_path_factory):
    """(store, the names of its arrays)"""
    script, writer = request.param.split("-", 1)
    store = tmp_path_factory.mktemp("v2") / request.param
    result = subprocess.run(
        [PYTHONS[writer], "-W", "ignore", str(WRITERS_FOLDER / f"{script}.py"), str(store)], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    return store, json.loads(result.stdout)


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def point(request, v2_store):
    with mounted(v2_store[0], request.param) as point:
        yield point


def test_every_file_of_a_v2_store_is_the_stored_one(v2_store, point):
    wanted, source_consolidated = split_consolidated(v2_store[0])
    found, consolidated = split_consolidated(point / "v2")
    assert not differences(wanted, found)
    assert consolidated.keys() == source_consolidated.keys()


def test_consolidated_metadata_repeat_the_documents_of_now(v2_store, point):
    _, consolidated = split_consolidated(point / "v2")
    for path, document in consolidated.items():
        folder = (point / "v2" / path).parent
        served = {
            str(file.relative_to(folder)): json.loads(file.read_text())
            for file in folder.rglob(".z*") if file.name != ".zmetadata"}
        assert document == {"zarr_consolidated_format": 1, "metadata": served}, path


def of_source(entries):
    """Errors as their kind: their words name paths."""
    return [{"error": entry["error"].split(":")[0]} if "error" in entry else entry for entry in entries]


@pytest.mark.parametrize("reader", PYTHONS)
def test_zarr_python_2_reads_the_same_as_from_the_store(v2_store, point, reader):
    store, names = v2_store
    wanted = of_source(read(reader, [store / name for name in names]))
    found = of_source(read(reader, [point / "v2" / name for name in names]))
    assert {name: (w, f) for name, w, f in zip(names, wanted, found) if w != f} == {}


def chunks_of(array):
    return {path.replace("/", "."): content for path, content in files(array).items() if not path.startswith(".")}


@pytest.mark.parametrize("separator", ["/", "."])
def test_a_forced_separator_changes_names_and_that_member_alone(v2_store, separator):
    store, names = v2_store
    with mounted(store, f"separator={separator}") as point:
        for name in names:
            stored, served = ((folder / name / ".zarray").read_text() for folder in [store, point / "v2"])
            wanted = json.loads(stored)
            if wanted["shape"] and wanted.get("dimension_separator", ".") != separator:
                # (As text: NaN is not itself.)
                assert json.dumps(json.loads(served)) == json.dumps({**wanted, "dimension_separator": separator}), name
            else:
                assert served == stored, name
            assert chunks_of(point / "v2" / name) == chunks_of(store / name), name
        wanted = of_source(read("zarr-python-2", [store / name for name in names]))
        found = of_source(read("zarr-python-2", [point / "v2" / name for name in names]))
        assert {name: (w, f) for name, w, f in zip(names, wanted, found) if w != f} == {}


CONSOLIDATED_READER = """
import json, sys, numpy, zarr
group = zarr.open_consolidated(sys.argv[1])
found = {}
group.visititems(lambda name, item: found.__setitem__(name, [dict(item.attrs), item[...].tolist() if hasattr(item, "shape") else None]))
print(json.dumps(found))
"""


@pytest.mark.parametrize("python", PYTHONS.values())
def test_consolidated_groups_open_and_stale_entries_are_gone(tmp_path, python):
    store = tmp_path / "store"
    subprocess.run([python, "-W", "ignore", str(WRITERS_FOLDER / "write_v2_odd.py"), str(store)], check=True, capture_output=True)

    def opened(folder):
        result = subprocess.run([python, "-W", "ignore", "-c", CONSOLIDATED_READER, str(folder)], capture_output=True, text=True)
        return json.loads(result.stdout) if result.returncode == 0 else result.stderr.splitlines()[-1].split(":")[0]

    with mounted(store, "consolidated_max=0") as point:
        assert set(opened(point / "v2/consolidated")) == {"a", "new", "g", "g/b"}
        assert opened(point / "v2") == opened(store) == "KeyError", "the source has none there"


def wait_until(condition):
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_refused(path):
    """Whether it is there and cannot be read."""
    try:
        path.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def test_what_other_views_cannot_say_is_told_and_damage_is_found(tmp_path):
    store = tmp_path / "store"
    subprocess.run([ZARR2_PYTHON, "-W", "ignore", str(WRITERS_FOLDER / "write_v2_odd.py"), str(store)], check=True, capture_output=True)
    with mounted(store) as point:
        for name in ["object/pickle", "codec/unknown", "type/long-double"]:
            assert (point / "v2" / name / ".zarray").exists() and not (point / "v3" / name).exists(), name
        with pytest.raises(OSError):
            (point / "v3/damage/short/1").read_bytes()
        assert (point / "v2/damage/short/1").read_bytes() == b"abc"
        assert "damage/short/1: the chunk has 3 bytes, expected 16" in (point / ".zarrfs/errors").read_text()
        # Perhaps half written this moment: an error, not an array that is not there.
        (store / "fill/null/.zattrs").write_text('{"half')
        for document in ["v2/fill/null/.zarray", "v3/fill/null/zarr.json"]:
            assert wait_until(lambda: is_refused(point / document)), document
        (store / "fill/null/.zattrs").unlink()
        assert wait_until(lambda: not is_refused(point / "v2/fill/null/.zarray"))
    verified = zarrctl("verify", store)
    assert verified.returncode == 1
    for name in ["damage/short/1", "damage/empty/1", "damage/fill/.zarray: fill_value"]:
        assert name in verified.stdout + verified.stderr
    assert zarrctl("verify", store / "codec").returncode != 1, "unknown is not damaged"


# --- Zarr v3


@pytest.fixture(scope="module")
def v3_store(tmp_path_factory):
    """(store, the names of its arrays)"""
    store = tmp_path_factory.mktemp("v3") / "store"
    root = zarr.create_group(store, attributes={"title": "né"})
    root.create_group("group", attributes={"n": 1})
    names = []

    def add(name, dtype, compressors=None, fill_value=0, **options):
        array = root.create_array(
            name, shape=(7, 5), chunks=(3, 2), dtype=dtype, compressors=compressors, fill_value=fill_value, **options)
        array[:6, :4] = np.arange(24).reshape(6, 4).astype(array.dtype)
        names.append(name)

    for dtype in ["bool", "int8", "uint8", "<i2", ">i4", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16"]:
        add(f"type-{np.dtype(dtype).name}", dtype)
    for name, fill in {"nan": np.nan, "inf": np.inf, "negative": -0.5, "long": 0.1}.items():
        add(f"fill-{name}", "<f4", fill_value=fill)
    for name, codec in {
        "gzip": zarr.codecs.GzipCodec(), "zstd": zarr.codecs.ZstdCodec(), "blosc": zarr.codecs.BloscCodec(), "crc32c": zarr.codecs.Crc32cCodec(),
    }.items():
        add(f"codec-{name}", "<i4", [codec])
    add("transposed", "<i4", filters=[zarr.codecs.TransposeCodec(order=(1, 0))])
    for kind, separator in [("default", "."), ("v2", "."), ("v2", "/")]:
        add(f"key-{kind}-{'point' if separator == '.' else 'slash'}", "<i4", chunk_key_encoding={"name": kind, "separator": separator})
    add("named", "<i4", dimension_names=["y", None], attributes={"units": "m", "text": "né"})
    root.create_array("scalar", shape=(), dtype="<f8")[...] = 2.5
    return store, [*names, "scalar"]


def test_every_file_of_an_unsharded_v3_store_is_the_stored_one(v3_store):
    store, names = v3_store
    for options in [None, "fill=materialize", "separator=."]:
        with mounted(store, options) as point:
            wanted, found = files(store), files(point / "v3")
            if options == "separator=.":  # but for names, and the member that says so
                wanted, found = ({path.replace("/", "."): content for path, content in side.items() if not path.endswith("zarr.json")} for side in (wanted, found))
            assert not differences(wanted, found)
            for reader in ["zarr-python-3", "tensorstore-v3"]:
                assert read(reader, [point / "v3" / name for name in names]) == read(reader, [store / name for name in names])


def test_consolidated_metadata_of_v3_are_made_again_and_the_rest_passed_through(v3_store, tmp_path):
    store = tmp_path / "store"
    subprocess.run(["cp", "-r", str(v3_store[0]), str(store)], check=True)
    zarr.consolidate_metadata(store)
    zarr.open_group(store / "group", mode="r+").attrs["n"] = 2
    with mounted(store) as point:
        assert differences(files(store), files(point / "v3")) == {"zarr.json"}
        document = json.loads((point / "v3/zarr.json").read_text())
        assert document["consolidated_metadata"]["metadata"]["group"]["attributes"] == {"n": 2}, "the stored one is stale"
        assert document["consolidated_metadata"]["metadata"]["named"] == json.loads((store / "named/zarr.json").read_text())
