"""Gradients of the evidence against central finite differences."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.selection import log_evidence_gradient

STEP = 1e-4  # of a logarithm: the error of a central difference is about STEP^2
SCALE, NOISE, FLIP = "engine__prior_scale", "engine__noise", "engine__label_noise"


def engine(**parameters):
    return ExpectationPropagation(**{"tol": 1e-10} | parameters)


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


def machine(kernel, own, **rest):
    return BayesPointClassifier(kernel=kernel, engine=engine(**own), **rest)


MODELS = [
    (machine("linear", {}), [SCALE, NOISE]),
    (machine("linear", {"prior_scale": 3.0, "noise": 0.2}, fit_intercept=False), [SCALE, NOISE]),
    (
        machine("linear", {"prior_scale": 0.3, "intercept_scale": 2.0}),
        [SCALE, NOISE, "engine__intercept_scale"],
    ),
    (machine("linear", {"label_noise": 0.1}), [SCALE, NOISE, FLIP]),
    (machine("linear", {"label_noise": 0.01, "noise": 0.3}), [SCALE, NOISE, FLIP]),
    (machine("linear", {"prior_mean": [1.0, -1.0, 0.0, 2.0]}), [SCALE, NOISE]),
    (machine("linear", {"schedule": "parallel"}), [SCALE, NOISE]),
    (machine("linear", {"prior_scale": 0.7}, ridge=0.5), [SCALE, NOISE, "ridge"]),
    (machine("linear", {}, normalize=True), [SCALE, NOISE]),
    (machine("rbf", {}, gamma=0.3), [SCALE, NOISE, "gamma"]),
    (machine("rbf", {"prior_scale": 4.0, "noise": 0.5}, gamma=2.0), [SCALE, NOISE, "gamma"]),
    (
        machine("rbf", {"label_noise": 0.05}, gamma=0.1, ridge=0.3),
        [SCALE, NOISE, FLIP, "gamma", "ridge"],
    ),
    (machine("poly", {"prior_scale": 0.1}, gamma=0.5, degree=3), [SCALE, "gamma", "coef0"]),
    (
        machine("poly", {}, gamma=0.7, coef0=0.4, degree=2, normalize=True, ridge=0.1),
        [SCALE, NOISE, "gamma", "coef0", "ridge"],
    ),
    (machine("poly", {}, gamma=0.7, coef0=0.0, degree=3, ridge=0.1), [SCALE, "gamma", "ridge"]),
    (machine("poly", {}, gamma=0.7, coef0=0.4, degree=1), [SCALE, "gamma", "coef0"]),
    (
        machine("poly", {}, gamma=0.7, coef0=0.4, degree=1, normalize=True),
        [SCALE, "gamma", "coef0"],
    ),
    (machine("poly", {}, gamma=0.7, degree=2, ridge="mean"), [SCALE, "gamma", "coef0"]),
]


@pytest.mark.parametrize(("clf", "names"), MODELS)
def test_gradient_is_the_finite_difference(clf, names):
    assert_gradient(clf, *problem(n=50), names)


@pytest.mark.parametrize(("clf", "names"), [MODELS[0], MODELS[4], MODELS[11], MODELS[13]])
def test_gradient_with_weights_and_weights_of_classes(clf, names):
    X, y = problem(n=40, seed=1)
    weight = np.random.default_rng(1).uniform(0.5, 3, len(y))
    weight[::7] = 0
    assert_gradient(clone(clf).set_params(class_weight={1: 2.0}), X, y, names, weight)


@pytest.mark.parametrize(("clf", "names"), [MODELS[0], MODELS[3], MODELS[10], MODELS[13]])
def test_gradient_is_a_sum_over_the_tasks_of_several_classes(clf, names):
    X, _ = problem(n=45, seed=2)
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2, [-0.3, 0.6])
    assert len(set(y)) == 3
    assert_gradient(clf, X, y, names)
