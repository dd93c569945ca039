"""Costs of predictions, and the predictions of least expected cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.reports.answers import Answers, Interval, mean_interval, share

THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


class Expense(NamedTuple):
    """The mean cost of a decision rule.

    Attributes
    ----------
    words : str
        The decision rule.
    cost : float
        Its mean over the test rows.
    interval : tuple of two floats or None
        95 % interval.

    Examples
    --------
    >>> from bayespoint.reports import Expense
    >>> Expense("always yes", 0.25, (0.2, 0.3)).cost
    0.25
    """

    words: str
    cost: float
    interval: Interval | None


class Threshold(NamedTuple):
    """Results of predicting a class wherever its probability reaches a threshold.

    Attributes
    ----------
    threshold : float
        Smallest probability at which the class is predicted.
    answered : float
        Fraction of the rows for which the class is predicted.
    precision, recall, false_alarms : float or None
        Precision, recall and false positive rate of the class; None where they are undefined.
    cost : float
        Mean cost over all rows; for the other rows the best of the other classes is predicted.

    Examples
    --------
    >>> from bayespoint.reports import Threshold
    >>> Threshold(0.5, 0.3, 0.9, 0.8, 0.05, 0.12).recall
    0.8
    """

    threshold: float
    answered: float
    precision: float | None
    recall: float | None
    false_alarms: float | None
    cost: float


def check_costs(costs: ArrayLike | None, n_classes: int) -> NDArray[np.float64]:
    """The costs, checked; by default 1 for every error."""
    if costs is None:
        return 1 - np.eye(n_classes)
    matrix = np.asarray(costs, dtype=np.float64)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"costs must have shape ({n_classes}, {n_classes}), one row for each true class and "
            f"one column for each predicted class. Got {matrix.shape} instead."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("costs must be finite.")
    return matrix


def cheapest(probabilities: NDArray, costs: NDArray[np.float64]) -> NDArray[np.intp]:
    r"""The classes k that minimise the expected cost :math:`\sum_c p_c(x)\, C_{ck}`."""
    return (probabilities @ costs).argmin(axis=1)


def expenses(
    answers: Answers, costs: NDArray[np.float64], classes: Sequence[Any]
) -> tuple[Expense, ...]:
    """Mean cost of the predictions, of those of least expected cost, and of the best constant."""
    paid = costs[answers.truth]
    best = int((answers.weight @ paid).argmin())
    ways = {
        "as predicted": answers.predicted,
        "of least expected cost": cheapest(answers.probabilities, costs),
        f"always {classes[best]}": np.full(len(answers.truth), best),
    }
    rows = np.arange(len(answers.truth))
    return tuple(
        Expense(words, *mean_interval(paid[rows, chosen], answers.weight, float(costs.min())))
        for words, chosen in ways.items()
    )


def at_thresholds(
    answers: Answers,
    of: int,
    costs: NDArray[np.float64],
    at: Sequence[float] | NDArray[np.float64] = THRESHOLDS,
) -> tuple[Threshold, ...]:
    """Results of thresholds for the probability of one class."""
    others = np.delete(np.arange(costs.shape[1]), of)
    instead = others[cheapest(answers.probabilities, costs[:, others])]
    weight, positive = answers.weight, answers.truth == of
    size = float(weight @ positive)
    rest = answers.total - size
    paid, paid_instead = costs[answers.truth, of], costs[answers.truth, instead]
    found = []
    for threshold in at:
        chosen = answers.probabilities[:, of] >= threshold
        total, hits = float(weight @ chosen), float(weight @ (chosen & positive))
        cost = float(weight @ np.where(chosen, paid, paid_instead)) / answers.total
        pairs = (hits, total), (hits, size), (total - hits, rest)
        precision, recall, alarms = (share(part, n) if n else None for part, n in pairs)
        answered = share(total, answers.total)
        found.append(Threshold(float(threshold), answered, precision, recall, alarms, cost))
    return tuple(found)
