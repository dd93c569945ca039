"""Description of a fitted classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import get_engine
from bayespoint.tools.pipelines import split_pipeline

WRAPPED = ("best_estimator_", "estimator_")  # where searches and refusals keep what they fitted


def describe_model(estimator: Any) -> dict[str, str]:
    """Class, parameters, engine and what the training found, as far as each is known.

    >>> from bayespoint import BayesPointClassifier
    >>> machine = BayesPointClassifier(engine="laplace").fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    >>> words = describe_model(machine)
    >>> words["engine"], words["features"]
    ('LaplaceApproximation()', '1')
    """
    layers = fitted_layers(estimator)
    words = {"model": " > ".join(type(layer).__name__ for layer in layers)}
    words["parameters"] = " ".join(repr(estimator).split())
    for layer in layers:
        words |= facts(layer)
    return words


def fitted_layers(estimator: Any) -> list[Any]:
    """The estimator, then what is within it: steps of pipelines, winners of searches."""
    before, inner, _ = split_pipeline(estimator)
    if inner is estimator:
        found = (getattr(estimator, name, None) for name in WRAPPED)
        inner = next((one for one in found if one is not None), None)
    return [estimator, *(before or []), *([] if inner is None else fitted_layers(inner))]


def facts(fitted: Any) -> dict[str, str]:
    """Facts about one fitted estimator."""
    words = {}
    if hasattr(fitted, "best_params_"):
        words["chosen"] = ", ".join(f"{name} = {v!r}" for name, v in fitted.best_params_.items())
    if isinstance(fitted, BayesPointClassifier):
        words["engine"] = " ".join(repr(get_engine(fitted.engine)).split())
        words |= run_facts(fitted)
    if hasattr(fitted, "n_features_in_"):
        words["features"] = str(fitted.n_features_in_)
    return words


def run_facts(fitted: BayesPointClassifier) -> dict[str, str]:
    """Facts about the run of a fitted classifier."""
    posterior, run = fitted.posterior_, fitted.run_
    words = {"posterior": type(posterior).__name__, run.unit: str(run.n_iter)}
    words["convergence"] = run.summary
    if posterior.n_samples is not None:
        words["samples"] = str(posterior.n_samples)
    if posterior.log_evidence is not None:
        words["log evidence"] = f"{float(np.sum(posterior.log_evidence)):.2f}"
    if run.choice:
        words["chosen kernels"] = "; ".join(line.strip() for line in run.choice)
    if hasattr(fitted, "expected_scores_"):
        error, loss = fitted.expected_scores_["error"], fitted.expected_scores_["log_loss"]
        words["expected error"] = f"{error.value:.2%} ({error.low:.2%} to {error.high:.2%})"
        words["expected log-loss"] = str(loss)
    return words
