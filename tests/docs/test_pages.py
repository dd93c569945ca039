"""The examples of the README and of all pages print what is written below them.

Blocks marked ``python`` run in their order, those of a page in one namespace; what they print must
be the ``text`` block that follows, up to rounding. (Blocks marked ``py`` are only shown.)
"""

import contextlib
import io
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from bayespoint.engines.base import ENGINES

ROOT = Path(__file__).parents[2]
BUILT = ("_build", "gallery", "generated")
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+\.?\d*")


def examples(page: Path) -> list[tuple[str, str]]:
    """Code of a page, and what it prints."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not set(path.parts) & set(BUILT) and examples(path)
}


@pytest.fixture
def known_engines():
    """Engines that a page defines are forgotten after it."""
    before = dict(ENGINES)
    yield
    ENGINES.clear()
    ENGINES.update(before)


@pytest.mark.usefixtures("known_engines")
@pytest.mark.parametrize("name", PAGES)
def test_examples_of(name, monkeypatch):
    page = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)  # as __main__ is: what it defines can be pickled
    for number, (code, expected) in enumerate(examples(PAGES[name])):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{name}, example {number}", "exec"), vars(page))
        found = printed.getvalue()
        assert NUMBER.split(found) == NUMBER.split(expected), f"example {number} prints\n{found}"
        # Rounding differs between machines, and with it, at times, the choice of a query.
        numbers = [np.array(NUMBER.findall(text), float) for text in (found, expected)]
        np.testing.assert_allclose(*numbers, rtol=0.02, atol=2e-4, err_msg=found)


def test_there_are_examples():
    assert len(examples(PAGES["README.md"])) >= 3
    assert len(PAGES) >= 8
