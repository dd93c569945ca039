"""What a search hands on to the estimator that it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def _estimator_has(method: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        if not self.refit:
            raise AttributeError(
                f"This EvidenceSearch has refit=False: {method} is there only with refit=True. "
                "Fit an estimator with best_params_ yourself, or refit."
            )
        # The error of the attribute itself says what is missing.
        getattr(getattr(self, "best_estimator_", self.estimator), method)
        return True

    return check


class DelegatesToBest(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A search whose predictions are those of ``best_estimator_``, if it has ``refit``."""

    estimator: Any
    refit: bool
    best_estimator_: Any

    @property
    def classes_(self) -> NDArray:
        """The labels, sorted."""
        _estimator_has("classes_")(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        check_is_fitted(self)
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray:
        """Their names, if they have any."""
        check_is_fitted(self)
        return self.best_estimator_.feature_names_in_

    @available_if(_estimator_has("predict"))
    def predict(self, X: ArrayLike) -> NDArray:
        """Labels, from the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities, from the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores, from the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_estimator_has("vote_shares"))
    def vote_shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """Vote shares, from the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.vote_shares(X)

    @available_if(_estimator_has("score"))
    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of the best estimator (the evidence is ``best_score_``)."""
        check_is_fitted(self)
        return self.best_estimator_.score(X, y, sample_weight=sample_weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_" if self.refit else "best_params_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.non_deterministic = inner.non_deterministic
        return tags
