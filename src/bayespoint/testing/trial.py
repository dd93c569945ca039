"""What the checks work with: small problems, and classifiers that run the engine on them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier import BayesPointClassifier
from bayespoint.coding import make_coding
from bayespoint.engines import Engine
from bayespoint.kernels import make_kernel
from bayespoint.monitor import Monitor, watch
from bayespoint.settings import KERNEL_PARAMETERS

RADIUS = 2.0  # of the circle of classes
N_SEEDS = 5  # fits that the mean and the spread of a random result are taken from
TOLERANCE = 2e-3  # mean difference of probabilities that stands for rounding and stopping rules
ERRORS = 5.0  # standard errors that means of random results may differ by


def demand(fine: object, message: str) -> None:
    """Raise an AssertionError unless all is fine."""
    if not fine:
        raise AssertionError(message)


class Data(NamedTuple):
    """Training points with labels, and new points between and around them."""

    X: NDArray[np.float64]
    y: NDArray
    new: NDArray[np.float64]


def circle(n_classes: int) -> Data:
    """Classes in discs around a circle, small enough that a line separates each from the rest."""
    rng = np.random.default_rng(n_classes)
    y = np.tile(np.arange(n_classes), max(4, 30 // n_classes))
    centres = polar(2 * np.pi * y / n_classes, RADIUS)
    largest = 0.4 * RADIUS * (1 - np.cos(2 * np.pi / n_classes))
    within = polar(rng.uniform(0, 2 * np.pi, len(y)), largest * np.sqrt(rng.random(len(y))))
    return Data(centres + within, y, rng.uniform(-2 * RADIUS, 2 * RADIUS, (50, 2)))


def overlapping() -> Data:
    """Two classes that no line separates."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    return Data(X, y, rng.normal(size=(50, 2)))


def polar(angle: NDArray, radius: NDArray | float) -> NDArray[np.float64]:
    """Points of the plane."""
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


@contextmanager
def silence() -> Iterator[None]:
    """Ignore warnings: few samples and few steps are enough for a check."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


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
        """A classifier with the engine; gamma does not depend on copies of points."""
        fixed: dict[str, Any] = {"engine": self.engine, "gamma": 0.5, "random_state": 0}
        return BayesPointClassifier(**fixed | self.parameters | changes)

    def fit(
        self,
        X: Any,
        y: NDArray,
        sample_weight: NDArray | None = None,
        monitor: Monitor | None = None,
        **changes: Any,
    ) -> BayesPointClassifier:
        """A fitted classifier."""
        with silence(), watch(monitor or Monitor()):
            return self.classifier(**changes).fit(X, y, sample_weight=sample_weight)

    def run(
        self, X: NDArray, y: NDArray, monitor: Monitor | None = None, engine: Engine | None = None
    ) -> tuple[Any, Any]:
        """The space that a classifier would make, and what the engine itself returns."""
        engine, classifier = engine or self.engine, self.classifier()
        kernel = make_kernel(**{name: getattr(classifier, name) for name in KERNEL_PARAMETERS})
        space = engine.space(kernel.fitted(X), classifier.ridge).fit(X)
        targets = make_coding(np.unique(y)).encode(y)
        before = targets.copy()
        with silence():
            result = engine.run(
                space, targets, rng=np.random.default_rng(0), monitor=monitor or Monitor()
            )
        demand(np.array_equal(targets, before), "run must not change the targets.")
        return space, result

    def sample(self, answer: Callable[[int], NDArray]) -> NDArray[np.float64]:
        """What ``answer`` says of some seeds, or of one if the engine is not random."""
        return np.stack([answer(seed) for seed in range(N_SEEDS if self.engine.is_random else 1)])

    def probabilities(
        self, data: Data, sample_weight: NDArray | None = None
    ) -> NDArray[np.float64]:
        """p(y = 1) of the new points, for some seeds, shape (n_seeds, n_new)."""

        def answer(seed: int) -> NDArray:
            fitted = self.fit(data.X, data.y, sample_weight, random_state=seed)
            return fitted.predict_proba(data.new)[:, 1]

        return self.sample(answer)


def distance(one: NDArray, other: NDArray) -> tuple[float, float]:
    """Mean distance of the means over seeds, which come first, and its standard error."""
    difference = np.abs(one.mean(axis=0) - other.mean(axis=0))
    spread = one.var(axis=0) / max(len(one) - 1, 1) + other.var(axis=0) / max(len(other) - 1, 1)
    return float(difference.mean()), float(np.sqrt(spread).mean())


def demand_same(one: NDArray, other: NDArray, message: str, tolerance: float = TOLERANCE) -> None:
    """Raise an AssertionError if probabilities differ by more than their spread over seeds."""
    difference, error = distance(one, other)
    demand(
        difference <= tolerance + ERRORS * error,
        f"{message} Probabilities differ by {difference:.2g} in the mean, "
        f"with a standard error of {error:.2g}.",
    )


def answers(fitted: BayesPointClassifier, new: NDArray) -> list[NDArray]:
    """All that the posterior is asked, for comparisons to the bit."""
    return [
        fitted.posterior_.mean,
        *fitted.latent_mean_and_variance(new),
        fitted.vote_shares(new),
        fitted.predict_proba(new),
        fitted.draw_outputs(new, 3, random_state=0),
        np.asarray(getattr(fitted, "log_evidence_", 0.0)),
    ]


def same_bits(one: list[NDArray], other: list[NDArray]) -> bool:
    """Whether two lists of arrays are equal."""
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
