"""Likelihoods of ordered classes, against integrals and differences."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import norm

from bayespoint import _core
from bayespoint.likelihoods import (
    OrdinalLogisticLikelihood,
    OrdinalProbitLikelihood,
    ProbitLikelihood,
)
from bayespoint.tools.attributes import ContentError

THRESHOLDS = np.array([-1.2, 0.1, 0.4, 2.0])
BOTH = pytest.mark.parametrize(
    "likelihood",
    [OrdinalProbitLikelihood(THRESHOLDS, 0.7), OrdinalLogisticLikelihood(THRESHOLDS)],
    ids=["probit", "logistic"],
)


def moments(m, variance, noise, low, high):
    """Probability of a label, and mean and variance of the output given it, by quadrature."""
    s, deviation = np.sqrt(noise), np.sqrt(variance)

    def label(f):
        return (ndtr((high - f) / s) - ndtr((low - f) / s)) * norm.pdf(f, m, deviation)

    ends = m - 9 * deviation, m + 9 * deviation
    middle = [x for x in (low, high) if ends[0] < x < ends[1]]
    options = {"points": middle or None, "epsabs": 0, "epsrel": 1e-12, "limit": 300}
    p, first, second = (quad(lambda f, k=k: f**k * label(f), *ends, **options)[0] for k in range(3))
    return p, first / p, second / p - (first / p) ** 2


@pytest.mark.parametrize("noise", [0.3, 2.0])
@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.0, 0.5), (0.2, 0.21), (1.0, 4.0), (-np.inf, -0.5), (0.7, np.inf), (-3.0, 9.0)],
)
def test_site_matches_the_moments_of_the_label(low, high, noise):
    for m, variance in ((0.0, 1.0), (1.5, 0.2), (-2.0, 5.0)):
        a, b, _, log_p = _core.ep.match(m, variance, (_core.ep.INTERVAL, noise, 0.0), low, high)
        p, mean, left = moments(m, variance, noise, low, high)
        assert log_p == pytest.approx(np.log(p), abs=1e-9)
        found = 1 / (1 / variance + b)
        assert found == pytest.approx(left, rel=1e-8)
        assert found * (m / variance + a) == pytest.approx(mean, rel=1e-8, abs=1e-8)


def test_site_of_half_a_line_is_that_of_two_classes():
    for m, variance in ((0.0, 1.0), (-30.0, 2.0), (25.0, 0.1)):
        interval = _core.ep.match(m, variance, (_core.ep.INTERVAL, 0.5, 0.0), 0.0, np.inf)
        half = _core.ep.match(m, variance, (_core.ep.PROBIT, 0.5, 0.0))
        np.testing.assert_allclose(interval, half, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("far", [0.0, 4.0, 30.0])
def test_site_of_a_narrow_interval_keeps_its_digits(far):
    """Wide of a narrow class, the output is known up to the noise."""
    width, noise, variance = 1e-9, 0.5, 2.0
    a, b, _, log_p = _core.ep.match(0.0, variance, (1.0, noise, 0.0), far, far + width)
    total = variance + noise
    assert b == pytest.approx(1 / noise, rel=1e-7)
    assert a == pytest.approx(far / noise, rel=1e-7, abs=1e-7)
    expected = np.log(width) - far**2 / (2 * total) - 0.5 * np.log(2 * np.pi * total)
    assert log_p == pytest.approx(expected, abs=1e-5)  # far + width is rounded


@BOTH
def test_probabilities_are_differences_of_the_distribution(likelihood):
    f = np.linspace(-5, 5, 11)[:, None]
    cdf, scale = (ndtr, 0.7) if likelihood.name == "probit" else (expit, 1.0)
    below = cdf((THRESHOLDS - f) / scale)
    expected = np.diff(np.hstack([0 * f, below, 0 * f + 1]))
    log_p, log_rest = likelihood.log_likelihood(likelihood.margins(f))
    np.testing.assert_allclose(np.exp(log_p), expected, atol=1e-14)
    np.testing.assert_allclose(np.exp(log_rest), 1 - expected, atol=1e-13)
    shifted = likelihood.predictive(f + 0.1, 0 * f)  # a wrong one must fail
    assert np.abs(np.exp(likelihood.log_predictive(shifted)[0]) - expected).max() > 0.01


@BOTH
def test_logarithms_are_finite_in_both_tails_and_where_thresholds_meet(likelihood):
    log_p, _ = likelihood.log_likelihood(likelihood.margins(np.array([[-200.0], [200.0]])))
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(log_p[0, ::-1].argsort(), log_p[1].argsort())
    met = likelihood.at(np.array([0.0, 1.0, 1.0, 1.0 + 1e-12]))
    log_p, _ = met.log_likelihood(met.margins(np.zeros((1, 1))))
    assert np.isfinite(log_p).all()
    assert log_p[0, 2] < -600
    assert np.exp(log_p).sum() == pytest.approx(1)


def test_predictive_probabilities_are_integrals():
    likelihood = OrdinalProbitLikelihood(THRESHOLDS, 0.7)
    score = likelihood.predictive(np.array([[0.3]]), np.array([[1.7]]))
    found = np.exp(likelihood.log_predictive(score)[0][0])
    ends = [-np.inf, *THRESHOLDS, np.inf]
    expected = [moments(0.3, 1.7, 0.49, *pair)[0] for pair in itertools.pairwise(ends)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@BOTH
def test_derivatives_by_bounds_are_those_of_differences(likelihood):
    labels = np.array([0, 1, 2, 3, 4, 1])
    mean, spread = np.array([0.2, -1.0, 3.0, 0.4, -2.0, 0.9]), np.full(6, 1.3)
    bounds = likelihood.bounds(labels)
    first, second = likelihood.by_bounds(bounds, mean, spread)

    def log_p(bounds):
        x = (bounds - mean[:, None]) / spread[:, None]
        return likelihood.log_between(x[:, 1], x[:, 0])

    h = 1e-5
    for side in (0, 1):
        up, down = bounds.copy(), bounds.copy()
        up[:, side] += h
        down[:, side] -= h
        np.testing.assert_allclose(first[:, side], (log_p(up) - log_p(down)) / (2 * h), atol=1e-8)
        slopes = [likelihood.by_bounds(one, mean, spread)[0] for one in (up, down)]
        bend = (slopes[0] - slopes[1]) / (2 * h)
        np.testing.assert_allclose(second[:, side], bend[:, side], atol=1e-7)
        np.testing.assert_allclose(-first.prod(axis=1), bend[:, 1 - side], atol=1e-7)


def test_derivative_by_the_noise_is_that_of_differences():
    labels, mean = np.array([0, 2, 4]), np.array([0.3, -0.4, 1.0])
    variance, h = np.array([1.0, 0.4, 2.0]), 1e-6

    def log_p(log_noise):
        likelihood = OrdinalProbitLikelihood(THRESHOLDS, np.exp(log_noise))
        return likelihood.forecast(labels, mean, variance)[np.arange(3), labels]

    found, flips = OrdinalProbitLikelihood(THRESHOLDS, 0.7).noise_derivatives(
        mean, variance, labels
    )
    centre = np.log(0.7)
    np.testing.assert_allclose(found, (log_p(centre + h) - log_p(centre - h)) / (2 * h), atol=1e-8)
    assert not flips.any()


def test_derivatives_by_outputs_are_those_of_differences():
    likelihood, h = OrdinalLogisticLikelihood(THRESHOLDS), 1e-5
    labels, f = np.arange(5), np.array([0.3, -1.0, 0.2, 4.0, -3.0])
    slope, rate = likelihood.output_derivatives(labels, f)
    up, down = (likelihood.output_derivatives(labels, f + step) for step in (h, -h))
    values = [likelihood.log_labels(labels, f + step) for step in (h, -h)]
    np.testing.assert_allclose(slope, (values[0] - values[1]) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(rate, -(up[0] - down[0]) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(
        likelihood.rate_slopes(labels, f), (up[1] - down[1]) / (2 * h), atol=1e-9
    )


@BOTH
def test_thresholds_start_at_the_quantiles_of_the_classes(likelihood):
    labels, weight = np.array([0, 0, 1, 3, 3, 3]), np.ones(6)
    fresh = type(likelihood)()
    started = fresh.started(labels, weight, np.full(6, 2.0))
    share = np.cumsum([2.25, 1.25, 0.25, 3.25])[:-1] / 7
    p = np.exp(started.forecast(labels, np.zeros(1), np.full(1, 2.0)))[0]
    np.testing.assert_allclose(p.cumsum()[:-1], share, atol=1e-9)
    doubled = fresh.started(labels, 2 * weight, np.full(6, 2.0))
    assert np.abs(doubled.thresholds - started.thresholds).max() < 0.3
    assert started.started(labels, weight, np.ones(6)) is started  # known ones stay


@BOTH
@pytest.mark.parametrize("variance", [0.3, 40.0])
def test_information_is_that_of_many_draws(likelihood, variance):
    rng = np.random.default_rng(0)
    mean = np.array([-1.0, 0.25, 1.0, 6.0])
    draws = mean[:, None] + np.sqrt(variance) * rng.standard_normal((4, 40_000))
    p = np.exp(likelihood.log_likelihood(likelihood.margins(draws[..., None]))[0])
    single = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=-1)
    total = p.mean(axis=1)
    expected = -(total * np.log(total)).sum(axis=-1) - single.mean(axis=1)
    influence = -(p * np.log(total)[:, None]).sum(axis=-1) - single  # to first order
    error = influence.std(axis=1) / 200 + 1e-6
    found = likelihood.information(mean, np.full(4, variance))
    assert (np.abs(found - expected) < 5 * error).all()
    assert (np.abs(0.8 * found - expected) > 5 * error).any()


def test_votes_are_those_of_outputs_without_noise():
    likelihood = OrdinalLogisticLikelihood(THRESHOLDS)
    silent = likelihood.silent
    score = silent.predictive(np.array([[0.3]]), np.array([[4.0]]))
    below = ndtr((THRESHOLDS - 0.3) / 2)
    np.testing.assert_allclose(
        np.exp(silent.log_predictive(score)[0][0]), np.diff([0, *below, 1]), atol=1e-12
    )


def test_two_classes_are_the_probit_likelihood():
    ordinal, probit = OrdinalProbitLikelihood(np.zeros(1), 0.7), ProbitLikelihood(0.7)
    mean, variance = np.array([[-2.0], [0.4]]), np.array([[1.0], [3.0]])
    score = ordinal.predictive(mean, variance)
    np.testing.assert_allclose(score, probit.predictive(mean, variance), rtol=1e-14)
    no, yes = ordinal.log_predictive(score)[0].T
    np.testing.assert_allclose([yes, no], [one.ravel() for one in probit.log_predictive(score)])
    found = ordinal.information(mean.ravel(), variance.ravel())
    np.testing.assert_allclose(found, probit.information(mean, variance).ravel(), atol=1e-7)


@pytest.mark.parametrize(
    "change", [{"thresholds": np.array([1.0, 0.0])}, {"noise": -1.0}, {"radius": np.nan}]
)
def test_nonsense_in_a_file_is_refused(change):
    likelihood = OrdinalProbitLikelihood(THRESHOLDS)
    likelihood.check_state()
    vars(likelihood).update(change)
    with pytest.raises(ContentError):
        likelihood.check_state()
