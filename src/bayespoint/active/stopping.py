"""When further labels are not worth asking for, in numbers and in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.active.scores import drawn_outputs, probabilities
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.tools.numbers import TINY

N_DRAWS = 300  # classifiers of the committee
EARLY = 20  # labels below which an error says little
HORIZON = 10  # labels that the rule is about
LITTLE = 0.001  # a fall of the error that is not worth HORIZON labels
LITTLE_SHARE = 0.02  # the same as a share of the error


def expected_fall(
    machine: BayesPointClassifier, points: Any, n_asked: int, seed: int
) -> tuple[float, NDArray[np.float64]]:
    r"""The expected error on the rest, and its expected decrease by one more label.

    A label y of the row x turns the posterior p(w) into p(w) p(y | x, w) / p(y | x). With a
    committee of classifiers drawn from the posterior, this is a new weight for each of them. The
    error to expect is the mean of 1 - max_c p(c | x') over the rows x' of the rest, and

    .. math:: \text{fall}(x) = \text{error} - \sum_y p(y | x)\, \text{error given } y .

    The committee gives the relative decrease. The error itself is that of the probabilities of the
    classifier, which have a temperature.

    Parameters
    ----------
    machine : BayesPointClassifier
        A fitted classifier.
    points : array-like of shape (k + n, n_features)
        Rows whose label may come next, and then rows without a label: the rest.
    n_asked : int
        The number k of the former.
    seed : int
        Seed of the committee.

    Returns
    -------
    error : float
        The expected error on the rest.
    falls : ndarray of shape (k,)
        Its expected decrease by the label of each row.
    """
    outputs = drawn_outputs(machine, points, N_DRAWS, seed)
    own, others = np.split(probabilities(machine, outputs), [n_asked], axis=1)
    weight = own / np.maximum(own.sum(axis=0), TINY)  # of each classifier, given a label
    n_classifiers, *shape = others.shape
    flat = others.reshape(n_classifiers, -1)
    shares = np.array([(one.T @ flat).reshape(-1, *shape) for one in np.moveaxis(weight, 1, 0)])
    after = (own.mean(axis=0) * (1 - shares.max(axis=3).mean(axis=2))).sum(axis=1)
    before = 1 - others.mean(axis=0).max(axis=1).mean()
    error = 1 - machine.predict_proba(points[n_asked:]).max(axis=1).mean()
    return float(error), error * np.maximum(0.0, 1 - after / max(before, TINY))


def fall_ahead(rest: float, fall: float, n_open: int) -> tuple[int, float]:
    """How many labels to look ahead, and by how much they lower the error at most.

    ``rest`` and ``fall`` are those of :func:`expected_fall`. Every further label is assumed to
    lower the error by the same share, which is an upper bound.
    """
    ahead = min(HORIZON, n_open)
    return ahead, rest * (1 - (1 - fall / rest) ** ahead) if rest > 0 else 0.0


def is_enough(n_labels: int, rest: float, total: float) -> bool:
    """Whether the labels ahead, which lower the error by ``total``, are not worth asking for."""
    return n_labels >= EARLY and total < max(LITTLE, LITTLE_SHARE * rest)


def recommendation(
    n_labels: int, n_classes: int, n_open: int, rest: float | None, fall: float | None
) -> str:
    """Whether to continue, as a sentence.

    ``n_classes`` is how many classes have labels, ``rest`` and ``fall`` are those of
    :func:`expected_fall`.
    """
    if n_open == 0:
        return "Every row has an answer."
    if n_classes < 2:
        return "The model starts when two classes have labels."
    if rest is None or fall is None:
        return "The model is learning."
    if n_labels < EARLY:
        return f"Continue: with fewer than {EARLY} labels it is too early to say."
    ahead, total = fall_ahead(rest, fall, n_open)
    if is_enough(n_labels, rest, total):
        return f"You can stop: the next {ahead} labels would hardly lower the error."
    points = f"{100 * total:.1f} percentage points"
    return f"Continue: the next {ahead} labels may lower the error by up to {points}."
