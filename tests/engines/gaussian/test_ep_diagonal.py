"""Weights that are treated as independent: a slow version, exact cases, and the warning."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import ndtr
from sklearn.datasets import load_iris
from tests.helpers.exact import grid_posterior
from tests.helpers.probit import assert_same, machine, prior, problem

from bayespoint.engines import ExpectationPropagation, FactorisedPropagation
from bayespoint.engines.gaussian.factorised_sites import FactorisedSites
from bayespoint.engines.gaussian.tasks import Labels
from bayespoint.exceptions import FactorisedWarning, NotConvergedWarning
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.spaces import Coordinates


def diagonal(**parameters):
    return machine("factorised-ep", **parameters)


def sparse_problem(n=40, d=8, seed=0, density=0.4):
    """Features that are mostly zero, and two sorts of labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


# The slow version --------------------------------------------------------------------------------


def slow_sweeps(X, y, *, noise, flip, mean, scale):
    """One Gaussian message from each label to each weight, by moments of N(w_j) alone.

    With g = log p(y_i): the mean of w_j moves by var_j x_j dg/dm, its variance by
    (var_j x_j)^2 d^2g/dm^2. Returns means, variances, evidence and left-out probabilities.
    """
    n, d = X.shape
    pull, precision = np.zeros((n, d)), np.zeros((n, d))
    prior_pull, prior_precision = mean / scale**2, scale**-2.0

    def totals(which):
        return prior_pull + pull[which].sum(axis=0), prior_precision + precision[which].sum(axis=0)

    def log_label(i, r, p):
        x, s2 = y[i] * X[i], noise**2 + (X[i] ** 2 / p).sum()
        t = (x * r / p).sum() / np.sqrt(s2)
        total = flip + (1 - 2 * flip) * ndtr(t)
        slope = (1 - 2 * flip) * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi * s2) / total
        bend = -slope * (slope + t / np.sqrt(s2))
        return np.log(total), x * slope, x**2 * bend

    def log_mass(r, p):
        return 0.5 * (r**2 / p - np.log(p)).sum()

    others = ~np.eye(n, dtype=bool)
    before = np.inf
    while np.abs(pull - before).max() > 1e-13:
        before = pull.copy()
        for i in range(n):
            r, p = totals(others[i])
            _, slope, bend = log_label(i, r, p)
            new_mean, new_variance = r / p + slope / p, 1 / p + bend / p**2
            precision[i] = 1 / new_variance - p
            pull[i] = new_mean / new_variance - r
    r, p = totals(slice(None))
    left_out, evidence = np.empty(n), log_mass(r, p) - log_mass(prior_pull, prior_precision)
    for i in range(n):
        cavity = totals(others[i])
        left_out[i] = log_label(i, *cavity)[0]
        evidence += left_out[i] - log_mass(r, p) + log_mass(*cavity)
    return r / p, 1 / p, evidence, left_out


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"noise": 0.7, "prior_scale": 0.8},
        {"noise": 0.0, "prior_scale": 0.5},
        {"label_noise": 0.1},
        {"prior_mean": np.linspace(-1, 1, 8), "prior_scale": np.geomspace(0.5, 2, 8)},
    ],
    ids=["plain", "noise", "hard", "flips", "prior"],
)
@pytest.mark.parametrize("copies", [1, 3])
def test_slow_version(parameters, copies):
    """With whole weights, too: they are copies."""
    X, y = sparse_problem(20, 8, density=0.3)
    if parameters.get("noise") == 0:
        X[~X.any(axis=1), 0] = 1
        y = np.where(X.sum(axis=1) > 0, 1, -1)
    weight = np.random.default_rng(1).integers(1, copies + 1, 20)
    which = np.repeat(np.arange(20), weight)
    clf = diagonal(max_iter=2000, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FactorisedWarning)
        warnings.simplefilter("error", NotConvergedWarning)
        clf.fit(X, y, sample_weight=weight)
    mean, variance, evidence, left_out = slow_sweeps(
        X[which],
        y[which],
        noise=parameters.get("noise", 1.0),
        flip=parameters.get("label_noise", 0.0),
        mean=parameters.get("prior_mean", 0.0),
        scale=np.broadcast_to(parameters.get("prior_scale", 1.0), 8),
    )
    posterior = clf.posterior_
    np.testing.assert_allclose(clf.coef_[0], mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(posterior.factor[0] ** 2, variance, rtol=0, atol=1e-10)
    assert clf.log_evidence_[0] == pytest.approx(evidence, abs=1e-9)
    np.testing.assert_allclose(posterior.left_out_log_probability[which, 0], left_out, atol=1e-10)
    assert clf.left_out_error_ == pytest.approx(np.mean(left_out <= np.log(0.5)))


# Exact cases -------------------------------------------------------------------------------------


@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_rows_with_one_entry_are_the_full_covariance(flip):
    """Weights of different features never meet in a label, so they are independent."""
    rng = np.random.default_rng(0)
    X = np.zeros((40, 5))
    X[np.arange(40), rng.integers(0, 5, 40)] = rng.normal(size=40)
    y = np.where(X.sum(axis=1) + rng.normal(size=40) > 0, 1, -1)
    parameters = {"noise": 0.5, "prior_scale": 1.5, "label_noise": flip}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = diagonal(**parameters).fit(X, y)
    full = machine(**parameters).fit(X, y)
    assert_same(found, full, atol=1e-10)
    np.testing.assert_allclose(
        found.posterior_.left_out_log_probability,
        full.posterior_.left_out_log_probability,
        atol=1e-10,
    )


def test_one_label_a_feature_has_a_closed_form():
    x, y, tau, beta = np.array([0.5, -1.0, 3.0]), np.array([1, -1, 1]), 1.3, 0.7
    clf = diagonal(noise=beta, prior_scale=tau).fit(np.diag(x), y)
    s = np.sqrt(tau**2 * x**2 + beta**2)
    np.testing.assert_allclose(clf.coef_[0], tau**2 * y * x * np.sqrt(2 / np.pi) / s, rtol=1e-11)
    variance = tau**2 * (1 - 2 / np.pi * tau**2 * x**2 / s**2)
    np.testing.assert_allclose(clf.posterior_.factor[0] ** 2, variance, rtol=1e-11)
    assert clf.log_evidence_[0] == pytest.approx(3 * np.log(0.5), rel=1e-12)


@pytest.mark.parametrize("noise", [1.0, 0.2])
def test_one_feature_is_the_full_covariance(noise):
    X, y = problem(30, 1, noise)
    assert_same(diagonal(noise=noise).fit(X, y), machine(noise=noise).fit(X, y), atol=1e-10)


def test_the_posterior_is_near_the_exact_one():
    """Means and evidence; variances of single weights only where they are nearly independent."""
    X = np.array([[1.0, 0.1], [0.9, -0.2], [0.1, 1.2], [-0.1, 0.8], [0.2, -1.0], [1.1, 0.0]])
    y = np.array([1, 1, -1, -1, 1, -1])

    def is_near(clf):
        mean, covariance, evidence = grid_posterior(lambda w: np.prod(ndtr(y * (w @ X.T)), axis=-1))
        variance = covariance.diagonal()
        gap = np.abs(clf.coef_[0] - mean) / np.sqrt(variance)
        ratio = clf.posterior_.factor[0] ** 2 / variance
        return (
            gap.max() < 0.03
            and np.abs(np.log(ratio)).max() < 0.05
            and abs(clf.log_evidence_[0] - evidence) < 0.02
        )

    assert is_near(diagonal().fit(X, y))
    assert not is_near(diagonal(noise=0.5).fit(X, y))


def test_weights_are_copies():
    X, y = sparse_problem()
    weight = np.random.default_rng(1).integers(1, 5, 40)
    copies = np.repeat(np.arange(40), weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FactorisedWarning)
        weighted = diagonal(max_iter=1000).fit(X, y, sample_weight=weight)
        copied = diagonal(max_iter=1000).fit(X[copies], y[copies])
    assert_same(weighted, copied, atol=1e-9)
    left_out = weighted.posterior_.left_out_log_probability[copies]
    np.testing.assert_allclose(left_out, copied.posterior_.left_out_log_probability, atol=1e-9)
    assert weighted.left_out_error_ == pytest.approx(copied.left_out_error_)


@pytest.mark.parametrize("prior_scale", [1, 10])
def test_the_smaller_the_weights_the_nearer_the_prior(prior_scale):
    X, y = sparse_problem()
    clf = diagonal(tol=1e-6, prior_scale=prior_scale)
    evidence, spread = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FactorisedWarning)
        warnings.simplefilter("error", NotConvergedWarning)
        for weight in (1, 0.3, 0.01, 1e-4):
            clf.fit(X, y, sample_weight=np.full(40, weight))
            evidence.append(clf.log_evidence_[0])
            spread.append(np.square(clf.posterior_.factor).sum())
    assert np.all(np.diff(evidence) > 0)
    assert np.all(np.diff(spread) > 0)
    assert evidence[-1] == pytest.approx(0, abs=0.02)
    assert spread[-1] == pytest.approx(8 * prior_scale**2, rel=0.05)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 50), flip=st.sampled_from([0.0, 0.05]))
def test_symmetries(seed, n, flip):
    X, y = sparse_problem(n, 6, seed)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(n), rng.permutation(6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FactorisedWarning)
        fitted, opposite, ordered, turned = (
            diagonal(tol=1e-9, max_iter=5000, label_noise=flip).fit(*data)
            for data in ((X, y), (X, -y), (X[:, columns], y), (X[rows], y[rows]))
        )
    np.testing.assert_allclose(opposite.coef_, -fitted.coef_, atol=1e-12)
    np.testing.assert_allclose(ordered.coef_, fitted.coef_[:, columns], atol=1e-7)
    assert_same(turned, fitted, atol=1e-6)


def test_several_classes_are_tasks_of_their_own():
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FactorisedWarning)
        clf = diagonal(label_noise=0.01, tol=1e-7).fit(X, y)
        for task in range(3):
            alone = diagonal(label_noise=0.01, tol=1e-7).fit(X, y == task)
            np.testing.assert_allclose(clf.coef_[task], alone.coef_[0], atol=1e-12)
            assert clf.log_evidence_[task] == pytest.approx(alone.log_evidence_[0])
    assert clf.score(X, y) > 0.8


# What independence gets wrong --------------------------------------------------------------------


def correlated(copies):
    """Copies of one feature: only the sum of their weights is known."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    y = np.where(x + 0.05 * rng.normal(size=100) > 0, 1, -1)
    return np.column_stack([x] * copies), y


@pytest.mark.parametrize("copies", [2, 5, 20])
def test_copies_of_a_feature_give_a_warning_with_its_number(copies):
    X, y = correlated(copies)
    with pytest.warns(FactorisedWarning, match="Remedy: engine='ep'") as caught:
        clf = diagonal(prior_scale=3.0, tol=1e-8, max_iter=2000).fit(X, y)
    told = caught[0].message
    assert told.task == 0
    assert f"{told.variance_ratio:.2g} times that of a full covariance" in str(told)
    full = machine(prior_scale=3.0).fit(X, y)
    (_, variance), (_, full_variance) = (
        fitted.latent_mean_and_variance(X[[0, 33, 66, 99]]) for fitted in (clf, full)
    )
    ratio = (1 + variance) / (1 + full_variance)
    worst = ratio[np.abs(np.log(ratio)).argmax()]
    assert np.log(told.variance_ratio) == pytest.approx(np.log(worst), abs=0.3)


def test_the_mean_solves_the_equation_of_the_full_covariance():
    """Why there is nothing to say of means: the full posterior of these sites has the same."""
    X, y = sparse_problem()
    space = Coordinates(sparse.csr_array(X))
    sites = FactorisedSites(
        space, prior(8), Labels(y, np.ones(40), ProbitLikelihood(), np.ones(40))
    )
    for _ in range(200):
        sites.sweep(1.0)
    mean = sites.result().mean
    *_, a, b = sites.summary
    full = np.linalg.solve(np.eye(8) + (X.T * b) @ X, X.T @ (a * y))
    np.testing.assert_allclose(mean, full, atol=1e-12)


def test_nearly_orthogonal_features_give_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = np.where(X @ rng.normal(size=5) + rng.normal(size=200) > 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = diagonal().fit(X, y)
    full = machine().fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), full.predict_proba(X), atol=0.02)


def test_points_without_features_and_noise_have_nothing_to_compare():
    X, y = np.vstack([np.zeros((4, 3)), np.eye(3)]), np.array([1, -1, 1, 1, -1, -1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = diagonal(noise=0).fit(X, y)
    assert clf.log_evidence_[0] == pytest.approx(7 * np.log(0.5), rel=1e-12)
    assert clf.predict_proba(np.zeros((1, 3))) == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["schedule", "prior_covariance"])
def test_what_needs_a_full_covariance_is_no_parameter(name):
    assert name in ExpectationPropagation().get_params()
    assert name not in FactorisedPropagation().get_params()
    with pytest.raises(ValueError, match=f"Invalid parameter '{name}'"):
        FactorisedPropagation().set_params(**{name: None})


def test_sparse_rows_take_over_the_parameters_of_ep():
    engine = ExpectationPropagation(noise=0.3, tol=1e-4, prior_mean=[1.0], schedule="rounds")
    expected = "FactorisedPropagation(noise=0.3, prior_mean=[1.0], tol=0.0001)"
    assert repr(engine.for_sparse()) == expected
    assert ExpectationPropagation(prior_covariance=[[1.0]]).for_sparse() is None
