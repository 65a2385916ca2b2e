"""What the package zarr-metadata finds wrong with a zarr.json: its readers check each member against the specification.

A data type or codec of a name that it does not know it does not check.
"""

import json
import pathlib

from zarr_metadata.model import read_node_metadata_v3


def problems_of(document):
    # (Null is what zarr-python writes for none.)
    if document.get("consolidated_metadata", 0) is None:
        del document["consolidated_metadata"]
    return [f"{'.'.join(map(str, problem.loc))}: {problem.message}" for problem in read_node_metadata_v3(document).problems]


def problems_below(folder):
    """folder of a node -> its problems, of nodes with any; and the number of nodes."""
    found, count = {}, 0
    for path in sorted(pathlib.Path(folder).rglob("zarr.json")):
        count += 1
        if problems := problems_of(json.loads(path.read_text())):
            found[str(path.parent.relative_to(folder))] = problems
    return found, count
