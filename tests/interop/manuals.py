"""The options and commands that zarrfs and zarrctl have, as their --help lists them."""

import re
import subprocess

from mounts import ZARRCTL, ZARRFS


def help_of(*words):
    program = {"zarrfs": ZARRFS, "zarrctl": ZARRCTL}[words[0]]
    return subprocess.run([program, *words[1:], "--help"], capture_output=True, text=True, check=True).stdout


def mount_options():
    """Names of the options after -o."""
    table = help_of("zarrfs").partition("Options after -o")[2].partition("\n\n")[0]
    return set(re.findall(r"^  ([a-z_]+)", table, re.MULTILINE))


def options_of(help_text):
    """{"-f", "--help"}: the options that begin a line, before those after -o."""
    names = set()
    for line in help_text.partition("Options after -o")[0].splitlines():
        if match := re.match(r"  +(-[\w-]+(?:, ?-[\w-]+)*)", line):
            names |= set(re.split(", ?", match[1]))
    return names


def subcommands():
    table = help_of("zarrctl").partition("Subcommands:")[2].partition("\n\n")[0]
    return re.findall(r"^  ([a-z-]+)", table, re.MULTILINE)
