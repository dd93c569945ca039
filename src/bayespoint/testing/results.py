"""Checks of parameters of an engine, of its results, and of a run that is watched or stopped."""

from __future__ import annotations

import re
import time
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import Run
from bayespoint.likelihoods import Likelihood
from bayespoint.posteriors import Posterior
from bayespoint.testing.equality import Trial, answers, circle, same_bits, silence
from bayespoint.tools.monitor import Monitor, watch

RULES = ("bayes_point", "vote")


class Unusable:
    """A value that no parameter can have."""

    def __repr__(self) -> str:
        return "an unusable object"


def check_parameters(trial: Trial) -> None:
    """Parameters are got, set and cloned as those of all scikit-learn's estimators."""
    params = trial.engine.get_params(deep=False)
    assert set(vars(trial.engine)) == set(params), (
        f"__init__ of {trial.name} must set its parameters and nothing else. Parameters: "
        f"{sorted(params)}, attributes: {sorted(vars(trial.engine))}."
    )
    words = f"a clone of {trial.name} has other parameters: __init__ must keep them as they are."
    assert repr(clone(trial.engine).get_params(deep=False)) == repr(params), words
    trial.engine.check()


def check_bad_parameters(trial: Trial) -> None:
    """Each parameter is checked, and refused in scikit-learn's wording."""
    for name in trial.engine.get_params(deep=False):
        message = "no error"
        try:
            trial.fit(circle(2), engine=clone(trial.engine).set_params(**{name: Unusable()}))
        except (TypeError, ValueError) as error:
            message = str(error)
        wanted = f"The {name!r} parameter of {trial.name} must be ... Got ... instead"
        assert re.search(wanted.replace("...", ".+"), message), (
            f"{name}={Unusable()!r} must raise a ValueError like '{wanted}.'; it raised "
            f"{message!r}. Check it in check(), with bayespoint.tools.validation."
        )


def check_result(trial: Trial) -> None:
    """An engine returns a posterior and a run, and changes neither itself nor its data."""
    engine = clone(trial.engine)
    before = vars(engine).copy()
    _, result = trial.run(circle(3), engine=engine)
    pair = isinstance(result, tuple) and len(result) == 2
    assert pair and all(map(isinstance, result, (Posterior, Run))), (
        f"run must return a Posterior and a Run. Got {result!r:.200}: see bayespoint.posteriors "
        "and bayespoint.engines.Run."
    )
    assert vars(engine) == before, (
        "run must change nothing in the engine: attributes are parameters, and what was found "
        "belongs to the posterior or the run."
    )


def check_posterior(trial: Trial) -> None:
    """Shapes and ranges of all results of a posterior."""
    for n_classes, n_tasks in ((2, 1), (3, 3)):
        data = circle(n_classes)
        space, (posterior, _) = trial.run(data)
        if posterior.support is not None:
            space = space.restrict(posterior.support)
        examine_posterior(posterior, space.transform(data.new), len(data.y), n_tasks)


def examine_posterior(posterior: Posterior, Z: NDArray, n_points: int, n_tasks: int) -> None:
    """The promises of the base class of posteriors."""
    words = "posterior.likelihood must be a Likelihood: set one of bayespoint.likelihoods."
    assert isinstance(posterior.likelihood, Likelihood), words
    draws, again = (posterior.draw(5, np.random.default_rng(0)) for _ in range(2))
    assert np.array_equal(draws, again), "posterior.draw must take all randomness from rng."
    mean, variance = posterior.latent(Z)
    votes = posterior.votes(Z)
    per_point = len(Z), n_tasks
    decisions = {rule: posterior.decision(Z, rule) for rule in RULES}
    arrays = {
        "draw(5, rng)": (draws, (len(draws), 5, n_tasks)),
        "mean": (posterior.mean, (len(draws), n_tasks)),
        "latent(Z)[0]": (mean, per_point),
        "latent(Z)[1]": (variance, per_point),
        "votes(Z)": (votes, per_point),
        **{f"decision(Z, {rule!r})": (one, per_point) for rule, one in decisions.items()},
        "log_evidence": (posterior.log_evidence, (n_tasks,)),
        "left_out_log_probability": (posterior.left_out_log_probability, (n_points, n_tasks)),
    }
    for name, (array, shape) in arrays.items():
        if array is not None:
            words = f"posterior.{name} must be finite and of shape {shape}. Got {np.shape(array)}"
            is_right = np.shape(array) == shape and np.isfinite(array).all()
            assert is_right, f"{words}, {array}: see the docstring of Posterior."
    assert (variance >= 0).all(), "the variance of posterior.latent must not be negative."
    assert np.abs(votes).max() <= 1, "posterior.votes must be between -1 and 1."
    for rule, decision in decisions.items():
        grid = np.linspace(decision.min(axis=0), decision.max(axis=0), 101)
        yes, no = posterior.log_probability(grid, rule)
        grows = (np.diff(yes, axis=0) >= 0).all() and (np.diff(no, axis=0) <= 0).all()
        sums = np.allclose(np.exp(yes) + np.exp(no), 1, rtol=0, atol=1e-9)
        words = f"posterior.log_probability(decision, {rule!r}) must be such that"
        assert sums, f"{words} probabilities sum to 1."
        assert grows, f"{words} p(yes) grows with the decision."
        assert (grid * (yes - no) >= 0).all(), (
            f"{words} p(yes) is the larger one where the decision is positive."
        )


def check_run(trial: Trial) -> None:
    """The run says how the posterior was found, and its warnings are issued."""
    for n_classes in (2, 3):
        X, y, _ = circle(n_classes)
        began = time.perf_counter()
        with warnings.catch_warnings(record=True, action="always") as issued:
            fitted = trial.classifier().fit(X, y)
        elapsed = time.perf_counter() - began
        examine_run(fitted)
        run, given = fitted.run_, [each.message for each in issued]
        assert 0 < run.seconds <= elapsed, "run_.seconds is not the time of the run."
        assert len(given) == len(run.warnings) and all(each in run.warnings for each in given), (
            f"{trial.name} issued the warnings {given}, and its run has {list(run.warnings)}: put "
            "them into Run(warnings=...), the classifier issues them at the user's line."
        )


def examine_run(fitted: BayesPointClassifier) -> None:
    """The promises of runs."""
    run, n_tasks = fitted.run_, fitted.coding_.n_tasks
    run.check_state()
    assert run.unit and run.summary, "Run needs a unit and a summary."
    assert fitted.n_iter_ == run.n_iter, "n_iter_ is not that of the run."
    lengths = [len(each) for each in run.history]
    words = "Run.history must have a sequence for each task, the longest with n_iter numbers."
    assert not lengths or (len(lengths) == n_tasks and max(lengths) == run.n_iter), words
    for name, measured in run.measures.items():
        is_array = isinstance(measured, np.ndarray) and measured.ndim in (1, 2)
        words = f"Run.measures[{name!r}] must be an array of shape (n_tasks,) or (n_tasks, n)."
        assert is_array and len(measured) == n_tasks, words
    given = list(run.warnings)
    are_warnings = all(isinstance(each, Warning) for each in given)
    assert are_warnings, f"Run.warnings must be warnings. Got {given}."
    assert run.converged or (given and run.remedy), (
        "a run that is not what was asked for (converged=False) needs a warning and a remedy: set "
        "Run.warnings and Run.remedy."
    )
    contradicts = run.converged and any(isinstance(each, ConvergenceWarning) for each in given)
    assert not contradicts, f"a run that converged must not warn that it did not: {given}."


def check_classes(trial: Trial) -> None:
    """Labels of two, three and ten classes are learned, and predicted where most probable."""
    for n_classes in (2, 3, 10):
        data = circle(n_classes)
        data = data._replace(y=np.array([f"class {code}" for code in data.y]))
        fitted = trial.fit(data)
        for rule in RULES:
            fitted.set_params(decision=rule)
            case = f"With {n_classes} classes and decision={rule!r}"
            likeliest = fitted.classes_[fitted.predict_proba(data.new).argmax(axis=1)]
            assert (fitted.predict(data.new) == likeliest).all(), (
                f"{case} predict does not take the most probable class: see posterior.decision "
                "and posterior.log_probability."
            )
            score = fitted.score(data.X, data.y)
            assert score > 1.5 / n_classes, (
                f"{case}, which can be separated, {score:.0%} of the training rows are right: "
                "the engine does not learn the labels of its tasks."
            )


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
