"""Rows of a table as people read them, on a page or on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTHING = "–"


def row_cells(row: Mapping[str, Any], digits: int) -> list[str]:
    """Quantity, printed value, measured value, interval and verdict as words."""

    def number(value: float | None) -> str:
        return NOTHING if value is None else f"{value:.{digits}f}"

    interval = row["interval"]
    words = NOTHING if interval is None else f"{number(interval[0])}–{number(interval[1])}"
    return [row["quantity"], number(row["printed"]), number(row["measured"]), words, row["verdict"]]


def verdict_word(verdict: str) -> str:
    """The first word of a verdict, which decides its colour: agrees, better, worse.

    >>> verdict_word("worse, by 2.5 standard errors")
    'worse'
    """
    return verdict.replace(",", " ").split(" ")[0]
