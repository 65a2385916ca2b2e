"""Writes one store as the documentation of a writer begins: `write.py WRITER FOLDER`, with the writer's own Python.

What was written is kept beside this file, one zip file a writer; test_wild.py reads it. A new version is one more line in
STORES there, and one run of this.
"""

import sys

import numpy as np

RNG = np.random.default_rng(1)


def zarr_python(folder):
    import zarr
    root = zarr.open_group(folder, mode="w")
    if zarr.__version__.startswith("2"):
        root.create_dataset("foo/bar", shape=(100, 100), chunks=(25, 25), dtype="i4")[:] = np.arange(10_000).reshape(100, 100)
        root.create_dataset("baz", data=RNG.normal(size=(20, 30)), chunks=(10, 10))
        root["foo/bar"].attrs["spam"] = "eggs"
        return
    array = root.create_array("foo/bar", shape=(100, 100), chunks=(25, 25), shards=(50, 50), dtype="i4", attributes={"spam": "eggs"})
    array[:] = np.arange(10_000).reshape(100, 100)
    root.create_array("baz", data=RNG.normal(size=(20, 30)), chunks=(10, 10))


def dataset():
    import pandas as pd
    import xarray as xr
    values = 15 + 8 * RNG.normal(size=(4, 6, 5))
    return xr.Dataset(
        {"temperature": (["time", "y", "x"], values), "steps": ("time", np.arange(4, dtype="i2"))},
        coords={"time": pd.date_range("2014-09-06", periods=4), "lon": (["y", "x"], RNG.normal(size=(6, 5)))},
        attrs={"description": "Weather related data."})


def xarray(folder):
    dataset().chunk(time=1).to_zarr(folder) if "dask" in sys.modules else dataset().to_zarr(folder)


def xarray_of_arco(folder):
    """The axis begins before the data: the first chunks are not stored."""
    import xarray as xr
    coords = {"time": np.arange(8), "y": np.arange(4), "x": np.arange(4)}
    empty = np.full((8, 4, 4), np.nan, "f4")
    encoding = {"u": {"chunks": (1, 4, 4)}}
    xr.Dataset({"u": (["time", "y", "x"], empty)}, coords=coords).to_zarr(folder, encoding=encoding, write_empty_chunks=False)
    late = np.arange(64, dtype="f4").reshape(4, 4, 4)
    xr.Dataset({"u": (["time", "y", "x"], late)}).to_zarr(folder, region={"time": slice(4, 8)}, write_empty_chunks=False)


def tensorstore(folder):
    import tensorstore as ts
    for driver in "zarr", "zarr3":
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{folder}/{driver}/"}}
        ts.open(spec, create=True, dtype=ts.uint32, shape=[100, 20], chunk_layout=ts.ChunkLayout(
            read_chunk_shape=[10, 10], write_chunk_shape=[50, 20] if driver == "zarr3" else [10, 10])).result()[...] = np.arange(
                2000, dtype="u4").reshape(100, 20)


def anndata(folder):
    import anndata as ad
    import pandas as pd
    import scipy.sparse
    counts = scipy.sparse.csr_matrix(RNG.poisson(1, size=(30, 20)).astype("f4"))
    data = ad.AnnData(counts, obs=pd.DataFrame(index=[f"Cell_{i}" for i in range(30)]), var=pd.DataFrame(index=[f"Gene_{i}" for i in range(20)]))
    data.obs["cell_type"] = pd.Categorical(RNG.choice(["B", "T", "Monocyte"], size=30))
    data.obs["score"] = RNG.normal(size=30)
    data.obsm["X_umap"] = RNG.normal(size=(30, 2))
    data.uns["random"] = [1, 2, 3]
    data.layers["log"] = np.log1p(counts.toarray())
    data.write_zarr(folder)


def ome_zarr_py(folder):
    import zarr
    from ome_zarr.io import parse_url
    from ome_zarr.writer import write_image, write_labels
    image = RNG.poisson(10, size=(2, 64, 64)).astype("u1")
    root = zarr.group(store=parse_url(folder, mode="w").store)
    write_image(image=image, group=root, axes="zyx", storage_options={"chunks": (1, 32, 32)})
    write_labels(labels=(image > 12).astype("u1"), group=root, name="blobs", axes="zyx", storage_options={"chunks": (1, 32, 32)})


def gdal(folder):
    from osgeo import gdal
    gdal.UseExceptions()
    driver = gdal.GetDriverByName("Zarr")
    data = driver.CreateMultiDimensional(folder)
    root = data.GetRootGroup()
    y, x = (root.CreateDimension(name, None, None, size) for name, size in (("y", 20), ("x", 30)))
    array = root.CreateMDArray("height", [y, x], gdal.ExtendedDataType.Create(gdal.GDT_Float64), ["BLOCKSIZE=10,10"])
    array.Write(np.arange(600, dtype="f8").reshape(20, 30).tobytes())


def netcdf_c(folder):
    import netCDF4
    with netCDF4.Dataset(f"file://{folder}#mode=nczarr,file", "w") as data:
        data.createDimension("time", 4), data.createDimension("lat", 6)
        variable = data.createVariable("temp", "f4", ("time", "lat"), chunksizes=(1, 6))
        variable.units = "K"
        variable[:] = np.arange(24, dtype="f4").reshape(4, 6)
        data.createVariable("time", "f8", ("time",))[:] = np.arange(4)
        data.description = "bogus example script"


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
