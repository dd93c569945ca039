"""The pool of unlabelled points, and the test points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length

from bayespoint.active.classifiers import n_rows, rows


class Pool:
    """Fits a classifier to some points of the pool and tests it.

    A precomputed kernel has a column for each labelled point, so its columns change with these.
    """

    def __init__(self, clf: Any, X: Any, X_test: Any, y_test: ArrayLike | None) -> None:
        if (X_test is None) != (y_test is None):
            raise ValueError(
                "X_test and y_test must be passed together. Got only "
                f"{'y_test' if X_test is None else 'X_test'}."
            )
        if X_test is not None:
            check_consistent_length(X_test, y_test)
        self.clf = clf
        self.X, self.X_test, self.y_test = X, X_test, y_test
        self.n_points = n_rows(X)
        self.pairwise = get_tags(clf).input_tags.pairwise
        if self.pairwise and np.shape(X) != (self.n_points, self.n_points):
            raise ValueError(
                "With a precomputed kernel X_pool must be the square matrix between all points of "
                f"the pool. Got shape {np.shape(X)} instead."
            )

    def fit(self, labelled: NDArray[np.intp], labels: NDArray) -> Any:
        """A clone of the classifier, fitted to the labelled points."""
        X = self.as_seen(self.X, labelled)
        return clone(self.clf).fit(rows(X, labelled), labels)

    def score(self, fitted: Any, labelled: NDArray[np.intp]) -> float:
        """Accuracy on the test points; NaN without test points."""
        if self.X_test is None:
            return np.nan
        return float(fitted.score(self.as_seen(self.X_test, labelled), self.y_test))

    def as_seen(self, X: Any, labelled: NDArray[np.intp]) -> Any:
        """The points as a classifier that was fitted to the labelled points takes them."""
        return np.asarray(X)[:, labelled] if self.pairwise else X
