"""Reads the sample through a v2 view with the reader named, and compares every bit with the formulas it was made from.

    PYTHON tests/data/compare_sample.py zarr|gdal FOLDER

Prints how many arrays and values were the same and who read them; exits with 1 at the first difference.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "interop/readers"))

from digest import describe
from make_sample import ARRAYS


def main(reader, folder):
    if reader == "gdal":
        from osgeo import gdal
        from read_gdal import read

        name = f"GDAL {gdal.__version__}"
    else:
        import zarr
        from read_zarr_python import read

        name = f"zarr-python {zarr.__version__}"
    count = 0
    for array, formula in ARRAYS.items():
        values, attributes, *_ = read(f"{folder}/{array}")
        if describe(values) != describe(formula()):
            sys.exit(f"{name} reads other values of {array} than were written")
        count += values.size
    print(len(ARRAYS), count, name)


main(*sys.argv[1:])
