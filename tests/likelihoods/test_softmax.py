"""The mean of the softmax of several Gaussian outputs."""

import numpy as np
import pytest
from scipy.special import ndtri, softmax
from scipy.stats import qmc

import bayespoint.likelihoods.joint as module
from bayespoint.likelihoods import SoftmaxLikelihood
from bayespoint.likelihoods.joint import log_share_of_largest


def outputs(n, n_classes, scale, seed=0):
    """Means and covariances of some outputs."""
    rng = np.random.default_rng(seed)
    root = scale * rng.normal(size=(n, n_classes, n_classes)) / np.sqrt(n_classes)
    return scale * rng.normal(size=(n, n_classes)), root @ root.transpose(0, 2, 1)


def sobol(dimensions, n_points, seed):
    return np.clip(qmc.Sobol(dimensions, seed=seed).random(n_points), 1e-12, 1 - 1e-12)


def softmax_on_a_grid(mean, root):
    """The mean of the softmax of one point, at every node of a fine grid."""
    step = 0.5 / np.maximum(2.0, np.ptp(root, axis=0))
    nodes = [np.arange(-7.5, 7.5, one) for one in step]
    weights = [one * np.exp(-(t**2) / 2) for one, t in zip(step, nodes, strict=True)]
    along = np.multiply.outer(nodes[0], root[:, 0])
    rows = [weights[0] @ softmax(mean + root[:, 1] * height + along, axis=1) for height in nodes[1]]
    return weights[1] @ rows / (2 * np.pi)


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


@pytest.mark.parametrize("scale", [1.0, 3.0, 8.0, 15.0])
@pytest.mark.parametrize("n_classes", [4, 10])
def test_there_are_enough_points_of_the_softmax(n_classes, scale):
    """Also where two outputs differ little and the others much."""
    mean, covariance = outputs(4, n_classes, scale)
    covariance[2:, 1], covariance[2:, :, 1] = covariance[2:, 0], covariance[2:, :, 0]
    covariance[2:, 1, 1] = covariance[2:, 0, 0] + 0.5
    found = np.exp(SoftmaxLikelihood().log_predictive(mean, covariance))
    centred, roots = module.differences(mean, covariance)
    points = ndtri(np.concatenate([sobol(n_classes - 1, 2**16, seed) for seed in (1, 2, 3)]))
    for i in range(4):
        exact = softmax(centred[i] + points @ roots[i].T, axis=1).mean(axis=0)
        assert np.abs(found[i] - exact).max() < 1e-3


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


def test_softmax_of_wide_outputs_is_argmax_with_noise_of_the_same_variance(monkeypatch):
    """Beyond WIDE the quadrature ends; at it, both agree."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 3, 3))
    covariance = root @ root.transpose(0, 2, 1)
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    square = variance[:, :, None] + variance[:, None] - 2 * covariance  # of differences
    smallest = np.sqrt((square + np.diag([np.inf] * 3)).min(axis=(1, 2)))
    covariance *= (0.99 * module.WIDE / smallest)[:, None, None] ** 2
    mean = 100 * rng.normal(size=(8, 3))
    fine = np.exp(SoftmaxLikelihood().log_predictive(mean, covariance))
    monkeypatch.setattr(module, "WIDE", 0.0)
    by_noise = np.exp(SoftmaxLikelihood().log_predictive(mean, covariance))
    np.testing.assert_allclose(by_noise, fine, atol=1e-6)
    without = np.exp(log_share_of_largest(mean, covariance))
    assert np.abs(without - fine).max() > 5e-6
