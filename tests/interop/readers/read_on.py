"""Reads one array chunk by chunk while its mount dies and is served again.

Arguments: the path, and the numbers of rows and columns of an inner chunk. First it reads the upper half. Then for each line on
stdin it reads all chunks, through the array that it opened at first and through the path anew, and answers with a line of JSON:
for each half, how many reads gave the values ("right"), only the fill value ("filled"), something else ("wrong"), and which
exceptions were raised how often. The value of an element is its number in C order.
"""

import collections
import json
import sys

import numpy as np
import zarr

path = sys.argv[1]
rows, columns = map(int, sys.argv[2:])


def read(answer, array, row, column):
    try:
        array = array or zarr.open_array(path, mode="r")
        values = array[row:row + rows, column:column + columns]
    except Exception as error:  # whatever its kind: it is not fill values
        answer[f"{type(error).__name__}: {getattr(error, 'errno', None)}"] += 1
        return
    expected = np.arange(shape[0] * shape[1]).reshape(shape)[row:row + rows, column:column + columns]
    if np.array_equal(values, expected):
        answer["right"] += 1
    else:
        answer["filled" if (values == array.fill_value).all() else "wrong"] += 1


opened = zarr.open_array(path, mode="r")
shape = opened.shape
assert (opened[:shape[0] // 2] >= 0).all()
print("{}", flush=True)
for _ in sys.stdin:
    halves = [collections.Counter(), collections.Counter()]
    for array in [opened, None]:
        for row in range(0, shape[0], rows):
            for column in range(0, shape[1], columns):
                read(halves[row >= shape[0] // 2], array, row, column)
    print(json.dumps(halves), flush=True)
