"""`zarrctl pack`: what readers of v3 with shards read of the result is what the source holds, and old readers see its chunks again."""

import filecmp
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess

import numcodecs
import numpy as np
import pytest
import zarr
from digest import describe
from mounts import READERS, ROOT, ZARRCTL, mounted, read, run_reader, zarrctl
from zarrctl_runs import refused

OME_PYTHON = str(ROOT / "build/python/ome/bin/python")
ZARRS = [READERS["zarr-python-3"][1][0], "read_zarr_python.py", "zarrs.ZarrsCodecPipeline"]


def create(group, name, values, chunks, **more):
    array = group.create_array(name, shape=values.shape, chunks=chunks, dtype=values.dtype, **more)
    array[...] = values
    return array


def write(folder, version):
    rng = np.random.default_rng(3)
    group = zarr.create_group(str(folder), zarr_format=version, attributes={"title": "Old"})
    dims = {"dimension_names": ["t", "y", "x"]} if version == 3 else {"attributes": {"_ARRAY_DIMENSIONS": ["t", "y", "x"]}}
    if version == 2:
        codecs = {name: {"compressors": codec} for name, codec in {
            "blosc": numcodecs.Blosc("lz4"), "zstd": numcodecs.Zstd(1), "gzip": numcodecs.GZip(1), "none": None}.items()}
    else:
        codecs = {"blosc": {"compressors": zarr.codecs.BloscCodec()}, "zstd": {}, "gzip": {"compressors": zarr.codecs.GzipCodec()},
                  "none": {"compressors": None}}
    t = rng.integers(-99, 99, (7, 21, 30)).astype("i2")
    t[2:4] = 0  # not stored
    for name, codec in codecs.items():
        create(group, name, t, (1, 5, 10), fill_value=0, **dims, **codec)
    below = group.create_group("deep/er", attributes={"n": 1})
    create(below, "swapped", np.arange(60, dtype=">f8").reshape(6, 10), (2, 3))
    create(below, "one", np.arange(5.0), (5,))
    create(below, "scalar", np.array(3), ())
    if version == 2:
        create(below, "fortran", np.arange(60).reshape(6, 10), (4, 3), order="F")
    zarr.consolidate_metadata(str(folder))
    return folder


@pytest.fixture(scope="module", params=[2, 3])
def source(request, tmp_path_factory):
    return write(tmp_path_factory.mktemp("pack") / f"old{request.param}.zarr", request.param)


def arrays_of(store):
    group = zarr.open_group(str(store), mode="r")
    return {name: array for name, array in group.members(max_depth=None) if isinstance(array, zarr.Array)}


def values_of(store):
    return {name: describe(np.asarray(array[...], array.dtype)) for name, array in arrays_of(store).items()}


def files_of(folder):
    return sorted(str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file())


def pack(*arguments):
    result = zarrctl("pack", *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def identical(one, other):
    return all(
        filecmp.cmp(pathlib.Path(one, name), pathlib.Path(other, name), shallow=False) for name in files_of(one)
    ) and files_of(one) == files_of(other)


def read_by_all(store):
    """{array: what each reader of v3 that knows shards sees}: one and the same."""
    paths = [store / name for name, array in arrays_of(store).items() if array.dtype.kind not in "OT"]
    seen = [read("zarr-python-3", paths), read("tensorstore-v3", paths), run_reader(ZARRS, paths)]
    keys = ("shape", "dtype", "sha256")
    found = {
        str(path.relative_to(store)): [{key: one[i].get(key, one[i].get("error")) for key in keys} for one in seen]
        for i, path in enumerate(paths)}
    assert all(one == each[0] for each in found.values() for one in each), found
    return {name: each[0] for name, each in found.items()}


@pytest.mark.parametrize("options", [[], ["--shards", "2,3,2"], ["--shard-size", "2k"]], ids=str)
def test_readers_of_v3_read_what_the_source_holds(source, tmp_path, options):
    pack("--verify", *options, source, new := tmp_path / "new.zarr")
    assert read_by_all(new) == values_of(source)
    assert zarr.open_group(str(new), use_consolidated=True).attrs["title"] == "Old"
    assert not (new / ".zarrctl-pack").exists()
    assert zarrctl("verify", new).returncode == 0
    t = arrays_of(new)["zstd"]
    assert t.shards == {(): (7, 25, 30), ("--shards", "2,3,2"): (2, 15, 20)}.get(tuple(options), t.shards)
    assert t.metadata.dimension_names == ("t", "y", "x")


def test_old_readers_find_the_chunk_files_of_the_source_in_the_mount(tmp_path):
    source = write(tmp_path / "old.zarr", 2)
    pack(source, new := tmp_path / "new.zarr")
    with mounted(new, "fill=keep") as mount:
        for name in arrays_of(source):
            chunks = {file for file in files_of(source / name) if not file.startswith(".z")}
            assert chunks == {file for file in files_of(mount / "v2" / name) if not file.startswith(".z")}
            same, _, _ = filecmp.cmpfiles(source / name, mount / "v2" / name, chunks, shallow=False)
            assert set(same) == chunks, name
        names = list(arrays_of(source))
        seen = read("zarr-python-2", [mount / "v2" / name for name in names])
        assert [one["sha256"] for one in seen] == [values_of(source)[name]["sha256"] for name in names]


def test_codecs_that_few_readers_know_are_replaced_or_kept(tmp_path):
    source = tmp_path / "old.zarr"
    group = zarr.create_group(str(source), zarr_format=2)
    values = np.arange(240, dtype="i4").reshape(12, 20)
    create(group, "zlib", values, (3, 5), compressors=numcodecs.Zlib(1))
    create(group, "delta", values, (3, 5), filters=[numcodecs.Delta("<i4")], compressors=numcodecs.LZ4())
    create(group, "bytes", values.astype("u1"), (3, 5), compressors=numcodecs.BZ2())
    words = group.create_array("words", shape=(6,), chunks=(2,), dtype=str, compressors=numcodecs.Zlib(1))
    words[:] = np.array(["one", "two", "é", "", "five", "six"], dtype=object)
    assert "re-encoded: bytes(little), blosc(zstd" in pack("--dry-run", source, new := tmp_path / "new.zarr")
    assert not new.exists()
    pack("--verify", source, new)
    assert read_by_all(new) == {name: one for name, one in values_of(source).items() if name != "words"}
    assert list(zarr.open_array(str(new / "words"))[:]) == list(words[:])
    assert "numcodecs" not in "".join(path.read_text() for path in new.rglob("zarr.json"))
    pack("--verify", "--keep-codecs", source, kept := tmp_path / "kept.zarr")
    assert "numcodecs.zlib" in (kept / "zlib/zarr.json").read_text()
    with mounted(kept) as mount:
        assert filecmp.cmp(source / "zlib/0.0", mount / "v2/zlib/0.0", shallow=False)


def test_arrays_with_shards_are_copied(tmp_path):
    group = zarr.create_group(str(source := tmp_path / "old.zarr"))
    create(group, "a", np.arange(64).reshape(8, 8), (2, 2), shards=(4, 4))
    pack("--verify", source, new := tmp_path / "new.zarr")
    assert identical(source / "a/c", new / "a/c")
    assert json.loads((source / "a/zarr.json").read_text()) == json.loads((new / "a/zarr.json").read_text())


def test_a_store_in_a_zip_file_is_packed(tmp_path):
    source = write(tmp_path / "old.zarr", 2)
    pack("--verify", shutil.make_archive(str(source), "zip", source), new := tmp_path / "new.zarr")
    assert values_of(new) == values_of(source)


def test_parts_are_complete_when_the_last_one_ends(source, tmp_path):
    new = tmp_path / "new.zarr"
    for part in [2, 3, 1]:
        assert not list(new.rglob("zarr.json"))
        said = pack("--shards", "1,2,2", "--part", f"{part}/3", source, new)
        assert said.endswith(", complete\n" if part == 1 else ", other parts are unfinished\n")
    pack("--shards", "1,2,2", source, whole := tmp_path / "whole.zarr")
    assert identical(whole, new)
    assert "expected i/n" in refused("pack", "--part", "4/3", source, tmp_path / "x")


def test_files_of_others_stay(source, tmp_path):
    """In the folder of a run that goes on, with names that only somebody else gives."""
    new = tmp_path / "new"
    pack("--part", "1/2", "--shards", "1,2,2", source, new)
    others = [new / ".zarrctl-pack" / name for name in ("notes.txt", "deep/data.nc", "link")]
    others[1].parent.mkdir()
    for path in others[:2]:
        path.write_text("mine")
    others[2].symlink_to(source / "zarr.json")
    pack("--part", "2/2", "--shards", "1,2,2", source, new)
    assert all(path.is_symlink() or path.read_text() == "mine" for path in others)
    assert sorted(path.name for path in (new / ".zarrctl-pack").iterdir()) == ["deep", "link", "notes.txt"]


def objects_of(store):
    return [name for name in files_of(store) if not name.startswith(".zarrctl-pack/") and not name.endswith("zarr.json")]


def test_a_run_that_was_killed_goes_on(source, tmp_path):
    options = ["--shards", "1,1,2", source]
    pack(*options, whole := tmp_path / "whole.zarr")
    new = tmp_path / "new.zarr"
    rng = random.Random(5)
    kills = 0
    while kills < 4:
        before = len(objects_of(new))
        process = subprocess.Popen([ZARRCTL, "pack", "-j", "1", *options, new], stdout=subprocess.DEVNULL)
        wanted = before + rng.randrange(1, 20)
        while process.poll() is None and len(objects_of(new)) < wanted:
            pass
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:  # it was faster
            shutil.rmtree(new)
            continue
        kills += 1
        for name in objects_of(new):  # shards are whole at any time
            assert filecmp.cmp(new / name, whole / name, shallow=False), name
        if not (new / "zarr.json").exists():
            assert "other options" in refused("pack", source, new)
    if (new / ".zarrctl-pack").exists():
        assert pack(*options, new).endswith(", complete\n")
    assert identical(whole, new)


def test_one_that_was_killed_as_it_removed_its_plan_is_not_mixed_with_another(source, tmp_path):
    pack("--shards", "1,1,2", source, new := tmp_path / "new.zarr")
    (new / ".zarrctl-pack").mkdir()
    before = files_of(new)
    assert "already complete" in refused("pack", "--shards", "1,2,2", source, new)
    assert files_of(new) == before


def test_what_cannot_be_read_or_is_no_chunk_ends_it_without_documents(tmp_path):
    source = write(tmp_path / "old.zarr", 2)
    chunk = source / "none/0.0.0"
    content = chunk.read_bytes()
    chunk.write_bytes(content[:-1])
    assert "none/0.0.0" in refused("pack", source, new := tmp_path / "new.zarr")
    assert not list(new.rglob("zarr.json"))
    chunk.write_bytes(content)
    (bad := source / "gzip/0.0.0").write_bytes(b"no gzip at all")
    assert "gzip/0.0.0" in refused("pack", "--verify", source, new)
    assert not list(new.rglob("zarr.json"))
    bad.unlink()
    bad.symlink_to("nowhere")
    shutil.rmtree(new / "gzip")
    assert "gzip/0.0.0" in refused("pack", source, new, code=2)
    assert not list(new.rglob("zarr.json"))


def test_verify_finds_what_is_not_the_source(source, tmp_path):
    new = tmp_path / "new.zarr"
    pack("--part", "1/2", "--shards", "1,2,2", source, new)
    pack("--shards", "1,2,2", source, whole := tmp_path / "whole.zarr")
    shard = next(path for path in (new / "none").rglob("*") if path.is_file())
    content = bytearray(shard.read_bytes())
    content[3] ^= 1
    shard.write_bytes(content)
    assert "other bytes" in refused("pack", "--verify", "--part", "1/2", "--shards", "1,2,2", source, new)
    assert whole.exists()


def test_it_says_what_it_would_do_and_what_it_will_not(source, tmp_path):
    said = pack("--dry-run", source, new := tmp_path / "new.zarr")
    before = len([name for name in files_of(source) if not name.endswith(".zmetadata")])
    last = said.splitlines()[-1]
    assert int(last.split()[0].replace(",", "")) >= before - 8
    assert not new.exists()
    new.mkdir()
    (new / "mine").touch()
    assert "not empty" in refused("pack", source, new)
    assert "overlap" in refused("pack", source, source / "new")
    assert os.listdir(new) == ["mine"]


@pytest.mark.further_reader
def test_dask_packs_in_parts(source, tmp_path):
    """The recipe of docs/WITHOUT_MOUNT.md."""
    text = (ROOT / "docs/WITHOUT_MOUNT.md").read_text()
    recipe = text[text.index("    import subprocess"):].partition("\n\n##")[0]
    program = "\n".join(line[4:] for line in recipe.splitlines() if line.startswith("    ") or not line)
    new = tmp_path / "new.zarr"
    program = program.replace("/data/old.zarr", str(source)).replace("/data/new.zarr", str(new))
    (script := tmp_path / "recipe.py").write_text(program)
    environment = {**os.environ, "PATH": f"{pathlib.Path(ZARRCTL).parent}:{os.environ['PATH']}"}
    subprocess.run([OME_PYTHON, script], check=True, env=environment, cwd=tmp_path, timeout=300)
    assert values_of(new) == values_of(source)
    assert json.loads((new / "zarr.json").read_text())["node_type"] == "group"


def test_everything_that_cannot_be_packed_is_named_at_once_and_can_be_left_out(tmp_path):
    source, new = tmp_path / "old.zarr", tmp_path / "new.zarr"
    group = zarr.create_group(str(source), zarr_format=2)
    values = np.arange(20, dtype="i4").reshape(4, 5)
    for name in "ocean/good", "land/good":
        create(group, name, values, (1, 5))
    metadata = json.loads((source / "ocean/good/.zarray").read_text())
    for name, document in ("ocean/bad", json.dumps({**metadata, "compressor": {"id": "nobody"}})), ("broken", "{"):
        (source / name).mkdir()
        (source / name / ".zarray").write_text(document)
    for options, code in (["--dry-run"], 1), ([], 1), (["--dry-run", "--skip"], 3), (["--dry-run", "--only", "land"], 0):
        result = zarrctl("pack", *options, source, new)
        assert result.returncode == code, result.stderr
        said = result.stderr
        assert all(name in said for name in ("ocean/bad", "broken")) == (code != 0)
        assert not any(new.rglob("zarr.json"))
    assert zarrctl("pack", "--skip", source, new).returncode == 3
    assert sorted(arrays_of(new)) == ["land/good", "ocean/good"]
    for pattern, names in ("ocean/g*", ["ocean/good"]), ("land", ["land/good"]), ("*/good", ["land/good", "ocean/good"]):
        part = tmp_path / f"part-{pattern.replace('/', '-').replace('*', '')}.zarr"
        pack("--only", pattern, source, part)
        assert sorted(arrays_of(part)) == names
        assert zarr.open_array(str(part / names[0]))[:].tolist() == values.tolist()
    assert "matches --only" in refused("pack", "--only", "nothing", source, tmp_path / "none.zarr")
