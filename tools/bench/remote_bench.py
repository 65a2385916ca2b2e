"""What the rows of tools/bench/remote share: slow links, mounts behind them, readers, and what was measured."""
import contextlib
import itertools
import json
import pathlib
import random
import socket
import subprocess
import sys
import time

from mounts import mounted

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
BUCKET = "bench"
KEYS = {"AWS_ACCESS_KEY_ID": "user", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
SHARD = 256  # elements along each axis
MISSING = "not installed, or failed"
LONGEST = 300  # seconds that a reader may take


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    sys.exit(f"remote: nothing listens on port {port}")


@contextlib.contextmanager
def running(command, port, **more):
    process = subprocess.Popen([str(word) for word in command], text=True, **more)
    try:
        wait_for(port)
        yield process
    finally:
        process.terminate()
        process.wait()


class Passed:
    """How many requests and bytes have passed a link."""

    def __init__(self, link):
        self._link = link
        self._before = self._total()

    def _total(self):
        self._link.stdin.write("\n")
        self._link.stdin.flush()
        requests, _, down = self._link.stdout.readline().split()
        return int(requests), int(down)

    def restart(self):
        self._before = self._total()

    def __call__(self):
        """Since the last restart()."""
        return tuple(now - before for before, now in zip(self._before, self._total()))


class Bench:
    def __init__(self, args, server_port, scratch, chunks):
        self.args = args
        self.server_port = server_port
        self.scratch = scratch
        self.rate = args.mbit * 1e6 / 8  # bytes a second
        self.stored = {}  # name of a store -> bytes of its chunks, or of their shards
        self.chunks = chunks  # name of a store -> how many it has
        self.rows = {}
        self.digests = {}

    @contextlib.contextmanager
    def link(self):
        """A fresh link: its address, and what Passed it."""
        port = free_port()
        command = [self.args.bin / "slow_link", port, self.server_port, self.args.trip / 2, self.args.mbit]
        with running(command, port, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            yield f"http://127.0.0.1:{port}", Passed(process)

    def read(self, environment, *words):
        """What remote_reader.py says, or None."""
        return self.read_at_once([(environment, *words)])[0]

    def read_at_once(self, readers):
        """All of them begin when the last one is ready."""
        with contextlib.ExitStack() as stack:
            processes = []
            for environment, *words in readers:
                command = [BUILD / "python" / environment / "bin" / "python", HERE / "remote_reader.py", *words]
                if not command[0].exists():
                    return [None] * len(readers)
                process = stack.enter_context(subprocess.Popen(
                    [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
                stack.callback(process.kill)
                processes.append(process)
            for process in processes:
                process.stdout.readline()
            for process in processes:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.write("\n")
                    process.stdin.flush()
            return [self._answer(process) for process in processes]

    @staticmethod
    def _answer(process):
        try:
            text, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(text) if process.returncode == 0 else None

    def read_files(self, names, threads):
        """What readfiles says of these files."""
        lines = pathlib.Path(self.scratch) / "names"
        lines.write_text("".join(f"{name}\n" for name in names))
        command = [self.args.bin / "readfiles", lines, "--threads", str(threads)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=LONGEST)
        return json.loads(done.stdout)

    def mount(self, url, store, *options):
        words = ["-f", "-o", f"endpoint={url}"] + [word for option in options for word in ("-o", option)]
        return mounted(([self.args.bin / "zarrfs", f"s3://{BUCKET}/{store}", "MNT", *words], "v2/data"), self.scratch)

    def add(self, row, **figures):
        words = "  ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items())
        print(f"{row:58} {words}", flush=True)
        self.rows[row] = figures

    def figure(self, row, name):
        """None if it was not measured."""
        return self.rows.get(row, {}).get(name)

    def check(self, what, answer, who):
        first, its_reader = self.digests.setdefault(what, (answer["sha256"], who))
        if first != answer["sha256"]:
            sys.exit(f"remote: {what}: {who} does not read what {its_reader} does")

    def seconds(self, store):
        """That the link takes for all chunks."""
        return self.stored[store] / self.rate

    def seconds_until_it_is_a_scan(self):
        """Two chunks, a trip each, come before anybody can know."""
        return 2 * self.args.trip / 1000

    def share(self, store, seconds):
        """Of the link's bandwidth, in percent."""
        return 100 * self.seconds(store) / seconds

    def traffic(self, store, passed):
        """Figures of a scan."""
        requests, down = passed()
        return {"GETs_per_chunk": requests / self.chunks[store], "bytes_of_stored": down / self.stored[store]}


def names_of(folder, count, seed=1):
    """Of random chunk files."""
    shape = json.loads((folder / ".zarray").read_text())
    counts = [-(-n // c) for n, c in zip(shape["shape"], shape["chunks"])]
    chooser = random.Random(seed)
    return [folder / ".".join(str(chooser.randrange(n)) for n in counts) for _ in range(count)]


def read_indexes(folder):
    """Of all shards, by the first chunk of each. Returns these."""
    shape = json.loads((folder / ".zarray").read_text())
    steps = [range(0, -(-n // c), SHARD // c) for n, c in zip(shape["shape"], shape["chunks"])]
    firsts = [folder / ".".join(map(str, place)) for place in itertools.product(*steps)]
    for chunk in firsts:
        chunk.read_bytes()
    return firsts


def unread_names(folder, count):
    """Of random chunk files, each once; the indexes of their shards have been read."""
    firsts = read_indexes(folder)
    return [name for name in dict.fromkeys(names_of(folder, count)) if name not in firsts]

