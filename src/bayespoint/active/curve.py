"""The learning curve of an active learning run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The queries, the labels and the scores of an active learning run.

    Attributes
    ----------
    indices : ndarray of int of shape (n_asked,)
        Indices of the labelled points, in the order of the queries.
    labels : ndarray of shape (n_asked,)
        Their labels.
    skipped : ndarray of int
        Indices of points of which the oracle could not say what they are.
    n_start : int
        Number of initial points, which the classifier did not choose.
    n_labels : ndarray of int of shape (n_fits,)
        Number of labels of each fit.
    scores : ndarray of shape (n_fits,) or None
        Accuracy of each fit on the test points; None without test points.
    estimator : classifier or None
        The classifier of the last fit; None if the run ended before the first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import learn_actively
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learn_actively(
    ...     BayesPointClassifier(), X, lambda i: y[i], start=10, n_queries=5, random_state=0
    ... )
    >>> curve.n_labels
    array([10, 11, 12, 13, 14, 15])
    """

    indices: NDArray[np.intp]
    labels: NDArray
    skipped: NDArray[np.intp]
    n_start: int
    n_labels: NDArray[np.intp]
    scores: NDArray[np.float64] | None
    estimator: Any
