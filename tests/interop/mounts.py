"""Real mounts, and readers in processes and environments of their own."""

import contextlib
import functools
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
READERS_FOLDER = pathlib.Path(__file__).with_name("readers")
ZARRFS = pathlib.Path(os.environ.get("ZARRFS_BIN") or ROOT / "build/release/bin/zarrfs").resolve()
ZARRCTL = ZARRFS.with_name("zarrctl")
# Sanitizers take memory of their own, and choose the layout of a process.
IS_SANITIZED = (sanitizers := ZARRFS.with_name("sanitizers")).is_file() and sanitizers.read_text().strip() != ""

SYSTEM_PYTHON = "/usr/bin/python3"
ZARR2_PYTHON = str(ROOT / "build/python/zarr2/bin/python")

# The zarr-python of the system's own packages: 2.13 in Debian 12, 3.0 in Debian 13.
DEBIAN_ZARR = subprocess.run(
    [SYSTEM_PYTHON, "-c", "import zarr; print(zarr.__version__[0])"], capture_output=True, text=True, check=True).stdout.strip()

# name: (view, command)
READERS = {
    "zarr-python-2": ("v2", [ZARR2_PYTHON, "read_zarr_python.py"]),
    f"debian-zarr-python-{DEBIAN_ZARR}": ("v2", [SYSTEM_PYTHON, "read_zarr_python.py"]),
    "gdal": ("v2", [SYSTEM_PYTHON, "read_gdal.py"]),
    "tensorstore-v2": ("v2", [sys.executable, "read_tensorstore.py", "zarr"]),
    "tensorstore-v3": ("v3", [sys.executable, "read_tensorstore.py", "zarr3"]),
    "zarr-python-3": ("v3", [sys.executable, "read_zarr_python.py"]),
}

# The same with each reader on the view that is made for it.
READERS_OF_VIEWS = {
    **READERS,
    "gdal": ("gdal", READERS["gdal"][1]),
    "netcdf": ("netcdf", [SYSTEM_PYTHON, "read_netcdf.py"]),
}

# Of the view for jzarr, which tools/setup --readers installs.
READERS_OF_JAVA = {
    "zarr-python-2-of-java": ("java", READERS["zarr-python-2"][1]),
    "jzarr": ("java", [sys.executable, "read_jzarr.py"]),
}


def for_everybody(program, folder):
    """A copy of the program in a folder below the temporary one, which other users may run: they may not enter every clone."""
    for part in [folder, *folder.parents]:
        if part == pathlib.Path(tempfile.gettempdir()):
            break
        part.chmod(0o755)
    return shutil.copy(program, folder)


def unmount(point):
    command = ["umount", point] if os.getuid() == 0 else ["fusermount3", "-u", point]
    for _ in range(50):  # busy for a moment while a reader that was killed lets go
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(command[:1] + (["-l"] if os.getuid() == 0 else ["-uz"]) + [point], capture_output=True)
    raise RuntimeError(f"{point} stayed busy: {result.stderr}")


def open_keeper(command):
    """A descriptor of the process that `command` has left, which is nobody's child: readable once it has ended."""
    words = [os.fsencode(word) for word in command]
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1] == words:
                found[int(pid)] = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    keepers = [pid for pid, parent in found.items() if parent not in found]
    assert len(keepers) == 1, (command, found)
    return os.pidfd_open(keepers[0])


# For a shell in a mount namespace of its own: its copies of other mounts would keep these alive after they were unmounted.
DETACH_COPIES = r"sed -n 's/^[^ ]* \([^ ]*\) fuse\.zarrfs .*/\1/p' /proc/self/mounts | xargs -r umount -l"


@contextlib.contextmanager
def mounted(store, options=None, at=None):
    """The folder where `store` is mounted: a new one, or `at`. Once unmounted the daemon must end by itself, and a sanitizer must have found nothing."""
    with tempfile.TemporaryDirectory(prefix="zarrfs-") as folder:
        point = str(at or os.path.join(folder, "mnt"))
        if at is None:
            os.mkdir(point)
        os.mkdir(reports := os.path.join(folder, "reports"))
        os.chmod(reports, 0o777)  # the process that reads the store is another user
        findings = f"log_path={reports}/sanitizer"
        environment = {**os.environ, "ASAN_OPTIONS": findings, "UBSAN_OPTIONS": findings, "TSAN_OPTIONS": findings}
        keeper = None
        try:
            command = [str(ZARRFS), str(store), point] + (["-o", options] if options else [])
            result = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env=environment)
            if result.returncode != 0:
                raise RuntimeError(f"{' '.join(command)} ended with {result.returncode}: {result.stderr}")
            keeper = open_keeper(command)
            try:
                yield pathlib.Path(point)
            finally:
                unmount(point)
            assert select.select([keeper], [], [], 60)[0], "zarrfs still runs a minute after it was unmounted"
        finally:
            if keeper is not None:
                os.close(keeper)
        found = "".join(path.read_text() for path in pathlib.Path(reports).iterdir())
        assert not found, found


def run_reader(command, paths):
    """What a reader script says of each path; `command` names it and its interpreter."""
    python, script, *arguments = command
    result = subprocess.run(
        [python, "-W", "ignore", str(READERS_FOLDER / script), *arguments], input=json.dumps([str(p) for p in paths]),
        capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONNOUSERSITE": "1"})
    assert result.returncode == 0, f"{' '.join(command)} failed: {result.stderr}"
    return json.loads(result.stdout)


def read(reader, paths):
    """What the reader says of each path (readers/digest.py)."""
    return run_reader(READERS[reader][1], paths)


def zarrctl(*arguments):
    return subprocess.run([str(ZARRCTL), *map(str, arguments)], capture_output=True, text=True, timeout=120)


@functools.cache
def decodes_pcodec():
    """Whether the program was built with the library (packaging/pcodec)."""
    version = zarrctl("--version").stdout
    assert "; pcodec: " in version
    return "; pcodec: yes" in version
