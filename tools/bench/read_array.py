"""Reads one array with one reader and prints how fast, as JSON: `read_array.py READER PATH TASK`.

READER: zarr (whichever zarr-python this interpreter has), zarrs (zarr-python with the pipeline of that
name), tensorstore2 or tensorstore3 (its drivers for v2 and v3). TASK: scan (the whole array, twice in a
row) or random (single chunks all over the array, twice). Hashing the data is not part of the time.
"""
import hashlib
import itertools
import json
import random
import sys
import time

SAMPLES = 2000


def open_array(reader, path):
    """The array, its shape, the shape of its chunks, and how to read a selection."""
    if reader.startswith("zarr"):
        import zarr

        if reader == "zarrs":
            zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
        array = zarr.open(path, mode="r")
        return array, array.shape, array.chunks, lambda selection: array[selection]
    import tensorstore

    driver = {"tensorstore2": "zarr", "tensorstore3": "zarr3"}[reader]
    kvstore = {"driver": "file", "path": path}
    array = tensorstore.open({"driver": driver, "kvstore": kvstore}, read=True).result()
    chunks = array.chunk_layout.read_chunk.shape
    return array, array.shape, chunks, lambda selection: array[selection].read().result()


def timed(read, selections):
    start = time.perf_counter()
    parts = [read(selection) for selection in selections]
    seconds = time.perf_counter() - start
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.data)
    return seconds, sum(part.nbytes for part in parts), digest.hexdigest()


def main():
    reader, path, task = sys.argv[1:]
    _, shape, chunks, read = open_array(reader, path)
    if task == "scan":
        seconds, size, digest = timed(read, [...])
        again, _, same = timed(read, [...])
        assert digest == same, "two scans differ"
        answer = {"scan": size / 1e6 / seconds, "again": size / 1e6 / again}
    else:
        starts = list(itertools.product(*(range(0, n, c) for n, c in zip(shape, chunks))))
        random.Random(1).shuffle(starts)
        selections = [tuple(slice(a, a + c) for a, c in zip(start, chunks))
                      for start in starts[:SAMPLES]]
        seconds, _, digest = timed(read, selections)
        seconds_again, _, same = timed(read, selections)
        assert digest == same, "two readings differ"
        answer = {"random": len(selections) / seconds,
                  "random again": len(selections) / seconds_again}
    print(json.dumps({**answer, "sha256": digest}))


if __name__ == "__main__":
    main()
