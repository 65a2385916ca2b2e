"""What bash, zsh and fish complete, typed into real shells: everything that the programs have, mount points, paths inside stores."""

import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time

import pytest
from manuals import help_of, mount_options, options_of, subcommands
from mounts import ROOT, ZARRCTL, ZARRFS, mounted

COMPLETIONS = ROOT / "packaging/completions"
SAMPLE = ROOT / "tests/data/sample.zarr"


class Typed:
    """A shell at a terminal. Its start-up file binds ^Xp to print the line between << and >>, and ^Xc to list what may follow."""

    def __init__(self, command, environment):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (200, 400))
        # ^U is for the shell's editor, also while that has put the terminal into its plain mode for a moment.
        attributes = termios.tcgetattr(slave)
        attributes[6][termios.VKILL] = b"\0"
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.said = ""
        self.read("READY")

    def read(self, mark):
        end = time.monotonic() + 30
        while mark not in self.said:
            assert select.select([self.master], [], [], max(0, end - time.monotonic()))[0], f"no {mark} in {self.said!r}"
            self.said += os.read(self.master, 65536).decode(errors="replace")
        before, self.said = self.said.split(mark, 1)
        return before

    def completed(self, line):
        """The line after a tab."""
        os.write(self.master, f"\x15{line}\t\x18p".encode())
        return self.read(">>").rpartition("<<")[2]

    def choices(self, line):
        """The words that are listed."""
        os.write(self.master, f"\x15{line}\x18c\x18p".encode())
        return set(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", " ", self.read(">>").rpartition("<<")[0]).split())

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


class Fish:
    """fish tells what it would complete."""

    def __init__(self, environment):
        self.environment = environment

    def rows(self, line):
        files = "; ".join(f"source {COMPLETIONS}/fish/{name}" for name in ("zarrfs.fish", "zarrctl.fish"))
        result = subprocess.run(["fish", "--no-config", "-c", f"{files}; complete -C $argv[1]", line],
                                env=self.environment, capture_output=True, text=True, check=True)
        assert result.stderr == ""
        return [row.split("\t")[0] for row in result.stdout.splitlines()]

    def completed(self, line):
        words = self.rows(line)
        assert len(words) == 1, words
        # fish escapes what it inserts.
        return line.rpartition(" ")[0] + " " + words[0].replace(" ", "\\ ")

    def choices(self, line):
        return set(self.rows(line))

    def end(self):
        pass


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, program in (("zarrfs", ZARRFS), ("mount.zarrfs", ZARRFS), ("zarrctl", ZARRCTL)):
        (programs / name).symlink_to(program)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    if request.param == "fish":
        made = Fish(environment)
    elif request.param == "bash":
        start = tmp_path / "bashrc"
        start.write_text(f"""PS1=
source {COMPLETIONS}/bash/zarrfs
source {COMPLETIONS}/bash/zarrctl
bind 'set completion-query-items 0'
bind 'set page-completions off'
bind 'set enable-bracketed-paste off'
bind '"\\C-xc": possible-completions'
bind -x '"\\C-xp": printf "<<%s>>" "$READLINE_LINE"'
echo READY
""")
        made = Typed(["bash", "--noprofile", "--rcfile", str(start), "-i"], environment)
    else:
        (tmp_path / ".zshrc").write_text(f"""PS1=
unsetopt prompt_sp beep auto_menu
LISTMAX=10000
fpath=({COMPLETIONS}/zsh $fpath)
autoload -Uz compinit
compinit -u -D
bindkey -e
show() {{ zle -I; print -rn -- "<<$BUFFER>>" }}
zle -N show
bindkey '^Xp' show
bindkey '^Xc' list-choices
echo READY
""")
        made = Typed(["zsh", "-i", "-d"], environment)
    yield made
    made.end()


def test_every_mount_option_is_offered(shell):
    found = {word.rstrip("=") for word in shell.choices("zarrfs -o ")}
    if isinstance(shell, Fish):  # it lists the values with them
        found = {word.partition("=")[0] for word in found}
    assert mount_options() <= found


def test_values_and_lists_of_options_are_completed(shell):
    assert shell.completed("zarrfs -o log_level=w").rstrip(" ,") == "zarrfs -o log_level=warning"
    assert shell.completed("zarrfs a b -o view=v2,fill=k").rstrip(" ,") == "zarrfs a b -o view=v2,fill=keep"
    assert shell.completed("mount.zarrfs a b -o view=v2,immu").rstrip(" ,") == "mount.zarrfs a b -o view=v2,immutable"


def test_file_of_an_option_is_completed(shell, tmp_path):
    (tmp_path / "ocean.conf").touch()
    assert shell.completed(f"zarrfs a b -o view=v2,config={tmp_path}/oce").rstrip(" ,") == f"zarrfs a b -o view=v2,config={tmp_path}/ocean.conf"


def test_every_option_of_zarrfs_is_offered(shell):
    assert {name for name in options_of(help_of("zarrfs")) if name.startswith("--")} <= shell.choices("zarrfs --")
    found = shell.choices("zarrfs -")
    short = {name for name in options_of(help_of("zarrfs")) if not name.startswith("--")} | {"-o"}
    assert short <= found


def test_every_command_and_option_of_zarrctl_is_offered(shell):
    commands = subcommands()
    assert set(commands) <= shell.choices("zarrctl ")
    for command in commands:
        assert options_of(help_of("zarrctl", command)) <= shell.choices(f"zarrctl {command} -"), command


def test_mount_points_are_completed(shell, tmp_path):
    with mounted(str(SAMPLE)) as point:
        point = str(point)
        beginning = point[:-1]
        assert shell.completed(f"zarrctl status {beginning}").rstrip(" /") == f"zarrctl status {point}"
        assert shell.completed(f"zarrfs --unmount {beginning}").rstrip(" /") == f"zarrfs --unmount {point}"
        assert not any(str(tmp_path) in word for word in shell.choices("zarrctl status /"))


def test_levels_are_completed(shell):
    assert shell.completed("zarrctl log-level /mnt w").rstrip() == "zarrctl log-level /mnt warning"


def test_paths_inside_stores_are_completed(shell):
    assert shell.completed(f"zarrctl info {SAMPLE} temp").rstrip() == f"zarrctl info {SAMPLE} temperature"
    assert shell.completed(f"zarrctl ls {SAMPLE} dri") == f"zarrctl ls {SAMPLE} drifters/"
    assert shell.completed(f"zarrctl verify {SAMPLE} drifters/s").rstrip() == f"zarrctl verify {SAMPLE} drifters/salinity"
    assert {"depth", "temperature", "mask"} <= shell.choices(f"zarrctl ls {SAMPLE} ")


def test_folders_are_completed(shell, tmp_path):
    (tmp_path / "ocean.zarr").mkdir()
    (tmp_path / "ocean.txt").touch()
    for command in ("zarrfs", "mount.zarrfs", "zarrctl info"):
        assert shell.completed(f"{command} {tmp_path}/oce").rstrip() == f"{command} {tmp_path}/ocean.zarr/"
