"""What the built programs are, as a linker and a loader see them."""

import os
import re
import subprocess

import pytest
from mounts import ROOT, ZARRCTL, ZARRFS


def readelf(program, *options):
    return subprocess.run(["readelf", "--wide", *options, program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("program", [ZARRFS, ZARRCTL], ids=["zarrfs", "zarrctl"])
def test_programs_are_hardened(program):
    """Position independent, bound at the start with read-only tables, with stack protector and fortified functions."""
    assert re.search(r"Type:\s+DYN \(Position-Independent Executable file\)", readelf(program, "--file-header"))
    assert "GNU_RELRO" in readelf(program, "--program-headers")
    if program.with_name("sanitizers").read_text().strip():
        return  # sanitizers have their own ways
    dynamic = readelf(program, "--dynamic")
    assert re.search(r"FLAGS\b.*BIND_NOW|FLAGS_1.*NOW", dynamic) and "TEXTREL" not in dynamic
    symbols = readelf(program, "--dyn-syms")
    assert "__stack_chk_fail" in symbols
    assert re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")), "no fortified function"
    stack = re.search(r"GNU_STACK.*", readelf(program, "--program-headers"))[0]
    assert "RWE" not in stack


def test_installed_from_the_sources_is_like_the_package(tmp_path):
    """Units read /etc/zarrfs, and what mount(8) does not find by itself is said in the end."""
    built = tmp_path / "programs"
    subprocess.run(["cmake", "--preset", "programs", "-B", built], cwd=ROOT, check=True, capture_output=True)
    unit = (built / "systemd/system/zarrfs@.service").read_text()
    assert "ExecStart=/usr/local/bin/zarrfs -f --config /etc/zarrfs/%i.conf %f" in unit
    command = ["cmake", "--install", built, "--component", "helper"]
    environment = {name: value for name, value in os.environ.items() if name != "DESTDIR"}
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    assert "ln -sf /usr/local/bin/zarrfs /sbin/mount.zarrfs" in said
    said = subprocess.run([*command, "--prefix", "/opt/zarrfs"], check=True, capture_output=True, text=True, env=environment).stdout
    assert "ln -sf /opt/zarrfs/bin/zarrfs /sbin/mount.zarrfs" in said
    staged = subprocess.run(command, check=True, capture_output=True, text=True, env={**environment, "DESTDIR": str(tmp_path)}).stdout
    assert "mount(8)" not in staged
