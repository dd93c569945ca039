"""How a machine got better with every label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """What was asked, what was answered, and how good the machine became.

    Attributes
    ----------
    indices : ndarray of int of shape (n_asked,)
        Points of the pool in the order in which their labels were asked for.
    labels : ndarray of shape (n_asked,)
        The answers.
    n_start : int
        How many of these made the start, before the machine chose.
    n_labels : ndarray of int of shape (n_fits,)
        Number of labels of each fit.
    scores : ndarray of shape (n_fits,) or None
        Accuracy of each fit on the test points; None without test points.
    estimator : classifier
        The last fit.

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
    n_start: int
    n_labels: NDArray[np.intp]
    scores: NDArray[np.float64] | None
    estimator: Any
