"""Stores that other implementations made, in a bucket, on a web server, and in a zip file in any of these places: every view has the names and bytes that it has of the folder,
which readers are compared with elsewhere (test_corpus.py); and some read them here."""

import os
import pathlib
import subprocess
import zipfile

import pytest

import faulty_server
from corpus import copy
from mounts import READERS, mounted, run_reader
from remote import KEY, REMOTE_PYTHON, SECRET, UPLOAD
from test_corpus import STORES, NAMES, store_of

FEW = STORES[3::20]


@pytest.fixture(scope="module", params=[FEW, pytest.param(STORES, marks=pytest.mark.further_reader)], ids=["few", "all"])
def stores(request, tmp_path_factory):
    """A folder of stores, which are called 0, 1, 2, …"""
    top = tmp_path_factory.mktemp("corpus") / "www" / "stores"
    for number, store in enumerate(request.param):
        copy(store, top / str(number))
    top.parent.chmod(0o755)
    return top, request.param


@pytest.fixture(scope="module")
def local(stores):
    with mounted(stores[0]) as point:
        yield point, files_of(point)


def zip_of(top, folder):
    """Its members are stored as they are, but for the JSON."""
    with zipfile.ZipFile(folder / "stores.zip", "w") as file:
        for path in sorted(top.rglob("*")):
            deflated = path.suffix == ".json" or path.name.startswith(".z")
            if path.is_file():
                file.write(path, f"in/{path.relative_to(top)}", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED)
    return folder


@pytest.fixture(scope="module", params=[
    "moto", pytest.param("versitygw", marks=pytest.mark.further_reader), "web server", "zip", "zip on a web server",
    pytest.param("zip in moto", marks=pytest.mark.further_reader)])
def remote(request, stores, tmp_path_factory):
    top, _ = stores
    zips = zip_of(top, tmp_path_factory.mktemp("zips")) if "zip" in request.param else None
    if request.param == "zip":
        with mounted(zips / "stores.zip/in") as point:
            yield point
        return
    if request.param == "zip on a web server":
        with faulty_server.serving(zips) as server, mounted(f"{server.url}/stores.zip/in") as point:
            yield point
        return
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", KEY)
        environment.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        if request.param == "web server":
            keys = tmp_path_factory.mktemp("keys") / "keys"
            keys.write_text("".join(f"{path.relative_to(top)}\n" for path in top.rglob("*") if path.is_file()))
            with faulty_server.serving(top.parent) as server, mounted(f"{server.url}/stores", f"list={keys},immutable") as point:
                yield point
            return
        url = request.getfixturevalue(request.param.removeprefix("zip in "))
        bucket = f"{'zips' if zips else 'corpus'}-{len(os.listdir(top))}"
        subprocess.run([REMOTE_PYTHON, "-c", UPLOAD, url, KEY, SECRET, bucket, "of/stores", zips or top], check=True)
        below = "/stores.zip/in" if zips else ""
        with mounted(f"s3://{bucket}/of/stores{below}", f"endpoint={url},immutable") as point:
            yield point


def files_of(point):
    """Each file below, with its bytes, or the error in their place; a folder with None."""
    found = {}
    for path, folders, names in os.walk(point, onerror=lambda error: found.update({error.filename: error.errno})):
        for name in folders:
            found[os.path.relpath(os.path.join(path, name), point)] = None
        for name in names:
            file = pathlib.Path(path, name)
            try:
                found[os.path.relpath(file, point)] = file.read_bytes()
            except OSError as error:
                found[os.path.relpath(file, point)] = error.errno
    return found


def test_every_view_has_the_files_of_the_folder(local, remote):
    want, got = local[1], files_of(remote)
    assert len(want) > 100
    assert [name for name in want.keys() | got.keys() if name not in want or name not in got or want[name] != got[name]] == []


@pytest.mark.parametrize("reader", READERS)
def test_readers_see_what_they_see_of_the_folder(stores, local, remote, reader):
    view, command = READERS[reader]
    arrays = [pathlib.Path(view, str(stores[1].index(store_of(name))), os.path.relpath(name, store_of(name)))
              for name in NAMES if store_of(name) in stores[1]]
    seen, wanted = (run_reader(command, [point / array for array in arrays]) for point in (remote, local[0]))
    for one in (*seen, *wanted):
        one.pop("error", None)  # which names the path
    assert seen == wanted and sum("sha256" in one for one in wanted) > len(wanted) / 3
