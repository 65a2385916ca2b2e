"""Attributes that are merely called as those of OME-Zarr are: values, documents and new stores are as if they had another name."""

import json
import subprocess

import numpy as np
import pytest
import zarr
from mounts import ROOT, ZARRCTL, mounted

OLD_XARRAY = ROOT / "build/python/zarr2/bin/python"

# What users have: boreholes, assays, GeoZarr, maps by ndpyramid.
ATTRIBUTES = {
    "well": "34/10-A-8",
    "plate": "NAZ",
    "multiscales": {"layout": [{"asset": "r10m"}], "resampling_method": "mean"},
    "ome": "text",
    "labels": ["a"],
    "image-label": {"colors": []},
    "bioformats2raw.layout": "three",
}
FACIES = np.array([[0, 1, 2], [0, 0, 3]], "i2")


def write(folder, zarr_format):
    for name, value in {**ATTRIBUTES, "foo": "34/10-A-8"}.items():
        group = zarr.create_group(folder / f"{name}.zarr", zarr_format=zarr_format, attributes={name: value, "title": "t"})
        options = {"dimension_names": ["depth", "trace"], "shards": (2, 3)} if zarr_format == 3 else {}
        array = group.create_array("facies", shape=(2, 3), chunks=(1, 3), dtype="i2", fill_value=0, compressors=None, **options)
        array[:] = FACIES
        if zarr_format == 2:
            array.attrs["_ARRAY_DIMENSIONS"] = ["depth", "trace"]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_zeros_stay_zeros(tmp_path, name):
    write(tmp_path, 3)
    with mounted(tmp_path / f"{name}.zarr") as point, mounted(tmp_path / "foo.zarr") as other:
        script = ("import json, sys, xarray\n"
                  "a = xarray.open_zarr(sys.argv[1], consolidated=False)['facies']\n"
                  "print(json.dumps([str(a.dtype), a.values.tolist()]))")
        said = subprocess.run([OLD_XARRAY, "-W", "ignore", "-c", script, point / "v2"], capture_output=True, text=True, check=True)
        assert json.loads(said.stdout) == ["int16", FACIES.tolist()]
        documents = ["v2/facies/.zarray", "v3/facies/zarr.json"]
        assert [(point / each).read_bytes() for each in documents] == [(other / each).read_bytes() for each in documents]
        for view in ("v2/.zattrs", "v3/zarr.json"):
            attributes = json.loads((point / view).read_text())
            assert attributes.get("attributes", attributes) == {name: ATTRIBUTES[name], "title": "t"}


def test_attributes_of_old_stores_stay_where_they_are(tmp_path):
    write(tmp_path, 2)
    for name, value in ATTRIBUTES.items():
        store = tmp_path / f"{name}.zarr"
        with mounted(store) as point:
            assert json.loads((point / "v3/zarr.json").read_text())["attributes"] == {name: value, "title": "t"}
            assert (point / "v2/.zattrs").read_bytes() == (store / ".zattrs").read_bytes()
        packed = tmp_path / f"{name}-packed.zarr"
        subprocess.run([ZARRCTL, "pack", store, packed], check=True, capture_output=True)
        assert json.loads((packed / "zarr.json").read_text())["attributes"] == {name: value, "title": "t"}
        assert np.array_equal(zarr.open(packed)["facies"][:], FACIES)
