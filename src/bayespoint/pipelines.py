"""Pipelines taken apart: what comes before the classifier, and the classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline


class Parts(NamedTuple):
    """An estimator in two parts.

    Attributes
    ----------
    before : Pipeline or None
        The steps before the last; None where there are none.
    last : estimator
        The last step, or the estimator itself if it is no pipeline.
    prefix : str
        What the names of the last step's parameters begin with, such as ``"svc__"``, or ``""``.
    """

    before: Pipeline | None
    last: Any
    prefix: str

    def transform(self, X: Any) -> Any:
        """Points as the last step sees them."""
        return X if self.before is None else self.before.transform(X)


def split_pipeline(estimator: Any) -> Parts:
    """Take an estimator apart, which may be a pipeline or not.

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
