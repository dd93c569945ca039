"""The largest of several Gaussian outputs."""

import numpy as np
import pytest
from scipy.special import ndtri, softmax
from scipy.stats import multivariate_normal, qmc

from bayespoint import _core
from bayespoint.likelihoods import ArgmaxLikelihood, SoftmaxLikelihood
from bayespoint.likelihoods.joint import log_share_of_largest
from bayespoint.likelihoods.quadrature import share_of_largest


def outputs(n, n_classes, scale, seed=0):
    """Means and covariances of some outputs."""
    rng = np.random.default_rng(seed)
    root = scale * rng.normal(size=(n, n_classes, n_classes)) / np.sqrt(n_classes)
    return scale * rng.normal(size=(n, n_classes)), root @ root.transpose(0, 2, 1)


def share_by_scipy(mean, covariance, c):
    """Probability that output c is the largest, by SciPy's normal distribution function."""
    lead = np.delete(np.eye(len(mean))[c] - np.eye(len(mean)), c, axis=0)
    law = multivariate_normal(np.zeros(len(lead)), lead @ covariance @ lead.T)
    return law.cdf(lead @ mean)


def sobol(dimensions, n_points, seed):
    return np.clip(qmc.Sobol(dimensions, seed=seed).random(n_points), 1e-12, 1 - 1e-12)


def by_genz(mean, covariance, n_points, seeds):
    """Shares of the largest, each output by itself, from some seeds."""
    n_classes = mean.shape[1]
    none = np.empty((0, n_classes))
    cubes = [sobol(n_classes - 2, n_points, seed) for seed in seeds]
    return np.mean([_core.orthants.largest(mean, covariance, c, none) for c in cubes], axis=0)


def at_once(mean, covariance, points):
    """Shares of all outputs of one point at once, and whether they are good."""
    shares = np.zeros(len(mean))
    own, *parts = _core.orthants.split(mean[None], covariance[None])
    noisy = [part[0] for part in parts] if len(own) else None
    return shares, noisy and _core.orthants.all_at_once(*noisy, points, shares)


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0, 50.0])
def test_three_classes_are_good_to_six_digits(scale):
    mean, covariance = outputs(40, 3, scale)
    found = np.exp(ArgmaxLikelihood(1.0).log_predictive(mean, covariance))
    for i in range(40):
        noisy = covariance[i] + np.eye(3)
        expected = [share_by_scipy(mean[i], noisy, c) for c in range(3)]
        np.testing.assert_allclose(found[i], expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [4, 6, 10])
@pytest.mark.parametrize("scale", [0.5, 2.0, 6.0])
def test_more_classes_are_good_to_three_digits(n_classes, scale):
    mean, covariance = outputs(12, n_classes, scale)
    noise = ArgmaxLikelihood(1.0)
    found = np.exp(noise.log_predictive(mean, covariance))
    rng, n_draws = np.random.default_rng(1), 200_000
    for i in range(12):
        drawn = rng.multivariate_normal(mean[i], covariance[i] + np.eye(n_classes), n_draws)
        share = np.bincount(drawn.argmax(axis=1), minlength=n_classes) / n_draws
        error = 5 * np.sqrt(share * (1 - share) / n_draws)
        assert (np.abs(found[i] - share) < 1e-3 + error).all()


def test_the_covariance_between_classes_matters():
    mean, covariance = outputs(200, 4, 2.0)
    found = np.exp(ArgmaxLikelihood(1.0).log_predictive(mean, covariance))
    alone = np.einsum("nij,ij->nij", covariance, np.eye(4))
    without = np.exp(ArgmaxLikelihood(1.0).log_predictive(mean, alone))
    assert np.abs(found - without).max() > 0.05


def test_outputs_without_noise_and_equal_ones():
    mean = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1e9, 0.0]])
    covariance = np.zeros((3, 3, 3))
    p = np.exp(log_share_of_largest(mean, covariance))
    np.testing.assert_allclose(p[0], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(p[2], [0, 1, 0], atol=1e-12)
    assert np.isfinite(p).all()
    assert p.sum(axis=1) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("n_classes", [2, 3, 5, 9])
def test_a_shift_of_all_outputs_and_the_order_of_classes_do_not_matter(n_classes):
    mean, covariance = outputs(20, n_classes, 2.0)
    order = np.random.default_rng(2).permutation(n_classes)
    exact = 1e-10 if n_classes < 4 else 2e-3  # the order of integration changes
    for likelihood in (ArgmaxLikelihood(0.7), SoftmaxLikelihood()):
        p = np.exp(likelihood.log_predictive(mean, covariance))
        assert p.sum(axis=1) == pytest.approx(np.ones(20))
        moved = np.exp(likelihood.log_predictive(mean + 3.0, covariance + 2.0))
        np.testing.assert_allclose(moved, p, atol=1e-9)
        mixed = covariance[:, order][:, :, order]
        other = np.exp(likelihood.log_predictive(mean[:, order], mixed))
        np.testing.assert_allclose(other, p[:, order], atol=exact)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("n_classes", [6, 10, 20])
def test_there_are_enough_quasi_random_points(n_classes, noise):
    mean, covariance = outputs(10, n_classes, 1.0)
    covariance += noise * np.eye(n_classes)
    found = np.exp(log_share_of_largest(mean, covariance))
    exact = by_genz(mean, covariance, _core.orthants.points_for(n_classes), range(1, 9))
    few = by_genz(mean, covariance, 8, [0])
    assert np.abs(found - exact).max() < 1e-3 < np.abs(few - exact).max()


@pytest.mark.parametrize("n_classes", [15, 26, 50])
def test_all_outputs_at_once(n_classes):
    """Many classes that are about as likely, against each by itself; 256 points are too few."""
    _, covariance = outputs(3, n_classes, 0.7)
    covariance += np.eye(n_classes)
    mean = 0.1 * np.random.default_rng(1).normal(size=(3, n_classes))
    exact = by_genz(mean, covariance, 1024, range(1, 5))
    points = ndtri(sobol(n_classes, 2**15, 0))
    for i in range(3):
        found, is_good = at_once(mean[i], covariance[i], points)
        assert is_good
        assert np.abs(found - exact[i]).max() < 1e-3
    hasty = [at_once(mean[i], covariance[i], points[:256])[0] for i in range(3)]
    assert np.abs(hasty - exact).max() > 1e-3
    alone = [at_once(mean[i], covariance[i], 0 * points)[0] for i in range(3)]  # only noise varies
    assert np.abs(alone - exact).max() > 2e-3


@pytest.mark.parametrize("n_classes", [5, 19, 50])
def test_independent_outputs_of_unequal_variance(n_classes):
    """Against quadrature, also classes of hardly any share; equal variances are wrong."""
    rng = np.random.default_rng(2)
    mean, variance = rng.normal(size=(4, n_classes)), rng.uniform(0.4, 2.5, (4, n_classes))
    mean[:, :2] += [[4.0, 3.5]]
    covariance = variance[:, :, None] * np.eye(n_classes)
    exact = share_of_largest(mean, variance)
    found = np.exp(log_share_of_largest(mean, covariance + 3.0))  # what all have in common
    assert np.abs(found - exact).max() < 1e-3
    rare = exact > 2e-5
    assert exact[rare].min() < 1e-4
    np.testing.assert_allclose(found[rare], exact[rare], rtol=0.2)
    equal = share_of_largest(mean, np.full(mean.shape, variance.mean()))
    assert np.abs(equal - exact).max() > 0.01


@pytest.mark.parametrize("n_classes", [5, 12])
def test_noise_and_roots_have_the_differences_of_the_outputs(n_classes):
    _, (covariance,) = outputs(1, n_classes, 1.0)
    covariance += np.eye(n_classes)
    mean = np.arange(n_classes) / n_classes
    own, (f,), (roots,), (noise,) = _core.orthants.split(mean[None], covariance[None])
    assert own == [0]
    contrast = np.eye(n_classes) - 1 / n_classes
    expected = contrast @ covariance @ contrast
    level = np.trace(expected) / (n_classes - 1)
    parts = contrast @ (roots.T @ roots + np.diag(noise**2)) @ contrast
    np.testing.assert_allclose(level * parts, expected, atol=2e-3)
    np.testing.assert_allclose(np.sqrt(level) * contrast @ f, contrast @ mean, atol=1e-12)
    assert noise.min() > 0.5


@pytest.mark.parametrize("factor", [1e-300, 1e-6, 1e6, 1e300])
def test_the_unit_of_the_outputs_does_not_matter(factor):
    mean, covariance = outputs(3, 8, 1.0)
    covariance += np.eye(8)
    expected = np.exp(log_share_of_largest(mean, covariance))
    found = np.exp(log_share_of_largest(np.sqrt(factor) * mean, factor * covariance))
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_outputs_without_noise_are_compared_one_by_one():
    root = np.random.default_rng(0).normal(size=(8, 3))
    points = ndtri(sobol(8, 2**13, 0))
    assert not at_once(np.zeros(8), root @ root.T, points)[1]
    assert at_once(np.zeros(8), root @ root.T + 9 * np.eye(8), points)[1]


def test_a_single_classifier_has_the_probabilities_of_its_noise():
    f = np.array([[0.3, -1.0, 2.0, 0.0]])
    log_p, log_rest = ArgmaxLikelihood(0.5).log_likelihood(f)
    sure = np.exp(ArgmaxLikelihood(0.5).log_predictive(f, np.zeros((1, 4, 4))))
    np.testing.assert_allclose(np.exp(log_p), sure, atol=1e-3)
    np.testing.assert_allclose(np.exp(log_p) + np.exp(log_rest), 1)
    np.testing.assert_allclose(np.exp(SoftmaxLikelihood().log_likelihood(f)[0]), softmax(f))


def test_small_probabilities_have_a_logarithm():
    mean = np.array([[0.0, 40.0, -40.0], [0.0, 0.0, 1e6]])
    log_p = ArgmaxLikelihood(1.0).log_predictive(mean, np.zeros((2, 3, 3)))
    assert np.isfinite(log_p).all()
    assert log_p[0, 0] > log_p[0, 2]


def test_quantiles():
    from scipy.special import ndtri

    p = np.concatenate([np.geomspace(1e-280, 0.4, 200), np.linspace(0.01, 0.99, 99)])
    found = np.array([_core.orthants.quantile(float(q)) for q in p])
    np.testing.assert_allclose(found, ndtri(p), rtol=2e-9, atol=2e-9)
