"""Checks of what an engine returns, and of what a classifier makes of it."""

from __future__ import annotations

import time
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bayespoint.classifier import BayesPointClassifier
from bayespoint.engines import Run
from bayespoint.likelihoods import Likelihood
from bayespoint.posteriors import Posterior
from bayespoint.testing.trial import Trial, circle, demand

RULES = ("bayes_point", "vote")


def check_result(trial: Trial) -> None:
    """An engine returns a posterior and a run, and changes neither itself nor its data."""
    X, y, _ = circle(3)
    engine = clone(trial.engine)
    before = vars(engine).copy()
    _, result = trial.run(X, y, engine=engine)
    kinds = Posterior, Run
    demand(
        isinstance(result, tuple) and len(result) == 2 and all(map(isinstance, result, kinds)),
        f"run must return a Posterior and a Run. Got {result!r:.200}: see bayespoint.posteriors "
        "and bayespoint.engines.Run.",
    )
    demand(
        vars(engine).keys() == before.keys()
        and all(value is before[name] for name, value in vars(engine).items()),
        "run must change nothing in the engine: attributes are parameters, and what was found "
        "belongs to the posterior or the run.",
    )


def check_posterior(trial: Trial) -> None:
    """Shapes and ranges of all that a posterior is asked."""
    for n_classes in (2, 3):
        X, y, new = circle(n_classes)
        space, (posterior, _) = trial.run(X, y)
        if posterior.support is not None:
            space = space.restrict(posterior.support)
        n_tasks = 1 if n_classes == 2 else n_classes
        examine_posterior(posterior, space.transform(new), len(X), n_tasks)


def examine_posterior(posterior: Posterior, Z: NDArray, n_points: int, n_tasks: int) -> None:
    """Raise an AssertionError if a posterior breaks the promises of its base class."""
    demand(
        isinstance(posterior.likelihood, Likelihood),
        "posterior.likelihood must be a Likelihood: set one of bayespoint.likelihoods.",
    )
    draws, again = (posterior.draw(5, np.random.default_rng(0)) for _ in range(2))
    demand_shape(draws, "draw(5, rng)", (len(draws), 5, n_tasks))
    demand(
        np.array_equal(draws, again),
        "posterior.draw must use no other source of randomness than rng.",
    )
    demand_shape(posterior.mean, "mean", (len(draws), n_tasks))
    per_point = len(Z), n_tasks
    mean, variance = posterior.latent(Z)
    demand_shape(mean, "latent(Z)[0]", per_point)
    demand_shape(variance, "latent(Z)[1]", per_point)
    demand((variance >= 0).all(), "the variance of posterior.latent must not be negative.")
    votes = posterior.votes(Z)
    demand_shape(votes, "votes(Z)", per_point)
    demand(np.abs(votes).max() <= 1, "posterior.votes must be between -1 and 1.")
    for rule in RULES:
        decision = posterior.decision(Z, rule)
        demand_shape(decision, f"decision(Z, {rule!r})", per_point)
        examine_probabilities(posterior, decision, rule)
    if posterior.log_evidence is not None:
        demand_shape(posterior.log_evidence, "log_evidence", (n_tasks,))
    left_out = posterior.left_out_log_probability
    if left_out is not None:
        demand_shape(left_out, "left_out_log_probability", (n_points, n_tasks))


def demand_shape(array: NDArray, name: str, shape: tuple[int, ...]) -> None:
    """Raise an AssertionError unless an array of the posterior has this shape and is finite."""
    demand(
        np.shape(array) == shape,
        f"posterior.{name} must have the shape {shape}. Got {np.shape(array)}: see the docstring "
        "of Posterior.",
    )
    demand(np.isfinite(array).all(), f"posterior.{name} must be finite. Got {array}.")


def examine_probabilities(posterior: Posterior, decision: NDArray, rule: str) -> None:
    """Raise an AssertionError unless probabilities are monotone functions of the decision."""
    grid = np.linspace(decision.min(axis=0), decision.max(axis=0), 101)
    log_yes, log_no = posterior.log_probability(grid, rule)
    where = f"posterior.log_probability(decision, {rule!r})"
    demand(
        np.allclose(np.exp(log_yes) + np.exp(log_no), 1, rtol=0, atol=1e-9),
        f"{where} must be the logarithms of probabilities that sum to 1.",
    )
    demand(
        (np.diff(log_yes, axis=0) >= 0).all() and (np.diff(log_no, axis=0) <= 0).all(),
        f"{where}: p(yes) must grow with the decision.",
    )
    demand(
        (grid * (log_yes - log_no) >= 0).all(),
        f"{where}: 'yes' must be the more probable answer where the decision is positive.",
    )


def check_run(trial: Trial) -> None:
    """The run says how the posterior was found, and its warnings are issued."""
    for n_classes in (2, 3):
        X, y, _ = circle(n_classes)
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            fitted = trial.classifier().fit(X, y)
        elapsed = time.perf_counter() - began
        examine_run(fitted)
        run = fitted.run_
        demand(0 < run.seconds <= elapsed, "run_.seconds is not the time of the run.")
        given = [each.message for each in issued]
        demand(
            len(given) == len(run.warnings) and all(each in run.warnings for each in given),
            f"{trial.name} issued the warnings {given}, and its run has {list(run.warnings)}: put "
            "them into Run(warnings=...), the classifier issues them at the user's line.",
        )


def examine_run(fitted: BayesPointClassifier) -> None:
    """Raise an AssertionError if a run breaks the promises of its class."""
    run, n_tasks = fitted.run_, fitted.coding_.n_tasks
    run.check_state()
    demand(run.unit and run.summary, "Run needs a unit and a summary.")
    demand(fitted.n_iter_ == run.n_iter, "n_iter_ is not that of the run.")
    if run.history:
        demand(
            len(run.history) == n_tasks and max(map(len, run.history)) == run.n_iter,
            "Run.history must have a sequence for each task, the longest with n_iter numbers.",
        )
    for name, measured in run.measures.items():
        demand(
            isinstance(measured, np.ndarray)
            and measured.ndim in (1, 2)
            and len(measured) == n_tasks,
            f"Run.measures[{name!r}] must be an array of shape (n_tasks,) or (n_tasks, n).",
        )
    demand(
        all(isinstance(warning, Warning) for warning in run.warnings),
        f"Run.warnings must be warnings. Got {list(run.warnings)}.",
    )
    if run.converged:
        complaints = [each for each in run.warnings if isinstance(each, ConvergenceWarning)]
        demand(not complaints, f"a run that converged must not warn that it did not: {complaints}.")
    else:
        demand(
            run.warnings and run.remedy,
            "a run that is not what was asked for (converged=False) needs a warning and a remedy: "
            "set Run.warnings and Run.remedy.",
        )


def check_classes(trial: Trial) -> None:
    """Two, three and ten classes; one rule drives all predictions."""
    for n_classes in (2, 3, 10):
        X, codes, new = circle(n_classes)
        y = np.array([f"class {code}" for code in codes])
        fitted = trial.fit(X, y)
        for rule in RULES:
            fitted.set_params(decision=rule)
            case = f"With {n_classes} classes and decision={rule!r}"
            probability, scores = fitted.predict_proba(new), fitted.decision_function(new)
            shape = (len(new),) if n_classes == 2 else (len(new), n_classes)
            demand(
                probability.shape == (len(new), n_classes) and scores.shape == shape,
                f"{case} predictions have the shapes {probability.shape} and {scores.shape}.",
            )
            demand(
                np.allclose(probability.sum(axis=1), 1) and (probability >= 0).all(),
                f"{case} probabilities do not sum to 1: see posterior.log_probability.",
            )
            likeliest = fitted.classes_[probability.argmax(axis=1)]
            demand(
                (fitted.predict(new) == likeliest).all(),
                f"{case} predict does not take the most probable class: see posterior.decision and "
                "posterior.log_probability.",
            )
            score = fitted.score(X, y)
            demand(
                score > 1.5 / n_classes,
                f"{case}, which can be separated, {score:.0%} of the training points are right: "
                "the engine does not learn the labels of its tasks.",
            )
