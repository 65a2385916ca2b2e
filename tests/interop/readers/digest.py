"""What every reader script prints: one JSON list on stdout, one entry a path read from stdin (a JSON list).

An entry is {"shape", "dtype", "sha256", "attributes"} or {"error"}. The hash is over the values as little-endian bytes in
C order, so that two readers that saw the same bits print the same text whatever byte order and layout they used.
"""

import hashlib
import json
import sys

import numpy as np


def describe(values):
    values = np.asarray(values)
    if values.dtype.kind in "OT":  # of variable length: the text of the JSON list, bytes as hexadecimal digits
        text = json.dumps(values.tolist(), default=bytes.hex)
        return {"shape": list(values.shape), "dtype": "json", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return {
        "shape": list(values.shape),
        "dtype": little.dtype.str.replace(">", "<"),
        "sha256": hashlib.sha256(little.tobytes(order="C")).hexdigest(),
    }


def main(read):
    """read(path) returns (values, attributes), and perhaps a dictionary of what else the entry has."""
    entries = []
    for path in json.load(sys.stdin):
        try:
            values, attributes, *more = read(path)
            entries.append(dict(describe(values), attributes=attributes, **(more[0] if more else {})))
        except Exception as error:  # A reader may raise anything; the test that reads the entry decides.
            entries.append({"error": f"{type(error).__name__}: {error}"})
    json.dump(entries, sys.stdout)
