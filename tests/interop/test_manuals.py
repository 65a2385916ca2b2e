"""The manuals and docs/OPTIONS.md name the options and commands that the programs have, all of them and no others."""

import gzip
import re
import shutil
import subprocess

import pytest
from manuals import help_of, mount_options, options_of, subcommands
from mounts import ROOT, ZARRFS

MANUALS = ROOT / "packaging/man"
PAGES = sorted(path.name.removesuffix(".scd") for path in MANUALS.glob("*.scd"))


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """{name: the page as troff}, made as the build makes them."""
    folder = tmp_path_factory.mktemp("manuals")
    made = {}
    for name in PAGES:
        output = folder / f"{name}.gz"
        subprocess.run([MANUALS / "make-page", ZARRFS, shutil.which("scdoc"), MANUALS / f"{name}.scd", output], check=True)
        made[name] = folder / name
        made[name].write_bytes(gzip.decompress(output.read_bytes()))
    return made


def section(page, title):
    """The lines of a section as a reader sees them, unwrapped."""
    text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=1000", page], capture_output=True, text=True, check=True).stdout
    text = re.sub(".\b", "", text)  # bold and underlined
    return re.search(rf"^{title}\n(.*?)(?=^\S)", text, re.MULTILINE | re.DOTALL)[1]


def terms(text):
    """What is explained: lines of the first indentation."""
    return re.findall(r"^ {7}(\S.*)$", text, re.MULTILINE)


def test_there_is_a_page_for_each_program_and_for_the_file():
    assert PAGES == ["mount.zarrfs.8", "zarrctl.1", "zarrfs.5", "zarrfs.8"]


@pytest.mark.parametrize("name", PAGES)
def test_mandoc_finds_nothing(pages, name):
    result = subprocess.run(["mandoc", "-T", "lint", pages[name]], capture_output=True, text=True)
    assert result.stdout + result.stderr == ""


@pytest.mark.parametrize(("name", "title"), [("zarrfs.8", "MOUNT OPTIONS"), ("mount.zarrfs.8", "OPTIONS"), ("zarrfs.5", "OPTIONS")])
def test_mount_options_are_those_of_the_program(pages, name, title):
    found = {match[1] for term in terms(section(pages[name], title)) if (match := re.fullmatch(r"([a-z_]+)(=\S+)?", term))}
    assert found == mount_options()


def test_help_has_a_blank_between_option_and_explanation():
    for line in help_of("zarrfs").partition("Options after -o")[2].splitlines():
        if match := re.match(r"  [a-z_]+=(\S+)", line):
            assert re.fullmatch(r"[A-Z]+|[a-z0-9.|/]+", match[1]), line
            assert not re.search(r"npy.|materialize.", match[1]), line


def test_options_of_zarrfs_are_those_of_the_program(pages):
    found = set()
    for term in terms(section(pages["zarrfs.8"], "OPTIONS")):
        found |= set(re.findall(r"(?<!\S)--?[\w-]+", term))
    assert found - {"-o"} == options_of(help_of("zarrfs")) - {"-o"}


def test_commands_and_options_of_zarrctl_are_those_of_the_program(pages):
    commands = subcommands()
    explained = [term for term in terms(section(pages["zarrctl.1"], "COMMANDS")) if re.match(r"[a-z-]+ [A-Z]+", term)]
    assert sorted(term.split()[0] for term in explained) == sorted(commands)
    synopsis = section(pages["zarrctl.1"], "SYNOPSIS")
    everywhere = section(pages["zarrctl.1"], "COMMANDS") + section(pages["zarrctl.1"], "OPTIONS")
    all_options = options_of(help_of("zarrctl"))
    for command in commands:
        options = options_of(help_of("zarrctl", command))
        all_options |= options
        line = next(line for line in synopsis.splitlines() if line.split()[:2] == ["zarrctl", command])
        # One spelling of each is enough there; --help and --color are everybody's.
        assert set(re.findall(r"(?<=[\[ ])--?[\w-]+", line)) <= options, command
        missing = options - set(re.findall(r"(?<=[\[ ])--?[\w-]+", line)) - {"-h", "--help", "--color", "--long", "--jobs"}
        assert missing == set(), command
    assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", everywhere, re.IGNORECASE)) == all_options


def test_document_has_a_section_for_each_option():
    text = (ROOT / "docs/OPTIONS.md").read_text()
    assert sorted(re.findall(r"^### (\w+)$", text, re.MULTILINE)) == sorted(mount_options())
    rows = re.findall(r"^\| (`-.*?) \|", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"(?<!\S)`?(--?[\w-]+)", row)}
    assert named - {"-n"} == options_of(help_of("zarrfs")) - {"-o"}


def test_pages_link_to_nothing_that_is_not_installed():
    """The README and docs/ are installed beside each other; the sources are not."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
            found = (page.parent / target).resolve()
            assert found.is_file() and found.suffix == ".md", f"{page.name}: {target}"
            assert found.parent == ROOT / "docs" or found == ROOT / "README.md", f"{page.name}: {target}"


def test_no_completion_names_an_option_that_there_is_not():
    known = options_of(help_of("zarrfs")) | {"-o", "-n"}
    zsh = (ROOT / "packaging/completions/zsh/_zarrfs").read_text()
    offered = set(re.findall(r"'(?:\([^)]*\)|\*)?(--?\w+)\+?\[", zsh)) | {"-h", "--help", "-V", "--version"}
    fish = (ROOT / "packaging/completions/fish/zarrfs.fish").read_text()
    offered |= {"-" + name for name in re.findall(r"^ *complete .* -s (\w)", fish, re.MULTILINE)}
    offered |= {"--" + name for name in re.findall(r"^ *complete .* -l ([\w-]+)", fish, re.MULTILINE)}
    assert offered <= known
