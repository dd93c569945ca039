"""Output of commands: notes, and results as text or as JSON."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import typer
from rich.console import Console, RenderableType

from bayespoint.cli.options import STDIO, AsJson, Encoding, Group, Output
from bayespoint.cli.output.errors import ExitCode, fail, printable, unless_full
from bayespoint.cli.output.printing import new_console, show
from bayespoint.cli.output.progress import ProgressMonitor
from bayespoint.tools.monitor import watch

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
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
