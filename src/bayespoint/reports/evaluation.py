"""What is known of a classifier after it has answered a test set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.reject import Guarantee, RejectionCurve
from bayespoint.reports.answers import Answers
from bayespoint.reports.costs import Expense, expenses
from bayespoint.reports.drift import Shift
from bayespoint.reports.features import Features, describe_features
from bayespoint.reports.intervals import Interval
from bayespoint.reports.metrics import METRICS, Measured

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
    guarantee : Guarantee or None
        The guaranteed error on the accepted points, if the threshold was set for one.
    calibration_curve : RejectionCurve or None
        The curve on the data that the threshold was set on.

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
    guarantee: Guarantee | None = None
    calibration_curve: RejectionCurve | None = None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: a threshold that lets all points pass, or none, is None."""
        finite = np.isfinite(self.threshold)
        return {
            "threshold": self.threshold if finite else None,
            "source": self.source,
            "rejected": self.rejected,
            "accuracy": self.accuracy,
            "interval": self.interval,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Answers of a classifier to a test set, and what to think of them; made by :func:`measure`.

    Attributes
    ----------
    classes : list
        The labels that the classifier knows.
    answers : Answers
        True classes, predicted ones, probabilities and weights of the test points. Those of weight
        zero are left out everywhere.
    positions : ndarray of shape (n,)
        Rows of the test set that the answers are about.
    n_rows : int
        Rows of the test set, those of weight zero counted.
    rejection : RejectionCurve
        Error on the accepted points over the fraction rejected.
    rejection_score : str
        What points were rejected by, a name of :data:`bayespoint.reject.SCORES`.
    selective : Selective or None
        If the classifier refuses answers by itself: how many, and how good the others are. All
        other numbers are about all points.
    costs : ndarray of shape (n_classes, n_classes)
        What each answer, one column each, costs for each true class, one row each: 1 for every
        mistake unless others were given.
    classifier : object
        What answered; for ``features``.
    model : mapping of str to str
        What the classifier is, in words.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from bayespoint.reports import measure
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "no"]
    >>> evaluation = measure(LogisticRegression().fit(X, y), X, y)
    >>> evaluation.metrics["accuracy"].value
    0.75
    >>> evaluation.to_dict()["confusion"]
    [[3, 0], [1, 0]]
    >>> evaluation.per_class[1]
    ClassScores(label='yes', weight=1.0, precision=None, recall=0.0, auc=0.666...)
    """

    classes: list
    answers: Answers
    positions: NDArray[np.intp]
    n_rows: int
    rejection: RejectionCurve
    rejection_score: str
    selective: Selective | None
    costs: NDArray[np.float64]
    classifier: Any
    model: Mapping[str, str]

    @property
    def n(self) -> int:
        """Number of test points, those of weight zero not counted."""
        return len(self.positions)

    @property
    def weight(self) -> float:
        """Sum of the weights of the test points: n, unless weights were given."""
        return self.answers.total

    @cached_property
    def metrics(self) -> dict[str, Measured]:
        """The numbers of METRICS, by their names: values and 95 % intervals."""
        return {name: metric.function(self.answers) for name, metric in METRICS.items()}

    @cached_property
    def baseline(self) -> dict[str, float | None]:
        """The same numbers of the answers of one who knows only how frequent the classes are."""
        found = {name: metric.function(self.answers.baseline) for name, metric in METRICS.items()}
        return {name: one.value for name, one in found.items()}

    @cached_property
    def expected_costs(self) -> tuple[Expense, ...]:
        """Mean cost of the answers, of those of least expected cost, and of always the same."""
        return expenses(self.answers, self.costs, self.classes)

    @cached_property
    def features(self) -> Features | None:
        """Weights with their uncertainty, and the relevance of features, if there are any."""
        return describe_features(self.classifier)

    @property
    def confusion(self) -> NDArray:
        """Points (or weight) by true class, one row each, and predicted class, one column each."""
        whole = (self.answers.weight % 1 == 0).all()
        return self.answers.confusion.astype(int) if whole else self.answers.confusion

    @property
    def per_class(self) -> tuple[ClassScores, ...]:
        """Weight, precision, recall and AUC of each class."""
        confusion = self.answers.confusion
        hits, sizes = np.diag(confusion), confusion.sum(axis=1)
        with np.errstate(invalid="ignore"):
            precision, recall = hits / confusion.sum(axis=0), hits / sizes
        areas = [None if area is None else area[0] for area in self.answers.areas]
        columns = zip(self.classes, sizes, precision, recall, areas, strict=True)
        return tuple(
            ClassScores(label, float(size), or_none(p), or_none(r), area)
            for label, size, p, r, area in columns
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the single answers, ready for JSON: no NaN, no arrays."""
        measured = self.metrics.items()
        return {
            "n": self.n,
            "weight": self.weight,
            "classes": [plain_label(label) for label in self.classes],
            **{name: one.value for name, one in measured},
            "intervals": {name: one.interval and list(one.interval) for name, one in measured},
            "baseline": self.baseline,
            "confusion": self.confusion.tolist(),
            "costs": {
                "matrix": self.costs.tolist(),
                "expected": [one._asdict() for one in self.expected_costs],
            },
            "per_class": [
                {**one._asdict(), "label": plain_label(one.label)} for one in self.per_class
            ],
            "reliability": [one._asdict() for one in self.answers.bins],
            "rejection": {
                "score": self.rejection_score,
                "aurc": self.rejection.aurc,
                "rate": RATES.tolist(),
                "error": self.rejection.error_at(RATES).tolist(),
            },
            "selective": None if self.selective is None else self.selective.to_dict(),
            "features": None if self.features is None else self.features.to_dict(),
            "model": dict(self.model),
        }


class Report(NamedTuple):
    """An evaluation, and what else its page shows: the parameters of :func:`write_evaluation`."""

    evaluation: Evaluation
    title: str = "Evaluation"
    rows: Any = None
    image_shape: tuple[int, int] | str | None = "auto"
    n_examples: int = 12
    details: Mapping[str, Any] = {}
    shifts: Sequence[Shift] = ()
    preparation: Sequence[str] = ()


def plain_label(label: Any) -> bool | int | float | str:
    """A label as JSON has it."""
    return label if isinstance(label, (bool, int, float, str)) else str(label)


def or_none(number: float) -> float | None:
    """None for NaN."""
    return None if np.isnan(number) else float(number)
