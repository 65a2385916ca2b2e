"""The store of the arrays of generated.py, and what is read from it: fixtures."""

import json
import shutil
import warnings

import numpy as np
import pytest
from arrays import bytes_codec, write_group, write_with_tensorstore, write_with_zarr_python
from expectations import serving
from generated import KINDS, generated
from mounts import zarrctl
from serving import TRANSCODED

PIPELINES = {"zarrs": "zarrs.ZarrsCodecPipeline", "zarr-python": "zarr.core.codec_pipeline.BatchedCodecPipeline"}


@pytest.fixture(scope="session")
def random_store(tmp_path_factory):
    import zarr

    folder = tmp_path_factory.mktemp("generated") / "store"
    write_group(folder)
    for kind in KINDS:
        write_group(folder / kind.name)
    for case in generated():
        with zarr.config.set({"codec_pipeline.path": PIPELINES.get(case.writer)}), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # zarrs hands what it does not know to zarr-python; then it would be tested twice and zarrs not at all.
            warnings.filterwarnings("error", message="Array is unsupported by ZarrsCodecPipeline")
            (write_with_tensorstore if case.writer == "tensorstore" else write_with_zarr_python)(folder / case.name, case)
    return folder


@pytest.fixture(scope="session")
def originals(random_store):
    """name -> what is read from the store itself."""
    import tensorstore
    import zarr

    values = {}
    with warnings.catch_warnings(), zarr.config.set({"codec_pipeline.path": PIPELINES["zarr-python"]}):
        warnings.simplefilter("ignore")
        for case in generated():
            path = str(random_store / case.name)
            if case.kind.is_narrow:
                spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/"}}
                values[case.name] = np.asarray(tensorstore.open(spec).result().read().result())
            else:
                read = zarr.open_array(path, mode="r")[...]
                dtype = object if case.kind.is_text else case.kind.dtype
                values[case.name] = np.array(read.tolist(), object) if case.kind.name == "string" else np.asarray(read, dtype)
    return values


@pytest.fixture(scope="session")
def opaque(random_store, tmp_path_factory):
    """name -> the bytes of the elements, of types that numpy has not: what a copy whose zarr.json calls them integers gives."""
    import tensorstore

    folder = tmp_path_factory.mktemp("opaque")
    values = {}
    for case in generated():
        if case.kind.is_narrow:
            shutil.copytree(random_store / case.name, folder / case.name)
            document = json.loads((folder / case.name / "zarr.json").read_text())
            size = case.kind.dtype.itemsize
            fill = np.array(document["fill_value"], "float32").astype(case.kind.dtype).view(f"u{size}")
            if case.kind.name.startswith("int"):
                fill &= (1 << int(case.kind.name[3:])) - 1  # the specification of the type: the other bits are 0
            (folder / case.name / "zarr.json").write_text(json.dumps(
                {**document, "data_type": f"uint{8 * size}", "fill_value": int(fill)}))
            spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(folder / case.name) + "/"}}
            numbers = np.asarray(tensorstore.open(spec).result().read().result())
            if bytes_codec("big") in case.inner_codecs and serving("v2", case)[0] != TRANSCODED:
                numbers = numbers.byteswap()
            values[case.name] = numbers.view(f"V{size}")
    return values


@pytest.fixture(scope="session")
def information(random_store):
    """name -> view -> what zarrctl says that the view does with the array."""
    said = zarrctl("info", "--json", random_store)
    assert said.returncode == 0, said.stderr
    return {node["path"]: node["views"] for node in json.loads(said.stdout)["nodes"] if node["node_type"] == "array"}
