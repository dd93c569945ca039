"""Points and labels as people have them, in data frames: what is said of those of no use."""

import numpy as np
import pandas as pd
import pytest

from bayespoint import BayesPointClassifier

N = 60
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)), columns=["a", "b"])
LABELS = FRAME["a"] > 0
DATES = pd.date_range("2024-01-01", periods=N)


def fit(X, y):
    return BayesPointClassifier(kernel="linear").fit(X, y)


@pytest.mark.parametrize(
    "odd", [{"d": DATES}, {"e": DATES - DATES[0], "d": DATES}], ids=["dates", "times"]
)
def test_columns_that_are_no_numbers_are_named(odd):
    with pytest.raises((TypeError, ValueError)) as caught:
        fit(FRAME.assign(flag=LABELS, **odd), LABELS)
    (note,) = caught.value.__notes__
    assert f"no numbers: {', '.join(map(repr, odd))}. Name" in note


def test_other_errors_have_no_note():
    with pytest.raises(ValueError, match="contains infinity") as caught:
        fit(FRAME.mask(FRAME > 1, np.inf).astype({"b": object}), LABELS)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    ("labels", "count", "first"),
    [
        ([None, *["a", "b"] * 29, None], 2, 0),
        (pd.Series(["a", "b"] * 29 + ["a", pd.NA], dtype="string"), 1, 59),
        (pd.Series([True, False] * 29 + [True, pd.NA], dtype="boolean"), 1, 59),
        (np.array(["a", np.nan] * 30, dtype=object), 30, 1),
        (pd.Series([*DATES[:2]] * 29 + [pd.NaT] * 2, dtype=object), 2, 58),
    ],
    ids=["None", "NA", "NA or truth", "NaN", "NaT"],
)
def test_missing_labels(labels, count, first):
    words = rf"y has missing labels \({count}, the first one at sample {first}\)"
    with pytest.raises(ValueError, match=words):
        fit(FRAME, labels)
