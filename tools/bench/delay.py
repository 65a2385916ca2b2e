#!/usr/bin/env python3
"""Measures how long after a change in the store the mount shows it.

Each try changes the store in one way and asks the mount again and again, as a program that polls would, until the answer is the
new one. The time counts from the end of the change. The old answer has been asked for just before, so that the kernel knows it,
and a pause of random length goes before each change, so that the tries meet every phase of a time-out.
"""
import argparse
import itertools
import os
import pathlib
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time

from mounts import mounted

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = REPOSITORY / "tests" / "data" / "sample.zarr"
MOUNTS = {"default": [], "ttl=1": ["-o", "ttl=1"], "no_epoch": ["-o", "no_epoch"]}
STEP = 0.0005  # seconds between two questions
LONGEST = 15  # seconds; what is not seen by then ends the tries of its kind


class Store:
    """A symbolic link to one of two copies of the sample; the second has another title."""

    def __init__(self, folder):
        self.folder = folder
        self.link = folder / "store.zarr"
        for name in ("one", "two"):
            shutil.copytree(SAMPLE, folder / name)
        metadata = folder / "two" / "zarr.json"
        metadata.write_text(metadata.read_text().replace("A small ocean", "Another ocean"))
        self.link.symlink_to("one")
        self.shard = self.link / "temperature/c/0/0/0"
        # Two shards with the same chunks, but other bytes in them.
        self.shards = itertools.cycle((SAMPLE / "temperature/c/0/0" / name).read_bytes() for name in "10")
        self.arrays = (f"array{number}" for number in itertools.count())

    # Each prepares a change and gives (what to ask: a function of the mount point, the change).

    def rename(self):
        new = self.folder / "shard"
        new.write_bytes(next(self.shards))
        return chunk, lambda: new.rename(self.shard)

    def rewrite(self):
        data = next(self.shards)
        return chunk, lambda: self.shard.write_bytes(data)

    def add(self):
        name = next(self.arrays)
        shutil.copytree(SAMPLE / "depth", self.folder / name)
        return lambda point: (point / "v2" / name / ".zarray").exists(), lambda: (self.folder / name).rename(self.link / name)

    def flip(self):
        new = self.folder / "link"
        new.symlink_to("two" if os.readlink(self.link) == "one" else "one")
        return lambda point: (point / "v2/.zattrs").read_bytes(), lambda: new.rename(self.link)


CHANGES = {
    "shard renamed into place": Store.rename,
    "shard rewritten in place": Store.rewrite,
    "array added": Store.add,
    "STORE, a link, set to another store": Store.flip,  # last: the other store has had none of the changes
}


def chunk(point):
    return (point / "v2/temperature/0.0.0").read_bytes()


def asked(question, point):
    """The answer, or None where there is none this moment: the old one is gone, the new one not yet there."""
    try:
        return question(point)
    except OSError:
        return None


def delay(store, change, point):
    """Seconds from the end of the change until it is seen; None if it is not."""
    question, make = change(store)
    old = asked(question, point)
    time.sleep(random.uniform(0.1, 1.5))
    asked(question, point)
    make()
    start = time.monotonic()
    while (answer := asked(question, point)) is None or answer == old:
        if time.monotonic() - start > LONGEST:
            return None
        time.sleep(STEP)
    return time.monotonic() - start


def delays(store, change, point, tries):
    found = []
    while len(found) < tries and (found[-1:] != [None]):
        found.append(delay(store, change, point))
    return found


def cell(seconds):
    if None in seconds:
        return f"not within {LONGEST} s"
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return " / ".join(f"{1000 * value:.1f}" for value in (statistics.median(ordered), p95, ordered[-1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=REPOSITORY / "build/release/bin", help="folder of zarrfs")
    parser.add_argument("--tries", type=int, default=20, help="of each kind of change (default: 20)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("delay.py: terminated"))  # unmount on the way out
    print(f"{'ms, median / p95 / max of ' + str(args.tries):36}" + "".join(f"{name:>28}" for name in MOUNTS))
    columns = {}
    for name, options in MOUNTS.items():
        with tempfile.TemporaryDirectory(prefix="zarrfs-delay-") as folder:
            store = Store(pathlib.Path(folder))
            try:
                command = [args.bin.resolve() / "zarrfs", store.link, "MNT", "-f", *options]
                with mounted((command, "."), folder) as mount:
                    for title, change in CHANGES.items():
                        columns[name, title] = cell(delays(store, change, mount.point, args.tries))
            except RuntimeError as error:
                print(f"delay.py: {name}: {error}", file=sys.stderr)
    for title in CHANGES:
        print(f"{title:36}" + "".join(f"{columns.get((name, title), '-'):>28}" for name in MOUNTS))


if __name__ == "__main__":
    main()
