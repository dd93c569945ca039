"""Confidence scores: how certain a prediction is.

Each score is an entry of :data:`SCORES`: a function of the outputs, the methods of an estimator
that return these outputs, and a description.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def largest_output(outputs: NDArray) -> NDArray:
    """The largest output, max_y f_y(x), as in Large Scale Bayes Point Machines."""
    return outputs.max(axis=1)


def gap_of_two_largest(outputs: NDArray) -> NDArray:
    """The largest output minus the second largest."""
    second, first = np.partition(outputs, -2, axis=1)[:, -2:].T
    return first - second


@dataclass(frozen=True)
class Score:
    """A confidence score.

    Attributes
    ----------
    function : callable
        Takes outputs of shape (n_samples, n_classes) and returns one number per sample; larger is
        more certain.
    methods : tuple of str
        Methods of an estimator that return the outputs. The first one that exists is used.
    words : str
        Description of the score, for axes and messages.
    shares : bool
        Whether the outputs are shares in [0, 1]. One-dimensional outputs are then the share p of
        the second class, and mean (1 - p, p). Otherwise they are decision values f, and mean
        (-f, f).

    Examples
    --------
    >>> from bayespoint.reject import SCORES
    >>> {name: score.words for name, score in SCORES.items() if score.shares}
    {'vote': 'vote share', 'proba': 'predictive probability'}
    """

    function: Callable[[NDArray], NDArray]
    methods: tuple[str, ...]
    words: str
    shares: bool = False


_ANY_OUTPUT = ("decision_function", "predict_proba")

SCORES: MappingProxyType[str, Score] = MappingProxyType(
    {
        "max": Score(largest_output, _ANY_OUTPUT, "largest output"),
        "gap": Score(gap_of_two_largest, _ANY_OUTPUT, "gap between the two largest outputs"),
        "vote": Score(largest_output, ("vote_shares",), "vote share", shares=True),
        "proba": Score(largest_output, ("predict_proba",), "predictive probability", shares=True),
    }
)

# What to do if an estimator has none of the methods that a score needs.
_REMEDY = {
    "vote": "use a BayesPointClassifier, add a method vote_shares(X) to your ensemble that returns "
    "an array of shape (n_samples, n_classes) with its columns in the order of classes_, or use "
    "score='max', 'gap' or 'proba'",
    "proba": "use score='max' or 'gap', or wrap the estimator in CalibratedClassifierCV",
}


def get_score(name: str, owner: str, parameter: str = "score") -> Score:
    """The score of this name; `owner` and `parameter` are for the error message."""
    if not isinstance(name, str) or name not in SCORES:
        raise ValueError(
            f"The '{parameter}' parameter of {owner} must be a str among {sorted(SCORES)}. "
            f"Got {name!r} instead."
        )
    return SCORES[name]


def as_columns(outputs: ArrayLike, score: Score) -> NDArray[np.float64]:
    """Outputs as a finite array of shape (n_samples, n_classes), checked."""
    values = np.asarray(outputs, dtype=np.float64)
    if values.ndim not in (1, 2) or len(values) == 0 or (values.ndim == 2 and len(values.T) < 2):
        raise ValueError(
            "outputs must have shape (n_samples, n_classes) with at least two columns, or "
            "(n_samples,) for two classes, with at least one sample. Got shape "
            f"{values.shape} instead."
        )
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"outputs must be finite. Got NaN or infinity in {np.count_nonzero(~finite)} of "
            f"{len(values)} rows, first in row {np.argmin(finite)}; remove these rows from y_true "
            "and outputs, or repair the classifier that gave them."
        )
    # Probabilities may exceed 1 by rounding.
    if score.shares and (values.min() < -1e-9 or values.max() > 1 + 1e-9):
        raise ValueError(
            f"outputs must lie in [0, 1] for a score by {score.words}. Got values from "
            f"{values.min():g} to {values.max():g}; use score='max' for decision values."
        )
    if values.ndim == 1:
        other = 1.0 - values if score.shares else -values
        values = np.column_stack([other, values])
    return values


def confidence(outputs: ArrayLike, score: str = "max") -> NDArray[np.float64]:
    """Compute the confidence score of each row of outputs.

    Parameters
    ----------
    outputs : array-like of shape (n_samples, n_classes) or (n_samples,)
        Real-valued outputs f_y(x), one column per class. For two classes they can be
        one-dimensional: decision values f, which mean the columns (-f, f), so that ``"max"`` is the
        absolute value; for ``"vote"`` and ``"proba"`` the share of the second class.
    score : {"max", "gap", "vote", "proba"}, default="max"
        A name in :data:`SCORES`.

    Returns
    -------
    ndarray of shape (n_samples,)
        Scores; larger is more certain.

    Examples
    --------
    >>> from bayespoint.reject import confidence
    >>> confidence([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]], score="gap")
    array([0.25, 0.  ])
    >>> confidence([-3.0, 1.0])
    array([3., 1.])
    """
    chosen = get_score(score, "confidence")
    return chosen.function(as_columns(outputs, chosen))


def estimator_outputs(estimator: Any, X: Any, score: str = "max") -> NDArray[np.float64]:
    """Compute the outputs of a fitted classifier that a score needs.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier.
    X : array-like of shape (n_samples, n_features)
        Rows, in any form that the classifier accepts.
    score : {"max", "gap", "vote", "proba"}, default="max"
        ``"max"`` and ``"gap"`` use ``decision_function``, or ``predict_proba`` if there is none;
        ``"proba"`` uses ``predict_proba``; ``"vote"`` uses ``vote_shares``.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Two columns for two classes.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.reject import estimator_outputs
    >>> clf = BayesPointClassifier(kernel="linear", fit_intercept=False).fit([[-1], [1]], [0, 1])
    >>> estimator_outputs(clf, [[2.0]]).round(3)
    array([[-0.943,  0.943]])
    """
    chosen = get_score(score, "estimator_outputs")
    for method in chosen.methods:
        if hasattr(estimator, method):
            return as_columns(getattr(estimator, method)(X), chosen)
    remedy = _REMEDY.get(score, "use a classifier that has one of them")
    raise AttributeError(
        f"score={score!r} needs the method {' or '.join(chosen.methods)}, which "
        f"{type(estimator).__name__} does not have: {remedy}."
    )
