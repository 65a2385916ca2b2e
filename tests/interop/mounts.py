"""Real mounts, and readers in processes and environments of their own."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
READERS_FOLDER = pathlib.Path(__file__).with_name("readers")
ZARRFS = pathlib.Path(os.environ.get("ZARRFS_BIN") or ROOT / "build/release/bin/zarrfs").resolve()
ZARRCTL = ZARRFS.with_name("zarrctl")

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


def unmount(point):
    command = ["umount", point] if os.getuid() == 0 else ["fusermount3", "-u", point]
    for _ in range(50):  # busy for a moment while a reader that was killed lets go
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(command[:1] + (["-l"] if os.getuid() == 0 else ["-uz"]) + [point], capture_output=True)
    raise RuntimeError(f"{point} stayed busy: {result.stderr}")


@contextlib.contextmanager
def mounted(store, options=None):
    """The folder where `store` is mounted. The daemon must end by itself with exit code 0 once unmounted, so that what a
    sanitizer found fails the test too."""
    with tempfile.TemporaryDirectory(prefix="zarrfs-") as folder:
        point = os.path.join(folder, "mnt")
        os.mkdir(point)
        log = pathlib.Path(folder, "stderr")
        command = [str(ZARRFS), str(store), point, "-f"] + (["-o", options] if options else [])
        with open(log, "w") as stderr:
            daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
        try:
            deadline = time.monotonic() + 60
            while not os.path.ismount(point):
                if daemon.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{' '.join(command)}: no mount; exit code {daemon.poll()}: {log.read_text()}")
                time.sleep(0.01)
            yield pathlib.Path(point)
        finally:
            if os.path.ismount(point):
                unmount(point)
            try:
                code = daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                code = daemon.wait()
        assert code == 0, f"zarrfs ended with {code}: {log.read_text()}"


def read(reader, paths):
    """What the reader says of each path (readers/digest.py)."""
    python, script, *arguments = READERS[reader][1]
    result = subprocess.run(
        [python, "-W", "ignore", str(READERS_FOLDER / script), *arguments], input=json.dumps([str(p) for p in paths]),
        capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONNOUSERSITE": "1"})
    assert result.returncode == 0, f"{reader} failed: {result.stderr}"
    return json.loads(result.stdout)


def zarrctl(*arguments):
    return subprocess.run([str(ZARRCTL), *map(str, arguments)], capture_output=True, text=True, timeout=120)
