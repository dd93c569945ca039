"""Base class of meta-estimators: classifiers that predict with another one that they fit."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def delegated(name: str, words: str) -> Any:
    """A method that calls that of the inner classifier; it exists if the inner one has it."""

    def is_there(self: MetaClassifier) -> bool:
        self._check_method(name)
        return True

    def method(self: MetaClassifier, X: Any) -> NDArray:
        check_is_fitted(self)
        return getattr(self._inner(), name)(X)

    method.__name__, method.__doc__ = name, words
    return available_if(is_there)(method)


class MetaClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier around another one, its parameter ``estimator``."""

    estimator: Any
    _fitted = "best_estimator_"  # where a fit keeps the other one

    def _inner(self) -> Any:
        """The fitted classifier, or before the fit the one to be fitted."""
        return getattr(self, self._fitted, self.estimator)

    def _check_method(self, name: str) -> None:
        """Raise the error of the attribute itself, which says what is missing."""
        getattr(self._inner(), name)

    @property
    def n_features_in_(self) -> int:
        """Number of features, where the fitted classifier knows it."""
        return getattr(self, self._fitted).n_features_in_

    @property
    def feature_names_in_(self) -> NDArray:
        """Names of the features, where the fitted classifier knows them."""
        return getattr(self, self._fitted).feature_names_in_

    predict = delegated("predict", "Labels, from the fitted classifier.")
    predict_proba = delegated("predict_proba", "Class probabilities, from the fitted classifier.")
    decision_function = delegated("decision_function", "Scores, from the fitted classifier.")
    vote_shares = delegated("vote_shares", "Vote shares, from the fitted classifier.")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._inner())
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        return tags
