"""Overlapping clouds of points, and a small classifier for them."""

import pytest
from sklearn.datasets import make_blobs

from bayespoint import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron

RULES = pytest.mark.parametrize("rule", ["bayes_point", "vote"])


def blobs(classes=2, n=80, seed=0, spread=1.5):
    """Overlapping clouds: training points, their labels, and points to predict."""
    X, y = make_blobs(2 * n, 3, centers=classes, cluster_std=spread, random_state=seed)
    return X[:n], y[:n], X[n:]


def machine(n_samples=5, **parameters):
    parameters = {"kernel": "rbf", "gamma": 0.1, "ridge": "mean", "random_state": 3} | parameters
    return BayesPointClassifier(**parameters, engine=PermutedPerceptron(n_samples=n_samples))
