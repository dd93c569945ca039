"""scikit-learn's callbacks, where they exist (from 1.9 on), seen as a monitor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from bayespoint.monitor import Monitor, current_monitor

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support before scikit-learn 1.9."""

    def with_callbacks(method: Method) -> Method:
        """Leave the method as it is."""
        return method


class CallbackMonitor(Monitor):
    """Tells the estimator's callbacks of each finished unit; they may ask to stop."""

    def __init__(self, estimator: Any, inner: Monitor) -> None:
        self._estimator, self._inner = estimator, inner
        self._stop = False

    def tell(self, message: str) -> None:
        """Callbacks count; only the monitor inside is told."""
        self._inner.tell(message)

    def begin(self, total: int, unit: str) -> None:
        """Open one task with at most ``total`` sub-tasks."""
        self._inner.begin(total, unit)
        self._told, self._unit = 0, unit
        self._context = self._estimator._init_callback_context(max_subtasks=total)
        self._context.call_on_fit_task_begin(estimator=self._estimator)

    def update(self, done: float) -> None:
        """Close the sub-tasks that are done."""
        self._inner.update(done)
        while self._told < int(done):
            self._told += 1
            task = self._context.subcontext(task_name=self._unit)
            task.call_on_fit_task_begin(estimator=self._estimator)
            self._stop |= task.call_on_fit_task_end(estimator=self._estimator)

    def should_stop(self) -> bool:
        """Whether a callback, or the monitor inside, wants to stop."""
        return self._stop or self._inner.should_stop()

    def end(self) -> None:
        """Close the task."""
        self._inner.end()
        self._context.call_on_fit_task_end(estimator=self._estimator)


def monitor_for(estimator: Any) -> Monitor:
    """Whoever watches the fit of this estimator: the callbacks set on it, and the monitor."""
    monitor = current_monitor(estimator.verbose)
    has_callbacks = hasattr(estimator, "_init_callback_context")
    return CallbackMonitor(estimator, monitor) if has_callbacks else monitor
