"""The random store by references (`zarrctl refs`) and packed (`zarrctl pack`): readers read what they read from it, or are told what is left out."""

import re

import pytest
from digest import describe
from expectations import as_seen, serving, why_unreadable
from generated import generated
from mounts import ZARR2_PYTHON, mounted, read, run_reader, zarrctl
from remote import tree
from serving import CUT, EXACT, NOT_SHOWN, TRANSCODED
from zarrctl_runs import resolved

READ_REFERENCES = [ZARR2_PYTHON, "read_references.py", "file"]


@pytest.fixture(scope="module")
def point(random_store):
    with mounted(random_store) as point:
        yield point


@pytest.fixture(scope="module")
def rightly_read(originals, opaque):
    """All that a reader may say of an array as the view has it."""
    def of(reader, view, case):
        return [describe(values) for values in as_seen(reader, view, case.kind, originals[case.name], opaque.get(case.name))]

    return of


def cases_of(view, *servings):
    return {case.name: case for case in generated() if serving(view, case)[0] in servings}


def refer(store, out, *options):
    """The exit code, and the arrays that are said to be left out."""
    result = zarrctl("refs", store, "--out", out, *options)
    line_of = re.compile(rf"zarrctl: {re.escape(str(store))}/(\S+): left out: .+")
    return result.returncode, {line_of.fullmatch(line)[1] for line in result.stderr.splitlines()}


def test_references_have_the_values_of_the_store_or_the_array_is_told(random_store, rightly_read, tmp_path):
    ranges, inlined = tmp_path / "ranges.json", tmp_path / "inlined.json"
    told = {ranges: refer(random_store, ranges), inlined: refer(random_store, inlined, "--inline-decoded", "1M")}
    seen = run_reader(READ_REFERENCES, [ranges, inlined])
    for out, cases in [(ranges, cases_of("v2", EXACT, CUT)), (inlined, cases_of("v2", EXACT, CUT, TRANSCODED))]:
        assert told[out] == (3, {case.name for case in generated()} - set(cases))
        arrays = seen[str(out)]["zarr"]
        assert set(arrays) == set(cases)
        assert not [str(case) for name, case in cases.items() if arrays[name] not in rightly_read("zarr-python-2", "v2", case)]
    assert len(seen[str(ranges)]["zarr"]) >= 200


@pytest.mark.parametrize("view", ["v2", "v3"])
def test_references_have_the_bytes_of_the_files_in_a_mount(random_store, point, tmp_path, view):
    _, told = refer(random_store, out := tmp_path / "refs.json", "--view", view)
    files = {name: content for name, content in tree(point / view).items() if "/".join(name.split("/")[:2]) not in told}
    referred = dict(resolved(out))
    differing = {name for name in files.keys() | referred.keys() if files.get(name) != referred.get(name)}
    assert not {name for name in differing if not name.endswith(".zmetadata")}  # which are of all that is there
    assert len(files) > 1000


def is_opaque(view, case):
    """Whether elements are bytes without meaning, or structures: zarr-python 3 reads no shards of such, tensorstore sees one more dimension."""
    return view == "v2" if case.kind.is_narrow else case.kind.dtype.kind == "V"


def is_known(reader, view, case):
    """Whether the reader knows the packed array, which has no codecs of numcodecs any more."""
    return not is_opaque(view, case) and why_unreadable(reader, case) in ("", "has no codecs of numcodecs")


@pytest.mark.parametrize("view", ["v2", "v3"])
def test_a_packed_copy_has_the_values_of_the_store(point, rightly_read, tmp_path, view):
    result = zarrctl("pack", "--verify", point / view, new := tmp_path / "new.zarr")
    assert (result.returncode, result.stderr) == (0, "")
    cases = [case for case in generated() if serving(view, case)[0] != NOT_SHOWN]
    assert {str(path.parent.relative_to(new)) for path in new.glob("*/*/zarr.json")} == {case.name for case in cases}

    compared = set()

    def compare(reader, folder, some):
        for case, entry in zip(some, read(reader, [folder / case.name for case in some])):
            assert "error" not in entry, (str(case), entry)
            assert {key: entry[key] for key in ("shape", "dtype", "sha256")} in rightly_read(reader, view, case), str(case)
            compared.add(case.name)

    for reader in ("zarr-python-3", "tensorstore-v3"):
        compare(reader, new, [case for case in cases if is_known(reader, view, case)])
    with mounted(new) as mount:
        compare("zarr-python-3", mount / "v3", [case for case in cases if is_opaque(view, case)])
    assert compared == {case.name for case in cases}
