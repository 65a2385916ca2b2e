"""Writes rectilinear.zarr: arrays whose shards differ in shape ("rectilinear" chunk grids), and next to it rectilinear.npz with the
values that the writer reads of them.

    python tests/data/make_rectilinear.py [TARGET]

Needs zarr-python 3.4 or newer, and so Python 3.12 or newer: on Debian 13 with `pip install zarr==3.4.2` in an environment of its own.
What is there was written with zarr-python 3.4.2 and numpy 2.5.5. zarr-python spells what `shards=` says with runs:
shards=[[4, 4, 6], 9] becomes {"kind": "inline", "chunk_shapes": [[[4, 2], 6], 9]}, also where all are equal ([[4, 3]]); the chunk_shape
of "sharding_indexed" is that of the inner chunks, of which every length of a shard must be a multiple.
"""

import pathlib
import shutil
import sys

import numpy as np
import zarr
from zarr.codecs import BytesCodec, GzipCodec, ShardingCodec, ZstdCodec

HERE = pathlib.Path(__file__).parent


def main():
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    store = target / "rectilinear.zarr"
    shutil.rmtree(store, ignore_errors=True)
    zarr.config.set({"array.rectilinear_chunks": True})
    group = zarr.create_group(str(store), attributes={"title": "shards of many lengths"})
    random = np.random.default_rng(5)

    def create(name, values, **more):
        array = group.create_array(name, shape=values.shape, dtype=values.dtype, **more)
        array[...] = values
        return array

    # Months of days: what such grids are made for.
    days = np.cumsum(random.normal(size=(90, 6, 8)), axis=0).astype("f4")
    create("months", days, chunks=(1, 3, 4), shards=[[31, 28, 31], 6, 8], dimension_names=("time", "lat", "lon"),
           compressors=[ZstdCodec(level=3)], fill_value=np.nan)
    # Shards that differ, and reach beyond the array along the other axis. Some hold nothing, or not every chunk.
    both = random.integers(1, 1000, (20, 15)).astype("u2")
    both[4:10, :6] = 0
    both[14:16] = 0
    create("both", both, chunks=(2, 3), shards=[[4, 6, 4, 6], 6], compressors=[GzipCodec(level=5)])
    # Cut off in the middle of a shard, then longer again.
    grown = create("grown", random.integers(0, 99, (10, 4)).astype("i2"), chunks=(2, 2), shards=[[4, 6], [4]])
    grown.append(random.integers(0, 99, (4, 4)).astype("i2"))
    grown.resize((11, 4))
    # Shards in shards. (As `shards=` these cannot be asked for.)
    inner = ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(), GzipCodec(level=1)])
    create("nested", random.integers(0, 99, (20, 12)).astype("i4"), chunks=[[8, 12], [6, 6]], compressors=None,
           serializer=ShardingCodec(chunk_shape=(4, 6), codecs=[inner]))
    create("index_at_start", random.normal(size=14), chunks=[[2, 8, 4]], compressors=None,
           serializer=ShardingCodec(chunk_shape=(2,), codecs=[BytesCodec()], index_location="start"))
    # Grids that are regular, though they do not say so.
    create("equal", np.arange(12, dtype="u1"), chunks=[[4, 4, 4]])
    create("equal_shards", np.arange(12, dtype="u1"), chunks=(2,), shards=[[4, 4, 4]])
    # One that is not, and is not in shards.
    create("unequal", np.arange(10, dtype="u1"), chunks=[[4, 6]])
    np.savez_compressed(target / "rectilinear.npz", **{name: group[name][...] for name in group})


if __name__ == "__main__":
    main()
