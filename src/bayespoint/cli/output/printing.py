"""What commands print: notes, progress and results, as text or as JSON.

No cell of a table is ever cut. Elsewhere than on a terminal lines are as long as they need to be,
and on a terminal text is wrapped.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Self

import typer
from rich import box
from rich import progress as bars
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from bayespoint.cli.options import STDIO, AsJson, Encoding, Group, Output
from bayespoint.cli.output.errors import ExitCode, fail, printable, unless_full
from bayespoint.tools.json_values import plain
from bayespoint.tools.monitor import Monitor, watch


class ProgressMonitor(Monitor):
    """A progress bar on standard error.

    Parameters
    ----------
    title : str
        What runs.
    console : Console, optional
        Where to show it, by default standard error.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title = printable(title)
        self._console = console or Console(stderr=True, highlight=False, markup=False)
        self._progress = bars.Progress(
            # On a narrow terminal this is wrapped, and the numbers stay whole.
            bars.TextColumn(
                "{task.description}", markup=False, table_column=Column(overflow="fold")
            ),
            bars.BarColumn(bar_width=20),
            bars.TaskProgressColumn(),
            bars.TimeElapsedColumn(),
            bars.TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task(title, total=None)

    def tell(self, message: str) -> None:
        """Show what comes next; how long it takes is not known yet."""
        description = f"{self._title}: {printable(message)}"
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(description, total=None)
        if not self._console.is_terminal:
            with unless_full():
                self._console.print(description, soft_wrap=True)

    def begin(self, total: int, unit: str) -> None:
        """Fill the bar from its beginning."""
        self._total = total
        self._progress.reset(self._task, total=total, completed=0)

    def update(self, done: float) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=done)

    def end(self) -> None:
        """Fill the bar: there may have been less to do than expected."""
        self._progress.update(self._task, completed=self._total)

    def __enter__(self) -> Self:
        if self._console.is_terminal:  # elsewhere some versions of rich print the idle bar
            self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._console.is_terminal:
            self._progress.stop()


MANY = 12  # classes that a summary lists
FEW = 4  # names that a sentence lists before it counts the rest


class Notes(list[str], Group):
    """What a command says: remarks on data and model, warnings, progress, and results.

    All is printed at once, or, with --json, in one document at the end.
    """

    def __init__(self, as_json: AsJson = False) -> None:
        super().__init__()
        self.warnings: list[str] = []
        self.as_json = as_json

    def add(self, words: str) -> None:
        """Make a remark."""
        self.append(words)
        self._say(f"note: {words}", "dim")

    def warn(self, sentences: Iterable[str]) -> None:
        """Pass warnings on."""
        for words in sentences:
            self.warnings.append(words)
            self._say(f"warning: {words}", "yellow")

    @contextmanager
    def training(self) -> Iterator[None]:
        """Show the progress of a fit, and pass its warnings on."""
        progress = self.progress("training")
        with progress, watch(progress), collect_warnings() as warned:
            yield
        self.warn(warned)

    def progress(self, title: str) -> ProgressMonitor:
        """A bar, or nothing if a program reads the output."""
        console = Console(stderr=True, highlight=False, markup=False, quiet=self.as_json)
        return ProgressMonitor(title, console)

    def end(
        self, document: Mapping[str, Any], *parts: RenderableType, output: Output | None = None
    ) -> None:
        """Print the results: the document and all notes as JSON, or the parts as text.

        They name the table that was written; if that went to standard output, they do not.
        """
        if output is not None:
            document = {"out": output.out and str(output.out), **document}
        if self.as_json:
            print_json({**document, "notes": list(self), "warnings": self.warnings})
            return
        if output is not None and output.out is not None:
            where = "standard output" if output.out == STDIO else output.out
            parts = (*parts, f"Written to {where}.")
        to_stderr = output is not None and output.out == STDIO
        with unless_full() if to_stderr else nullcontext():
            show(*parts, to_stderr=to_stderr)

    def _say(self, words: str, style: str) -> None:
        if not self.as_json:
            with unless_full():
                new_console(to_stderr=True).print(printable(words), style=style)


class TableNotes(Notes):
    """The same of a command that reads tables."""

    def __init__(self, encoding: Encoding = "utf-8", as_json: AsJson = False) -> None:
        super().__init__(as_json)
        self.encoding = encoding


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect warnings as text; those for programmers are left out."""
    found: list[str] = []
    with warnings.catch_warnings(record=True, action="always") as caught:
        for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", kind)
        yield found
    found.extend(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))


def print_json(document: Mapping[str, Any]) -> None:
    """Write a document to standard output, for programs: ASCII, which passes everywhere."""
    if sys.stdout is None:
        fail("standard output is closed, and --json writes to it", ExitCode.FAILED)
    typer.echo(json.dumps(plain(document), indent=2, allow_nan=False))


def count(n: int, noun: str, plural: str = "") -> str:
    """A number and its noun: 1 row, 2 rows."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"


def class_words(counts: Mapping[Any, int]) -> str:
    """Classes, how many rows each has, and their share."""
    total = sum(counts.values())
    return joined([f"{label} ({n}, {share(n / total)})" for label, n in counts.items()], MANY)


def listed(names: Iterable[Any], few: int = FEW) -> str:
    """The first few names, quoted, and how many more there are."""
    return joined([repr(str(name)) for name in names], few)


def joined(words: Sequence[str], few: int = FEW) -> str:
    """The first few words with commas, and how many more there are."""
    return ", ".join(words[:few]) + (f" and {len(words) - few} more" if words[few:] else "")


def share(part: float) -> str:
    """A share in per cent, with digits enough to tell it from none and from all."""
    digits = 0 if 0.1 <= part <= 0.9 or part in (0, 1) else 1
    return f"{part:.{digits}%}"


UNLIMITED = 100_000  # columns of a file or a pipe
LONG = 30  # columns of a word that may be broken


def new_console(to_stderr: bool = False) -> Console:
    """Standard output or standard error; as wide as the text if it is not a terminal."""
    console = Console(stderr=to_stderr, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = UNLIMITED
    return console


def show(*parts: RenderableType, to_stderr: bool = False) -> None:
    """Print results, with an empty line between parts where a table begins or ends."""
    console = new_console(to_stderr)
    after_table = False
    with console.capture() as captured:
        for place, part in enumerate(parts):
            is_table = isinstance(part, NumbersTable)
            if place and (is_table or after_table):
                console.print()
            console.print(printable(part) if isinstance(part, str) else part, crop=False)
            after_table = is_table
    for line in captured.get().splitlines():
        console.out(line.rstrip(), highlight=False)


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Names and values below each other, without those that are empty."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in rows:
        if text:
            grid.add_row(name, Text(printable(text)))
    return grid


class NumbersTable(Table):
    """A table whose first column is text, as may be the last, and whose others are numbers.

    Where a terminal is narrow text is wrapped, but no number, and no word of usual length.
    """

    def __init__(
        self,
        heads: Sequence[str],
        rows: Iterable[Sequence[str | Text]],
        *,
        words_last: bool = False,
        title: str = "",
        caption: str = "",
    ) -> None:
        super().__init__(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            padding=(0, 1, 0, 0),
            pad_edge=False,
            title=printable(title) or None,
            title_style="bold",
            title_justify="left",
            caption=printable(caption) or None,
            caption_style="italic dim",
            caption_justify="left",
        )
        cells = [
            [one if isinstance(one, Text) else Text(printable(one)) for one in row] for row in rows
        ]
        for place, head in enumerate(map(printable, heads)):
            is_words = place == 0 or (words_last and place == len(heads) - 1)
            texts = [row[place].plain for row in cells]
            words = [word for text in texts for word in text.split()] if is_words else texts
            least = max(map(cell_len, [*head.split(), *words]), default=0)
            justify: Any = "left" if is_words else "right"
            width = min(least, LONG) if is_words else least
            self.add_column(head, justify=justify, overflow="fold", min_width=width)
        for row in cells:
            self.add_row(*row)
