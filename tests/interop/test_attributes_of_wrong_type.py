"""Attributes that mean something by their names, with values that cannot mean it: everything else is as if they were called `foo`.

Attributes of OME-Zarr: test_ome_by_structure.py.
"""

import itertools
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import zarr
from mounts import ZARR2_PYTHON, mounted, zarrctl
from scipy.io import netcdf_file

# By JSON type; those that have elements with one of the wrong type, too.
VALUES = [None, True, 5, 1.5, "text", [], [1, 2, 3], ["a", 1], {}, {"a": 1}, {"types": 5}]
TEXTS = [value for value in VALUES if not isinstance(value, str)]
NCZARR = [value for value in VALUES if not isinstance(value, dict)]
TRIGGERS = {
    "_FillValue": VALUES,
    "_ARRAY_DIMENSIONS": VALUES,
    "_NCZARR_ATTR": NCZARR,
    "_NCZARR_ARRAY": NCZARR,
    "_nczarr_attr": NCZARR,
    "_nczarr_array": NCZARR,
    "_nczarr_group": NCZARR,
    "units": TEXTS,
    "calendar": TEXTS,
    "dtype": TEXTS,
    "coordinates": VALUES,
}
# Values that are right after all, for some arrays.
RIGHT = {("_FillValue", name): values for name, values in {
    "short": [5], "float": [5, 1.5], "bool": [True], "date": [5], "text": VALUES}.items()}
DATA = {
    "short": np.arange(6, dtype="i2").reshape(2, 3),
    "float": np.arange(6, dtype="f4").reshape(2, 3),
    "bool": np.arange(6).reshape(2, 3) % 2 == 0,
    "date": np.arange(6).reshape(2, 3).astype("M8[s]"),
}


def is_right(trigger, array, value):
    return any(type(value) is type(one) and value == one for one in RIGHT.get((trigger, array), []))


def put(document, attributes, zarr_format):
    if zarr_format == 2:
        document.with_name(".zattrs").write_text(json.dumps(attributes))
    else:
        document.write_text(json.dumps({**json.loads(document.read_text()), "attributes": attributes}))


@pytest.fixture(scope="module", params=[2, 3])
def store(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong") / "store.zarr"
    zarr.create_group(folder, zarr_format=request.param)
    template = tmp_path_factory.mktemp("wrong") / "template"
    group = zarr.create_group(template, zarr_format=request.param)
    for name, values in DATA.items():
        options = {"shards": (2, 4)} if request.param == 3 else {}
        array = group.create_array(name, shape=(2, 3), chunks=(1, 2), dtype=values.dtype, fill_value=values[0, 0], compressors=None, **options)
        array[:, :2] = values[:, :2]  # one chunk is not stored
    document = ".zgroup" if request.param == 2 else "zarr.json"
    for trigger in [*TRIGGERS, "foo"]:
        zarr.create_group(folder / trigger, zarr_format=request.param)
        for number, value in enumerate(VALUES):
            if value not in TRIGGERS.get(trigger, VALUES):
                continue
            shutil.copytree(template, folder / trigger / str(number))
            attributes = {"title": "t", trigger: value}
            put(folder / trigger / str(number) / document, attributes, request.param)
            for name in DATA:
                array_document = folder / trigger / str(number) / name / (".zarray" if request.param == 2 else "zarr.json")
                put(array_document, attributes, request.param)
    return request.param, folder


@pytest.fixture(scope="module")
def mount(store):
    zarr_format, folder = store
    with mounted(folder) as point:
        yield zarr_format, folder, point, zarrctl("info", "-l", folder).stdout


def files(folder, trigger, value):
    """But of arrays whose value is right; and .zmetadata, which has what the others have."""
    found = {str(pathlib.Path(top, name).relative_to(folder)) for top, _, names in os.walk(folder) for name in names}
    return {name for name in found if name != ".zmetadata" and not is_right(trigger, name.partition("/")[0], value)}


def is_as_foo(attributes, foo, trigger, info):
    """Whether the attributes are those of `foo`: with the other name; or without it, and `info` says so."""
    other = {key: value for key, value in foo.items() if key != "foo"}
    if "foo" not in foo or attributes == {**other, trigger: foo["foo"]}:
        return attributes == {**other, **({trigger: foo["foo"]} if "foo" in foo else {})}
    return attributes == other and f"attribute {trigger} left out" in info


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_views_are_as_if_the_attribute_had_another_name(mount, trigger):
    zarr_format, folder, point, info = mount
    wrong = []
    for view, (number, value) in itertools.product(("v2", "v3", "gdal", "netcdf", "java"), enumerate(VALUES)):
        if value not in TRIGGERS[trigger]:
            continue
        ours, other = point / view / trigger / str(number), point / view / "foo" / str(number)
        names = files(ours, trigger, value)
        assert names == files(other, trigger, value), (view, value)
        for name in names:
            text, expected = (ours / name).read_bytes(), (other / name).read_bytes()
            if view == "v2" and zarr_format == 2:
                is_same = text == (folder / trigger / str(number) / name).read_bytes()
            elif name.endswith(".zattrs"):
                is_same = is_as_foo(json.loads(text), json.loads(expected), trigger, info)
            elif name.endswith("zarr.json"):
                documents = [json.loads(text), json.loads(expected)]
                is_same = is_as_foo(documents[0].pop("attributes"), documents[1].pop("attributes"), trigger, info)
                is_same = is_same and documents[0] == documents[1]
            else:
                is_same = text == expected
            if not is_same:
                wrong.append((view, value, name, text, expected))
    assert not wrong, "\n".join(map(str, wrong))


def variables(path):
    with netcdf_file(path, mmap=False) as file:
        return {name: (each.dimensions, each.data.dtype.str, each.data.tobytes(),
                       {key: np.asarray(item).tolist() for key, item in each._attributes.items()})
                for name, each in file.variables.items()}, {key: np.asarray(item).tolist() for key, item in file._attributes.items()}


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_files_of_whole_arrays_are_as_if_the_attribute_had_another_name(mount, trigger):
    _, _, point, info = mount
    for number, value in enumerate(VALUES):
        if value not in TRIGGERS[trigger]:
            continue
        for name in DATA:
            paths = [point / "npy" / each / str(number) / f"{name}.npy" for each in (trigger, "foo")]
            assert paths[0].read_bytes() == paths[1].read_bytes()
        ours, of_group = variables(point / f"nc/{trigger}/{number}.nc")
        others, of_other = variables(point / f"nc/foo/{number}.nc")
        assert of_group == {trigger if key == "foo" else key: item for key, item in of_other.items()}
        for name, (*expected, attributes) in others.items():
            *found, given = ours[name]
            if not is_right(trigger, name, value):
                assert found == expected, (name, value)
                assert is_as_foo(given, attributes, trigger, info), (name, value, given, attributes)


def test_old_xarray_reads_the_same_numbers(mount):
    zarr_format, _, point, _ = mount
    if zarr_format == 2:
        return  # v2 is the store itself, byte for byte
    script = """
import json, pathlib, sys, xarray
seen = {}
for group in sorted(pathlib.Path(sys.argv[1]).glob("[!.]*/[!.]*")):
    data = xarray.open_zarr(group, consolidated=False, decode_coords=False)
    seen["/".join(group.parts[-2:])] = {name: [str(each.dtype), str(each.values.tolist())] for name, each in data.variables.items()}
print(json.dumps(seen))
"""
    said = subprocess.run([ZARR2_PYTHON, "-W", "ignore", "-c", script, point / "v2"], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr[-2000:]
    seen = json.loads(said.stdout)
    assert "units/2" in seen
    for group, arrays in seen.items():
        trigger, number = group.split("/")
        for name, values in arrays.items():
            if not is_right(trigger, name, VALUES[int(number)]):
                assert values == seen[f"foo/{number}"][name], group
