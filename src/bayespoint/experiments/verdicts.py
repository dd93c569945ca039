"""Error rates beside printed ones: how far apart is far."""

from __future__ import annotations

from math import sqrt

from bayespoint.experiments.base import Row

WIDTH = 2.0  # standard errors that are put down to chance


def score_interval(rate: float, n: int) -> tuple[float, float]:
    r"""Rates p from which the measured one is at most two standard errors away.

    Wilson's interval: the solutions of
    :math:`|\hat p - p| \le 2 \sqrt{p (1 - p) / n}`. The standard error is that of the candidate
    p, so that the interval is sound even where no error at all was counted.

    >>> low, high = score_interval(0.0146, 10_000)
    >>> f"{low:.4f} to {high:.4f}"
    '0.0124 to 0.0172'
    """
    shrink = 1 + WIDTH**2 / n
    centre = (rate + WIDTH**2 / (2 * n)) / shrink
    half = WIDTH * sqrt(rate * (1 - rate) / n + WIDTH**2 / (4 * n**2)) / shrink
    return max(0.0, centre - half), min(1.0, centre + half)


def compare(rate: float, printed: float, n: int) -> str:
    """Say in words how an error rate on n points compares to a printed one.

    >>> compare(0.0149, 0.0146, 10_000)
    'agrees within two standard errors'
    >>> compare(0.0123, 0.0150, 10_000)
    'better, by 2.2 standard errors'
    """
    low, high = score_interval(rate, n)
    if low <= printed <= high:
        return "agrees within two standard errors"
    word = "better" if rate < printed else "worse"
    standard_error = sqrt(printed * (1 - printed) / n)
    if standard_error == 0:
        return word
    return f"{word}, by {abs(rate - printed) / standard_error:.1f} standard errors"


def error_row(
    quantity: str, rate: float, n: int, printed: float | None = None, verdict: str = ""
) -> Row:
    """A row in per cent for an error rate on n points; ``printed`` is in per cent already.

    ``verdict`` is what to say where there is no printed value.
    """
    low, high = score_interval(rate, n)
    if printed is not None:
        verdict = compare(rate, printed / 100, n)
    return Row(quantity, 100 * rate, printed, (100 * low, 100 * high), verdict)
