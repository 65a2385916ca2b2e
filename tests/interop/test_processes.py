"""What each process of a mount has, compared with processes.txt: rights, open files, sockets, environment and limits."""

import contextlib
import difflib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest
import zarr

from mounts import DETACH_COPIES, ROOT, ZARRCTL, ZARRFS, for_everybody, unmount
from remote import children, options_of

TABLE = pathlib.Path(__file__).with_name("processes.txt")
# What the caller has. A process that reads a store must have no keys.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin", "HOME": "/", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "MALLOC_ARENA_MAX": "2",
               "GITHUB_TOKEN": "a-secret", "AWS_SECRET_ACCESS_KEY": "a-secret", "SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "100000"}
NOBODY = 65534
KINDS_OF_SOCKETS = {"0001": "stream", "0002": "datagrams", "0005": "packets"}


def status_of(pid):
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())


def capabilities(mask):
    names = {2: "dac_read_search", 5: "kill", 6: "setgid", 7: "setuid", 21: "sys_admin"}
    bits = [bit for bit in range(64) if int(mask, 16) >> bit & 1]
    return "all" if len(bits) > 30 else " ".join(names.get(bit, str(bit)) for bit in bits) or "none"


def user(pid):
    uids = set(status_of(pid)["Uid"].split())
    assert len(uids) == 1, uids
    number = int(uids.pop())
    return "of no account" if 61184 <= number < 65520 else {0: "root", NOBODY: "nobody"}[number]


def unix_sockets(pid):
    """Their kinds by inode, of the namespace of the process and of the machine's: the network that its sockets were made in."""
    rows = [line.split() for process in (pid, "self") for line in pathlib.Path(f"/proc/{process}/net/unix").read_text().splitlines()[1:]]
    return {row[6]: KINDS_OF_SOCKETS[row[4]] for row in rows}


def open_files(pid, folders):
    """Kinds, without numbers: what a store has open differs from time to time. Sockets to a keeper or fetcher are counted."""
    unix = unix_sockets(pid)
    folders = {os.readlink(f"/proc/{pid}/exe"): "program", **folders}
    found, packets = set(), 0
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            name = os.readlink(link).removesuffix(" (deleted)")
            if inode := re.fullmatch(r"socket:\[(\d+)\]", name):
                # (Others are libcurl's, and go to servers or to the log.)
                packets += unix.get(inode[1]) == "packets"
                continue
            name = re.sub(r"^pipe:.*", "pipe", name)
            near = [what for folder, what in folders.items() if pathlib.Path(name).is_relative_to(folder)]
            found.add(near[0] if near else re.sub(r"/proc/\d+(?=$|/)", "/proc/self", name))
    return [*sorted(found - {"/"}), f"sockets: {packets}"]


def describe(pid, folders):
    """One line for each thing that crosses the process's boundary."""
    status = status_of(pid)
    environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
    owner = os.stat(f"/proc/{pid}/environ").st_uid
    mount_network = os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net")
    yield f"user: {user(pid)}, groups: {status['Groups'].strip() or 'none'}"
    yield f"capabilities: {capabilities(status['CapEff'])}, permitted: {capabilities(status['CapPrm'])}, inheritable: " \
          f"{capabilities(status['CapInh'])}, ambient: {capabilities(status['CapAmb'])}, bounding: {capabilities(status['CapBnd'])}"
    yield f"no_new_privs: {status['NoNewPrivs']}, seccomp: {status['Seccomp']}"
    yield f"network: {'of the machine' if mount_network else 'empty'}"
    if user(pid) == "nobody":
        yield f"memory: {'closed' if owner == 0 else 'of its user'}"
    largest = re.search(r"Max file size +(\S+)", limits)[1]
    yield f"largest file: {largest}"
    yield f"environment: {' '.join(sorted(name.split(b'=')[0].decode() for name in environment if name))}"
    yield f"open: {', '.join(open_files(pid, folders))}"


def kind_of(pid):
    links = [os.readlink(link) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    return "worker" if "/dev/fuse" in links else "fetcher"


def settled(keeper, count):
    """The children of a keeper, once there are so many, and the worker serves."""
    for _ in range(200):
        with contextlib.suppress(OSError):
            found = children(keeper)
            if len(found) == count and sorted(map(kind_of, found))[-1] == "worker":
                time.sleep(0.5)
                return {"keeper": keeper, **{kind_of(pid): pid for pid in found}}
        time.sleep(0.05)
    raise AssertionError((keeper, children(keeper)))


def section(name, processes, folders):
    lines = [f"{name}"]
    for kind in sorted(processes):
        lines += [f"  {kind}", *(f"    {line}" for line in describe(processes[kind], folders))]
    return lines


@contextlib.contextmanager
def mounted(store, point, options=None):
    """By root."""
    point.mkdir(exist_ok=True)
    subprocess.run(
        [str(ZARRFS), str(store), str(point)] + (["-o", options] if options else []), stdin=subprocess.DEVNULL, check=True, timeout=60,
        env=ENVIRONMENT)
    try:
        yield int(options_of(point)["pid"])
    finally:
        unmount(point)


@contextlib.contextmanager
def mounted_by_a_user(store, point, folder):
    """In a mount namespace, with a device that users may open."""
    point.mkdir()
    os.chown(point, NOBODY, NOBODY)
    program = for_everybody(ZARRFS, folder)
    script = DETACH_COPIES + """; cd "$1"; mknod device c $(stat -c '0x%t 0x%T' /dev/fuse); chmod 666 device; mount --bind device /dev/fuse
        unset PWD OLDPWD; exec setpriv --reuid=65534 --regid=65534 --clear-groups "$2" "$3" "$4" -f"""
    keeper = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", script, "sh", str(folder), str(program), str(store), str(point)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    try:
        yield keeper.pid
    finally:
        keeper.kill()
        keeper.wait()


@contextlib.contextmanager
def mounted_in_a_container(store, point):
    """With what container engines leave root, and cap_sys_admin, in namespaces of its own."""
    point.mkdir()
    kept = "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write setfcap sys_admin"
    engine = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
         "/bin/sh", "-ec", DETACH_COPIES + '; unset PWD OLDPWD; exec setpriv "$@"', "sh",
         "--bounding-set", ",".join(["-all", *(f"+{name}" for name in kept.split())]), str(ZARRFS), str(store), str(point), "-f"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    try:
        while not children(engine.pid):
            time.sleep(0.05)
        yield children(engine.pid)[0]
    finally:
        engine.kill()
        engine.wait()


@contextlib.contextmanager
def waiting(words, count, confined, **more):
    """A program that waits for what never comes, and its children, once there are so many and so many have confined themselves."""
    program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT, **more)
    try:
        for _ in range(200):
            found = [program.pid, *children(program.pid)]
            with contextlib.suppress(OSError, KeyError):
                if len(found) == count and sum(status_of(pid)["Seccomp"] == "2" for pid in found) == confined:
                    break
            time.sleep(0.05)
        else:
            raise AssertionError((words, found))
        time.sleep(0.5)
        yield found
    finally:
        program.kill()
        program.wait()


def programs(folder, point, folders):
    """The processes that end with what they do: who mounts, and zarrctl."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = f"http://127.0.0.1:{silent.getsockname()[1]}/ocean.zarr"
        point.mkdir()
        with waiting([str(ZARRFS), store, str(point)], 2, 0, stdout=subprocess.DEVNULL) as (caller, keeper):
            while not children(keeper):
                time.sleep(0.05)
            yield from section("root mounts", {"caller": caller}, folders)
        with waiting([str(ZARRCTL), "info", store], 2, 2, stdout=subprocess.DEVNULL) as (program, fetcher):
            yield from section("root runs zarrctl for a store behind a network", {"zarrctl": program, "fetcher": fetcher}, folders)
    full, output = os.pipe()
    os.set_blocking(output, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(output, bytes(4096)):
            pass
    os.set_blocking(output, True)
    with waiting([str(ZARRCTL), "info", str(folder)], 1, 1, stdout=output) as (program,):
        yield from section("root runs zarrctl", {"zarrctl": program}, folders)
    os.close(output)
    os.close(full)


@pytest.mark.skipif(os.getuid() != 0, reason="looks into processes of several users")
def test_processes_have_what_the_table_says_and_no_more(folder, nginx, tmp_path):
    top = folder.parent.parent
    tmp_path.chmod(0o755)
    archive = top / "ocean.zip"
    group = zarr.create_group(zarr.storage.ZipStore(archive, mode="w"))
    group.create_array("a", shape=(4,), dtype="i4")[:] = 1
    group.store.close()
    folders = {tmp_path / "cache": "disk cache", tmp_path: "folder of the mount point", top: "store or folder above"}
    points = (tmp_path / name for name in ("mnt1", "mnt2", "mnt3", "mnt4", "mnt5", "mnt6", "mnt7", "mnt8", "mnt9"))
    lines = []
    with mounted(folder, next(points)) as keeper:
        processes = settled(keeper, 1)
        lines += section("root", processes, folders)
        os.kill(processes["worker"], signal.SIGKILL)
        while processes["worker"] in children(keeper):
            time.sleep(0.05)
        lines += section("root, a worker that replaced another", settled(keeper, 1), folders)
    with mounted(folder, next(points), "noallow_other") as keeper:
        lines += section("root, noallow_other", settled(keeper, 1), folders)
    with mounted_by_a_user(folder, next(points), tmp_path) as keeper:
        lines += section("a user", settled(keeper, 1), folders)
    with mounted_in_a_container(folder, next(points)) as keeper:
        lines += section("root, in a container", settled(keeper, 1), folders)
    with mounted(archive, next(points)) as keeper:
        lines += section("root, a zip file", settled(keeper, 1), folders)
    with mounted(nginx[0] + "/ocean.zarr", next(points)) as keeper:
        lines += section("root, a store behind a network", settled(keeper, 2), folders)
    with mounted(nginx[0] + "/ocean.zarr", next(points), f"disk_cache={tmp_path}/cache") as keeper:
        lines += section("root, a store behind a network, with a disk cache", settled(keeper, 2), folders)
    shutil.copytree(ROOT / "tests/data/icechunk/virtual", top / "ocean.icechunk")
    with mounted(top / "ocean.icechunk", next(points), f"virtual={nginx[0]}/nc/") as keeper:
        lines += section("root, a repository with virtual chunks behind a network", settled(keeper, 2), folders)
    lines += programs(folder, next(points), folders)
    if new_table := os.environ.get("ZARRFS_NEW_TABLE"):
        pathlib.Path(new_table).write_text("\n".join(lines) + "\n")
    expected = TABLE.read_text().splitlines() if TABLE.exists() else []
    difference = "\n".join(difflib.unified_diff(expected, lines, "processes.txt", "seen", lineterm=""))
    assert lines == expected, difference
