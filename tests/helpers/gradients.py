"""Gradients of the evidence against central differences of two fits."""

import numpy as np
from sklearn.base import clone

from bayespoint.classifier.fitting import pose
from bayespoint.classifier.parameters import Parameters
from bayespoint.engines import get_engine
from bayespoint.selection.objective import Solution, is_differentiable, solution_gradient

STEP = 1e-4  # of a logarithm: the error of a central difference is about STEP^2


def log_evidence_gradient(clf, X, y, names, weight=None):
    """Derivatives of a fitted classifier's log evidence by the logarithms of parameters."""
    engine = get_engine(clf.engine)
    assert all(is_differentiable(clf.kernel, engine, name) for name in names)
    problem = pose(clf, Parameters.of(clf), X, y, weight, reset=False)
    space = engine.space(clf.kernel_, clf.ridge, clf.n_components).fit(problem.points)
    solution = Solution(clf.kernel, engine, problem, space, clf.posterior_, clf.run_)
    parts = solution_gradient(solution, names)
    return np.concatenate([np.atleast_1d(parts[name]) for name in names])


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
