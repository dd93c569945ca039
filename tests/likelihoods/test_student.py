"""The likelihood with Student's t noise: its tails, predictions and information by quadrature."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm, t
from tests.helpers.information import coin

from bayespoint.likelihoods import ProbitLikelihood, StudentLikelihood
from bayespoint.likelihoods.student import DEGREES, LOG_SHARES, SCALES

CASES = [(0.3, 1.0, 1.0, 0.0), (-2.0, 0.5, 0.2, 0.0), (-1.0, 4.0, 0.7, 0.1), (1.5, 0.1, 1.0, 0.3)]


def test_the_noise_is_about_that_of_student():
    assert np.exp(LOG_SHARES).sum() == pytest.approx(1)
    f = np.concatenate([np.linspace(0, 3, 31), np.geomspace(3, 30, 31)])
    yes, no = StudentLikelihood().log_likelihood(f[:, None])
    np.testing.assert_allclose(yes[:, 0], t.logcdf(f, DEGREES), atol=0.03)
    np.testing.assert_allclose(no[:, 0], t.logcdf(-f, DEGREES), atol=0.03)
    for other in (1, 4):  # other degrees of freedom are another noise
        assert np.abs(no[:, 0] - t.logcdf(-f, other)).max() > 1


def test_gross_errors_pull_little():
    """The slope of log p falls like 2 / |f|, where the probit's grows like |f|."""
    f, h = np.array([-3.0, -10.0, -30.0])[:, None], 1e-4
    for likelihood, slopes in (
        (StudentLikelihood(), DEGREES / -f),
        (ProbitLikelihood(), -f),
    ):
        ahead, behind = (likelihood.log_likelihood(f + step)[0] for step in (h, -h))
        found = (ahead - behind) / (2 * h)
        np.testing.assert_allclose(found, slopes, rtol=0.25)


def test_terms_are_probit_likelihoods():
    f = np.linspace(-20, 20, 41)[:, None]
    probits = [np.exp(ProbitLikelihood(0.7 * scale).log_likelihood(f)[0]) for scale in SCALES]
    expected = 0.1 + 0.8 * np.exp(LOG_SHARES) @ np.array(probits)[:, :, 0]
    yes, no = StudentLikelihood(0.7, 0.1).log_likelihood(f)
    np.testing.assert_allclose(np.exp(yes[:, 0]), expected, rtol=1e-12)
    np.testing.assert_allclose(np.exp(yes) + np.exp(no), 1, rtol=1e-12)


@pytest.mark.parametrize(("mean", "variance", "noise", "flips"), CASES)
def test_predictive_probability_by_quadrature(mean, variance, noise, flips):
    likelihood = StudentLikelihood(noise, flips)

    def density(f):
        return np.exp(likelihood.log_likelihood(np.array([[f]]))[0][0, 0]) * norm.pdf(
            f, mean, np.sqrt(variance)
        )

    reach = 12 * np.sqrt(variance)
    expected = quad(density, mean - reach, mean + reach, epsabs=1e-13, points=[0.0], limit=200)[0]
    score = likelihood.predictive(np.array([mean]), np.array([variance]))
    yes, no = np.exp(likelihood.log_predictive(score))
    assert yes[0] == pytest.approx(expected, rel=1e-9)
    assert yes[0] + no[0] == pytest.approx(1, abs=1e-14)
    assert np.sign(score[0]) == np.sign(mean)


def test_the_score_of_a_tie_is_0():
    zero = np.zeros(3)
    for flips in (0.0, 0.2, 0.5):
        score = StudentLikelihood(0.3, flips).predictive(zero, np.array([0.0, 1.0, 1e6]))
        assert np.array_equal(score, zero)


@pytest.mark.parametrize(("mean", "variance", "noise", "flips"), CASES)
def test_derivatives_by_differences(mean, variance, noise, flips):
    mean, variance = np.array([mean]), np.array([variance])

    def log_p(log_noise, log_flips):
        rate = np.exp(log_flips) if flips else 0.0
        likelihood = StudentLikelihood(np.exp(log_noise), rate)
        return likelihood.log_predictive(likelihood.predictive(mean, variance))[0]

    h, at = 1e-5, (np.log(noise), np.log(flips) if flips else 0.0)
    expected = (
        (log_p(at[0] + h, at[1]) - log_p(at[0] - h, at[1])) / (2 * h),
        (log_p(at[0], at[1] + h) - log_p(at[0], at[1] - h)) / (2 * h),
    )
    found = StudentLikelihood(noise, flips).noise_derivatives(mean, variance)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def information_by_quadrature(likelihood, mean, deviation):
    """By adaptive quadrature over pieces that grow away from 0, where the entropy is a peak."""

    def p_of(f):
        return np.exp(likelihood.log_likelihood(np.array([[f]]))[0][0, 0])

    ends = [mean - 10 * deviation, mean + 10 * deviation]
    sizes = likelihood.noise * np.geomspace(0.1, 1e8, 28)
    inner = [x for x in (*-sizes, 0.0, *sizes, mean) if ends[0] < x < ends[1]]
    knots = sorted({*ends, *inner})

    def integrate(function):
        return sum(
            quad(lambda f: function(f) * norm.pdf(f, mean, deviation), a, b, epsabs=1e-12)[0]
            for a, b in itertools.pairwise(knots)
        )

    return coin(integrate(p_of)) - integrate(lambda f: coin(p_of(f)))


@settings(max_examples=25, deadline=None)
@given(
    st.floats(-4, 4),
    st.floats(-2, 3).map(lambda power: 10.0**power),
    st.floats(-2, 2).map(lambda power: 10.0**power),
    st.sampled_from([0.0, 0.01, 0.4]),
)
def test_information_by_adaptive_quadrature(mean, deviation, noise, flips):
    likelihood = StudentLikelihood(noise, flips)
    expected = information_by_quadrature(likelihood, mean, deviation)
    found = likelihood.information(np.array([mean]), np.array([deviation**2]))
    np.testing.assert_allclose(found, expected, atol=2e-9)


def test_information_of_many_outputs_and_at_its_ends():
    likelihood = StudentLikelihood(0.5)
    mean, deviation = np.meshgrid([-3.0, 0.0, 50.0], [0.0, 0.1, 2.0, 300.0])
    found = likelihood.information(mean, deviation**2)
    pairs = zip(mean.flat, np.square(deviation.flat), strict=True)
    alone = [likelihood.information(*pair) for pair in pairs]
    np.testing.assert_allclose(found.ravel(), np.ravel(alone), atol=1e-10)
    np.testing.assert_allclose(found[0], 0, atol=1e-12)
    hard = StudentLikelihood(0.0).information(mean[1:], deviation[1:] ** 2)
    certain = ProbitLikelihood(0.0).information(mean[1:], deviation[1:] ** 2)
    np.testing.assert_allclose(hard, certain, atol=1e-6)


def test_without_noise_it_is_the_step():
    f = np.array([[-2.0, -1e-3, 0.0, 1e-3, 50.0]])
    yes, _ = StudentLikelihood(0.0).log_likelihood(f)
    np.testing.assert_allclose(np.exp(yes), [[0, 0, 0.5, 1, 1]], atol=1e-4)
    labels, mean, variance = np.array([1, -1]), np.array([0.3, 0.3]), np.array([2.0, 2.0])
    ours = StudentLikelihood(0.0).site(labels, mean, variance)
    np.testing.assert_allclose(ours, ProbitLikelihood(0.0).site(labels, mean, variance), rtol=1e-9)
