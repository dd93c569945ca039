"""Checks that equal problems have equal results."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayespoint.testing.trial import (
    ERRORS,
    TOLERANCE,
    Data,
    Trial,
    answers,
    circle,
    demand,
    demand_same,
    distance,
    overlapping,
    same_bits,
    silence,
)

EXACT = 1e-6  # mean difference of results that differ by rounding alone, or by the seed


def check_seed(trial: Trial) -> None:
    """Equal seeds give equal results; other seeds give others if the engine is random."""
    X, y, new = circle(3)
    first, again, other = (answers(trial.fit(X, y, random_state=n), new) for n in (0, 0, 1))
    demand(
        same_bits(first, again),
        f"two fits of {trial.name} with the same seed differ: take all randomness from rng, and "
        "keep nothing between runs.",
    )
    if trial.engine.is_random:
        demand(
            not same_bits(first, other),
            f"another seed gives {trial.name} the same result: set is_random = False, or use rng.",
        )
    else:
        demand(
            same_bits(first, other),
            f"the seed matters to {trial.name}: set is_random = True.",
        )


def check_n_jobs(trial: Trial) -> None:
    """The number of threads does not matter, to the bit."""
    X, y, new = circle(3)
    alone = answers(trial.fit(X, y, n_jobs=1), new)
    for n_jobs in (None, 2, 3):
        demand(
            same_bits(alone, answers(trial.fit(X, y, n_jobs=n_jobs), new)),
            f"n_jobs={n_jobs} gives {trial.name} another result than n_jobs=1: spawn a child of "
            "rng for each part of the work, and add up results in a fixed order.",
        )


def check_order(trial: Trial) -> None:
    """The order of the training points does not matter, but for the randomness of the engine."""
    data = circle(2)
    order = np.argsort(data.y, kind="stable")  # one class after the other, instead of in turn
    other = data._replace(X=data.X[order], y=data.y[order])
    demand_same(
        trial.probabilities(data),
        trial.probabilities(other),
        "The order of the training points matters: visit them in an order that rng draws, or "
        "until the result does not change.",
    )


def check_labels(trial: Trial) -> None:
    """Labels that are swapped swap the predictions."""
    data = circle(2)
    demand_same(
        trial.probabilities(data),
        1 - trial.probabilities(data._replace(y=1 - data.y)),
        "Swapped labels do not swap the probabilities: treat both signs of the targets alike.",
    )


def check_weights(trial: Trial) -> None:
    """A weight of k counts as k copies, or weights that differ are refused."""
    data = overlapping()
    weight = np.random.default_rng(1).integers(1, 4, len(data.y)) + 3 * data.y
    if trial.engine.weights_are_copies:  # with a ridge, each copy has a slack that weights have not
        trial = Trial(trial.engine, trial.parameters | {"ridge": 0.0})
    if refuses(trial, data, weight.astype(float)):
        return
    weighted, plain = trial.probabilities(data, weight.astype(float)), trial.probabilities(data)
    rise, (_, error) = weighted.mean() - plain.mean(), distance(*mean_of_points(weighted, plain))
    demand(
        rise > TOLERANCE + ERRORS * error,
        f"Weights that favour a class raise its mean probability by {rise:.2g}, with a standard "
        f"error of {error:.2g}: use sample_weight, or raise a ValueError where weights differ.",
    )
    if trial.engine.weights_are_copies:
        copies = np.repeat(np.arange(len(weight)), weight)
        copied = trial.probabilities(data._replace(X=data.X[copies], y=data.y[copies]))
        demand_same(
            weighted,
            copied,
            "A sample of weight k is not as good as k copies: set weights_are_copies = False if "
            "it cannot be.",
        )


def mean_of_points(*probabilities: NDArray) -> list[NDArray]:
    """Their means over the points, for each seed."""
    return [each.mean(axis=1, keepdims=True) for each in probabilities]


def check_zero_weights(trial: Trial) -> None:
    """Points of weight 0 are left out."""
    data = circle(2)
    weight = (np.arange(len(data.y)) % 5 > 0).astype(float)
    if refuses(trial, data, weight):
        return
    kept = data._replace(X=data.X[weight > 0], y=data.y[weight > 0])
    demand_same(
        trial.probabilities(data, weight),
        trial.probabilities(kept),
        "Weights of 0 and 1 are not the same as leaving points out: weights that are all 1 must "
        "not matter.",
        EXACT,
    )


def refuses(trial: Trial, data: Data, weight: NDArray) -> bool:
    """Whether the engine refuses weights; if so, with an error that says what to do."""
    try:
        trial.fit(data.X, data.y, weight)
    except ValueError as error:
        demand(
            "sample_weight" in str(error) and ". " in str(error),
            f"{trial.name} raised {error!r}. An engine that cannot use weights must say so: name "
            "sample_weight in the error, and in a second sentence what to do instead.",
        )
        return True
    return False


def check_tasks(trial: Trial) -> None:
    """Several tasks at once have the results of each by itself."""
    X, y, new = circle(3)

    def learned(labels: NDArray, seed: int) -> NDArray:
        fitted = trial.fit(X, labels, random_state=seed)
        n_tasks = fitted.coding_.n_tasks
        evidence = getattr(fitted, "log_evidence_", np.zeros(n_tasks))
        return np.vstack([fitted.vote_shares(new)[:, -n_tasks:], evidence])

    together = trial.sample(partial(learned, y))
    for task in range(3):
        demand_same(
            together[:, :, [task]],
            trial.sample(partial(learned, y == task)),
            f"Task {task} of 3 has another result than by itself: tasks must not depend on each "
            "other.",
            EXACT,
        )


def check_warm_start(trial: Trial) -> None:
    """``can_extend`` is true: a fit that has nothing to add changes nothing."""
    X, y, new = circle(2)
    fitted = trial.fit(X, y, warm_start=True)
    before = answers(fitted, new)
    try:
        with silence():
            fitted.fit(X, y)
    except ValueError as error:
        demand(
            not trial.engine.can_extend and "warm_start" in str(error),
            f"can_extend = {trial.engine.can_extend}, and another fit with warm_start=True raised "
            f"{error!r}: declare can_extend = False, or use start.",
        )
        return
    demand(
        trial.engine.can_extend and same_bits(before, answers(fitted, new)),
        "another fit with warm_start=True, with nothing to add, has another result: return start "
        "as it is then.",
    )


def check_batches(trial: Trial) -> None:
    """``can_update`` is true: the first batch is a fit, and the second one changes the result."""
    X, y, new = circle(3)
    classifier = trial.classifier()
    has_method = hasattr(classifier, "partial_fit")
    demand(
        trial.engine.can_update or not has_method,
        "partial_fit is there though can_update = False.",
    )
    if not has_method or classifier.ridge != 0:
        return
    with silence():
        batches = trial.classifier().partial_fit(X[:20], y[:20], classes=[0, 1, 2])
        first = batches.predict_proba(new)
        batches.partial_fit(X[20:], y[20:])
    demand(
        np.allclose(first, trial.fit(X[:20], y[:20]).predict_proba(new), atol=1e-6),
        "partial_fit with one batch has another result than fit with the same points.",
    )
    alone = trial.fit(X[20:], y[20:]).predict_proba(new)
    demand(
        not any(np.allclose(batches.predict_proba(new), one, atol=1e-6) for one in (first, alone)),
        "one of two batches is forgotten: start is what is known from the batches before.",
    )


def check_sparse(trial: Trial) -> None:
    """``accepts_sparse`` is true: sparse points have the results of dense ones, or are refused."""
    X, y, new = circle(2)
    fitted = trial.fit(X, y)
    try:
        sparse = trial.fit(csr_array(X), y)
    except TypeError as error:
        demand(
            not (trial.engine.accepts_sparse and fitted.kernel_.is_linear),
            f"accepts_sparse is true, and sparse points raise {error!r}.",
        )
        return
    demand(
        np.allclose(sparse.predict_proba(csr_array(new)), fitted.predict_proba(new), atol=1e-6),
        "sparse points have other results than dense ones.",
    )
