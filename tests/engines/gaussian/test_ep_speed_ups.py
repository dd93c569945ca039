"""What makes runs fast leaves their fixed point as it is.

Float32 at first, sites at rest left out, outputs instead of weights where there are fewer of them.

The slow version visits every site in every sweep, in float64.
"""

import warnings

import numpy as np
import pytest
from tests.helpers.probit import full_sites, problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian import gaussians
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.sites import Sites


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


def slow_result(X, y, noise=1.0, label_noise=0.0, prior_mean=None, sample_weight=None):
    """All sites in each sweep, in float64, until they rest."""
    n, d = X.shape
    mean = np.zeros(d) if prior_mean is None else prior_mean
    weight = np.ones(n) if sample_weight is None else sample_weight
    prior = GaussianPrior(mean, np.ones(d))
    sites = full_sites(X, y, prior, weight, noise=noise, label_noise=label_noise)
    for _ in range(200):
        if sites.sweep(1.0) < 1e-11:
            break
    else:
        raise AssertionError("the slow version does not come to rest")
    return sites.result()


@PROBLEMS
@pytest.mark.parametrize("n", [300, 150])
@pytest.mark.parametrize("tol", [1e-6, 1e-9])
def test_many_coordinates(change, tol, n):
    X, y, parameters = change(*problem(n, 220))
    assert X.shape[1] >= gaussians.SINGLE
    slow = slow_result(X, y, **parameters)
    weight = parameters.pop("sample_weight", None)
    engine = ExpectationPropagation(tol=tol, **parameters)
    clf = BayesPointClassifier(kernel="linear", temperature=1.0, fit_intercept=False, engine=engine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.fit(X, y, sample_weight=weight)
    covariance = slow.factor @ slow.factor.T
    deviation = np.sqrt(covariance.diagonal())
    gap = np.abs(clf.coef_[0] - slow.mean) / deviation
    spread = np.abs(clf.posterior_.covariance[0] - covariance) / np.outer(deviation, deviation)
    evidence = abs(clf.log_evidence_[0] - slow.log_evidence)
    assert gap.max() < 100 * tol
    assert spread.max() < 100 * tol
    assert evidence < 100 * tol
    np.testing.assert_allclose(
        clf.posterior_.left_out_log_probability[:, 0], slow.left_out, rtol=100 * tol, atol=100 * tol
    )


def test_the_speed_ups_were_at_work(monkeypatch):
    """Else the test above compares a thing with itself."""
    seen = []
    visit = Sites._in_turn

    def watched(self, share):
        seen.append((self.gaussian.Sigma.dtype, len(self._visited)))
        return visit(self, share)

    monkeypatch.setattr(Sites, "_in_turn", watched)
    X, y, _ = plain(*problem(300, 220))
    BayesPointClassifier(
        kernel="linear", temperature=1.0, fit_intercept=False, engine=ExpectationPropagation()
    ).fit(X, y)
    types, counts = zip(*seen, strict=True)
    assert types[0] == np.float32
    assert counts[0] == 300
    assert min(counts) < 300


def test_features_out_of_the_range_of_float32_are_borne():
    X, y = problem(60, 210)
    slow = slow_result(1e-11 * X, y)
    clf = BayesPointClassifier(
        kernel="linear", temperature=1.0, fit_intercept=False, engine=ExpectationPropagation()
    )
    for unit in (1e-11, 1e-30):
        np.testing.assert_allclose(clf.fit(unit * X, y).coef_[0], slow.mean * unit / 1e-11)
    for unit in (1e10, 1e25):
        scale = 1 / unit
        clf.set_params(engine=ExpectationPropagation(prior_scale=scale)).fit(unit * X, y)
        one = BayesPointClassifier(
            kernel="linear", temperature=1.0, fit_intercept=False, engine="ep"
        ).fit(X, y)
        np.testing.assert_allclose(
            clf.decision_function(unit * X), one.decision_function(X), atol=1e-5
        )


@pytest.mark.parametrize("seed", range(3))
def test_few_coordinates(seed):
    """Only the sites at rest are left out."""
    X, y = problem(300, 10, noise=0.3, seed=seed)
    slow = slow_result(X, y, noise=0.2)
    clf = BayesPointClassifier(
        kernel="linear",
        temperature=1.0,
        fit_intercept=False,
        engine=ExpectationPropagation(noise=0.2),
    ).fit(X, y)
    deviation = np.sqrt(np.diag(slow.factor @ slow.factor.T))
    assert (np.abs(clf.coef_[0] - slow.mean) / deviation).max() < 1e-4
    assert clf.log_evidence_[0] == pytest.approx(slow.log_evidence, abs=1e-6)
