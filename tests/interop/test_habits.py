"""What people write who come from other FUSE file systems, and what a mount says without being asked."""

import grp
import os
import pwd
import re
import subprocess

import faulty_server
import pytest
from mounts import ROOT, ZARRCTL, ZARRFS, mounted

SAMPLE = ROOT / "tests/data/sample.zarr"


@pytest.fixture
def point(tmp_path):
    point = tmp_path / "mnt"
    point.mkdir()
    yield point
    if os.path.ismount(point):
        subprocess.run([ZARRFS, "--unmount", point], check=True)


def zarrfs(*words):
    return subprocess.run([ZARRFS, *map(str, words)], capture_output=True, text=True, timeout=60)


def test_a_mount_line_of_another_file_system_works():
    with mounted(SAMPLE, "ro,auto_unmount,default_permissions,max_read=131072,uid=nobody,gid=daemon,umask=027") as mount:
        found = os.stat(mount / "v2/temperature/0.0.0")
        assert (found.st_uid, found.st_gid) == (pwd.getpwnam("nobody").pw_uid, grp.getgrnam("daemon").gr_gid)
        assert found.st_mode & 0o777 == 0o440
        # Whoever takes over the mount later needs no list of users.
        assert f"uid={found.st_uid},gid={found.st_gid}," in (mount / ".zarrfs/options").read_text()


@pytest.mark.parametrize(("option", "reason"), [
    ("allow_root", "the kernel supports only allow_other; with uid=UID,umask=077 only you and root have access"),
    ("fsname=ocean", "the source of a mount is always its store"),
    ("max_read=65536", "expected 128K or more; it has no effect, because reads are not made smaller"),
    ("uid=nobody-has-this-name", "expected a number, or the name of a user of this machine")])
def test_what_would_mean_something_else_is_refused(point, option, reason):
    refused = zarrfs(SAMPLE, point, "-o", option)
    assert refused.returncode == 1 and refused.stderr.startswith(f"zarrfs: option '{option}': {reason}"), refused.stderr
    assert not os.path.ismount(point)


def test_that_changes_are_seen_late_is_said_with_v(point):
    said = f"zarrfs: {SAMPLE} is mounted at {point}\n"
    assert zarrfs("-v", SAMPLE, point).stdout == said
    assert zarrfs("--unmount", point).returncode == 0
    with faulty_server.serving(SAMPLE.parent) as server:
        url = f"http://127.0.0.1:{server.server_port}/{SAMPLE.name}"
        silent = zarrfs("--readonly", url, point)
        assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
        assert zarrfs("--unmount", point).returncode == 0
        loud = zarrfs("-v", url, point)
        assert loud.stderr == "" and loud.stdout.splitlines()[1] == (
            f"zarrfs: changes are noticed within a minute, because the store does not report them: {url}: this store cannot be watched")
        assert zarrfs("--unmount", point).returncode == 0


def test_help_has_the_headings_of_the_document_with_the_same_options_below_them():
    table = zarrfs("--help").stdout.partition("Options after -o")[2].partition("\n\n")[0]
    _, *parts = re.split(r"^([A-Z].*):$", table.partition("\n")[2], flags=re.MULTILINE)
    helped = {heading: re.findall(r"^  ([a-z]\w*)", text, re.MULTILINE) for heading, text in zip(parts[::2], parts[1::2])}
    _, *parts = re.split(r"^## (.*)$", (ROOT / "docs/OPTIONS.md").read_text(), flags=re.MULTILINE)
    documented = {heading: re.findall(r"^### (\w+)$", text, re.MULTILINE) for heading, text in zip(parts[::2], parts[1::2])}
    documented = {heading: names for heading, names in documented.items() if names}
    assert list(helped) == list(documented)
    assert {heading: sorted(names) for heading, names in helped.items()} == {heading: sorted(names) for heading, names in documented.items()}


def test_help_is_a_word_too(tmp_path):
    help_text = zarrfs("--help").stdout
    assert subprocess.run([ZARRFS, "help"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout == help_text
    wrong = subprocess.run([ZARRCTL, "info", "--nc", "3", SAMPLE], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stderr) == (1, "zarrctl: --nc: 3: expected auto, 2 or 5 (see zarrctl info --help)\n")
