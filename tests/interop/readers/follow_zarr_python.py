"""Reads one array again and again until stdin ends, and prints as JSON what it saw.

Arguments: the path, and the numbers of rows and columns of an inner chunk. The answer: "reads"; "seen": for each chunk, as
"row.column", the numbers that filled it; "mixed": of chunks that were not one number, all that was in them; "retried": for each
errno, how often a read had to be repeated; "errors": whatever else was raised, and what still failed after the patience.
"""

import collections
import json
import select
import sys
import time

import numpy as np
import zarr

PATIENCE = 5  # seconds

path = sys.argv[1]
rows, columns = map(int, sys.argv[2:])


def main():
    answer = {"reads": 0, "seen": collections.defaultdict(set), "mixed": [], "retried": collections.Counter(), "errors": []}
    failing_since = None
    while not select.select([sys.stdin], [], [], 0)[0]:
        try:
            values = zarr.open_array(path, mode="r")[...]
        except OSError as error:
            failing_since = failing_since or time.monotonic()
            answer["retried"][error.errno] += 1
            if time.monotonic() - failing_since > PATIENCE:
                answer["errors"].append(repr(error))
                break
            continue
        except Exception as error:  # no other one is expected
            answer["errors"].append(repr(error))
            break
        failing_since = None
        answer["reads"] += 1
        for row in range(0, values.shape[0], rows):
            for column in range(0, values.shape[1], columns):
                numbers = np.unique(values[row:row + rows, column:column + columns]).tolist()
                name = f"{row // rows}.{column // columns}"
                if len(numbers) == 1:
                    answer["seen"][name].add(numbers[0])
                else:
                    answer["mixed"].append([name, numbers])
    json.dump(answer, sys.stdout, default=sorted)


if __name__ == "__main__":
    main()
