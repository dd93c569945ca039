"""Progress of tasks that run side by side."""

from __future__ import annotations

from threading import Lock

from bayespoint.monitor import Monitor
from bayespoint.threads import stop_if_cancelled


class Progress:
    """Counts the iterations of all tasks for the monitor."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor, self._lock, self._done = monitor, Lock(), 0

    def advance(self) -> bool:
        """Count one more iteration; whether the monitor wants the run to stop."""
        stop_if_cancelled()
        with self._lock:
            self._done += 1
            self._monitor.update(self._done)
            return self._monitor.should_stop()
