"""Opens an array and says "open"; then, for each line of stdin, reads all of it and says "values " and them as JSON, or "exception " and which.

Arguments: zarr, tensorstore or gdal, and the path.
"""

import json
import sys

kind, path = sys.argv[1:]


def zarr_reader():
    import zarr
    array = zarr.open_array(zarr.DirectoryStore(path) if hasattr(zarr, "DirectoryStore") else path, mode="r")
    return lambda: array[...]


def tensorstore_reader():
    import tensorstore
    array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}).result()
    return lambda: array.read().result()


def gdal_reader():
    from osgeo import gdal
    gdal.UseExceptions()
    dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER)
    group = dataset.GetRootGroup()
    array = group.OpenMDArray(group.GetMDArrayNames()[0])

    def read():
        # A damaged chunk is only a warning to GDAL, and the pixels stay uninitialised.
        warnings = []
        gdal.PushErrorHandler(lambda level, number, text: warnings.append(text))
        try:
            values = array.ReadAsArray()
        finally:
            gdal.PopErrorHandler()
        if warnings:
            raise RuntimeError("; ".join(warnings))
        return values

    return read


read = {"zarr": zarr_reader, "tensorstore": tensorstore_reader, "gdal": gdal_reader}[kind]()
print("open", flush=True)
for _ in sys.stdin:
    try:
        print("values", json.dumps(read().tolist()), flush=True)
    except Exception as error:
        print("exception", repr(error).replace("\n", " "), flush=True)
