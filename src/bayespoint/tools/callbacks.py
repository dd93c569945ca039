"""scikit-learn's callbacks, where it has them (1.9 and later).

Apart from the monitors, since a command that only prints its options imports no scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from bayespoint.tools.monitor import Monitor, current_monitor

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks as calling_back
except ImportError:
    calling_back = None

    class CallbackSupport:  # type: ignore[no-redef]
        """Placeholder for releases before 1.9."""


def with_callbacks(method: Method) -> Method:
    """A fit that calls back, where scikit-learn can; a type checker sees the method as it is."""
    decorated: Method = method if calling_back is None else calling_back(method)
    return decorated


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
