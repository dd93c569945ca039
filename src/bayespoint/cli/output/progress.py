"""Progress of a run as a bar on a terminal, as a few lines elsewhere."""

from __future__ import annotations

from typing import Self

from rich import progress as bars
from rich.console import Console
from rich.table import Column

from bayespoint.cli.output.errors import printable, unless_full
from bayespoint.tools.monitor import Monitor


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
            bars.BarColumn(),
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
