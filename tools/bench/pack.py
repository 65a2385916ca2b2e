"""Packs a store of many chunks into shards, beside `cat` of the same files; and makes references of millions of chunks.

    build/python/zarr3/bin/python tools/bench/pack.py [FOLDER] [ROUNDS]     # build/bench and 3 by default

Prints medians, in MB/s of stored bytes: `zarrctl pack`, copying (the chunks are written by zarr-python 3 without shards), and `cat` of
the chunk files into one file in FOLDER, with `sync` of it, because pack's shards are on the disk when it ends. Both read from the page
cache. Then the seconds and the memory that `zarrctl refs` takes for 10 million chunks in 640 shards, as JSON and in Parquet. Programs
are those of build/release/bin, or those beside $ZARRFS_BIN.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr

ROOT = Path(__file__).resolve().parents[2]
ZARRCTL = Path(os.environ.get("ZARRFS_BIN") or ROOT / "build/release/bin/zarrfs").with_name("zarrctl")
SHAPE, CHUNKS = (256, 1024, 1024), (32, 128, 128)  # 512 chunks of a MiB


def seconds(*command, **more):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)
    return time.perf_counter() - start


def measure_pack(folder, rounds):
    array = zarr.create_group(folder / "plain.zarr").create_array(
        "a", shape=SHAPE, chunks=CHUNKS, dtype="u2", compressors=zarr.codecs.ZstdCodec(level=1))
    array[...] = np.random.default_rng(1).integers(0, 4096, SHAPE, "u2")
    files = sorted(path for path in (folder / "plain.zarr/a/c").rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in files)
    seconds("cat", *files)  # into the page cache
    figures = {"pack": [], "pack --verify": [], "cat": []}
    for _ in range(rounds):
        for what, options in (("pack", []), ("pack --verify", ["--verify"])):
            figures[what].append(size / seconds(ZARRCTL, "pack", *options, folder / "plain.zarr", folder / "packed.zarr") / 1e6)
            shutil.rmtree(folder / "packed.zarr")
        command = 'target=$1; shift; cat "$@" >"$target"; sync "$target"'
        figures["cat"].append(size / seconds("sh", "-c", command, "sh", folder / "one", *files) / 1e6)
        (folder / "one").unlink()
    medians = {what: statistics.median(each) for what, each in figures.items()}
    print(f"{len(files)} chunks, {size / 1e6:.0f} MB: " + ", ".join(f"{what} {each:.0f} MB/s" for what, each in medians.items()))
    print(f"pack {medians['pack'] / medians['cat']:.2f} of cat (median of {rounds}: " +
          "; ".join(f"{what} {min(each):.0f} to {max(each):.0f}" for what, each in figures.items()) + ")")


def measure_refs(folder):
    side = 125  # chunks of a shard along each axis: 15,625
    array = zarr.create_group(folder / "many.zarr").create_array(
        "a", shape=(side * 640, side), chunks=(1, 1), shards=(side, side), dtype="u1", compressors=None, fill_value=0)
    array[:side] = 1
    for shard in range(1, 640):  # all alike
        (folder / f"many.zarr/a/c/{shard}").mkdir()
        shutil.copyfile(folder / "many.zarr/a/c/0/0", folder / f"many.zarr/a/c/{shard}/0")
    for out in ("refs.json", "refs.parq"):
        target, start = folder / out, time.perf_counter()
        process = subprocess.Popen([ZARRCTL, "refs", folder / "many.zarr", "--out", target], stdout=subprocess.DEVNULL)
        peak = 0  # KiB
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
            time.sleep(0.02)
        taken = time.perf_counter() - start
        assert process.returncode == 0
        size = target.stat().st_size if target.is_file() else sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
        print(f"{side * side * 640:,} references, {out.rpartition('.')[2]}: {taken:.1f} s, {size / 1e6:.0f} MB, {peak / 1024:.0f} MiB of memory")


def main():
    parent = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/bench"
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pack-", dir=parent) as folder:
        measure_pack(Path(folder), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
        measure_refs(Path(folder))


if __name__ == "__main__":
    main()
