"""fsspec's reference file system, with zarr-python 2 and xarray on it.

Reads a JSON list of references from stdin and prints {reference: {"zarr": {array: described}, "xarray": {variable: described}}}. The argument
is the protocol of the URLs: fsspec would look for it in all references, and fails to in tables with groups inside groups.
"""

import json
import sys

import fsspec
import numpy as np
import xarray
import zarr
from digest import describe


def arrays(group, above=""):
    for name, array in group.arrays():
        yield above + name, describe(array[...])
    for name, below in group.groups():
        yield from arrays(below, above + name + "/")


def read(reference):
    system = fsspec.filesystem("reference", fo=reference, remote_protocol=sys.argv[1])
    found = dict(arrays(zarr.open_group(system.get_mapper(""), mode="r")))
    consolidated = ".zmetadata" in system.get_mapper("")
    if consolidated:
        assert found == dict(arrays(zarr.open_consolidated(system.get_mapper(""), mode="r")))
    with xarray.open_dataset(system.get_mapper(""), engine="zarr", consolidated=consolidated) as data:
        return {"consolidated": consolidated, "zarr": found, "xarray": {name: describe(np.asarray(data[name])) for name in data.variables}}


print(json.dumps({reference: read(reference) for reference in json.load(sys.stdin)}))
