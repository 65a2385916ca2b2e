"""zarrctl and names of branches and tags: what an Icechunk repository needs besides being mounted."""

import json
import shutil

import pytest

from mounts import mounted, read, zarrctl
from test_icechunk_all import DATA, EXPECTED, wait_for

TAG = "at=tag.v1.0"


@pytest.mark.parametrize("version", EXPECTED)
def test_zarrctl_verifies_each_chunk_of_a_commit(version, tmp_path):
    run = zarrctl("verify", "--json", DATA / version, "-o", TAG)
    found = json.loads(run.stdout)
    assert run.returncode == 0 and found["complete"] and found["arrays"] == 4 and found["damaged"] == 0, run
    repository = tmp_path / "r.icechunk"
    shutil.copytree(DATA / version, repository)
    place = zarrctl("where", "--json", repository, "temperature", "3.3.1", "-o", TAG)
    chunk = repository / "chunks" / json.loads(place.stdout)["file"].rsplit("/", 1)[1]
    chunk.write_bytes(chunk.read_bytes()[:-4] + b"\xff" * 4)  # the checksum of the shard's index
    run = zarrctl("verify", repository, "-o", TAG)
    assert run.returncode != 0 and "temperature/c/" in run.stdout + run.stderr, run
    chunk.unlink()
    run = zarrctl("verify", repository, "-o", TAG)
    assert run.returncode != 0 and "missing in the repository" in run.stdout + run.stderr, run


@pytest.mark.parametrize("version", EXPECTED)
def test_zarrctl_maps_an_array_of_a_commit(version):
    run = zarrctl("map", "--json", DATA / version, "temperature", "-o", TAG)
    found = json.loads(run.stdout)
    assert run.returncode == 0 and found["chunks_per_shard"] == [2, 2, 2] and found["stored"] > 0, run
    assert all(cell["object"].startswith("temperature/c/") for cell in found["cells"] if cell["stored"])


def test_zarrctl_refers_to_chunks_of_a_commit_by_their_bytes(tmp_path):
    out = tmp_path / "refs.json"
    run = zarrctl("refs", DATA / "v2", "--out", out, "-o", TAG)
    assert run.returncode != 0 and "--inline-decoded" in run.stderr, run
    out.unlink(missing_ok=True)
    run = zarrctl("refs", DATA / "v2", "--out", out, "--inline-decoded", "1 MiB", "-o", TAG)
    assert run.returncode == 0, run
    refs = json.loads(out.read_text())["refs"]
    assert "temperature/.zarray" in refs and refs["small/0.0"].startswith("base64:"), list(refs)
    assert not any(isinstance(value, list) for value in refs.values()), "no object is referred to"


def test_zarrctl_packs_each_commit_of_all(tmp_path):
    packed = tmp_path / "packed"
    run = zarrctl("pack", DATA / "v2", packed, "-o", "at=all", "--only", "tag.v1.0", "--only", "branch.dev")
    assert run.returncode == 0, run
    for at in ("tag.v1.0", "branch.dev"):
        arrays = EXPECTED["v2"][at]["arrays"]
        seen = read("zarr-python-3", [packed / at / path for path in arrays])
        assert [one.get("sha256") for one in seen] == [one["sha256"] for one in arrays.values()], at
    run = zarrctl("pack", DATA / "v2", tmp_path / "no", "-o", "at=all")
    assert run.returncode != 0 and "branch.main/virtual/c/0: a virtual chunk" in run.stderr, run


def test_a_branch_whose_name_is_stored_encoded_is_found_by_its_name(tmp_path):
    repository = tmp_path / "r.icechunk"
    shutil.copytree(DATA / "v1", repository)
    (repository / "refs/branch.dev").rename(repository / "refs/branch.%C3%A9t%C3%A9")
    (repository / "refs/tag.gone").rename(repository / "refs/tag.%C3%A9")
    for name in ("branch.été", "branch.%C3%A9t%C3%A9"):
        run = zarrctl("info", repository, "-o", f"at={name}")
        assert run.returncode == 0 and "small" in run.stdout, run
    assert "branch.été" in zarrctl("ls", "--snapshots", repository).stdout
    deleted = zarrctl("info", repository, "-o", "at=tag.é")
    assert deleted.returncode != 0 and "has no tag." in deleted.stderr, deleted
    with mounted(repository, "at=branch.été,view=v3") as point:
        assert (point / "small/zarr.json").exists()


def test_one_damaged_branch_stops_no_other(tmp_path):
    repository = tmp_path / "r.icechunk"
    shutil.copytree(DATA / "v1", repository)
    refs = repository / "refs"

    def point_to(name, text):
        (repository / "new").write_text(text)
        (refs / name).mkdir(exist_ok=True)
        (repository / "new").rename(refs / name / "ref.json")

    main = (refs / "branch.main/ref.json").read_text()
    point_to("branch.broken", "{}")
    with mounted(repository, "at=all,view=v3") as point:
        names = {path.name for path in point.iterdir() if path.is_dir()}
        assert names == {"branch.broken", "branch.dev", "branch.main", "tag.v1.0"}, "it is not absent"
        with pytest.raises(OSError):
            (point / "branch.broken/zarr.json").read_text()
        temperature = (point / "branch.dev/temperature/zarr.json").read_text()
        point_to("branch.dev", "no JSON")  # is shown as it was
        point_to("branch.main", (refs / "tag.v1.0/ref.json").read_text())
        wait_for(lambda: not (point / "branch.main/virtual/zarr.json").exists())
        assert (point / "branch.dev/temperature/zarr.json").read_text() == temperature
        point_to("branch.broken", main)
        wait_for((point / "branch.broken/virtual/zarr.json").exists)
