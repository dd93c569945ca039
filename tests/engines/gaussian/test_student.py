"""Expectation propagation with the robust likelihood, against quadrature and plain loops."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.datasets import load_iris
from tests.helpers.exact import grid_posterior
from tests.helpers.probit import machine, problem

import bayespoint
from bayespoint import BayesPointClassifier
from bayespoint.classifier.fitting import make_space
from bayespoint.classifier.parameters import Parameters
from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian.evidence_gradient import evidence_gradient
from bayespoint.engines.gaussian.groups import leave_groups_out
from bayespoint.likelihoods import ProbitLikelihood, StudentLikelihood
from bayespoint.rows import from_arrays

ROBUST = {"likelihood": "student", "prior_scale": 1.0}


def probability(likelihood, margins):
    """p(y | f) for margins y f of any shape."""
    return np.exp(likelihood.log_likelihood(margins[..., None])[0][..., 0])


@pytest.mark.parametrize("label", [0, 1])
def test_one_point_is_exact(label):
    """The posterior of one weight given one label, and its evidence, by adaptive quadrature."""
    X = np.array([[1.7], [1.7]])  # the second class has a point of hardly any weight
    weight = np.array([1.0, 1e-12])
    clf = machine(noise=0.5, **ROBUST)
    clf.fit(X, [label, 1 - label], weight)
    likelihood, sign = StudentLikelihood(0.5), 2 * label - 1

    def integral(power):
        def density(w):
            return w**power * probability(likelihood, np.array(sign * 1.7 * w)) * norm.pdf(w)

        return quad(density, -10, 10, points=[0.0], epsabs=1e-13, limit=200)[0]

    p, first, second = (integral(power) for power in range(3))
    expected = first / p, second / p - (first / p) ** 2
    found = clf.posterior_.mean[0, 0], clf.posterior_.covariance[0, 0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert clf.log_evidence_[0] == pytest.approx(np.log(p), abs=1e-8)
    probit = machine(noise=0.5, prior_scale=1.0).fit(X, [label, 1 - label], weight)
    assert abs(probit.posterior_.mean[0, 0] - first / p) > 0.01  # the wrong likelihood


def with_outlier():
    """Two features, and one far point of the wrong class."""
    X, y = problem(30, 2, noise=0.3)
    far = 6 * (y @ X) / np.linalg.norm(y @ X)
    return np.vstack([X, far]), np.append(y, -1)


@cache
def on_a_grid(flips):
    """The exact posterior of the points with an outlier."""
    X, y = with_outlier()
    likelihood = StudentLikelihood(0.4, flips)
    return grid_posterior(lambda w: probability(likelihood, y * (w @ X.T)).prod(axis=1))


@pytest.mark.parametrize("flips", [0.0, 0.05])
def test_runs_are_close_to_exact(flips):
    X, y = with_outlier()
    clf = machine(noise=0.4, label_noise=flips, **ROBUST).fit(X, y)
    assert clf.run_.converged
    mean, covariance, evidence = on_a_grid(flips)
    np.testing.assert_allclose(clf.posterior_.mean[:, 0], mean, atol=0.03)
    # The outlier makes the exact posterior wider than a Gaussian that matches moments by site.
    np.testing.assert_allclose(clf.posterior_.covariance[0], covariance, atol=0.06)
    assert clf.log_evidence_[0] == pytest.approx(evidence, abs=0.1)
    probit = machine(noise=0.4, prior_scale=1.0).fit(X, y)
    assert np.abs(probit.posterior_.mean[:, 0] - mean).max() > 0.2  # the outlier turns it


def one_after_another(Z, y, likelihood, sweeps=100):
    """Expectation propagation as on paper: mean, covariance and log evidence."""
    n, d = Z.shape
    a, b = np.zeros((2, n))
    for _ in range(sweeps):
        for i in range(n):
            rest = np.arange(n) != i
            cavity = np.linalg.inv(np.eye(d) + (Z[rest].T * b[rest]) @ Z[rest])
            m, v = Z[i] @ cavity @ (Z[rest].T @ a[rest]), Z[i] @ cavity @ Z[i]
            _, a[[i]], b[[i]] = likelihood.site(y[[i]], m, v)
    precision = np.eye(d) + (Z.T * b) @ Z
    mean = np.linalg.solve(precision, Z.T @ a)
    log_evidence = 0.5 * (a @ Z @ mean - np.linalg.slogdet(precision)[1])
    for i in range(n):
        rest = np.arange(n) != i
        cavity = np.linalg.inv(np.eye(d) + (Z[rest].T * b[rest]) @ Z[rest])
        m, v = Z[i] @ cavity @ (Z[rest].T @ a[rest]), Z[i] @ cavity @ Z[i]
        # The constant of the site: log p less that of the matched Gaussian.
        exponent = (2 * m * a[i] + a[i] ** 2 * v - b[i] * m**2) / (2 * (1 + b[i] * v))
        log_evidence += likelihood.site(y[[i]], m, v)[0][0] + 0.5 * np.log1p(b[i] * v) - exponent
    return mean, np.linalg.inv(precision), float(log_evidence)


def test_the_fixed_point_is_that_of_the_plain_loop():
    X, y = problem(25, 3, noise=0.5, seed=3)
    mean, covariance, evidence = one_after_another(X, y, StudentLikelihood(0.5))
    clf = machine(noise=0.5, **ROBUST).fit(X, y)
    np.testing.assert_allclose(clf.posterior_.mean[:, 0], mean, atol=1e-7)
    np.testing.assert_allclose(clf.posterior_.covariance[0], covariance, atol=1e-7)
    assert clf.log_evidence_[0] == pytest.approx(evidence, abs=1e-7)
    wrong = one_after_another(X, y, ProbitLikelihood(0.5))
    assert np.abs(wrong[0] - mean).max() > 0.01


def test_rows_of_weight_k_are_k_copies():
    X, y = problem(20, 3)
    weight = np.arange(20) % 3 + 1
    one = machine(**ROBUST).fit(X, y, weight)
    copies = machine(**ROBUST).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.posterior_.mean, copies.posterior_.mean, atol=1e-8)
    np.testing.assert_allclose(one.log_evidence_, copies.log_evidence_, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_gradient_of_the_evidence_by_differences(kernel):
    X, y = problem(30, 3, noise=0.3)
    names, h = ("noise", "label_noise", "prior_scale"), 1e-4

    def fit(**parameters):
        engine = ExpectationPropagation(likelihood="student", tol=1e-11, **parameters)
        clf = BayesPointClassifier(kernel=kernel, gamma=0.3, engine=engine, temperature=1.0)
        return clf.fit(X, y)

    at = {"noise": 0.6, "label_noise": 0.02, "prior_scale": 1.5}
    clf = fit(**at)
    problem_, posterior = clf.model_.training[1], clf.posterior_
    space = make_space(Parameters.of(clf), problem_)
    found = evidence_gradient(
        clf.engine, space, problem_.points, problem_.targets, posterior, names
    )
    for name in names:
        ahead, behind = (fit(**at | {name: at[name] * np.exp(step)}) for step in (h, -h))
        expected = (ahead.log_evidence_[0] - behind.log_evidence_[0]) / (2 * h)
        assert found[name] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_single_rows_of_groups_are_leave_one_out():
    X, y = problem(30, 3, noise=0.3)
    clf = BayesPointClassifier(
        kernel="rbf", engine=ExpectationPropagation(tol=1e-10, **ROBUST), temperature=1.0
    ).fit(X, y)
    learned, posterior = clf.model_.training[1], clf.posterior_
    before = posterior.left_out_log_probability.copy()
    leave_groups_out(
        posterior, make_space(Parameters.of(clf), learned), learned.targets, np.arange(len(y))
    )
    np.testing.assert_allclose(posterior.left_out_log_probability, before, atol=1e-8)


def test_gross_errors_hardly_turn_the_classifier():
    """One label in 25 is wrong, and the rows with wrong labels are far from the boundary."""
    rng = np.random.default_rng(5)
    w = np.array([3.0, 0.0])
    X = rng.normal(size=(200, 2))
    y = np.where(X @ w + rng.normal(size=200) > 0, 1, -1)
    X[:8] = np.array([4.0, 4.0]) + 0.3 * rng.normal(size=(8, 2))
    y[:8] = -1

    def angle(**parameters):
        mean = machine(prior_scale=3.0, **parameters).fit(X, y).posterior_.mean[:, 0]
        return np.degrees(np.arccos(mean @ w / np.linalg.norm(mean) / np.linalg.norm(w)))

    robust, probit = angle(likelihood="student"), angle()
    assert robust < 15
    assert probit > 2 * robust


def test_several_classes_one_against_the_rest(tmp_path):
    X, y = load_iris(return_X_y=True)
    clf = BayesPointClassifier(kernel="linear", engine=ExpectationPropagation(likelihood="student"))
    clf.fit(X[::2], y[::2])
    assert clf.coding_.name == "one_vs_rest"  # where the probit likelihood learns all jointly
    assert clf.score(X[1::2], y[1::2]) > 0.9
    assert isinstance(clf.posterior_.likelihood, StudentLikelihood)
    bayespoint.save(clf, tmp_path / "model")
    again = bayespoint.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_rows_in_blocks_have_the_posterior_of_rows_in_memory():
    X, y = with_outlier()
    engine = ExpectationPropagation(noise=0.4, label_noise=0.02, tol=1e-9, **ROBUST)
    inside, outside = (BayesPointClassifier(kernel="linear", engine=engine) for _ in range(2))
    inside.fit(X, y)
    outside.fit(from_arrays(X, y, block_rows=9))
    assert outside.run_.converged
    np.testing.assert_allclose(outside.posterior_.mean, inside.posterior_.mean, atol=1e-7)
    np.testing.assert_allclose(
        outside.posterior_.covariance, inside.posterior_.covariance, atol=1e-7
    )
    np.testing.assert_allclose(outside.log_evidence_, inside.log_evidence_, atol=1e-7)
    assert outside.left_out_error_ == pytest.approx(inside.left_out_error_)


def test_what_it_cannot_do():
    X, y = load_iris(return_X_y=True)
    engine = ExpectationPropagation(likelihood="student")
    clf = BayesPointClassifier(kernel="linear", engine=engine)
    for multi_class in ("joint", "ordinal"):
        with pytest.raises(ValueError, match="likelihood='student' is made for two classes"):
            clf.set_params(multi_class=multi_class).fit(X, y)
    clf.set_params(multi_class="auto")
    with pytest.raises(ValueError, match=r"schedule.*'rounds' with likelihood='student'"):
        clf.set_params(engine__schedule="sequential").fit(X, y)
    assert engine.for_sparse() is None
    assert engine.set_params(prior_scale=1.0).basis_noise is None
