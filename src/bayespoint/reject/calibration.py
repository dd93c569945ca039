"""Scores and predictions of a classifier on unseen data: held-out rows, cross-validation."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedShuffleSplit,
    check_cv,
    cross_val_predict,
    cross_validate,
)
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from bayespoint.classifier.calibration import one_of_each
from bayespoint.reject.curve import RejectionCurve
from bayespoint.reject.labels import encode
from bayespoint.reject.scores import SCORES, estimator_outputs
from bayespoint.tools.meta_estimators import MetaClassifier

# How a threshold was set, as shown to people.
SOURCES = {
    "cross-validation": "threshold set by cross-validation on the training data",
    "prefit": "threshold set on held-out calibration data",
    "holdout": "threshold set on a held-out part of the data",
    "train": "threshold set on the training data",
    "given": "threshold given",
}


class WrapsClassifier(MetaClassifier):
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


@dataclass(eq=False, repr=False)
class ScoresAndAnswers(WrapsClassifier):
    """A classifier whose ``predict`` returns scores and predictions, for `cross_val_predict`.

    Predictions are those of ``predict``, which need not be the class of the largest output.
    """

    estimator: Any
    _: KW_ONLY
    score: str
    classes: list

    def fit(self, X: Any, y: NDArray, **params: Any) -> "ScoresAndAnswers":
        """Fit the classifier."""
        self.estimator_ = self._fit_clone(X, y, params)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Scores and predictions."""
        return scores_and_answers(self.estimator_, X, self.score, self.classes)


def takes_groups(estimator: Any) -> bool:
    """Whether groups are to be passed to the fit of an estimator."""
    return get_config()["enable_metadata_routing"] or has_fit_parameter(estimator, "groups")


def calibrate(
    selective: Any,
    source: str,
    X: Any,
    y: NDArray,
    weight: ArrayLike | None,
    groups: NDArray[np.intp] | None,
    params: dict,
) -> tuple[Any, RejectionCurve]:
    """The fitted classifier of a selective one, and its rejection curve on the calibration data.

    `source` is a key of SOURCES; `params` are for the fit.
    """
    estimator, score = selective.estimator, selective.confidence
    if source == "holdout":
        # A label that is not in the training part is an error as any other.
        classes = np.unique(y).tolist()
        split = hold_out(y, selective.calibration_size, selective.random_state, groups)
        fold = ScoresAndAnswers(estimator, score=score, classes=classes)
        fitted, columns = fit_and_hold_out(fold, X, y, split, params)
        y = y[split[1]]
        weight = None if weight is None else np.asarray(weight)[split[1]]
        groups = None if groups is None else groups[split[1]]
    else:
        fitted = estimator if source == "prefit" else selective._fit_clone(X, y, params)
        classes = np.asarray(fitted.classes_).tolist()
        if source == "cross-validation":
            fold = ScoresAndAnswers(estimator, score=score, classes=classes)
            cv, jobs = check_cv(selective.cv, y, classifier=True), selective.n_jobs
            if groups is not None:
                if selective.cv is None or isinstance(selective.cv, Integral):
                    cv = StratifiedGroupKFold(cv.n_splits)
                cv = list(cv.split(X, y, groups))
            columns = cross_val_predict(fold, X, y, cv=cv, n_jobs=jobs, params=params)
        else:
            columns = scores_and_answers(fitted, X, score, classes)
    remedy = "calibrate on data of the classes that the estimator was fitted to"
    wrong = columns[:, 1] != encode(y, classes, "y", remedy)
    if groups is not None and selective.risk is not None:
        some = one_of_each(groups, check_random_state(selective.random_state))
        columns, wrong = columns[some], wrong[some]
    return fitted, RejectionCurve.from_confidence(columns[:, 0], wrong, weight)


def hold_out(
    y: NDArray, calibration_size: float, random_state: Any, groups: NDArray | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of the rows for training and of those held out, in equal shares of every class.

    The only row of a class is for training, so that the classifier knows the class. Groups are
    held out as a whole, each of the class of its first row.
    """
    if groups is not None:
        _, first, group = np.unique(groups, return_index=True, return_inverse=True)
        train, held = hold_out(y[first], calibration_size, random_state)
        return np.flatnonzero(np.isin(group, train)), np.flatnonzero(np.isin(group, held))
    _, group, counts = np.unique(y, return_inverse=True, return_counts=True)
    alone = counts[group] == 1
    shared = np.flatnonzero(~alone)
    if not len(shared):
        raise ValueError(f"Cannot hold out a part of n_samples={len(y)}: no class has two rows.")
    split = StratifiedShuffleSplit(1, test_size=calibration_size, random_state=random_state)
    train, held = next(split.split(shared, group[shared]))
    return np.concatenate([np.flatnonzero(alone), shared[train]]), shared[held]


def fit_and_hold_out(
    fold: ScoresAndAnswers, X: Any, y: NDArray, split: tuple[NDArray, NDArray], params: dict
) -> tuple[Any, NDArray[np.float64]]:
    """The classifier fitted to one part, and its scores and predictions on the other."""
    columns: list[NDArray] = []

    def keep(fitted: ScoresAndAnswers, X_held: Any, y_held: NDArray) -> float:
        columns.append(fitted.predict(X_held))
        return 0.0

    # It also cuts the parameters of fit, and both sides of a precomputed kernel.
    found = cross_validate(
        fold, X, y, cv=[split], scoring=keep, params=params, return_estimator=True,
        error_score="raise",
    )  # fmt: skip
    return found["estimator"][0].estimator_, columns[0]


def scores_and_answers(estimator: Any, X: Any, score: str, classes: list) -> NDArray[np.float64]:
    """Two columns: the score of each row, and the index in `classes` of its predicted label."""
    scores = SCORES[score].function(estimator_outputs(estimator, X, score))
    answers = np.asarray(estimator.predict(X))
    remedy = "use an estimator that predicts labels of its classes_ only"
    return np.column_stack([scores, encode(answers, classes, "predict", remedy)])
