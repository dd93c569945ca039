"""Machines whose posterior is what a test says it is."""

from dataclasses import replace

import numpy as np

from bayespoint import BayesPointClassifier
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.posteriors import GaussianPosterior, SampledPosterior
from bayespoint.posteriors.log_odds import LogOdds
from bayespoint.posteriors.sampled import FirstVisits


def machine_with(posterior, n_features, n_classes=2):
    """A linear machine without an intercept: points are their own coordinates."""
    X = np.vstack([np.eye(n_features), -np.eye(n_features)])
    y = np.arange(len(X)) % n_classes
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, multi_class="one_vs_rest", fit_intercept=False
    ).fit(X, y)
    clf.model_ = replace(clf.model_, posterior=posterior)
    return clf


def gaussian_machine(d=3, n_tasks=1, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    posterior = GaussianPosterior(
        rng.normal(size=(d, n_tasks)),
        rng.normal(size=(n_tasks, d, d)) / np.sqrt(d),
        ProbitLikelihood(noise),
    )
    return machine_with(posterior, d, n_classes=max(2, n_tasks))


def sampled_machine(d=3, n_samples=20, n_tasks=1, noise=0.0):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(d, n_samples, n_tasks)) + rng.normal(size=(d, 1, n_tasks))
    weights /= np.linalg.norm(weights, axis=0)
    log_odds = LogOdds(3.0 * np.eye(n_tasks), np.zeros(n_tasks))
    posterior = SampledPosterior(weights, some_visits(n_samples, n_tasks, noise), log_odds)
    return machine_with(posterior, d, n_classes=max(2, n_tasks))


def some_visits(n_samples, n_tasks, noise=0.0, n_points=4):
    """Each sample met half of the points in its second half, with outputs of 1."""
    counts = np.full(n_points, n_samples // 2)
    squares = float(n_samples * n_points * n_tasks)
    total_noise = n_samples * noise**2 * np.ones(n_tasks)
    return FirstVisits(
        counts[:, None] * np.ones((n_points, n_tasks)), counts, squares, squares, total_noise
    )
