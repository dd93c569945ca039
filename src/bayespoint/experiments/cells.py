"""Tables as people read them, on a page or on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from bayespoint.reports.html import NOTHING

VERDICT = "verdict"


def table_title(content: Mapping[str, Any]) -> str:
    """The title of a table, with its unit if it has one."""
    unit = content.get("unit")
    return f"{content['title']}, in {unit}" if unit else content["title"]


def table_heads(content: Mapping[str, Any]) -> list[str]:
    """Heads of all columns: what a row is about comes first, the verdict last.

    >>> table_heads({"columns": [{"name": "error %", "digits": 2}], "rows": []})
    ['', 'error %', 'verdict']
    """
    if "columns" in content:
        return ["", *(column["name"] for column in content["columns"]), VERDICT]
    return ["", "printed", "measured", "interval", VERDICT]


def table_rows(content: Mapping[str, Any]) -> list[list[str]]:
    """All cells below the heads."""
    if "columns" in content:
        digits = [column["digits"] for column in content["columns"]]
        return [entry_cells(row, digits) for row in content["rows"]]
    return [row_cells(row, content["digits"]) for row in content["rows"]]


def entry_cells(entry: Mapping[str, Any], digits: Sequence[int]) -> list[str]:
    """Name, values and verdict of a line of a comparison as words.

    >>> entry = {"name": "ours", "values": [1.257, None], "verdict": "best"}
    >>> entry_cells(entry, [2, 0])
    ['ours', '1.26', '–', 'best']
    >>> entry_cells({**entry, "standard_errors": [0.1]}, [2, 0])
    ['ours', '1.26 ± 0.10', '–', 'best']
    """
    errors = entry.get("standard_errors", ())  # documents of earlier versions have none
    cells = zip_longest(entry["values"], digits, errors)
    return [entry["name"], *(value_cell(*cell) for cell in cells), entry["verdict"]]


def value_cell(value: float | None, digits: int, standard_error: float | None) -> str:
    """A value, with its standard error where it has one."""
    spread = "" if value is None or standard_error is None else f" ± {standard_error:.{digits}f}"
    return number(value, digits) + spread


def row_cells(row: Mapping[str, Any], digits: int) -> list[str]:
    """Quantity, printed value, measured value, interval and verdict as words."""
    printed, measured = number(row["printed"], digits), number(row["measured"], digits)
    ends = (
        NOTHING if row["interval"] is None else "–".join(number(x, digits) for x in row["interval"])
    )
    return [row["quantity"], printed, measured, ends, row["verdict"]]


def number(value: float | None, digits: int) -> str:
    """A number with so many digits after the decimal point, or a dash."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def verdict_word(verdict: str) -> str:
    """The first word of a verdict, which decides its colour: agrees, better, worse.

    >>> verdict_word("worse, by 2.5 standard errors")
    'worse'
    """
    return verdict.replace(",", " ").split(" ")[0]
