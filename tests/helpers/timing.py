"""Which tests are slow: those listed in ``tests/slow.txt``.

It names functions, and files or folders whose tests wait for a browser, a cluster or an experiment.

As a plugin of pytest, ``-p tests.helpers.timing`` (``make time-tests``), it measures the tests of a
run and writes that list. It measures the processor's time, which does not depend on what else the
machine does.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

LIST = Path(__file__).parents[1] / "slow.txt"
LONG = 1.0  # seconds of a test with all its parameters, from which it is slow


def function_of(nodeid: str) -> str:
    """A test without folder and parameters: files move more often than they change names.

    >>> function_of("tests/rows/test_csv.py::test_quotes[a-1]@group")
    'test_csv.py::test_quotes'
    >>> function_of("src/bayespoint/rows/csv.py::bayespoint.rows.csv.read")
    'csv.py::read'
    """
    path, _, name = nodeid.partition("[")[0].partition("@")[0].partition("::")
    return f"{Path(path).name}::{name.split('::')[-1].rpartition('.')[2]}"


def slow_tests() -> frozenset[str]:
    """The list."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def is_slow(nodeid: str, slow: frozenset[str]) -> bool:
    """Whether a test is one of them, or in one of the files."""
    path = nodeid.partition("::")[0]
    return function_of(nodeid) in slow or any(part in path for part in slow if "::" not in part)


# The plugin --------------------------------------------------------------------------------------

_seconds: Counter[str] = Counter()
_began = pytest.StashKey[float]()


def processor_time() -> float:
    """Seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Remember when a test began."""
    item.stash[_began] = processor_time()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Report how long it took, also from one of several workers."""
    if call.when == "teardown":
        item.user_properties.append(("seconds", processor_time() - item.stash[_began]))
    return (yield)


def pytest_runtest_logreport(report):
    """Add it up."""
    if report.when == "teardown":
        _seconds[function_of(report.nodeid)] += dict(report.user_properties).get("seconds", 0.0)


def pytest_sessionfinish(session):
    """Write the list, in the process that has heard of all tests."""
    if not hasattr(session.config, "workerinput"):
        files = [name for name in slow_tests() if "::" not in name]
        slow = [name for name, seconds in _seconds.items() if seconds > LONG]
        LIST.write_text("\n".join([*sorted(files), *sorted(slow), ""]), encoding="utf-8")
