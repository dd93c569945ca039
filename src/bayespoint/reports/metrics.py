"""How good answers and probabilities are: one function for each number.

Labels are columns of the probabilities; weight k counts a point k times.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.reports.intervals import Interval, around, score_interval

N_BINS = 10  # of the confidence, of equal width: enough to see a bend, and few enough to fill


def log_losses(probabilities: NDArray, truth: NDArray[np.intp]) -> NDArray[np.float64]:
    """-log p of the true class of each point; p is not taken below the resolution of its type."""
    smallest = np.finfo(probabilities.dtype).eps
    return -np.log(np.maximum(of_class(probabilities, truth), smallest), dtype=np.float64)


def brier_scores(probabilities: NDArray, truth: NDArray[np.intp]) -> NDArray[np.float64]:
    r"""Squared distance to the truth of each point.

    :math:`\sum_c (p_c - [y = c])^2`, from 0 to 2; with two classes half of that, which is
    :math:`(p - y)^2`. (So scikit-learn has it.)
    """
    n_classes = probabilities.shape[1]
    distance = ((probabilities - np.eye(n_classes)[truth]) ** 2).sum(axis=1)
    return distance / 2 if n_classes == 2 else distance


def of_class(probabilities: NDArray, labels: NDArray[np.intp]) -> NDArray:
    """The probability of one class for each point."""
    return probabilities[np.arange(len(labels)), labels]


class Bin(NamedTuple):
    """Points of similar confidence: how sure the answers were, and how often they were right.

    Attributes
    ----------
    low, high : float
        Confidences in (low, high].
    weight : float
        Of the points in it.
    confidence, accuracy : float or None
        Their mean confidence, and the share of right answers; None where there are no points.
    interval : tuple of two floats or None
        95 % interval of the accuracy.

    Examples
    --------
    >>> from bayespoint.reports import Bin
    >>> lowest = Bin(0.5, 0.6, 20.0, 0.55, 0.6, (0.39, 0.78))
    >>> round(lowest.accuracy - lowest.confidence, 2)
    0.05
    """

    low: float
    high: float
    weight: float
    confidence: float | None
    accuracy: float | None
    interval: Interval | None


def calibration_bins(
    confidence: NDArray, right: NDArray[np.bool_], weight: NDArray
) -> tuple[Bin, ...]:
    """Means over ten bins (low, high] of the confidence; the first contains 0; some are empty."""
    # Rounded before it is cut: 0.3 * 10 is above 3 in floating point, and belongs to (0.2, 0.3].
    number = np.clip(np.ceil(np.round(confidence * N_BINS, 9)).astype(int) - 1, 0, N_BINS - 1)
    total = np.bincount(number, weight, N_BINS)
    sure = np.bincount(number, weight * confidence, N_BINS)
    correct = np.bincount(number, weight * right, N_BINS)
    bins = []
    for b in range(N_BINS):
        low, high, n = b / N_BINS, (b + 1) / N_BINS, float(total[b])
        if n == 0:
            bins.append(Bin(low, high, n, None, None, None))
            continue
        accuracy = min(1.0, float(correct[b] / n))  # a sum of weights may round above the total
        interval = score_interval(accuracy, n)
        bins.append(Bin(low, high, n, float(sure[b] / n), accuracy, interval))
    return tuple(bins)


def calibration_error(bins: tuple[Bin, ...]) -> float:
    r"""Expected calibration error: :math:`\sum_b (n_b / n) |accuracy_b - confidence_b|`."""
    total = sum(b.weight for b in bins)
    gaps = (
        b.weight * abs(b.accuracy - b.confidence)
        for b in bins
        if b.accuracy is not None and b.confidence is not None
    )
    return sum(gaps) / total


def placements(scores: NDArray, positive: NDArray[np.bool_], weight: NDArray) -> NDArray:
    """Share of the points of the other kind that each point is on the right side of; ties: half."""
    values, group = np.unique(scores, return_inverse=True)

    def share_below(chosen: NDArray[np.bool_]) -> NDArray:
        mass = np.bincount(group[chosen], weight[chosen], len(values))
        return ((mass.cumsum() - mass / 2) / mass.sum())[group]

    return np.where(positive, share_below(~positive), 1 - share_below(positive))


def area_under_curve(
    scores: NDArray, positive: NDArray[np.bool_], weight: NDArray
) -> tuple[float, NDArray] | None:
    """The AUC, and what each point adds to it beyond the mean; None where a kind is absent.

    The squares of the second, summed, are the variance of the first (DeLong et al., 1988).
    """
    if positive.all() or not positive.any():
        return None
    place = placements(scores, positive, weight)
    size = np.where(positive, weight[positive].sum(), weight[~positive].sum())
    area = float(np.average(place[positive], weights=weight[positive]))
    return area, (place - area) / size


def areas_under_curves(
    probabilities: NDArray, truth: NDArray[np.intp], weight: NDArray
) -> tuple[list[float | None], float | None, Interval | None]:
    """The AUC of each class against the rest, their mean, and its 95 % interval.

    Two classes have one AUC. The mean is undefined (None) where a class is absent.
    """
    n_classes = probabilities.shape[1]
    if n_classes == 2:
        # The one of the second class: 1 - p of a tiny p is 1, which would make ties.
        found = 2 * [area_under_curve(probabilities[:, 1], truth == 1, weight)]
    else:
        columns = enumerate(probabilities.T)
        found = [area_under_curve(column, truth == c, weight) for c, column in columns]
    single = [None if one is None else one[0] for one in found]
    present = [one for one in found if one is not None]
    if len(present) < n_classes:
        return single, None, None
    mean = float(np.mean([area for area, _ in present]))
    influence = np.mean([added for _, added in present], axis=0)
    variance = float(weight @ influence**2)
    if variance == 0:  # a perfect order shows no variation: that is ignorance, not certainty
        return single, mean, None
    low, high = around(mean, sqrt(variance))
    return single, mean, (max(low, 0.0), min(high, 1.0))


def precision_and_recall(confusion: NDArray) -> tuple[NDArray, NDArray]:
    """Of each class; NaN where there is nothing to divide by."""
    hits = np.diag(confusion).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return hits / confusion.sum(axis=0), hits / confusion.sum(axis=1)


def balanced_accuracy(confusion: NDArray) -> tuple[float, Interval]:
    """Mean recall of the classes that are there, and its 95 % interval.

    Wilson's intervals of the classes are put together by their squares (R. G. Newcombe, 1998), so
    that recalls of 0 and 1 are not taken for certain.
    """
    there = confusion.sum(axis=1) > 0
    sizes = confusion.sum(axis=1)[there]
    recall = np.minimum(np.diag(confusion)[there] / sizes, 1.0)
    ends = np.array([score_interval(*one) for one in zip(recall, sizes, strict=True)])
    below, above = np.sqrt(((ends - recall[:, None]) ** 2).sum(axis=0)) / len(recall)
    mean = float(recall.mean())
    return mean, (float(mean - below), float(mean + above))
