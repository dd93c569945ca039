"""Scores and predictions of a classifier on unseen data, by cross-validation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from bayespoint.delegation import Delegates
from bayespoint.reject.labels import encode
from bayespoint.reject.scores import SCORES, estimator_outputs

# How a threshold was set, as shown to people.
SOURCES = {
    "cross-validation": "threshold set by cross-validation on the training data",
    "prefit": "threshold set on held-out calibration data",
    "train": "threshold set on the training data",
    "given": "threshold given",
}


class WrapsClassifier(Delegates):
    """An estimator that wraps the classifier `estimator` and passes metadata to it."""

    _fitted = "estimator_"

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata passed to `fit` is routed to the `fit` of the classifier."""
        down = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=down)

    def _fit_clone(self, X: Any, y: NDArray, params: dict[str, Any]) -> Any:
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "fit", **params)["estimator"]["fit"]
        return clone(self.estimator).fit(X, y, **params)


class ScoresAndAnswers(WrapsClassifier):
    """A classifier whose ``predict`` returns scores and predictions, for `cross_val_predict`.

    Predictions are those of ``predict``, which need not be the class of the largest output.
    """

    def __init__(self, estimator: Any, *, score: str, classes: list) -> None:
        self.estimator = estimator
        self.score = score
        self.classes = classes

    def fit(self, X: Any, y: NDArray, **params: Any) -> "ScoresAndAnswers":
        """Fit the classifier."""
        self.estimator_ = self._fit_clone(X, y, params)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Scores and predictions."""
        return scores_and_answers(self.estimator_, X, self.score, self.classes)


def scores_and_answers(estimator: Any, X: Any, score: str, classes: list) -> NDArray[np.float64]:
    """Two columns: the score of each point, and the index in `classes` of its predicted label."""
    scores = SCORES[score].function(estimator_outputs(estimator, X, score))
    answers = np.asarray(estimator.predict(X))
    remedy = "use an estimator that predicts labels of its classes_ only"
    return np.column_stack([scores, encode(answers, classes, "predict", remedy)])
