"""What is known of a classifier after it has answered a test set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.reject import RejectionCurve
from bayespoint.reports.intervals import Interval
from bayespoint.reports.metrics import Bin

RATES = np.arange(100) / 100  # fractions rejected, for which to_dict tells the error


class ClassScores(NamedTuple):
    """One class against the rest; None where there is nothing to divide by.

    Attributes
    ----------
    label : object
        The class.
    weight : float
        Of its test points.
    precision, recall, auc : float or None
        As everywhere.

    Examples
    --------
    >>> from bayespoint.reports import ClassScores
    >>> ClassScores("benign", 178.0, precision=0.97, recall=0.98, auc=None).recall
    0.98
    """

    label: Any
    weight: float
    precision: float | None
    recall: float | None
    auc: float | None


class Selective(NamedTuple):
    """How a :class:`~bayespoint.reject.SelectiveClassifier` does with its own threshold.

    Attributes
    ----------
    threshold : float
        Points with a score below it are rejected.
    source : str
        On which data it was set, in words.
    rejected : float
        Share of the test points that is rejected.
    accuracy : float or None
        On the others; None where there are none.
    interval : tuple of two floats or None
        Its 95 % interval.

    Examples
    --------
    >>> from bayespoint.reports import Selective
    >>> Selective(float("-inf"), "given", 0.0, 0.96, (0.93, 0.98)).to_dict()["threshold"] is None
    True
    """

    threshold: float
    source: str
    rejected: float
    accuracy: float | None
    interval: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: a threshold that lets all points pass, or none, is None."""
        finite = np.isfinite(self.threshold)
        return {**self._asdict(), "threshold": self.threshold if finite else None}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Answers of a classifier to a test set, and what to think of them; made by :func:`measure`.

    Attributes
    ----------
    n : int
        Test points; those of weight zero are left out everywhere.
    n_rows : int
        Rows of the test set, those of weight zero counted.
    weight : float
        Sum of their weights: n, unless weights were given.
    classes : list
        The labels that the classifier knows.
    accuracy, balanced_accuracy, log_loss, brier_score, calibration_error, auc : float
        See :func:`measure`; ``auc`` is None where a class has no test point.
    intervals : mapping of str to (low, high) or None
        95 % intervals, by the names of the numbers above.
    confusion : ndarray of shape (n_classes, n_classes)
        Points (or weight) by true class, one row each, and predicted class, one column each.
    per_class : tuple of ClassScores
        Weight, precision, recall and AUC of each class.
    reliability : tuple of Bin
        Confidence and accuracy over ten bins of the confidence.
    rejection : RejectionCurve
        Error on the accepted points over the fraction rejected.
    rejection_score : str
        What points were rejected by, a name of :data:`bayespoint.reject.SCORES`.
    selective : Selective or None
        If the classifier refuses answers by itself: how many, and how good the others are. All
        other numbers are about all points.
    model : mapping of str to str
        What the classifier is, in words.
    positions : ndarray of shape (n,)
        Rows of the test set that the next three are about.
    truth, predicted : ndarray of int of shape (n,)
        Indices into ``classes``.
    probabilities : ndarray of shape (n, n_classes)
        What the classifier said.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from bayespoint.reports import measure
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "no"]
    >>> evaluation = measure(LogisticRegression().fit(X, y), X, y)
    >>> evaluation.to_dict()["confusion"]
    [[3, 0], [1, 0]]
    >>> evaluation.per_class[1]
    ClassScores(label='yes', weight=1.0, precision=None, recall=0.0, auc=0.666...)
    """

    n: int
    n_rows: int
    weight: float
    classes: list
    accuracy: float
    balanced_accuracy: float
    log_loss: float
    brier_score: float
    calibration_error: float
    auc: float | None
    intervals: Mapping[str, Interval | None]
    confusion: NDArray
    per_class: tuple[ClassScores, ...]
    reliability: tuple[Bin, ...]
    rejection: RejectionCurve
    rejection_score: str
    selective: Selective | None
    model: Mapping[str, str]
    positions: NDArray[np.intp]
    truth: NDArray[np.intp]
    predicted: NDArray[np.intp]
    probabilities: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the single answers, ready for JSON: no NaN, no arrays."""
        return {
            "n": self.n,
            "weight": self.weight,
            "classes": [plain_label(label) for label in self.classes],
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
            "log_loss": self.log_loss,
            "brier_score": self.brier_score,
            "calibration_error": self.calibration_error,
            "auc": self.auc,
            "intervals": {
                name: None if ends is None else list(ends) for name, ends in self.intervals.items()
            },
            "confusion": self.confusion.tolist(),
            "per_class": [
                {**one._asdict(), "label": plain_label(one.label)} for one in self.per_class
            ],
            "reliability": [one._asdict() for one in self.reliability],
            "rejection": {
                "score": self.rejection_score,
                "aurc": self.rejection.aurc,
                "rate": RATES.tolist(),
                "error": self.rejection.error_at(RATES).tolist(),
            },
            "selective": None if self.selective is None else self.selective.to_dict(),
            "model": dict(self.model),
        }


def plain_label(label: Any) -> bool | int | float | str:
    """A label as JSON has it."""
    return label if isinstance(label, (bool, int, float, str)) else str(label)
