"""zarr-python, whichever version the environment has (2 and 3). An argument names the codec pipeline of zarr-python 3.

What a pipeline leaves to zarr-python's own is an error: it would be read twice by this one, and by the other not at all.
"""

import sys
import warnings

import numpy as np
import zarr
from digest import main


def read(path):
    array = zarr.open(path, mode="r")
    values = array[...]
    if array.shape == ():  # zarr-python 3 gives Python's own objects, of text only as much as there is
        values = np.asarray(values, array.dtype)
    return values, dict(array.attrs)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        zarr.config.set({"codec_pipeline.path": sys.argv[1]})
        warnings.filterwarnings("error", message="Array is unsupported by ZarrsCodecPipeline")
    main(read)
