"""A skipped test is a failed one: a reader or a store that is missing must not pass unseen. Figures are printed at the end."""

import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).with_name("readers"))]


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


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash.get(FIGURES, []):
        terminalreporter.write_line(line)
