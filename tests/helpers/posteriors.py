"""Machines whose posterior is what a test says it is."""

import numpy as np

from bayespoint import BayesPointClassifier
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.posteriors import GaussianPosterior, SampledPosterior
from bayespoint.posteriors.sampled import TrainingMoments


def machine_with(posterior, n_features, n_classes=2):
    """A linear machine without an intercept: points are their own coordinates."""
    X = np.vstack([np.eye(n_features), -np.eye(n_features)])
    y = np.arange(len(X)) % n_classes
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, engine="ep", fit_intercept=False
    ).fit(X, y)
    clf.posterior_ = posterior
    return clf


def gaussian_machine(d=3, n_tasks=1, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    posterior = GaussianPosterior(
        rng.normal(size=(d, n_tasks)),
        rng.normal(size=(n_tasks, d, d)) / np.sqrt(d),
        ProbitLikelihood(noise),
    )
    return machine_with(posterior, d, n_classes=max(2, n_tasks))


def sampled_machine(d=3, n_samples=20, n_tasks=1, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(d, n_samples, n_tasks)) + rng.normal(size=(d, 1, n_tasks))
    weights /= np.linalg.norm(weights, axis=0)
    ones = np.ones(n_tasks)
    moments = TrainingMoments(
        n_samples, n_samples * np.ones((4, n_tasks)), n_samples * ones, n_samples * noise**2 * ones
    )
    return machine_with(SampledPosterior(weights, moments), d, n_classes=max(2, n_tasks))
