"""The Python module of the wheel: installed by pip in a bare environment, next to the readers, with the programs under test."""

import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

import pytest
from mounts import DETACH_COPIES, ROOT, ZARRCTL, ZARRFS

SAMPLE = ROOT / "tests/data/sample.zarr"
MAKE_WHEEL = ROOT / "packaging/python/make-wheel"
READERS = ("zarr2", "zarr3")
# One of each Python that this machine has, from 3.9 on.
PYTHONS = {minor: path for minor in range(9, 20) for path in sorted(itertools.chain(
    pathlib.Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"), pathlib.Path("/usr/bin").glob(f"python3.{minor}")))}


def make_wheel(folder, programs):
    """A wheel of these programs, by name."""
    (folder / "prefix/bin").mkdir(parents=True)
    for name, program in programs.items():
        (folder / "prefix/bin" / name).write_bytes(program)
    done = subprocess.run([sys.executable, MAKE_WHEEL, folder / "prefix", folder], capture_output=True, text=True, check=True)
    return pathlib.Path(done.stdout.strip())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return make_wheel(tmp_path_factory.mktemp("wheel"), {"zarrfs": ZARRFS.read_bytes(), "zarrctl": ZARRCTL.read_bytes()})


def install(python, wheel, folder):
    """The Python of a new environment that has the wheel and nothing else, not even pip, which takes seconds to get there."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    has_pip = subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0  # Debian's has none
    pip = [python if has_pip else sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "bin/python"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-compile", wheel], check=True)
    return folder / "bin/python"


def install_next_to(readers, wheel, folder):
    """It finds the readers of another environment, too."""
    python = install(ROOT / f"build/python/{readers}/bin/python", wheel, folder)
    packages, = folder.glob("lib/python*/site-packages")
    theirs, = (ROOT / "build/python" / readers).glob("lib/python*/site-packages")
    (packages / "readers.pth").write_text(f"{theirs}\n")
    return python


@pytest.fixture(scope="module", params=READERS)
def python(request, wheel, tmp_path_factory):
    return install_next_to(request.param, wheel, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def temporary(tmp_path):
    return {**os.environ, "TMPDIR": str(tmp_path), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def run(python, script, environment, *arguments, code=0):
    done = subprocess.run([python, "-c", script, *map(str, arguments)], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def left_in(folder):
    """Mounts and folders that are still below a temporary folder."""
    mounted = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if f" {folder}/" in line]
    return mounted + [str(path) for path in folder.glob("zarrfs-*/*")]


def test_readers_open_what_a_with_block_mounts(python, temporary, tmp_path):
    script = """
import os, sys, zarr, zarrfs
for view in ("v2",) if zarr.__version__.startswith("2") else ("v2", "v3"):
    with zarrfs.mount(sys.argv[1], view=view) as path:
        found = zarr.open_group(path, mode="r")["temperature"][:]
        assert {"mountpoint": path, "store": sys.argv[1]} in zarrfs.mounts()
        import xarray
        again = xarray.open_zarr(path, drop_variables=["depth", "mask"], mask_and_scale=False, consolidated=False, chunks=None)["temperature"].values
        assert (again == found).all()
    assert not os.path.exists(path)
    print(view, int(found.astype("int64").sum()))
"""
    sums = {line.split()[1] for line in run(python, script, temporary, SAMPLE).splitlines()}
    values = subprocess.run([sys.executable, "-c",
                             f"import zarr; print(zarr.open_array({str(SAMPLE / 'temperature')!r}, mode='r')[:].astype('int64').sum())"],
                            capture_output=True, text=True, check=True)
    assert sums == {values.stdout.strip()}
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("interpreter", PYTHONS.values(), ids=[f"3.{minor}" for minor in PYTHONS])
def test_each_python_installs_and_mounts(interpreter, wheel, temporary, tmp_path):
    python = install(interpreter, wheel, tmp_path / "environment")
    run(python, """
import os, sys, typing, zarrfs
with zarrfs.mount(sys.argv[1], views=["v2", "npy"]) as path:
    assert {"temperature", "mask"} <= set(os.listdir(path + "/v2")) and os.path.exists(path + "/npy/temperature.npy")
assert not os.path.exists(path) and zarrfs.info(sys.argv[1])["nodes"]
try:
    zarrfs.mount("/nowhere/at/all")
except zarrfs.Error as error:
    assert error.code == 32
""", temporary, SAMPLE)
    assert left_in(tmp_path) == []


SUM_BY_FSSPEC = """
import fsspec, json, sys, zarr, zarrfs
with zarrfs.mount(sys.argv[1], view="v2") as path:
    files = fsspec.filesystem("file")
    assert files.isdir(path) and f"{path}/temperature/0.0.0" in files.glob(f"{path}/temperature/0.*")
    with fsspec.open(f"file://{path}/temperature/.zarray") as document:
        assert json.load(document)["zarr_format"] == 2
    print(int(zarr.open(fsspec.get_mapper(f"file://{path}"), mode="r")["temperature"][:].astype("int64").sum()))
"""
# Workers get the path, and end no mount.
SUM_BY_DASK = """
import dask.array, os, sys, zarrfs
from dask.distributed import Client, LocalCluster
if __name__ == "__main__":
    with zarrfs.mount(sys.argv[1], view="v2") as path:
        total = dask.array.from_zarr(f"{path}/temperature").astype("int64").sum()
        found = {int(total.compute(scheduler=scheduler)) for scheduler in ("threads", "processes")}
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            found.add(int(total.compute()))
            assert set(client.run(lambda path: os.path.ismount(path), path).values()) == {True}
        assert os.path.ismount(path)
        print(*found)
"""


@pytest.mark.parametrize(("readers", "script"), [
    ("zarr2", SUM_BY_FSSPEC), pytest.param("ome", SUM_BY_DASK, marks=pytest.mark.further_reader)], ids=["fsspec", "dask"])
def test_libraries_that_take_a_path_read_the_values(readers, script, wheel, temporary, tmp_path):
    python = install_next_to(readers, wheel, tmp_path / "environment")
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([python, tmp_path / "script.py", SAMPLE], capture_output=True, text=True, timeout=120, env=temporary)
    assert done.returncode == 0, done.stderr
    values = subprocess.run([sys.executable, "-c", "import sys, zarr; print(zarr.open_array(sys.argv[1], mode='r')[:].astype('int64').sum())",
                             SAMPLE / "temperature"], capture_output=True, text=True, check=True)
    assert done.stdout == values.stdout
    assert left_in(tmp_path) == []


def test_a_mount_is_counted(python, temporary, tmp_path):
    run(python, """
import os, sys, zarrfs
first = zarrfs.mount(sys.argv[1], view="v2")
second = zarrfs.mount(sys.argv[1], view="v2")
other = zarrfs.mount(sys.argv[1], view="v3")
assert first is second and other.path != first.path
first.unmount()
assert os.path.ismount(second)
second.unmount()
assert not os.path.exists(second.path) and os.path.ismount(other)
zarrfs.unmount(other.path)
assert not os.path.exists(other.path)
again = zarrfs.mount(sys.argv[1], view="v2")
assert again is not first and os.path.ismount(again)
""", temporary, SAMPLE)
    assert left_in(tmp_path) == []  # the last one ended with the process


def test_a_mount_in_use_is_not_ended_by_its_block(python, temporary, tmp_path):
    run(python, """
import os, sys, zarrfs
try:
    with zarrfs.mount(sys.argv[1], view="v2") as path:
        held = open(path + "/.zgroup")
except zarrfs.Error as error:
    assert path in str(error), error
else:
    raise SystemExit("no error")
assert held.read() and os.path.ismount(path)
""", temporary, SAMPLE)
    deadline = time.monotonic() + 20
    while any(os.path.ismount(path) for path in left_in(tmp_path)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_process_leaves_no_mount(python, temporary, tmp_path):
    process = subprocess.Popen([python, "-c", "import sys, time, zarrfs; print(zarrfs.mount(sys.argv[1]), flush=True); time.sleep(600)", SAMPLE],
                               stdout=subprocess.PIPE, text=True, env=temporary)
    path = process.stdout.readline().strip()
    assert os.path.ismount(path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 20
    while os.path.ismount(path):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.utime(path, (1, 1))  # a later process removes its folder
    run(python, "import sys, zarrfs; zarrfs.mount(sys.argv[1])", temporary, SAMPLE)
    assert left_in(tmp_path) == []


def test_the_end_of_a_child_ends_no_mount_of_its_parent(python, temporary, tmp_path):
    run(python, """
import multiprocessing, os, sys, zarrfs
mounted = zarrfs.mount(sys.argv[1], view="v2")
pid = os.fork()
if pid == 0:
    mounted.unmount()
    sys.exit(0)  # with its atexit functions
assert os.waitpid(pid, 0)[1] == 0
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert all(".zgroup" in names for names in pool.map(os.listdir, [mounted.path] * 4))
assert os.path.ismount(mounted)
""", temporary, SAMPLE)
    assert left_in(tmp_path) == []


def test_without_until_a_mount_outlives_the_process(python, temporary, tmp_path):
    (tmp_path / "mnt").mkdir()
    run(python, "import sys, zarrfs; zarrfs.mount(*sys.argv[1:], until=None, view='v2', ttl=5, immutable=False)", temporary, SAMPLE, tmp_path / "mnt")
    try:
        assert (tmp_path / "mnt/.zgroup").exists()
    finally:
        run(python, "import sys, zarrfs; zarrfs.unmount(sys.argv[1])", temporary, tmp_path / "mnt")
    assert not os.path.ismount(tmp_path / "mnt") and (tmp_path / "mnt").is_dir()


def test_errors_are_those_of_the_program(python, temporary, tmp_path):
    out = run(python, """
import sys, zarrfs
for call in (lambda: zarrfs.mount("/nowhere/at/all"), lambda: zarrfs.mount(sys.argv[1], veiw="v2"), lambda: zarrfs.mount(sys.argv[1], until=0),
             lambda: zarrfs.mount(sys.argv[1], show='a,"b"\\\\c', view="v9"), lambda: zarrfs.unmount("/"), lambda: zarrfs.info("/nowhere/at/all")):
    try:
        call()
    except zarrfs.Error as error:
        print(error.code, error)
""", temporary, SAMPLE)
    lines = out.splitlines()
    assert len(lines) == 6, out
    assert lines[0] == "32 /nowhere/at/all does not exist"
    assert "did you mean 'view'" in lines[1] and "until=0" in lines[2] and "view=v9" in lines[3] and lines[5].startswith("2 ")
    assert left_in(tmp_path) == []


def test_info_is_that_of_zarrctl(python, temporary):
    said = json.loads(run(python, "import json, sys, zarrfs; print(json.dumps(zarrfs.info(sys.argv[1], 'temperature')))", temporary, SAMPLE))
    assert said == json.loads(subprocess.run([ZARRCTL, "info", "--json", SAMPLE, "temperature"], capture_output=True, check=True).stdout)


def test_programs_are_those_of_the_wheel(python, temporary, tmp_path):
    for name in ("zarrfs", "zarrctl"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 99\n")
        (tmp_path / name).chmod(0o755)
    run(python, "import sys, zarrfs; zarrfs.info(sys.argv[1]); zarrfs.mount(sys.argv[1]).unmount()",
        {**temporary, "PATH": f"{tmp_path}:{temporary['PATH']}"}, SAMPLE)


FUSE_ERROR = """
import sys, zarrfs
try:
    zarrfs.mount(sys.argv[1])
except zarrfs.FuseError as error:
    print(error)
"""


def fuse_error(python, environment, lacking, store=SAMPLE):
    """What it says where a command, run in mounts of its own, took away what a mount needs."""
    done = subprocess.run(["unshare", "--mount", "sh", "-ec", f'{DETACH_COPIES}; {lacking}; exec "$@"', "sh", python, "-c", FUSE_ERROR, store],
                          capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, for a mount namespace")
def test_without_fuse_it_names_references(python, temporary):
    said = fuse_error(python, temporary, "mount -t tmpfs none /dev; mknod /dev/null c 1 3")
    assert "/dev/fuse" in said and "zarrctl refs --out refs.json STORE" in said, said


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user and for a mount namespace")
def test_without_fusermount3_users_are_told_the_package(wheel):
    """It is looked for in the folders of PATH, and in /usr/bin and /bin."""
    with tempfile.TemporaryDirectory(prefix="zarrfs-") as folder:  # that other users may enter
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        python = install("/usr/bin/python3", wheel, folder / "env")
        shutil.copytree(SAMPLE, folder / "ocean.zarr")
        (folder / "tmp").mkdir()
        os.chown(folder / "tmp", 12345, 12345)
        hide = 'for each in /usr/bin /bin /usr/sbin; do [ ! -e $each/fusermount3 ] || mount --bind /dev/null $each/fusermount3; done'
        device = f"mknod -m 666 {folder}/fuse c 10 229; mount --bind {folder}/fuse /dev/fuse"  # that users may open
        as_user = 'set -- setpriv --reuid 12345 --regid 12345 --clear-groups "$@"'
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(folder / "tmp")}
        said = fuse_error(python, environment, f"{device}; {hide}; {as_user}", folder / "ocean.zarr")
        assert said == "fusermount3 is missing: install the package fuse3\n"
        assert left_in(folder / "tmp") == []


def test_the_tag_says_whether_programs_need_libraries(wheel, tmp_path):
    assert "-py3-none-linux_" in wheel.name  # those under test do
    head = bytearray(64)
    head[:5] = b"\x7fELF\x02"
    alone = make_wheel(tmp_path, {"zarrfs": bytes(head), "zarrctl": bytes(head)})
    machine = os.uname().machine
    assert alone.name.endswith(f"-py3-none-manylinux2014_{machine}.musllinux_1_1_{machine}.whl")
    with zipfile.ZipFile(alone) as files:
        said = files.read(next(name for name in files.namelist() if name.endswith("/WHEEL"))).decode()
        names = files.namelist()
    assert f"Tag: py3-none-manylinux2014_{machine}\nTag: py3-none-musllinux_1_1_{machine}\n" in said
    assert {"zarrfs/__init__.py", "zarrfs/py.typed"} <= set(names) and not any("__pycache__" in name for name in names)
    first = alone.read_bytes()
    subprocess.run([sys.executable, MAKE_WHEEL, tmp_path / "prefix", tmp_path], check=True, capture_output=True)
    assert alone.read_bytes() == first
