"""Laplace's approximation against other libraries, quadrature, differences and refits."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from tests.helpers.logistic import log_joint, machine, problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import LaplaceApproximation
from bayespoint.engines.gaussian.gaussians import WeightGaussian
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.spaces import Coordinates

# The mode and the curvature -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "d", "scale"), [(60, 4, 1), (200, 20, 3), (30, 30, 0.1), (12, 40, 2)]
)
def test_mode_is_that_of_scikit_learn(n, d, scale):
    X, y = problem(n, d)
    weight = np.random.default_rng(1).uniform(0.2, 3, n)
    clf = machine(prior_scale=scale).fit(X, y, sample_weight=weight)
    other = LogisticRegression(C=scale**2, fit_intercept=False, tol=1e-12, max_iter=10_000)
    other.set_params(solver="newton-cholesky").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(clf.coef_, other.coef_, rtol=1e-8, atol=1e-8)


def test_covariance_is_the_inverse_curvature():
    """Second differences of the log density at the mode."""
    X, y = problem(40, 3)
    posterior = machine(prior_scale=2).fit(X, y).posterior_
    mode, h = posterior.mean[:, 0], 1e-3
    moves = h * np.eye(3)

    def second(a, b):
        corners = [
            log_joint(mode + s * a + t * b, X, y, 2) * s * t for s in (-1, 1) for t in (-1, 1)
        ]
        return -sum(corners) / (4 * h**2)

    curvature = np.array([[second(a, b) for a in moves] for b in moves])
    np.testing.assert_allclose(np.linalg.inv(curvature), posterior.covariance[0], atol=1e-6)


def slow_laplace(X, y, k, mean, covariance):
    """Plain Newton steps, halved while the objective grows; mode, covariance and evidence."""
    precision, w = np.linalg.inv(covariance), mean

    def objective(w):
        return k @ np.logaddexp(0, -y * (X @ w)) + 0.5 * (w - mean) @ precision @ (w - mean)

    for _ in range(100):
        p = expit(y * (X @ w))
        gradient = precision @ (w - mean) - X.T @ (k * y * (1 - p))
        H = X.T @ np.diag(k * p * (1 - p)) @ X + precision
        step = -np.linalg.solve(H, gradient)
        t = 1.0
        while t > 1e-9 and objective(w + t * step) > objective(w) + 0.25 * t * gradient @ step:
            t /= 2
        w = w + t * step
    log_det = np.linalg.slogdet(H)[1] + np.linalg.slogdet(covariance)[1]
    return w, np.linalg.inv(H), -objective(w) - 0.5 * log_det


@pytest.mark.parametrize(("n", "d"), [(60, 4), (6, 9)])
def test_priors_weights_and_evidence_against_a_slow_version(n, d):
    X, y = problem(n, d)
    rng = np.random.default_rng(2)
    weight, mean = rng.uniform(0.1, 4, n), rng.normal(size=d)
    root = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    clf = machine(prior_mean=mean, prior_covariance=root @ root.T).fit(X, y, sample_weight=weight)
    w, covariance, log_evidence = slow_laplace(X, y, weight, mean, root @ root.T)
    np.testing.assert_allclose(clf.coef_[0], w, atol=1e-9)
    np.testing.assert_allclose(clf.posterior_.covariance[0], covariance, atol=1e-9)
    assert clf.log_evidence_[0] == pytest.approx(log_evidence, abs=1e-9)


@pytest.mark.parametrize(("n", "d"), [(60, 4), (6, 9)])
@pytest.mark.parametrize("tol", [1e-10, 10.0])
def test_prior_times_messages_is_the_posterior(n, d, tol):
    """Also when it is not yet the best one."""
    X, y = problem(n, d)
    mean = np.linspace(-1, 1, d)
    posterior = machine(prior_scale=1.5, prior_mean=mean, tol=tol).fit(X, y).posterior_
    shift, rate = (part[:, 0] for part in posterior.messages)
    precision = X.T @ (rate[:, None] * X) + np.eye(d) / 1.5**2
    np.testing.assert_allclose(posterior.covariance[0], np.linalg.inv(precision), rtol=1e-9)
    expected = np.linalg.solve(precision, X.T @ shift + mean / 1.5**2)
    np.testing.assert_allclose(posterior.mean[:, 0], expected, rtol=1e-9)


def test_a_pivot_that_cancels_is_found_without_squares():
    """Opposite duplicates of large features: H = I + 1e16 of a low rank, Cholesky fails."""
    X, _ = problem(6, 20)
    X = 1e8 * np.vstack([X, X])
    Z = np.vstack([X, np.zeros((10, 20))])
    prior = GaussianPrior(np.zeros(20), np.ones(20))
    gaussian = WeightGaussian(Coordinates(Z), prior)
    gaussian.factorise(np.full(22, 0.25))  # the curvature of the logistic at 0
    factor = gaussian.root
    assert (factor.diagonal() > 0).all()
    _, values, rows = np.linalg.svd(0.5 * X)
    inner = np.eye(20) - rows[:6].T @ rows[:6]  # what no label speaks of keeps its variance of 1
    np.testing.assert_allclose(factor @ factor.T, inner, atol=1e-6)
    expected = -2 * np.log(values[:6]).sum()
    assert gaussian.log_determinant == pytest.approx(expected, rel=1e-6)


# The evidence -------------------------------------------------------------------------------------


def grid_evidence(X, y, prior_scale, posterior):
    """log p(labels) by Gauss-Hermite quadrature around the posterior."""
    d = X.shape[1]
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    white = np.stack(np.meshgrid(*[nodes] * d), axis=-1).reshape(-1, d)
    w = posterior.mean[:, 0] + white @ posterior.factor[0].T
    log_weight = np.log(np.stack(np.meshgrid(*[weights] * d), axis=-1).reshape(-1, d)).sum(axis=1)
    values = log_joint(w, X, y, prior_scale) + np.square(white).sum(axis=1) / 2 + log_weight
    constant = np.log(posterior.factor[0].diagonal()).sum() - d * np.log(
        prior_scale * np.sqrt(2 * np.pi)
    )
    return np.logaddexp.reduce(values) + constant


@pytest.mark.parametrize("d", [1, 2])
def test_evidence_by_quadrature_and_its_error_falls_with_the_data(d):
    """The error of Laplace's method is of order 1/n: more data, less of it."""
    errors = []
    for n in (30, 300, 3000):
        X, y = problem(n, d, seed=4)
        clf = machine().fit(X, y)
        errors.append(clf.log_evidence_[0] - grid_evidence(X, y, 1.0, clf.posterior_))
    assert np.abs(errors[0]) < 0.03 * d
    assert np.abs(errors[2]) < np.abs(errors[0]) / 30
    assert np.abs(errors[2]) < 1e-3


@pytest.mark.parametrize("kernel", [RBF(1.3), ConstantKernel(9.0) * RBF(0.7)])
def test_kernels_against_the_gaussian_process_classifier(kernel):
    """Logistic, Laplace too; its probabilities are another approximation of the same integral."""
    X, y = problem(70, 2)
    process = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=1000).fit(X, y)
    clf = BayesPointClassifier(
        temperature=1.0,
        kernel="precomputed",
        engine=LaplaceApproximation(prior_scale=1.0, tol=1e-10),
    )
    clf.fit(kernel(X), y)
    assert clf.log_evidence_[0] == pytest.approx(process.log_marginal_likelihood(), abs=1e-6)
    new = np.random.default_rng(3).uniform(-3, 3, size=(50, 2))
    mean, variance = clf.latent_mean_and_variance(kernel(new, X))
    # Rasmussen and Williams, Gaussian Processes for Machine Learning, Algorithm 3.2.
    K, f = kernel(X), clf.latent_mean_and_variance(kernel(X))[0]
    root = np.sqrt(expit(f) * expit(-f))
    B = cho_factor(np.eye(70) + root[:, None] * K * root, lower=True)
    cross = kernel(new, X)
    np.testing.assert_allclose(mean, cross @ ((y == 1) - expit(f)), atol=1e-6)
    explained = np.einsum("ij,ji->i", cross * root, cho_solve(B, (cross * root).T))
    # Weights live in the span of the training points; a new point has variance outside of it.
    outside = kernel.diag(new) - np.square(clf.model_.space.transform(cross)).sum(axis=1)
    np.testing.assert_allclose(variance + outside, kernel.diag(new) - explained, atol=1e-6)
    difference = clf.predict_proba(K) - process.predict_proba(X)
    assert np.abs(difference).max() < 0.02


def test_more_coordinates_than_points():
    X, y = problem(12, 40)
    clf = machine(prior_scale=1.7).fit(X, y)
    K = BayesPointClassifier(
        temperature=1.0, kernel="precomputed", engine=machine(prior_scale=1.7).engine
    )
    K.fit(X @ X.T, y)
    assert K.log_evidence_[0] == pytest.approx(clf.log_evidence_[0], abs=1e-9)
    np.testing.assert_allclose(K.decision_function(X @ X.T), clf.decision_function(X), atol=1e-9)
    w, covariance, _ = slow_laplace(X, y, np.ones(12), np.zeros(40), 1.7**2 * np.eye(40))
    np.testing.assert_allclose(clf.posterior_.covariance[0], covariance, atol=1e-9)
    np.testing.assert_allclose(clf.coef_[0], w, atol=1e-9)


def test_batches():
    """The posterior of the first half is the prior of the second, and near that of both."""
    X, y = problem(400, 3)
    whole, clf = machine().fit(X, y), machine()
    clf.partial_fit(X[:200], y[:200], classes=[-1, 1])
    first = clf.posterior_
    clf.partial_fit(X[200:], y[200:])
    second = machine(prior_mean=first.mean[:, 0], prior_covariance=first.covariance[0])
    second.fit(X[200:], y[200:])
    np.testing.assert_allclose(clf.coef_, second.coef_, atol=1e-10)
    np.testing.assert_allclose(clf.posterior_.covariance, second.posterior_.covariance, atol=1e-10)
    total = first.log_evidence + second.log_evidence_
    assert clf.log_evidence_ == pytest.approx(total, abs=1e-9)
    assert clf.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.2)
    spread = np.sqrt(whole.posterior_.covariance[0].diagonal())
    assert (np.abs(clf.coef_[0] - whole.coef_[0]) < 0.2 * spread).all()
