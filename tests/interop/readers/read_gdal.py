"""GDAL's multidimensional interface. Its types are wider than Zarr's: int8 comes as int16, float16 as float32, bool as uint8."""

import pathlib

from digest import main
from osgeo import gdal

gdal.UseExceptions()


def read(path):
    # A damaged chunk is only a warning to GDAL, and the pixels stay uninitialised.
    warnings = []
    gdal.PushErrorHandler(lambda level, number, text: warnings.append(text))
    try:
        dataset = gdal.OpenEx(path, gdal.OF_MULTIDIM_RASTER)
        group = dataset.GetRootGroup()
        name, = group.GetMDArrayNames()
        array = group.OpenMDArray(name)
        if array.GetDimensionCount() == 0:
            values = array.ReadAsArray()[()]
        else:
            values = array.ReadAsArray()
        attributes = {a.GetName(): a.Read() for a in array.GetAttributes()}
        if array.GetUnit():
            attributes["units"] = array.GetUnit()
    finally:
        gdal.PopErrorHandler()
    if warnings:
        raise RuntimeError("; ".join(warnings))
    return values, attributes


if __name__ == "__main__":
    main(read)
