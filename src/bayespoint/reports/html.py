"""Elements of a page: one HTML file without scripts, which needs no network.

All text is escaped here, and nowhere else; functions return HTML.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from bayespoint.tools.validation import is_missing

NOTHING = "–"  # stands where there is no number
N_LETTERS = 40  # of a value, that a table shows


def text(words: Any) -> str:
    """Text, escaped for HTML and its attributes.

    >>> text("a < b")
    'a &lt; b'
    """
    return escape(str(words))


def short(value: Any) -> str:
    """A value as short text."""
    if is_missing(value):
        return "missing"
    words = f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
    return words if len(words) <= N_LETTERS else f"{words[: N_LETTERS - 1]}…"


def quiet(words: str) -> str:
    """A paragraph of remarks, from their text."""
    return f'<p class="quiet">{text(words)}</p>'


def page(title: str, header: str, main: str) -> str:
    """A page, from the text of its title and HTML for the rest."""
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{text(title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
{header}
</header>
<main>
{main}
</main>
</body>
</html>
"""


def definitions(pairs: Mapping[str, Any]) -> str:
    """Names and what they stand for."""
    items = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(words)}</dd></div>" for name, words in pairs.items()
    )
    return f"<dl>{items}</dl>" if items else ""


class Cell(NamedTuple):
    """A cell of a table that is more than a number: CSS classes, and a shade from 0 to 1."""

    words: Any
    kind: str = ""
    shade: float | None = None


def table(
    heads: Sequence[Any], rows: Iterable[Sequence[Any]], *, kind: str = "", label: str = ""
) -> str:
    """A table with heads above and, as the first cell of each row, at the side.

    Heads and cells are words or :class:`Cell`. Wide tables scroll within themselves.
    ``kind="stacked"``: on a narrow screen the last column, of kind "words", goes below its row; an
    interval stands before it.
    ``label`` names the table for those who cannot see it.
    """
    head = "".join(cell(content, 'th scope="col"') for content in heads)
    body = "".join(
        f"""<tr>{cell(first, 'th scope="row"')}{"".join(cell(one, "td") for one in others)}</tr>"""
        for first, *others in rows
    )
    numbers = max(len(heads) - 3, 1)  # columns between the first, and the interval and the words
    return (
        f'<div class="table {text(kind)}" style="--numbers: {numbers}" role="region" tabindex="0" '
        f'aria-label="{text(label or "table")}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def cell(content: Any, tag: str) -> str:
    """One cell, with a tag that has its attributes."""
    words, kind, shade = content if isinstance(content, Cell) else Cell(content)
    shown = f' class="{text(kind)}"' if kind else ""
    if shade is not None:
        shown += f' style="--shade: {shade:.3f}"'
    return f"<{tag}{shown}>{text(words)}</{tag.split()[0]}>"


def data_address(kind: str, content: bytes) -> str:
    """A picture as a data URL; ``kind`` is "png" or "svg+xml"."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def figure(address: str, alternative: str, caption: str, *, kind: str = "") -> str:
    """A picture with words for those who cannot see it; ``caption`` is HTML.

    One of the kind "drawn" has a transparent background and is inverted on dark screens; others
    stand on white.
    """
    image = f'<img src="{address}" alt="{text(alternative)}">'
    return f'<figure class="{kind}">{image}<figcaption>{caption}</figcaption></figure>'


def number(value: float | None) -> str:
    """A number with three digits after the point, or a dash."""
    return NOTHING if value is None else f"{value:.3f}"


def decimals(values: Iterable[float | None], digits: int = 3) -> int:
    """Digits after the point for a column of numbers, so that the largest has ``digits`` in all."""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(sizes, default=0) or 1.0
    return max(0, digits - 1 - math.floor(math.log10(largest)))


def amount(weight: float) -> str:
    """Rows, or their weight."""
    return f"{weight:.10g}"


def ends(interval: Sequence[float] | None, form: str = ".3f") -> str:
    """An interval, or a dash."""
    return NOTHING if interval is None else "–".join(format(end, form) for end in interval)


def percent(share: float, digits: int = 2) -> str:
    """A share in per cent."""
    return f"{100 * share:.{digits}f}\u00a0%"


def in_percent(interval: Sequence[float] | None) -> str:
    """An interval of shares in per cent."""
    return NOTHING if interval is None else f"{ends([100 * end for end in interval], '.2f')}\u00a0%"
