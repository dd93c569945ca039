"""Predictions for test rows, statistics of them, and confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

NORMAL_95 = 1.959963984540054  # 97.5 % quantile of the normal distribution

Interval = tuple[float, float]


def score_interval(rate: float, n: float, width: float = NORMAL_95) -> Interval:
    r"""Rates p from which the measured one is at most ``width`` standard errors away.

    Wilson's interval: the solutions of
    :math:`|\hat p - p| \le z \sqrt{p (1 - p) / n}` with z the width, 1.96 for 95 %. The standard
    error is that of the candidate p, so that the interval is sound even where no error at all was
    counted.

    >>> low, high = score_interval(0.0146, 10_000)
    >>> f"{low:.4f} to {high:.4f}"
    '0.0124 to 0.0171'
    """
    shrink = 1 + width**2 / n
    centre = (rate + width**2 / (2 * n)) / shrink
    half = width * sqrt(rate * (1 - rate) / n + width**2 / (4 * n**2)) / shrink
    return max(0.0, centre - half), min(1.0, centre + half)


def mean_interval(
    values: NDArray, weight: NDArray, lowest: float = 0.0
) -> tuple[float, Interval | None]:
    r"""Weighted mean, and the 95 % interval :math:`\bar x \pm 1.96\, s / \sqrt n` around it.

    Weight k counts a value k times, so n is the sum of the weights. Where n is not above 1 there
    is no interval. It begins at ``lowest`` or above, which no value can be below.

    >>> import numpy as np
    >>> mean_interval(np.array([0.0, 1.0]), np.array([50.0, 50.0]))
    (0.5, (0.401..., 0.598...))
    """
    n = float(weight.sum())
    mean = float(weight @ values / n)
    if n <= 1:
        return mean, None
    variance = float(weight @ (values - mean) ** 2) / (n - 1)
    low, high = around(mean, sqrt(variance / n))
    return mean, (max(low, lowest), high)


def around(value: float, standard_error: float) -> Interval:
    """The 95 % interval of a number with a normal error."""
    return value - NORMAL_95 * standard_error, value + NORMAL_95 * standard_error


N_BINS = 10  # of the confidence, of equal width: enough to see a bend, and few enough to fill


class Bin(NamedTuple):
    """Rows of similar confidence: their mean confidence and their accuracy.

    Attributes
    ----------
    low, high : float
        Confidences in (low, high].
    weight : float
        Total weight of the rows in the bin.
    confidence, accuracy : float or None
        Mean confidence and fraction of correct predictions; None in an empty bin.
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
    confidence: float | None = None
    accuracy: float | None = None
    interval: Interval | None = None

    @property
    def gap(self) -> float:
        """Absolute difference of confidence and accuracy; 0 in an empty bin."""
        if self.accuracy is None or self.confidence is None:
            return 0.0
        return abs(self.accuracy - self.confidence)


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions for rows with known classes.

    Attributes
    ----------
    truth, predicted : ndarray of int of shape (n_points,)
        Classes, as columns of the probabilities.
    probabilities : ndarray of shape (n_points, n_classes)
        Predicted probabilities of the classes.
    weight : ndarray of shape (n_points,)
        Positive; weight k counts a row k times.
    ranks : ndarray of int of shape (n_classes,), optional
        Places of ordered classes, from the lowest to the highest.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.reports import METRICS, Answers
    >>> truth, probabilities = np.array([0, 1]), np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> answers = Answers(truth, probabilities.argmax(axis=1), probabilities, np.ones(2))
    >>> METRICS["accuracy"].function(answers).value
    0.5
    """

    truth: NDArray[np.intp]
    predicted: NDArray[np.intp]
    probabilities: NDArray[np.floating]
    weight: NDArray[np.float64]
    ranks: NDArray[np.intp] | None = None

    @cached_property
    def distance(self) -> NDArray[np.intp]:
        """Classes between each predicted one and the true one, itself included."""
        ranks = np.arange(self.probabilities.shape[1]) if self.ranks is None else self.ranks
        return np.abs(ranks[self.truth] - ranks[self.predicted])

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each prediction is correct."""
        return self.truth == self.predicted

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @cached_property
    def confidence(self) -> NDArray[np.floating]:
        """Probability of each predicted class."""
        return of_class(self.probabilities, self.predicted)

    @cached_property
    def confusion(self) -> NDArray[np.float64]:
        """Weight by true class, one row each, and predicted class, one column each."""
        columns = range(self.probabilities.shape[1])
        return confusion_matrix(
            self.truth, self.predicted, labels=columns, sample_weight=self.weight
        )

    @cached_property
    def baseline(self) -> Answers:
        """Predictions from the class frequencies alone: the most frequent class for every row."""
        shares = self.confusion.sum(axis=1) / self.total
        n = len(self.truth)
        always = np.full(n, shares.argmax())
        return Answers(self.truth, always, np.tile(shares, (n, 1)), self.weight, self.ranks)

    @cached_property
    def bins(self) -> tuple[Bin, ...]:
        """Means over ten bins (low, high] of the confidence; the first contains 0."""
        # Rounded before it is cut: 0.3 * 10 is above 3 in floating point, and belongs to (0.2, 0.3]
        number = np.ceil(np.round(self.confidence * N_BINS, 9)).astype(int) - 1
        number = np.clip(number, 0, N_BINS - 1)
        total = np.bincount(number, self.weight, N_BINS)
        sure = np.bincount(number, self.weight * self.confidence, N_BINS)
        correct = np.bincount(number, self.weight * self.right, N_BINS)
        bins = [Bin(b / N_BINS, (b + 1) / N_BINS, n) for b, n in enumerate(total.tolist())]
        for b in np.flatnonzero(total).tolist():
            n, accuracy = bins[b].weight, share(correct[b], total[b])
            found = float(sure[b] / n), accuracy, score_interval(accuracy, n)
            bins[b] = Bin(*bins[b][:3], *found)
        return tuple(bins)

    @cached_property
    def areas(self) -> list[tuple[float, NDArray] | None]:
        """The AUC of each class against the rest, and what each row adds to it.

        None where a class is absent. Two classes have one AUC.
        """
        columns = enumerate(self.probabilities.T)
        if self.probabilities.shape[1] == 2:
            # The one of the second class: 1 - p of a tiny p is 1, which would make ties.
            return 2 * [area_under_curve(self.probabilities[:, 1], self.truth == 1, self.weight)]
        return [area_under_curve(column, self.truth == c, self.weight) for c, column in columns]


def share(part: SupportsFloat, total: float) -> float:
    """A part of the total; a sum of weights may round above it."""
    return min(1.0, float(part) / total)


def of_class(probabilities: NDArray, labels: NDArray[np.intp]) -> NDArray:
    """The probability of one class for each row."""
    return probabilities[np.arange(len(labels)), labels]


def placements(scores: NDArray, positive: NDArray[np.bool_], weight: NDArray) -> NDArray:
    """Share of the rows of the other kind that each row is on the right side of; ties: half."""
    values, group = np.unique(scores, return_inverse=True)

    def share_below(chosen: NDArray[np.bool_]) -> NDArray:
        mass = np.bincount(group[chosen], weight[chosen], len(values))
        return ((mass.cumsum() - mass / 2) / mass.sum())[group]

    return np.where(positive, share_below(~positive), 1 - share_below(positive))


def area_under_curve(
    scores: NDArray, positive: NDArray[np.bool_], weight: NDArray
) -> tuple[float, NDArray] | None:
    """The AUC, and what each row adds to it beyond the mean; None where a kind is absent.

    The squares of the second, summed, are the variance of the first (DeLong et al., 1988).
    """
    if positive.all() or not positive.any():
        return None
    place = placements(scores, positive, weight)
    size = np.where(positive, weight[positive].sum(), weight[~positive].sum())
    area = float(np.average(place[positive], weights=weight[positive]))
    return area, (place - area) / size
