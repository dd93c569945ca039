"""Progress reports to one object: a progress bar, a log, a stop button, or nothing.

An engine reports to a :class:`Monitor` and asks it whether to stop. The base class does nothing, so
engines never check whether there is a monitor.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["Monitor", "TextMonitor", "current_monitor", "watch"]


class Monitor:
    """Does nothing and never stops a run; subclass it to watch or to stop runs.

    An engine calls its methods several times a second, from any of its threads but never from two
    at the same time.

    Examples
    --------
    >>> from bayespoint.tools.monitor import Monitor
    >>> class Print(Monitor):
    ...     def update(self, done):
    ...         print(f"{done:g} done")
    >>> monitor = Print()
    >>> with monitor.running(total=2, unit="steps"):
    ...     monitor.update(1)
    1 done
    >>> monitor.should_stop()
    False
    """

    def tell(self, message: str) -> None:
        """Receive a message about a step that has no progress to count."""

    def begin(self, total: int, unit: str) -> None:
        """A run of at most ``total`` units (for example "samples") starts."""

    def update(self, done: float) -> None:
        """``done`` of the units are finished; fractions are allowed."""

    def should_stop(self) -> bool:
        """Whether the run should end as soon as it can with a valid result."""
        return False

    def end(self) -> None:
        """The run is over, with as many units as in the last update."""

    @contextmanager
    def running(self, total: int, unit: str) -> Iterator[None]:
        """Begin, and end in any case."""
        self.begin(total, unit)
        try:
            yield
        finally:
            self.end()


class TextMonitor(Monitor):
    """Writes a line to standard error every few seconds; what ``verbose`` switches on.

    Parameters
    ----------
    seconds : float, default=2.0
        Time between two lines.

    Examples
    --------
    >>> import contextlib, sys
    >>> from bayespoint.tools.monitor import TextMonitor
    >>> monitor = TextMonitor()
    >>> with contextlib.redirect_stderr(sys.stdout), monitor.running(10, "samples"):
    ...     monitor.update(9)
    bayespoint: 9 samples, 0.0 s
    """

    def __init__(self, seconds: float = 2.0) -> None:
        self.seconds = seconds

    def tell(self, message: str) -> None:
        """Write the message."""
        sys.stderr.write(f"bayespoint: {message}\n")

    def begin(self, total: int, unit: str) -> None:
        """Remember what is counted."""
        self._total, self._unit, self._done = total, unit, 0.0
        self._started = self._told = time.monotonic()

    def update(self, done: float) -> None:
        """Write the state of the run, if the last line is old enough."""
        self._done = done
        if time.monotonic() - self._told >= self.seconds:
            self._told = time.monotonic()
            self._write(f" of {self._total}")

    def end(self) -> None:
        """Write what was done in all."""
        self._write()

    def _write(self, of: str = "") -> None:
        done = f"{self._done:.1f}".removesuffix(".0")
        seconds = time.monotonic() - self._started
        self.tell(f"{done}{of} {self._unit}, {seconds:.1f} s")


_current: ContextVar[Monitor | None] = ContextVar("bayespoint_monitor", default=None)


@contextmanager
def watch(monitor: Monitor) -> Iterator[Monitor]:
    """Let ``monitor`` watch every fit in the block.

    Parameters
    ----------
    monitor : Monitor
        Receives the progress, and may stop the runs.

    Returns
    -------
    context manager
        Gives the monitor.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.tools.monitor import Monitor, watch
    >>> class Count(Monitor):
    ...     def begin(self, total, unit):
    ...         print(total, unit)
    >>> with watch(Count()):
    ...     clf = BayesPointClassifier(engine="perceptron").fit(*load_iris(return_X_y=True))
    10 samples
    """
    token = _current.set(monitor)
    try:
        yield monitor
    finally:
        _current.reset(token)


def current_monitor(verbose: int = 0) -> Monitor:
    """The monitor of the enclosing :func:`watch`, else text if ``verbose``, else a no-op.

    Parameters
    ----------
    verbose : int, default=0
        Whether to write text if there is no other monitor.

    Returns
    -------
    Monitor
        The monitor to report to.

    Examples
    --------
    >>> from bayespoint.tools.monitor import current_monitor
    >>> type(current_monitor()).__name__, type(current_monitor(verbose=1)).__name__
    ('Monitor', 'TextMonitor')
    """
    return _current.get() or (TextMonitor() if verbose else Monitor())


class CallbackMonitor(Monitor):
    """Calls the estimator's callbacks for each finished unit; they can stop the fit."""

    def __init__(self, estimator: Any, inner: Monitor) -> None:
        self._estimator, self._inner = estimator, inner
        self._stop = False

    def tell(self, message: str) -> None:
        """Pass the message to the inner monitor; callbacks only count."""
        self._inner.tell(message)

    def begin(self, total: int, unit: str) -> None:
        """Begin a task with at most ``total`` sub-tasks."""
        self._inner.begin(total, unit)
        self._told, self._unit = 0, unit
        self._context = self._estimator._init_callback_context(max_subtasks=total)
        self._context.call_on_fit_task_begin(estimator=self._estimator)

    def update(self, done: float) -> None:
        """End the sub-tasks that are done."""
        self._inner.update(done)
        while self._told < int(done):
            self._told += 1
            task = self._context.subcontext(task_name=self._unit)
            task.call_on_fit_task_begin(estimator=self._estimator)
            self._stop |= task.call_on_fit_task_end(estimator=self._estimator)

    def should_stop(self) -> bool:
        """Whether a callback or the inner monitor stops the fit."""
        return self._stop or self._inner.should_stop()

    def end(self) -> None:
        """End the task."""
        self._inner.end()
        self._context.call_on_fit_task_end(estimator=self._estimator)


def monitor_for(estimator: Any) -> Monitor:
    """The monitor of an estimator's fit, which includes the callbacks set on it."""
    monitor = current_monitor(estimator.verbose)
    has_callbacks = hasattr(estimator, "_init_callback_context")
    return CallbackMonitor(estimator, monitor) if has_callbacks else monitor
