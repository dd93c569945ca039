"""Classifiers with a posterior, and the answers of single classifiers drawn from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.training_rows import machine_of
from bayespoint.tools.pipelines import n_rows, split_pipeline

CHUNK = 1024  # points at a time, for outputs of all samples of the posterior


def unwrap(clf: Any, X: Any) -> tuple[BayesPointClassifier, Any]:
    """The fitted classifier, and the points transformed by the pipeline before it."""
    parts = machine_of(clf)
    return parts.last, parts.transform(X)


def check_classifier(clf: Any) -> None:
    """Raise an error unless the classifier, or the last step of the pipeline, has a posterior."""
    last = split_pipeline(clf).last
    if not hasattr(last, "sample_proba"):
        raise TypeError(
            "Active learning needs a classifier with a posterior: a BayesPointClassifier, alone or "
            f"as the last step of a pipeline. Got {last!r} instead."
        )


def in_chunks(X: Any) -> Iterator[Any]:
    """The points, chunk by chunk; a DataFrame stays a DataFrame."""
    for begin in range(0, n_rows(X), CHUNK):
        yield X[begin : begin + CHUNK]


def probabilities(classifier: BayesPointClassifier, outputs: NDArray) -> NDArray[np.float64]:
    """p(y | x, w) of classifiers w from their outputs, (n_classifiers, n_points, n_classes)."""
    log_yes, log_no = classifier.posterior_.likelihood.log_likelihood(outputs)
    single = classifier.coding_.probabilities(log_yes, log_no, temperature=1.0)
    return np.moveaxis(single, 1, 0)


def votes(classifier: BayesPointClassifier, outputs: NDArray) -> NDArray[np.bool_]:
    """Whether each classifier predicts each class, (n_classifiers, n_points, n_classes)."""
    decided = classifier.coding_.decide(np.moveaxis(outputs, 1, 0))
    return decided[..., None] == np.arange(len(classifier.classes_))


def drawn_outputs(
    classifier: BayesPointClassifier, X: Any, n_draws: int, seed: int
) -> NDArray[np.float64]:
    """Outputs of ``n_draws`` classifiers, shape (n_points, n_draws, n_tasks).

    If the posterior has no more samples than that, all of them are used.
    """
    n_samples = classifier.posterior_.n_samples
    if n_samples is not None and n_samples <= n_draws:
        return classifier.sample_outputs(X)
    return classifier.draw_outputs(X, n_draws, random_state=seed)
