"""Inputs of any type, and pipelines split into their preprocessing and their classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline


class Parts(NamedTuple):
    """The two parts of an estimator.

    Attributes
    ----------
    before : Pipeline or None
        The steps before the last, or None.
    last : estimator
        The last step, or the estimator itself if it is not a pipeline.
    prefix : str
        Prefix of the last step's parameters, such as ``"svc__"``, or ``""``.
    """

    before: Pipeline | None
    last: Any
    prefix: str

    def transform(self, X: Any) -> Any:
        """Points as the last step sees them."""
        return X if self.before is None else self.before.transform(X)


def n_rows(X: Any) -> int:
    """Number of rows of an array, a data frame, a list or a sparse matrix, which has no length."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take(X: Any, indices: Any) -> Any:
    """Some of the rows; a DataFrame stays a DataFrame."""
    if hasattr(X, "iloc"):
        return X.iloc[indices]
    if issparse(X):  # some formats have no rows to take
        return X.tocsr()[indices]
    return (X if hasattr(X, "shape") else np.asarray(X))[indices]


def fit_weighted(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a classifier, or a pipeline whose last step gets the weights."""
    weight = {f"{split_pipeline(estimator).prefix}sample_weight": sample_weight}
    return estimator.fit(X, y, **({} if sample_weight is None else weight))


def split_pipeline(estimator: Any) -> Parts:
    """Split an estimator, which need not be a pipeline.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> split_pipeline(make_pipeline(StandardScaler(), SVC())).prefix
    'svc__'
    >>> split_pipeline(SVC())
    Parts(before=None, last=SVC(), prefix='')
    """
    if not isinstance(estimator, Pipeline):
        return Parts(None, estimator, "")
    name, last = estimator.steps[-1]
    return Parts(estimator[:-1] if len(estimator) > 1 else None, last, f"{name}__")
