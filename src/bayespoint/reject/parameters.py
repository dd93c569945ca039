"""Checks of the parameters and labels of a selective classifier."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_consistent_length

from bayespoint.reject.scores import get_score
from bayespoint.tools import validation

# The parameters that define a threshold, and their ranges.
RULES: dict[str, Any] = {
    "rate": {"low": 0.0, "high": 1.0, "closed": "left"},
    "threshold": {"low": -np.inf, "high": np.inf, "closed": "both"},
    "cost": {"low": 0.0, "high": 1.0, "closed": "neither"},
    "risk": {"low": 0.0, "high": 1.0, "closed": "neither"},
}


def check_parameters(selective: Any) -> None:
    """Raise an error, in scikit-learn's wording, for the first invalid parameter."""
    owner = type(selective).__name__
    given = {name: getattr(selective, name) for name in RULES}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) != 1:
        got = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "none of them"
        raise ValueError(
            f"{owner} needs exactly one of 'rate', 'threshold', 'cost' and 'risk'. Got {got} "
            "instead: rate=0.05 rejects 5 % of the rows, cost=0.1 makes ten rejections cost as "
            "much as one error, risk=0.01 guarantees an error of at most 1 % on the accepted "
            "rows, threshold=t rejects scores below t."
        )
    for name in given:
        validation.check_number(selective, name, **RULES[name])
    validation.check_number(selective, "confidence_level", low=0.0, high=1.0, closed="neither")
    validation.check_number(selective, "calibration_size", low=0.0, high=1.0, closed="neither")
    get_score(selective.confidence, owner, parameter="confidence")
    _check_cv(selective)


def _check_cv(selective: Any) -> None:
    cv = selective.cv
    if isinstance(cv, str):
        allowed = cv in ("prefit", "holdout", "train")
    elif isinstance(cv, Integral):
        allowed = int(cv) >= 2
    else:
        allowed = cv is None or hasattr(cv, "split") or hasattr(cv, "__iter__")
    if not allowed:
        choices = "an int of at least 2, a splitter, an iterable of splits, None"
        words = f"{choices}, 'holdout', 'prefit' or 'train'"
        raise validation.parameter_error(selective, "cv", words)
    if selective.risk is not None and isinstance(cv, str) and cv == "train":
        raise ValueError(
            "risk and cv='train' exclude each other: errors on the training data bound nothing. "
            "Use cv='holdout' or cv='prefit' for a guarantee, or a number of folds for an estimate."
        )


def refuse_weights(sample_weight: ArrayLike | None) -> None:
    """Raise an error for weights in a calibration that needs rows that count once each."""
    if sample_weight is not None:
        raise ValueError(
            "risk and sample_weight exclude each other: the exact bound is for independent rows, "
            "and a row of weight k is not k independent rows. Fit the estimator with its "
            "weights, and pass FrozenEstimator(estimator) and unweighted calibration rows."
        )


def check_labels(selective: Any, X: Any, y: ArrayLike | None) -> NDArray:
    """The labels y as a one-dimensional array, one for each row of X."""
    if y is None:
        raise ValueError(
            f"{type(selective).__name__} requires y to be passed, but the target y is None."
        )
    labels = validation.column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    assert_all_finite(labels, input_name="y")
    validation.check_classification_targets(labels)
    return labels
