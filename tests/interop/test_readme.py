"""Every command of README.md, taken from it."""

import os
import re
import shutil

import pytest
from documented import Machine, blocks
from mounts import ROOT, ZARRFS

README = ROOT / "README.md"

# What no test of a machine that stays as it is can run, and what does.
ELSEWHERE = {
    "tools/demo ": "is a step of tools/check",
    "tools/check ": "runs this",
    "echo '/data/ocean.zarr ": "tests/boot/run has this line in its /etc/fstab",
    "systemctl daemon-reload && mount -a": "tests/boot/run",
}


# Commands in tables, and what runs them.
INSTALLED_BY = {
    "apt install ./zarrfs_": "tests/install/run, tests/boot/run",
    "dnf install ./zarrfs-": "nothing",
    "tar -xf zarrfs-": "tests/install/run, tests/portable/run",
    "pip install ./zarrfs-": "tests/install/run, test_python.py",
    "docker build -t zarrfs": "tests/install/run containers",
    "cmake --preset programs": "tests/boot/run --sources",
}


def commands():
    """All lines of all blocks but the picture and what only continues a comment."""
    lines = [line for block in blocks(README.read_text()) if not block[0].startswith("$") for line in block]
    return [line for line in lines if not re.match(r" +#", line)]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("readme"))
    yield machine
    machine.close()


def test_every_command(machine, figures):
    run = []
    for command in commands():
        if where := [why for begin, why in ELSEWHERE.items() if command.startswith(begin)]:
            figures.append(f"  README.md, not run here: {command.partition('  #')[0].rstrip()} ({where[0]})")
            continue
        said = machine.run(command)
        run.append((command, said))
        expected = re.search(r"# (.*?): one folder per kind of reader", command)
        assert expected is None or said.split() == expected[1].split()
        if command.startswith("zarrfs --unmount"):
            assert not os.path.ismount(machine.mount)
    texts = {command.split()[0]: said for command, said in run}
    assert set(texts) == {"zarrctl", "mkdir", "zarrfs", "ls", "python3", "gdalinfo", "ncdump"}
    said = "\n".join(said for _, said in run)
    for words in ("All of them in v2, v3, gdal", "<xarray.Dataset>", "[279.66 280.06", "SUBDATASET_6_DESC=Array /temperature at index 5 of time", "ushort temperature"):
        assert words in said, said


def test_what_is_run_elsewhere_is_still_there():
    assert [begin for begin in ELSEWHERE if not any(line.startswith(begin) for line in commands())] == []


def test_each_way_to_install_is_named_and_has_its_test(figures):
    rows = re.findall(r"^\| [^|`]+ \| `([^`]+)`", README.read_text(), re.MULTILINE)
    for row, (begin, where) in zip(rows, INSTALLED_BY.items(), strict=True):
        assert row.startswith(begin)
        figures.append(f"  README.md, not run here: {row} ({where})")


def test_readers_to_install_are_those_that_the_lines_were_tried_with():
    pip, = re.findall(r"`pip install ('zarr[^`]*)`", README.read_text())
    for name, major in re.findall(r"'(\w+)<(\d+)'", pip):
        version, = re.findall(rf"^{name}==(\d+)\.", (ROOT / "tests/interop/requirements-zarr2.txt").read_text(), re.MULTILINE)
        assert int(version) == int(major) - 1
    assert pip == "'zarr<3' 'xarray<2025'"


def test_picture_is_what_is_printed_of_the_sample(tmp_path):
    machine = Machine(tmp_path)
    machine.run("zarrctl sample sample")
    shutil.rmtree(machine.store)
    (tmp_path / "sample/ocean.zarr").rename(machine.store)
    picture, = (block for block in blocks(README.read_text()) if block[0].startswith("$"))
    left, right = re.fullmatch(r"\$ (.*?) +\$ (.*)", picture[0]).groups()
    (machine.mount).mkdir(parents=True, exist_ok=True)
    machine.run("zarrfs /data/ocean.zarr /mnt/ocean")
    drawn, listed = machine.run(left).splitlines(), machine.run(right).splitlines()
    machine.run("zarrfs --unmount /mnt/ocean")
    column = picture[0].index("$", 1)
    assert "\n".join(line[:column].rstrip() for line in picture[1:]) in "\n".join(line.rstrip() for line in drawn)
    assert [line[column:].split() for line in picture[1:] if line[column:]] == [line.split() for line in listed]


@pytest.mark.parametrize("option", re.findall(r"^\| `(\S+)` \|", README.read_text(), re.MULTILINE))
def test_every_option(machine, option):
    machine.mount.mkdir(parents=True, exist_ok=True)
    machine.run(f"zarrfs /data/ocean.zarr /mnt/ocean -o {option}")
    said = machine.run("cat /mnt/ocean/.zarrfs/options")
    machine.run("zarrfs --unmount /mnt/ocean")
    assert option.partition("=")[0] in said


def test_at_a_terminal_zarrfs_says_what_next(machine):
    machine.mount.mkdir(parents=True, exist_ok=True)
    said = machine.run("script -qec 'zarrfs /data/ocean.zarr /mnt/ocean' /dev/null").splitlines()
    assert said[0] == f"zarrfs: {machine.store} is mounted at {machine.mount}"
    folders = [line.split()[0] for line in said[1:-1]]
    assert folders == [str(machine.mount / view) for view in ("v2", "v3", "gdal", "netcdf", "java", "nc", "npy")]
    assert [line.endswith(" (not listed)") for line in said[1:-1]] == [False] * 4 + [True] * 3
    assert all(os.path.isdir(folder) for folder in folders)
    assert said[-1] == f"  To end it: zarrfs --unmount {machine.mount}"
    machine.run("zarrfs --unmount /mnt/ocean")
    said = machine.run("script -qec 'zarrfs /data/ocean.zarr /mnt/ocean -o view=gdal' /dev/null").splitlines()
    assert said[1].split() == [str(machine.mount), "GDAL"]
    machine.run("zarrfs --unmount /mnt/ocean")
    # Elsewhere it is silent, as before, and as mount(8) is everywhere.
    (machine.folder / "bin/mount.zarrfs").symlink_to(ZARRFS)
    for command in ("zarrfs /data/ocean.zarr /mnt/ocean", "script -qec 'mount.zarrfs /data/ocean.zarr /mnt/ocean' /dev/null"):
        assert machine.run(command) == ""
        machine.run("zarrfs --unmount /mnt/ocean")


def test_is_short_and_its_links_lead_somewhere():
    text = README.read_text()
    assert len(text.splitlines()) <= 120
    assert max(map(len, text.splitlines())) <= 100
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / link).exists(), link
