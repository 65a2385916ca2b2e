"""The commands of all documents: those of the pages below are run here, and each page with commands has a test that runs them."""

import re
import shutil
import subprocess

import pytest
import zarr
from documented import Machine, blocks
from faulty_server import serving
from mounts import ROOT, ZARR2_PYTHON, ZARRFS
from remote import KEY, REMOTE_PYTHON, SECRET, UPLOAD, free_port, running
from test_metrics import PROMTOOL
from test_python import install_next_to, make_wheel

# What runs the commands of the other pages.
ELSEWHERE = {"GETTING_STARTED.md": "test_recipes.py", "RECIPES.md": "test_recipes.py", "OPEN_FROM.md": "test_open_from.py"}
BLOCKS = [(page.name, block) for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in ELSEWHERE for block in blocks(page.read_text())]

# How a block that begins so is run: "lines": each by itself, and what it mounts is read and unmounted; "mounted": with a mount, but
# for the lines that ask systemd; otherwise the name of a test below.
RUN = {
    ("CANNOT_OPEN.md", "mkdir -p /mnt/ocean"): "lines",
    ("CLUSTER.md", "zarrfs s3://bucket/ocean.zarr"): "lines",
    ("ICECHUNK.md", "zarrfs /data/ocean.icechunk"): "lines",
    ("KERCHUNK.md", "zarrfs /data/ocean.json"): "lines",
    ("METRICS.md", "cat /mnt/ocean/.zarrfs/metrics"): "mounted",
    ("METRICS.md", "increase("): "test_prometheus_takes_the_expressions",
    ("METRICS.md", "sum by (mount)"): "test_prometheus_takes_the_expressions",
    ("METRICS.md", "rate(zarrfs_store"): "test_prometheus_takes_the_expressions",
    ("METRICS.md", "histogram_quantile"): "test_prometheus_takes_the_expressions",
    ("METRICS.md", "rate(zarrfs_cache"): "test_prometheus_takes_the_expressions",
    ("METRICS.md", "zarrfs_up == 0"): "test_prometheus_takes_the_expressions",
    ("PYTHON.md", "import xarray, zarrfs"): "test_module_mounts_for_a_block",
    ("REMOTE.md", "zarrfs s3://bucket/ocean.zarr /mnt/ocean\n"): "lines",
    ("REMOTE.md", "zarrfs s3://bucket/ocean.zarr /mnt/ocean -o disk_cache"): "lines",
    ("TROUBLESHOOTING.md", "journalctl -t zarrfs"): "mounted",
    ("WITHOUT_MOUNT.md", "zarrctl refs /data/ocean.zarr --out ocean.json\n"): "test_references_are_read",
    ("WITHOUT_MOUNT.md", "import fsspec"): "test_references_are_read",
    ("WITHOUT_MOUNT.md", "zarrctl refs /data/ocean.zarr --out ocean.json --prefix"): "lines",
    ("WITHOUT_MOUNT.md", "zarrctl pack --dry-run"): "lines",
    ("WITHOUT_MOUNT.md", "#!/bin/bash\n#SBATCH"): "test_a_job_array_packs",
}
NOT_RUN = {
    ("CLUSTER.md", "apt install nginx-light"): "test_remote_via.py runs nginx with this file",
    ("METRICS.md", "apt install prometheus-node-exporter"): "tests/boot/run starts the timer",
    ("OPTIONS.md", "/data/ocean.zarr  /mnt/ocean"): "tests/boot/run has this line in its /etc/fstab",
    ("OPTIONS.md", "# A line that begins with #"): "test_virtual_file.py takes it as a file",
    ("PYTHON.md", "pip install ./zarrfs-"): "tests/install/run wheels",
    ("SECURITY.md", "sandbox: "): "a line that a mount prints, not commands",
    ("SECURITY.md", "fetcher: "): "a line that a mount prints, not commands",
    ("WITHOUT_MOUNT.md", "import subprocess"): "test_pack.py runs it, with the readers of tools/setup --readers",
}
ASKS_SYSTEMD = ("journalctl", "systemctl")


def ways(page, block):
    text = "\n".join([*block, ""])
    return [way for way in [*RUN, *NOT_RUN] if way[0] == page and text.startswith(way[1])]


def run_as(how):
    return ["\n".join(block) for page, block in BLOCKS for way in ways(page, block) if RUN.get(way) == how]


def block_that_begins(page, begin):
    found, = ("\n".join(block) for name, block in BLOCKS if name == page and "\n".join([*block, ""]).startswith(begin))
    return found


def test_each_block_of_each_page_is_run_or_there_is_a_reason(figures):
    for page, block in BLOCKS:
        found = ways(page, block)
        assert len(found) == 1, f"docs/{page}: {block[0]}"
        if reason := NOT_RUN.get(found[0]):
            figures.append(f"  docs/{page}, not run here: {block[0]} ({reason})")
    assert {way for page, block in BLOCKS for way in ways(page, block)} == set(RUN) | set(NOT_RUN)
    for page, test in ELSEWHERE.items():
        assert f"docs/{page}" in (ROOT / "tests/interop" / test).read_text()
    # Blocks between fences would be looked at by no test.
    assert not [page for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")] if "```" in page.read_text()]


# The bucket is public, as those that the pages read with `anonymous`.
PUBLIC = """
import json, sys, boto3
s3 = boto3.client("s3", endpoint_url=sys.argv[1], aws_access_key_id="user", aws_secret_access_key="key", region_name="us-east-1")
statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": ["arn:aws:s3:::bucket", "arn:aws:s3:::bucket/*"]}
s3.put_bucket_policy(Bucket="bucket", Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
"""


class World(Machine):
    """A machine with what the pages name: stores and repositories in /data, in a bucket and on a web server."""

    def __init__(self, folder, web, python="zarr2"):
        super().__init__(folder, python)
        self.web = web
        shutil.copytree(ROOT / "tests/data/icechunk/v2", self.folder / "ocean.icechunk")
        subprocess.run(["zip", "-0qr", "all.zip", "ocean.icechunk"], cwd=self.folder, check=True)
        (self.folder / "nc").mkdir()
        shutil.copy(ROOT / "tests/data/kerchunk/2020.nc", self.folder / "nc")
        references = (ROOT / "tests/data/kerchunk/single.json").read_text().replace('"t/', '"temperature/')
        (self.folder / "ocean.json").write_text(references.replace("/place/of/the/data", str(self.folder / "nc")))
        old = zarr.create_group(self.folder / "old.zarr", zarr_format=2)
        old.create_array("salt", shape=(40, 30), chunks=(5, 5), dtype="i4")[...] = 7
        (self.folder / "cache").mkdir()
        self.mount.mkdir(parents=True)

    def run(self, command, may_fail=False):
        for name, there in {"https://data.example.org": self.web, "https://host": self.web, "/var/cache": str(self.folder / "cache")}.items():
            command = command.replace(name, there)
        return super().run(re.sub(r"(?:(?<![\w/])|(?<=file://))/data\b(?!/ocean\.zarr)", str(self.folder), command), may_fail)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    port = free_port()
    with serving(str(folder)) as server, running([str(REMOTE_PYTHON.with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)], port):
        world = World(folder, f"http://127.0.0.1:{server.server_port}")
        url = f"http://127.0.0.1:{port}"
        for store in ("ocean.zarr", "ocean.icechunk"):
            subprocess.run([REMOTE_PYTHON, "-c", UPLOAD, url, KEY, SECRET, "bucket", store, folder / store], check=True)
        subprocess.run([REMOTE_PYTHON, "-c", PUBLIC, url], check=True)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {"AWS_ENDPOINT_URL_S3": url, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}.items():
                patch.setenv(name, value)
            yield world
        world.close()


@pytest.mark.parametrize("block", run_as("lines"))
def test_each_line(world, block):
    for line in block.splitlines():
        world.run(line)
        if line.startswith("zarrfs "):
            try:
                view = world.mount if "view=v2" in line else world.mount / "v2"
                view = view / "tag.v1.0" if "at=all" in line else view
                assert (view / "temperature/.zarray").exists(), line
            finally:
                subprocess.run([ZARRFS, "--unmount", world.mount], check=True)


@pytest.mark.parametrize("block", run_as("mounted"))
def test_each_line_with_a_mount(world, block):
    world.run("zarrfs /data/ocean.zarr /mnt/ocean; cat /mnt/ocean/v2/temperature/0.0.0 >/dev/null")
    try:
        for line in block.splitlines():
            if not line.startswith(ASKS_SYSTEMD):
                said = world.run(line)
                assert said or line.startswith("cat /mnt/ocean/.zarrfs/errors"), line
    finally:
        subprocess.run([ZARRFS, "--unmount", world.mount], check=True)


def test_prometheus_takes_the_expressions(tmp_path):
    text = "\n".join(run_as("test_prometheus_takes_the_expressions"))
    expressions = re.sub(r"\n(?=  |and )", " ", text).splitlines()
    assert len(expressions) >= 8
    rules = "".join(f"  - record: e{n}\n    expr: |\n      {expression}\n" for n, expression in enumerate(expressions))
    (tmp_path / "rules.yml").write_text(f"groups:\n- name: pages\n  rules:\n{rules}")
    judged = subprocess.run([PROMTOOL, "check", "rules", tmp_path / "rules.yml"], capture_output=True, text=True)
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_references_are_read(world):
    world.run(block_that_begins("WITHOUT_MOUNT.md", "zarrctl refs /data/ocean.zarr --out ocean.json\n"))
    program = block_that_begins("WITHOUT_MOUNT.md", "import fsspec")
    said = world.run(f"cat >read.py <<'END'\n{program}\nprint(zarr.open(system.get_mapper(''), mode='r')['temperature'][0, 0, :2])\nEND\npython3 read.py")
    assert said == "[27315 27304]\n"


def test_a_job_array_packs(world):
    (world.folder / "pack.sh").write_text(block_that_begins("WITHOUT_MOUNT.md", "#!/bin/bash\n#SBATCH")
                                          .replace("/data/old.zarr", "old.zarr").replace("/data/new.zarr", "by-parts.zarr"))
    world.run("for i in {1..16}; do SLURM_ARRAY_TASK_ID=$i bash pack.sh; done; zarrctl verify by-parts.zarr")
    assert (zarr.open_array(world.folder / "by-parts.zarr/salt", mode="r")[...] == 7).all()


def test_module_mounts_for_a_block(world, tmp_path):
    programs = {program.name: program.read_bytes() for program in (ZARRFS, ZARRFS.with_name("zarrctl"))}
    python = install_next_to("zarr2", make_wheel(tmp_path, programs), tmp_path / "environment")
    program = block_that_begins("PYTHON.md", "import xarray, zarrfs")
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    check = "import sys, xarray; print(xarray.open_zarr(sys.argv[1]).temperature.mean().values)"
    world.run("zarrfs /data/ocean.zarr /mnt/ocean")
    try:
        assert done.stdout == subprocess.run([ZARR2_PYTHON, "-c", check, world.mount / "v2"], capture_output=True, text=True, check=True).stdout
    finally:
        subprocess.run([ZARRFS, "--unmount", world.mount], check=True)
