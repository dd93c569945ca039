"""Probabilities of several classes, given Gaussian outputs."""

import numpy as np
import pytest
from scipy.special import ndtri, softmax
from scipy.stats import multivariate_normal, qmc

from bayespoint import _core
from bayespoint.likelihoods import ArgmaxLikelihood, SoftmaxLikelihood, joint
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


@pytest.mark.parametrize("scale", [1.5, 50.0])
@pytest.mark.parametrize(("n_classes", "bound"), [(3, 1e-6), (4, 1e-3), (10, 1e-3)])
def test_the_mean_of_the_softmax(n_classes, bound, scale):
    mean, covariance = outputs(8, n_classes, scale)
    found = np.exp(SoftmaxLikelihood().log_predictive(mean, covariance))
    rng = np.random.default_rng(3)
    for i in range(8):
        p = softmax(rng.multivariate_normal(mean[i], covariance[i], 200_000), axis=1)
        error = 5 * p.std(axis=0) / np.sqrt(len(p))
        assert (np.abs(found[i] - p.mean(axis=0)) < bound + error).all()


def sobol(dimensions, n_points, seed):
    return np.clip(qmc.Sobol(dimensions, seed=seed).random(n_points), 1e-12, 1 - 1e-12)


def by_genz(mean, covariance, n_points, seeds):
    """Shares of the largest, each output by itself, from some seeds."""
    n_classes = mean.shape[1]
    none = np.empty((0, n_classes))
    cubes = [sobol(n_classes - 2, n_points, seed) for seed in seeds]
    return np.mean([_core.orthants.largest(mean, covariance, c, none) for c in cubes], axis=0)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("n_classes", [6, 10, 20])
def test_there_are_enough_quasi_random_points(n_classes, noise):
    mean, covariance = outputs(10, n_classes, 1.0)
    covariance += noise * np.eye(n_classes)
    found = np.exp(log_share_of_largest(mean, covariance))
    exact = by_genz(mean, covariance, _core.orthants.points_for(n_classes), range(1, 9))
    few = by_genz(mean, covariance, 8, [0])
    assert np.abs(found - exact).max() < 1e-3 < np.abs(few - exact).max()


def at_once(mean, covariance, points):
    """Shares of all outputs of one point at once, and whether they are good."""
    shares = np.zeros(len(mean))
    return shares, _core.orthants.all_at_once(mean, covariance, points, shares)


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
    f, roots, noise = np.empty(n_classes), np.empty((n_classes - 2, n_classes)), np.empty(n_classes)
    assert _core.orthants.split(mean, covariance, f, roots, noise)
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


@pytest.mark.parametrize("scale", [1.0, 3.0, 8.0, 15.0])
@pytest.mark.parametrize("n_classes", [4, 10])
def test_there_are_enough_points_of_the_softmax(n_classes, scale):
    """Also where two outputs differ little and the others much."""
    mean, covariance = outputs(4, n_classes, scale)
    covariance[2:, 1], covariance[2:, :, 1] = covariance[2:, 0], covariance[2:, :, 0]
    covariance[2:, 1, 1] = covariance[2:, 0, 0] + 0.5
    found = np.exp(SoftmaxLikelihood().log_predictive(mean, covariance))
    centred, roots = joint.differences(mean, covariance)
    points = ndtri(np.concatenate([sobol(n_classes - 1, 2**16, seed) for seed in (1, 2, 3)]))
    for i in range(4):
        exact = softmax(centred[i] + points @ roots[i].T, axis=1).mean(axis=0)
        assert np.abs(found[i] - exact).max() < 1e-3


def softmax_on_a_grid(mean, root):
    """The mean of the softmax of one point, at every node of a fine grid."""
    step = 0.5 / np.maximum(2.0, np.ptp(root, axis=0))
    nodes = [np.arange(-7.5, 7.5, one) for one in step]
    weights = [one * np.exp(-(t**2) / 2) for one, t in zip(step, nodes, strict=True)]
    along = np.multiply.outer(nodes[0], root[:, 0])
    rows = [weights[0] @ softmax(mean + root[:, 1] * height + along, axis=1) for height in nodes[1]]
    return weights[1] @ rows / (2 * np.pi)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scales", [(0.3, 0.3), (3, 1), (12, 12), (60, 0.5), (60, 30)])
def test_rows_of_nodes_without_the_certain_ones(scales, n_classes):
    mean, _ = outputs(6, n_classes, 0.7 * scales[0], seed=4)
    mean[4:, 0] += [30.0, 100.0]  # nearly certain, certain
    root = np.random.default_rng(5).normal(size=(6, n_classes, 2)) * scales
    root[0, 0] = root[0, 1]  # of equal slopes
    found = np.exp(SoftmaxLikelihood().log_predictive(mean, root @ root.transpose(0, 2, 1)))
    expected = [softmax_on_a_grid(*pair) for pair in zip(mean, root, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("narrow", [1.0, 10.0])
def test_two_narrow_outputs_and_a_wide_one(narrow):
    """The difference of two outputs needs the logistic function, however wide the third is."""
    mean, root = np.array([0.7 * narrow, 0.0, 0.0]), np.array([[0, narrow], [0, 0], [1000.0, 0]])
    expected, covariance = softmax_on_a_grid(mean, root), (root @ root.T)[None]
    found = np.exp(SoftmaxLikelihood().log_predictive(mean[None], covariance))
    np.testing.assert_allclose(found[0], expected, atol=1e-6)
    noise = np.pi**2 / 6 * np.eye(3)
    by_noise = np.exp(log_share_of_largest(mean[None], covariance + noise))
    assert np.abs(by_noise - expected).max() > 2e-6


def test_the_softmax_of_a_class_that_never_leads():
    mean = np.array([[60.0, 0.0, -1.0], [1e6, 0.0, 0.0], [20.0, 0.0, -60.0]])
    log_p = SoftmaxLikelihood().log_predictive(mean, np.tile(np.eye(3), (3, 1, 1)))
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(log_p[0], [0, -59, -60], atol=1)  # e^(v / 2) more, v = 2
    np.testing.assert_allclose(log_p[2], [0, -19, -79], atol=1)


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


def test_softmax_of_wide_outputs_is_argmax_with_noise_of_the_same_variance(monkeypatch):
    """Beyond WIDE the quadrature ends; at it, both agree."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 3, 3))
    covariance = root @ root.transpose(0, 2, 1)
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    square = variance[:, :, None] + variance[:, None] - 2 * covariance  # of differences
    smallest = np.sqrt((square + np.diag([np.inf] * 3)).min(axis=(1, 2)))
    covariance *= (0.99 * joint.WIDE / smallest)[:, None, None] ** 2
    mean = 100 * rng.normal(size=(8, 3))
    fine = np.exp(SoftmaxLikelihood().log_predictive(mean, covariance))
    monkeypatch.setattr(joint, "WIDE", 0.0)
    by_noise = np.exp(SoftmaxLikelihood().log_predictive(mean, covariance))
    np.testing.assert_allclose(by_noise, fine, atol=1e-6)
    without = np.exp(joint.log_share_of_largest(mean, covariance))
    assert np.abs(without - fine).max() > 5e-6
