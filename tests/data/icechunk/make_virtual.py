"""Writes the Icechunk repository `virtual`, whose chunks are in the NetCDF4 file virtual.nc next to it.

    python tests/data/icechunk/make_virtual.py FOLDER

It was written by icechunk 1.1.21 with zarr-python 3.1.6 and h5py 3.16. Locations begin with a folder that no machine has, PLACE, so that a
test puts one of the same length in its place. The checksum of `dated` is the first second of 2024.
"""

import datetime
import pathlib
import shutil
import sys

import h5py
import icechunk
import numpy as np
import zarr
from zarr.codecs.numcodecs import Shuffle, Zlib

PLACE = "/" + "v" * 159
SHAPE, CHUNKS = (4, 6), (2, 3)


def values():
    return (np.arange(24, dtype="<f4").reshape(SHAPE) * 1.5 - 7).astype("<f4")


def main(folder):
    shutil.rmtree(folder / "virtual", ignore_errors=True)
    with h5py.File(folder / "virtual.nc", "w", libver="latest") as file:
        file.create_dataset("plain", data=values(), chunks=CHUNKS)
        file.create_dataset("packed", data=values(), chunks=CHUNKS, shuffle=True, compression="gzip")
    chunks = {}
    with h5py.File(folder / "virtual.nc") as file:
        for name, dataset in file.items():
            for number in range(dataset.id.get_num_chunks()):
                chunk = dataset.id.get_chunk_info(number)
                at = "/".join(str(offset // length) for offset, length in zip(chunk.chunk_offset, CHUNKS, strict=True))
                chunks.setdefault(name, {})[at] = chunk.byte_offset, chunk.size
    config = icechunk.RepositoryConfig.default()
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(folder / "virtual")), config=config)
    session = repository.writable_session("main")
    root = zarr.create_group(session.store)

    def array(name, references, **checksum):
        packed = [Shuffle(elementsize=4), Zlib(level=4)] if name == "packed" else None
        root.create_array(name, shape=SHAPE, chunks=CHUNKS, dtype="<f4", fill_value=0, compressors=packed, dimension_names=("y", "x"))
        for at, (location, offset, length) in references.items():
            session.store.set_virtual_ref(f"{name}/c/{at}", location, offset=offset, length=length, validate_container=False, **checksum)

    def in_file(name, file="ocean.nc"):
        return {at: (f"file://{PLACE}/{file}", *place) for at, place in chunks[name].items()}

    array("plain", in_file("plain"))
    array("packed", in_file("packed"))
    array("dated", in_file("plain"), checksum=datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC))
    array("tagged", in_file("plain"), checksum="another-file")
    array("linked", in_file("plain", "link.nc"))
    array("gone", in_file("plain", "gone.nc"))
    array("beyond", {"0/0": (f"file://{PLACE}/ocean.nc", 1 << 20, 24)})
    array("outside", {"0/0": ("file:///etc/passwd", 0, 24), "0/1": ("s3://noaa-goes16/a/x.nc", 0, 24),
                      "1/0": (f"file://{PLACE}-x/ocean.nc", 0, 24)})
    session.commit("references")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
