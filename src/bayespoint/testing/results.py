"""Checks of the results of an engine, and of predictions from them."""

from __future__ import annotations

import time
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import Run
from bayespoint.likelihoods import Likelihood
from bayespoint.posteriors import Posterior
from bayespoint.testing.trial import Data, Trial, circle

RULES = ("bayes_point", "vote")


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
    """Raise an AssertionError if a posterior breaks the promises of its base class."""
    assert isinstance(posterior.likelihood, Likelihood), (
        "posterior.likelihood must be a Likelihood: set one of bayespoint.likelihoods."
    )
    draws, again = (posterior.draw(5, np.random.default_rng(0)) for _ in range(2))
    examine_array(draws, "draw(5, rng)", (len(draws), 5, n_tasks))
    assert np.array_equal(draws, again), "posterior.draw must take all randomness from rng."
    examine_array(posterior.mean, "mean", (len(draws), n_tasks))
    per_point = len(Z), n_tasks
    mean, variance = posterior.latent(Z)
    examine_array(mean, "latent(Z)[0]", per_point)
    examine_array(variance, "latent(Z)[1]", per_point)
    assert (variance >= 0).all(), "the variance of posterior.latent must not be negative."
    votes = posterior.votes(Z)
    examine_array(votes, "votes(Z)", per_point)
    assert np.abs(votes).max() <= 1, "posterior.votes must be between -1 and 1."
    for rule in RULES:
        decision = posterior.decision(Z, rule)
        examine_array(decision, f"decision(Z, {rule!r})", per_point)
        examine_probabilities(posterior, decision, rule)
    if posterior.log_evidence is not None:
        examine_array(posterior.log_evidence, "log_evidence", (n_tasks,))
    if (left_out := posterior.left_out_log_probability) is not None:
        examine_array(left_out, "left_out_log_probability", (n_points, n_tasks))


def examine_array(array: NDArray, name: str, shape: tuple[int, ...]) -> None:
    """Raise an AssertionError unless an array of the posterior has this shape and is finite."""
    assert np.shape(array) == shape, (
        f"posterior.{name} must have the shape {shape}. Got {np.shape(array)}: see the docstring "
        "of Posterior."
    )
    assert np.isfinite(array).all(), f"posterior.{name} must be finite. Got {array}."


def examine_probabilities(posterior: Posterior, decision: NDArray, rule: str) -> None:
    """Raise an AssertionError unless probabilities are monotone functions of the decision."""
    grid = np.linspace(decision.min(axis=0), decision.max(axis=0), 101)
    yes, no = posterior.log_probability(grid, rule)
    for fine, promise in (
        (np.allclose(np.exp(yes) + np.exp(no), 1, rtol=0, atol=1e-9), "probabilities sum to 1"),
        (
            (np.diff(yes, axis=0) >= 0).all() and (np.diff(no, axis=0) <= 0).all(),
            "p(yes) grows with the decision",
        ),
        ((grid * (yes - no) >= 0).all(), "p(yes) is the larger one where the decision is positive"),
    ):
        assert fine, f"posterior.log_probability(decision, {rule!r}) must be such that {promise}."


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
    """Raise an AssertionError if a run breaks the promises of its class."""
    run, n_tasks = fitted.run_, fitted.coding_.n_tasks
    run.check_state()
    assert run.unit and run.summary, "Run needs a unit and a summary."
    assert fitted.n_iter_ == run.n_iter, "n_iter_ is not that of the run."
    lengths = [len(each) for each in run.history]
    assert not lengths or (len(lengths) == n_tasks and max(lengths) == run.n_iter), (
        "Run.history must have a sequence for each task, the longest with n_iter numbers."
    )
    for name, measured in run.measures.items():
        is_array = isinstance(measured, np.ndarray) and measured.ndim in (1, 2)
        assert is_array and len(measured) == n_tasks, (
            f"Run.measures[{name!r}] must be an array of shape (n_tasks,) or (n_tasks, n)."
        )
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
    """Two, three and ten classes; one rule drives all predictions."""
    for n_classes in (2, 3, 10):
        data = circle(n_classes)
        data = data._replace(y=np.array([f"class {code}" for code in data.y]))
        fitted = trial.fit(data)
        for rule in RULES:
            fitted.set_params(decision=rule)
            examine_predictions(fitted, data, f"With {n_classes} classes and decision={rule!r}")


def examine_predictions(fitted: BayesPointClassifier, data: Data, case: str) -> None:
    """Raise an AssertionError if predictions disagree, or are no better than chance."""
    n_classes, n_new = len(fitted.classes_), len(data.new)
    probability, scores = fitted.predict_proba(data.new), fitted.decision_function(data.new)
    shapes = (n_new, n_classes), (n_new,) if n_classes == 2 else (n_new, n_classes)
    assert (probability.shape, scores.shape) == shapes, (
        f"{case} predictions have the shapes {probability.shape} and {scores.shape}."
    )
    assert np.allclose(probability.sum(axis=1), 1) and (probability >= 0).all(), (
        f"{case} probabilities do not sum to 1: see posterior.log_probability."
    )
    likeliest = fitted.classes_[probability.argmax(axis=1)]
    assert (fitted.predict(data.new) == likeliest).all(), (
        f"{case} predict does not take the most probable class: see posterior.decision and "
        "posterior.log_probability."
    )
    score = fitted.score(data.X, data.y)
    assert score > 1.5 / n_classes, (
        f"{case}, which can be separated, {score:.0%} of the training points are right: the engine "
        "does not learn the labels of its tasks."
    )
