"""Writes sample.zarr, the small sharded store that tools/demo mounts.

    build/python/zarr3/bin/python tests/data/make_sample.py [TARGET]

The values are formulas (ARRAYS), so that a reader can be checked without the writer: importing this file needs numpy only.
"""

import pathlib
import shutil
import sys

import numpy as np


def temperature():
    """Hundredths of a kelvin, by day, latitude and longitude."""
    day, y, x = np.ogrid[:6, :40, :50]
    return (27315 + 40 * day + 25 * y - 11 * x).astype("uint16")


def depth():
    """Metres; land, which is most of it, was never written: its chunks do not exist and read as NaN."""
    y, x = np.mgrid[:70, :90].astype("float32")
    return np.where((y < 20) & (x < 60), -0.5 * x - 0.25 * y, np.float32("nan")).astype("float32")


def salinity():
    """Packed: thousandths above 35; 1000 readings of each of 4 floats."""
    drifter, reading = np.ogrid[:4, :1000]
    return ((reading * 7 + drifter * 101) % 2000 - 1000).astype("int16")


def mask():
    """1 where the sum of the indices is even; not sharded."""
    return (np.add.outer(np.arange(12), np.arange(17)) % 2 == 0).astype("uint8")


ARRAYS = {"temperature": temperature, "depth": depth, "drifters/salinity": salinity, "mask": mask}


def write(target):
    import zarr
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    root = zarr.create_group(target, zarr_format=3, attributes={"title": "A small ocean", "institution": "zarrfs sample"})
    root.create_group("drifters", attributes={"count": 4})
    layouts = {
        "temperature": dict(
            shards=(3, 20, 30), chunks=(1, 10, 15), compressors=ZstdCodec(level=3), fill_value=0,
            dimension_names=("time", "lat", "lon"), attributes={"units": "K", "scale_factor": 0.01}),
        "depth": dict(
            shards=(40, 60), chunks=(20, 20), compressors=GzipCodec(level=6), fill_value=float("nan"),
            dimension_names=("lat", "lon"), attributes={"units": "m", "positive": "up"}),
        "drifters/salinity": dict(
            shards=(2, 500), chunks=(1, 125), compressors=BloscCodec(cname="lz4", shuffle="bitshuffle"), fill_value=-1000,
            dimension_names=("drifter", "reading"), attributes={"units": "1e-3", "add_offset": 35.0}),
        "mask": dict(chunks=(5, 8), compressors=None, fill_value=0, dimension_names=("row", "column")),
    }
    for name, layout in layouts.items():
        values = ARRAYS[name]()
        array = root.create_array(name, shape=values.shape, dtype=values.dtype, **layout)
        if name == "depth":
            array[:20, :60] = values[:20, :60]
        else:
            array[...] = values


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("sample.zarr"))
    shutil.rmtree(place, ignore_errors=True)
    write(str(place))
