"""zarr-python, whichever version the environment has (2 and 3)."""

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
    main(read)
