"""The Gaussian posterior: answers against loops, draws and quadrature."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.posteriors import GaussianPosterior

RULES = pytest.mark.parametrize("rule", ["bayes_point", "vote"])


def posterior_of(n_tasks=2, width=4, noise=0.7, seed=0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(width, n_tasks))
    factor = 0.5 * rng.normal(size=(n_tasks, width, width))
    return GaussianPosterior(mean, factor, ProbitLikelihood(noise))


def new_points(n=30, width=4, seed=1):
    return np.random.default_rng(seed).normal(size=(n, width))


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_answers_are_those_of_single_points(n_tasks):
    posterior, Z = posterior_of(n_tasks), new_points()
    mean, variance = posterior.latent(Z)
    by_mean, by_vote = posterior.decision(Z, "bayes_point"), posterior.decision(Z, "vote")
    votes = posterior.votes(Z)
    assert mean.shape == variance.shape == by_mean.shape == votes.shape == (30, n_tasks)
    for i, z in enumerate(Z):
        for task in range(n_tasks):
            m = sum(z * posterior.mean[:, task])
            s2 = z @ posterior.covariance[task] @ z
            assert mean[i, task] == pytest.approx(m, abs=1e-13)
            assert variance[i, task] == pytest.approx(s2, rel=1e-12)
            assert by_mean[i, task] == pytest.approx(m / np.sqrt(s2 + 0.49), rel=1e-11)
            assert by_vote[i, task] == pytest.approx(m / np.sqrt(s2), rel=1e-11)
            assert votes[i, task] == pytest.approx(2 * ndtr(m / np.sqrt(s2)) - 1, abs=1e-13)


def test_draws_have_the_mean_and_the_covariance():
    posterior, n = posterior_of(), 40_000
    drawn = posterior.draw(n, np.random.default_rng(0))
    assert drawn.shape == (4, n, 2)
    for task in range(2):
        mean, covariance = posterior.mean[:, task], posterior.covariance[task]
        variance = covariance.diagonal()
        error = np.abs(drawn[:, :, task].mean(axis=1) - mean) / np.sqrt(variance / n)
        assert error.max() < 5
        scatter = np.abs(np.cov(drawn[:, :, task]) - covariance)
        spread = np.sqrt((np.outer(variance, variance) + covariance**2) / n)
        assert (scatter / spread).max() < 5
        assert (np.abs(np.cov(drawn[:, :, task]) - 1.1 * covariance) / spread).max() > 5  # wrong


def test_draws_follow_the_density():
    """Mahalanobis lengths are chi-squared: their mean is the number of coordinates."""
    posterior, n = posterior_of(1), 20_000
    drawn = posterior.draw(n, np.random.default_rng(0))[:, :, 0]
    law = multivariate_normal(posterior.mean[:, 0], posterior.covariance[0])
    log_density = law.logpdf(drawn.T)
    assert abs(log_density.mean() + law.entropy()) < 5 * log_density.std() / np.sqrt(n)


def test_probability_is_the_mean_over_the_posterior():
    """int Phi(f / beta) N(f; m, s^2) df = Phi(m / sqrt(beta^2 + s^2)), by quadrature."""
    posterior, Z = posterior_of(), new_points()
    yes, no = np.exp(posterior.log_probability(posterior.decision(Z, "bayes_point"), "bayes_point"))
    mean, variance = posterior.latent(Z)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    nodes, weights = 10 * nodes, weights * np.exp(-0.5 * (10 * nodes) ** 2)
    outputs = mean[..., None] + np.sqrt(variance)[..., None] * nodes
    likelihood, _ = np.exp(posterior.likelihood.log_likelihood(outputs))
    np.testing.assert_allclose(yes, likelihood @ weights / weights.sum(), atol=1e-12)
    np.testing.assert_allclose(yes + no, 1, atol=1e-14)


def test_votes_are_the_share_of_draws():
    posterior, Z = posterior_of(), new_points(8)
    drawn = posterior.draw(20_000, np.random.default_rng(0))
    share = (np.einsum("iw,wnt->int", Z, drawn) > 0).mean(axis=1)
    yes, _ = np.exp(posterior.log_probability(posterior.decision(Z, "vote"), "vote"))
    error = np.sqrt(yes * (1 - yes) / 20_000) + 1e-9
    assert (np.abs(share - yes) < 5 * error).all()
    np.testing.assert_allclose(2 * yes - 1, posterior.votes(Z), atol=1e-13)
    by_mean, _ = np.exp(posterior.log_probability(posterior.decision(Z, "bayes_point"), ""))
    assert (np.abs(share - by_mean) > 5 * error).any()  # the other rule has other probabilities


def test_both_rules_say_the_same():
    posterior, Z = posterior_of(), new_points(200)
    by_mean, by_vote = (posterior.decision(Z, rule) > 0 for rule in ("bayes_point", "vote"))
    assert (by_mean == by_vote).all()


@RULES
def test_probabilities_are_monotone_in_the_decision_and_never_zero(rule):
    decisions = np.linspace(-60, 60, 500)[:, None]
    log_yes, log_no = posterior_of(1).log_probability(decisions, rule)
    assert np.isfinite(log_yes).all()
    assert (np.diff(log_yes[:250], axis=0) > 0).all()
    np.testing.assert_allclose(log_yes, log_no[::-1], rtol=1e-12)


@RULES
def test_a_point_without_features_is_a_coin(rule):
    posterior = posterior_of(noise=0.0)
    decision = posterior.decision(np.zeros((1, 4)), rule)
    assert np.array_equal(decision, np.zeros((1, 2)))
    np.testing.assert_allclose(posterior.log_probability(decision, rule), np.log(0.5))


def test_without_noise_the_sign_decides():
    outputs = np.array([[[0.3, -2.0]], [[-1e-3, 1]]])
    yes, no = np.exp(ProbitLikelihood(0.0).log_likelihood(outputs))
    assert np.array_equal(yes, [[[1, 0]], [[0, 1]]])
    assert np.array_equal(no, 1 - yes)


@pytest.mark.parametrize("n", [1, 30])
def test_triangular_factors_take_the_short_way(n):
    Z, full = new_points(n), posterior_of()
    upper = GaussianPosterior(full.mean, np.triu(full.factor), full.likelihood)
    for posterior in (full, upper):
        slow = [[z @ covariance @ z for covariance in posterior.covariance] for z in Z]
        np.testing.assert_allclose(posterior.latent(Z)[1], slow, rtol=1e-12)
