"""ROC and precision-recall curves of one class against the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.reports.answers import Answers


class Curve(NamedTuple):
    """The consequences of all thresholds for the probability of a class, the highest first.

    Attributes
    ----------
    false_alarms, recall : ndarray
        Share of the other classes, and of the class, at or above the threshold; from (0, 0).
    precision : ndarray
        Share of the class among all points there; at the beginning that of the first point.
    prevalence : float
        Share of the class: the precision without any knowledge.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.reports import Answers
    >>> from bayespoint.reports.curves import curve
    >>> p = np.array([0.1, 0.4, 0.35, 0.8])
    >>> p = np.column_stack([1 - p, p])
    >>> found = curve(Answers(np.array([0, 0, 1, 1]), p.argmax(axis=1), p, np.ones(4)), 1)
    >>> found.recall.tolist(), found.precision.round(2).tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [1.0, 1.0, 0.5, 0.67, 0.5])
    >>> print(f"{found.average_precision:.3f}")
    0.833
    """

    false_alarms: NDArray[np.float64]
    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    prevalence: float

    @property
    def average_precision(self) -> float:
        """The mean precision over the points of the class: scikit-learn's."""
        return float(np.sum(np.diff(self.recall) * self.precision[1:]))


def curve(answers: Answers, of: int) -> Curve | None:
    """The curve of one class; None where it, or the rest, is absent."""
    positive = answers.truth == of
    if positive.all() or not positive.any():
        return None
    scores = answers.probabilities[:, of]
    _, group = np.unique(-scores, return_inverse=True)
    hits = np.cumsum(np.bincount(group, answers.weight * positive))
    alarms = np.cumsum(np.bincount(group, answers.weight * ~positive))
    precision = hits / (hits + alarms)
    begin = np.zeros(1)
    return Curve(
        np.concatenate([begin, alarms / alarms[-1]]),
        np.concatenate([begin, hits / hits[-1]]),
        np.concatenate([precision[:1], precision]),
        float(hits[-1] / answers.total),
    )
