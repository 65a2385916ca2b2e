"""Writes one store as the documentation of a writer begins: `write.py WRITER FOLDER`, with the writer's own Python.

What was written is kept in stores, one zip file a writer; test_wild.py reads it. A new version is one more line in writers.txt,
and one run of renew.
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


def zarrista(folder):
    """zarrs, by its own binding to Python."""
    from zarrista import ArrayBuilder, ChunkGrid, DataType, FillValue, codec
    from zarrista.store import FilesystemStore
    grid = ChunkGrid.regular([64, 96], chunk_shape=[16, 32])
    array = (ArrayBuilder(grid, DataType.from_string("int32"), FillValue((0).to_bytes(4, "little"))).dimension_names(["y", "x"])
             .compressors([codec.zstd(3, checksum=False)]).create(FilesystemStore(folder), "/temperature"))
    array.store_array_subset((slice(0, 64), slice(0, 96)), np.arange(64 * 96, dtype="i4").reshape(64, 96))


def zarrs(folder):
    """zarr-python with the pipeline of zarrs, which writes the chunks."""
    import zarr
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    array = zarr.create_array(f"{folder}/temperature", shape=(72, 144), chunks=(18, 36), shards=(36, 72), dtype="f4", dimension_names=("lat", "lon"))
    array[:] = RNG.normal(size=(72, 144))


def rioxarray(folder):
    import rioxarray  # noqa: F401 (the accessor)
    import xarray as xr
    x, y = 600_000 + 10 * np.arange(30), 5_300_000 - 10 * np.arange(20)
    dem = xr.DataArray(RNG.normal(500, 50, (20, 30)).astype("f4"), dims=("y", "x"), coords={"x": x, "y": y}, name="dem")
    dem.rio.write_crs("EPSG:32633").rio.write_transform().rio.write_nodata(-9999).to_dataset().to_zarr(folder)


def ngff_zarr(folder):
    import ngff_zarr as nz
    image = nz.to_ngff_image(RNG.poisson(10, size=(64, 64)).astype("u1"), dims=["y", "x"], scale={"y": 1.0, "x": 1.0})
    nz.to_ngff_zarr(folder, nz.to_multiscales(image, scale_factors=[2], chunks=32))


def bioio(folder):
    from bioio_ome_zarr.writers import OMEZarrWriter
    data = RNG.integers(0, 255, size=(64, 64), dtype=np.uint8)
    OMEZarrWriter(store=folder, level_shapes=(64, 64), dtype=data.dtype).write_full_volume(data)


def acquire(folder):
    import acquire_zarr as aqz
    kinds = aqz.DimensionType
    def dimension(name, kind, size, chunk, shard):
        return aqz.Dimension(name=name, kind=kind, array_size_px=size, chunk_size_px=chunk, shard_size_chunks=shard)
    stream = aqz.ZarrStream(aqz.StreamSettings(store_path=folder, overwrite=True, arrays=[aqz.ArraySettings(
        output_key="array1", data_type=np.uint16, dimensions=[
            dimension("t", kinds.TIME, 0, 2, 2), dimension("y", kinds.SPACE, 48, 16, 3), dimension("x", kinds.SPACE, 64, 16, 2)])]))
    stream.append(RNG.integers(0, 4000, size=(5, 48, 64), dtype=np.uint16))
    stream.close()


def iohub(folder):
    from iohub import open_ome_zarr
    with open_ome_zarr(folder, layout="hcs", mode="w", channel_names=["DAPI", "GFP"], version="0.5") as plate:
        for row, column in ("A", "1"), ("B", "2"):
            plate.create_position(row, column, "0").create_image("0", RNG.integers(0, 4000, size=(1, 2, 3, 32, 32), dtype=np.uint16))


def spatialdata(folder):
    import pandas as pd
    import spatialdata as sd
    import anndata as ad
    image = sd.models.Image2DModel.parse(RNG.integers(0, 255, size=(3, 32, 48), dtype=np.uint8), dims=("c", "y", "x"), scale_factors=[2])
    labels = sd.models.Labels2DModel.parse(RNG.integers(0, 5, size=(32, 48), dtype=np.int32), dims=("y", "x"))
    table = sd.models.TableModel.parse(ad.AnnData(RNG.normal(size=(5, 3)).astype("f4"), obs=pd.DataFrame(index=list("abcde"))))
    sd.SpatialData(images={"image": image}, labels={"cells": labels}, tables={"table": table}).write(folder)


# Layouts that people publish, small. The first of each three numbers is a chunk, the second a shard.

def published(folder):
    import zarr
    add_layouts(zarr.open_group(folder, mode="w"))


def icechunk(folder):
    """The same in a repository, as dynamical.org has its forecasts."""
    import icechunk as ic
    import zarr
    session = ic.Repository.create(ic.local_filesystem_storage(folder)).writable_session("main")
    add_layouts(zarr.create_group(session.store))
    session.commit("forecasts")


def add_layouts(root):
    import zarr
    from zarr.codecs import BloscCodec
    forecasts = BloscCodec(cname="zstd", clevel=3, shuffle="shuffle")
    def add(name, shape, chunks, shards, dimensions, bits):
        values = RNG.normal(280, 10, shape).astype("f4").view("u4") & np.uint32(2**32 - 2**(23 - bits))
        root.create_array(name, shape=shape, chunks=chunks, shards=shards, dtype="f4", fill_value=float("nan"), compressors=[forecasts],
                          dimension_names=dimensions)[:] = values.view("f4")
    add("aifs", (2, 6, 14, 14), (1, 6, 7, 7), (1, 6, 14, 14), ("init_time", "lead_time", "latitude", "longitude"), 7)
    add("gefs", (1, 3, 4, 8, 9), (1, 3, 2, 4, 4), (1, 3, 4, 8, 8), ("init_time", "ensemble_member", "lead_time", "latitude", "longitude"), 9)
    add("imerg", (16, 10, 11), (8, 5, 5), (8, 10, 10), ("time", "latitude", "longitude"), 11)
    add("dense", (1, 16, 16, 16), (1, 4, 4, 4), (1, 16, 16, 16), ("c", "x", "y", "z"), 10)
    add("ifs", (1, 4, 3, 18, 20), (1, 4, 3, 4, 4), (1, 4, 3, 8, 8), ("init_time", "lead_time", "ensemble_member", "latitude", "longitude"), 8)
    # PACE, which is references into files of NetCDF-4: their filters by the names of numcodecs.
    ocean = [zarr.codecs.numcodecs.Shuffle(elementsize=4), zarr.codecs.numcodecs.Zlib(level=5)]
    pace = root.create_array("pace", shape=(12, 10), chunks=(5, 10), dtype="f4", fill_value=-32767, compressors=ocean, dimension_names=("lat", "lon"))
    pace[:] = RNG.normal(280, 10, (12, 10))


def kerchunk(folder):
    """What Kerchunk says of a file of NetCDF-4: filters, and no compressor."""
    import numcodecs
    import zarr
    root = zarr.open_group(folder, mode="w")
    filters = [numcodecs.Shuffle(elementsize=2), numcodecs.Zlib(level=4)]
    array = root.create_dataset("sst", shape=(2, 9, 8), chunks=(1, 9, 8), dtype="<i2", fill_value=-999, compressor=None, filters=filters)
    array[:] = RNG.integers(0, 3000, size=(2, 9, 8))
    array.attrs.update({"_ARRAY_DIMENSIONS": ["time", "lat", "lon"], "_FillValue": -999, "scale_factor": 0.01, "add_offset": 273.15})


def geozarr(folder):
    """Sentinel-2 as EOPF has it: groups of resolutions, their coordinate system in the group."""
    import zarr
    layout = [{"asset": "r10m"}, {"asset": "r20m", "derived_from": "r10m", "transform": {"scale": [2.0, 2.0]}}]
    root = zarr.open_group(folder, mode="w")
    group = root.create_group("measurements/reflectance", attributes={"multiscales": {"layout": layout}, "proj:code": "EPSG:32633"})
    for name, size in ("r10m", 40), ("r20m", 20):
        level = group.create_group(name)
        for axis in "yx":
            level.create_array(axis, shape=(size,), chunks=(size,), dtype="i8", dimension_names=(axis,))[:] = np.arange(size) * 10
        for band in "b02", "b03":
            level.create_array(band, shape=(size, size), chunks=(5, 5), shards=(20, 20), dtype="u2", fill_value=0, dimension_names=("y", "x"))[:] = RNG.integers(
                1, 4000, size=(size, size))


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
