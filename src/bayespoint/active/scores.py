"""Scores of rows, from answers of classifiers drawn from a posterior."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.utils import check_random_state

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.training_rows import machine_of
from bayespoint.tools.pipelines import n_rows, split_pipeline

CHUNK = 1024  # points at a time, for outputs of all samples of the posterior


def unwrap(clf: Any, X: Any) -> tuple[BayesPointClassifier, Any]:
    """The fitted classifier, and the rows transformed by the pipeline before it."""
    parts = machine_of(clf)
    return parts.last, parts.transform(X)


def check_classifier(clf: Any) -> None:
    """Raise an error unless the classifier, or the last step of the pipeline, has a posterior."""
    last = split_pipeline(clf).last
    if not hasattr(last, "sample_proba"):
        raise TypeError(
            "Active learning needs a classifier with a posterior: a BayesPointClassifier, alone or "
            f"as the last step of a pipeline. Got {last!r} instead."
        )


def in_chunks(X: Any) -> Iterator[Any]:
    """The rows, chunk by chunk; a DataFrame stays a DataFrame."""
    for begin in range(0, n_rows(X), CHUNK):
        yield X[begin : begin + CHUNK]


def probabilities(classifier: BayesPointClassifier, outputs: NDArray) -> NDArray[np.float64]:
    """p(y | x, w) of classifiers w from their outputs, (n_classifiers, n_points, n_classes)."""
    log_yes, log_no = classifier.posterior_.likelihood.log_likelihood(outputs)
    single = classifier.coding_.probabilities(log_yes, log_no, temperature=1.0)
    return np.moveaxis(single, 1, 0)


def votes(classifier: BayesPointClassifier, outputs: NDArray) -> NDArray[np.bool_]:
    """Whether each classifier predicts each class, (n_classifiers, n_points, n_classes)."""
    decided = classifier.coding_.decide(np.moveaxis(outputs, 1, 0))
    return decided[..., None] == np.arange(len(classifier.classes_))


def drawn_outputs(
    classifier: BayesPointClassifier, X: Any, n_draws: int, seed: int
) -> NDArray[np.float64]:
    """Outputs of ``n_draws`` classifiers, shape (n_points, n_draws, n_tasks).

    If the posterior has no more samples than that, all of them are used.
    """
    n_samples = classifier.posterior_.n_samples
    if n_samples is not None and n_samples <= n_draws:
        return classifier.sample_outputs(X)
    return classifier.draw_outputs(X, n_draws, random_state=seed)


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
