"""Weights of features with their uncertainty, and the relevance of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.tools.json_values import plain
from bayespoint.tools.numbers import TINY
from bayespoint.tools.pipelines import split_pipeline

N_DRAWS = 1000  # from which intervals of weights are found: 95 % to half a percent
LARGEST = 5_000_000  # numbers drawn; of more weights there are fewer draws
FEWEST = 100  # draws, below which there are no intervals


@dataclass(frozen=True, eq=False)
class Features:
    """Relevance and weights of the features of a classifier.

    Attributes
    ----------
    names : list of str
        The features, after the steps of a pipeline.
    relevance : ndarray of shape (n_features,) or None
        ``feature_relevance_``, of sum 1.
    classes : list of str
        The classes that positive weights favour: the second of two, or each of several.
    weights : ndarray of shape (n_classes, n_features) or None
        ``coef_``, where the kernel is linear.
    low, high : ndarray of shape (n_classes, n_features) or None
        Ends of the 95 % intervals of the posterior.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reports import measure
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = BayesPointClassifier(kernel="linear", engine="laplace").fit(X, y > 1)
    >>> features = measure(clf, X, y > 1).features
    >>> features.names[features.relevance.argmax()]
    'petal length (cm)'
    >>> bool((features.low < features.weights).all())
    True
    """

    names: list[str]
    relevance: NDArray[np.float64] | None
    classes: list[str]
    weights: NDArray[np.float64] | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None

    @property
    def order(self) -> NDArray[np.intp]:
        """The features, the most relevant first."""
        if self.relevance is not None:
            return np.argsort(-self.relevance, kind="stable")
        weights = np.zeros((1, len(self.names))) if self.weights is None else self.weights
        if self.low is not None and self.high is not None:  # features have different units
            weights = weights / np.maximum(self.high - self.low, TINY)
        return np.argsort(-np.abs(weights).max(axis=0), kind="stable")

    def to_dict(self) -> dict[str, Any]:
        """A dict that JSON can represent."""
        return plain(vars(self))


def describe_features(estimator: Any) -> Features | None:
    """Relevance and weights of a Bayes point machine; None if it has neither."""
    machine = split_pipeline(estimator).last
    if not isinstance(machine, BayesPointClassifier):
        return None
    relevance = getattr(machine, "feature_relevance_", None)
    weights = getattr(machine, "coef_", None)
    if relevance is None and weights is None:
        return None
    labels = [str(label) for label in machine.classes_]
    classes = labels if weights is not None and len(weights) > 1 else labels[-1:]
    names = feature_names(estimator)
    if weights is None:
        return Features(names, relevance, classes)
    if relevance is not None and len(relevance) != weights.shape[1]:
        relevance = None  # of columns, not of levels
    return Features(names, relevance, classes, weights, *weight_intervals(machine))


def weight_intervals(machine: BayesPointClassifier) -> tuple[NDArray, NDArray] | tuple[None, None]:
    """2.5 % and 97.5 % quantiles of the weights of the features in the posterior."""
    n = min(N_DRAWS, LARGEST // machine.coef_.size)
    if n < FEWEST:
        return None, None
    drawn = machine.draw_weights(n, random_state=0)[:, :, : machine.model_.n_features]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return low, high


def feature_names(estimator: Any) -> list[str]:
    """Names of the features after the steps of a pipeline."""
    before, machine, _ = split_pipeline(estimator)
    table = machine.model_.table
    if table is not None and not table.is_plain and machine.kernel_.is_linear:
        return table.feature_names  # of which there are weights
    if before is not None and hasattr(before, "get_feature_names_out"):
        return [str(name).split("__", 1)[-1] for name in before.get_feature_names_out()]
    numbered = [f"x{number}" for number in range(machine.n_features_in_)]
    return [str(name) for name in getattr(machine, "feature_names_in_", numbered)]
