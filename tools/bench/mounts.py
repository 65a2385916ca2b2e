"""Mounts while a benchmark runs, and what their processes have used."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

TTL = 1  # seconds that a name lives on the mounts whose name says so
TICKS = os.sysconf("SC_CLK_TCK")


class Mount:
    """A mounted file system: `point` is where, `inside` the folder with the chunks."""

    def __init__(self, point, inside, server):
        self.point = pathlib.Path(point)
        self.inside = self.point / inside
        self._server = server

    def _processes(self):
        """The server's, and those that it has started."""
        found = [self._server.pid]
        for pid in found:
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
            found.extend(int(child) for child in children.split())
        return found

    def cpu_seconds(self):
        """So far, user and system."""
        total = 0
        for pid in self._processes():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def memory_mib(self, what="VmRSS"):
        """Resident now, or with "VmHWM" the most so far."""
        total = 0
        for pid in self._processes():
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith(what + ":"):
                    total += int(line.split()[1])
        return total / 1024

    def memory_shared_once_mib(self):
        """Resident now; what processes share counts once."""
        total = 0
        for pid in self._processes():
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        return total / 1024

    def metric(self, name, label=""):
        """The sum of a metric of zarrfs, over all that have this label."""
        text = (self.point / ".zarrfs" / "metrics").read_text()
        rows = (line.rpartition(" ") for line in text.splitlines())
        return sum(float(value) for key, _, value in rows
                   if key.partition("{")[0] == name and label in key)

    def requests_for_files(self):
        """How often the kernel asked zarrfs for names, attributes and bytes."""
        time.sleep(0.11)  # so long a text of the metrics lasts
        return sum(self.metric("zarrfs_requests_total", f'operation="{operation}"')
                   for operation in ("lookup", "getattr", "open", "read"))


@contextlib.contextmanager
def mounted(way, folder):
    """A Mount of `way` (see ways_of) below `folder` while the block runs. RuntimeError if it cannot be
    mounted."""
    command, inside = way
    with contextlib.ExitStack() as stack:
        point = stack.enter_context(tempfile.TemporaryDirectory(dir=folder))
        outside = os.stat(point).st_dev
        log = stack.enter_context(tempfile.TemporaryFile("w+", dir=folder))
        words = [point if arg == "MNT" else str(arg) for arg in command]
        server = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 20
            while os.stat(point).st_dev == outside:
                if server.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise RuntimeError(f"{command[0]} did not mount: {log.read().strip()}")
                time.sleep(0.001)
            yield Mount(point, inside, server)
        finally:
            unmount = ["fusermount3", "-u", point]
            if subprocess.run(unmount, stderr=subprocess.DEVNULL).returncode != 0:
                subprocess.run(unmount + ["-z"], stderr=subprocess.DEVNULL)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def ways_of(programs, store, uring=None, view="v2"):
    """name -> (mount command, the folder in the mount that has the chunks).

    The servers that are compared on one store; those that are not here are left out. `uring`: the
    folder of programs that were built with a libfuse that knows io_uring.
    """
    zarrfs = [programs / "zarrfs", store / "sharded.zarr", "MNT", "-f"]
    bare = [programs / "bare_fuse", store / "table", "MNT", "-f"]
    found = {
        "zarrfs": (zarrfs, f"{view}/data"),
        f"zarrfs ttl={TTL}": (zarrfs + ["-o", f"ttl={TTL}"], f"{view}/data"),
        "bare": (bare + ["--immutable"], "."),
        f"bare ttl={TTL}": (bare + [f"--ttl={TTL}"], "."),
    }
    if uring is not None:
        found["zarrfs io_uring"] = ([uring / "zarrfs", *zarrfs[1:], "-o", "io_uring"],
                                    f"{view}/data")
        found["bare io_uring"] = ([uring / "bare_fuse", *bare[1:], "--immutable", "-o", "io_uring"],
                                  ".")
    if shutil.which("squashfuse_ll"):
        image = store / "image.sqfs"
        found["squashfuse_ll"] = (["squashfuse_ll", "-f", image, "MNT"], ".")
    sources = {"bare": "table", "squashfuse_ll": "image.sqfs"}
    return {name: way for name, way in found.items()
            if shutil.which(str(way[0][0]))
            and (store / sources.get(name.split(" ")[0], "sharded.zarr")).exists()}


def limit_of(who):
    """The bare server whose names live as long as those of `who`: for ever, where it is told of changes."""
    return who.replace("zarrfs", "bare")


def warm_up(folder):
    """Reads every file, so that the page cache holds it."""
    for parent, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(parent, name), "rb", buffering=0) as f:
                while f.read(1 << 20):
                    pass


def drop_caches(what):
    """Of the kernel. 1: pages, 2: names and attributes, 3: both. False if that is not allowed."""
    os.sync()
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text(str(what))
        return True
    except OSError:
        return False
