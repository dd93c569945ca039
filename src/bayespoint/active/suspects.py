"""Labels that are probably wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from bayespoint.active.scores import unwrap
from bayespoint.classifier.attributes import left_out_probabilities as of_model
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.tools.numbers import TINY
from bayespoint.tools.stability import unstable
from bayespoint.tools.validation import column_or_1d

LINE = 0.5  # probability of being wrong from which a label is suspect
EARLY = 20  # labels below which there are no suspects
MOST_FLIPS = 0.5  # share of wrong labels
# The rate of flips before any label is seen: Beta(1, 9), whose mean is 10 %, below MOST_FLIPS.
FLIPPED, KEPT = 1.0, 9.0
N_RATES, N_TEMPERATURES = 40, 16
# The logarithm by which predictions are sharpened: half of a normal distribution, and its end.
SHARPNESS, SHARPEST = 0.7, 2.0
ENOUGH = 5000  # labels from which rate and temperature are learned
NEGLIGIBLE = 1e-4  # weight of rate and temperature, relative to the largest, that is left out


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
        That the label is wrong, if labels are flipped at random: see :func:`suspect_labels`.
    suggested : ndarray of shape (n,)
        The most probable other label.
    is_suspect : ndarray of bool, shape (n,)
        Whether the label is more probably wrong than right, ``probability > 0.5``; nowhere if there
        are fewer than 20 labels.
    flip_rate : float
        The share of wrong labels that is to be expected, the mean of ``probability``.

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
        rows = np.arange(len(codes))
        own, others = p[rows, codes], p.copy()
        others[rows, codes] = -1.0
        best = others.argmax(axis=1)
        score = np.log(np.maximum(others[rows, best], TINY)) - np.log(np.maximum(own, TINY))
        probability = flip_probabilities(p, codes)
        is_suspect = (probability > LINE) & (len(codes) >= EARLY)
        suggested = best if classes is None else classes[best]
        order = np.lexsort((own, -probability))
        rate = float(probability.sum() / max(1, len(codes)))
        return cls(order, own, score, probability, suggested, is_suspect, rate)


def flip_probabilities(p: NDArray, codes: NDArray) -> NDArray[np.float64]:
    r"""Probability that each label is wrong, in the model of :func:`suspect_labels`.

    The posterior of the rate and of the temperature is a sum over a grid, and the probability of a
    flip is averaged over it.

    Parameters
    ----------
    p : ndarray of shape (n, n_classes)
        Probabilities of the labels, from predictions that do not know the label of their row.
    codes : ndarray of shape (n,)
        The column of each label.

    Returns
    -------
    ndarray of shape (n,)
        Probability of each label of being wrong.
    """
    scores = np.log(np.maximum(p, TINY))
    some = slice(None, None, max(1, -(-len(codes) // ENOUGH)))
    n_copies = len(codes) / max(1, len(codes[some]))
    roots = (np.arange(N_RATES) + 0.5) / N_RATES  # more small rates than large ones
    rates = MOST_FLIPS * roots**2
    sharper = SHARPEST * (np.arange(N_TEMPERATURES) + 0.5) / N_TEMPERATURES
    prior = (FLIPPED - 1) * np.log(rates) + (KEPT - 1) * np.log1p(-rates) + np.log(roots)
    log_weight = np.empty((N_TEMPERATURES, N_RATES))
    for t, log_sharpness in enumerate(sharper):
        own, wrong = right_and_wrong(scores[some], codes[some], log_sharpness)
        for r, rate in enumerate(rates):
            given = np.maximum((1 - rate) * own + rate * wrong, TINY)
            log_weight[t, r] = n_copies * np.log(given).sum() + prior[r]
        log_weight[t] -= (log_sharpness / SHARPNESS) ** 2 / 2
    weight = np.exp(log_weight - log_weight.max())
    weight[weight < NEGLIGIBLE] = 0.0
    weight /= weight.sum()
    probability = np.zeros(len(codes))
    for log_sharpness, weights in zip(sharper, weight, strict=True):
        if not weights.any():
            continue
        own, wrong = right_and_wrong(scores, codes, log_sharpness)
        for share, rate in zip(weights, rates, strict=True):
            if share > 0:
                given = np.maximum((1 - rate) * own + rate * wrong, TINY)
                probability += share * rate * wrong / given
    return probability


def right_and_wrong(
    scores: NDArray, codes: NDArray, log_sharpness: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities of each label if it is the true one, and if a flip has drawn it."""
    p = np.exp(log_softmax(scores * np.exp(log_sharpness), axis=1))
    own = p[np.arange(len(codes)), codes]
    return own, (1 - own) / (p.shape[1] - 1)


@unstable("New in 1.0; how labels are ranked may change.")
def suspect_labels(clf: Any, X: Any, y: ArrayLike) -> SuspectLabels:
    r"""Find labels that are probably wrong, without folds.

    The evidence of all labels is the product of :math:`p(y_i | \text{all other labels})` and of the
    evidence of the others. So a flip of one label from y to z multiplies it by

    .. math:: \frac{p(z | \text{all other labels})}{p(y | \text{all other labels})} ,

    and the leave-one-out probabilities of expectation propagation give this for all rows at once.

    The ``probability`` that a label is wrong takes overlapping classes into account. The model: the
    true label has probability :math:`p_i(y)`, and with probability :math:`\rho` it is replaced by
    one of the K - 1 others. So the given label is wrong with probability

    .. math:: \frac{\rho \, (1 - p_i(y_i)) / (K - 1)}
        {(1 - \rho) \, p_i(y_i) + \rho \, (1 - p_i(y_i)) / (K - 1)} .

    The leave-one-out probabilities :math:`q_i` were learned from labels of which some are flipped,
    so they are less sure than those of the true labels: :math:`p_i \propto q_i^s` with
    :math:`s \ge 1`. The posterior of the rate :math:`\rho` and of s, given all labels, decides how
    much of the surprising labels is due to flips, and how much to overlap. Before any label is
    seen, the rate has mean 10 % (a Beta distribution with parameters 1 and 9), and log s a normal
    distribution of standard deviation 0.7. Where rows tell little of their labels, the probability
    stays near that mean.

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
