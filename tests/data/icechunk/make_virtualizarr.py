"""Writes the Icechunk repository `virtualizarr`, whose chunks are in two NetCDF4 files of tests/data/kerchunk.

    python tests/data/icechunk/make_virtualizarr.py FOLDER

It was written by icechunk 2.3.0 with VirtualiZarr 2.8.0 and zarr-python 3.4.2. Locations begin with PLACE, so that a test puts a folder with a
path of the same length in its place.
"""

import pathlib
import shutil
import sys

import icechunk
import virtualizarr
import xarray
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

PLACE = pathlib.Path("/tmp/" + "v" * 155)
DATA = pathlib.Path(__file__).parents[1] / "kerchunk"


def main(folder):
    shutil.rmtree(folder / "virtualizarr", ignore_errors=True)
    PLACE.mkdir()
    try:
        registry, parser, parts = ObjectStoreRegistry({"file://": LocalStore()}), virtualizarr.parsers.HDFParser(), []
        for name in ("2020.nc", "2021.nc"):
            shutil.copy(DATA / name, PLACE)
            parts.append(virtualizarr.open_virtual_dataset(
                f"file://{PLACE}/{name}", registry=registry, parser=parser, loadable_variables=["time", "lat", "lon"]))
        dataset = xarray.concat(parts, dim="time", coords="minimal", compat="override", join="override")
        prefix = f"file://{PLACE}/"
        config = icechunk.RepositoryConfig.default()
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(prefix, icechunk.local_filesystem_store(str(PLACE))))
        repository = icechunk.Repository.create(
            icechunk.local_filesystem_storage(str(folder / "virtualizarr")), config,
            authorize_virtual_chunk_access=icechunk.containers_credentials({prefix: None}))
        session = repository.writable_session("main")
        dataset.vz.to_icechunk(session.store, last_updated_at=None)
        session.commit("virtual")
    finally:
        shutil.rmtree(PLACE)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
