"""Scores and predictions of a classifier on unseen data: held-out rows, cross-validation."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config, model_selection
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from bayespoint.classifier.calibration import one_of_each
from bayespoint.reject.curve import RejectionCurve
from bayespoint.reject.labels import encode
from bayespoint.reject.scores import SCORES, estimator_outputs
from bayespoint.tools.meta_estimators import MetaClassifier
from bayespoint.tools.pipelines import take

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
    if source in ("holdout", "cross-validation"):
        if source == "holdout":
            splits = [hold_out(y, selective.calibration_size, selective.random_state, groups)]
        else:
            splits = folds(selective.cv, X, y, groups)
        # A label that is not in a training part is an error as any other.
        classes = np.unique(y).tolist()
        found = model_selection.cross_validate(  # it cuts the parameters of fit as well
            estimator,
            X,
            y,
            cv=splits,
            params=params,
            scoring=no_score,
            n_jobs=selective.n_jobs,
            return_estimator=True,
            error_score="raise",
        )
        machines, is_matrix = found["estimator"], get_tags(estimator).input_tags.pairwise
        parts = []
        for machine, (train, test) in zip(machines, splits, strict=True):
            rows = take(X, test)[:, train] if is_matrix else take(X, test)
            parts.append(scores_and_answers(machine, rows, score, classes))
        fitted = machines[0] if source == "holdout" else selective._fit_clone(X, y, params)
        columns, tested = np.concatenate(parts), np.concatenate([test for _, test in splits])
        y = y[tested]
        weight = None if weight is None else np.asarray(weight)[tested]
        groups = None if groups is None else groups[tested]
    else:
        fitted = estimator if source == "prefit" else selective._fit_clone(X, y, params)
        classes = np.asarray(fitted.classes_).tolist()
        columns = scores_and_answers(fitted, X, score, classes)
    remedy = "calibrate on data of the classes that the estimator was fitted to"
    wrong = columns[:, 1] != encode(y, classes, "y", remedy)
    if groups is not None and selective.risk is not None:
        some = one_of_each(groups, check_random_state(selective.random_state))
        columns, wrong = columns[some], wrong[some]
    return fitted, RejectionCurve.from_confidence(columns[:, 0], wrong, weight)


def no_score(*fitted_and_data: Any) -> float:
    """What is measured of a fold: nothing, since the threshold is set on all of them together."""
    return 0.0


def folds(cv: Any, X: Any, y: NDArray, groups: NDArray | None) -> list[tuple[NDArray, NDArray]]:
    """The splits of cross-validation, with no group on both sides."""
    splitter = model_selection.check_cv(cv, y, classifier=True)
    if groups is not None and (cv is None or isinstance(cv, Integral)):
        splitter = model_selection.StratifiedGroupKFold(splitter.n_splits)
    splits = list(splitter.split(X, y, groups))
    times = np.bincount(np.concatenate([test for _, test in splits]))
    if times.max() > 1:
        raise ValueError(
            "Each row can be tested once, to set a threshold, and the test parts of cv overlap. "
            "Use a splitter without repetitions, such as StratifiedKFold."
        )
    return splits


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
    sizes: Any = {"test_size": calibration_size, "random_state": random_state}
    split = model_selection.StratifiedShuffleSplit(1, **sizes)
    train, held = next(split.split(shared, group[shared]))
    return np.concatenate([np.flatnonzero(alone), shared[train]]), shared[held]


def scores_and_answers(estimator: Any, X: Any, score: str, classes: list) -> NDArray[np.float64]:
    """Two columns: the score of each row, and the index in `classes` of its predicted label."""
    scores = SCORES[score].function(estimator_outputs(estimator, X, score))
    answers = np.asarray(estimator.predict(X))
    remedy = "use an estimator that predicts labels of its classes_ only"
    return np.column_stack([scores, encode(answers, classes, "predict", remedy)])
