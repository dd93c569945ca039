"""Digits "1" against "8" and "1" against "9": weights as images, and the scale of the prior."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bayespoint.datasets import Split, load_mnist
from bayespoint.experiments.base import Column, Context, Row, Table
from bayespoint.experiments.ep.methods import EP, METHODS, Method, Scores, fit_and_score
from bayespoint.experiments.verdicts import two_errors_around

PAIRS = ((1, 8), (1, 9))  # the slide's
VARIANCES = (0.01, 0.1, 1.0, 10.0, 100.0)  # τ²; the slide names none
SHOWN = 1.0  # τ² of the images
# What a scale can be chosen by; the first alone needs no test set.
CRITERIA = {
    "evidence": lambda scores: -scores.log_evidence,
    "error": lambda scores: scores.error,
    "log-loss": lambda scores: scores.log_loss,
}


class Pair(NamedTuple):
    """Images of two digits."""

    digits: tuple[int, int]
    split: Split

    @property
    def name(self) -> str:
        """Such as "1 against 8"."""
        return f"{self.digits[0]} against {self.digits[1]}"


class DigitsRun(NamedTuple):
    """One method with one scale of the prior on one pair."""

    pair: Pair
    method: Method
    variance: float
    scores: Scores


class Weights(NamedTuple):
    """Posterior mean and variance of the weight of every pixel, as images."""

    pair: Pair
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def load_pairs(context: Context) -> tuple[str, list[Pair]]:
    """The slide's digits, or small ones; and which, in words."""
    if context.full:
        data, words = load_mnist(context.data), "MNIST, pixels from 0 to 1"
    else:
        X, y = load_digits(return_X_y=True)
        data = Split(X[:1000] / 16, y[:1000], X[1000:] / 16, y[1000:])
        words = "scikit-learn's digits of 8 x 8 pixels from 0 to 1, not the slides' MNIST"
    pairs = [select(data, digits) for digits in PAIRS]
    sizes = [f"{len(p.split.X_train)} and {len(p.split.X_test)} of {p.name}" for p in pairs]
    return f"{words}; images to train and to test: {', '.join(sizes)}", pairs


def select(data: Split, digits: tuple[int, int]) -> Pair:
    """All images of two digits."""
    train, test = (np.isin(y, digits) for y in (data.y_train, data.y_test))
    images = Split(data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test])
    return Pair(digits, images)


def solve_digits(context: Context, pairs: Sequence[Pair]) -> tuple[list[DigitsRun], list[Weights]]:
    """Every method with every scale on every pair, and EP's weights for one of the scales."""
    runs, weights = [], []
    for pair in pairs:
        for method in METHODS:
            for variance in VARIANCES:
                context.tell(f"{pair.name}, {method.name}, τ² = {variance:g}")
                machine, scores = fit_and_score(method, pair.split, sqrt(variance), intercept=True)
                runs.append(DigitsRun(pair, method, variance, scores))
                if method is EP and variance == SHOWN:
                    posterior: Any = machine.posterior_
                    spread = np.square(posterior.factor[0]).sum(axis=1)  # diag F F^T
                    weights.append(as_images(pair, posterior.mean[:, 0], spread))
    return runs, weights


def as_images(pair: Pair, mean: NDArray, variance: NDArray) -> Weights:
    """Weights of the pixels as squares; the last weight is the intercept and no pixel."""
    side = isqrt(len(mean) - 1)
    return Weights(pair, mean[:-1].reshape(side, -1), variance[:-1].reshape(side, -1))


def digits_table(pair: Pair, runs: Sequence[DigitsRun]) -> Table:
    """Scores of one pair, every method over all scales."""
    columns = (Column("error %"), Column("log-loss", 4), Column("log Z", 1), Column("steps", 0))
    own = [run for run in runs if run.pair is pair]
    rows = [
        Row(
            f"{run.method.name}, τ² = {run.variance:g}",
            run.scores.cells,
            verdict(run, own),
            run.scores.standard_errors,
        )
        for run in own
    ]
    return Table(f"Digits: {pair.name}", caption(pair, own), columns, rows)


def best(runs: Sequence[DigitsRun], method: Method, criterion: str) -> DigitsRun:
    """The run of a method that a criterion chooses; the smaller scale, if two are equal."""
    own = [run for run in runs if run.method is method]
    return min(own, key=lambda run: CRITERIA[criterion](run.scores))


def verdict(run: DigitsRun, runs: Sequence[DigitsRun]) -> str:
    """Criteria by which this scale is the best of its method."""
    chosen = [name for name in CRITERIA if best(runs, run.method, name) is run]
    return f"best in {', '.join(chosen)}" if chosen else "best in nothing"


def caption(pair: Pair, runs: Sequence[DigitsRun]) -> str:
    """What the choice by evidence costs, and how much of it may be chance."""
    n = len(pair.split.y_test)
    sentences = []
    for method in dict.fromkeys(run.method for run in runs):
        chosen, fewest = (best(runs, method, name) for name in ("evidence", "error"))
        errors, least = (round(n * run.scores.error) for run in (chosen, fewest))
        words = f"{method.name}'s evidence chooses τ² = {chosen.variance:g}, with {errors} errors"
        if errors > least:
            words += f"; the minimum is {least}, at τ² = {fewest.variance:g}"
        sentences.append(f"{words}.")
    low, high = two_errors_around(best(runs, EP, "evidence").scores.error, n)
    rates = [run.scores.error for run in runs if run.method is EP]
    near = sum(low <= rate <= high for rate in rates)
    return (
        f"{' '.join(sentences)} With {n} test images, {near} of EP's {len(rates)} error rates lie "
        f"within two standard errors of the chosen one ({100 * low:.2f} to {100 * high:.2f} %). "
        "The slides show the weights and print no numbers."
    )
