"""GDAL's multidimensional interface. Its types are wider than Zarr's: int8 comes as int16, float16 as float32, bool as uint8.

Text of a fixed length comes as lists of text; structures without the padding that GDAL gives them. An entry also has "nodata":
the value that GDAL takes for no data, or null; as a number, where it is one.
"""

import os

import numpy as np
from digest import main
from numpy.lib import recfunctions
from osgeo import gdal

gdal.UseExceptions()


def values_of(array):
    if array.GetDataType().GetClass() == gdal.GEDTC_STRING:
        return np.array(array.Read(), object).reshape([dimension.GetSize() for dimension in array.GetDimensions()])
    values = array.ReadAsArray()
    if values.dtype.names:
        values = recfunctions.repack_fields(values)
    return values if array.GetDimensionCount() else values[()]


def read(path):
    # A damaged chunk is only a warning to GDAL, and the pixels stay uninitialised.
    warnings = []
    gdal.PushErrorHandler(lambda level, number, text: warnings.append(text))
    try:
        dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER)
        group = dataset.GetRootGroup()
        names = group.GetMDArrayNames()  # of the array, and of its coordinates
        own = os.path.basename(path)
        name, = [own] if own in names else names
        array = group.OpenMDArray(name)
        values = values_of(array)
        nodata = array.GetNoDataValueAsDouble()
        attributes = {a.GetName(): a.Read() for a in array.GetAttributes()}
        if array.GetUnit():
            attributes["units"] = array.GetUnit()
    finally:
        gdal.PopErrorHandler()
    if warnings:
        raise RuntimeError("; ".join(warnings))
    return values, attributes, {"nodata": nodata if nodata is None else repr(nodata)}


if __name__ == "__main__":
    main(read)
