"""Checks of an engine that is watched, stopped and interrupted."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from bayespoint.testing.results import examine_posterior, examine_run
from bayespoint.testing.trial import Trial, answers, circle, same_bits, silence
from bayespoint.tools.monitor import Monitor, watch

TELL = "with monitor.running(total, unit): ... monitor.update(done)"
STOPPED = "stopped by the monitor"  # has to be in the summary of a run


class Recorder(Monitor):
    """Records all calls, and may stop the run or raise an error at the first update."""

    def __init__(self, *, stop: bool = False, error: type[BaseException] | None = None) -> None:
        self.begun: list[tuple[int, str]] = []
        self.told: list[float] = []
        self.ends: list[int] = []  # how many updates came before
        self._stop, self._error = stop, error

    def begin(self, total: int, unit: str) -> None:
        """Record the call."""
        self.begun.append((total, unit))

    def update(self, done: float) -> None:
        """Record the update, and raise the error."""
        self.told.append(done)
        if self._error is not None:
            raise self._error

    def should_stop(self) -> bool:
        """Whether to stop: from the first update on, if at all."""
        return self._stop and bool(self.told)

    def end(self) -> None:
        """Record the call."""
        self.ends.append(len(self.told))


def check_monitor(trial: Trial) -> None:
    """The monitor receives the beginning, progress and the end."""
    for n_classes in (2, 3):
        recorder = Recorder()
        trial.run(circle(n_classes), recorder)
        n_begun, n_ends = len(recorder.begun), len(recorder.ends)
        assert n_begun == 1, f"monitor.begin was called {n_begun} times: {TELL}."
        (total, unit), told = recorder.begun[0], np.array(recorder.told)
        assert total >= 1 and total % 1 == 0 and isinstance(unit, str) and unit, (
            f"monitor.begin must get a whole number and a unit. Got {total!r} and {unit!r}."
        )
        assert len(told) > 0, f"monitor.update was never called: {TELL}."
        assert total == 1 or len(np.unique(told)) > 1, (
            f"monitor.update was told {told} of {total} {unit}: tell it of each that is done."
        )
        assert (np.diff(told) >= 0).all() and told[0] >= 0 and told[-1] <= total, (
            f"what monitor.update is told must grow up to the total. Got {told} of {total}."
        )
        assert recorder.ends == [len(told)], (
            f"monitor.end must be called once, after the last update. Calls: {n_ends}. {TELL}."
        )


def check_stop(trial: Trial) -> None:
    """A monitor can stop a run, which leaves a valid posterior and a run that says so."""
    data, whole, stopped = circle(3), Recorder(), Recorder(stop=True)
    trial.fit(data, monitor=whole)
    fitted = trial.fit(data, monitor=stopped)
    Z = fitted.model_.transform(data.new)
    examine_posterior(fitted.posterior_, Z, len(data.y), 3)
    examine_run(fitted)
    assert len(stopped.ends) == 1, "monitor.end was not called after a stop."
    if len(set(whole.told)) < 2:
        return  # all is done at once
    assert stopped.told[-1] < whole.told[-1], (
        f"{trial.name} goes on when the monitor wants to stop, up to {stopped.told[-1]:g} of "
        f"{whole.told[-1]:g}: ask monitor.should_stop() after each update, and return what is "
        "there; do not tell of work that was not done."
    )
    run = fitted.run_
    assert not run.converged and STOPPED in run.summary.lower(), (
        f"a run that was stopped must say so. Got converged={run.converged} and "
        f"summary={run.summary!r}: set converged=False, and {STOPPED!r} in the summary."
    )


def check_interrupt(trial: Trial) -> None:
    """An interrupt leaves the classifier, the threads of BLAS and the monitor as they should be."""
    data = circle(3)
    fitted, fresh = trial.fit(data, n_jobs=2), trial.classifier()
    before, state = answers(fitted, data), vars(fitted).copy()
    with threadpool_limits(2, user_api="blas"):
        threads = threadpool_info()
        for classifier in (fitted, fresh):
            recorder, ended = Recorder(error=KeyboardInterrupt), False
            try:
                with silence(), watch(recorder):
                    classifier.fit(data.X, data.y)
            except KeyboardInterrupt:
                ended = True
            words = f"a KeyboardInterrupt that monitor.update raises does not end the fit: {TELL}"
            assert ended, f"{words}, and do not catch it."
            n_ends = len(recorder.ends)
            assert n_ends == 1, f"monitor.end was not called after an interrupt: {TELL}."
            assert threadpool_info() == threads, (
                "BLAS has another number of threads after an interrupt: set it within "
                "bayespoint.tools.threads.blas_threads or thread_pool."
            )
    assert vars(fitted) == state and same_bits(before, answers(fitted, data)), (
        "an interrupted fit changes the classifier: an engine must not write to what it gets."
    )
    assert not hasattr(fresh, "posterior_"), "an interrupted fit leaves a posterior."
