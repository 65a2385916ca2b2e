"""What zarrctl prints and draws, for the tests that compare it with what the files hold."""

import base64
import json
import os
import pty
import select
import subprocess
import time

from mounts import SYSTEM_PYTHON, ZARRCTL, zarrctl


def document(*arguments, code=0):
    """The JSON document that zarrctl prints."""
    result = zarrctl(*arguments, "--json")
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def refused(*arguments, code=1):
    """The one line that zarrctl prints instead of an answer."""
    result = zarrctl(*arguments)
    assert result.returncode == code, result.stdout + result.stderr
    line, = result.stderr.splitlines()
    assert line.startswith("zarrctl: ")
    return line


def raw(*arguments):
    result = subprocess.run([ZARRCTL, *map(str, arguments)], capture_output=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def terminal(*arguments, keys=(), **environment):
    """Exit code and all that appears on a terminal; `keys`: (seconds, what is typed then)."""
    pid, fd = pty.fork()
    if pid == 0:
        for name in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        os.execv(ZARRCTL, ["zarrctl", *map(str, arguments)])
    output = b""
    start = time.monotonic()
    waiting = list(keys)
    try:
        while time.monotonic() - start < 60:
            if waiting and time.monotonic() - start > waiting[0][0]:
                os.write(fd, waiting.pop(0)[1])
            if not select.select([fd], [], [], 0.05)[0]:
                continue
            try:
                block = os.read(fd, 1 << 16)
            except OSError:  # EIO: the other end is closed
                break
            if not block:
                break
            output += block
    finally:
        os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output.decode()


def flip(path, offset):
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def resolved(out):
    """The keys of references, in a JSON document, and their bytes."""
    for key, value in json.loads(out.read_text())["refs"].items():
        if isinstance(value, list):
            url, offset, length = value
            with open(url.removeprefix("file://"), "rb") as file:
                file.seek(offset)
                yield key, file.read(length)
        else:
            yield key, base64.b64decode(value[7:]) if value.startswith("base64:") else value.encode()


def peak_of(*arguments, out=os.devnull):
    """Exit code, what was written to standard error, and the most memory in use, in MiB; what is printed is in the file `out`."""
    # (A process begins with the peak of the one that started it, so that is a small one.)
    measure = "import resource, subprocess, sys; r = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], 'wb')).returncode;" \
              "print(r, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = [SYSTEM_PYTHON, "-c", measure, out, ZARRCTL, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    code, peak = map(int, result.stdout.split())
    return code, result.stderr, peak / 1024
