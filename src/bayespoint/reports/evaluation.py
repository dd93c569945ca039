"""The evaluation of a classifier on a test set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.reject import Guarantee, RejectionCurve
from bayespoint.reports.answers import Answers, Interval
from bayespoint.reports.costs import Expense, expenses
from bayespoint.reports.drift import Shift
from bayespoint.reports.features import Features, describe_features
from bayespoint.reports.metrics import METRICS, Measured
from bayespoint.tools.json_values import plain

RATES = np.arange(100) / 100  # fractions rejected, for which to_dict has the error


class ClassScores(NamedTuple):
    """Scores of one class against the rest; None where they are undefined.

    Attributes
    ----------
    label : object
        The class.
    weight : float
        Total weight of its test rows.
    precision, recall, auc : float or None
        Scores of the class.

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
    """Results of a :class:`~bayespoint.reject.SelectiveClassifier` at its own threshold.

    Attributes
    ----------
    threshold : float
        Rows with a score below it are rejected.
    source : str
        How the threshold was set.
    rejected : float
        Share of the test rows that is rejected.
    accuracy : float or None
        Accuracy on the accepted rows; None if all are rejected.
    interval : tuple of two floats or None
        Its 95 % interval.
    guarantee : Guarantee or None
        The guaranteed error on the accepted rows, if the threshold was set for one.
    calibration_curve : RejectionCurve or None
        The curve on the data that the threshold was set on.
    confusion : ndarray of shape (n_classes, n_classes + 1) or None
        Weight by true class and prediction, the last column being rejected.

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
    confusion: NDArray[np.float64] | None = None

    def to_dict(self) -> dict[str, Any]:
        """A dict that JSON can represent; a threshold that is infinite is None."""
        found = self._asdict()
        del found["calibration_curve"]
        return plain(found)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Predictions of a classifier for a test set, and their scores; returned by :func:`measure`.

    Attributes
    ----------
    classes : list
        The labels that the classifier knows.
    answers : Answers
        True and predicted classes, probabilities and weights of the test rows. Rows of weight
        zero are left out.
    positions : ndarray of shape (n,)
        Rows of the test set that the predictions belong to.
    n_rows : int
        Rows of the test set, including those of weight zero.
    rejection : RejectionCurve
        Error on the accepted rows over the fraction rejected.
    rejection_score : str
        The score that orders the rows, a name in :data:`bayespoint.reject.SCORES`.
    selective : Selective or None
        For a classifier with a reject option: the results at its threshold. All other numbers are
        about all rows.
    costs : ndarray of shape (n_classes, n_classes)
        Cost of each predicted class (columns) for each true class (rows); 1 for every error by
        default.
    classifier : object
        The fitted classifier.
    model : mapping of str to str
        Description of the classifier.
    uncertain : array-like or DataFrame
        The three test rows of least confidence, which the page explains.

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
    uncertain: Any = None

    @property
    def n(self) -> int:
        """Number of test rows, without those of weight zero."""
        return len(self.positions)

    @property
    def weight(self) -> float:
        """Sum of the weights of the test rows: n, unless weights were given."""
        return self.answers.total

    @cached_property
    def metrics(self) -> dict[str, Measured]:
        """Values and 95 % intervals of all METRICS, by name."""
        some = {name: one for name, one in METRICS.items() if one.applies(self.answers)}
        return {name: metric.function(self.answers) for name, metric in some.items()}

    @cached_property
    def baseline(self) -> dict[str, float | None]:
        """The same metrics for predictions from the class frequencies alone."""
        answers = self.answers.baseline
        return {
            name: METRICS[name].function(answers).value if METRICS[name].has_baseline else None
            for name in self.metrics
        }

    @cached_property
    def expected_costs(self) -> tuple[Expense, ...]:
        """Mean cost of the predictions, of those of least expected cost, and of a constant one."""
        return expenses(self.answers, self.costs, self.classes)

    @cached_property
    def features(self) -> Features | None:
        """Weights with their uncertainty, and the relevance of features, if there are any."""
        return describe_features(self.classifier)

    @property
    def confusion(self) -> NDArray:
        """Rows (or weight) by true class, one line each, and predicted class, one column each."""
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
        """All results but the single predictions, as a dict that JSON can represent."""
        measured = self.metrics.items()
        found = {
            "n": self.n,
            "weight": self.weight,
            "classes": self.classes,
            **{name: one.value for name, one in measured},
            "intervals": {name: one.interval for name, one in measured},
            "baseline": self.baseline,
            "confusion": self.confusion,
            "costs": {"matrix": self.costs, "expected": self.expected_costs},
            "per_class": self.per_class,
            "reliability": self.answers.bins,
            "rejection": {
                "score": self.rejection_score,
                "aurc": self.rejection.aurc,
                "rate": RATES,
                "error": self.rejection.error_at(RATES),
            },
            "selective": self.selective,
            "features": self.features,
            "model": self.model,
        }
        return plain(found)


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


def or_none(number: float) -> float | None:
    """None for NaN."""
    return None if np.isnan(number) else float(number)
