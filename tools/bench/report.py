"""What `run` prints: a table a benchmark, and the goals."""
import dataclasses
import statistics

from mounts import TTL, limit_of

# Columns of a table, in this order; what is not here follows in the order of measuring.
COLUMNS = {"first": "first touch", "listed": "first, listed"}


def tables(results):
    """Lines: for each work the median (minimum to maximum) of all that was measured."""
    for work in dict.fromkeys(key[0] for key in results.values):
        rows = {}
        for (its_work, who, what), values in results.values.items():
            if its_work == work:
                rows.setdefault(who, {})[what] = values
        columns = dict.fromkeys(what for row in rows.values() for what in row)
        yield f"\n{work}"
        if len(columns) > 5 or len(rows) == 1:  # a line a figure
            for who, row in rows.items():
                for what, values in row.items():
                    yield f"  {who:20}{what:34}{cell(values):>32}"
            continue
        titles = (COLUMNS.get(column, column) for column in columns)
        yield " " * 36 + "".join(f"{title:>30}" for title in titles)
        for who, row in rows.items():
            yield f"  {who:34}" + "".join(f"{cell(row.get(c)):>30}" for c in columns)


def cell(values):
    if not values:
        return "-"
    median, low, high = statistics.median(values), min(values), max(values)
    digits = 0 if median >= 100 else 2
    return f"{median:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


@dataclasses.dataclass
class Goal:
    what: str         # in words
    figure: float     # measured
    goal: float
    at_most: bool = False
    limit: str = ""   # of a goal that is missed: what the same run shows to be possible

    @property
    def met(self):
        return self.figure <= self.goal if self.at_most else self.figure >= self.goal


def goals(results):
    """Those that this run has measured both sides of."""
    found = []

    def ratio(what, goal, mine, others, limit=None, name=""):
        """`mine` over the least of `others`, keys of results. `limit`: what is possible, over the same:
        the key of a server that has nothing to find out, or a figure that `name` explains."""
        numbers = [results.median(*key) for key in others]
        mine, least = results.median(*mine), min(filter(None, numbers), default=None)
        if mine and least:
            possible = results.median(*limit) if isinstance(limit, tuple) else limit
            said = f"{name or limit[1]} {possible / least:.2f}" if possible else ""
            found.append(Goal(what, mine / least, goal, limit=said))

    def bound(what, goal, *key):
        value = results.median(*key)
        if value is not None:
            found.append(Goal(what, value, goal, at_most=True))

    both = ("zarrfs", f"zarrfs ttl={TTL}")
    uring = ("zarrfs io_uring",)
    for threads in (1, 2):
        work = f"32k T={threads}"
        for who in both:
            bare = limit_of(who)
            ratio(f"warm {work}, {who} / {bare} or ext4", 0.95, (work, who, "warm"),
                  [(work, bare, "warm"), (work, "ext4", "warm")])
        bound(f"warm {work}: requests to zarrfs, a file", 0.001, "warm requests", work, "per file")
    for size in ("4k", "32k", "256k", "4m"):
        for threads in (1, 2, 4, 8):
            work = f"{size} T={threads}"
            for who in both:
                ratio(f"first touch {work}, {who} / {limit_of(who)}", 0.95, (work, who, "first"),
                      [(work, limit_of(who), "first")])
    for threads in (1, 2):
        work, squash = f"32k T={threads}", "squashfuse_ll"
        for who in uring:
            ratio(f"first touch {work}, {who} / {squash}", 5, (work, who, "first"),
                  [(work, squash, "first")], (work, limit_of(who), "first"))
            ratio(f"first touch {work}, {who} / {limit_of(who)}", 0.95, (work, who, "first"),
                  [(work, limit_of(who), "first")])
        ratio(f"first touch {work} after a listing, zarrfs / {squash}", 5, (work, "zarrfs", "listed"),
              [(work, squash, "first")], (work, "bare", "listed"))
    for threads in (1, 2):
        work = f"32k T={threads}"
        ext4 = [(work, "ext4", "cold")]
        for who in both:
            ratio(f"cold {work}, {who} / ext4", 1.0, (work, who, "cold"), ext4,
                  (work, limit_of(who), "cold"))
        for who in uring:
            ratio(f"cold {work}, {who} / ext4", 1.5, (work, who, "cold"), ext4,
                  (work, limit_of(who), "cold"))
        ratio(f"cold {work} after a listing, zarrfs / ext4", 1.5, (work, "zarrfs", "listed cold"), ext4,
              (work, "bare", "listed cold"))
    for who in both:
        mine = f"zarr-python 2, {who}"
        bare = f"zarr-python 2, {limit_of(who)}"
        for task in ("again", "random again"):  # warm
            ratio(f"{task}: zarr-python 2, {who} / on plain v2", 0.95, ("volume", mine, task),
                  [("volume", "zarr-python 2, plain v2", task)], ("volume", bare, task), "bare")
        for task in ("scan", "again", "random", "random again"):
            ratio(f"{task}: zarr-python 2, {who} / zarr-python 3 on the shards", 2.5,
                  ("volume", mine, task), [("volume", "zarr-python 3, shards", task)],
                  ("volume", bare, task), "bare")
            ratio(f"{task}: tensorstore zarr, {who} / zarr3 on the shards", 1.0,
                  ("volume", f"tensorstore, {who}", task), [("volume", "tensorstore, shards", task)],
                  ("volume", f"tensorstore, {limit_of(who)}", task), "bare")
    for work in dict.fromkeys(key[0] for key in results.values if key[0].startswith("decoded")):
        codec, bare = (results.median(work, who, "first") for who in ("libzstd", "bare, of decoded size"))
        both_in_turn = codec * bare / (codec + bare) if bare else None
        ratio(f"{work}, zarrfs / libzstd alone", 0.9, (work, "zarrfs", "first"),
              [(work, "libzstd", "first")], both_in_turn, "libzstd and bare, one after the other:")
        bound(f"{work}: each chunk decoded once", 1, work, "zarrfs", "decoded per chunk")
    for what in ("names cold", "names warm"):
        ratio(f"listing 1,000,000: {what}, zarrfs / ext4", 1, ("listing", "zarrfs", what),
              [("listing", "ext4", what)])
    bound("listing 1,000,000: LOOKUPs of ls -l", 100, "listing", "zarrfs", "LOOKUPs")
    bound("10.3 million chunks: mount ready, ms", 50, "zep2", "zarrfs", "ready ms")
    bound("10.3 million chunks: first chunk, ms", 10, "zep2", "zarrfs", "first chunk ms")
    bound("10.3 million chunks: RSS after find and 1,000,000 reads, MiB", 100, "zep2", "zarrfs",
          "RSS MiB after reads")
    bound("100,000 arrays: mount ready, ms", 50, "arrays", "zarrfs", "ready ms")
    bound("100,000 arrays: RSS an array touched, KiB", 1, "arrays", "zarrfs", "RSS KiB per array")
    bound("index of 1,000,000: first chunk, ms", 30, "index", "zarrfs", "first chunk ms")
    bound("index of 1,000,000: store reads of later look-ups", 0, "index", "zarrfs",
          "store reads of 1000 look-ups")
    return found


def goal_lines(found):
    yield f"\n{'goals':72}{'measured':>10}{'goal':>10}"
    for one in found:
        sign = "<=" if one.at_most else ">="
        said = "met" if one.met else "MISSED" + (f" (limit: {one.limit})" if one.limit else "")
        yield f"{one.what:72}{one.figure:10.3f}{sign:>5}{one.goal:5g}  {said}"
    yield f"{sum(one.met for one in found)} of {len(found)} goals met"
