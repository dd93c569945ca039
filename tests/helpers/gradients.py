"""Gradients of the evidence against central differences of two fits."""

import numpy as np
from sklearn.base import clone

from bayespoint.selection import log_evidence_gradient

STEP = 1e-4  # of a logarithm: the error of a central difference is about STEP^2


def finite_difference(clf, X, y, name, weight=None):
    """(log Z(theta e^h) - log Z(theta e^-h)) / 2h by two fits."""
    value, both = clf.get_params()[name], []
    for sign in (1, -1):
        moved = clone(clf).set_params(**{name: value * np.exp(sign * STEP)})
        both.append(moved.fit(X, y, sample_weight=weight).log_evidence_.sum())
    return (both[0] - both[1]) / (2 * STEP)


def assert_gradient(clf, X, y, names, weight=None):
    fitted = clone(clf).fit(X, y, sample_weight=weight)
    gradient = log_evidence_gradient(fitted, X, y, names, weight)
    expected = [finite_difference(clf, X, y, name, weight) for name in names]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)
