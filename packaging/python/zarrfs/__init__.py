"""Zarr stores as plain chunk files, for the time of a `with` block.

    import xarray, zarrfs

    with zarrfs.mount("s3://bucket/ocean.zarr", view="v2", anonymous=True) as path:
        print(xarray.open_zarr(path).temperature.mean().values)

`mount` runs the program zarrfs that this package contains, and options are those of `zarrfs -o`, as keywords. The mount ends with
the block; it also ends with this process, even if that is killed. Other processes, such as workers of dask, open the same path.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import itertools
import json
import os
import pathlib
import re
import stat
import subprocess
import tempfile
import threading
import time
from types import TracebackType
from typing import Any, Union

__all__ = ["Error", "FuseError", "Mount", "info", "mount", "mounts", "unmount"]

_OptionValue = Union[str, int, float, bool, "os.PathLike[str]", list[str], tuple[str, ...], None]


class Error(Exception):
    """What a program reported, in its words. `code` is its exit code, -1 if it could not be run."""

    def __init__(self, message: str, code: int = -1) -> None:
        super().__init__(message)
        self.code = code


class FuseError(Error):
    """This machine, or this user, cannot mount: /dev/fuse or fusermount3 is missing."""


class Mount(os.PathLike[str]):
    """A mounted store. `str()` and `os.fspath()` give the path; a `with` block gives it, too, and releases the mount at its end."""

    def __init__(self, store: str, path: str, made: bool, outlives: bool) -> None:
        self.store = store
        self.path = path
        self._made = made
        self._outlives = outlives
        self._users = 1
        self._owner = os.getpid()

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<zarrfs.Mount of {self.store!r} at {self.path!r}>"

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.unmount()
        except Error:
            if error is None:
                raise

    def unmount(self) -> None:
        """Releases the mount once, and unmounts after as many calls as mount() has returned it. Error if files in it are open."""
        with _lock:
            if self._owner != os.getpid() or self._users == 0:
                return
            if self._users == 1:
                self._end()
            self._users -= 1

    def _end(self) -> None:
        if os.path.ismount(self.path):
            _run("zarrfs", "--unmount", self.path)
        for key in [key for key, value in _mounts.items() if value is self]:
            del _mounts[key]
        if self._made:
            try:
                os.rmdir(self.path)
            except OSError:
                pass  # gone, or somebody else's


_lock = threading.RLock()
_mounts: dict[tuple[str, ...], Mount] = {}
_numbers = itertools.count(1)


def mount(store: str | os.PathLike[str], mountpoint: str | os.PathLike[str] | None = None, **options: _OptionValue) -> Mount:
    """Mounts a store: a folder, a zip file, `s3://BUCKET/PREFIX` or `https://HOST/PATH`.

    `mountpoint` is an empty folder; by default one is made, and removed at the end. `options` are those of `zarrfs -o`
    (docs/OPTIONS.md): `view="v2"`, `ttl=5`, `immutable=True`, `views=["v2", "nc"]`; None leaves an option out. The root of the mount
    is one view with `view`, otherwise a folder for each.

    A second call with the same arguments in a process returns the same mount, which then must be released twice. The option `until`
    is this process unless given; with `until=None` the mount outlives it. Raises FuseError or Error with the message of the program.
    """
    source = _source(store)
    words = _words({"until": os.getpid(), **options})
    where = "" if mountpoint is None else os.path.abspath(os.fspath(mountpoint))
    key = (source, where, *sorted(words))
    with _lock:
        found = _mounts.get(key)
        if found is not None and os.path.ismount(found.path):
            found._users += 1
            return found
        path = where or _make_folder(source)
        try:
            _run("zarrfs", source, path, *_dash_o(words))
        except Error:
            if not where:
                os.rmdir(path)
            raise
        _mounts[key] = Mount(source, path, made=not where, outlives="until" in options)
        return _mounts[key]


def unmount(where: Mount | str | os.PathLike[str]) -> None:
    """Unmounts what is mounted at a path, by whomever, or releases a Mount once."""
    if isinstance(where, Mount):
        return where.unmount()
    path = os.path.abspath(os.fspath(where))
    with _lock:
        for each in list(_mounts.values()):
            if each.path == path:
                each._users = 1
                return each.unmount()
    _run("zarrfs", "--unmount", path)


def mounts() -> list[dict[str, str]]:
    """The zarrfs mounts that this process can see: dicts with `mountpoint` and `store`."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            before, _, after = line.rstrip("\n").partition(" - ")
            kind, source = after.split(" ")[:2]
            if kind == "fuse.zarrfs":
                found.append({"mountpoint": _unescaped(before.split(" ")[4]), "store": _unescaped(source)})
    return found


def info(store: str | os.PathLike[str], path: str | None = None, **options: _OptionValue) -> dict[str, Any]:
    """What `zarrctl info --json` says: `store` and `nodes`, a dict for each group and array, with what each view does with it.

    `path` is a group or array in the store. `options` are those of stores in a bucket or on a web server: `anonymous=True`.
    """
    words = ["info", "--json", *_dash_o(_words(options)), "--", _source(store)]
    answer: dict[str, Any] = json.loads(_run("zarrctl", *words, *([] if path is None else [path])))
    return answer


def _source(store: str | os.PathLike[str]) -> str:
    text = os.fspath(store)
    return text if "://" in text else os.path.abspath(text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _words(options: dict[str, _OptionValue]) -> list[str]:
    words = []
    for name, value in options.items():
        if value is None:
            continue
        if isinstance(value, bool):
            word = name if value else f"{name}=no"
        elif isinstance(value, (list, tuple)):
            word = f"{name}={':'.join(map(str, value))}"
        else:
            word = f"{name}={os.fspath(value) if isinstance(value, os.PathLike) else value}"
        words.append(re.sub(r'([\\,"])', r"\\\1", word))
    return words


def _dash_o(words: list[str]) -> list[str]:
    return ["-o", ",".join(words)] if words else []


def _program(name: str) -> pathlib.Path:
    """By the record of the distribution that this module is from: what PATH has may be another version, or anybody's."""
    here = pathlib.Path(__file__).resolve()
    for distribution in importlib.metadata.distributions(name="zarrfs"):
        files = distribution.files or []
        if not any(pathlib.Path(str(distribution.locate_file(file))).resolve() == here for file in files if file.name == here.name):
            continue
        for file in files:
            if file.name == name and file.parent.name == "bin":
                return pathlib.Path(str(distribution.locate_file(file))).resolve()
    raise Error(f"the program {name} is not in the record of the installed package zarrfs: install it again (pip install --force-reinstall)")


def _run(name: str, *arguments: str) -> str:
    program = _program(name)
    try:
        done = subprocess.run([str(program), *arguments], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise Error(f"{program} cannot be run: {error.strerror}") from error
    if done.returncode == 0:
        return done.stdout
    message = done.stderr.strip() or f"{name} ended with {done.returncode}"
    for prefix in ("zarrfs: ", "zarrctl: "):
        message = re.sub(rf"^{prefix}", "", message, flags=re.MULTILINE)
    if "/dev/fuse" in message:
        raise FuseError(f"{message}\nWithout it, read by references: {program.with_name('zarrctl')} refs --out refs.json STORE, then "
                        'xarray.open_dataset("refs.json", engine="kerchunk")', done.returncode)
    if "fusermount3" in message:
        raise FuseError(message, done.returncode)
    raise Error(message, done.returncode)


def _make_folder(source: str) -> str:
    """A new folder whose name says what is mounted there; removes those that killed processes have left empty."""
    base = os.path.join(tempfile.gettempdir(), f"zarrfs-{os.geteuid()}")
    try:
        os.mkdir(base, 0o700)
    except FileExistsError:
        status = os.lstat(base)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
            base = tempfile.mkdtemp(prefix="zarrfs-")
    for entry in os.listdir(base):
        path = os.path.join(base, entry)
        pid = entry.partition("-")[0]
        try:
            if pid.isdigit() and not os.path.exists(f"/proc/{pid}") and time.time() - os.lstat(path).st_mtime > 60:
                os.rmdir(path)
        except OSError:
            pass  # in use, or gone
    name = re.sub(r"[^\w.-]", "_", source.rstrip("/").rpartition("/")[2])[:60]
    while True:
        path = os.path.join(base, f"{os.getpid()}-{next(_numbers)}-{name}")
        try:
            os.mkdir(path, 0o700)
            return path
        except FileExistsError:
            continue


def _unmount_all() -> None:
    for each in list(_mounts.values()):
        if each._outlives or each._owner != os.getpid():
            continue
        try:
            each._end()
        except Error:
            pass  # in use: it is detached when this process has ended


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()
    _mounts.clear()  # they are the parent's


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_unmount_all)
