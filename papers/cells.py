"""Cells of the tables of results.json as text, for a page or a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from bayespoint.reports.html import NOTHING


def table_heads(table: Mapping[str, Any]) -> list[str]:
    """Heads of all columns: the name of the row first, the verdict last.

    Columns without any number, such as printed values that are of other data, are left out.

    >>> columns = [{"name": "printed", "digits": 2}, {"name": "error %", "digits": 2}]
    >>> rows = [{"name": "ours", "values": [None, 1.5]}]
    >>> table_heads({"columns": columns, "rows": rows})
    ['', 'error %', 'verdict']
    """
    return ["", *(table["columns"][k]["name"] for k in filled(table)), "verdict"]


def table_rows(table: Mapping[str, Any]) -> list[list[str]]:
    """All cells below the heads.

    >>> columns = [{"name": "measured", "digits": 2}, {"name": "interval", "digits": 1}]
    >>> row = {"name": "ours", "values": [1.257, [1, 2]], "verdict": "best"}
    >>> table_rows({"columns": columns, "rows": [{**row, "standard_errors": [0.1]}]})
    [['ours', '1.26 ± 0.10', '1.0–2.0', 'best']]
    """
    digits = [column["digits"] for column in table["columns"]]
    kept = filled(table)
    lines = []
    for row in table["rows"]:
        cells = list(zip_longest(row["values"], digits, row["standard_errors"]))
        lines.append([row["name"], *(cell(*cells[k]) for k in kept), row["verdict"]])
    return lines


def filled(table: Mapping[str, Any]) -> list[int]:
    """Places of the columns that hold something."""
    rows = table["rows"]
    return [
        k
        for k in range(len(table["columns"]))
        if not rows or any(row["values"][k] is not None for row in rows)
    ]


def cell(value: float | Sequence[float] | None, digits: int, error: float | None) -> str:
    """A number, with its standard error if it has one; an interval; or a dash."""
    if value is None:
        return NOTHING
    if isinstance(value, Sequence):
        return "–".join(f"{end:.{digits}f}" for end in value)
    return f"{value:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def verdict_word(verdict: str) -> str:
    """The first word of a verdict, which determines its colour: agrees, better, worse.

    >>> verdict_word("worse, by 2.5 standard errors")
    'worse'
    """
    return verdict.replace(",", " ").split(" ")[0]
