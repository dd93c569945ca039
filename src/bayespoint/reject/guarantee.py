"""Guaranteed error on the accepted rows: exact binomial bounds, tested in a fixed sequence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from bayespoint.tools.attributes import integer, need, number
from bayespoint.tools.numbers import EPSILON

# The first test accepts this share of the calibration points. With fewer points a single error
# ends the walk: simulated with 3 000 points, a risk of 1 % and a true error of 0.2 % among the most
# certain, a start at the smallest number of points, 299, gave no threshold in 45 % of the runs and
# a mean coverage of 0.37; this start gave 0.83.
START = 0.3
ROUNDING = 8 * EPSILON  # of a rate such as 1 - 0.9, and of a bound that should equal the risk


def error_bound(
    n_errors: ArrayLike, n_points: ArrayLike, confidence_level: float = 0.95
) -> NDArray[np.float64]:
    r"""Compute the exact upper bound of an error rate (Clopper and Pearson).

    With k errors among n independent rows, the bound is the largest error rate u for which k or
    fewer errors are not less probable than :math:`\delta = 1 - ` `confidence_level`:

    .. math:: \sum_{i=0}^{k} \binom{n}{i} u^i (1 - u)^{n - i} = \delta

    It is below the true error rate with a probability of at most :math:`\delta`.

    Parameters
    ----------
    n_errors : array-like of int
        Numbers of errors k.
    n_points : array-like of int
        Numbers of rows n, at least 1.
    confidence_level : float in (0, 1), default=0.95
        Probability that the bound holds, at least.

    Returns
    -------
    ndarray
        The bounds; 1 where all rows are errors.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in
       the case of the binomial", Biometrika 26(4), 1934.

    Examples
    --------
    >>> from bayespoint.reject import error_bound
    >>> f"{error_bound(32, 9600):.3%}"  # MNIST, 4 % rejected
    '0.447%'
    >>> error_bound([0, 1, 2], [299, 473, 628]).round(4)  # a bound of 1 %
    array([0.01, 0.01, 0.01])
    """
    errors, points = np.asarray(n_errors), np.asarray(n_points)
    if not ((errors >= 0) & (errors <= points) & (points >= 1)).all():
        raise ValueError(
            "n_points must be at least 1 and n_errors from 0 to n_points. Got "
            f"n_errors={n_errors!r} and n_points={n_points!r} instead."
        )
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must lie in (0, 1). Got {confidence_level!r} instead.")
    # The quantile of a beta distribution, whose second parameter must be positive.
    bound = betaincinv(errors + 1.0, np.maximum(points - errors, 1.0), confidence_level)
    return np.where(errors == points, 1.0, bound)


def points_needed(risk: float, confidence_level: float, error_rate: float = 0.0) -> int | None:
    """The number of rows whose bound is at most `risk` if this fraction of them are errors.

    None if no number is sufficient. Without errors it is log(1 - confidence_level) / log(1 - risk),
    rounded up.
    """
    if error_rate >= risk:
        return None

    def passes(n: int) -> bool:
        errors = math.ceil(error_rate * n)
        return bool(error_bound(errors, n, confidence_level) <= risk + ROUNDING)

    high = 1
    while not passes(high):
        high *= 2
    low = high // 2  # does not pass, and neither do most numbers below it
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def first_test(n_points: int, risk: float, confidence_level: float) -> int:
    """Number of accepted rows in the first test, fixed before any label is seen."""
    fewest = points_needed(risk, confidence_level)
    assert fewest is not None  # an error rate of 0 is below every risk
    return max(fewest, math.ceil(START * n_points))


def promised_errors(
    accepted: NDArray, errors: NDArray, start: int, confidence_level: float
) -> NDArray[np.float64]:
    """The smallest risk that the fixed sequence guarantees at each threshold.

    A threshold is reached if it and all stricter ones pass, from the first that accepts `start`
    rows. So it is the largest of their bounds; infinite where fewer rows are accepted.
    `accepted` and `errors` are numbers of rows, from the lowest threshold to the strictest.
    """
    bounds = np.where(accepted >= start, error_bound(errors, accepted, confidence_level), -np.inf)
    promised = np.maximum.accumulate(bounds[::-1])[::-1]
    return np.where(accepted >= start, promised, np.inf)


@dataclass(frozen=True)
class Guarantee:
    r"""The error on the accepted rows is at most `risk`, with probability `confidence_level`.

    The probability is over the calibration rows, which must be drawn as the new rows are
    (independent, or exchangeable) and must not have been used to fit the classifier. For
    cross-validated outputs this is not the case, and the numbers are an estimate.

    Attributes
    ----------
    risk : float
        The guaranteed error on the accepted rows.
    confidence_level : float
        Probability of calibration rows for which the guarantee holds.
    n_points : int
        Number of calibration rows.
    n_accepted : int
        How many of them are accepted.
    n_errors : int
        How many of the accepted ones are errors.
    held_out : bool
        Whether the calibration rows were not used for the fit. If not, it is an estimate.

    Examples
    --------
    >>> from bayespoint.reject import Guarantee
    >>> guarantee = Guarantee(0.005, 0.95, n_points=10_000, n_accepted=9_600, n_errors=32)
    >>> f"bound {guarantee.bound:.3%}, coverage {guarantee.coverage:.0%}"
    'bound 0.447%, coverage 96%'
    >>> print(guarantee.summary)
    error on the accepted rows at most 0.5 % with confidence 95 %
    """

    risk: float
    confidence_level: float
    n_points: int
    n_accepted: int
    n_errors: int
    held_out: bool = True

    @property
    def bound(self) -> float:
        """Exact upper bound of the error at the threshold, at most `risk`."""
        return float(error_bound(self.n_errors, self.n_accepted, self.confidence_level))

    @property
    def coverage(self) -> float:
        """Fraction of the calibration rows that are accepted."""
        return self.n_accepted / self.n_points

    @property
    def kind(self) -> str:
        """Whether it is a guarantee or an estimate."""
        return "guarantee" if self.held_out else "estimate"

    @property
    def summary(self) -> str:
        """What is guaranteed, or estimated."""
        estimated = "" if self.held_out else "estimated, not guaranteed: "
        return (
            f"{estimated}error on the accepted rows at most {100 * self.risk:.4g} % with "
            f"confidence {100 * self.confidence_level:.4g} %"
        )

    @property
    def details(self) -> str:
        """The counts that it rests on."""
        errors = f"{self.n_errors} error{'' if self.n_errors == 1 else 's'}"
        return (
            f"{self.n_accepted} of {self.n_points} calibration rows accepted, with {errors}: "
            f"exact bound {100 * self.bound:.3g} %"
        )

    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""
        return {**vars(self), "bound": self.bound, "coverage": self.coverage, "kind": self.kind}

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        number(self.risk, 0.0, 1.0)
        number(self.confidence_level, 0.0, 1.0)
        integer(self.n_errors, 0)
        integer(self.n_accepted, max(1, self.n_errors))
        integer(self.n_points, self.n_accepted)
        need(type(self.held_out) is bool, "held_out is not a bool")
