"""jzarr, by ReadJzarr.java, with what tools/setup --readers installs: ucar.ma2, which it needs, is in Bio-Formats."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from digest import describe

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[2] / "build"
JARS = [*BUILD.glob("java/*.jar"), *BUILD.glob("python/java/lib/*/site-packages/bioformats/jars/*.jar")]


def main():
    paths = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["java", "-cp", ":".join(map(str, JARS)), HERE / "ReadJzarr.java", folder], input="".join(f"{path}\n" for path in paths),
            capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        entries = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(entries) == len(paths)
        for number, entry in enumerate(entries):
            if "error" not in entry:
                elements = np.fromfile(pathlib.Path(folder, str(number)), "<" + entry.pop("type"))
                entry.update(describe(elements.reshape(entry["shape"])))
        json.dump(entries, sys.stdout)


if __name__ == "__main__":
    main()
