"""The benchmarks. Each takes a Bench and adds what it measures to its results."""
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from chunks import zstd_chunk
from mounts import TTL, drop_caches, mounted, warm_up, ways_of

HERE = pathlib.Path(__file__).resolve().parent
CORES = len(os.sched_getaffinity(0))


class Results:
    """What was measured, a list of values for each (work, reader or server, what)."""

    def __init__(self):
        self.values = {}
        self.digests = {}

    def add(self, work, who, what, value):
        self.values.setdefault((work, who, what), []).append(value)

    def check(self, what, digest, who):
        """Ends the run when two ways to read the same data give different data."""
        first, its_reader = self.digests.setdefault(what, (digest, who))
        if first != digest:
            sys.exit(f"run: {what}: {who} reads {digest}, {its_reader} reads {first}")

    def median(self, work, who, what):
        values = self.values.get((work, who, what))
        return statistics.median(values) if values else None


@dataclasses.dataclass
class Bench:
    programs: pathlib.Path  # folder of zarrfs, bare_fuse, readfiles
    stores: pathlib.Path    # see make_store.py
    scratch: str            # folder for mount points and lists
    python: dict            # environment -> its interpreter
    quick: bool
    uring: pathlib.Path | None
    results: Results
    round: int = 0

    def add(self, *arguments):
        self.results.add(*arguments)

    def passes(self):
        return 1 if self.quick else PASSES

    def read_files(self, paths, threads, *options):
        """What readfiles says of reading all of `paths`."""
        with tempfile.NamedTemporaryFile("w", dir=self.scratch) as lines:
            lines.writelines(f"{path}\n" for path in paths)
            lines.flush()
            return answer_of([self.programs / "readfiles", lines.name, "--threads", threads,
                              *options])


def progress(line):
    print(f"  {line}", file=sys.stderr, flush=True)


def answer_of(command):
    """The JSON that `command` prints."""
    done = subprocess.run([str(arg) for arg in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"run: {command[0]} ended with status {done.returncode}")
    return json.loads(done.stdout)


def rotated(items, by):
    """`items` from another starting point in each round, so that none is always the first."""
    items = list(items)
    by %= len(items)
    return items[by:] + items[:by]


def names_of(store):
    """Of the files in a plain directory of the store, the chunks in order and .zarray first."""
    return [line.split(" ", 1)[0] for line in (store / "table").read_text().splitlines()]


# --- Files: readers that open, read to the end and close one chunk after the other. ----------------

# kind of file -> numbers of readers
FILES = {"4k": (1, 2), "32k": (1, 2, 4, 8), "256k": (1, 2), "4m": (1, 2)}
PASSES = 2  # of what has a goal, in a round
WARM_PASSES = 5  # these take less than a second


def in_order(names, order):
    if order == "random":
        return random.Random(1).sample(names, len(names))
    if order == "strided":  # every 64th, as a slice across the fastest axis reads them
        return [name for start in range(64) for name in names[start::64]]
    return names


def first_touch(bench, work, names, threads, order="in order", listed=False):
    """On a new mount, in which nothing was looked up yet (or, `listed`, the folder was listed); the
    shards are in the page cache. One mount at a time, after one that does not count, so that each
    server's pages land in memory that was used before."""
    store = bench.stores / work
    ways = ways_of(bench.programs, store, bench.uring)
    what = "listed" if listed else "first" if order == "in order" else order
    progress(f"{work} T={threads}: first touch, {'after a listing' if listed else order}")
    if what != "first" or threads > 2:
        passes = 1
        if what != "listed":
            ways.pop("squashfuse_ll", None)  # slow, and a peer in the rows before
    else:
        passes = bench.passes()
    names = in_order(names, order)
    turns = [at for turn in range(passes) for at in rotated(ways.items(), turn + bench.round)]
    for i, (who, way) in enumerate(turns[-1:] + turns):
        with mounted(way, bench.scratch) as mount:
            if listed:
                list_long(mount.inside)
            before = mount.cpu_seconds()
            answer = bench.read_files((mount.inside / name for name in names), threads)
            if i == 0:
                continue
            bench.add(f"{work} T={threads}", who, what, answer["files_per_s"])
            if what == "first" and threads == 1:
                gib = answer["bytes"] / (1 << 30)
                bench.add(f"{work} cost", who, "CPU s per GiB",
                          (mount.cpu_seconds() - before) / gib)
                bench.add(f"{work} cost", who, "peak RSS MiB", mount.memory_mib("VmHWM"))


def warm(bench, work, names, threads):
    """All servers are mounted, and each pass goes over all of them before the next begins, so that
    what slows the machine down for a second meets neighbours alike."""
    store = bench.stores / work
    progress(f"{work} T={threads}: warm")
    with contextlib.ExitStack() as stack:
        folders = {"ext4": store / "plain.zarr"}
        mounts = {}
        for who, way in ways_of(bench.programs, store, bench.uring).items():
            mounts[who] = stack.enter_context(mounted(way, bench.scratch))
            folders[who] = mounts[who].inside
        paths = {who: [folder / name for name in names] for who, folder in folders.items()}
        for who in folders:
            bench.read_files(paths[who], 2)
        for turn in range(1 if bench.quick else WARM_PASSES):
            time.sleep(1.1 * TTL)  # where names expire they have, and each is looked up once again
            for who in rotated(folders, turn + bench.round):
                asked = mounts[who].requests_for_files() if who == "zarrfs" else 0
                answer = bench.read_files(paths[who], threads)
                bench.add(f"{work} T={threads}", who, "warm", answer["files_per_s"])
                if who == "zarrfs":
                    bench.add("warm requests", f"{work} T={threads}", "per file",
                              (mounts[who].requests_for_files() - asked) / len(names))
        if bench.round == 0:
            for who in folders:
                digest = bench.read_files(paths[who], threads, "--checksum")["checksum"]
                bench.results.check(f"{work} files", digest, who)


def cold(bench, work, names, threads):
    """Nothing of the store is in memory: neither its pages nor the names of the plain directory.
    After a listing: the names are known, as an `ls -l` of the folder leaves them, the pages not."""
    store = bench.stores / work
    ways = {"ext4": None, **ways_of(bench.programs, store, bench.uring)}
    progress(f"{work} T={threads}: cold")
    for who in rotated(ways, bench.round):
        for listed in (False, True):
            if not drop_caches(3):
                return
            with contextlib.ExitStack() as stack:
                folder = store / "plain.zarr"
                if ways[who] is not None:
                    folder = stack.enter_context(mounted(ways[who], bench.scratch)).inside
                if listed:
                    list_long(folder)
                    drop_caches(1)
                answer = bench.read_files((folder / name for name in names), threads)
                bench.add(f"{work} T={threads}", who, "listed cold" if listed else "cold",
                          answer["files_per_s"])


def list_long(folder):
    """As `ls -lU` does, without its output."""
    with os.scandir(folder) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)


def files(bench):
    for work, readers in FILES.items():
        names = names_of(bench.stores / work)[1:]
        warm_up(bench.stores / work)
        for threads in readers[:2] if bench.quick else readers:
            first_touch(bench, work, names, threads)
            if work == "32k" and threads <= 2:
                first_touch(bench, work, names, threads, listed=True)
                for order in ("random", "strided"):
                    first_touch(bench, work, names, threads, order)
            warm(bench, work, names, threads)
    for threads in (1, 2):
        cold(bench, "32k", names_of(bench.stores / "32k")[1:], threads)


# --- Look-ups of chunks that the store does not hold. -----------------------------------------------


def missing(bench):
    """What a reader of a sparse array asks most: `stat` of names that are not there, one after the
    other, once (first) and again (warm)."""
    store = bench.stores / "32k"
    count = 500 if bench.quick else 20000
    ways = {"ext4": None, **ways_of(bench.programs, store)}
    progress("missing chunks")
    for who in rotated(ways, bench.round):
        with contextlib.ExitStack() as stack:
            folder = store / "plain.zarr"
            if ways[who] is not None:
                folder = stack.enter_context(mounted(ways[who], bench.scratch)).inside
            paths = [f"{folder}/{10**9 + i}" for i in range(count)]
            for what in ("first", "warm"):
                start = time.perf_counter()
                found = sum(os.path.exists(path) for path in paths)
                bench.add("missing", who, what, count / (time.perf_counter() - start))
                if found:
                    sys.exit(f"run: {who} has chunks that nobody wrote")


# --- Whole readers of Zarr. ---------------------------------------------------------------------


def readers(bench):
    """Readers of a whole array and of single chunks, each task in a process and on a mount of its
    own; the page cache holds the shards and the plain directory."""
    store = bench.stores / "volume"
    shards = store / "sharded.zarr" / "data"
    plain = store / "plain.zarr"
    zarr2, zarr3 = bench.python["zarr2"], bench.python["zarr3"]
    ways = {
        "zarr-python 3, shards": (zarr3, "zarr", shards),
        "zarr-python 3 with zarrs, shards": (zarr3, "zarrs", shards),
        "tensorstore, shards": (zarr3, "tensorstore3", shards),
        "zarr-python 2, plain v2": (zarr2, "zarr", plain),
        "tensorstore, plain v2": (zarr3, "tensorstore2", plain),
    }
    for name, way in ways_of(bench.programs, store, bench.uring).items():
        if name.startswith(("zarrfs", "bare")):
            ways[f"zarr-python 2, {name}"] = (zarr2, "zarr", way)
            ways[f"tensorstore, {name}"] = (zarr3, "tensorstore2", way)
    for who, (interpreter, reader, place) in rotated(ways.items(), bench.round):
        progress(f"volume: {who}")
        warm_up(store)
        for task in ("scan", "random"):
            with contextlib.ExitStack() as stack:
                folder = place
                if isinstance(place, tuple):
                    folder = stack.enter_context(mounted(place, bench.scratch)).inside
                answer = answer_of([interpreter, HERE / "read_array.py", reader, folder, task])
            bench.results.check(f"volume {task}", answer.pop("sha256"), who)
            for what, value in answer.items():
                bench.add("volume", who, what, value)


# --- Chunks that have to be decoded. -------------------------------------------------------------


def decoded(bench):
    """Chunks that a view shows uncompressed (zstd, in netcdf), by one reader and by as many as there
    are cores; beside it what libzstd alone does with the same chunks, and what the bare server does
    with files of the decoded size: nobody who decodes and answers can be faster than both together.
    """
    store = bench.stores / "decoded"
    names = names_of(store)[1:]
    for threads in sorted({1, CORES}):
        work = f"decoded T={threads}"
        progress(work)
        for _ in range(bench.passes()):
            with tempfile.NamedTemporaryFile("w", dir=bench.scratch) as lines:
                lines.writelines(f"{store / 'plain.zarr' / name}\n" for name in names)
                lines.flush()
                answer = answer_of([bench.programs / "decodefiles", lines.name, "--threads",
                                    threads])
            bench.add(work, "libzstd", "first", answer["mb_per_s"])
            way = ways_of(bench.programs, store, view="netcdf")["zarrfs"]
            with mounted(way, bench.scratch) as mount:
                present = os.listdir(mount.inside)
                wanted = [mount.inside / name for name in names]
                if not set(names) <= set(present):
                    sys.exit("run: the view netcdf lists other chunks than the store has")
                answer = bench.read_files(wanted, threads)
                bench.add(work, "zarrfs", "first", answer["mb_per_s"])
                bench.add(work, "zarrfs", "decoded per chunk",
                          mount.metric("zarrfs_cache_misses_total", 'cache="chunk"') / len(names))
            blank = ways_of(bench.programs, bench.stores / "256k")["bare"]
            with mounted(blank, bench.scratch) as mount:
                paths = [mount.inside / name for name in names_of(bench.stores / "256k")[1:]]
                bench.add(work, "bare, of decoded size", "first",
                          bench.read_files(paths, threads)["mb_per_s"])


# --- Large folders, stores and indexes. -------------------------------------------------------------


def slab_bytes(*names):
    """Of the kernel's caches of these names; empty without the right to see them."""
    try:
        lines = pathlib.Path("/proc/slabinfo").read_text().splitlines()[2:]
    except OSError:
        return 0
    rows = (line.split() for line in lines)
    return sum(int(row[1]) * int(row[3]) for row in rows if row[0] in names)


def listing(bench):
    """A folder of a million chunk files: its names (cold: a new mount, or all caches dropped; warm:
    again), then `ls -lU` of it on another new mount."""
    store = bench.stores / "names"
    ways = {"ext4": None, "zarrfs": ways_of(bench.programs, store)["zarrfs"]}

    def seconds(command):
        start = time.perf_counter()
        done = subprocess.run([str(arg) for arg in command], stdout=subprocess.PIPE, check=True)
        return time.perf_counter() - start, done.stdout.count(b"\n")

    counts = {}
    for who in rotated(ways, bench.round):
        progress(f"listing: {who}")
        with contextlib.ExitStack() as stack:
            drop_caches(3)
            folder = store / "plain.zarr"
            if ways[who] is not None:
                folder = stack.enter_context(mounted(ways[who], bench.scratch)).inside
            for what in ("names cold", "names warm", "names warm"):
                took, counts[who] = seconds(["ls", "-U", folder])
                bench.add("listing", who, what, counts[who] / took)
        with contextlib.ExitStack() as stack:
            drop_caches(3)
            folder = store / "plain.zarr"
            mount = None
            if ways[who] is not None:
                mount = stack.enter_context(mounted(ways[who], bench.scratch))
                folder = mount.inside
            before = slab_bytes("fuse_inode", "dentry")
            for what in ("ls -l cold", "ls -l warm"):
                took, lines = seconds(["ls", "-lUn", folder])
                bench.add("listing", who, what, (lines - 1) / took)
            if mount is not None:
                bench.add("listing", who, "RSS MiB", mount.memory_mib())
                bench.add("listing", who, "LOOKUPs",
                      mount.metric("zarrfs_requests_total", 'operation="lookup"'))
                slab = slab_bytes("fuse_inode", "dentry") - before
                bench.add("listing", who, "slab bytes per inode", slab / counts[who])
    if counts["zarrfs"] != counts["ext4"]:
        sys.exit(f"run: the mount lists {counts['zarrfs']} chunks of {counts['ext4']}")


def start(bench, store, chunk):
    """A mount of `store` as a person starts it; milliseconds until the command returns, and then until
    the file `chunk` is read. The shards are in the page cache."""
    point = tempfile.mkdtemp(dir=bench.scratch)
    began = time.perf_counter()
    subprocess.run([bench.programs / "zarrfs", store / "sharded.zarr", point], check=True)
    ready = time.perf_counter()
    data = (pathlib.Path(point) / chunk).read_bytes()
    read = time.perf_counter()
    subprocess.run([bench.programs / "zarrfs", "--unmount", point], check=True)
    os.rmdir(point)
    return 1e3 * (ready - began), 1e3 * (read - ready), data


def large(bench):
    """The example of ZEP 2 (some 10 million chunks in some 340 shards): the first chunk, all names, and
    a million chunks at random."""
    store = bench.stores / "zep2"
    document = json.loads((store / "sharded.zarr" / "data" / "zarr.json").read_text())
    shards = document["chunk_grid"]["configuration"]["chunk_shape"]
    sharding = document["codecs"][0]["configuration"]
    counts = [n // c for n, c in zip(document["shape"], sharding["chunk_shape"])]
    per_shard = [n // c for n, c in zip(shards, sharding["chunk_shape"])]

    def number(index):
        """Of a chunk, as make_store.py numbers them."""
        shard = inside = 0
        for i, n, p in zip(index, counts, per_shard):
            shard = shard * (n // p) + i // p
            inside = inside * p + i % p
        size = per_shard[0] * per_shard[1] * per_shard[2]
        return shard * size + inside

    progress("10 million chunks: start")
    warm_up(store)
    for _ in range(5):
        ready, first, data = start(bench, store, "v2/data/1.2.3")
        bench.results.check("zep2 chunk 1.2.3", data.hex(), "zarrfs")
        bench.results.check("zep2 chunk 1.2.3", zstd_chunk(number((1, 2, 3))).hex(), "the formula")
        bench.add("zep2", "zarrfs", "ready ms", ready)
        bench.add("zep2", "zarrfs", "first chunk ms", first)
    with mounted(ways_of(bench.programs, store)["zarrfs"], bench.scratch) as mount:
        progress("10 million chunks: find")
        began = time.perf_counter()
        done = subprocess.run(["find", mount.point / "v2", "-type", "f", "-printf", "x"],
                              stdout=subprocess.PIPE, check=True)
        bench.add("zep2", "zarrfs", "find: names per s",
                  len(done.stdout) / (time.perf_counter() - began))
        bench.add("zep2", "zarrfs", "RSS MiB after find", mount.memory_mib())
        if len(done.stdout) < counts[0] * counts[1] * counts[2]:
            sys.exit(f"run: find lists {len(done.stdout)} files of the large store")
        progress("10 million chunks: random reads")
        numbers = random.Random(2)
        wanted = [tuple(numbers.randrange(n) for n in counts)
                  for _ in range(2000 if bench.quick else 1_000_000)]
        for index in wanted[:1000]:
            data = (mount.inside / ".".join(map(str, index))).read_bytes()
            if data != zstd_chunk(number(index)):
                sys.exit(f"run: chunk {index} of the large store has other bytes")
        answer = bench.read_files((f"{mount.inside}/" + ".".join(map(str, index))
                                   for index in wanted), 2)
        bench.add("zep2", "zarrfs", "random chunks per s", answer["files_per_s"])
        bench.add("zep2", "zarrfs", "RSS MiB after reads", mount.memory_mib())
        bench.add("zep2", "zarrfs", "peak RSS MiB", mount.memory_mib("VmHWM"))
    drop_caches(2)


def arrays(bench):
    """Many arrays in one store: the start, and what the daemon remembers of each that was touched."""
    store = bench.stores / "arrays"
    progress("many arrays")
    groups = [path for path in (store / "sharded.zarr").iterdir() if path.is_dir()]
    nodes = [f"{group.name}/{array.name}" for group in groups
             for array in group.iterdir() if array.is_dir()]
    for _ in range(5):
        ready, first, _ = start(bench, store, f"v2/{nodes[0]}/.zarray")
        bench.add("arrays", "zarrfs", "ready ms", ready)
        bench.add("arrays", "zarrfs", "first .zarray ms", first)
    with mounted(ways_of(bench.programs, store)["zarrfs"], bench.scratch) as mount:
        few = nodes[:len(nodes) // 10]
        bench.read_files((mount.point / "v2" / node / ".zarray" for node in few), 1)
        base = mount.memory_mib()  # caches of a fixed size are full by now
        began = time.perf_counter()
        bench.read_files((mount.point / "v2" / node / ".zarray" for node in nodes), 1)
        bench.add("arrays", "zarrfs", "arrays per s", len(nodes) / (time.perf_counter() - began))
        grown = (mount.memory_mib() - base) * 1024 / (len(nodes) - len(few))
        bench.add("arrays", "zarrfs", "RSS KiB per array", grown)
        bench.add("arrays", "zarrfs", "RSS MiB", mount.memory_mib())
    drop_caches(2)


def index(bench):
    """One shard with a million inner chunks: the first of them, and what others cost after it."""
    store = bench.stores / "index"
    progress("large index")
    warm_up(store)
    for _ in range(5):
        ready, first, _ = start(bench, store, "v2/data/77777")
        bench.add("index", "zarrfs", "ready ms", ready)
        bench.add("index", "zarrfs", "first chunk ms", first)
    with mounted(ways_of(bench.programs, store)["zarrfs"], bench.scratch) as mount:
        os.stat(mount.inside / "77777")
        before = mount.metric("zarrfs_store_reads_total")
        for i in range(1000):
            os.stat(mount.inside / str(80_000 + i))
        bench.add("index", "zarrfs", "store reads of 1000 look-ups",
                  mount.metric("zarrfs_store_reads_total") - before)
        bench.add("index", "zarrfs", "RSS MiB", mount.memory_mib())


# --- The inner parts. -----------------------------------------------------------------------------


def inner(bench):
    """Google Benchmark's figures of single functions, in nanoseconds of CPU."""
    progress("inner parts")
    seconds = "0.02" if bench.quick else "0.3"
    answer = answer_of([bench.programs / "micro", "--benchmark_format=json",
                        f"--benchmark_min_time={seconds}"])
    scale = {"ns": 1, "us": 1e3, "ms": 1e6}
    for one in answer["benchmarks"]:
        bench.add("inner parts", one["name"], "ns", one["cpu_time"] * scale[one["time_unit"]])


WORKS = {"files": files, "missing": missing, "readers": readers, "decoded": decoded,
         "listing": listing, "large": large, "arrays": arrays, "index": index, "inner": inner}
