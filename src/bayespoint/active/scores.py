"""Scores of rows: how informative their labels would be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.utils import check_random_state

from bayespoint.active.classifiers import drawn_outputs, in_chunks, probabilities, unwrap
from bayespoint.classifier.estimator import BayesPointClassifier


def entropy(clf: Any, X: Any) -> NDArray[np.float64]:
    r"""Entropy of the vote of the posterior's classifiers, in nats.

    .. math:: S(x) = -\sum_y p_y \log p_y, \quad
        p_y = P_{w | \text{data}}(\text{the classifier } w \text{ predicts } y)

    A classifier predicts by the sign of its output for two classes, and by its largest output for
    several. The shares are counted over the samples of the posterior. For a Gaussian posterior they
    are computed, in closed form for two classes and by quadrature for several.

    Label noise is not included: it makes labels uncertain without making them informative. (The
    paper prints S without the minus sign.)

    Parameters
    ----------
    clf : BayesPointClassifier
        A fitted classifier, alone or as the last step of a pipeline.
    X : array-like of shape (n_points, n_features)
        Rows.

    Returns
    -------
    ndarray of shape (n_points,)
        Entropies, from 0, where all agree, to log(n_classes).

    References
    ----------
    T. Graepel and R. Herbrich, The Kernel Gibbs Sampler, NIPS 13, 2001, section 4.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import entropy
    >>> clf = BayesPointClassifier(kernel="linear", fit_intercept=False).fit([[-1], [1]], [0, 1])
    >>> entropy(clf, [[1.0], [-1.0], [0.0]]).round(4)
    array([0.3823, 0.3823, 0.6931])
    """
    classifier, X = unwrap(clf, X)
    return entr(vote_shares(classifier, X)).sum(axis=1)


def vote_shares(classifier: BayesPointClassifier, X: Any) -> NDArray[np.float64]:
    """Share of classifiers that predict each class; rows sum to 1."""
    return np.concatenate([classifier.class_shares(part) for part in in_chunks(X)])


def bald(
    clf: Any,
    X: Any,
    *,
    n_draws: int = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.float64]:
    r"""Mutual information between the label of a row and the weights, in nats.

    .. math:: I(x) = H\left[ E_w\, p(y | x, w) \right] - E_w\, H\left[ p(y | x, w) \right]

    "Bayesian active learning by disagreement": the entropy of the label, less its expected entropy
    if the weights were known. Without label noise it equals the :func:`entropy` of the vote.

    The expectation is taken over all samples of the posterior, if it has samples. For a Gaussian
    posterior and two classes it is computed by quadrature; otherwise over drawn classifiers.

    Parameters
    ----------
    clf : BayesPointClassifier
        A fitted classifier, alone or as the last step of a pipeline.
    X : array-like of shape (n_points, n_features)
        Rows.
    n_draws : int, default=1000
        Number of classifiers to draw, where drawing is needed.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    ndarray of shape (n_points,)
        Mutual information, from 0 to log(n_classes).

    References
    ----------
    N. Houlsby, F. Huszar, Z. Ghahramani and M. Lengyel, Bayesian Active Learning for
    Classification and Preference Learning, arXiv:1112.5745, 2011.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import bald
    >>> clf = BayesPointClassifier(kernel="linear", fit_intercept=False).fit([[-1], [1]], [0, 1])
    >>> bald(clf, [[0.0], [1.0], [10.0]]).round(4)  # far away the noise matters little
    array([0.    , 0.1076, 0.3355])
    """
    classifier, X = unwrap(clf, X)
    posterior = classifier.posterior_
    if posterior.n_samples is not None:
        parts = (classifier.sample_outputs(part) for part in in_chunks(X))
        return np.concatenate([disagreement(probabilities(classifier, part)) for part in parts])
    if posterior.is_gaussian and classifier.coding_.n_tasks == 1:
        return posterior.likelihood.information(*classifier.latent_mean_and_variance(X))
    outputs = drawn_outputs(classifier, X, n_draws, seed_from(random_state))
    return disagreement(probabilities(classifier, outputs))


def disagreement(p: NDArray) -> NDArray[np.float64]:
    """H[mean p] - mean H[p] over the classifiers, the first axis."""
    return np.maximum(entr(p.mean(axis=0)).sum(axis=-1) - entr(p).sum(axis=-1).mean(axis=0), 0)


def one_minus_margin(clf: Any, X: Any) -> NDArray[np.float64]:
    """One minus the margin between the two largest probabilities.

    Computed as the sum of all but the largest plus the second largest, which keeps all digits when
    the largest is nearly 1. For two classes it decreases with the size of ``decision_function``.
    """
    p = np.sort(clf.predict_proba(X), axis=1)
    return p[:, :-1].sum(axis=1) + p[:, -2]


def seed_from(random_state: int | np.random.RandomState | None) -> int:
    """An integer seed for a generator."""
    return int(check_random_state(random_state).randint(2**31))
