"""What the built programs are, as a linker and a loader see them."""

import json
import os
import re
import subprocess

import pytest
from mounts import IS_SANITIZED, ROOT, ZARRCTL, ZARRFS


def readelf(program, *options):
    return subprocess.run(["readelf", "--wide", *options, program], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("program", [ZARRFS, ZARRCTL], ids=["zarrfs", "zarrctl"])
def test_programs_are_hardened(program):
    """Position independent, bound at the start with read-only tables, with stack protector and fortified functions."""
    assert re.search(r"Type:\s+DYN \(Position-Independent Executable file\)", readelf(program, "--file-header"))
    assert "GNU_RELRO" in readelf(program, "--program-headers")
    if IS_SANITIZED:
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


# Folders that cpack leaves to other packages by itself.
LEFT_BY_CPACK = {"/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/usr/share", "/usr/share/doc"}


def test_packages_of_programs_without_libraries_have_their_parts(tmp_path):
    """The list of parts and the notices, made as tools/package does, are installed; an RPM owns no folder of other packages."""
    versions = tmp_path / "versions"
    versions.write_text("libfuse 3.14.0\nzfp 1.0.1 pkg:github/LLNL/zfp@1.0.1\n")
    parts = subprocess.run([ROOT / "packaging/portable/sbom", "0.1.0", versions], check=True, capture_output=True, text=True).stdout
    assert [(part["name"], part["version"]) for part in json.loads(parts)["components"]] == [("libfuse", "3.14.0"), ("zfp", "1.0.1")]
    (tmp_path / "zarrfs.cdx.json").write_text(parts)
    (tmp_path / "notices").mkdir()
    (tmp_path / "notices/zfp").write_text("BSD")
    built, staged = tmp_path / "built", tmp_path / "staged"
    subprocess.run(["cmake", "--preset", "programs", "-B", built, "-DCMAKE_INSTALL_PREFIX=/usr", f"-DZARRFS_SBOM={tmp_path}/zarrfs.cdx.json",
                    f"-DZARRFS_NOTICES={tmp_path}/notices"], cwd=ROOT, check=True, capture_output=True)
    for name in re.findall(rf'"{re.escape(str(built))}/((?:bin|man)/[^"]+)"', (built / "cmake_install.cmake").read_text()):
        (built / name).parent.mkdir(exist_ok=True)
        (built / name).write_bytes(ZARRCTL.read_bytes()[:4096])  # in place of what is built
    subprocess.run(["cmake", "--install", built], check=True, capture_output=True, env={**os.environ, "DESTDIR": str(staged)})
    documents = staged / "usr/share/doc/zarrfs"
    assert (documents / "zarrfs.cdx.json").read_text() == parts and (documents / "libraries/zfp").read_text() == "BSD"
    assert {path.name for path in (staged / "usr/bin").iterdir()} == {"zarrfs", "zarrctl"}
    folders = {"/" + str(path.relative_to(staged)) for path in staged.rglob("*") if path.is_dir()}
    shared = {folder for folder in folders if "zarrfs" not in folder}
    listed, = re.findall(r'set\(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION "([^"]*)"\)', (built / "CPackConfig.cmake").read_text())
    assert shared - LEFT_BY_CPACK == set(listed.split(";"))
