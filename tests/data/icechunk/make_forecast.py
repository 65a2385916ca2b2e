"""Writes the Icechunk repositories forecast-v1 and forecast-v2, laid out as dynamical.org publishes ECMWF AIFS but small, and what icechunk itself
reads from each of their commits (forecast-v1.json, forecast-v2.json); and the repository `references`, an array of 20,000 virtual chunks.

    python tests/data/icechunk/make_forecast.py FOLDER

They were written by icechunk 2.3.0 with zarr-python 3.4.2. AIFS has the chunks 1x61x241x240 in shards 1x61x723x1440; here the sizes are some
thirtieth of that, and shards are larger than the array, too. Of version 1 nothing is stored inline. The branch is at the first commit. The
second one corrects a shard; the third appends a forecast. Of version 2, `repo.2` and `repo.3` are what `repo` was after these commits, and the
branch of MONTHS has a rectilinear array. Of version 1, `repo.upgraded` is what icechunk made of it after the third commit.
"""

import json
import pathlib
import shutil
import sys

import icechunk
import numpy as np
import zarr
from make import commit, expectations
from zarr.codecs import BloscCodec

LEADS, LATITUDES, LONGITUDES = 6, 26, 48
CHUNK, SHARD = (1, LEADS, 9, 8), (1, LEADS, 27, 48)
VARIABLES = {"temperature_2m": "degree_Celsius", "precipitation_surface": "kg m-2 s-1"}
REFERENCES = 20_000
MONTHS = "exp/\u00e9"
# 255 bytes are not enough for the last one.
NAMES = {1: ["50%", "a b", "x\ny"], 2: ["50%", "a b", "x\ny", "..", "\u0436" * 130]}


def forecast(variable, number):
    """Rounded as they are: 9 bits of the mantissa are kept."""
    x = np.arange(LEADS * LATITUDES * LONGITUDES, dtype="f8").reshape(1, LEADS, LATITUDES, LONGITUDES)
    values = (np.sin(x / 97 + len(variable)) * 20 + number).astype("f4")
    return (values.view("u4") & 0xFFFFC000).view("f4")


def create(root, name, values, dimensions, chunks=None, shards=None, **attributes):
    values = np.asarray(values)
    floats = {"fill_value": float("nan")} if values.dtype.kind == "f" else {"fill_value": 0}
    array = root.create_array(
        name, shape=values.shape, chunks=chunks or values.shape, shards=shards, dtype=values.dtype, dimension_names=dimensions,
        compressors=BloscCodec(cname="zstd", clevel=3, shuffle="shuffle", typesize=values.itemsize), attributes=attributes, **floats)
    array[...] = values


def first_forecasts(root):
    seconds = {"units": "seconds since 1970-01-01 00:00:00", "calendar": "proleptic_gregorian"}
    init = 1711929600 + 21600 * np.arange(2)  # 2024-04-01
    lead = 21600 * np.arange(LEADS)
    # With room to append, as their chunks are.
    create(root, "init_time", init, ["init_time"], chunks=(1000,), **seconds)
    create(root, "lead_time", lead, ["lead_time"], units="seconds")
    create(root, "latitude", np.linspace(90, -90, LATITUDES), ["latitude"], units="degrees_north")
    create(root, "longitude", np.linspace(-180, 172.5, LONGITUDES), ["longitude"], units="degrees_east")
    create(root, "valid_time", init[:, None] + lead, ["init_time", "lead_time"], chunks=(1000, LEADS), **seconds)
    create(root, "spatial_ref", np.int64(0), [], grid_mapping_name="latitude_longitude", semi_major_axis=6371229.0)
    for name, units in VARIABLES.items():
        values = np.concatenate([forecast(name, number) for number in range(2)])
        create(root, name, values, ["init_time", "lead_time", "latitude", "longitude"], CHUNK, SHARD, units=units,
               coordinates="spatial_ref valid_time", grid_mapping="spatial_ref")


def append(root):
    for name in ("init_time", "valid_time", *VARIABLES):
        array = root[name]
        array.resize((3, *array.shape[1:]))
        array[2:] = forecast(name, 2) if name in VARIABLES else array[1:2] + 21600


def write(target, spec):
    shutil.rmtree(target, ignore_errors=True)
    config = icechunk.RepositoryConfig.default()
    if spec == 1:
        config.inline_chunk_threshold_bytes = 0
    storage = icechunk.local_filesystem_storage(str(target))
    repository = icechunk.Repository.create(storage, config=config, spec_version=spec)
    changes = {
        "the first two forecasts": first_forecasts,
        "a shard is corrected": lambda root: root["temperature_2m"].set_basic_selection((1, slice(None), 3, 4), -1.5),
        "a forecast is appended": append,
    }
    expected = {}
    pointer = target / ("repo" if spec == 2 else "refs/branch.main/ref.json")
    for number, (message, change) in enumerate(changes.items(), 1):
        session, done = commit(repository, message)
        change(zarr.create_group(session.store, attributes={"dataset_id": "ecmwf-aifs-single-forecast", "attribution": "ECMWF"})
               if number == 1 else zarr.open_group(session.store, mode="r+"))
        snapshot = done()
        expected[str(number)] = expectations(repository, "branch.main")
        for name in NAMES[spec] if number == 1 else []:
            repository.create_branch(name, snapshot_id=snapshot)
        if number == 1 and spec == 2:
            repository.create_branch(MONTHS, snapshot_id=snapshot)
            session, done = commit(repository, "months of days", MONTHS)
            zarr.open_group(session.store, mode="r+").create_array(
                "months", shape=(90, 9), chunks=(1, 3), shards=[[31, 28, 31], [3, 6]], dtype="f4", fill_value=0, dimension_names=("time", "lat"),
            )[...] = np.arange(810, dtype="f4").reshape(90, 9)
            done()
            expected["months"] = expectations(repository, f"branch.{MONTHS}")
        shutil.copy(pointer, target / f"{pointer.name}.{number}")
    last = pointer.read_bytes()
    (target / f"{pointer.name}.1").rename(pointer)
    if spec == 1:  # the ids say it
        for number in (2, 3):
            (target / f"{pointer.name}.{number}").unlink()
        upgraded = target.with_name("upgraded")
        shutil.copytree(target, upgraded)
        (upgraded / "refs/branch.main/ref.json").write_bytes(last)
        for branch in upgraded.glob("refs/*%*"):  # icechunk 2.3.0 does not find them
            shutil.rmtree(branch)
        icechunk.upgrade_icechunk_repository(icechunk.Repository.open(icechunk.local_filesystem_storage(str(upgraded))), dry_run=False)
        shutil.copy(upgraded / "repo", target / "repo.upgraded")
        shutil.rmtree(upgraded)
    return expected


def write_references(target):
    """The address of a file is that of ten chunks."""
    shutil.rmtree(target, ignore_errors=True)
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(target)))
    session, done = commit(repository, "references")
    zarr.open_group(session.store, mode="w").create_array(
        "t", shape=(1000 * REFERENCES,), chunks=(1000,), dtype="u1", compressors=None, fill_value=0)
    session.store.set_virtual_refs("t", [
        icechunk.VirtualChunkSpec([at], f"s3://bucket/data/of-some-length/file{at // 10:08}.nc", at % 10 * 1000, 1000, None)
        for at in range(REFERENCES)], validate_containers=False)
    done()


def main(folder):
    zarr.config.set({"array.rectilinear_chunks": True})
    for spec in (1, 2):
        target = folder / f"forecast-v{spec}"
        expected = write(target, spec)
        target.with_suffix(".json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
    write_references(folder / "references")
    for target in (*folder.glob("forecast-v?"), folder / "references"):
        for name in ("transactions", "overwritten"):  # they are not read
            shutil.rmtree(target / name, ignore_errors=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
