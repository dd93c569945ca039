"""Comparison of error rates with printed ones."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from bayespoint.reports.answers import Interval, score_interval
from papers.base import Column, Row

WIDTH = 2.0  # standard errors that are put down to chance
PRINTED_AND_MEASURED = (Column("printed"), Column("measured"), Column("interval"))


def two_errors_around(rate: float, n: int) -> Interval:
    """Rates that are at most two standard errors from the measured one.

    >>> low, high = two_errors_around(0.0146, 10_000)
    >>> f"{low:.4f} to {high:.4f}"
    '0.0124 to 0.0172'
    """
    return score_interval(rate, n, WIDTH)


def standard_error(values: NDArray) -> float:
    """Standard error of the mean of independent values; 0 for a single one."""
    n = len(values)
    return float(values.std(ddof=1)) / sqrt(n) if n > 1 else 0.0


def mean_row(name: str, samples: NDArray[np.float64], words: str) -> Row:
    """Means over the first axis of independent values, with their standard errors."""
    errors = [standard_error(column) for column in samples.T]
    return Row(name, samples.mean(axis=0).tolist(), words, errors)


def compare(rate: float, printed: float, n: int) -> str:
    """Compare an error rate on n points with a printed one, as text.

    >>> compare(0.0149, 0.0146, 10_000)
    'agrees within two standard errors'
    >>> compare(0.0123, 0.0150, 10_000)
    'better, by 2.2 standard errors'
    """
    return verdict(rate - printed, sqrt(printed * (1 - printed) / n))


def verdict(difference: float, error: float) -> str:
    """Distance of two error rates in standard errors of the difference, as text."""
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
