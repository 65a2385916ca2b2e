"""docs/GETTING_STARTED.md and docs/RECIPES.md: each block is run, or it stands here why not."""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
import zarr
from documented import Machine, blocks_by_heading
from mounts import DETACH_COPIES, ROOT, ZARRFS, mounted
from scipy.io import netcdf_file

PAGES = ["docs/GETTING_STARTED.md", "docs/RECIPES.md"]
BLOCKS = [(page, heading, block) for page in PAGES for heading, found in blocks_by_heading(page).items() for block in found]

# How a block that begins so is run: "shell": its lines; "fstab": what mount(8) makes of it, without mounting; else the name of a
# test below.
RUN = {
    "zarrctl info /data/ocean.zarr": "shell",
    "mkdir /mnt/ocean\nmount -t": "shell",
    "mkdir /mnt/data": "shell",
    "zarrctl status /mnt/ocean ": "test_where_to_look",
    "/data/ocean.zarr  /mnt/ocean": "fstab",
    "/data  /mnt/data": "fstab",
    "/lustre/archive/ocean.zarr  /mnt/ocean": "fstab",
    "zarrfs ~/results.zarr": "shell",
    "zarrfs /data/ocean.zarr /mnt/ocean -o views=v2:nc": "test_an_old_program_opens_one_file",
    "ncwa -a time": "test_nco_needs_a_record_dimension_for_some_of_its_programs",
    "mnt=$(mktemp -d)": "shell",
    "# /etc/nginx/sites-enabled/ocean": "test_nginx_serves_what_zarr_js_reads",
    "# Prolog=": "test_prolog_mounts_as_the_user_and_never_drains_the_node",
}
NOT_RUN = {
    "apt install ./zarrfs_": "tests/boot/run installs the package",
    "tar -C /usr/local": "tests/boot/run installs the archive so, and boots",
    "tools/setup --build\ncmake": "tests/boot/run --sources installs so, and boots",
    "python3 -m venv env": "tests/install/run wheels",
    "docker build": "tests/install/run containers",
    "apt install cargo-web": "tools/setup --test builds pcodec where cargo is (test_pcodec.py)",
    "/mnt/ocean/v2/.zgroup": "a listing, not commands",
    "systemd-escape --path /mnt/ocean": "tests/boot/run",
    "zarrctl info [-l] STORE [PATH]": "a table of commands, not commands",
    "mkdir /mnt/ocean\necho": "tests/boot/run has this line in its /etc/fstab",
    "mkdir -p ~/.config/zarrfs": "needs a user's service manager",
    "# /etc/auto.master.d": "no automounter here",
    "[ocean]": "no Samba server here",
    "zarrfs /data/ocean.zarr /mnt/ocean -o immutable,view=v2\nmount -t overlay": "needs a folder that is no overlay itself",
    "EXPORT {": "no NFS server here",
    "# jupyterhub_config.py": "no JupyterHub here",
    "c.KubeSpawner": "no Kubernetes here",
    "docker run": "no containers here",
    "volumes:": "no Kubernetes here",
    "apt install prometheus-node-exporter": "test_metrics.py runs the collector and the alerts",
}


def ways(block):
    text = "\n".join(block)
    return [begin for begin in [*RUN, *NOT_RUN] if text.startswith(begin)]


def block_that_begins(begin):
    found, = ("\n".join(block) for _, _, block in BLOCKS if "\n".join(block).startswith(begin))
    return found


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    (tmp_path / "bin/mount.zarrfs").symlink_to(ZARRFS)
    machine.mount.parent.mkdir()
    yield machine
    machine.close()


def on(machine, text):
    """The text with those paths of the machine that Machine.run() does not know."""
    for path, there in {"/mnt/data": "mnt/data", "/lustre/archive": "", "/run/zarrfs": "run"}.items():
        text = text.replace(path, str(machine.folder / there))
    return re.sub(r"(?<![\w/])/data\b", str(machine.folder), text)


def test_each_block_is_run_or_there_is_a_reason(figures):
    for page, heading, block in BLOCKS:
        assert len(ways(block)) == 1, f"{page}, {heading}: {block[0]}"
        if reason := NOT_RUN.get(ways(block)[0]):
            figures.append(f"  {page}, not run here: {block[0]} ({reason})")
    used = {way for _, _, block in BLOCKS for way in ways(block)}
    assert used == set(RUN) | set(NOT_RUN)


@pytest.mark.parametrize("block", ["\n".join(block) for _, _, block in BLOCKS if RUN.get(ways(block)[0]) == "shell"])
def test_block_of_commands(machine, block):
    shutil.copytree(machine.store, machine.folder / "results.zarr")
    (machine.folder / "results").mkdir()
    text = on(machine, block).replace("mount -t zarrfs", "mount.zarrfs").replace("~", str(machine.folder))
    try:
        said = machine.run(text)
    finally:
        if os.path.ismount(machine.folder / "mnt/data"):
            subprocess.run([ZARRFS, "--unmount", machine.folder / "mnt/data"], check=True)
    if "ls " in block:
        assert "temperature" in said or "ocean.zarr" in said or "v2" in said
    assert "mount.zarrfs" not in subprocess.run(["findmnt", "-n"], capture_output=True, text=True).stdout


@pytest.mark.parametrize("line", [line for _, _, block in BLOCKS if RUN.get(ways(block)[0]) == "fstab" for line in block])
def test_line_of_fstab(machine, line):
    machine.mount.mkdir()
    (machine.folder / "mnt/data").mkdir()
    source, point, kind, options, *rest = line.split()
    assert (kind, rest) == ("zarrfs", ["0", "0"])
    assert machine.run(on(machine, f"mount.zarrfs {source} {point} -f -o '{options}'")) == ""


def test_where_to_look(machine):
    machine.mount.mkdir()
    machine.run("zarrfs /data/ocean.zarr /mnt/ocean")
    for line in block_that_begins("zarrctl status /mnt/ocean ").splitlines():
        if not line.startswith("journalctl"):
            assert machine.run(line)


def test_an_old_program_opens_one_file(machine):
    machine.mount.mkdir()
    said = machine.run(block_that_begins("zarrfs /data/ocean.zarr /mnt/ocean -o views=v2:nc"))
    assert "temperature(time, lat, lon)" in said
    temperature = zarr.open_array(machine.store / "temperature", mode="r")
    with netcdf_file(machine.folder / "first.nc", mmap=False) as first:
        np.testing.assert_array_equal(first.variables["temperature"][:], temperature[:2])
    assert "left out" not in machine.run("zarrctl info --nc 2 /data/ocean.zarr")


def test_nco_needs_a_record_dimension_for_some_of_its_programs(machine):
    machine.mount.mkdir()
    machine.run("zarrfs /data/ocean.zarr /mnt/ocean")
    assert "no variables fit criteria for processing" in machine.run("ncra /mnt/ocean/nc/ocean.nc out.nc || true", may_fail=True)
    machine.run(block_that_begins("ncwa -a time"))
    for name in ("mean.nc", "mean-of-records.nc"):
        with netcdf_file(machine.folder / name, mmap=False) as mean:
            stored = zarr.open_array(machine.store / "temperature", mode="r")[...]
            np.testing.assert_allclose(mean.variables["temperature"][:].squeeze(), 0.01 * stored.mean(axis=0), atol=0.01)  # NCO unpacks


# By users' words: a store, one whose folder is closed to them, that one by "..", by a link, a typo, and what looks like an option.
PROLOGS = """
mknod fuse c 10 229; chmod 666 fuse; mount --bind fuse /dev/fuse    # open to users, as on other machines
job() { SLURM_JOB_ID=$1 SLURM_JOB_USER=nobody SLURM_JOB_COMMENT=$2 ./Prolog; echo "prolog $1: $?"; }
see() { runuser -u nobody -- sh -c 'cat "$1" | md5sum' sh "run/$1/temperature/.zarray" 2>/dev/null; }
job 1 zarrfs=$PWD/ocean.zarr
see 1; md5sum <ocean.zarr/.expected
job 2 zarrfs=$PWD/secret/ocean.zarr;      see 2
job 3 zarrfs=$PWD/open/../secret/ocean.zarr; see 3
job 4 zarrfs=$PWD/open/link;              see 4
job 5 zarrfs=$PWD/typo.zarr;              see 5
job 6 zarrfs=--upgrade;                   see 6
job 7 'zarrfs=$(touch owned)';            see 7
job 8 something;                          see 8
for id in 1 2 3 4 5 6 7 8; do SLURM_JOB_ID=$id SLURM_JOB_USER=nobody ./Epilog; echo "epilog $id: $?"; done
ls -A run
"""


def test_prolog_mounts_as_the_user_and_never_drains_the_node(machine):
    if os.getuid() != 0:
        pytest.skip("needs root")
    folder = machine.folder
    for path in [folder, *folder.parents]:  # (pytest's are for this user alone)
        if path.stat().st_uid == 0 and str(path).startswith("/tmp/"):
            path.chmod(0o755)
    programs = folder / "bin"
    for name in ("zarrfs", "zarrctl"):
        program = (programs / name).resolve()
        (programs / name).unlink()
        shutil.copy(program, programs / name)
    (programs / "logger").write_text(f'#!/bin/sh\necho "$*" >>{folder}/logged\n')
    (programs / "logger").chmod(0o755)
    for text in re.split("\n(?=# Epilog=)", on(machine, block_that_begins("# Prolog="))):
        assert text.splitlines()[1] == "#!/bin/bash" and "scontrol" not in text
        path = folder / text[2:8]
        path.write_text(text.partition("\n")[2].replace("PATH=/usr/local/bin", f"PATH={programs}"))
        path.chmod(0o755)
    shutil.copytree(machine.store, folder / "secret/ocean.zarr")
    (folder / "secret").chmod(0o700)
    (folder / "open").mkdir()
    (folder / "open/link").symlink_to(folder / "secret/ocean.zarr")
    with mounted(machine.store, "view=v2") as point:
        (machine.store / ".expected").write_bytes((point / "temperature/.zarray").read_bytes())
    said = subprocess.run(["unshare", "--mount", "bash", "-c", f"{DETACH_COPIES}; {PROLOGS}"], cwd=folder, capture_output=True, text=True, timeout=120)
    lines = said.stdout.splitlines()
    nothing = "d41d8cd98f00b204e9800998ecf8427e  -"
    assert lines[0] == "prolog 1: 0" and lines[1] == lines[2] != nothing, said
    assert lines[3:17] == [line for id in range(2, 9) for line in (f"prolog {id}: 0", nothing)], said
    assert lines[17:] == [f"epilog {id}: 0" for id in range(1, 9)], said.stderr
    assert not (folder / "owned").exists()
    logged = (folder / "logged").read_text()
    assert all(f"job {id} has no mount of" in logged for id in range(2, 8)) and "job 1 " not in logged


@pytest.mark.further_reader
def test_nginx_serves_what_zarr_js_reads(machine, tmp_path):
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or str(ROOT / "build/nginx/nginx")
    machine.mount.mkdir()
    machine.run("zarrfs /data/ocean.zarr /mnt/ocean")
    server = block_that_begins("# /etc/nginx/sites-enabled/ocean").replace("/mnt/ocean", str(machine.mount))
    assert "listen 8080;" in server
    port = 18080 + os.getpid() % 1000
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(
        f"user root;\ndaemon off;\nerror_log {tmp_path}/errors;\npid {tmp_path}/pid;\nevents {{}}\n"
        f"http {{\naccess_log off;\nclient_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p; fastcgi_temp_path {tmp_path}/f;\n"
        f"uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;\n"
        + server.replace("listen 8080;", f"listen 127.0.0.1:{port};") + "\n}\n")
    process = subprocess.Popen([nginx, "-c", configuration])
    url = f"http://127.0.0.1:{port}/ocean/v2"
    try:
        for _ in range(100):
            try:
                answer = urllib.request.urlopen(f"{url}/temperature/.zarray")
                break
            except OSError:
                time.sleep(0.1)
        assert answer.headers["Access-Control-Allow-Origin"] == "*" and answer.headers["Content-Type"] == "application/octet-stream"
        with pytest.raises(urllib.error.HTTPError) as absent:
            urllib.request.urlopen(f"{url}/temperature/99.0.0")
        assert absent.value.code == 404 and absent.value.headers["Access-Control-Allow-Origin"] == "*"
        request = urllib.request.Request(f"{url}/temperature/0.0.0", headers={"Range": "bytes=2-5"})
        assert urllib.request.urlopen(request).read() == (machine.mount / "v2/temperature/0.0.0").read_bytes()[2:6]
        request = urllib.request.Request(f"{url}/temperature/0.0.0", method="OPTIONS")
        assert urllib.request.urlopen(request).status == 204
        read = subprocess.run(
            ["node", ROOT / "tests/interop/readers/read_zarr_js.mjs", url, "temperature"], capture_output=True, text=True, timeout=120,
            env={**os.environ, "ZARR_JS": str(ROOT / "build/node")})
        assert read.returncode == 0, read.stderr
        found = json.loads(read.stdout)["temperature"]
    finally:
        process.terminate()
        process.wait(10)
    expected = zarr.open(machine.store, mode="r")["temperature"][:]
    assert tuple(found["shape"]) == expected.shape
    assert np.array_equal(np.array(found["values"], expected.dtype).reshape(expected.shape), expected)
