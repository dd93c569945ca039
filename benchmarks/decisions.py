"""Who decides, the outputs or the log-odds learned from them: harder sets of digits, ten classes.

    python benchmarks/decisions.py --device cuda   # 60 000 digits a set, three seeds: a minute
    python benchmarks/decisions.py --quick         # 3 000 digits, one seed, on the CPU

Digits with wrong labels, with missing or noisy pixels, with other contrasts, and made-up points.
For each: test error and log-loss with the outputs' decisions, with those of the log-odds, and with
the rule of the perceptron, which chooses by the first visits. Needs the data folder
(BAYESPOINT_DATA).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from _report import table
from scipy.special import log_softmax

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.exceptions import NotSeparableWarning
from bayespoint.posteriors import LogOdds
from papers.datasets import load_mnist


def harder_sets(n: int) -> Iterator[tuple[str, tuple, dict[str, Any]]]:
    """Name, training and test data, and parameters."""
    rng = np.random.default_rng(1)
    X, y, X_test, y_test = load_mnist(None)
    X, y = X[:n], y[:n]
    random = rng.random

    def relabelled(labels: np.ndarray) -> np.ndarray:
        other = rng.integers(0, 10, len(labels))
        return np.where(random(len(labels)) < 0.08, other, labels)

    def sparse(digits: np.ndarray) -> np.ndarray:
        return digits * (random(digits.shape, dtype=np.float32) < 0.25)

    def contrasted(digits: np.ndarray) -> np.ndarray:
        size = len(digits), 1
        inverted = np.where(random(size) < 0.5, 1 - digits, digits)
        return (inverted * (0.3 + 0.7 * random(size))).astype(np.float32)

    def noisy(digits: np.ndarray) -> np.ndarray:
        noise = rng.standard_normal(digits.shape, dtype=np.float32)
        return (digits + 0.9 * noise).clip(-1, 2)

    yield "as they are", (X, y, X_test, y_test), {}
    yield "8 % of labels at random", (X, relabelled(y), X_test, relabelled(y_test)), {"ridge": 0.5}
    few = sparse(X), y, sparse(X_test), y_test
    yield "a quarter of the pixels", few, {}
    yield "the same, degree 9, ridge .1", few, {"degree": 9, "ridge": 0.1}
    yield "other contrasts", (contrasted(X), y, contrasted(X_test), y_test), {}
    fuzzy = noisy(X), y, noisy(X_test), y_test
    yield "noisy pixels, degree 9, ridge .1", fuzzy, {"degree": 9, "ridge": 0.1}
    Z = rng.standard_normal((n + 10_000, 60), dtype=np.float32)
    scores = Z @ rng.normal(size=(60, 10)) + (Z**2 - 1) @ rng.normal(0, 0.5, size=(60, 10))
    labels = (scores + 2 * rng.normal(size=scores.shape)).argmax(axis=1)
    made_up = Z[:n], labels[:n], Z[n:], labels[n:]
    yield "made-up points", made_up, {"degree": 3, "ridge": 0.1, "gamma": 1 / 60}


def measured(data: tuple, seed: int, **params: Any) -> list[float]:
    """Errors and log-losses on the test points, whether the outputs decide, random labels in %."""
    X, y, X_test, y_test = data
    clf = BayesPointClassifier(
        **{"kernel": "poly", "degree": 5, "gamma": 1.0, "normalize": True, **params},
        engine=PermutedPerceptron(n_samples=10),
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotSeparableWarning)
        posterior = clf.fit(X, y).posterior_
    rule = posterior.log_odds
    posterior.log_odds = LogOdds(np.eye(10), np.zeros(10))
    outputs = clf.decision_function(X_test)
    found = []
    for follows in (True, False, rule.follows):
        scores = LogOdds(rule.matrix, rule.offset, follows, rule.random_share)(outputs)
        found.append(100 * np.mean(scores.argmax(axis=1) != y_test))
        found.append(-np.mean(log_softmax(scores, axis=1)[np.arange(len(y_test)), y_test]))
    return [*found, rule.follows, 100 * rule.random_share]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="where to train")
    parser.add_argument("--quick", action="store_true", help="3 000 digits and one seed")
    given = parser.parse_args()
    rows = []
    for name, data, params in harder_sets(3000 if given.quick else 60_000):
        seeds = range(1 if given.quick else 3)
        runs = [measured(data, seed, device=given.device, **params) for seed in seeds]
        *numbers, follows, random = np.mean(runs, axis=0)
        cells = (f"{one:.{2 + 2 * (k % 2)}f}" for k, one in enumerate(numbers))
        rows.append((name, *cells, f"{follows:.1f}", f"{random:.1f}"))
    table(
        "Decisions of outputs, of log-odds, and of the rule; how often it takes the outputs",
        (
            "digits",
            "outputs: error %",
            "log-loss",
            "log-odds: error %",
            "log-loss",
            "rule: error %",
            "log-loss",
            "outputs",
            "random labels %",
        ),
        rows,
    )


if __name__ == "__main__":
    main()
