"""The list of slow tests."""

import re
from pathlib import Path

from tests.helpers import timing

ROOT = Path(__file__).parents[2]


def test_functions():
    assert timing.function_of("tests/a/test_b.py::test_c[x::y-1]@dask") == "test_b.py::test_c"
    assert timing.function_of("tests/a/test_b.py::test_c@dask") == "test_b.py::test_c"
    assert timing.function_of("src/p/a/b.py::p.a.b.function") == "b.py::function"
    assert timing.is_slow("tests/test_b.py::test_c[1]", frozenset(["test_b.py::test_c"]))
    assert timing.is_slow("tests/dask/test_b.py::test_c[1]", frozenset(["tests/dask/"]))
    assert not timing.is_slow("tests/rows/test_b.py::test_dask", frozenset(["tests/dask/"]))


def test_the_list_is_not_outdated():
    """Tests that were renamed since count as fast. If they are many, run ``make time-tests``."""
    names = timing.slow_tests()
    texts = {}
    for top in ("tests", "src", "papers"):
        for path in (ROOT / top).rglob("*.py"):
            texts[path.name] = texts.get(path.name, "") + path.read_text(encoding="utf-8")
    unknown = []
    for name in names:
        file, _, function = name.partition("::")
        if not function:
            assert any(name in path.as_posix() for path in (ROOT / "tests").rglob("*.py")), name
            continue
        pattern = rf"^\s*(?:def|class) {re.escape(function)}\b"
        is_module = function == Path(file).stem or file == "__init__.py"  # of a doctest
        if not (file in texts and (is_module or re.search(pattern, texts[file], re.M))):
            unknown.append(name)
    assert len(unknown) < 0.2 * len(names), unknown


def test_slow_tests_are_marked(request):
    slow = timing.slow_tests()
    for item in request.session.items:
        assert bool(item.get_closest_marker("slow")) == timing.is_slow(item.nodeid, slow)


def test_the_plugin_adds_up_processor_time(monkeypatch, tmp_path):
    class Report:
        def __init__(self, nodeid, seconds, when="teardown"):
            self.nodeid, self.when, self.user_properties = nodeid, when, [("seconds", seconds)]

    class Session:
        class config:
            pass

    monkeypatch.setattr(timing, "LIST", tmp_path / "slow.txt")
    timing.LIST.write_text("tests/dask/\ntest_a.py::test_short\n")
    monkeypatch.setattr(timing, "_seconds", type(timing._seconds)())
    for number in range(4):
        timing.pytest_runtest_logreport(Report(f"tests/test_a.py::test_long[{number}]", 0.3))
        timing.pytest_runtest_logreport(Report(f"tests/test_a.py::test_short[{number}]", 0.2))
        timing.pytest_runtest_logreport(Report("tests/test_a.py::test_short", 9.0, "call"))
    timing.pytest_sessionfinish(Session)
    assert timing.slow_tests() == {"tests/dask/", "test_a.py::test_long"}
    Session.config.workerinput = {}
    timing.LIST.unlink()
    timing.pytest_sessionfinish(Session)
    assert not timing.LIST.exists()


def test_time_of_the_processor_goes_on():
    before = timing.processor_time()
    while timing.processor_time() == before:
        sum(range(1000))
    assert timing.processor_time() > before
