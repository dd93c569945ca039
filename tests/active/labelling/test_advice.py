"""What labels are worth, compared with slow versions."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier
from bayespoint.active.classifiers import drawn_outputs, probabilities
from bayespoint.active.labelling.advice import (
    N_DRAWS,
    expected_fall,
    left_out_probabilities,
    recommendation,
    suspects,
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
    error, falls = expected_fall(CLF, X[REST[:3]], X[REST], 7)
    assert error == pytest.approx(1 - CLF.predict_proba(X[REST]).max(axis=1).mean())
    np.testing.assert_allclose(falls, error * slow_falls(X[REST[:3]], X[REST], 7), atol=1e-12)
    # A label that is certain brings nothing; an uncertain one does.
    p = CLF.predict_proba(X[REST]).max(axis=1)
    _, falls = expected_fall(CLF, X[REST[[p.argmax(), p.argmin()]]], X[REST], 7)
    assert falls[0] < 0.01 * error < falls[1]


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotSeparableWarning")
def test_left_out_probabilities_are_those_of_the_classifier():
    p = left_out_probabilities(CLF, Y[SOME])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    linear = BayesPointClassifier(kernel="linear").fit(X[SOME], Y[SOME])
    p = left_out_probabilities(linear, Y[SOME])
    assert np.mean(p.argmax(axis=1) != Y[SOME]) == pytest.approx(linear.left_out_error_)
    perceptron = BayesPointClassifier(engine="perceptron", random_state=0).fit(X[SOME], Y[SOME])
    assert left_out_probabilities(perceptron, Y[SOME]) is None


def test_suspects():
    rows, codes = np.arange(20), np.tile([1, 1, 1, 0], 5)
    p = np.tile([[0.5, 0.5]], (20, 1))
    p[3], p[5], p[8] = (0.06, 0.94), (0.95, 0.05), (0.98, 0.02)
    assert suspects(rows, codes, p) == [8, 5, 3]
    assert suspects(rows[:19], codes[:19], p[:19]) == []  # too early
    p = np.tile([[0.5, 0.05, 0.45]], (20, 1))  # of several classes, none is probable
    p[2] = 0.8, 0.05, 0.15
    assert suspects(rows, codes, p) == [2]


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
