"""The rows of tools/bench/remote that measure others: readers of the bucket itself, and its mounts by others."""
from mounts import mounted
from remote_bench import BUCKET, KEYS, MISSING

TASKS = (("scan", 1), ("random:100", 1), ("random:800", 16))
ON_MOUNTS = (("scan", 1), ("random:50", 1), ("random:100", 16))  # these are slow
READERS = {
    "tensorstore": ("zarr3", "tensorstore3"),
    "zarr-python 3 + obstore": ("bench", "obstore"),
    "zarr-python 3 + s3fs": ("bench", "s3fs"),
}


def measure(bench, store, who, environment, reader, path, tasks=TASKS):
    for task, threads in tasks:
        answer = bench.read(environment, reader, path, task, threads)
        name = f"{store} {task.partition(':')[0]}{f' T={threads}' * (task != 'scan')}: {who}"
        if answer is None:
            return bench.add(name, missing=MISSING)
        if task == "scan":
            bench.check((store, task), answer, who)
            bench.add(name, link_percent=bench.share(store, answer["seconds"]))
        else:
            bench.add(name, chunks_per_s=answer["pieces"] / answer["seconds"])


def peers(bench, store):
    """Readers of shards in the bucket, and tensorstore on the mount."""
    for who, (environment, reader) in READERS.items():
        with bench.link() as (url, _):
            measure(bench, store, who, environment, reader, f"{url}|{BUCKET}|{store}/data")
    with bench.link() as (url, passed), bench.mount(url, store) as mount:
        passed.restart()
        answer = bench.read("zarr3", "tensorstore2", mount.inside, "scan")
        if answer is not None:
            bench.check((store, "scan"), answer, "tensorstore on the mount")
            bench.add(f"{store} scan: tensorstore, v2, on the mount", link_percent=bench.share(store, answer["seconds"]),
                      **bench.traffic(store, passed))


def plain(bench, store):
    """zarr-python 2 on a bucket of plain chunks."""
    with bench.link() as (url, _):
        measure(bench, f"v2-{store}", "zarr-python 2 + s3fs", "ome", "s3fs", f"{url}|{BUCKET}|v2-{store}/data")


def mounts(bench, store):
    """Readers of shards on other mounts of the bucket."""
    for program, command in (("rclone", rclone), ("s3fs", s3fs)):
        for who, reader in (("zarr-python 3", "zarr"), ("tensorstore", "tensorstore3")):
            with bench.link() as (url, _):
                try:
                    with mounted((command(url), f"{store}/data"), bench.scratch) as mount:
                        measure(bench, store, f"{who} on {program}", "zarr3", reader, mount.inside, ON_MOUNTS)
                except (OSError, RuntimeError):
                    bench.add(f"{store} scan: {who} on {program}", missing=MISSING)


def rclone(url):
    keys = [f"--s3-access-key-id={KEYS['AWS_ACCESS_KEY_ID']}", f"--s3-secret-access-key={KEYS['AWS_SECRET_ACCESS_KEY']}"]
    return ["rclone", "mount", f":s3:{BUCKET}", "MNT", "--read-only", "--config=", "--s3-provider=Other", f"--s3-endpoint={url}", *keys]


def s3fs(url):
    return ["s3fs", BUCKET, "MNT", "-f", "-o", f"ro,url={url},use_path_request_style,endpoint=us-east-1,logfile=/dev/null"]
