"""A skipped test is a failed one: a reader or a store that is missing must not pass unseen. Figures are printed at the end.

Tests run in several processes at once (pytest-xdist, `-n 3 --dist=loadfile`): those of one file in one process, because they share
its mounts.
"""

import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).with_name("readers"))]

from random_store import information, opaque, originals, random_store  # noqa: E402, F401 (fixtures)
from remote import expected, folder, keys, moto, nginx, versitygw  # noqa: E402, F401 (fixtures)


def pytest_addoption(parser):
    parser.addoption(
        "--one-reader-per-view", action="store_true",
        help="leave out the tests of further readers of the same view: to see what zarrfs does, not what they make of it")
    parser.addoption(
        "--further-readers", action="store_true", help="also those that tools/setup --readers installs (hundreds of MB)")


def pytest_configure(config):
    config.addinivalue_line("markers", "further_reader: needs what tools/setup --readers installs")


# The reader of each view that reads most of what it shows.
ONE_PER_VIEW = {"zarr-python-2", "zarr-python-3", "gdal", "netcdf"}


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--further-readers"):
        left = [item for item in items if item.get_closest_marker("further_reader")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    if not config.getoption("--one-reader-per-view"):
        return
    from mounts import READERS_OF_VIEWS

    def is_further(item):
        reader = getattr(item, "callspec", None) and item.callspec.params.get("reader")
        return reader in READERS_OF_VIEWS and reader not in ONE_PER_VIEW

    config.hook.pytest_deselected(items=[item for item in items if is_further(item)])
    items[:] = [item for item in items if not is_further(item)]


def fail_if_skipped(report):
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which counts as a failure here: {report.longrepr}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    fail_if_skipped((yield).get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report():
    fail_if_skipped((yield).get_result())


FIGURES = pytest.StashKey()


@pytest.fixture(scope="session")
def figures(request):
    """A list of lines that are printed when all tests have run."""
    return request.config.stash.setdefault(FIGURES, [])


# A process of pytest-xdist hands its lines to the one that prints.
def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["figures"] = session.config.stash.get(FIGURES, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    lines = getattr(node, "workeroutput", {}).get("figures", [])
    node.config.stash.setdefault(FIGURES, []).extend(lines)


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash.get(FIGURES, []):
        terminalreporter.write_line(line)
