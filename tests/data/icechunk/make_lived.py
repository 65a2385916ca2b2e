"""Writes the Icechunk repositories lived-v1 and lived-v2, whose history was amended, expired and collected, and what icechunk itself reads
from them (lived-v1.json, lived-v2.json).

    python tests/data/icechunk/make_lived.py FOLDER

They were written by icechunk 2.3.0 with zarr-python 3.4.2.
"""

import datetime
import json
import pathlib
import shutil
import sys

import icechunk
import numpy as np
import zarr
from make import commit, expectations


def now():
    return datetime.datetime.now(datetime.UTC)


def write(target, spec):
    shutil.rmtree(target, ignore_errors=True)
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(target)), spec_version=spec)
    session, done = commit(repository, "first arrays")
    root = zarr.create_group(session.store)
    sharded = root.create_array("sharded", shape=(64, 64), shards=(32, 32), chunks=(8, 8), dtype="uint16", fill_value=0, compressors=None)
    sharded[:] = np.arange(64 * 64, dtype="uint16").reshape(64, 64)
    root.create_array("inline", shape=(4,), chunks=(2,), dtype="int32", fill_value=0)[:] = 7
    root.create_array("leaves", shape=(2000,), chunks=(500,), dtype="int32", fill_value=0, compressors=None)[:] = 1
    root.create_array("grows", shape=(1000,), chunks=(500,), dtype="int32", fill_value=0, compressors=None)[:] = 2
    if spec == 2:
        root.create_array("rectilinear", shape=(6, 50), chunks=[[1, 2, 3], [40, 10]], dtype="int64", fill_value=0,
                          compressors=None)[:] = np.arange(300).reshape(6, 50)
    first = done()
    session, done = commit(repository, "a shard changes, an array leaves, one grows and one shrinks")
    root = zarr.open_group(session.store, mode="r+")
    root["sharded"][:32, 32:] = 5
    del root["leaves"]
    root["grows"].resize((2500,))
    root["grows"][2000:] = 3
    root["inline"].resize((2,))
    second = done()
    if spec == 2:
        session = repository.writable_session("main")
        zarr.open_group(session.store, mode="r+")["inline"][:] = 9
        session.amend("the same, amended")
        session = repository.rearrange_session("main")
        session.move("/grows", "/moved")
        session.commit("an array moves")
    repository.expire_snapshots(now())
    session, done = commit(repository, "after the end of history")
    zarr.open_group(session.store, mode="r+")["sharded"][32:, :32] = 6
    done()
    repository.expire_snapshots(now())
    repository.garbage_collect(now())
    return repository, [first, second]


def main(folder):
    zarr.config.set({"array.rectilinear_chunks": True})
    for spec in (1, 2):
        target = folder / f"lived-v{spec}"
        repository, expired = write(target, spec)
        expected = {"branch.main": expectations(repository, "branch.main"), "expired": expired}
        target.with_suffix(".json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
        for name in ("transactions", "overwritten"):  # they are not read
            shutil.rmtree(target / name, ignore_errors=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
