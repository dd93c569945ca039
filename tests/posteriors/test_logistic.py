"""The Gaussian posterior of the logistic model, against loops, draws and quadrature."""

import numpy as np
import pytest
from scipy.special import expit, ndtr

from bayespoint.likelihoods import LogisticLikelihood
from bayespoint.posteriors import GaussianPosterior

RULES = pytest.mark.parametrize("rule", ["bayes_point", "vote"])


def posterior_of(n_tasks=2, width=4, seed=0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(width, n_tasks))
    factor = 0.5 * rng.normal(size=(n_tasks, width, width))
    return GaussianPosterior(mean, factor, LogisticLikelihood())


def new_points(n=30, width=4, seed=1):
    return np.random.default_rng(seed).normal(size=(n, width))


@pytest.mark.parametrize(("s", "error"), [(0.1, 1e-4), (1, 0.005), (3, 0.014), (30, 0.018)])
def test_moderated_output_by_quadrature(s, error):
    """The sigma of a moderated output against the mean of sigma(f) over N(m, s^2)."""
    nodes = np.linspace(-12, 12, 4001)
    weights = np.exp(-0.5 * nodes**2)
    m = np.linspace(-10, 10, 81) * max(1, s)
    exact = expit(m[:, None] + s * nodes) @ weights / weights.sum()
    found = np.abs(expit(LogisticLikelihood().predictive(m, s**2)) - exact).max()
    assert error / 2 < found < error  # near what the docstring says
    assert np.abs(expit(m) - exact).max() > 4 * found  # the output at the mean is farther off


def test_answers_are_those_of_single_points():
    posterior, Z = posterior_of(), new_points()
    by_mean, by_vote = posterior.decision(Z, "bayes_point"), posterior.decision(Z, "vote")
    votes = posterior.votes(Z)
    for i, z in enumerate(Z):
        for task in range(2):
            m, s2 = z @ posterior.mean[:, task], z @ posterior.covariance[task] @ z
            assert by_mean[i, task] == pytest.approx(m / np.sqrt(1 + np.pi * s2 / 8), rel=1e-11)
            assert by_vote[i, task] == pytest.approx(m / np.sqrt(s2), rel=1e-11)
            assert votes[i, task] == pytest.approx(2 * ndtr(m / np.sqrt(s2)) - 1, abs=1e-13)


def test_probability_is_the_mean_over_draws():
    posterior, Z, n = posterior_of(), new_points(8), 20_000
    drawn = posterior.draw(n, np.random.default_rng(0))
    likelihood, _ = np.exp(posterior.likelihood.log_likelihood(np.einsum("iw,wnt->int", Z, drawn)))
    yes, no = np.exp(posterior.log_probability(posterior.decision(Z, "bayes_point"), "bayes_point"))
    error = 5 * likelihood.std(axis=1) / np.sqrt(n) + 0.018
    assert (np.abs(likelihood.mean(axis=1) - yes) < error).all()
    np.testing.assert_allclose(yes + no, 1, atol=1e-14)


@RULES
def test_probabilities_are_monotone_in_the_decision_and_never_zero(rule):
    decisions = np.linspace(-600, 600, 500)[:, None]
    log_yes, log_no = posterior_of(1).log_probability(decisions, rule)
    assert np.isfinite(log_yes).all()
    assert (np.diff(log_yes[:250], axis=0) > 0).all()
    np.testing.assert_allclose(log_yes, log_no[::-1], rtol=1e-10)


@RULES
def test_a_point_without_features_is_a_coin(rule):
    posterior = posterior_of()
    decision = posterior.decision(np.zeros((1, 4)), rule)
    assert np.array_equal(decision, np.zeros((1, 2)))
    np.testing.assert_allclose(posterior.log_probability(decision, rule), np.log(0.5))


def test_a_classifier_alone_is_logistic():
    outputs = np.array([[[0.3, -2.0]], [[-800, 1e4]]])
    log_yes, log_no = LogisticLikelihood().log_likelihood(outputs)
    np.testing.assert_allclose(log_yes, -np.logaddexp(0, -outputs), rtol=1e-12)
    np.testing.assert_allclose(log_no, -np.logaddexp(0, outputs), rtol=1e-12)
