"""A branch of an Icechunk repository while somebody commits as fast as they can: all that is read in turn is of one commit, or of a later one."""

import contextlib
import errno
import itertools
import json
import multiprocessing
import os
import struct
import subprocess
import time

import pytest

import faulty_server
import icechunk_commits
from icechunk_commits import A, B, B_AT, C, C_AT, Commits, number_in
from mounts import ZARRFS, mounted
from test_worker_killed import keeper_of, kill_worker

READERS = int(os.environ.get("ZARRFS_READERS", "4"))
# How many times they read together, at least; a million by hand.
ROUNDS = int(os.environ.get("ZARRFS_ROUNDS", "1000"))
# More than the stored objects that are kept open.
COMMITS = int(os.environ.get("ZARRFS_COMMITS", "1100"))


def numbers_of(point):
    return [number_in(point / path) for path in (A, B, C, A)]


def read_in_turn(number, read, rounds, is_over, queue):
    """Counts in rounds[number]. Puts how many numbers were seen, what was wrong, and errors by their number."""
    wrong, errors, seen = [], {}, set()
    while not is_over.is_set():
        rounds[number] += 1
        try:
            row = read()
        except OSError as error:
            errors[error.errno] = errors.get(error.errno, 0) + 1
            continue
        seen.update(row)
        if row != sorted(row):
            wrong.append(row)
    queue.put((len(seen), wrong, errors))


def race(point, commits, steps, reads=None):
    """
    Commits while READERS read, until five commits were seen after each of the steps, and they have read their share of ROUNDS; what they put.

    reads: what a reader calls for a list of numbers that do not fall; the first reader the first of them, and so on in turn.
    """
    reads = reads or [lambda: numbers_of(point)]
    queue, is_over = multiprocessing.Queue(), multiprocessing.Event()
    rounds = multiprocessing.Array("q", READERS, lock=False)
    readers = [multiprocessing.Process(target=read_in_turn, args=(i, reads[i % len(reads)], rounds, is_over, queue), daemon=True)
               for i in range(READERS)]
    for reader in readers:
        reader.start()
    for i, step in enumerate(steps, 1):
        step()
        seen, end = set(), time.monotonic() + 60
        while len(seen) < 5 and time.monotonic() < end or sum(rounds) < ROUNDS * i // len(steps):
            assert all(reader.is_alive() for reader in readers)
            for _ in range(20):
                commits.commit()
            with contextlib.suppress(OSError):
                seen.add(number_in(point / A))
        assert len(seen) >= 5, "the branch is followed"
    is_over.set()
    found = [queue.get(timeout=60) for _ in readers]
    for reader in readers:
        reader.join()
    print(f"{sum(rounds)} rounds of {READERS} readers, {commits.number} commits")
    return found


def shows(point, number):
    end = time.monotonic() + 30
    while number_in(point / A) != number and time.monotonic() < end:
        time.sleep(0.05)
    assert [number_in(point / path) for path in (A, B, C)] == [number] * 3


def test_a_branch_never_goes_back(tmp_path):
    commits = Commits(tmp_path / "r.icechunk")
    with mounted(tmp_path / "r.icechunk", "view=v3") as point:
        found = race(point, commits, [lambda: None] * 10)
        assert not any(wrong or errors for _, wrong, errors in found), found
        shows(point, commits.number)


def test_nor_over_a_network(tmp_path):
    commits = Commits(tmp_path / "r.icechunk")
    tmp_path.chmod(0o755)
    with faulty_server.serving(tmp_path) as server, mounted(f"{server.url}/r.icechunk", "view=v3,ttl=0.05") as point:
        found = race(point, commits, [lambda: None] * 2)
        assert not any(wrong or errors for _, wrong, errors in found), found
        shows(point, commits.number)


def replacements(point):
    """Each ends the worker in another way."""
    def kill():
        kill_worker(keeper_of(point))

    def upgrade():
        result = subprocess.run([ZARRFS, "--upgrade", point], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr

    return [kill, upgrade, kill] * max(1, ROUNDS // 100_000)


def test_nor_when_workers_are_killed_and_the_program_is_replaced(tmp_path):
    commits = Commits(tmp_path / "r.icechunk")
    with mounted(tmp_path / "r.icechunk", "view=v3") as point:
        found = race(point, commits, [lambda: None, *replacements(point)])
        assert not any(wrong for _, wrong, _ in found), found
        assert {number for _, _, errors in found for number in errors} <= {errno.ESTALE}, "of what the worker before had opened"
        shows(point, commits.number)


def test_nor_where_all_commits_are_folders(tmp_path):
    commits = Commits(tmp_path / "r.icechunk")
    snapshot = json.loads(commits.pointer.read_text())["snapshot"]
    commits.written.clear()  # so that the first commit stays
    with mounted(tmp_path / "r.icechunk", "at=all") as point:
        branch, fixed, file = point / "v3/branch.main", point / "v3/snapshot" / snapshot, point / "nc/branch.main.nc"
        begin = file.read_bytes().index(struct.pack(">4i", 4, 5, 6, 7))

        def of_one_commit():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                c, b = (struct.unpack(">i", os.pread(descriptor, 4, begin + at))[0] for at in (C_AT, B_AT))
            finally:
                os.close(descriptor)
            assert b == c
            return [c]

        def of_the_first():
            row = numbers_of(fixed)
            assert row == [1] * 4
            return row

        found = race(branch, commits, [lambda: None, *replacements(point)], [lambda: numbers_of(branch), of_one_commit, of_the_first])
        assert not any(wrong for _, wrong, _ in found), found
        assert {number for _, _, errors in found for number in errors} <= {errno.ESTALE}, "of what the worker before had opened"
        shows(branch, commits.number)


def test_a_netcdf_file_is_of_one_commit(tmp_path):
    commits = Commits(tmp_path / "r.icechunk")
    with mounted(tmp_path / "r.icechunk") as point:
        file = point / "nc/r.nc"
        begin = file.read_bytes().index(struct.pack(">4i", 4, 5, 6, 7))
        seen, stale = set(), 0
        end = time.monotonic() + 20
        # On a busy machine each commit between the reads may be seen before the second one.
        for number_of_commits in itertools.cycle([3, 0, 1]):
            if len(seen) >= 5 and stale > 0 or time.monotonic() > end:
                break
            descriptor = os.open(file, os.O_RDONLY)
            try:
                number = struct.unpack(">i", os.pread(descriptor, 4, begin + C_AT))[0]
                for _ in range(number_of_commits):
                    commits.commit()
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                assert struct.unpack(">i", os.pread(descriptor, 4, begin + B_AT))[0] == number
            except OSError as error:
                assert error.errno == errno.ESTALE, error
                stale += 1
            else:
                seen.add(number)
            finally:
                os.close(descriptor)
        assert seen, "some are read whole"


@pytest.mark.parametrize("path", [A, B])
def test_a_file_that_is_open_keeps_its_commit(tmp_path, path):
    commits = Commits(tmp_path / "r.icechunk")
    with mounted(tmp_path / "r.icechunk", "view=v3") as point:
        descriptor = os.open(point / path, os.O_RDONLY)
        commits.commit()
        shows(point, 2)
        assert struct.unpack("<q", os.pread(descriptor, 8, 0))[0] == 1
        os.close(descriptor)


def test_a_file_that_is_open_keeps_its_commit_however_many_follow(tmp_path, monkeypatch):
    monkeypatch.setattr(icechunk_commits, "KEPT", 2 * COMMITS)
    commits = Commits(tmp_path / "r.icechunk")
    with mounted(tmp_path / "r.icechunk", "view=v3") as point, contextlib.ExitStack() as stack:
        opened, seen = {}, set()

        def open_now():
            for path in (A, B):  # read for the first time in the end
                opened[path, commits.number] = os.open(point / path, os.O_RDONLY)
                stack.callback(os.close, opened[path, commits.number])

        open_now()
        for _ in range(COMMITS):
            before = os.stat(point / A).st_ino
            commits.commit()
            end = time.monotonic() + 30
            while (inode := os.stat(point / A).st_ino) == before and time.monotonic() < end:
                time.sleep(0.0005)
            seen.add(inode)
            if commits.number % 500 == 0:
                open_now()
        assert len(seen) == COMMITS
        assert json.loads((point / ".zarrfs/status.json").read_text())["old_versions"]["known"] >= COMMITS
        found = {(path, number): struct.unpack("<q", os.pread(descriptor, 8, 0))[0] for (path, number), descriptor in opened.items()
                 if (path, number) != (A, 1)}
        assert found == {(path, number): number for path, number in found}
        for path in list(commits.written)[:5]:
            path.unlink()  # collected as garbage
        with pytest.raises(OSError):
            os.pread(opened[A, 1], 8, 0)


@pytest.mark.parametrize("is_looked_at", [True, False])
def test_a_file_that_is_open_while_the_worker_is_replaced_never_shows_a_later_commit(tmp_path, is_looked_at):
    commits = Commits(tmp_path / "r.icechunk")
    with mounted(tmp_path / "r.icechunk", "view=v3") as point:
        descriptors = [os.open(point / path, os.O_RDONLY) for path in (A, B)]
        if is_looked_at:
            commits.commit()
            shows(point, 2)
        kill_worker(keeper_of(point))
        commits.commit()
        seen, end = None, time.monotonic() + 30
        while seen != commits.number and time.monotonic() < end:
            with contextlib.suppress(OSError):  # until the new worker has invalidated all names
                seen = number_in(point / A)
        shows(point, commits.number)
        # A worker may still be able to read the commit that the file is of, or have its pages.
        for descriptor in descriptors:
            try:
                assert struct.unpack("<q", os.pread(descriptor, 8, 0))[0] == 1
            except OSError as stale:
                assert stale.errno == errno.ESTALE, os.strerror(stale.errno)
            os.close(descriptor)
