"""`zarrctl where` and `zarrctl cat` of a path below a mount speak of that file: compared with what stat and read give."""


import numpy as np
import pytest
import zarr
from mounts import mounted, zarrctl
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec
from zarrctl_runs import document, raw

DATA = np.arange(64, dtype="float32").reshape(8, 8)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Arrays of 4 x 4 chunks in shards; all but the last row of chunks is stored."""
    folder = tmp_path_factory.mktemp("paths") / "store"
    group = zarr.open_group(folder, mode="w")

    def create(name, data=DATA, **settings):
        array = group.create_array(name, shape=data.shape, dtype=data.dtype, chunks=(2, 2), shards=(4, 4), dimension_names=("y", "x"), **settings)
        array[:6] = data[:6]

    create("exact", compressors=[GzipCodec()])
    create("cut", compressors=[GzipCodec(), Crc32cCodec()])
    create("zstd", compressors=[ZstdCodec()])
    create("bfloat", DATA.astype("complex64"), compressors=[BloscCodec()])
    create("filled", compressors=[GzipCodec()], fill_value=3, attributes={"_FillValue": -1.0})
    create("text", DATA.astype("U4"), compressors=[ZstdCodec()])
    return folder


def where(path):
    return document("where", path)


def chunk_files(folder):
    """Of each array two chunks of different shards that are stored, and, where they show, two that are not."""
    for array in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = sorted(path for path in array.rglob("*") if path.is_file() and not path.name.startswith((".z", "zarr.json")))
        yield from {files[0], files[7], files[-2], files[-1]}


@pytest.mark.parametrize("options", [None, "fill=materialize", "separator=/", "fill=keep"])
def test_every_chunk_file_of_every_view_is_told_as_it_is(store, options):
    servings = set()
    with mounted(store, options) as point:
        for view in ["v2", "v3", "gdal", "netcdf"]:
            files = list(chunk_files(point / view))
            assert len(files) >= 16
            for file in files:
                told = where(file)
                assert (told["view"]["name"], told["view"]["exists"], told["view"]["size"]) == (view, True, file.stat().st_size)
                assert (told["view"]["serving"] == "fill") == (not told["present"])
                if told["view"]["serving"] in ("exact", "cut"):
                    assert told["length"] == told["view"]["size"]
                assert raw("cat", file) == file.read_bytes()
                servings.add(told["view"]["serving"])
                # (Of an array whose _FillValue is another value, chunks are made all the same.)
                made_with_keep = options == "fill=keep" and told["view"]["serving"] == "fill"
                assert not made_with_keep or file.is_relative_to(point / view / "filled")
    assert servings >= {"exact", "cut", "transcoded", "fill"}


def test_a_made_up_chunk_is_told_to_be_made_of_the_fill_value(store):
    with mounted(store) as point:
        file = point / "v2/filled/3.3"
        assert file.read_bytes()
        result = zarrctl("where", file)
        assert result.returncode == 0
        assert f"v2      {file.stat().st_size} bytes, made of the fill value: not stored (it would be in {store}/filled/c/1/1)" in result.stdout
        assert raw("cat", "--decode", file) == np.full(4, 3, "<f4").tobytes()
    with mounted(store, "fill=keep") as point:  # no such file
        for command in ["where", "cat"]:
            result = zarrctl(command, point / "v2/exact/3.3")
            assert result.returncode == 1 and "is not stored" in result.stderr


def test_a_decoded_chunk_is_told_with_its_decoded_size(store):
    with mounted(store) as point:
        file = point / "netcdf/cut/0.0"
        assert "\nv2      " in zarrctl("where", point / "v2/cut/0.0").stdout
        words = zarrctl("where", file).stdout
        assert "\nnetcdf  16 bytes, the stored chunk, decoded\n" in words and "\noffset  " in words


def test_a_mount_of_one_view_is_that_view(store):
    with mounted(store, "view=v2,fill=materialize") as point:
        assert where(point / "exact/0.0")["view"]["name"] == "v2"
        assert where(point / "exact/3.3")["view"]["serving"] == "fill"


def test_another_spelling_than_the_file_s_is_told(store):
    with mounted(store) as point:
        told = zarrctl("where", point / "v2/exact/0/1").stdout
        assert "no file of this name; the chunk is called 0.1" in told
        result = zarrctl("cat", point / "v2/exact/0/1")
        assert (result.returncode, result.stdout) == (1, "") and "the chunk is called 0.1" in result.stderr
