"""zarr-python, whichever version the environment has (2 and 3)."""

import zarr
from digest import main


def read(path):
    array = zarr.open(path, mode="r")
    return array[...], dict(array.attrs)


if __name__ == "__main__":
    main(read)
