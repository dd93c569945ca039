"""Checks of the parameters and labels of a selective classifier."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from bayespoint.reject.scores import get_score
from bayespoint.validation import check_number, parameter_error

# The parameters that define a threshold, and their ranges.
RULES: dict[str, Any] = {
    "rate": {"low": 0.0, "high": 1.0, "closed": "left"},
    "threshold": {"low": -np.inf, "high": np.inf, "closed": "both"},
    "cost": {"low": 0.0, "high": 1.0, "closed": "neither"},
}


def check_parameters(selective: Any) -> None:
    """Raise an error, in scikit-learn's wording, for the first invalid parameter."""
    owner = type(selective).__name__
    given = {name: getattr(selective, name) for name in RULES}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) != 1:
        got = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "none of them"
        raise ValueError(
            f"{owner} needs exactly one of 'rate', 'threshold' and 'cost'. Got {got} instead: "
            "rate=0.05 rejects 5 % of the points, cost=0.1 makes ten rejections cost as much as "
            "one error, threshold=t rejects scores below t."
        )
    for name in given:
        check_number(selective, name, **RULES[name])
    get_score(selective.confidence, owner, parameter="confidence")
    _check_cv(selective)


def _check_cv(selective: Any) -> None:
    cv = selective.cv
    if isinstance(cv, str):
        allowed = cv in ("prefit", "train")
    elif isinstance(cv, Integral):
        allowed = int(cv) >= 2
    else:
        allowed = cv is None or hasattr(cv, "split") or hasattr(cv, "__iter__")
    if not allowed:
        choices = "an int of at least 2, a splitter, an iterable of splits, 'prefit' or 'train'"
        raise parameter_error(selective, "cv", choices)


def check_labels(selective: Any, X: Any, y: ArrayLike | None) -> NDArray:
    """The labels y as a one-dimensional array, one for each row of X."""
    if y is None:
        raise ValueError(
            f"{type(selective).__name__} requires y to be passed, but the target y is None."
        )
    labels = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels
