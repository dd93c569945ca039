"""Advice for a person who labels: suspect labels, what the next label brings, when to stop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.active.classifiers import drawn_outputs, probabilities
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.tools.numbers import TINY

N_DRAWS = 300  # classifiers of the committee
SUSPECT, SURE = 0.1, 0.7  # a label below the first is suspect if another is above the second
EARLY = 20  # labels below which an error says little, and a suspicion as well
HORIZON = 10  # labels that the recommendation is about
LITTLE = 0.001  # a fall of the error that is not worth HORIZON labels
LITTLE_SHARE = 0.02  # the same as a share of the error


def left_out_probabilities(
    machine: BayesPointClassifier, codes: NDArray[np.intp]
) -> NDArray[np.float64] | None:
    """Class probabilities of every training point given all other labels, if known."""
    log_probability = machine.posterior_.left_out_log_probability
    if log_probability is None:
        return None
    coding = machine.coding_
    return coding.probabilities(*coding.left_out(log_probability, codes))


def suspects(
    rows: NDArray[np.intp], codes: NDArray[np.intp], left_out: NDArray[np.float64]
) -> list[int]:
    """Rows whose label is improbable given all other labels, the least probable first.

    Another class must be probable: a model of few labels finds all classes improbable. Below
    ``EARLY`` labels there are no suspects.
    """
    if len(rows) < EARLY:
        return []
    own = left_out[np.arange(len(codes)), codes]
    is_suspect = (own < SUSPECT) & (left_out.max(axis=1) > SURE)
    order = np.argsort(own, kind="stable")
    return rows[order[is_suspect[order]]].tolist()


def expected_fall(
    machine: BayesPointClassifier, asked: NDArray, rest: NDArray, seed: int
) -> tuple[float, NDArray[np.float64]]:
    r"""The expected error on the rest, and its expected decrease by one more label.

    A label y of the point x turns the posterior p(w) into p(w) p(y | x, w) / p(y | x). With a
    committee of classifiers drawn from the posterior, this is a new weight for each of them. The
    error to expect is the mean of 1 - max_c p(c | x') over the points x' of the rest, and

    .. math:: \text{fall}(x) = \text{error} - \sum_y p(y | x)\, \text{error given } y .

    The committee gives the relative decrease. The error itself is that of the probabilities of the
    classifier, which have a temperature.

    Parameters
    ----------
    machine : BayesPointClassifier
        A fitted classifier.
    asked : ndarray of shape (k, n_features)
        Points whose label may come next.
    rest : ndarray of shape (n, n_features)
        Points without a label.
    seed : int
        Seed of the committee.

    Returns
    -------
    error : float
        The expected error on the rest.
    falls : ndarray of shape (k,)
        Its expected decrease by the label of each point.
    """
    outputs = drawn_outputs(machine, np.vstack([asked, rest]), N_DRAWS, seed)
    own, others = np.split(probabilities(machine, outputs), [len(asked)], axis=1)
    weight = own / np.maximum(own.sum(axis=0), TINY)  # of each classifier, given a label
    n_classifiers, *shape = others.shape
    flat = others.reshape(n_classifiers, -1)
    shares = np.array([(one.T @ flat).reshape(-1, *shape) for one in np.moveaxis(weight, 1, 0)])
    after = (own.mean(axis=0) * (1 - shares.max(axis=3).mean(axis=2))).sum(axis=1)
    before = 1 - others.mean(axis=0).max(axis=1).mean()
    error = 1 - machine.predict_proba(rest).max(axis=1).mean()
    return float(error), error * np.maximum(0.0, 1 - after / max(before, TINY))


def recommendation(
    n_labels: int, n_classes: int, n_open: int, rest: float | None, fall: float | None
) -> str:
    """Whether to continue, as a sentence.

    ``n_classes`` is how many classes have labels, ``rest`` and ``fall`` are those of
    :func:`expected_fall`. Every further label is assumed to lower the error by the same share,
    which is an upper bound.
    """
    if n_open == 0:
        return "Every row has an answer."
    if n_classes < 2:
        return "The model starts when two classes have labels."
    if rest is None or fall is None:
        return "The model is learning."
    if n_labels < EARLY:
        return f"Continue: with fewer than {EARLY} labels it is too early to say."
    ahead = min(HORIZON, n_open)
    total = rest * (1 - (1 - fall / rest) ** ahead) if rest > 0 else 0.0
    if total < max(LITTLE, LITTLE_SHARE * rest):
        return f"You can stop: the next {ahead} labels would hardly lower the error."
    points = f"{100 * total:.1f} percentage points"
    return f"Continue: the next {ahead} labels may lower the error by up to {points}."
