"""The goals that the rows of tools/bench/remote are held against."""
from remote_rows import ORDERS
from report import Goal


def goals(bench):
    """Those whose rows were measured."""
    found = []

    def add(what, figure, goal, at_most=False, limit=""):
        if figure is not None:
            found.append(Goal(what, figure, goal, at_most=at_most, limit=limit))

    def at_least(row, name, goal, limit=""):
        add(f"{row}, {name}", bench.figure(row, name), goal, limit=limit)

    def at_most(row, name, goal):
        add(f"{row}, {name}", bench.figure(row, name), goal, at_most=True)

    def ratio(row, other, name, goal, limit=lambda others: ""):
        mine, others = bench.figure(row, name), bench.figure(other, name)
        if mine and others:
            add(f"{row} / {other.partition(': ')[2]}", mine / others, goal, limit=limit(others))

    for store in bench.chunks:
        scan = f"{store} scan: "
        mine = scan + "zarr-python 2"
        possible, reading = (bench.figure(mine, name) for name in ("limit_percent", "reading_percent"))
        at_least(mine, "link_percent", 80,
                 possible and f"it reads all, at {reading:.0f}, and decodes then; from a link that is full after two trips: {possible:.0f}")
        if store == "32.zarr":
            ratio(mine, scan + "zarr-python 3 + obstore", "link_percent", 7,
                  lambda percent: f"the full link: {100 / percent:.2f}")

        def two_trips_later(percent, store=store):
            seconds = bench.seconds(store) * 100 / percent
            return f"two trips until it is a scan: {seconds / (seconds + bench.seconds_until_it_is_a_scan()):.2f}"
        ratio(scan + "tensorstore, v2, on the mount", scan + "tensorstore", "link_percent", 1, two_trips_later)
        at_most(mine, "GETs_per_chunk", 1 / 8 if store == "32.zarr" else 1)
        at_most(mine, "bytes_of_stored", 1.05)
        for threads in (1, 16):
            row = f"{store} random T={threads}: "
            at_least(row + "files", "of_limit", 0.85)
            at_most(row + "files", "GETs_per_chunk", 1)
            at_most(row + "files", "bytes_of_read", 1.05)
            ratio(row + "zarr-python 2", row + "tensorstore", "chunks_per_s", 1)
        others = [f"{store} {order}: zarr-python 2" for order in ORDERS]
        for row in (*others, scan + "two of zarr-python 2, a half each", scan + "dask, 4 processes"):
            at_least(row, "link_percent", 60)
            at_most(row, "bytes_of_stored", 1.05)
        again, local = (bench.figure(f"{store} {what}", "seconds") for what in ("disk_cache: again", "in a local folder"))
        if again and local:
            trips = bench.figure(f"{store} disk_cache: again", "trips_seconds")
            add(f"{store} disk_cache: again / in a local folder", local / again, 0.9,
                limit=f"with the trips to learn what is current {local / (local + trips):.2f}")
        at_most(f"{store} disk_cache: again", "bytes_of_stored", 0.01)
        at_most(f"{store} random T=64: files", "slowest_of_median", 5)
        at_most(f"{store} random T=64: files", "memory_of_bound", 1)
    at_most("arrays.zarr: ls -l", "seconds", 0.5)
    at_most("consolidated.zarr: ls -l", "seconds", 0.15)
    at_most("mount ready", "trips", 5)
    for name in bench.rows.get("zip on a local disk", {}):
        if name != "missing":
            at_least("zip on a local disk", name, 0.95)
    return found
