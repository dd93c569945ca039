"""What is asked of a classifier: a posterior, and the answers of single classifiers from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayespoint.pipelines import split_pipeline

CHUNK = 1024  # points at a time, where all samples of the posterior answer


def machine_and_points(clf: Any, X: Any) -> tuple[Any, Any]:
    """The fitted machine, and the points as it sees them: a pipeline transforms them first."""
    check_is_fitted(clf)
    parts = split_pipeline(clf)
    return parts.last, parts.transform(X)


def check_machine(clf: Any) -> None:
    """Raise an error unless the classifier, or the last step of the pipeline, has a posterior."""
    last = split_pipeline(clf).last
    if not hasattr(last, "sample_proba"):
        raise TypeError(
            "Active learning needs a classifier that knows a distribution over classifiers: a "
            f"BayesPointClassifier, alone or as the last step of a pipeline. Got {last!r} instead."
        )


def n_rows(X: Any) -> int:
    """Number of points in an array, a frame, a list or a sparse matrix."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def rows(X: Any, indices: NDArray[np.intp]) -> Any:
    """Some of the points; those of a frame are a frame."""
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    return (X if hasattr(X, "shape") else np.asarray(X))[indices]


def in_chunks(X: Any) -> Iterator[Any]:
    """Some of the points at a time; frames stay frames."""
    for begin in range(0, n_rows(X), CHUNK):
        yield X[begin : begin + CHUNK]


def probabilities(machine: Any, outputs: NDArray) -> NDArray[np.float64]:
    """p(y | x, w) of classifiers w with these outputs, classifiers first, classes last."""
    log_yes, log_no = machine.posterior_.likelihood.log_likelihood(outputs)
    return np.moveaxis(machine.coding_.probabilities(log_yes, log_no), 1, 0)


def votes(machine: Any, outputs: NDArray) -> NDArray[np.bool_]:
    """The same, but one for the class that a classifier answers, and zero for the others."""
    decided = machine.coding_.decide(np.moveaxis(outputs, 1, 0))
    return decided[..., None] == np.arange(len(machine.classes_))


def drawn_outputs(machine: Any, X: Any, n_draws: int, seed: int) -> NDArray[np.float64]:
    """Outputs of ``n_draws`` classifiers, shape (n_points, n_draws, n_tasks).

    All samples of the posterior, if it has no more.
    """
    n_samples = machine.posterior_.n_samples
    if n_samples is not None and n_samples <= n_draws:
        return machine.sample_outputs(X)
    return machine.draw_outputs(X, n_draws, random_state=seed)
