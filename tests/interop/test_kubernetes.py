"""The pods of packaging/kubernetes: valid by the schemas of Kubernetes, and their commands and probes run here, without a cluster."""

import os
import pathlib
import signal
import subprocess
import time

import numpy as np
import pytest
import yaml

from mounts import ROOT, ZARRFS
from test_given_connection import EXPECTED, given, store, values  # noqa: F401 (a fixture)
from test_worker_killed import keeper_of

FOLDER = ROOT / "packaging/kubernetes"
VALIDATE = ROOT / "build/python/kubernetes/bin/kubernetes-validate"
FILES = sorted(FOLDER.glob("*.yaml"))
MOUNTING = {"pod-sidecar.yaml": "/shared/ocean", "daemonset.yaml": "/mounts/ocean"}


def container_of(name):
    """The one that runs zarrfs."""
    resource = yaml.safe_load((FOLDER / name).read_text())
    pod = resource["spec"]["template"]["spec"] if resource["kind"] == "DaemonSet" else resource["spec"]
    (found,) = [each for each in [*pod.get("initContainers", []), *pod["containers"]] if each["name"] == "zarrfs"]
    return found


def here(arguments, places):
    """A command of a container with paths of this machine."""
    for there, place in places.items():
        arguments = [argument.replace(there, str(place)) for argument in arguments]
    return arguments


def passes(container, probe, places):
    return subprocess.run(here(container[probe]["exec"]["command"], places), timeout=30, check=False).returncode == 0


def wait_until_it_passes(container, probe, places):
    end = time.monotonic() + 30
    while not passes(container, probe, places) and time.monotonic() < end:
        time.sleep(0.05)
    assert passes(container, probe, places)


def test_kubernetes_knows_each_field(tmp_path):
    def is_valid(*files):
        return subprocess.run([VALIDATE, "--strict", *files], capture_output=True, timeout=120, check=False).returncode == 0

    assert len(FILES) == 3 and is_valid(*FILES)
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(FILES[0].read_text().replace("mountPropagation:", "propagation:"))
    assert not is_valid(wrong)


def test_a_pod_without_privileges_serves_what_a_driver_mounts(store, tmp_path):  # noqa: F811
    container = container_of("pod-unprivileged.yaml")
    arguments = container["command"][container["command"].index("--") + 1 :]
    assert arguments[0] == "/usr/bin/zarrfs" and arguments[-1] == "/dev/fd/3"
    point = tmp_path / "ocean"
    places = {"/ocean/": f"{point}/"}
    assert not passes(container, "startupProbe", places)
    options = [each for each in arguments[1:-1] if each not in ("-f", "/store/ocean.zarr")]
    with given(store, point, *options) as process:
        wait_until_it_passes(container, "startupProbe", places)
        assert np.array_equal(values(point), EXPECTED)
        process.send_signal(signal.SIGTERM)  # as fuse-starter does when the pod ends
        assert process.wait(20) == 0


@pytest.mark.parametrize("name", MOUNTING)
def test_a_container_that_mounts_mounts_again_after_a_crash(name, store, tmp_path):  # noqa: F811
    container = container_of(name)
    point = tmp_path / "mnt/ocean"
    places = {"/store/ocean.zarr": store, MOUNTING[name]: point, "exec zarrfs": f"exec {ZARRFS}"}
    command = here(container["command"], places)
    point.parent.mkdir()
    assert not passes(container, "startupProbe", places)
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_until_it_passes(container, "startupProbe", places)
    keeper = keeper_of(point)
    children = pathlib.Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    for process in (keeper, *children):
        os.kill(int(process), signal.SIGKILL)
    first.wait(20)
    assert not passes(container, "livenessProbe", places)

    again = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_until_it_passes(container, "livenessProbe", places)
    assert np.array_equal(values(point), EXPECTED)
    unmount = here(container["lifecycle"]["preStop"]["exec"]["command"], places)
    assert unmount[0] == "zarrfs"
    subprocess.run([ZARRFS, *unmount[1:]], check=True, timeout=30)
    assert again.wait(20) == 0
    assert not os.path.ismount(point)
