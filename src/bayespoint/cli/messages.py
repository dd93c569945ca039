"""Output of commands: notes, and results as text or as JSON."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer
from rich import box
from rich.console import Console, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from bayespoint.cli.errors import ExitCode, fail, printable
from bayespoint.cli.progress import ProgressMonitor
from bayespoint.monitor import watch

MANY = 12  # classes that a summary lists
FEW = 4  # names that a sentence lists before it counts the rest


class Notes(list[str]):
    """Remarks on data and model: printed at once, or part of the JSON document."""

    def __init__(self, aloud: bool) -> None:
        super().__init__()
        self.warnings: list[str] = []
        self._aloud = aloud

    def add(self, words: str) -> None:
        """Make a remark."""
        self.append(words)
        self._say(f"note: {words}", "dim")

    def warn(self, sentences: Iterable[str]) -> None:
        """Pass warnings on."""
        for words in sentences:
            self.warnings.append(words)
            self._say(f"warning: {words}", "yellow")

    def to_dict(self) -> dict[str, list[str]]:
        """Ready for JSON."""
        return {"notes": list(self), "warnings": self.warnings}

    @contextmanager
    def training(self) -> Iterator[None]:
        """Show the progress of a fit, and pass its warnings on."""
        console = Console(stderr=True, highlight=False, markup=False, quiet=not self._aloud)
        progress = ProgressMonitor("training", console)
        with progress, watch(progress), warnings_in_words() as words:
            yield
        self.warn(words)

    def end(
        self, document: Mapping[str, Any], *parts: RenderableType, to_stderr: bool = False
    ) -> None:
        """Print the results: the document and all notes as JSON, or the parts as text."""
        if self._aloud:
            show(*parts, to_stderr=to_stderr)
        else:
            print_json({**document, **self.to_dict()})

    def _say(self, words: str, style: str) -> None:
        if self._aloud:
            console = Console(stderr=True, highlight=False, markup=False)
            console.print(printable(words), style=style, soft_wrap=not console.is_terminal)


@contextmanager
def warnings_in_words() -> Iterator[list[str]]:
    """Collect warnings as text; those for programmers are left out."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for_programmers = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
        for kind in for_programmers:
            warnings.simplefilter("ignore", kind)
        yield found
    found.extend(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))


def print_json(document: Mapping[str, Any]) -> None:
    """Write a document to standard output, for programs: ASCII, which passes everywhere."""
    if sys.stdout is None:
        fail("standard output is closed, and --json writes to it", ExitCode.FAILED)
    typer.echo(json.dumps(plain(document), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """A value for JSON: no arrays, and null for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(*parts: RenderableType, to_stderr: bool = False) -> None:
    """Print results, with an empty line between parts where a table begins or ends."""
    console = Console(stderr=to_stderr, highlight=False, markup=False)
    after_table = False
    for place, part in enumerate(parts):
        is_table = isinstance(part, Table) and part.box is not None
        if place and (is_table or after_table):
            console.print()
        if isinstance(part, str):
            console.print(printable(part), soft_wrap=not console.is_terminal)
        else:
            console.print(part)
        after_table = is_table


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Names and values below each other."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, words in rows:
        grid.add_row(name, Text(printable(words)))
    return grid


def numbers_table(
    heads: Sequence[str], rows: Iterable[Sequence[str | Text]], *, words_last: bool = False
) -> Table:
    """A table whose first column is text, as may be the last, and whose others are numbers."""
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    last = len(heads) - 1 if words_last else None
    for place, head in enumerate(heads):
        is_words = place in (0, last)
        justify: JustifyMethod = "left" if is_words else "right"
        table.add_column(printable(head), justify=justify, no_wrap=words_last and place != last)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    return table


def count(n: int, noun: str, plural: str = "") -> str:
    """A number and its noun: 1 row, 2 rows."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def class_words(counts: Mapping[Any, int]) -> str:
    """Classes, and how many rows each has."""
    words = [f"{label} ({n})" for label, n in counts.items()]
    more = f" and {len(words) - MANY} more" if len(words) > MANY else ""
    return ", ".join(words[:MANY]) + more


def listed(names: Iterable[Any], few: int = FEW) -> str:
    """The first few names, quoted, and how many more there are."""
    names = list(names)
    words = ", ".join(repr(str(name)) for name in names[:few])
    return words + (f" and {len(names) - few} more" if len(names) > few else "")
