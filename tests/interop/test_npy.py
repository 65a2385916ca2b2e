"""Each array as one .npy file: numpy reads it, mapped or not, as zarr-python 3 reads the store."""

import os

import numpy as np
import pytest
import zarr

from mounts import mounted

SHAPE, SHARDS, CHUNKS = (7, 10, 12), (4, 6, 12), (2, 3, 5)


def fill(array, dtype):
    rng = np.random.default_rng(1)
    values = rng.integers(0, 255, array.shape)
    array[:5] = np.asarray(values[:5] % 2 if dtype == "bool" else values[:5]).astype(dtype)  # the rest is fill values


def mapped(path):
    return np.load(path, mmap_mode="r")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("npy") / "ocean.zarr"
    root = zarr.create_group(folder)
    for dtype in ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"):
        array = root.create_array(dtype, shape=SHAPE, shards=SHARDS, chunks=(2, 3, 6), dtype=dtype, fill_value=1)
        fill(array, dtype)
    big = root.create_array("big", shape=SHAPE, chunks=CHUNKS, dtype="float64", fill_value=np.nan,
                            serializer=zarr.codecs.BytesCodec(endian="big"))
    fill(big, "float64")
    root.create_array("scalar", shape=(), dtype="float64")[...] = 2.5
    root.create_array("empty", shape=(0, 3), chunks=(1, 3), dtype="int16")
    root.create_array("time", shape=(5,), chunks=(2,), dtype="datetime64[s]")[:] = np.arange(5).astype("datetime64[s]")
    root.create_array("text", shape=(3,), chunks=(2,), dtype="<U4")[:] = ["a", "bcde", "\N{GREEK SMALL LETTER MU}"]
    root.create_array("bytes", shape=(3,), chunks=(2,), dtype="S3")[:] = [b"a", b"bcd", b""]
    group = root.create_group("deep").create_group("er")
    fill(group.create_array("x", shape=SHAPE, chunks=CHUNKS, dtype="int64"), "int64")
    group.create_array("x_", shape=(1,), chunks=(1,), dtype="int8")[:] = 5
    group.create_group("x.npy").create_array("y", shape=(2,), chunks=(1,), dtype="int8")[:] = 7
    return folder


@pytest.fixture(scope="module")
def mount(store):
    with mounted(store) as point:
        yield point / "npy"


def test_every_array_is_what_zarr_python_3_reads(store, mount):
    root = zarr.open_group(store, mode="r")
    for name, array in root.arrays():
        for load in (np.load, mapped):
            values = load(mount / f"{name}.npy")
            assert values.dtype == array.dtype.newbyteorder("<"), name
            assert np.array_equal(values, array[...], equal_nan=values.dtype.kind == "f"), name
    assert sorted(os.listdir(mount)) == sorted([f"{name}.npy" for name, _ in root.arrays()] + ["deep"])


def test_a_size_is_that_which_numpy_writes(store, mount, tmp_path):
    np.save(tmp_path / "float32.npy", zarr.open_array(store / "float32")[...])
    assert (mount / "float32.npy").read_bytes() == (tmp_path / "float32.npy").read_bytes()


def test_rows_and_columns_of_a_mapped_array(store, mount):
    values, expected = mapped(mount / "int32.npy"), zarr.open_array(store / "int32")[...]
    assert np.array_equal(values[3], expected[3])
    assert np.array_equal(values[:, 4, 5], expected[:, 4, 5])
    assert values[6, 9, 11] == expected[6, 9, 11]


def test_of_two_with_one_name_the_group_keeps_it(mount):
    folder = mount / "deep" / "er"
    assert sorted(os.listdir(folder)) == ["x.npy", "x_.npy", "x__.npy"]
    assert np.load(folder / "x_.npy").tolist() == [5]
    assert np.load(folder / "x.npy" / "y.npy").tolist() == [7, 7]
    assert np.load(folder / "x__.npy").shape == SHAPE
    for name in ("x", "x.npy.npy", "y.npy", ".npy", "x___.npy"):
        assert not (folder / name).exists()


def test_an_array_alone_is_called_after_the_store(tmp_path):
    array = zarr.create_array(tmp_path / "alone.zarr", shape=(4,), chunks=(3,), dtype="int16", fill_value=3)
    array[0] = 1
    with mounted(tmp_path / "alone.zarr", "view=npy") as point:
        assert os.listdir(point) == [".zarrfs", "alone.npy"] or os.listdir(point) == ["alone.npy"]
        assert np.load(point / "alone.npy").tolist() == [1, 3, 3, 3]


def test_a_type_without_a_fixed_size_is_not_shown_and_told(store, tmp_path):
    root = zarr.create_group(tmp_path / "s")
    root.create_array("words", shape=(2,), chunks=(2,), dtype=str)[:] = ["a", "bc"]
    root.create_array("numbers", shape=(2,), chunks=(2,), dtype="int8")
    with mounted(tmp_path / "s") as point:
        assert os.listdir(point / "npy") == ["numbers.npy"]
        assert not (point / "npy/words.npy").exists()
