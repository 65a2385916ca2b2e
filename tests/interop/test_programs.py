"""What the built programs are, as a linker and a loader see them."""

import re
import subprocess

import pytest
from mounts import ZARRCTL, ZARRFS


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
