"""The test of a module is found without searching.

It is ``tests/<room>/test_<module>.py``, somewhere in the folder of the module's room, or the file
that ``tests/tested_by.txt`` names.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "src" / "bayespoint", ROOT / "tests"
NO_MODULES = {"__init__.py", "__main__.py"}


def named_tests(module: Path) -> list[Path]:
    """Tests that are named after a module, given by its path in the package."""
    room = module.parts[0] if len(module.parts) > 1 else ""
    name = f"test_{module.stem}.py"
    return [*(TESTS / room).rglob(name), *TESTS.glob(name)] if room else [*TESTS.glob(name)]


def table() -> dict[str, str]:
    """The modules that other files test, and which."""
    lines = (TESTS / "tested_by.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    assert len({module for module, _ in pairs}) == len(pairs), "a module is there twice"
    return dict(pairs)


MODULES = sorted(
    path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name not in NO_MODULES
)


def test_every_module_has_a_test():
    listed = table()
    unknown = [m.as_posix() for m in MODULES if not named_tests(m) and m.as_posix() not in listed]
    assert not unknown, "write tests/<room>/test_<module>.py, or name a test in tests/tested_by.txt"


@pytest.mark.parametrize("module", table())
def test_the_table_is_right(module):
    assert (PACKAGE / module).exists(), "there is no such module: remove the line"
    assert not named_tests(Path(module)), "a test is named after it: remove the line"
    assert (ROOT / table()[module]).exists(), "there is no such test"


def test_tests_are_found_by_name():
    assert named_tests(Path("rows/executor.py")) == [TESTS / "rows" / "test_executor.py"]
    assert not named_tests(Path("rows/nonsense.py"))
    assert not named_tests(Path("kernels/executor.py"))  # of another room
