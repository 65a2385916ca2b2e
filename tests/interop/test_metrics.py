"""Prometheus' own tool judges what a mount says in .zarrfs/metrics, what zarrfs-metrics makes of it, and the alerts."""

import json
import os
import re
import shutil
import signal
import subprocess

import pytest

import faulty_server
from mounts import ROOT, mounted

PROMTOOL = shutil.which("promtool") or str(ROOT / "build/prometheus/promtool")
MONITORING = ROOT / "packaging/monitoring"


def judge(text):
    judged = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert (judged.returncode, judged.stdout + judged.stderr) == (0, "")


def collect(folder):
    run = subprocess.run([MONITORING / "zarrfs-metrics", folder], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
    return {path.name: path.read_text() for path in folder.iterdir()}


def of(point, files):
    """The file with the metrics of a mount; others may have mounts on this machine, too."""
    found = [text for text in files.values() if f'zarrfs_up{{mount="{point}"}}' in text]
    assert len(found) <= 1
    return found[0] if found else None


def test_promtool_has_nothing_to_say():
    with mounted(ROOT / "tests/data/sample.zarr") as point:
        for path in sorted((point / "v2").rglob("*")):
            if path.is_file():
                path.read_bytes()
        assert not (point / "v2/nothing").exists()
        text = (point / ".zarrfs/metrics").read_text()
    judge(text)


def test_every_mount_is_collected_under_its_name_and_forgotten_when_it_is_gone(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    strange = tmp_path / 'a "b" & c|d\\e'
    plain = tmp_path / "plain"
    for folder in (strange, plain):
        folder.mkdir()
    label = str(strange).replace("\\", "\\\\").replace('"', '\\"')
    with mounted(ROOT / "tests/data/sample.zarr", at=strange):
        with mounted(ROOT / "tests/data/sample.zarr", at=plain):
            files = collect(out)
            judge(of(plain, files))
            assert re.search(rf'^zarrfs_requests_total{{mount="{re.escape(str(plain))}",operation="read",', of(plain, files), re.M)
            judge(of(label, files))
            assert f'zarrfs_arrays{{mount="{label}"}} ' in of(label, files)
            assert f'zarrfs_up{{mount="{label}"}} 1\n' in of(label, files)
        files = collect(out)
        assert of(plain, files) is None and of(label, files)
    assert of(label, collect(out)) is None
    assert all(name.endswith(".prom") and not name.startswith(".") for name in collect(out))


def test_a_mount_that_hangs_is_down(tmp_path):
    with mounted(ROOT / "tests/data/sample.zarr") as point:
        options = dict(line.split(": ", 1) for line in (point / ".zarrfs/options").read_text().splitlines() if ": " in line)
        keeper = int(options["pid"])
        worker = int(subprocess.run(["pgrep", "-P", str(keeper)], capture_output=True, text=True, check=True).stdout.split()[0])
        os.kill(worker, signal.SIGSTOP)
        try:
            text = of(point, collect(tmp_path))
        finally:
            os.kill(worker, signal.SIGCONT)
        assert text.endswith(f'zarrfs_up{{mount="{point}"}} 0\n') and "zarrfs_arrays" not in text
        assert f'zarrfs_up{{mount="{point}"}} 1\n' in of(point, collect(tmp_path))


def test_the_alerts_fire_when_they_should_and_only_then():
    run = subprocess.run([PROMTOOL, "test", "rules", ROOT / "tests/data/alerts_test.yml"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("file", ["packaging/monitoring/grafana-dashboard.json", "packaging/monitoring/alerts.yml", "docs/METRICS.md"])
def test_what_is_asked_for_exists(file):
    """Every metric that the dashboard, the alerts and the page name is one that there is."""
    text = (ROOT / file).read_text()
    if file.endswith(".json"):
        json.loads(text)
    # (Of a store behind a network, which has all of them.)
    with faulty_server.serving(ROOT / "tests/data") as server, mounted(f"{server.url}/sample.zarr") as point:
        (point / "v2/.zgroup").read_bytes()
        have = set(re.findall(r"^# TYPE (\w+)", (point / ".zarrfs/metrics").read_text(), re.M)) | {"zarrfs_up"}
    named = {re.sub("_(bucket|count|sum)$", "", name) for name in re.findall(r"\bzarrfs_[a-z_]+[a-z]\b", text)}
    assert named and named <= have
