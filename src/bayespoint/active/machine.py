"""What is asked of a classifier: a posterior, and the answers of single classifiers from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bayespoint.classifier import class_probabilities

CHUNK = 1024  # points at a time, where all samples of the posterior answer


def machine_and_points(clf: Any, X: Any) -> tuple[Any, Any]:
    """The fitted machine, and the points as it sees them: a pipeline transforms them first."""
    check_is_fitted(clf)
    if isinstance(clf, Pipeline):
        return clf[-1], clf[:-1].transform(X) if len(clf) > 1 else X
    return clf, X


def check_machine(clf: Any) -> None:
    """Raise an error unless the classifier, or the last step of the pipeline, has a posterior."""
    last = clf[-1] if isinstance(clf, Pipeline) else clf
    if not hasattr(last, "sample_proba"):
        raise TypeError(
            "Active learning needs a classifier that knows a distribution over classifiers: a "
            f"BayesPointClassifier, alone or as the last step of a pipeline. Got {last!r} instead."
        )


def has_samples(machine: Any) -> bool:
    """Whether the posterior is known by samples, so that all of them can be asked."""
    return hasattr(machine, "sample_outputs")


def in_chunks(X: Any) -> Iterator[Any]:
    """Some rows of the points at a time; frames stay frames."""
    for begin in range(0, len(X), CHUNK):
        yield X[begin : begin + CHUNK]


def answers_of_samples(machine: Any, X: Any) -> NDArray[np.float64]:
    """p(y | x, w) of every sample w, shape (n_samples, n_points, n_classes)."""
    likelihood = machine.posterior_.log_likelihood(machine.sample_outputs(X))
    return np.moveaxis(class_probabilities(*likelihood), 1, 0)


def answers(machine: Any, X: Any, n_draws: int, seed: int) -> NDArray[np.float64]:
    """p(y | x, w) of ``n_draws`` classifiers from the posterior, or of all, if it has no more."""
    if has_samples(machine) and machine.posterior_.n_samples <= n_draws:
        return answers_of_samples(machine, X)
    return machine.sample_proba(X, n_draws, random_state=seed)
