"""Progress of a run, told to the monitor, which may want to stop it."""

from __future__ import annotations

from threading import Lock

from bayespoint.tools.monitor import Monitor
from bayespoint.tools.threads import stop_if_cancelled


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


class StepProgress:
    """Tells the monitor how much of the planned steps is done, and hears when it wants to stop.

    Progress is counted in hundredths: steps are too many and too short to be told one by one.

    Attributes
    ----------
    planned : int
        Steps of all tasks.
    """

    TOTAL = 100

    def __init__(self, monitor: Monitor, planned: int = 1) -> None:
        self._monitor, self.planned = monitor, planned
        self._done = 0
        self.stopped = False

    def add(self, steps: int) -> None:
        """Say that so many more steps are done."""
        self._done += steps
        self._monitor.update(self.TOTAL * min(self._done / self.planned, 1.0))
        self.stopped = self.stopped or self._monitor.should_stop()
