"""tensorstore; the argument names its driver: zarr (version 2) or zarr3."""

import json
import pathlib
import sys

import tensorstore
from digest import main

DRIVER = sys.argv[1]


def read(path):
    store = tensorstore.open({"driver": DRIVER, "kvstore": {"driver": "file", "path": path + "/"}}).result()
    folder = pathlib.Path(path)
    if DRIVER == "zarr":
        attributes = json.loads((folder / ".zattrs").read_text())
    else:
        attributes = json.loads((folder / "zarr.json").read_text()).get("attributes", {})
    return store.read().result(), attributes


if __name__ == "__main__":
    main(read)
