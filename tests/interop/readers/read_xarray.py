"""xarray, whichever version the environment has. Each path read from stdin is a group, opened as a data set.

An entry is {"attributes", "variables": name -> seen} or {"error"}; what is seen of a variable: {"dims", "coordinate", "attributes",
"shape", "dtype", "sha256"} or {"error"}; of floats also "sha256_as_float32". Dates and durations come as nanoseconds, with the
type of these, and as "nanoseconds" too; strings as lists of text ("dtype": "strings"), whatever held them; attributes as JSON
makes them.
"""

import json
import sys

import numpy as np
import xarray
from digest import describe


def as_json(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return str(value)


def of_values(values):
    values = np.asarray(values)
    if values.dtype == object and values.shape == () and isinstance(values.item(), np.ndarray):
        values = values.item()  # zarr-python 3.0 wraps text of rank 0 in a second array
    if values.dtype.kind in "mM":
        nanoseconds = values.astype(f"{values.dtype.kind}8[ns]")
        return dict(describe(nanoseconds), nanoseconds=nanoseconds.view("<i8").tolist())
    if values.dtype.kind in "OTU" and all(isinstance(item, str) for item in values.ravel().tolist()):
        return dict(describe(values.astype(object)), dtype="strings")
    if values.dtype.kind == "f":
        return dict(describe(values), sha256_as_float32=describe(values.astype("<f4"))["sha256"])
    return describe(values)


def see(variable, coordinate):
    try:
        return {
            "dims": list(variable.dims), "coordinate": coordinate, "attributes": dict(variable.attrs), **of_values(variable.values)}
    except Exception as error:  # A reader may raise anything; the test that reads the entry decides.
        return {"error": f"{type(error).__name__}: {error}"}


def read(path):
    with xarray.open_dataset(path, engine="zarr", chunks=None) as data:
        return {
            "attributes": dict(data.attrs),
            "variables": {str(name): see(variable, name in data.coords) for name, variable in data.variables.items()}}


def main():
    entries = []
    for path in json.load(sys.stdin):
        try:
            entries.append(read(path))
        except Exception as error:
            entries.append({"error": f"{type(error).__name__}: {error}"})
    json.dump(entries, sys.stdout, default=as_json)


if __name__ == "__main__":
    main()
