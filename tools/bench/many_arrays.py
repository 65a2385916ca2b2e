"""Lists a group of very many arrays through a mount, and as a plain folder for comparison.

    build/python/zarr3/bin/python tools/bench/many_arrays.py [ARRAYS]     # 2,000 by default

Prints the processor time of the worker, when the first and the last name came, and the memory that the worker took for each array,
for `ls -f` and `ls -l` of views of a new mount. Mounts with build/release/bin/zarrfs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from append import memory, mounted
from many_chunks import listed

CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}]


def array(number):
    sharding = {"chunk_shape": [10, 64], "codecs": CODECS, "index_codecs": [CODECS[0], {"name": "crc32c"}], "index_location": "end"}
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [1000 + number % 7, 64],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [100, 64]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
        "attributes": {"units": "K", "long_name": f"variable {number}", "valid_range": [0.0, 1.5 + number]},
        "dimension_names": ["time", "x"],
    }


def fill(store, count):
    store.mkdir()
    (store / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
    for number in range(count):
        folder = store / f"v{number:06}"
        folder.mkdir()
        (folder / "zarr.json").write_text(json.dumps(array(number), indent=2))


def processor_time(process):
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def details(folder):
    """Seconds of `ls -l`."""
    start = time.monotonic()
    subprocess.run(["ls", "-l", folder], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def report(what, path, worker):
    for again in ["", ", again"]:
        before = processor_time(worker)
        first, last, names = listed(path)
        print(f"{what}: ls -f{again}: {processor_time(worker) - before:.2f} s of the worker, first name after {first * 1e3:.0f} ms, all {names:,} after {last:.2f} s")
    for again in ["", ", again"]:
        before, seconds = processor_time(worker), details(path)
        print(f"{what}: ls -l{again}: {processor_time(worker) - before:.2f} s of the worker, {seconds:.2f} s")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory(prefix="zarrfs-arrays-") as folder:
        store = Path(folder) / "store.zarr"
        fill(store, count)
        report("plain folder", store, os.getpid())
        for view in ["v2", "v3", "gdal", "nc"]:
            with mounted(store, Path(folder) / f"mnt-{view}") as (mount, worker):
                before = memory(worker)
                report(view, mount / view, worker)
                print(f"{view}: {(memory(worker) - before) * 1024 / count:.2f} KiB of the worker for each array")


if __name__ == "__main__":
    main()
