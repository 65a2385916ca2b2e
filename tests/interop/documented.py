"""Commands of a document, as a reader would copy them, run on a sample store that is mounted where the document says."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

from mounts import ROOT, SYSTEM_PYTHON, ZARR2_PYTHON, ZARRCTL, ZARRFS

PYTHONS = {"": SYSTEM_PYTHON, "ome": str(ROOT / "build/python/ome/bin/python"), "zarr2": ZARR2_PYTHON, "zarr3": sys.executable, "system": SYSTEM_PYTHON}


def blocks(text):
    """Lists of lines: what a document indents by four blanks, outside lists."""
    found = re.findall(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+", text)
    return [[line[4:] for line in block.splitlines() if line] for block in found]


def blocks_by_heading(path):
    """{heading of the second level: its blocks}, in the order of the document."""
    _, *sections = re.split(r"^## ", (ROOT / path).read_text(), flags=re.MULTILINE)
    return {section.partition("\n")[0]: blocks(section) for section in sections}


def commands_of(block):
    """The commands of a block: a line each, or more where one goes on to the end of a here-document."""
    found = []
    lines = iter(block)
    for line in lines:
        if end := re.search(r"<<'(\w+)'$", line):
            while not line.endswith("\n" + end[1]):
                line += "\n" + next(lines)
        found.append(line)
    return found


class Machine:
    """Where the commands of a document run: /data/ocean.zarr is the sample, and zarrfs, zarrctl and python3 are on the path.

    Like many stores, and unlike the sample, its arrays agree on the length of each dimension, as xarray wants.
    """

    def __init__(self, folder, python="zarr2"):
        self.folder = pathlib.Path(folder)
        self.store = self.folder / "ocean.zarr"
        self.mount = self.folder / "mnt/ocean"
        shutil.copytree(ROOT / "tests/data/sample.zarr", self.store)
        shutil.rmtree(self.store / "depth")
        programs = self.folder / "bin"
        programs.mkdir()
        for program in (ZARRFS, ZARRCTL):
            (programs / program.name).symlink_to(program)
        self.use(python)

    def use(self, python):
        """One of PYTHONS is python3 from now on."""
        path = self.folder / "bin/python3"
        path.write_text(f'#!/bin/sh\nexec {PYTHONS[python]} "$@"\n')
        path.chmod(0o755)

    def run(self, command, may_fail=False):
        """What the command prints, with what it says of errors if it may fail; else it has to end with 0."""
        command = command.replace("/data/ocean.zarr", str(self.store)).replace("/mnt/ocean", str(self.mount))
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "PYTHONNOUSERSITE": "1"}
        result = subprocess.run(
            ["bash", "-ec", command], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300)
        assert may_fail or result.returncode == 0, f"{command} ended with {result.returncode}: {result.stdout}{result.stderr}"
        return result.stdout + result.stderr * may_fail

    def close(self):
        if os.path.ismount(self.mount):
            subprocess.run([ZARRFS, "--unmount", self.mount], check=True)


@contextlib.contextmanager
def machine_with_mount(folder):
    """A Machine on which the sample is mounted at /mnt/ocean."""
    machine = Machine(folder)
    machine.mount.mkdir(parents=True)
    machine.run("zarrfs /data/ocean.zarr /mnt/ocean")
    yield machine
    machine.close()
