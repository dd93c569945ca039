"""Numbers as text."""

from __future__ import annotations

from bayespoint.reports.html import NOTHING
from bayespoint.reports.intervals import Interval


def number(value: float | None) -> str:
    """A number with three digits after the point, or a dash."""
    return NOTHING if value is None else f"{value:.3f}"


def amount(weight: float) -> str:
    """Points, or their weight."""
    return f"{weight:.10g}"


def ends(interval: Interval | None) -> str:
    """An interval, or a dash."""
    return NOTHING if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}"


def percent(share: float, digits: int = 2) -> str:
    """A share in per cent."""
    return f"{100 * share:.{digits}f}\u00a0%"


def in_percent(interval: Interval | None) -> str:
    """An interval of shares in per cent."""
    return (
        NOTHING if interval is None else f"{100 * interval[0]:.2f}–{100 * interval[1]:.2f}\u00a0%"
    )
