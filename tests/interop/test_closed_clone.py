"""Tests that run programs as other users pass wherever the clone lies: here in a folder that only root may enter."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from mounts import ROOT, ZARRCTL, ZARRFS

OF_OTHER_USERS = [
    "test_zarrctl_verify.py::test_what_a_user_may_not_read_is_told",
    "test_zarrctl_status.py::test_log_level_of_another_user_s_mount_is_explained",
    "test_remote_credentials.py::test_a_program_is_run_as_who_asks",
]
MOUNTS_OF_OTHER_USERS = (
    "EasyMountTest.OthersCannotUnmountAndAreToldWhoCan:SandboxTest.OfAMountByAUserIsInForce:LifeTest.UserMountsAndUnmounts:"
    "UnreadableTest.WhatTheMountMayNotReadIsThereAndCannotBeRead:UpgradeTest.OnlyRootAndTheMountingUserMayAsk:CommandLineTest.*"
)


@pytest.fixture
def closed(tmp_path):
    """Programs in a folder of mode 0700."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o700)
    for program in (ZARRFS, ZARRCTL):
        shutil.copy(program, folder)
    return folder


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be another user")
def test_readers_of_other_users(closed, tmp_path):
    here = pathlib.Path(__file__).parent
    tests = [str(here / name) for name in OF_OTHER_USERS]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-n", "0", f"--basetemp={tmp_path}/base", *tests]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "ZARRFS_BIN": str(closed / "zarrfs")})
    assert result.returncode == 0, result.stdout


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be another user")
def test_mounts_of_other_users(closed):
    program = ROOT / "build/release/bin/mount_test"
    command = [program, "--gtest_brief=1", f"--gtest_filter={MOUNTS_OF_OTHER_USERS}"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "ZARRFS_PROGRAMS": str(closed)})
    assert result.returncode == 0 and "PASSED" in result.stdout, result.stdout
