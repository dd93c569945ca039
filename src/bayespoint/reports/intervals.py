"""Confidence intervals."""

from __future__ import annotations

from math import sqrt

from numpy.typing import NDArray

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
