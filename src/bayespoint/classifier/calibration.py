"""What leave-one-out predictions teach: a temperature, weights of a mixture, expected scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.special import betaincinv, log_softmax, ndtri

from bayespoint.codings import Coding
from bayespoint.engines.gaussian.blocks.rows import LeftOut
from bayespoint.tools.arrays import Array, beside, namespace, to_host
from bayespoint.tools.numbers import TINY

WIDEST = 2.0  # bound on |log T|
LOG_TEMPERATURES = np.linspace(-WIDEST, WIDEST, 21)  # between which losses are smooth
# Leave-one-out is optimistic where points are few: log T is worth n / (n + CAUTION) of itself.
CAUTION = 50.0
MOST_TEMPERATURE_POINTS = 20_000  # points to learn a temperature from
# Forecasts of training points share most of the points that they were learned from. So the mean of
# their losses varies more than that of independent losses: 1.2 to 1.3 times as much on 88 splits of
# the tables that defaults are tuned on.
DEPENDENCE = 1.3
KEPT = 2000  # points of which a model keeps left-out probabilities
NONE = 1e-9  # errors, of points of little weight
CHUNK = 65_536  # rows of which probabilities are computed at a time
N_STEPS = 200  # of expectation maximisation, after which weights change in the third digit at most

Part = tuple[Any, Any, Any]  # forecasts, codes and copies of some points


def best_temperature(
    scores: NDArray,
    codes: NDArray,
    weight: NDArray[np.float64] | None = None,
    n_points: float | None = None,
    caution: float = CAUTION,
) -> float:
    r"""The temperature T that makes softmax(scores / T) the best forecast of the classes.

    It minimises the log-loss of scores that do not know the label of their point. Its logarithm is
    multiplied by n / (n + caution), since such scores are optimistic where points are few.

    Parameters
    ----------
    scores : ndarray of shape (n, n_classes)
        Scores of each point, for example its log-odds given all other labels.
    codes : ndarray of shape (n,)
        Index of the class of each point.
    weight : ndarray of shape (n,), optional
        How many copies each point counts for.
    n_points : float, optional
        How many points there are, if only some of them are given.
    caution : float, default=50
        For how many points the logarithm is halved.

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
    n, loss = loss_by_temperature(scores, codes, weight)
    return temperature_of_least(loss, n if n_points is None else n_points, caution)


def loss_by_temperature(
    scores: NDArray, codes: NDArray, weight: NDArray[np.float64] | None
) -> tuple[float, Callable[[float], float]]:
    """How many copies of points there are, and their log-loss as a function of log T."""
    copies = np.ones(len(codes)) if weight is None else weight
    n = float(copies.sum())
    some = slice(None, None, -(-len(codes) // MOST_TEMPERATURE_POINTS))
    scores, codes, copies = scores[some], codes[some], copies[some]
    rows, scale = np.arange(len(codes)), n / copies.sum()

    def loss(log_temperature: float) -> float:
        log_p = log_softmax(scores * np.exp(-log_temperature), axis=1)[rows, codes]
        return -scale * (copies @ log_p)

    return n, loss


def temperature_of_least(
    loss: Callable[[float], float], n: float, caution: float = CAUTION
) -> float:
    """The temperature of the least loss of n points, nearer to 1 for few."""
    found = minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x
    return float(np.exp(found * n / (n + caution)))


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
        The number of points, and their log-loss at 21 temperatures.

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


def mixture_weights(
    log_probability: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    prior: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    r"""Weights :math:`v` that maximise :math:`\sum_i \log \sum_k v_k p_k(y_i | \text{others})`.

    The stacking of Yao, Vehtari, Simpson and Gelman (2018): a convex problem, solved by
    expectation maximisation.

    Parameters
    ----------
    log_probability : ndarray of shape (n_members, n)
        log p_k(label of point i | all other labels) of each member.
    weight : ndarray of shape (n,), optional
        How many copies each point counts for.
    prior : ndarray of shape (n_members,), optional
        Points that each member is given before any is seen; none by default.

    Returns
    -------
    ndarray of shape (n_members,)
        Weights, of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.classifier.calibration import mixture_weights
    >>> mixture_weights(np.log([[0.9, 0.9, 0.1], [0.5, 0.5, 0.5]])).round(3)
    array([0.417, 0.583])
    """
    chance = np.exp(log_probability - log_probability.max(axis=0))
    copies = np.ones(chance.shape[1]) if weight is None else weight
    given = np.zeros(len(chance)) if prior is None else prior
    v = np.full(len(chance), 1 / len(chance))
    for _ in range(N_STEPS):
        share = v[:, None] * chance
        share /= share.sum(axis=0)
        v = (share @ copies + given) / (copies.sum() + given.sum())
    return v


def plausibility(
    log_probability: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""How plausible it is that each member is as good as the best one, of sum 1.

    :math:`\exp(-t^2 / 2)`, where t is the mean difference of their log probabilities over its
    standard error.

    Parameters
    ----------
    log_probability, weight
        As in :func:`mixture_weights`.

    Returns
    -------
    ndarray of shape (n_members,)
        Numbers of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.classifier.calibration import plausibility
    >>> plausibility(np.log([[0.9, 0.8, 0.7], [0.8, 0.9, 0.6], [0.2, 0.1, 0.1]])).round(2)
    array([0.57, 0.43, 0.  ])
    """
    copies = np.ones(log_probability.shape[1]) if weight is None else weight
    share = copies / copies.sum()
    behind = log_probability[np.argmax(log_probability @ share)] - log_probability
    mean = behind @ share
    variance = (behind - mean[:, None]) ** 2 @ share / copies.sum()
    chance = np.exp(-0.5 * mean**2 / np.maximum(variance, TINY))
    return chance / chance.sum()


class Estimate(NamedTuple):
    """A number that is to be expected on new data, and its 95 % interval.

    It can be used like the number: compared with others, converted and formatted.

    Examples
    --------
    >>> from bayespoint.classifier.calibration import Estimate
    >>> error = Estimate(0.087, 0.057, 0.124)
    >>> float(error), error < 0.1, f"{error:.1%}", f"{error}"
    (0.087, True, '8.7% (5.7% to 12.4%)', '0.087 (0.057 to 0.124)')
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self:.3g}"

    def __format__(self, form: str) -> str:
        value, low, high = (format(number, form or ".3g") for number in self)
        return f"{value} ({low} to {high})"

    def __float__(self) -> float:
        return self.value

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other)


def expected_scores(
    probabilities: NDArray[np.float64], codes: NDArray, weight: NDArray[np.float64] | None = None
) -> dict[str, Estimate]:
    """Error and log-loss that new data should bring, from forecasts that do not know the labels.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Forecast of each training point, made without its label.
    codes : ndarray of shape (n,)
        Index of the class of each point.
    weight : ndarray of shape (n,), optional
        How many copies each point counts for.

    Returns
    -------
    dict of str to Estimate
        ``"error"``, with the exact (Clopper-Pearson) interval, and ``"log_loss"``, with that of a
        normal distribution. Few surprising points decide on a log-loss, and there may be none among
        the training points. So its variance is the larger of what was seen and what the forecasts
        themselves make one expect.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.classifier.calibration import expected_scores
    >>> forecast = np.tile([[0.2, 0.8]], (100, 1))
    >>> scores = expected_scores(forecast, np.repeat([0, 1], [20, 80]))
    >>> print(scores["error"], "|", scores["log_loss"])
    0.2 (0.127 to 0.292) | 0.5 (0.359 to 0.642)
    """
    copies = beside(probabilities, np.ones(len(codes))) if weight is None else weight
    copies = copies / copies.max()  # squares of tiny weights are 0
    return expected_scores_of_parts([(probabilities, codes, copies)])


def label_scores(probabilities: Array, codes: Array) -> NDArray[np.float32]:
    """Left-out probabilities of the labels, and their codes, of some training points, (n, 2).

    Sets of labels compare new points with them. A model file stores them: 16 kB at most.
    """
    some = slice(None, None, max(1, -(-len(codes) // KEPT)))
    p, kept = to_host(probabilities[some]), to_host(codes[some])
    return np.column_stack([p[np.arange(len(kept)), kept], kept]).astype(np.float32)


def expected_scores_of_parts(parts: Iterable[Part]) -> dict[str, Estimate]:
    """The same from forecasts, codes and copies of some points at a time.

    They are arrays, or tensors on a device.
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
    spread = np.sqrt(max(seen_square - seen**2, square - mean**2, 0.0) / n)
    return estimates(n, wrong, seen, float(spread))


def log_losses(p: Array) -> Array:
    """-log p, which is finite."""
    return -namespace(p).log(p.clip(TINY))


def estimates(n: float, wrong: float, loss: float, spread: float) -> dict[str, Estimate]:
    """Error and log-loss with their intervals.

    ``n`` is a number of points, ``wrong`` the share of errors, ``loss`` a mean and ``spread`` its
    standard error if points were independent.
    """
    half = float(ndtri(0.975) * DEPENDENCE * spread)
    k = wrong * n
    low = float(betaincinv(k, n - k + 1, 0.025)) if k > NONE else 0.0
    high = float(betaincinv(k + 1, n - k, 0.975)) if n - k > NONE else 1.0
    return {
        "error": Estimate(wrong, low, high),
        "log_loss": Estimate(loss, max(0.0, loss - half), loss + half),
    }


def temperature_of(left_out: Sequence[LeftOut], coding: Coding, thinned: int = 1) -> float:
    """The temperature of the best left-out predictions, from as many rows as in memory.

    Only every ``thinned``-th row is given.
    """
    n = sum(len(one.codes) for one in left_out)
    step, before, some = -(-n // MOST_TEMPERATURE_POINTS), 0, []
    for one in left_out:  # every step-th row of all, whatever the blocks
        own = slice(-before % step, None, step)
        some.append(LeftOut(one.log_probability[own], one.codes[own], one.weight[own]))
        before += len(one.codes)
    log_probability, codes, weight = (np.concatenate(parts) for parts in zip(*some, strict=True))
    log_odds = coding.log_odds(*coding.left_out(log_probability, codes))
    copies = thinned * float(sum(one.weight.sum() for one in left_out))
    return best_temperature(log_odds, codes, weight, copies)


def expected(left_out: Sequence[LeftOut], coding: Coding) -> dict[str, Estimate]:
    """Error and log-loss that new data should bring."""
    heaviest = max(one.weight.max(initial=0.0) for one in left_out)
    return expected_scores_of_parts(chunks(left_out, coding, heaviest))


def some_label_scores(left_out: Sequence[LeftOut], coding: Coding) -> NDArray[np.float32]:
    """The :func:`label_scores` of some rows of all blocks."""
    n = sum(len(one.codes) for one in left_out)
    parts = []
    for one in left_out:
        codes = one.codes[:: -(-n // KEPT)].astype(np.intp)
        answers = coding.left_out(one.log_probability[:: -(-n // KEPT)], codes)
        parts.append(label_scores(coding.probabilities(*answers), codes))
    return np.concatenate(parts)


def chunks(
    left_out: Sequence[LeftOut], coding: Coding, heaviest: float
) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """Left-out probabilities of the classes, codes and copies, some rows at a time."""
    for one in left_out:
        for begin in range(0, len(one.codes), CHUNK):
            own = slice(begin, begin + CHUNK)
            codes = one.codes[own].astype(np.intp)
            answers = coding.left_out(one.log_probability[own], codes)
            yield coding.probabilities(*answers), codes, one.weight[own] / heaviest
