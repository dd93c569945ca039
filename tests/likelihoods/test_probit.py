"""The probit likelihood with flips: moments, predictions and derivatives against quadrature."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm
from tests.helpers.information import coin, information_by_quadrature

from bayespoint.likelihoods import ProbitLikelihood

CASES = [(0.3, 1.0, 1.0, 0.0), (-2.0, 0.5, 0.2, 0.0), (-1.0, 4.0, 0.7, 0.1), (1.5, 0.1, 1.0, 0.3)]


def moments(mean, variance, likelihood):
    """Probability of "yes", and mean and variance of f given it, by adaptive quadrature."""
    s = np.sqrt(variance)

    def integral(power):
        def density(f):
            yes, _ = likelihood.log_likelihood(np.array([[f]]))
            return f**power * np.exp(yes[0, 0]) * norm.pdf(f, mean, s)

        return quad(density, mean - 12 * s, mean + 12 * s, epsabs=1e-13, points=[0.0], limit=200)[0]

    p, first, second = (integral(power) for power in range(3))
    return p, first / p, second / p - (first / p) ** 2


@pytest.mark.parametrize(("mean", "variance", "noise", "flips"), CASES)
def test_tilted_moments_by_quadrature(mean, variance, noise, flips):
    likelihood = ProbitLikelihood(noise, flips)
    log_p, a, b = likelihood.site(np.array([1]), np.array([mean]), np.array([variance]))
    narrowed = 1 / (1 / variance + b[0])
    found = np.exp(log_p[0]), narrowed * (mean / variance + a[0]), narrowed
    np.testing.assert_allclose(found, moments(mean, variance, likelihood), rtol=1e-7)
    # The negative control: without the flips the moments are others.
    if flips:
        other = ProbitLikelihood(noise).site(np.array([1]), np.array([mean]), np.array([variance]))
        assert abs(other[0][0] - log_p[0]) > 1e-3


@pytest.mark.parametrize(("mean", "variance", "noise", "flips"), CASES)
def test_predictive_probability_by_quadrature(mean, variance, noise, flips):
    likelihood = ProbitLikelihood(noise, flips)
    score = likelihood.predictive(np.array([mean]), np.array([variance]))
    yes, no = np.exp(likelihood.log_predictive(score))
    assert yes[0] == pytest.approx(moments(mean, variance, likelihood)[0], rel=1e-9)
    assert yes[0] + no[0] == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(("mean", "variance", "noise", "flips"), CASES)
def test_derivatives_by_differences(mean, variance, noise, flips):
    def log_p(log_noise, log_flips):
        rate = np.exp(log_flips) if flips else 0.0
        likelihood = ProbitLikelihood(np.exp(log_noise), rate)
        return likelihood.log_predictive(likelihood.predictive(mean, variance))[0]

    h, at = 1e-5, (np.log(noise), np.log(flips) if flips else 0.0)
    expected = (
        (log_p(at[0] + h, at[1]) - log_p(at[0] - h, at[1])) / (2 * h),
        (log_p(at[0], at[1] + h) - log_p(at[0], at[1] - h)) / (2 * h),
    )
    found = ProbitLikelihood(noise, flips).noise_derivatives(mean, variance)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_flips_are_symmetric_and_bounded():
    outputs = np.linspace(-50, 50, 101)[:, None]
    for rate in (0.0, 0.05, 0.5):
        yes, no = ProbitLikelihood(1.0, rate).log_likelihood(outputs)
        np.testing.assert_allclose(yes, no[::-1], atol=1e-12)
        np.testing.assert_allclose(np.exp(yes), rate + (1 - 2 * rate) * ndtr(outputs), atol=1e-15)
    rates = np.array([0.1, 0.0])  # of two tasks
    yes, _ = ProbitLikelihood(np.ones(2), rates).log_likelihood(np.array([[-40.0, -40.0]]))
    np.testing.assert_allclose(yes, [[np.log(0.1), log_ndtr(-40.0)]])


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-4, 4),
    st.floats(-3, 3).map(lambda power: 10.0**power),
    st.floats(-3, 3).map(lambda power: 10.0**power),
    st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.4]),
)
def test_information_of_the_probit_by_adaptive_quadrature(mean, deviation, noise, flips):
    expected = information_by_quadrature(mean, deviation, noise, flips)
    found = ProbitLikelihood(noise, flips).information(np.array([mean]), np.array([deviation**2]))
    np.testing.assert_allclose(found, expected, atol=2e-9)


def test_plain_quadrature_would_miss_a_narrow_bump():
    """The negative control: nodes spread over the Gaussian do not see a noise far below it."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(32)
    for noise, misses in ((1.0, False), (0.01, True)):
        f = 0.1 + nodes
        naive = coin(ndtr(0.1 / np.hypot(1, noise))) - coin(ndtr(f / noise)) @ weights / np.sqrt(
            2 * np.pi
        )
        assert (abs(naive - information_by_quadrature(0.1, 1.0, noise)) > 1e-3) == misses


def test_information_at_its_ends():
    mean, variance = np.array([0.0, 1.0, 60.0]), np.array([1.0, 4.0, 1.0])
    hard = ProbitLikelihood(0.0).information(mean, variance)
    np.testing.assert_allclose(hard, coin(ndtr(mean / np.sqrt(variance))), atol=1e-15)
    soft = ProbitLikelihood(1.0)
    np.testing.assert_allclose(soft.information(mean, 0 * variance), 0, atol=1e-12)
    sure = ProbitLikelihood(0.0).information(mean, 0 * variance)
    np.testing.assert_allclose(sure[1:], 0, atol=1e-12)


def test_flat_entropy_far_out():
    u = np.array([0.0, 1.0, -1.0, 30.0, 37.0, 39.0, 1000.0])
    flat = ProbitLikelihood()._flat_entropy(u)
    assert flat[0] == pytest.approx(np.log(2))
    np.testing.assert_allclose(flat[1:3], np.exp(0.5) * coin(ndtr(1.0)))
    # q ~ phi(u) / u and -log q ~ u^2 / 2: the entropy times sqrt(2 pi) e^(u^2/2) is ~ u / 2.
    np.testing.assert_allclose(flat[3:] * np.sqrt(2 * np.pi), u[3:] / 2, rtol=0.02)
