"""What makes rounds fast leaves their fixed point as it is.

Float32 at first, and outputs instead of weights where there are fewer of them. The slow version
visits one site after another, in NumPy.
"""

import warnings

import numpy as np
import pytest
from tests.helpers.probit import learn, prior, problem, slow_sweeps

from bayespoint.engines.gaussian import ep, gaussians
from bayespoint.engines.gaussian.gaussians import OutputGaussian, WeightGaussian
from bayespoint.engines.gaussian.rounds import Rounds
from bayespoint.spaces import Coordinates


def plain(X, y):
    return X, y, {}


def ill_conditioned(X, y):
    """Singular values over five decades, in directions that are no features."""
    U, size, Vt = np.linalg.svd(X, full_matrices=False)
    size = np.geomspace(3e2, 3e-3, len(size))
    return (U * size) @ Vt, y, {}


def correlated(X, y):
    """All features share a large part."""
    return X / np.sqrt(X.shape[1]) + 3, y, {}


def scaled(X, y):
    return X * np.geomspace(1e-3, 1e2, X.shape[1]), y, {}


def nearly_separable(X, y):
    return X, np.where(X[:, :5].sum(axis=1) > 0, 1, -1), {"noise": 0.05}


def weighted(X, y):
    return X, y, {"sample_weight": np.random.default_rng(3).integers(1, 6, len(y)).astype(float)}


def flipped(X, y):
    return X / 5, np.where(np.arange(len(y)) % 9, y, -y), {"label_noise": 0.1}


def surprised(X, y):
    return X, y, {"prior_mean": np.random.default_rng(4).normal(size=X.shape[1])}


PROBLEMS = pytest.mark.parametrize(
    "change",
    [plain, ill_conditioned, correlated, scaled, nearly_separable, weighted, flipped, surprised],
)


def slow_result(X, y, prior_mean=None, sample_weight=None, label_noise=0.0, noise=1.0):
    """All sites, one after another, in float64, until they rest."""
    step = 1.0 if sample_weight is None else 0.5
    settings = {"weight": sample_weight, "mean": prior_mean, "noise": noise, "flip": label_noise}
    return slow_sweeps(X, y, step=step, **settings)


@pytest.fixture
def small_is_large(monkeypatch):
    """Problems of any size begin in float32; which precision each factor had."""
    monkeypatch.setattr(gaussians, "LARGE", 0)
    seen, factorise = [], WeightGaussian.factorise

    def watched(self, rate):
        seen.append(self.is_single)
        factorise(self, rate)

    monkeypatch.setattr(WeightGaussian, "factorise", watched)
    return seen


def gaps(posterior, slow):
    """Differences of mean and covariance in standard deviations, of evidence, of left-out rows."""
    deviation = np.sqrt(slow.covariance.diagonal())
    return (
        np.abs((posterior.mean[:, 0] - slow.mean) / deviation).max(),
        np.abs((posterior.covariance[0] - slow.covariance) / np.outer(deviation, deviation)).max(),
        abs(posterior.log_evidence[0] - slow.log_evidence),
        np.abs(posterior.left_out_log_probability[:, 0] - slow.left_out).max(),
    )


@PROBLEMS
@pytest.mark.parametrize("n", [150, 70])
def test_float32_leaves_the_fixed_point(change, n, small_is_large):
    """By weights: with as many coordinates as points outputs are learned instead."""
    X, y, parameters = change(*problem(n, 100 if n > 100 else 50))
    slow = slow_result(X, y, **parameters)
    weight = parameters.pop("sample_weight", None)
    for tol in (1e-6, 1e-9):
        small_is_large.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            posterior, run = learn(X, y, weight, tol=tol, **parameters)
        assert run.converged
        assert small_is_large[0]  # float32 was at work, and the end is in float64
        assert not small_is_large[-1]
        assert max(gaps(posterior, slow)) < 100 * tol


def test_float32_alone_does_not_reach_it(monkeypatch, small_is_large):
    """The wrong variant, of which the test above must see the difference."""
    X, y = problem(150, 100)
    slow = slow_result(X, y)

    def agrees(self, tol):
        return self.left <= 1e-4

    monkeypatch.setattr(Rounds, "agrees", agrees)
    posterior, _ = learn(X, y, tol=1e-9)
    assert all(small_is_large)
    assert max(gaps(posterior, slow)) > 1e-6


def test_small_problems_and_those_out_of_range_are_in_float64():
    X, _ = problem(60, 20)
    assert not single(X)
    many = np.vstack([X] * 8500)
    assert single(many)
    assert not single(1e-11 * many)
    assert not single(1e8 * many)


def single(X):
    """Whether rounds begin in float32."""
    return WeightGaussian(Coordinates(X), prior(X.shape[1])).suits_single


@PROBLEMS
@pytest.mark.parametrize("share", [0.0, np.inf], ids=["outputs", "weights"])
def test_outputs_and_weights_are_the_same(change, share, monkeypatch):
    """Where the prior has one scale and the mean 0, and no site is negative; else by weights."""
    monkeypatch.setattr(gaussians, "MOSTLY", share)
    kinds, make = [], gaussians.make_gaussian

    def watched(*arguments, **more):
        kinds.append(type(gaussian := make(*arguments, **more)))
        return gaussian

    monkeypatch.setattr(ep, "make_gaussian", watched)
    X, y, parameters = change(*problem(60, 25))
    slow = slow_result(X, y, **parameters)
    by_weights = share > 1 or not parameters.keys() <= {"sample_weight", "noise"}
    weight = parameters.pop("sample_weight", None)
    posterior, _ = learn(X, y, weight, tol=1e-9, **parameters)
    assert kinds == [WeightGaussian if by_weights else OutputGaussian]
    assert max(gaps(posterior, slow)) < 1e-7


@pytest.mark.parametrize("unit", [1e-30, 1e-11, 1e10, 1e25])
def test_features_out_of_the_range_of_float32_are_borne(unit, small_is_large):
    X, y = problem(120, 30)
    slow = slow_result(X, y)
    if unit < 1:  # labels say next to nothing: the mean grows with the square of the unit
        slow = slow_result(1e-4 * X, y)
        posterior, _ = learn(unit * X, y)
        np.testing.assert_allclose(posterior.mean[:, 0] / unit, slow.mean / 1e-4, rtol=1e-5)
    else:
        posterior, _ = learn(unit * X, y, prior_scale=1 / unit)
        np.testing.assert_allclose(posterior.mean[:, 0] * unit, slow.mean, atol=1e-5)
    assert not any(small_is_large)


@pytest.mark.parametrize("schedule", ["rounds", "sequential"])
@pytest.mark.parametrize("seed", range(3))
def test_few_coordinates(seed, schedule):
    X, y = problem(300, 10, noise=0.3, seed=seed)
    slow = slow_result(X, y, noise=0.2)
    posterior, _ = learn(X, y, noise=0.2, tol=1e-7, schedule=schedule)
    assert max(gaps(posterior, slow)) < 1e-5
