"""How much the label of a point would teach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.utils import check_random_state

from bayespoint.active.machine import (
    check_machine,
    drawn_outputs,
    in_chunks,
    machine_and_points,
    probabilities,
)


def entropy(clf: Any, X: Any) -> NDArray[np.float64]:
    r"""Entropy of the vote of the classifiers that the data allow, in nats.

    .. math:: S(x) = -\sum_y p_y \log p_y, \quad
        p_y = P_{w | \text{data}}(\text{the classifier } w \text{ answers } y)

    Two classes: the answer is the sign of the output. Several: the class of the largest output.
    Shares are counted over the samples of the posterior, or computed, if it is Gaussian (two
    classes: in closed form; several: by quadrature).

    Noise of the labels does not count here: it makes labels uncertain that would teach nothing.
    (The paper prints S without the minus sign; it is large where a point is worth a label.)

    Parameters
    ----------
    clf : BayesPointClassifier
        Fitted; alone, or as the last step of a pipeline.
    X : array-like of shape (n_points, n_features)
        Points.

    Returns
    -------
    ndarray of shape (n_points,)
        Between 0, all agree, and log(n_classes).

    References
    ----------
    T. Graepel and R. Herbrich, The Kernel Gibbs Sampler, NIPS 13, 2001, section 4.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import entropy
    >>> clf = BayesPointClassifier(engine="ep", fit_intercept=False).fit([[-1.0], [1.0]], [0, 1])
    >>> entropy(clf, [[1.0], [-1.0], [0.0]]).round(4)
    array([0.3823, 0.3823, 0.6931])
    """
    check_machine(clf)
    machine, X = machine_and_points(clf, X)
    return entr(vote_shares(machine, X)).sum(axis=1)


def vote_shares(machine: Any, X: Any) -> NDArray[np.float64]:
    """Share of classifiers that answer each class; unlike one against the rest, they sum to 1."""
    coding = machine.coding_
    if machine.posterior_.n_samples is None:
        mean, variance = machine.latent_mean_and_variance(X)
        shape = (len(mean), coding.n_tasks)
        return coding.gaussian_shares(mean.reshape(shape), variance.reshape(shape))
    return np.concatenate(
        [coding.sample_shares(machine.sample_outputs(part)) for part in in_chunks(X)]
    )


def bald(
    clf: Any,
    X: Any,
    *,
    n_draws: int = 1000,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.float64]:
    r"""Mutual information between the label of a point and the weights, in nats.

    .. math:: I(x) = H\left[ E_w\, p(y | x, w) \right] - E_w\, H\left[ p(y | x, w) \right]

    "Bayesian active learning by disagreement": how uncertain the label is, less how uncertain it
    would be if the weights were known. Without label noise it is the :func:`entropy`.

    The expectation is taken over all samples of the posterior, if it has samples; by quadrature,
    exactly, if it is Gaussian, with two classes; else over drawn classifiers.

    Parameters
    ----------
    clf : BayesPointClassifier
        Fitted; alone, or as the last step of a pipeline.
    X : array-like of shape (n_points, n_features)
        Points.
    n_draws : int, default=1000
        Classifiers to draw, if it comes to that.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    ndarray of shape (n_points,)
        Not negative, and at most log(n_classes).

    References
    ----------
    N. Houlsby, F. Huszar, Z. Ghahramani and M. Lengyel, Bayesian Active Learning for
    Classification and Preference Learning, arXiv:1112.5745, 2011.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.active import bald
    >>> clf = BayesPointClassifier(engine="ep", fit_intercept=False).fit([[-1.0], [1.0]], [0, 1])
    >>> bald(clf, [[0.0], [1.0], [10.0]]).round(4)  # far out the label is nearly the sign
    array([0.    , 0.1076, 0.3355])
    """
    check_machine(clf)
    machine, X = machine_and_points(clf, X)
    posterior = machine.posterior_
    if posterior.n_samples is not None:
        parts = (machine.sample_outputs(part) for part in in_chunks(X))
        return np.concatenate([disagreement(probabilities(machine, part)) for part in parts])
    if posterior.is_gaussian and machine.coding_.n_tasks == 1:
        return posterior.likelihood.information(*machine.latent_mean_and_variance(X))
    outputs = drawn_outputs(machine, X, n_draws, seed_from(random_state))
    return disagreement(probabilities(machine, outputs))


def disagreement(p: NDArray) -> NDArray[np.float64]:
    """H[mean p] - mean H[p] over the classifiers, the first axis."""
    return np.maximum(entr(p.mean(axis=0)).sum(axis=-1) - entr(p).sum(axis=-1).mean(axis=0), 0)


def doubt(clf: Any, X: Any) -> NDArray[np.float64]:
    """One minus the margin, the difference of the two largest probabilities.

    Written as the sum of all but the largest, plus the second largest: no digits get lost where
    the largest is nearly 1. Two classes: decreases with the size of ``decision_function``.
    """
    p = np.sort(clf.predict_proba(X), axis=1)
    return p[:, :-1].sum(axis=1) + p[:, -2]


def seed_from(random_state: int | np.random.RandomState | None) -> int:
    """One seed, for generators."""
    return int(check_random_state(random_state).randint(2**31))
