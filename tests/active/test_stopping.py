"""What labels are worth, compared with slow versions, and when to stop."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier
from bayespoint.active import learn_actively
from bayespoint.active.scores import drawn_outputs, probabilities
from bayespoint.active.stopping import (
    EARLY,
    N_DRAWS,
    expected_fall,
    fall_ahead,
    is_enough,
    recommendation,
)

X, Y = load_iris(return_X_y=True)
SOME = np.random.default_rng(0).permutation(150)[:40]
REST = np.setdiff1d(np.arange(150), SOME)
CLF = BayesPointClassifier(random_state=0).fit(X[SOME], Y[SOME])


def slow_falls(asked, rest, seed):
    p = probabilities(CLF, drawn_outputs(CLF, np.vstack([asked, rest]), N_DRAWS, seed))
    falls = []
    for i in range(len(asked)):
        before = np.mean([1 - max(p[:, j].mean(axis=0)) for j in range(len(asked), p.shape[1])])
        after = 0.0
        for y in range(3):
            weight = p[:, i, y] / p[:, i, y].sum()
            given = [1 - max(weight @ p[:, j]) for j in range(len(asked), p.shape[1])]
            after += p[:, i, y].mean() * np.mean(given)
        falls.append((before - after) / before)
    return np.array(falls)


def test_expected_fall():
    error, falls = expected_fall(CLF, np.vstack([X[REST[:3]], X[REST]]), 3, 7)
    assert error == pytest.approx(1 - CLF.predict_proba(X[REST]).max(axis=1).mean())
    np.testing.assert_allclose(falls, error * slow_falls(X[REST[:3]], X[REST], 7), atol=1e-12)
    # A label that is certain brings nothing; an uncertain one does.
    p = CLF.predict_proba(X[REST]).max(axis=1)
    two = REST[[p.argmax(), p.argmin()]]
    _, falls = expected_fall(CLF, np.vstack([X[two], X[REST]]), 2, 7)
    assert falls[0] < 0.01 * error < falls[1]


def test_rule():
    assert fall_ahead(0.2, 0.01, 100) == (10, pytest.approx(0.2 * (1 - 0.95**10)))
    assert fall_ahead(0.2, 0.01, 4)[0] == 4
    assert fall_ahead(0.0, 0.0, 100) == (10, 0.0)
    assert is_enough(50, 0.2, 0.0039)
    assert not is_enough(50, 0.2, 0.0041)
    assert is_enough(50, 0.01, 0.0009)
    assert not is_enough(EARLY - 1, 0.2, 0.0)


@pytest.mark.parametrize("as_frame", [False, True])
def test_learning_ends_where_labels_bring_nothing(as_frame):
    rng = np.random.default_rng(0)
    easy = rng.standard_normal((150, 2)) + np.repeat([[-6, 0], [6, 0]], 75, axis=0)
    label = np.repeat([0, 1], 75)
    pool = pd.DataFrame(easy, columns=["a", "b"]) if as_frame else easy
    clf = BayesPointClassifier(kernel="linear")
    options = {"n_queries": 60, "batch_size": 5, "random_state": 0}
    easily = learn_actively(clf, pool, lambda i: label[i], stop=True, **options)
    assert EARLY <= len(easily.indices) < 40
    hard = rng.standard_normal((150, 8))
    label = (hard @ rng.standard_normal(8) > 0).astype(int)
    pool = pd.DataFrame(hard, columns=list("abcdefgh")) if as_frame else hard
    curve = learn_actively(clf, pool, lambda i: label[i], stop=True, **options)
    assert len(curve.indices) > len(easily.indices) + 5
    whole = learn_actively(clf, pool, lambda i: label[i], **options)
    assert len(whole.indices) == 62


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
