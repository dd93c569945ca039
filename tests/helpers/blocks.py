"""Data for out-of-core fits, and comparisons of their results."""

from dataclasses import astuple

import numpy as np

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, FactorisedPropagation, LaplaceApproximation

TIGHT = {
    "ep": ExpectationPropagation(tol=1e-9),
    "laplace": LaplaceApproximation(tol=1e-9),
    "diagonal": FactorisedPropagation(tol=1e-8),
}


def noisy(n=600, d=4, n_classes=2, seed=0, scale=2.0):
    """Points of several classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    outputs = scale * X @ rng.normal(size=(d, n_classes)) + rng.normal(size=(n, n_classes))
    return X, outputs.argmax(axis=1)


def machine(engine="ep", **params):
    """A classifier of the kind that can be fitted out of core."""
    given = {"kernel": "linear", "multi_class": "one_vs_rest", "engine": TIGHT.get(engine, engine)}
    return BayesPointClassifier(**{**given, **params})


def same_bits(one, two):
    """Whether two fits are equal to the last bit."""
    pairs = (
        (one.posterior_.mean, two.posterior_.mean),
        (one.posterior_.factor, two.posterior_.factor),
        (one.log_evidence_, two.log_evidence_),
        (one.coding_.temperature, two.coding_.temperature),
    )
    return all(np.array_equal(left, right) for left, right in pairs)


def assert_equal_fits(one, two, rtol=1e-6):
    """Posteriors, evidence, temperature and expected scores agree."""
    scale = np.sqrt(np.einsum("tii->ti", one.posterior_.covariance)).T
    assert np.abs((one.posterior_.mean - two.posterior_.mean) / scale).max() < 10 * rtol
    np.testing.assert_allclose(
        one.posterior_.covariance, two.posterior_.covariance, rtol=1e3 * rtol, atol=rtol
    )
    np.testing.assert_allclose(one.log_evidence_, two.log_evidence_, rtol=rtol, atol=1e2 * rtol)
    np.testing.assert_allclose(one.coding_.temperature, two.coding_.temperature, rtol=1e-4)
    for name in ("error", "log_loss"):
        scores = [astuple(clf.expected_scores_[name]) for clf in (one, two)]
        np.testing.assert_allclose(*scores, rtol=10 * rtol, atol=10 * rtol)
    np.testing.assert_array_equal(one.classes_, two.classes_)
