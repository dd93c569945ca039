"""Gradients of the evidence in a basis of some points, and searches that use them."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.helpers.gradients import STEP, assert_gradient, log_evidence_gradient

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel, SumKernel
from bayespoint.selection import EvidenceSearch, objective

SUM = SumKernel(
    [RadialKernel(gamma=0.8), PolynomialKernel(gamma=0.3), ConstantKernel()], weights=[2, 0.5, 0.3]
)
KERNELS = {
    "rbf": ({"kernel": "rbf", "gamma": 0.8}, ["gamma"]),
    "poly": ({"kernel": "poly", "gamma": 0.5, "degree": 4}, ["gamma", "coef0"]),
    "normalised": (
        {"kernel": "poly", "gamma": 0.5, "degree": 5, "normalize": True},
        ["gamma", "coef0"],
    ),
    "sum": (
        {"kernel": SUM},
        ["kernel__terms__0__gamma", "kernel__weights__0", "kernel__weights__1"],
    ),
    "normalised sum": (
        {"kernel": clone(SUM).set_params(normalize=True)},
        ["kernel__terms__0__gamma", "kernel__terms__1__gamma", "kernel__weights__2"],
    ),
}
ENGINES = {
    "ep": ExpectationPropagation(prior_scale=2.0, noise=0.5, tol=1e-10),
    "laplace": LaplaceApproximation(prior_scale=2.0, tol=1e-10),
}


def data(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0


@pytest.mark.parametrize("n_components", [8, 119])  # few of the points; more than the rank
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_is_the_finite_difference(name, engine, n_components):
    """The basis has the same points when a parameter moves by so little."""
    settings, names = KERNELS[name]
    clf = BayesPointClassifier(engine=ENGINES[engine], n_components=n_components, **settings)
    names = [*names, "engine__prior_scale"]
    weight = np.random.default_rng(1).integers(1, 3, size=120).astype(float)
    assert_gradient(clf, *data(), names, weight)


def test_a_gradient_without_the_basis_points_own_change_is_wrong(monkeypatch):
    X, y = data()
    clf = BayesPointClassifier(
        temperature=1.0, kernel="rbf", gamma=0.8, n_components=8, engine=ENGINES["ep"]
    ).fit(X, y)
    right = log_evidence_gradient(clf, X, y, ["gamma"])
    space = type(clf.model_.space)
    true_slope = space._kernel_slope

    def without(self, left, right, name, pull):
        return 0.0 if left is right else true_slope(self, left, right, name, pull)

    monkeypatch.setattr(space, "_kernel_slope", without)
    assert abs(log_evidence_gradient(clf, X, y, ["gamma"]) - right) > 1e3 * STEP


def test_one_gamma_for_each_feature():
    X, y = data()
    X = np.column_stack([X, np.random.default_rng(2).normal(size=120)])
    gamma = np.array([0.9, 0.4, 0.1])
    clf = BayesPointClassifier(
        temperature=1.0, kernel=RadialKernel(gamma=gamma), n_components=12, engine=ENGINES["ep"]
    )
    gradient = log_evidence_gradient(clone(clf).fit(X, y), X, y, ["kernel__gamma"])
    expected = []
    for step in STEP * np.eye(3):
        ahead, behind = (
            clone(clf).set_params(kernel__gamma=gamma * np.exp(s)).fit(X, y).log_evidence_[0]
            for s in (step, -step)
        )
        expected.append((ahead - behind) / (2 * STEP))
    np.testing.assert_allclose(np.ravel(gradient), expected, rtol=1e-5, atol=1e-5)


def test_a_search_finds_what_a_grid_finds():
    X, y = data(300)
    clf = BayesPointClassifier(
        temperature=1.0,
        kernel="rbf",
        gamma=0.01,
        n_components=40,
        engine=ExpectationPropagation(prior_scale=1.0),
    )
    bounds = {"gamma": (1e-3, 1e2), "engine__prior_scale": (1e-2, 1e2)}
    search = EvidenceSearch(clf, param_bounds=bounds).fit(X, y)
    grid = [
        clone(clf).set_params(gamma=g, engine__prior_scale=s).fit(X, y).log_evidence_[0]
        for g in np.geomspace(0.03, 3, 7)
        for s in np.geomspace(0.3, 30, 7)
    ]
    assert search.best_score_ > max(grid) - 0.05
    assert search.best_estimator_.n_components == 40


def test_a_search_keeps_its_basis_so_that_the_evidence_is_smooth(monkeypatch):
    """With pivots chosen anew at every step it takes some hundred fits."""
    X, y = data(300)
    bounds = {"gamma": (1e-3, 1e2), "engine__prior_scale": (1e-2, 1e2)}
    clf = BayesPointClassifier(
        kernel="rbf", gamma=30.0, n_components=15, engine=ExpectationPropagation(prior_scale=1.0)
    )
    search = EvidenceSearch(clf, param_bounds=bounds).fit(X, y)
    assert len(search.cv_results_["params"]) < 25
    make_space = objective.make_space
    monkeypatch.setattr(objective, "make_space", lambda *arguments: make_space(*arguments[:2]))
    search = EvidenceSearch(clf, param_bounds=bounds).fit(X, y)
    assert len(search.cv_results_["params"]) > 25
