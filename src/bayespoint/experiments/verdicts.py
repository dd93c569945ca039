"""Error rates beside printed ones: how far apart is far."""

from __future__ import annotations

from math import sqrt

from numpy.typing import NDArray

from bayespoint.experiments.base import Column, Row
from bayespoint.reports.intervals import Interval, score_interval

WIDTH = 2.0  # standard errors that are put down to chance
PRINTED_AND_MEASURED = (Column("printed"), Column("measured"), Column("interval"))


def two_errors_around(rate: float, n: int) -> Interval:
    """Rates from which the measured one is at most two standard errors away.

    >>> low, high = two_errors_around(0.0146, 10_000)
    >>> f"{low:.4f} to {high:.4f}"
    '0.0124 to 0.0172'
    """
    return score_interval(rate, n, WIDTH)


def standard_error(values: NDArray) -> float:
    """Of the mean of independent values; 0 where there is only one."""
    n = len(values)
    return float(values.std(ddof=1)) / sqrt(n) if n > 1 else 0.0


def compare(rate: float, printed: float, n: int) -> str:
    """Say in words how an error rate on n points compares to a printed one.

    >>> compare(0.0149, 0.0146, 10_000)
    'agrees within two standard errors'
    >>> compare(0.0123, 0.0150, 10_000)
    'better, by 2.2 standard errors'
    """
    return verdict(rate - printed, sqrt(printed * (1 - printed) / n))


def verdict(difference: float, error: float) -> str:
    """Say in words how far two error rates are apart, by the standard error of the difference."""
    if abs(difference) <= WIDTH * error:
        return "agrees within two standard errors"
    word = "better" if difference < 0 else "worse"
    return f"{word}, by {abs(difference) / error:.1f} standard errors" if error else word


def error_row(
    quantity: str, rate: float, n: int, printed: float | None = None, words: str = ""
) -> Row:
    """A row of PRINTED_AND_MEASURED, in per cent, for an error rate on n points.

    ``printed`` is in per cent already.

    ``words`` is the verdict where there is no printed value.
    """
    low, high = two_errors_around(rate, n)
    if printed is not None:
        words = compare(rate, printed / 100, n)
    return Row(quantity, (printed, 100 * rate, (100 * low, 100 * high)), words)
