"""Where the corpus of other people's stores is, and a writable copy of it."""

import os
import pathlib
import shutil

from mounts import ROOT

PLACE = pathlib.Path(os.environ.get("ZARRFS_CORPUS") or ROOT.parent / "shared" / "corpus").resolve()

if not (PLACE / "EXPECTED.json").exists():
    raise RuntimeError(f"no corpus at {PLACE}: set ZARRFS_CORPUS to the folder that holds EXPECTED.json")


def copy(name, target):
    """The originals are read-only to everyone, and a mount wants to be seen not to touch them anyway."""
    shutil.copytree(PLACE / name, target)
    return target
