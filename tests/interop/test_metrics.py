"""Prometheus' own tool judges what a mount says in .zarrfs/metrics."""

import shutil
import subprocess

from mounts import ROOT, mounted

PROMTOOL = shutil.which("promtool") or str(ROOT / "build/prometheus/promtool")


def test_promtool_has_nothing_to_say():
    with mounted(ROOT / "tests/data/sample.zarr") as point:
        for path in sorted((point / "v2").rglob("*")):
            if path.is_file():
                path.read_bytes()
        assert not (point / "v2/nothing").exists()
        text = (point / ".zarrfs/metrics").read_text()
    judged = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    assert (judged.returncode, judged.stdout + judged.stderr) == (0, "")
