"""Whether to continue, in words."""

import re

import pytest

from bayespoint.active.labelling.advice import recommendation


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((5, 2, 0, 0.2, 0.1), "Every row has an answer"),
        ((3, 1, 9, None, None), "two classes"),
        ((3, 2, 9, None, None), "learning"),
        ((12, 2, 100, 0.2, 0.01), "too early"),
        ((50, 2, 100, 0.2, 0.01), "Continue: the next 10 labels .* up to 8.0 percentage points"),
        ((50, 2, 4, 0.2, 0.01), "the next 4 labels .* up to 3.7 percentage points"),
        ((50, 2, 100, 0.2, 0.2), "up to 20.0 percentage points"),
        ((50, 2, 100, 0.2, 0.0003), "You can stop"),
        ((50, 2, 100, 0.0, 0.0), "You can stop"),
    ],
)
def test_advice(given, words):
    assert re.search(words, recommendation(*given))
