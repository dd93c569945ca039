"""The fitted attributes of a classifier: what it shows of a model, and what a fit finds besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from bayespoint.classifier.calibration import Estimate, expected_scores, label_scores, trusted
from bayespoint.classifier.model import Model
from bayespoint.classifier.problem import Problem
from bayespoint.codings import Coding
from bayespoint.engines import Run
from bayespoint.exceptions import TaskWarning, warn_user
from bayespoint.kernels import Kernel
from bayespoint.posteriors import Posterior, SampledPosterior
from bayespoint.spaces import DualSpace
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.arrays import beside, is_tensor, namespace, to_host, to_numpy
from bayespoint.tools.numbers import TINY

EXCHANGED = 20, 200  # points between which cells are exchanged, at least and at most
MOST_EXCHANGED = 20_000  # of all columns
WEIGHTS = "weights of features are there with kernel='linear'; see also feature_relevance_"
LEFT_OUT = "engines with leave-one-out predictions, such as 'ep' and 'laplace', have it"
OUT_OF_BAG = "engine='perceptron' has it"
# What users look for in vain after some fits, and when it is there.
WHEN = {
    "coef_": WEIGHTS,
    "intercept_": WEIGHTS,
    "log_evidence_": "it takes a named kernel, such as 'rbf', and an engine that computes it, such "
    "as 'ep'",
    "feature_relevance_": "it is known for dense features, not for kernel matrices",
    "left_out_error_": LEFT_OUT,
    "expected_scores_": LEFT_OUT,
    "chosen_params_": "it takes kernel='auto', dense features, and engine='ep' or 'laplace'",
    "oob_decision_function_": OUT_OF_BAG,
    "oob_score_": OUT_OF_BAG,
}
FACTS = {name[:-1] for name in WHEN} - {"coef", "intercept", "log_evidence"}
# Attribute of the classifier -> what it is of a model; None where a fit does not have it.
ATTRIBUTES: dict[str, Callable[[Model], Any]] = {
    "posterior_": lambda model: model.posterior,
    "coding_": lambda model: model.coding,
    "classes_": lambda model: model.coding.classes,
    "kernel_": lambda model: model.space.kernel,
    "run_": lambda model: model.run,
    "n_iter_": lambda model: model.run.n_iter,
    "log_evidence_": lambda model: model.posterior.log_evidence,
    "coef_": lambda model: model.weights and model.weights[0],
    "intercept_": lambda model: model.weights and model.weights[1],
    **{f"{name}_": partial(Model.fact, name=name) for name in sorted(FACTS)},
}


class FittedAttributes:
    """The types of fitted attributes. All but the first three are read from the model."""

    not_stored: ClassVar = tuple(ATTRIBUTES)

    model_: Model
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    posterior_: Posterior
    coding_: Coding
    classes_: NDArray[Any]
    kernel_: Kernel
    run_: Run
    n_iter_: int
    log_evidence_: NDArray[np.float64]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    feature_relevance_: NDArray[np.float64]
    left_out_error_: float
    expected_scores_: dict[str, Estimate]
    chosen_params_: dict[str, Any]
    oob_decision_function_: NDArray[np.float64]
    oob_score_: float


def attribute(classifier: Any, name: str) -> Any:
    """A fitted attribute of a classifier; an AttributeError says when it is there."""
    value = ATTRIBUTES[name](classifier.model_)
    if value is None:
        owner = type(classifier).__name__
        raise AttributeError(f"{owner!r} object has no attribute {name!r}: {WHEN[name]}")
    return value


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if the block fails or is interrupted."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def warn_of(model: Model) -> None:
    """Warn of what went wrong in a fit, with the names of the tasks."""
    names = model.coding.task_names
    for warning in model.run.warnings:
        if isinstance(warning, TaskWarning):
            warning.name = names[warning.task] if len(names) > 1 else None
        warn_user(warning)


def facts_of(
    model: Model, problem: Problem, choice: Any = None, learns_temperature: bool = False
) -> dict[str, Any]:
    """What a fit finds besides the model, by name."""
    facts: dict[str, Any] = {}
    left_out = None if choice is None else choice.left_out
    if left_out is None and model.posterior.left_out_log_probability is not None:
        left_out = left_out_probabilities(model, problem.codes)
    if left_out is not None:
        learned = n_learned(model, problem, learns_temperature and model.coding.temperature != 1)
        facts |= scores(left_out, problem, learned if choice is None else choice.n_learned)
    if problem.groups is not None:
        facts["n_groups"] = int(problem.groups.max()) + 1
    facts |= out_of_bag(model, problem)
    relevance = relevance_of(model, problem.points)
    if relevance is not None:
        facts["feature_relevance"] = relevance
    if choice is not None:
        facts["chosen_params"] = {
            "standardize": model.scaling is not None,
            "multi_class": model.coding.setting,
            **choice.params,
        }
    return facts


def left_out_probabilities(model: Model, codes: NDArray) -> NDArray[np.float64]:
    """Probabilities of the classes of all training rows, given all other labels."""
    log_probability: Any = model.posterior.left_out_log_probability
    return model.coding.probabilities(*model.coding.left_out(log_probability, codes))


def n_learned(model: Model, problem: Problem, learns_temperature: bool) -> float:
    """Numbers that left-out predictions have from all labels: prior scale and temperature."""
    n = len(problem.codes) if problem.weight is None else problem.weight.sum()
    scale = float(np.ravel(model.run.measures.get("prior_scale", 1.0))[0])
    return (scale != 1) + learns_temperature * trusted(problem.n_units or n)


def scores(left_out: NDArray[np.float64], problem: Problem, learned: float) -> dict[str, Any]:
    """Expected scores, the leave-one-out error among them, and what sets of labels need."""
    codes, groups = problem.codes, problem.groups
    expected = expected_scores(left_out, codes, problem.weight, groups, learned)
    return {
        "expected_scores": expected,
        "left_out_error": expected["error"].value,
        "label_scores": label_scores(left_out, codes, groups),
    }


def out_of_bag(model: Model, problem: Problem) -> dict[str, Any]:
    """Decisions by classifiers that have not learned from a row, if the posterior has them."""
    posterior = model.posterior
    if not isinstance(posterior, SampledPosterior):
        return {}
    codes, weight, given = problem.codes, problem.weight, problem.given
    decision = posterior.oob_decision(model.decision)
    vars(posterior).pop("device_visits", None)
    if decision is None:
        return {}
    log_yes, log_no = posterior.log_probability(decision, model.decision)
    all_scores = model.coding.scores(decision, log_yes, log_no)
    facts: dict[str, Any] = {
        "oob_decision_function": lambda: at_given_points(to_host(all_scores), given)
    }
    known = namespace(decision).isfinite(decision).all(axis=1)
    if not known.any():
        return facts
    probabilities = model.coding.probabilities(log_yes[known], log_no[known])
    copies = None if weight is None else beside(decision, weight)[known]
    seen = beside(decision, codes)[known]
    groups = None if problem.groups is None else problem.groups[known]
    expected = expected_scores(probabilities, seen, copies, groups)
    facts |= {"expected_scores": expected, "oob_score": 1 - expected["error"].value}
    return facts | {"label_scores": label_scores(probabilities, seen, groups)}


def at_given_points(known: NDArray, given: NDArray[np.bool_]) -> NDArray:
    """Scores of all rows, NaN where the weight is 0; a column alone has no dimension."""
    scores = known
    if not given.all():
        scores = np.full((len(given), known.shape[1]), np.nan)
        scores[given] = known
    return scores[:, 0] if scores.shape[1] == 1 else scores


def relevance_of(model: Model, points: Any) -> Any:
    r"""Share of each column in what predictions depend on, or a function that finds it; or None.

    The relevance of a column is how much worse predictions become if its cells are exchanged
    between rows: the mean of :math:`\sum_y p(y | x) \log (p(y | x) / p(y | x'))` over training
    rows x, where x' has the column of another row. This is the expected fall of the log score,
    for labels that follow the model, and sees what columns do together. With a linear kernel it is
    the variance of the column's part of the outputs. All are scaled to sum 1.
    """
    kernel, is_far = model.kernel, is_tensor(points) and isinstance(model.space, DualSpace)
    if issparse(points) or kernel.is_precomputed or is_far or not len(points):
        return None
    model = replace(model, scaling=None)  # the points are scaled
    owner = np.arange(points.shape[1]) if model.table is None else model.table.owner
    if model.weights is not None and not kernel.normalize:
        if len(np.unique(owner)) == len(owner):
            return linear_relevance(model, Scaling.deviations(points))
        by_column = [(to_numpy(points)[:, owner == j], owner == j) for j in np.unique(owner)]
        parts = [(own @ model.weights[0][:, its].T).var(axis=0).sum() for own, its in by_column]
        return shares(np.array(parts))
    most = int(np.clip(MOST_EXCHANGED // (owner.max() + 1), *EXCHANGED))
    some = to_numpy(points[:: -(-len(points) // most)])
    return partial(exchanged, model, some, owner)


def exchanged(model: Model, points: NDArray, owner: NDArray[np.intp]) -> NDArray[np.float64]:
    """The relevance of columns, of which each has some of the features."""
    before = np.maximum(model.predict_proba(points), TINY)
    relevance = np.empty(owner.max() + 1)
    for j in range(len(relevance)):
        changed, own = points.copy(), owner == j
        changed[:, own] = np.roll(points[:, own], max(1, len(points) // 2), axis=0)
        after = np.maximum(model.predict_proba(changed), TINY)
        relevance[j] = (before * np.log(before / after)).sum(axis=1).mean()
    return shares(np.maximum(relevance, 0.0))


def linear_relevance(model: Model, spread: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """That of a linear kernel, from the standard deviations of the features; None of others."""
    if model.weights is None or model.kernel.normalize:
        return None
    coef = model.weights[0]
    largest = max(float(np.abs(coef).max()), TINY)  # squares do not overflow
    share = np.sqrt(np.square(coef / largest).mean(axis=0)) * spread
    return shares(np.square(share / max(share.max(), TINY)))


def shares(relevance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same with sum 1."""
    total = relevance.sum()
    return relevance / total if total > 0 else np.full(len(relevance), 1 / len(relevance))
