"""Small problems for the checks, and classifiers that run the engine on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.parameters import kernel_of
from bayespoint.codings import make_coding
from bayespoint.engines import Engine, Request
from bayespoint.tools.monitor import Monitor, watch

RADIUS = 2.0  # of the circle of classes
N_SEEDS = 5  # fits that the mean and the spread of a random result are taken from
TOLERANCE = 2e-3  # mean difference of probabilities that stands for rounding and stopping rules
ERRORS = 5.0  # standard errors that means of random results may differ by

# Few samples and few steps are enough for a check, so what they warn of is ignored.
silence = partial(warnings.catch_warnings, action="ignore")


class Data(NamedTuple):
    """Training points with labels, and new points between and around them."""

    X: Any
    y: NDArray
    new: Any

    def at(self, rows: NDArray | slice) -> Data:
        """Some of the training points."""
        return self._replace(X=self.X[rows], y=self.y[rows])


def circle(n_classes: int) -> Data:
    """Classes in discs around a circle, small enough that a line separates each from the rest."""
    rng = np.random.default_rng(n_classes)
    y = np.tile(np.arange(n_classes), max(4, 30 // n_classes))
    largest = 0.4 * RADIUS * (1 - np.cos(2 * np.pi / n_classes))
    within = np.exp(1j * rng.uniform(0, 2 * np.pi, len(y))) * largest * np.sqrt(rng.random(len(y)))
    points = RADIUS * np.exp(2j * np.pi * y / n_classes) + within
    new = rng.uniform(-2 * RADIUS, 2 * RADIUS, (50, 2))
    return Data(np.stack([points.real, points.imag], axis=1), y, new)


def overlapping() -> Data:
    """Two classes that no line separates."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    return Data(X, y, rng.normal(size=(50, 2)))


@dataclass(frozen=True)
class Trial:
    """An engine, and the parameters of the classifier that runs it."""

    engine: Engine
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        """The class of the engine."""
        return type(self.engine).__name__

    def classifier(self, **changes: Any) -> BayesPointClassifier:
        """A classifier with the engine; nothing else of it is chosen by the data."""
        fixed: dict[str, Any] = {"kernel": "linear", "gamma": 0.5, "temperature": 1.0}
        fixed |= {"multi_class": "one_vs_rest"}  # targets of separate tasks
        fixed |= {"engine": self.engine, "random_state": 0}
        return BayesPointClassifier(**fixed | self.parameters | changes)

    def fit(
        self, data: Data, weight: Any = None, monitor: Monitor | None = None, **changes: Any
    ) -> BayesPointClassifier:
        """A fitted classifier."""
        with silence(), watch(monitor or Monitor()):
            return self.classifier(**changes).fit(data.X, data.y, sample_weight=weight)

    def run(
        self, data: Data, monitor: Monitor | None = None, engine: Engine | None = None
    ) -> tuple[Any, Any]:
        """The space that a classifier would make, and what the engine itself returns."""
        engine, classifier = engine or self.engine, self.classifier()
        kernel = kernel_of(classifier).fitted(data.X)
        space = engine.space(kernel, classifier.ridge, classifier.n_components).fit(data.X)
        targets = make_coding(np.unique(data.y)).encode(data.y)
        before = targets.copy()
        with silence():
            result = engine.run(space, targets, Request(monitor=monitor or Monitor()))
        assert np.array_equal(targets, before), "run must not change the targets."
        return space, result

    def answers(self, data: Data, **changes: Any) -> list[NDArray]:
        """Answers of a classifier that is fitted to the data."""
        return answers(self.fit(data, **changes), data)

    def sample(self, answer: Callable[[int], NDArray]) -> NDArray[np.float64]:
        """Values of ``answer`` for some seeds, or for one if the engine is not random."""
        return np.stack([answer(seed) for seed in range(N_SEEDS if self.engine.is_random else 1)])

    def probabilities(self, data: Data, weight: Any = None) -> NDArray[np.float64]:
        """p(y = 1) of the new points, for some seeds, shape (n_seeds, n_new)."""
        return self.sample(
            lambda n: self.fit(data, weight, random_state=n).predict_proba(data.new)[:, 1]
        )


def distance(one: NDArray, other: NDArray) -> tuple[float, float]:
    """Mean distance of the means over seeds, which come first, and its standard error."""
    difference = np.abs(one.mean(axis=0) - other.mean(axis=0))
    spread = sum(each.var(axis=0) / max(len(each) - 1, 1) for each in (one, other))
    return float(difference.mean()), float(np.sqrt(spread).mean())


def assert_same(one: NDArray, other: NDArray, message: str, tolerance: float = TOLERANCE) -> None:
    """Raise an AssertionError if probabilities differ by more than their spread over seeds."""
    difference, error = distance(one, other)
    assert difference <= tolerance + ERRORS * error, (
        f"{message} Probabilities differ by {difference:.2g} in the mean, with a standard error of "
        f"{error:.2g}."
    )


def answers(fitted: BayesPointClassifier, data: Data) -> list[NDArray]:
    """All results of the posterior, for bitwise comparisons."""
    return [
        fitted.posterior_.mean,
        *fitted.latent_mean_and_variance(data.new),
        fitted.vote_shares(data.new),
        fitted.predict_proba(data.new),
        fitted.draw_outputs(data.new, 3, random_state=0),
        np.asarray(getattr(fitted, "log_evidence_", 0.0)),
    ]


def same_bits(one: list[NDArray], other: list[NDArray]) -> bool:
    """Whether two lists of arrays are equal."""
    return all(map(np.array_equal, one, other))
