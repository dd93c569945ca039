"""Derivatives of the evidence of several classes, against differences."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.helpers.gradients import log_evidence_gradient
from tests.helpers.joint import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, LaplaceApproximation
from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel
from bayespoint.selection import EvidenceSearch

H = 1e-5
ENGINES = [
    ExpectationPropagation(prior_scale=1.3, tol=1e-10),
    LaplaceApproximation(prior_scale=1.3, tol=1e-10),
]


def evidence(clf, X, y, name, step, weight):
    value = clf.get_params()[name]
    moved = clone(clf).set_params(**{name: value * np.exp(step)})
    return moved.fit(X, y, weight).log_evidence_.sum()


CASES = [
    ({"kernel": "rbf", "gamma": 0.5}, ("gamma", "engine__prior_scale")),
    ({"kernel": "rbf", "gamma": 0.5, "ridge": 0.2}, ("ridge",)),
    ({"kernel": "linear"}, ("engine__prior_scale",)),
    (
        {"kernel": RadialKernel(gamma=0.5) + PolynomialKernel(gamma=0.3) + ConstantKernel()},
        ("kernel__weights__0", "kernel__terms__0__gamma"),
    ),
]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.alias)
@pytest.mark.parametrize(("params", "names"), CASES)
def test_derivatives_are_those_of_the_evidence(engine, params, names):
    X, y = problem(n=15, d=2, seed=8)
    weight = np.random.default_rng(0).integers(1, 4, size=15).astype(float)
    clf = BayesPointClassifier(engine=engine, multi_class="joint", **params).fit(X, y, weight)
    found = log_evidence_gradient(clf, X, y, names, weight)
    for name, slope in zip(names, found, strict=True):
        up, down = (evidence(clf, X, y, name, step, weight) for step in (H, -H))
        assert slope == pytest.approx((up - down) / (2 * H), rel=1e-5, abs=1e-6)


def test_noise_and_prior_of_single_features():
    X, y = problem(n=20, d=2, seed=9)
    engine = ExpectationPropagation(
        prior_scale=[0.7, 2.0], intercept_scale=3.0, noise=0.6, prior_mean=[0.5, -1.0], tol=1e-10
    )
    clf = BayesPointClassifier(kernel="linear", engine=engine, multi_class="joint").fit(X, y)
    names = ("engine__noise", "engine__intercept_scale")
    for name, slope in zip(names, log_evidence_gradient(clf, X, y, names), strict=True):
        up, down = (evidence(clf, X, y, name, step, None) for step in (H, -H))
        assert slope == pytest.approx((up - down) / (2 * H), rel=1e-5, abs=1e-6)
    found = log_evidence_gradient(clf, X, y, ("engine__prior_scale",))
    for j in range(2):
        ends = []
        for step in (H, -H):
            scales = np.array([0.7, 2.0])
            scales[j] *= np.exp(step)
            moved = clone(clf).set_params(engine__prior_scale=scales.tolist())
            ends.append(moved.fit(X, y).log_evidence_[0])
        assert found[j] == pytest.approx((ends[0] - ends[1]) / (2 * H), rel=1e-5, abs=1e-6)


def neal(n, rng):
    """Three classes of which two inputs of four know nothing (R. Neal)."""
    x = rng.uniform(size=(n, 4))
    inside = (x[:, 0] - 0.4) ** 2 + (x[:, 1] - 0.5) ** 2 < 0.35**2
    y = np.where(inside, 0, np.where(0.8 * x[:, 0] + 1.8 * x[:, 1] < 0.6, 1, 2))
    return x + 0.1 * rng.normal(size=x.shape), y


@pytest.mark.parametrize("engine", ["ep", "laplace"])
def test_inputs_that_do_not_matter_are_switched_off(engine):
    X, y = neal(200, np.random.default_rng(0))
    kernel = RadialKernel(gamma=np.full(4, 2.0))
    clf = BayesPointClassifier(kernel=kernel, engine=engine, multi_class="joint")
    clf.set_params(engine__prior_scale=3.0, engine__tol=1e-3)
    bounds = {"kernel__gamma": (1e-4, 1e3), "engine__prior_scale": (0.1, 100.0)}
    search = EvidenceSearch(clf, param_bounds=bounds, refit=False).fit(X, y)
    width = search.best_params_["kernel__gamma"] ** -0.5
    assert width[2:].min() > 5 * width[:2].max()
