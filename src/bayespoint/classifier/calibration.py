"""What leave-one-out predictions teach: a temperature, weights of a mixture, expected scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.special import betaincinv, log_softmax, ndtri, stdtrit

from bayespoint.tools.arrays import Array, beside, namespace, to_host
from bayespoint.tools.attributes import number
from bayespoint.tools.numbers import TINY

WIDEST = 2.0  # bound on |log T|
LOG_TEMPERATURES = np.linspace(-WIDEST, WIDEST, 21)  # between which losses are smooth
# Leave-one-out is optimistic where points are few: log T is worth n / (n + CAUTION) of itself.
CAUTION = 50.0
MOST_TEMPERATURE_POINTS = 20_000  # points to learn a temperature from
# Forecasts of training points share most of the points that they were learned from. So the mean of
# their losses varies more than that of independent losses: 1.2 to 1.3 times as much on 88 splits of
# the tables that defaults are tuned on. The share of errors does, too (benchmarks/intervals.py).
DEPENDENCE = 1.3
HIGH = 0.975  # quantile at which 95 % intervals end
MOST_SCORES = 2000  # points of which a model keeps left-out probabilities
NONE = 1e-9  # errors, of points of little weight

Part = tuple[Any, Any, Any]  # forecasts, codes and copies of some points


def best_temperature(
    scores: NDArray,
    codes: NDArray,
    weight: NDArray[np.float64] | None = None,
    n_points: float | None = None,
    caution: float = CAUTION,
    doubt: float = 0.0,
) -> float:
    r"""The temperature T that makes softmax(scores / T) the best forecast of the classes.

    It minimises the log-loss of scores that do not know the label of their row. Its logarithm is
    multiplied by n / (n + caution), since such scores are optimistic where rows are few.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Scores of each row, for example its log-odds given all other labels.
    codes : ndarray of shape (n,)
        Index of the class of each row.
    weight : ndarray of shape (n,), optional
        How many copies each row counts for.
    n_points : float, optional
        How many rows there are, if only some of them are given.
    caution : float, default=50
        For how many rows the logarithm is halved.
    doubt : float, default=0.0
        Rows that are taken to be of another class than they are, as J. Platt (1999) does: where
        all forecasts are right, the best temperature would be 0.

    Returns
    -------
    float
        The temperature; below 1 the scores were too timid.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.classifier.calibration import best_temperature
    >>> scores = np.tile([[0.0, 3.0]], (1000, 1))  # sure of the second class
    >>> codes = (np.arange(1000) % 4 > 0).astype(int)  # which is right three times out of four
    >>> print(f"{best_temperature(scores, codes):.2f}")  # log 3 = 3 / 2.73
    2.60
    """
    n, loss = loss_by_temperature(scores, codes, weight, doubt)
    return temperature_of_least(loss, n if n_points is None else n_points, caution)


def loss_by_temperature(
    scores: NDArray, codes: NDArray, weight: NDArray[np.float64] | None, doubt: float = 0.0
) -> tuple[float, Callable[[float], float]]:
    """How many copies of rows there are, and their log-loss as a function of log T."""
    copies = np.ones(len(codes)) if weight is None else weight
    n = float(copies.sum())
    some = slice(None, None, -(-len(codes) // MOST_TEMPERATURE_POINTS))
    scores, codes, copies = scores[some], codes[some], copies[some]
    rows, scale, wrong = np.arange(len(codes)), n / copies.sum(), doubt / (n + 2 * doubt)

    def loss(log_temperature: float) -> float:
        log_p = log_softmax(scores * np.exp(-log_temperature), axis=1)
        own = log_p[rows, codes]
        others = (log_p.sum(axis=1) - own) / max(scores.shape[1] - 1, 1)
        return -scale * (copies @ ((1 - wrong) * own + wrong * others))

    return n, loss


def temperature_of_least(
    loss: Callable[[float], float], n: float, caution: float = CAUTION
) -> float:
    """The temperature of the least loss of n rows, nearer to 1 for few."""
    found = minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x
    return float(np.exp(found * trusted(n, caution)))


def trusted(n: float, caution: float = CAUTION) -> float:
    """How much of a log-temperature is believed that was learned from n rows."""
    return n / (n + caution)


def temperature_losses(
    scores: NDArray, codes: NDArray, weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """What later batches need to know of the forecasts of this one; sums are those of all batches.

    Parameters
    ----------
    scores, codes, weight
        As in :func:`best_temperature`.

    Returns
    -------
    ndarray of shape (22,)
        The number of rows, and their log-loss at 21 temperatures.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.classifier.calibration import temperature_losses, temperature_of_losses
    >>> scores = np.tile([[0.0, 3.0]], (500, 1))
    >>> codes = (np.arange(500) % 4 > 0).astype(int)
    >>> losses = temperature_losses(scores, codes)
    >>> print(f"{temperature_of_losses(losses + losses):.2f}")  # of 1000 points
    2.60
    """
    n, loss = loss_by_temperature(scores, codes, weight)
    return np.array([n, *map(loss, LOG_TEMPERATURES)])


def temperature_of_losses(losses: NDArray[np.float64]) -> float:
    """The best temperature of all batches, from the sum of their :func:`temperature_losses`."""
    return temperature_of_least(CubicSpline(LOG_TEMPERATURES, losses[1:]), losses[0])


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number that is to be expected on new data, and its 95 % interval.

    It can be formatted and converted to a float. It is compared with other numbers by its value;
    two estimates are equal if their intervals are, too.

    Attributes
    ----------
    value : float
        The number.
    low, high : float
        The ends of the interval.

    Examples
    --------
    >>> from bayespoint.classifier.calibration import Estimate
    >>> error = Estimate(0.087, 0.057, 0.124)
    >>> float(error), error < 0.1, error == 0.087, f"{error:.1%}"
    (0.087, True, True, '8.7% (5.7% to 12.4%)')
    >>> print(Estimate(0.2, 0.1, 1.5))  # with even decimals
    0.20 (0.10 to 1.50)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self}"

    def __format__(self, form: str) -> str:
        size = np.floor(np.log10(self.high)) if 0 < self.high < np.inf else 0
        even = f".{max(0, 2 - int(size))}f"  # three digits of the largest
        numbers = self.value, self.low, self.high
        value, low, high = (format(number, form or even) for number in numbers)
        return f"{value} ({low} to {high})"

    def __float__(self) -> float:
        return float(self.value)

    def __hash__(self) -> int:
        return hash(self.value)  # of equal estimates, and of the equal number

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Estimate):
            return (self.value, self.low, self.high) == (other.value, other.low, other.high)
        return self.value == other if isinstance(other, Real) else NotImplemented

    def __lt__(self, other: Estimate | float) -> bool:
        return self.value < float(other) if is_comparable(other) else NotImplemented

    def __le__(self, other: Estimate | float) -> bool:
        return self.value <= float(other) if is_comparable(other) else NotImplemented

    def __gt__(self, other: Estimate | float) -> bool:
        return self.value > float(other) if is_comparable(other) else NotImplemented

    def __ge__(self, other: Estimate | float) -> bool:
        return self.value >= float(other) if is_comparable(other) else NotImplemented

    def check_state(self) -> None:
        """Raise an error if the stored attributes make no sense."""
        for one in (self.value, self.low, self.high):
            number(one, 0.0)


def is_comparable(other: object) -> bool:
    """Whether estimates are smaller or larger than it."""
    return isinstance(other, (Estimate, Real))


def expected_scores(
    probabilities: NDArray[np.float64],
    codes: NDArray,
    weight: NDArray[np.float64] | None = None,
    groups: NDArray[np.intp] | None = None,
    n_learned: float = 0.0,
) -> dict[str, Estimate]:
    r"""Error and log-loss that new data should bring, from forecasts that do not know the labels.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Forecast of each training row, made without its label.
    codes : ndarray of shape (n,)
        Index of the class of each row.
    weight : ndarray of shape (n,), optional
        How many copies each row counts for.
    groups : ndarray of int, shape (n,), optional
        Which rows belong together, 0, 1, 2 ...: the groups are independent, their rows are not.
    n_learned : float, default=0.0
        Numbers, such as a temperature, that the forecasts have from all labels. Each makes the mean
        loss too small by 1 / n (H. Akaike, 1973).

    Returns
    -------
    dict of str to Estimate
        ``"error"``, with the exact (Clopper-Pearson) interval of as many independent rows as say
        as much, and ``"log_loss"``. The mean of few losses is skewed: its interval begins where
        Student's does, and ends where that of its logarithm does. It begins lower if losses are
        larger than the forecasts themselves make one expect, since left-out forecasts of few rows
        without a pattern are worse than those of new rows: each leans towards the labels of the
        others. Of this difference, as of a temperature, only n / (n + 50) is believed. Few
        surprising rows decide on a log-loss, and there may be none among the training rows. So its
        variance is the larger of what was seen and what was to be expected. Of groups, both
        variances are multiplied by how much more the sums of groups vary than they would if rows
        were independent (E. L. Korn and B. I. Graubard, 1998).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.classifier.calibration import expected_scores
    >>> forecast = np.tile([[0.2, 0.8]], (100, 1))
    >>> scores = expected_scores(forecast, np.repeat([0, 1], [20, 80]))
    >>> print(scores["error"], "|", scores["log_loss"])
    0.200 (0.106 to 0.326) | 0.500 (0.357 to 0.666)
    """
    copies = beside(probabilities, np.ones(len(codes))) if weight is None else weight
    copies = copies / copies.max()  # squares of tiny weights are 0
    parts = [(probabilities, codes, copies)]
    if groups is None:
        return expected_scores_of_parts(parts, n_learned)
    losses = log_losses(probabilities)[np.arange(len(codes)), codes]
    known = (probabilities.argmax(1) != codes, losses)
    return expected_scores_of_parts(parts, n_learned, [spreading(v, copies, groups) for v in known])


def spreading(
    values: NDArray, copies: NDArray[np.float64], groups: NDArray[np.intp]
) -> tuple[float, float]:
    """How many groups there are, and how much more means vary than those of independent rows.

    Groups of equal weight are counted. Where no value differs, rows of a group count as one.
    """
    size = np.bincount(groups, copies)
    n_groups = float(size.sum() ** 2 / np.square(size).sum())
    away = copies * (values - np.average(values, weights=copies))
    alone = away @ away
    if alone == 0:
        return n_groups, float(copies.sum() ** 2 / (copies @ copies) / n_groups)
    return n_groups, max(1.0, float(np.square(np.bincount(groups, away)).sum() / alone))


def label_scores(
    probabilities: Array, codes: Array, groups: NDArray[np.intp] | None = None
) -> NDArray[np.float32]:
    """Left-out probabilities of the labels, and their codes, of some training rows, (n, 2).

    Sets of labels compare new rows with them. A model file stores them: 16 kB at most. Of a
    group they are those of one random row: new rows come from other groups.
    """
    if groups is not None:
        one = one_of_each(groups, np.random.default_rng(0))
        probabilities, codes = probabilities[one], codes[one]
    some = slice(None, None, max(1, -(-len(codes) // MOST_SCORES)))
    p, kept = to_host(probabilities[some]), to_host(codes[some])
    return np.column_stack([p[np.arange(len(kept)), kept], kept]).astype(np.float32)


def expected_scores_of_parts(
    parts: Iterable[Part], n_learned: float = 0.0, groups: Sequence[tuple[float, float]] = ()
) -> dict[str, Estimate]:
    """The same from forecasts, codes and copies of some rows at a time.

    They are arrays, or tensors on a device. ``groups`` is the :func:`spreading` of errors and of
    losses.
    """
    sums: Any = 0.0
    for p, codes, copies in parts:
        xp, losses = namespace(p), log_losses(p)
        ones, seen = 0 * copies + 1, losses[xp.arange(len(codes), device=codes.device), codes]
        wrong = ones * (p.argmax(1) != codes)
        mean, square = (p * losses).sum(1), (p * losses**2).sum(1)  # if labels came from p
        sums = sums + copies @ xp.column_stack((ones, copies, wrong, seen, seen**2, mean, square))
    total, squares, *means = sums.tolist()
    wrong, seen, seen_square, mean, square = np.divide(means, total).tolist()
    n = total**2 / squares  # points of equal weight that say as much
    variance = max(seen_square - seen**2, square - mean**2, 0.0)
    (units, of_errors), (_, of_losses) = groups or [(n, 1.0)] * 2
    widths = DEPENDENCE * stdtrit(max(units - 1, 1.0), HIGH)  # Student's quantile
    known = n / of_errors * (ndtri(HIGH) / widths) ** 2  # independent points that say as much
    half = widths * np.sqrt(variance * of_losses / n)
    excess = max(seen - mean, 0.0) * (1 - trusted(units))
    return {
        "error": error_estimate(float(known), wrong),
        "log_loss": loss_estimate(seen, float(half), n_learned / units, float(excess)),
    }


def one_of_each(groups: NDArray, rng: Any) -> NDArray[np.intp]:
    """Positions of one random row of each group, in their order."""
    order = rng.permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


def log_losses(p: Array) -> Array:
    """-log p, which is finite."""
    return -namespace(p).log(p.clip(TINY))


def error_estimate(n: float, wrong: float) -> Estimate:
    """The share of errors among n independent rows, with its exact interval."""
    k = wrong * n
    low = float(betaincinv(k, n - k + 1, 1 - HIGH)) if k > NONE else 0.0
    high = float(betaincinv(k + 1, n - k, HIGH)) if n - k > NONE else 1.0
    return Estimate(wrong, low, high)


def loss_estimate(seen: float, half: float, optimism: float, excess: float = 0.0) -> Estimate:
    """A mean loss, ``optimism`` more than was seen, with its interval.

    It begins ``half + excess`` below what was seen. The other end is that of the logarithm, loss
    exp(half / loss); where this factor would exceed e, it is in proportion to ``half``.
    """
    loss = seen + optimism
    ratio = min(half / max(loss, TINY), 1.0)
    stretch = np.expm1(ratio) / ratio if ratio > 0 else 1.0
    return Estimate(loss, max(0.0, seen - half - excess), float(loss + half * stretch))
