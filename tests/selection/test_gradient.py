"""Gradients of the evidence against central finite differences."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from tests.helpers.gradients import STEP, assert_gradient, log_evidence_gradient
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation, get_engine
from bayespoint.engines.gaussian import evidence_gradient as evidence
from bayespoint.selection.objective import is_differentiable

SCALE, NOISE, FLIP = "engine__prior_scale", "engine__noise", "engine__label_noise"


def engine(**parameters):
    return ExpectationPropagation(**{"prior_scale": 1.0, "tol": 1e-10} | parameters)


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
    (machine("linear", {"schedule": "sequential"}), [SCALE, NOISE]),
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


def test_gradient_by_the_scale_of_each_weight():
    X, y = problem(n=50)
    scales, index = np.array([0.5, 1.0, 2.0, 0.1]), np.arange(4)
    clf = machine("linear", {"prior_scale": scales})
    fitted = clone(clf).fit(X, y)
    space = clf.engine.space(fitted.kernel_).fit(X)
    (task,) = evidence.learned(clf.engine, space, y[:, None], fitted.posterior_)

    def moved(i, sign):
        engine = clone(clf.engine).set_params(
            prior_scale=scales * np.exp(sign * STEP * (index == i))
        )
        return clone(clf).set_params(engine=engine).fit(X, y).log_evidence_[0]

    expected = [(moved(i, 1) - moved(i, -1)) / (2 * STEP) for i in index]
    gradient = task.by_prior_scales()
    np.testing.assert_allclose(gradient[:4], expected, rtol=1e-5, atol=1e-5)


def test_prior_and_noise_are_scaled_together_for_nothing():
    X, y = problem(n=40)
    fitted = machine("rbf", {"label_noise": 0.02, "noise": 0.4}).fit(X, y)
    gradient = log_evidence_gradient(fitted, X, y, [SCALE, NOISE])
    assert gradient.sum() == pytest.approx(0, abs=1e-6)
    assert abs(gradient[0]) > 0.1


def test_gradient_by_the_ridge_of_a_precomputed_kernel():
    X, y = problem(n=40)
    weight = np.tile([1.0, 0.0, 2.0, 1.0], 10)
    assert_gradient(machine("precomputed", {}, ridge=0.3), X @ X.T, y, [SCALE, "ridge"], weight)


@pytest.mark.parametrize("degree", [1, 3])
def test_gradient_with_a_feature_that_is_always_zero(degree):
    X, y = problem(n=40)
    X[:, 1] = 0
    clf = machine("poly", {"prior_scale": 0.3}, degree=degree, gamma=0.5)
    assert_gradient(clf, X, y, [SCALE, "gamma", "coef0"])


def test_the_linear_kernel_ignores_parameters_of_others():
    X, y = problem()
    fitted = machine("linear", {}).fit(X, y)
    assert log_evidence_gradient(fitted, X, y, ["gamma", "coef0"]).tolist() == [0.0, 0.0]


def test_a_linear_gradient_forms_no_square_matrix():
    X, y = problem(n=4000, d=3)
    fitted = machine("poly", {"tol": 1e-6}, degree=1, gamma=0.5).fit(X, y)
    tracemalloc.start()
    log_evidence_gradient(fitted, X, y, [SCALE, NOISE, "gamma", "coef0"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000 * 4000 * 8 / 10


# Laplace's approximation: with the part that comes through the mode ------------------------------

POLY = {"kernel": "poly", "gamma": 0.7, "coef0": 0.4}
LAPLACE = [
    ({"prior_scale": 1.5}, {}, [SCALE]),
    ({"prior_scale": 0.7, "intercept_scale": 3.0}, {}, [SCALE, "engine__intercept_scale"]),
    ({"prior_mean": [1.0, -1.0, 0.0, 2.0]}, {}, [SCALE]),
    ({"prior_scale": 3.0}, {"kernel": "rbf", "gamma": 0.3}, [SCALE, "gamma"]),
    ({}, {"kernel": "rbf", "gamma": 1.0, "ridge": 0.3}, [SCALE, "gamma", "ridge"]),
    ({}, {**POLY, "degree": 2, "normalize": True, "ridge": 0.1}, [SCALE, "gamma", "coef0"]),
    ({}, {**POLY, "degree": 1}, [SCALE, "gamma", "coef0"]),
]


@pytest.mark.parametrize(("own", "rest", "names"), LAPLACE)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_the_laplace_approximation(own, rest, names, weighted):
    X, y = problem(n=50)
    weight = np.random.default_rng(0).uniform(0.5, 3, len(y)) if weighted else None
    engine = LaplaceApproximation(**{"prior_scale": 1.0, "tol": 1e-10} | own)
    clf = BayesPointClassifier(**{"kernel": "linear", "engine": engine} | rest)
    assert_gradient(clf, X, y, names, weight)


def test_gradient_of_the_laplace_approximation_of_several_classes():
    X, _ = problem(n=45)
    y = np.digitize(X[:, 0], [-0.3, 0.6])
    clf = BayesPointClassifier(
        kernel="rbf", gamma=0.5, engine=LaplaceApproximation(prior_scale=1.0, tol=1e-10)
    )
    assert_gradient(clf, X, y, [SCALE, "gamma"])


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ({"max_iter": 1}, SCALE),
        ({}, "degree"),
        ({}, "engine__tol"),
    ],
)
def test_derivatives_that_are_not_known(own, name):
    clf = machine("linear", own)
    assert not is_differentiable(clf.kernel, get_engine(clf.engine), name)
