"""Many fits in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from joblib import Parallel, delayed
from sklearn import config_context, get_config

from bayespoint.exceptions import held_warnings
from bayespoint.tools.monitor import Monitor, current_monitor, watch


class CountFits(Monitor):
    """Reports the number of finished fits to another monitor, and stops when that one does.

    A copy of it, in another process, does nothing.
    """

    def __init__(self, monitor: Monitor, total: int) -> None:
        self.stopped = False
        self._monitor, self._total, self._done = monitor, total, 0
        self._lock = Lock()

    def end(self) -> None:
        """Count a fit; steps of a search can take more than one."""
        with self._lock:
            self._done += 1
            self._monitor.update(min(self._done, self._total))

    def should_stop(self) -> bool:
        """Whether it or the other monitor wants to stop."""
        return self.stopped or self._monitor.should_stop()

    def __reduce__(self) -> tuple:
        return Monitor, ()


def run_jobs(
    function: Callable[..., Any],
    jobs: Sequence[tuple],
    n_jobs: int | None,
    *,
    n_fits: int,
    verbose: int = 0,
) -> list[tuple[Any, list[Warning]]]:
    """Results of ``function(*job)`` for each job, and the warnings that were held meanwhile.

    Jobs run through joblib, in threads unless ``parallel_config`` chooses another backend. The
    monitor counts the fits, of which there are about ``n_fits``.
    """
    monitor = current_monitor(verbose)
    count, config = CountFits(monitor, n_fits), get_config()
    with monitor.running(n_fits, "fits"):
        try:
            found = Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(run_job)(function, job, count, config) for job in jobs
            )
        except BaseException:
            count.stopped = True  # threads cannot be killed: their fits end as soon as they ask
            raise
        monitor.update(n_fits)
    return found


def run_job(
    function: Callable[..., Any], job: tuple, monitor: Monitor, config: dict[str, Any]
) -> tuple[Any, list[Warning]]:
    """Call the function in what may be another thread: it has neither configuration nor monitor."""
    with config_context(**config), watch(monitor), held_warnings() as held:
        return function(*job), held
