"""The README's examples print what it says."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).parents[1] / "README.md"
NUMBER = re.compile(r"-?\d+\.?\d*")
EXAMPLES = re.findall(
    r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number):
    code, expected = EXAMPLES[number]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f"README example {number}", "exec"), {})
    assert NUMBER.split(printed.getvalue()) == NUMBER.split(expected)
    # Rounding differs between machines, and with it, at times, the choice of a query.
    found, told = (np.array(NUMBER.findall(text), float) for text in (printed.getvalue(), expected))
    np.testing.assert_allclose(found, told, rtol=0.02, atol=2e-4)


def test_there_are_examples():
    assert len(EXAMPLES) >= 3
