"""Writes two NetCDF4 files, one of NetCDF 3, and kerchunk reference sets over them; EXPECTED.json has what fsspec and zarr-python read.

    python tests/data/kerchunk/make.py FOLDER

It ran with kerchunk 0.2.10, VirtualiZarr 2.5.1, netCDF4, fsspec 2026.9.0 and zarr-python 3.1.6. Locations begin with a folder that no machine
has, PLACE; a test puts its own in its place.
"""

import hashlib
import json
import pathlib
import shutil
import sys

import fsspec
import fsspec.implementations.reference
import netCDF4
import numpy as np
import virtualizarr
import xarray
import zarr
from kerchunk.combine import MultiZarrToZarr
from kerchunk.hdf import SingleHdf5ToZarr
from kerchunk.netCDF3 import NetCDF3ToZarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore

PLACE = "/place/of/the/data"


def write(path, year, format="NETCDF4"):
    with netCDF4.Dataset(path, "w", format=format) as file:
        for name, size in (("time", 4), ("lat", 6), ("lon", 8)):
            file.createDimension(name, size)
        time = file.createVariable("time", "f8", ("time",))
        time.units = "days since 2020-01-01"
        time[:] = np.arange(4) + 366 * (year - 2020)
        for name, size in (("lat", 6), ("lon", 8)):
            file.createVariable(name, "f4", (name,))[:] = np.arange(size) * 1.5
        packed = {} if format != "NETCDF4" else {"zlib": True, "shuffle": True, "chunksizes": (2, 3, 8)}
        t = file.createVariable("t", "f4", ("time", "lat", "lon"), fill_value=-9999, **packed)
        t.long_name = "temperature of the air"
        t[:] = np.random.default_rng(year).normal(280, 5, (4, 6, 8)).round(2)
        plain = {} if format != "NETCDF4" else {"chunksizes": (1, 6, 8)}
        file.createVariable("ice", "i2", ("time", "lat", "lon"), **plain)[:] = np.arange(192).reshape(4, 6, 8) - year


def digests(references):
    fs = fsspec.implementations.reference.ReferenceFileSystem(
        references, remote_protocol="file", simple_templates=True, asynchronous=True)
    group = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True, path=""), mode="r", zarr_format=2)
    values = {name: np.ascontiguousarray(array[...]) for name, array in sorted(group.arrays())}
    return {name: hashlib.sha256(some.astype(some.dtype.newbyteorder("<")).tobytes()).hexdigest() for name, some in values.items()}


def main(folder):
    work = folder.absolute()
    for year in (2020, 2021):
        write(work / f"{year}.nc", year)
    write(work / "classic.nc", 2020, "NETCDF3_CLASSIC")
    singles = {year: SingleHdf5ToZarr(str(work / f"{year}.nc"), inline_threshold=100).translate() for year in (2020, 2021)}
    sets = {"single": singles[2020], "classic": NetCDF3ToZarr(str(work / "classic.nc"), inline_threshold=0).translate()}
    sets["multi"] = MultiZarrToZarr(list(singles.values()), concat_dims=["time"], identical_dims=["lat", "lon"], inline_threshold=0,
                                    remote_protocol="file").translate()
    sets["version0"] = sets["single"]["refs"]
    sets["templates"] = {
        "version": 1, "templates": {"u": str(work), "y": "2020"},
        "refs": {key: [value[0].replace(f"{work}/2020", "{{u}}/{{y}}"), *value[1:]] if isinstance(value, list) else value
                 for key, value in sets["single"]["refs"].items()}}
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = virtualizarr.parsers.HDFParser()
    parts = [virtualizarr.open_virtual_dataset(f"file://{work}/{year}.nc", registry=registry, parser=parser, loadable_variables=["time", "lat", "lon"])
             for year in (2020, 2021)]
    xarray.concat(parts, dim="time", coords="minimal", compat="override", join="override").vz.to_kerchunk(str(work / "virtualizarr.json"), format="json")
    sets["virtualizarr"] = json.loads((work / "virtualizarr.json").read_text())
    expected = {}
    for name, references in sets.items():
        expected[name] = digests(references)
        text = json.dumps(references).replace(str(work), PLACE)
        (folder / f"{name}.json").write_text(text + "\n")
    (folder / "EXPECTED.json").write_text(json.dumps(expected, indent=1) + "\n")
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
