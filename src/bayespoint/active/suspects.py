"""Labels that are probably wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from bayespoint.active.scores import unwrap
from bayespoint.classifier.attributes import left_out_probabilities as of_model
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.tools.numbers import TINY
from bayespoint.tools.stability import unstable
from bayespoint.tools.validation import column_or_1d

SUSPECT, SURE = 0.1, 0.7  # a label below the first is suspect if another is above the second
EARLY = 20  # labels below which there are no suspects
MOST_FLIPS = 0.5  # share of wrong labels


@dataclass(frozen=True)
class SuspectLabels:
    """How suspect each label is.

    Attributes
    ----------
    order : ndarray of int, shape (n,)
        The rows, the most suspect first.
    own : ndarray of shape (n,)
        Probability of each label, given all other labels.
    score : ndarray of shape (n,)
        Evidence for another label in nats: how much larger the logarithm of the evidence is if the
        label is replaced by ``suggested``. Negative where the label is the most probable one.
    probability : ndarray of shape (n,)
        That the label is wrong, if labels are flipped at the rate ``flip_rate``.
    suggested : ndarray of shape (n,)
        The most probable other label.
    is_suspect : ndarray of bool, shape (n,)
        Whether the label has less than 10 % and another more than 70 %; nowhere if there are fewer
        than 20 labels.
    flip_rate : float
        The most likely share of wrong labels, beyond what the classifier expects.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import suspect_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2  # a mistake
    >>> clf = BayesPointClassifier(kernel="rbf").fit(X, y)
    >>> found = suspect_labels(clf, X, y)
    >>> found.order[:1], int(found.suggested[7]), bool(found.is_suspect[7])
    (array([7]), 0, True)
    """

    order: NDArray[np.intp]
    own: NDArray[np.float64]
    score: NDArray[np.float64]
    probability: NDArray[np.float64]
    suggested: NDArray
    is_suspect: NDArray[np.bool_]
    flip_rate: float

    @classmethod
    def of(cls, p: NDArray, codes: NDArray, classes: NDArray | None = None) -> SuspectLabels:
        """From probabilities that do not know the labels, and the columns of the labels."""
        rows, n_classes = np.arange(len(codes)), p.shape[1]
        own, others = p[rows, codes], p.copy()
        others[rows, codes] = -1.0
        best = others.argmax(axis=1)
        score = np.log(np.maximum(others[rows, best], TINY)) - np.log(np.maximum(own, TINY))
        wrong = (1 - own) / (n_classes - 1)  # of a label that a flip has drawn

        def loss(rate: float) -> float:
            return -np.log(np.maximum((1 - rate) * own + rate * wrong, TINY)).sum()

        rate = float(minimize_scalar(loss, bounds=(0.0, MOST_FLIPS), method="bounded").x)
        chance = rate * wrong / np.maximum((1 - rate) * own + rate * wrong, TINY)
        probability = np.maximum(1 - own, chance)  # the classifier knows of some errors by itself
        is_suspect = (own < SUSPECT) & (p.max(axis=1) > SURE) & (len(codes) >= EARLY)
        suggested = best if classes is None else classes[best]
        order = np.argsort(own, kind="stable")
        return cls(order, own, score, probability, suggested, is_suspect, rate)


@unstable("New in 1.0; how labels are ranked may change.")
def suspect_labels(clf: Any, X: Any, y: ArrayLike) -> SuspectLabels:
    r"""Find labels that are probably wrong, without folds.

    The evidence of all labels is the product of :math:`p(y_i | \text{all other labels})` and of the
    evidence of the others. So a flip of one label from y to z multiplies it by

    .. math:: \frac{p(z | \text{all other labels})}{p(y | \text{all other labels})} ,

    and the leave-one-out probabilities of expectation propagation give this for all rows at once.

    Parameters
    ----------
    clf : BayesPointClassifier
        A classifier that was fitted to these rows, alone or as the last step of a pipeline, with
        leave-one-out predictions (engines such as "ep" and "laplace"). Labels of other rows are
        compared with what it predicts. A model that was loaded from a file does not know its
        training rows: fit it again.
    X : array-like of shape (n, n_features)
        The rows.
    y : array-like of shape (n,)
        Their labels.

    Returns
    -------
    SuspectLabels
        Scores and probabilities of all rows, and their order.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import suspect_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BayesPointClassifier(kernel="rbf").fit(X, y)
    >>> suspect_labels(clf, X, y).order[:3]  # versicolor and virginica are near
    array([ 83, 133,  70])
    """
    classifier, points = unwrap(clf, X)
    labels = column_or_1d(y)
    unknown = np.setdiff1d(labels, classifier.classes_)
    if len(unknown):
        raise ValueError(f"y has labels that the classifier does not know: {unknown.tolist()[:6]}.")
    codes = np.searchsorted(classifier.classes_, labels)
    p = left_out_probabilities(classifier, codes)
    if p is None:
        p = classifier.predict_proba(points)
    if len(p) != len(codes):
        raise ValueError(f"X has {len(p)} rows, and y has {len(codes)} labels.")
    return SuspectLabels.of(p, codes, classifier.classes_)


def left_out_probabilities(
    machine: BayesPointClassifier, codes: NDArray[np.intp]
) -> NDArray[np.float64] | None:
    """Class probabilities of all training rows given all other labels; None if not known.

    They are not known either if these are not the codes of the training rows.
    """
    log_probability = machine.posterior_.left_out_log_probability
    kept = machine.model_.fact("label_scores")
    if log_probability is None or kept is None or len(log_probability) != len(codes):
        return None
    if not np.array_equal(kept[:, 1], codes[:: -(-len(codes) // len(kept))]):
        return None
    return of_model(machine.model_, codes)
