"""Writes the Icechunk repositories of this folder, and what icechunk itself reads from them (expected.json).

    python tests/data/icechunk/make.py TARGET SPEC     icechunk 1.1 writes SPEC 1, icechunk 2.3 SPEC 1 and 2

v1 was written by icechunk 1.1.21 with zarr-python 3.1.6, v2 by icechunk 2.3.0 with zarr-python 3.4.2. Ids are random and times are
those of the day, so each run writes other files.
"""

import asyncio
import hashlib
import json
import pathlib
import shutil
import sys

import icechunk
import numpy as np
import zarr
from zarr.codecs import BloscCodec, ZstdCodec
from zarr.core.buffer import default_buffer_prototype


def temperature(day):
    """Sharded; larger than a chunk that is stored inline."""
    x = np.arange(4 * 24 * 20, dtype="float32").reshape(4, 24, 20)
    return np.sin(x * 0.37) * 100 + x + day


def commit(repository, message, branch="main"):
    """A session to write in, and what commits it."""
    session = repository.writable_session(branch)
    return session, lambda: session.commit(message)


def write(target, spec):
    shutil.rmtree(target, ignore_errors=True)
    config = icechunk.RepositoryConfig.default()
    split = icechunk.ManifestSplittingConfig.from_dict({
        icechunk.ManifestSplitCondition.name_matches("split"): {icechunk.ManifestSplitDimCondition.Axis(0): 2,
                                                                icechunk.ManifestSplitDimCondition.Axis(1): 3}})
    config.manifest = icechunk.ManifestConfig(splitting=split)
    config.set_virtual_chunk_container(
        icechunk.VirtualChunkContainer("file:///nowhere/", icechunk.local_filesystem_store("/nowhere")))
    version = {"spec_version": spec} if not icechunk.__version__.startswith("1.") else {}
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(target)), config=config, **version)

    session, done = commit(repository, "first arrays")
    root = zarr.create_group(session.store, attributes={"title": "An icechunk repository"})
    array = root.create_array(
        "temperature", shape=(4, 24, 20), shards=(2, 12, 20), chunks=(1, 6, 10), dtype="float32", fill_value=0,
        compressors=BloscCodec(cname="zstd", clevel=3, shuffle="shuffle"), dimension_names=("time", "lat", "lon"),
        attributes={"units": "K"})
    array[:] = temperature(0)
    array[:2, :12] = 0  # a shard that is not stored
    small = root.create_array("small", shape=(5, 7), chunks=(2, 3), dtype="int16", fill_value=-1, compressors=ZstdCodec(level=1),
                              dimension_names=("y", "x"))
    small[:] = np.arange(35, dtype="int16").reshape(5, 7)
    small[2:4, 3:6] = -1  # and a chunk
    scalar = root.create_array("scalar", shape=(), chunks=(), dtype="float64", fill_value=0)
    scalar[...] = 42.5
    group = root.create_group("a", attributes={"what": "a group"})
    group.create_group("b")
    inner = group.create_array("b/native", shape=(3000,), chunks=(1000,), dtype="uint16", fill_value=0, compressors=None,
                               dimension_names=("n",))
    inner[:] = (np.arange(3000) * 7919 % 65521).astype("uint16")
    root.create_group("a-b")  # between a and a/b, as bytes are compared
    first = done()
    repository.create_tag("v1.0", snapshot_id=first)
    repository.create_tag("gone", snapshot_id=first)
    repository.delete_tag("gone")

    session, done = commit(repository, "split manifests, and an array that changes")
    root = zarr.open_group(session.store, mode="r+")
    array = root.create_array("split", shape=(5, 8, 2), chunks=(1, 1, 2), dtype="int32", fill_value=0, compressors=None)
    array[:] = np.arange(80, dtype="int32").reshape(5, 8, 2)
    root["temperature"][2:, 12:] = temperature(1)[2:, 12:]
    root["small"].resize((3, 7))
    second = done()
    repository.create_branch("dev", snapshot_id=first)

    session, done = commit(repository, "on another branch", "dev")
    zarr.open_group(session.store, mode="r+")["a/b/native"][:1000] = 1
    done()

    session, done = commit(repository, "an array of references to a file that is not here")
    root = zarr.open_group(session.store, mode="r+")
    root.create_array("virtual", shape=(4,), chunks=(2,), dtype="uint8", fill_value=0, compressors=None)
    session.store.set_virtual_ref("virtual/c/0", "file:///nowhere/ocean.nc", offset=100, length=2, validate_container=False)
    done()
    if spec == 2:
        session = repository.rearrange_session("main")
        session.move("/a/b", "/moved")
        session.commit("a group that moves")
    return repository, {"tag.v1.0": first, "at": second}


def expectations(repository, at):
    """What icechunk answers for each key, and zarr-python for each array."""
    kind, _, name = at.partition(".")
    where = {"branch": name} if kind == "branch" else {"tag": name} if kind == "tag" else {"snapshot_id": at}
    session = repository.readonly_session(**where)
    store = session.store
    answer = {"snapshot": session.snapshot_id, "keys": {}, "arrays": {}}

    async def keys():
        async for key in store.list():
            if key.startswith("virtual/c"):
                continue
            got = await store.get(key, prototype=default_buffer_prototype())
            answer["keys"][key] = hashlib.sha256(got.to_bytes()).hexdigest()

    asyncio.run(keys())
    for path, node in zarr.open_group(store, mode="r").members(max_depth=None):
        if isinstance(node, zarr.Array) and path != "virtual":
            values = np.asarray(node[...])
            answer["arrays"][path] = {"dtype": values.dtype.str, "shape": values.shape,
                                      "sha256": hashlib.sha256(values.tobytes()).hexdigest()}
    return answer


def main(target, spec):
    target = pathlib.Path(target)
    repository, names = write(target, spec)
    expected = {at: expectations(repository, at) for at in ("branch.main", "branch.dev", "tag.v1.0", names["at"])}
    target.with_suffix(".json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
