"""Writes the Icechunk repositories containers-v1 and containers-v2, whose chunks are in virtual.nc (make_virtual.py), at locations that
begin with the name of a virtual chunk container.

    python tests/data/icechunk/make_containers.py FOLDER

They were written by icechunk 2.3.0 with zarr-python 3.1.6. The prefix of the container `ocean` is a folder that no machine has, PLACE.
"""

import pathlib
import shutil
import sys

import icechunk
import numpy as np
import zarr

PLACE = "/" + "v" * 159
SHAPE, CHUNKS = (4, 6), (2, 3)


def main(folder):
    content = (pathlib.Path(__file__).parent / "virtual.nc").read_bytes()
    values = (np.arange(24, dtype="<f4").reshape(SHAPE) * 1.5 - 7).astype("<f4")
    for spec in (1, 2):
        place = folder / f"containers-v{spec}"
        shutil.rmtree(place, ignore_errors=True)
        config = icechunk.RepositoryConfig.default()
        for name, prefix, store in (("ocean", f"file://{PLACE}/", icechunk.local_filesystem_store(PLACE)),
                                    ("goes", "s3://noaa-goes16/", icechunk.s3_store(region="us-west-2", anonymous=True))):
            config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, store, name=name))
        repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(place)), config=config, spec_version=spec)
        session = repository.writable_session("main")
        root = zarr.create_group(session.store)
        arrays = {"named": "vcc://ocean/ocean.nc", "outside": "vcc://goes/a/x.nc", "unknown": "vcc://nobody/x.nc",
                  "above": "vcc://ocean/../ocean.nc"}
        for array, location in arrays.items():
            root.create_array(array, shape=SHAPE, chunks=CHUNKS, dtype="<f4", fill_value=0, compressors=None)
            for y in range(2):
                for x in range(2):
                    chunk = values[2 * y:2 * y + 2, 3 * x:3 * x + 3].tobytes()
                    session.store.set_virtual_ref(f"{array}/c/{y}/{x}", location, offset=content.index(chunk), length=len(chunk),
                                                  validate_container=False)
        session.commit("references")
        # Transactions are not read.
        shutil.rmtree(place / "transactions")
        shutil.rmtree(place / "overwritten", ignore_errors=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
