"""Progress of a run as a bar on a terminal, as a few lines elsewhere."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column
from rich.text import Text

from bayespoint.cli.output.errors import printable, unless_full
from bayespoint.tools.monitor import Monitor


class TimeLeftColumn(ProgressColumn):
    """The time that is left at the pace so far, as soon as something is done."""

    max_refresh = 0.5  # seconds: digits that change more often cannot be read

    def render(self, task: Task) -> Text:
        """Hours, minutes and seconds."""
        if task.finished or not task.completed or not task.total or task.elapsed is None:
            return Text("")
        left = task.elapsed * (task.total / task.completed - 1)
        minutes, seconds = divmod(round(left), 60)
        hours, minutes = divmod(minutes, 60)
        return Text(f"{hours}:{minutes:02}:{seconds:02} left", style="progress.remaining")


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
        self._progress = Progress(
            # On a narrow terminal this is wrapped, and the numbers stay whole.
            TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold")),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeLeftColumn(),
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
