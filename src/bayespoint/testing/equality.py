"""Small problems for all checks, and checks that equal problems have equal results."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

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


EXACT = 1e-6  # mean difference of results that differ by rounding alone, or by the seed


def check_seed(trial: Trial) -> None:
    """Equal seeds give equal results; other seeds give others if the engine is random."""
    first, again, other = (trial.answers(circle(3), random_state=seed) for seed in (0, 0, 1))
    words = "differ: take all randomness from rng, and keep nothing between runs."
    assert same_bits(first, again), f"two fits of {trial.name} with the same seed {words}"
    is_random = trial.engine.is_random
    assert same_bits(first, other) != is_random, (
        f"is_random = {is_random}, and another seed gives {trial.name} "
        f"{'the same' if is_random else 'another'} result: use rng if it is random, and declare "
        "whether it is."
    )


def check_n_jobs(trial: Trial) -> None:
    """Results do not depend on the number of threads, bit for bit."""
    alone = trial.answers(circle(3), n_jobs=1)
    for n_jobs in (None, 2, 3):
        assert same_bits(alone, trial.answers(circle(3), n_jobs=n_jobs)), (
            f"n_jobs={n_jobs} gives {trial.name} another result than n_jobs=1: spawn a child of "
            "rng for each part of the work, and add up results in a fixed order."
        )


def check_order(trial: Trial) -> None:
    """The order of the training points does not matter, but for the randomness of the engine."""
    data = circle(2)
    order = np.argsort(data.y, kind="stable")  # one class after the other, instead of in turn
    assert_same(
        trial.probabilities(data),
        trial.probabilities(data.at(order)),
        "The order of the training rows matters: visit them in an order that rng draws, or "
        "until the result does not change.",
    )


def check_labels(trial: Trial) -> None:
    """Labels that are swapped swap the predictions."""
    data = circle(2)
    swapped = 1 - trial.probabilities(data._replace(y=1 - data.y))
    words = "Swapped labels do not swap the probabilities: treat both signs of the targets alike."
    assert_same(trial.probabilities(data), swapped, words)


def check_weights(trial: Trial) -> None:
    """A weight of k counts as k copies, or weights that differ are refused."""
    data, as_copies = overlapping(), trial.engine.weights_are_copies
    weight = np.random.default_rng(1).integers(1, 4, len(data.y)) + 3 * data.y
    if as_copies:  # with a ridge, each copy has a slack that weights have not
        trial = Trial(trial.engine, trial.parameters | {"ridge": 0.0})
    if refuses(trial, data, weight.astype(float)):
        return
    weighted, plain = trial.probabilities(data, weight.astype(float)), trial.probabilities(data)
    rise = weighted.mean() - plain.mean()
    _, error = distance(*(each.mean(axis=1, keepdims=True) for each in (weighted, plain)))
    assert rise > TOLERANCE + ERRORS * error, (
        f"Weights that favour a class raise its mean probability by {rise:.2g}, with a standard "
        f"error of {error:.2g}: use sample_weight, or raise a ValueError where weights differ."
    )
    if as_copies:
        copies = trial.probabilities(data.at(np.repeat(np.arange(len(weight)), weight)))
        words = "A sample of weight k is not as good as k copies: weights_are_copies = False"
        assert_same(weighted, copies, f"{words} says so.")


def check_zero_weights(trial: Trial) -> None:
    """Points of weight 0 are left out."""
    data = circle(2)
    weight = (np.arange(len(data.y)) % 5 > 0).astype(float)
    if not refuses(trial, data, weight):
        assert_same(
            trial.probabilities(data, weight),
            trial.probabilities(data.at(weight > 0)),
            "Weights of 0 and 1 are not the same as leaving rows out: weights that are all 1 "
            "must not matter.",
            EXACT,
        )


def refuses(trial: Trial, data: Data, weight: NDArray) -> bool:
    """Whether the engine refuses weights; if so, with an error that says what to do."""
    try:
        trial.fit(data, weight)
    except ValueError as error:
        assert "sample_weight" in str(error) and ". " in str(error), (
            f"{trial.name} raised {error!r}. An engine that cannot use weights must say so: name "
            "sample_weight in the error, and in a second sentence what to do instead."
        )
        return True
    return False


def check_tasks(trial: Trial) -> None:
    """Several tasks at once have the results of each by itself."""
    data = circle(3)

    def learned(labels: NDArray) -> NDArray:
        def answer(seed: int) -> NDArray:
            fitted = trial.fit(data._replace(y=labels), random_state=seed)
            n_tasks = fitted.coding_.n_tasks
            evidence = getattr(fitted, "log_evidence_", np.zeros(n_tasks))
            return np.vstack([fitted.vote_shares(data.new)[:, -n_tasks:], evidence])

        return trial.sample(answer)

    together = learned(data.y)
    for task in range(3):
        words = f"Task {task} of 3 has another result than by itself: tasks must be independent."
        assert_same(together[:, :, [task]], learned(data.y == task), words, EXACT)


def check_warm_start(trial: Trial) -> None:
    """``can_extend`` is true: a fit that has nothing to add changes nothing."""
    data, can_extend = circle(2), trial.engine.can_extend
    fitted = trial.fit(data, warm_start=True)
    before = answers(fitted, data)
    try:
        with silence():
            fitted.fit(data.X, data.y)
    except ValueError as error:
        assert not can_extend and "warm_start" in str(error), (
            f"can_extend = {can_extend}, and another fit with warm_start=True raised {error!r}: "
            "declare can_extend = False, or use start."
        )
        return
    assert can_extend and same_bits(before, answers(fitted, data)), (
        "another fit with warm_start=True, with nothing to add, has another result: return start "
        "as it is then."
    )


def check_batches(trial: Trial) -> None:
    """``can_update`` is true: the first batch is a fit, and the second one changes the result."""
    data, batches = circle(3), trial.classifier()
    has_method = hasattr(batches, "partial_fit")
    assert trial.engine.can_update or not has_method, "partial_fit exists, and can_update = False."
    if not has_method or batches.ridge != 0:
        return
    one, two = data.at(slice(20)), data.at(slice(20, None))
    with silence():
        first = batches.partial_fit(one.X, one.y, classes=[0, 1, 2]).predict_proba(data.new)
        both = batches.partial_fit(two.X, two.y).predict_proba(data.new)
    alone = [trial.fit(batch).predict_proba(data.new) for batch in (one, two)]
    words = "partial_fit with one batch has another result than fit with the same rows."
    assert np.allclose(first, alone[0], atol=1e-6), words
    words = "one of two batches is forgotten: start is what is known from the batches before."
    assert not any(np.allclose(both, batch, atol=1e-6) for batch in alone), words


def check_sparse(trial: Trial) -> None:
    """``accepts_sparse`` is true: sparse points have the results of dense ones, or are refused."""
    X, y, new = circle(2)
    dense = trial.fit(circle(2))
    try:
        sparse = trial.fit(Data(csr_array(X), y, new))
    except TypeError as error:
        takes = trial.engine.accepts_sparse and dense.kernel_.is_linear
        assert not takes, f"accepts_sparse is true, and sparse rows raise {error!r}."
        return
    probability, expected = sparse.predict_proba(csr_array(new)), dense.predict_proba(new)
    words = "sparse rows have other results than dense ones."
    assert np.allclose(probability, expected, atol=1e-6), words


def check_pickle(trial: Trial) -> None:
    """A fitted classifier can be pickled, which joblib and searches do."""
    data = circle(3)
    fitted = trial.fit(data)
    again = pickle.loads(pickle.dumps(fitted))
    # Not to the bit: other strides can mean other rounding.
    assert all(map(np.allclose, answers(fitted, data), answers(again, data))), (
        "a classifier that was pickled has other predictions: the posterior must keep all it needs "
        "in its attributes."
    )
