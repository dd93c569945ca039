"""The fitted attributes of a classifier: what it shows of a model, and what a fit finds besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from bayespoint.classifier.calibration import Estimate, expected_scores, label_scores
from bayespoint.classifier.model import Model
from bayespoint.classifier.problem import Problem
from bayespoint.codings import Coding
from bayespoint.engines import Run
from bayespoint.exceptions import TaskWarning, warn_user
from bayespoint.kernels import Kernel
from bayespoint.posteriors import MixturePosterior, Posterior
from bayespoint.spaces import DualSpace
from bayespoint.spaces.scaling import Scaling
from bayespoint.tools.arrays import beside, is_tensor, namespace, to_host, to_numpy
from bayespoint.tools.numbers import TINY

MOST_SLOPES = 200  # points at which slopes are computed
FACTS = (
    "feature_relevance",
    "left_out_error",
    "expected_scores",
    "chosen_params",
    "oob_decision_function",
    "oob_score",
)
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
    **{f"{name}_": partial(Model.fact, name=name) for name in FACTS},
}
WEIGHTS = "weights of features are there with kernel='linear'; see also feature_relevance_"
LEFT_OUT = "engines with leave-one-out predictions, such as 'ep' and 'laplace', have it"
OUT_OF_BAG = "engine='perceptron' has it"
# What users look for in vain after some fits, and when it is there.
WHEN = {
    "coef_": WEIGHTS,
    "intercept_": WEIGHTS,
    "log_evidence_": "it takes a named kernel, such as 'rbf', and an engine that computes it, such "
    "as 'ep'",
    "feature_relevance_": "it is known for dense features and kernels that are linear, Gaussian or "
    "sums of these",
    "left_out_error_": LEFT_OUT,
    "expected_scores_": LEFT_OUT,
    "chosen_params_": "it takes kernel='auto', dense features, and engine='ep' or 'laplace'",
    "oob_decision_function_": OUT_OF_BAG,
    "oob_score_": OUT_OF_BAG,
}


class FittedAttributes:
    """The types of fitted attributes, for type checkers."""

    model_: Model
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


def facts_of(model: Model, problem: Problem, choice: Any = None) -> dict[str, Any]:
    """What a fit finds besides the model, by name."""
    facts: dict[str, Any] = {}
    left_out = None if choice is None else choice.left_out
    if left_out is None and model.posterior.left_out_log_probability is not None:
        left_out = left_out_probabilities(model, problem.codes)
    if left_out is not None:
        facts |= scores(left_out, problem.codes, problem.weight)
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
    """Probabilities of the classes of all training points, given all other labels."""
    log_probability: Any = model.posterior.left_out_log_probability
    return model.coding.probabilities(*model.coding.left_out(log_probability, codes))


def scores(
    left_out: NDArray[np.float64], codes: NDArray, weight: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Expected scores, the leave-one-out error among them, and what sets of labels need."""
    expected = expected_scores(left_out, codes, weight)
    return {
        "expected_scores": expected,
        "left_out_error": expected["error"].value,
        "label_scores": label_scores(left_out, codes),
    }


def out_of_bag(model: Model, problem: Problem) -> dict[str, Any]:
    """Decisions by classifiers that have not learned from a point, if the posterior has them."""
    posterior: Any = model.posterior
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
    facts["label_scores"] = label_scores(probabilities, seen)
    return facts | with_accuracy(expected_scores(probabilities, seen, copies))


def with_accuracy(expected: dict[str, Any]) -> dict[str, Any]:
    """Expected scores, and the accuracy among them."""
    return {"expected_scores": expected, "oob_score": 1 - expected["error"].value}


def at_given_points(known: NDArray, given: NDArray[np.bool_]) -> NDArray:
    """Scores of all points, NaN where the weight is 0; a column alone has no dimension."""
    scores = known
    if not given.all():
        scores = np.full((len(given), known.shape[1]), np.nan)
        scores[given] = known
    return scores[:, 0] if scores.shape[1] == 1 else scores


def relevance_of(
    model: Model, X: Any, spread: NDArray[np.float64] | None = None
) -> NDArray[np.float64] | None:
    r"""Share of each feature in the squared slopes of the outputs; None if it is not known.

    A feature of variance :math:`s_j^2` has the relevance :math:`s_j^2\, E (\partial f / \partial
    x_j)^2`, scaled to sum 1, with the mean over training points of the Bayes point's slopes.

    ``spread`` are standard deviations of the features, if they are not those of the points X.
    """
    if issparse(X):
        return None
    if isinstance(model.posterior, MixturePosterior):
        parts = zip(model.space.spaces, model.posterior.members, strict=True)
        known = [relevance_in(space, member.mean, X, spread) for space, member in parts]
        if any(one is None for one in known):
            return None
        return model.posterior.weights @ np.array(known)
    return relevance_in(model.space, model.posterior.mean, X, spread)


def relevance_in(
    space: Any, mean: NDArray, X: Any, spread: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    """The relevance of features for weights of this mean in one space."""
    if space.kernel.is_precomputed:
        return None
    if space.kernel.is_linear:
        if space.kernel.normalize:
            return None
        n_features = X.shape[1] if spread is None else len(spread)
        slopes = [w[None, :n_features] for w in space.primal(mean).T]
    elif is_tensor(X) and isinstance(space, DualSpace):  # would take longer than all the rest
        return None
    else:
        some = to_numpy(X[:: -(-len(X) // MOST_SLOPES)])
        slopes = [space.feature_slopes(some, weights) for weights in mean.T]
        if any(one is None for one in slopes):
            return None
    steepest = max(max(float(np.abs(one).max()) for one in slopes), TINY)  # squares do not overflow
    squares = np.mean([np.square(one / steepest).mean(axis=0) for one in slopes], axis=0)
    share = np.sqrt(squares) * (Scaling.deviations(X) if spread is None else spread)
    relevance = np.square(share / max(share.max(), TINY))
    total = relevance.sum()
    return relevance / total if total > 0 else np.full(len(relevance), 1 / len(relevance))
