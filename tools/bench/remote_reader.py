"""Reads one array on a mount or in a bucket and prints how long that took, as JSON.

`remote_reader.py READER PATH TASK [THREADS]`. PATH: a folder, or ENDPOINT|BUCKET|KEY. READER: zarr (whichever
zarr-python this interpreter has), tensorstore2 and tensorstore3 (its drivers for v2 and v3), obstore (zarr-python 3
with obstore), s3fs (either zarr-python with s3fs), dask (zarr-python 2, four processes). TASK: scan; part:K/N (one of N
slabs); f, reverse, or axis0, axis1, axis2 (slabs of a chunk along it); random:N (N single chunks). It prints "ready" and
begins at the first line of its input. Opening the array and hashing are not part of the time.
"""
import concurrent.futures
import hashlib
import itertools
import json
import logging
import random
import sys
import time

KEYS = {"access_key_id": "user", "secret_access_key": "secret"}


READING = []  # seconds, for each selection, in which zarr-python 2 read chunk files: all of them, and decoded them then


def time_reading(store):
    get = store.getitems

    def timed(*words, **more):
        start = time.perf_counter()
        found = get(*words, **more)
        READING.append(time.perf_counter() - start)
        return found

    store.getitems = timed


def open_array(reader, path):
    """The array's shape, its chunks, and how to read a selection."""
    endpoint, bucket, key = path.split("|") if "|" in path else ("", "", "")
    if reader == "zarr":
        import zarr

        array = zarr.open(path, mode="r")
        if zarr.__version__.startswith("2."):
            time_reading(array.chunk_store)
        return array.shape, array.chunks, lambda selection: array[selection]
    if reader == "obstore":
        import obstore
        import zarr

        store = obstore.store.S3Store(bucket, prefix=key, endpoint=endpoint, region="us-east-1",
                                      client_options={"allow_http": True}, **KEYS)
        array = zarr.open_array(zarr.storage.ObjectStore(store, read_only=True), mode="r")
        return array.shape, array.chunks, lambda selection: array[selection]
    if reader == "s3fs":
        import zarr

        options = {"key": KEYS["access_key_id"], "secret": KEYS["secret_access_key"], "endpoint_url": endpoint}
        array = zarr.open(f"s3://{bucket}/{key}", mode="r", storage_options=options)
        return array.shape, array.chunks, lambda selection: array[selection]
    import tensorstore

    kvstore = {"driver": "file", "path": path}
    if endpoint:
        kvstore = {"driver": "s3", "bucket": bucket, "path": key + "/", "endpoint": endpoint,
                   "aws_region": "us-east-1"}
    driver = {"tensorstore2": "zarr", "tensorstore3": "zarr3"}[reader]
    array = tensorstore.open({"driver": driver, "kvstore": kvstore}, read=True).result()
    chunks = array.chunk_layout.read_chunk.shape
    return array.shape, chunks, lambda selection: array[selection].read().result()


def selections_of(task, shape, chunks):
    """What is read one after the other."""
    if task == "scan":
        return [(slice(None),) * len(shape)]
    if task.startswith("part:"):
        part, parts = map(int, task.removeprefix("part:").split("/"))
        return [(slice(shape[0] * part // parts, shape[0] * (part + 1) // parts),)]
    starts = [range(0, n, c) for n, c in zip(shape, chunks)]
    if task.startswith("axis"):
        axis = int(task[4:])
        return [tuple(slice(at, at + chunks[axis]) if d == axis else slice(None) for d in range(len(shape)))
                for at in starts[axis]]
    places = list(itertools.product(*starts))
    if task == "f":
        places.sort(key=lambda place: place[::-1])
    elif task == "reverse":
        places.reverse()
    else:
        random.Random(1).shuffle(places)
        del places[int(task.removeprefix("random:")):]
    return [tuple(slice(a, a + c) for a, c in zip(place, chunks)) for place in places]


def wait_to_begin():
    print("ready", flush=True)
    sys.stdin.readline()


def import_zarr():
    import zarr  # noqa: F401


def read_by_dask(path):
    """The sum of the array, by blocks of 8 MiB. The processes have imported what they need before."""
    import dask.array
    import distributed
    import zarr

    quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL}  # (It complains of its own end.)
    with (distributed.LocalCluster(n_workers=4, threads_per_worker=1, **quiet) as cluster,
          distributed.Client(cluster) as client):
        array = dask.array.from_array(zarr.open(path, mode="r"), chunks=(128, 128, 256))
        client.run(import_zarr)
        dask.array.zeros(array.shape, dtype=array.dtype, chunks=array.chunks).sum(dtype="u8").compute()
        wait_to_begin()
        start = time.perf_counter()
        total = int(array.sum(dtype="u8").compute())
        return {"seconds": time.perf_counter() - start, "pieces": array.npartitions, "sum": total}


def read_selections(reader, path, task, threads):
    shape, chunks, read = open_array(reader, path)
    selections = selections_of(task, shape, chunks)
    wait_to_begin()
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(read, selections))
    seconds = time.perf_counter() - start
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.tobytes())
    answer = {"seconds": seconds, "pieces": len(parts), "sha256": digest.hexdigest()}
    if READING and task == "scan":
        answer["reading_seconds"] = sum(READING)
    return answer


def main():
    reader, path, task = sys.argv[1:4]
    threads = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    print(json.dumps(read_by_dask(path) if reader == "dask" else read_selections(reader, path, task, threads)))


if __name__ == "__main__":
    main()
