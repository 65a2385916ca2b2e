"""What ome-zarr-py and napari's reader find at a path: images, labels, plates, and the sums of their data. Prints JSON."""

import json
import sys

import numpy as np
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader


def describe(path):
    nodes = []
    for node in Reader(parse_url(path))():
        nodes.append({
            "specs": sorted(type(spec).__name__ for spec in node.specs), "name": node.metadata.get("name"),
            "axes": [axis["name"] for axis in node.metadata.get("axes", [])],
            "shapes": [list(level.shape) for level in node.data], "sums": [float(np.asarray(level).sum()) for level in node.data]})
    return sorted(nodes, key=lambda node: json.dumps(node, sort_keys=True))


def describe_for_napari(path):
    from napari_ome_zarr import napari_get_reader

    layers = napari_get_reader(path)(path)
    return sorted([kind, [list(level.shape) for level in data]] for data, _, kind in layers)


print(json.dumps({"ome-zarr-py": describe(sys.argv[1]), "napari": describe_for_napari(sys.argv[1])}))
