"""Metrics of predictions and probabilities; METRICS lists all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.reports.answers import Answers, around, mean_interval, of_class, score_interval


class Measured(NamedTuple):
    """A number and its 95 % interval.

    Attributes
    ----------
    value : float or None
        None if it is undefined.
    interval : tuple of two floats or None
        None if there is no interval.

    Examples
    --------
    >>> from bayespoint.reports import Measured
    >>> Measured(0.95, (0.93, 0.97)).value
    0.95
    """

    value: float | None
    interval: tuple[float, float] | None = None


def accuracy(answers: Answers) -> Measured:
    """Fraction of correct predictions, with Wilson's interval."""
    rate = min(1.0, float(answers.weight @ answers.right) / answers.total)
    return Measured(rate, score_interval(rate, answers.total))


def balanced_accuracy(answers: Answers) -> Measured:
    """Mean recall of the classes that have test rows.

    Wilson's intervals of the classes are combined by their squares (R. G. Newcombe, 1998), so that
    recalls of 0 and 1 have an interval, too.
    """
    there = answers.confusion.sum(axis=1) > 0
    sizes = answers.confusion.sum(axis=1)[there]
    recall = np.minimum(np.diag(answers.confusion)[there] / sizes, 1.0)
    ends = np.array([score_interval(*one) for one in zip(recall, sizes, strict=True)])
    below, above = np.sqrt(((ends - recall[:, None]) ** 2).sum(axis=0)) / len(recall)
    mean = float(recall.mean())
    return Measured(mean, (float(mean - below), float(mean + above)))


def log_loss(answers: Answers) -> Measured:
    r"""The mean of :math:`-\log p_y(x)` over the true classes y, ± 1.96 standard errors."""
    losses = log_losses(answers.probabilities, answers.truth)
    return Measured(*mean_interval(losses, answers.weight))


def log_losses(probabilities: NDArray, truth: NDArray[np.intp]) -> NDArray[np.float64]:
    """-log p of the true class of each row; p is not taken below the resolution of its type."""
    smallest = np.finfo(probabilities.dtype).eps
    return -np.log(np.maximum(of_class(probabilities, truth), smallest), dtype=np.float64)


def brier_score(answers: Answers) -> Measured:
    r"""The mean of :math:`\sum_c (p_c(x) - [y = c])^2`, ± 1.96 standard errors.

    From 0 to 2; with two classes half of that, :math:`(p - y)^2`, as in scikit-learn.
    """
    n_classes = answers.probabilities.shape[1]
    distance = ((answers.probabilities - np.eye(n_classes)[answers.truth]) ** 2).sum(axis=1)
    return Measured(*mean_interval(distance / (2 if n_classes == 2 else 1), answers.weight))


def calibration_error(answers: Answers) -> Measured:
    r"""Expected calibration error, :math:`\sum_b (n_b / n) |accuracy_b - confidence_b|`.

    Over ten bins (0, 0.1], ... (0.9, 1] of the confidence, the probability of the predicted class.
    By chance it is above zero even for perfect probabilities, so it has no interval.
    """
    return Measured(sum(one.weight * one.gap for one in answers.bins) / answers.total)


def auc(answers: Answers) -> Measured:
    """Probability that a row of a class gets a higher score for it than a row of the rest.

    For several classes their mean, with DeLong's interval. None if a class has no test rows.
    """
    present = [one for one in answers.areas if one is not None]
    if len(present) < len(answers.areas):
        return Measured(None)
    mean = float(np.mean([area for area, _ in present]))
    influence = np.mean([added for _, added in present], axis=0)
    variance = float(answers.weight @ influence**2)
    if variance == 0:  # a perfect order shows no variation: that is ignorance, not certainty
        return Measured(mean)
    low, high = around(mean, sqrt(variance))
    return Measured(mean, (max(low, 0.0), min(high, 1.0)))


def mean_absolute_error(answers: Answers) -> Measured:
    """Mean distance of the predicted class to the true one, in classes, ± 1.96 standard errors."""
    return Measured(*mean_interval(answers.distance, answers.weight))


@dataclass(frozen=True)
class Metric:
    """One number of an evaluation.

    Attributes
    ----------
    name : str
        Its name in reports.
    words : str
        Its description.
    function : callable
        Takes :class:`Answers`, gives :class:`Measured`.
    is_share : bool
        Whether a terminal shows it in per cent.
    on_top : bool
        Whether a page shows it first, in large digits.
    has_baseline : bool
        Whether it is compared with what the class frequencies reach.
    needs_order : bool
        Whether it is one of ordered classes only.

    Examples
    --------
    >>> from bayespoint.reports import METRICS
    >>> METRICS["brier_score"].name
    'Brier score'
    """

    name: str
    words: str
    function: Callable[[Answers], Measured]
    is_share: bool = False
    on_top: bool = False
    has_baseline: bool = True
    needs_order: bool = False

    @property
    def title(self) -> str:
        """Its name at the beginning of a line."""
        return f"{self.name[0].upper()}{self.name[1:]}"

    def applies(self, answers: Answers) -> bool:
        """Whether it can be computed."""
        return answers.ranks is not None or not self.needs_order

    def show(self, value: float | None) -> str:
        """A value as a terminal shows it."""
        if value is None:
            return "-"
        return f"{value:.1%}" if self.is_share else f"{value:.3f}"


# By their names in JSON. An entry here is all that a new one needs.
METRICS = {
    "accuracy": Metric(
        "accuracy", "Fraction of correct predictions.", accuracy, is_share=True, on_top=True
    ),
    "balanced_accuracy": Metric(
        "balanced accuracy", "Mean recall of the classes.", balanced_accuracy, is_share=True
    ),
    "log_loss": Metric(
        "log-loss", "Mean of −log p of the true class; 0 is best.", log_loss, on_top=True
    ),
    "brier_score": Metric(
        "Brier score", "Mean squared difference between probabilities and labels.", brier_score
    ),
    "calibration_error": Metric(
        "calibration error",
        "Mean difference between confidence and accuracy, over ten bins.",
        calibration_error,
        on_top=True,
        has_baseline=False,  # class frequencies are calibrated: 0 would not be better
    ),
    "auc": Metric(
        "AUC", "Probability that a row of a class ranks above one of the rest.", auc, on_top=True
    ),
    "mean_absolute_error": Metric(
        "mean absolute error",
        "Mean distance of predicted and true classes, in steps of their order.",
        mean_absolute_error,
        needs_order=True,
    ),
}
