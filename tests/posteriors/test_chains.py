"""The posterior of chains: answers against loops over the samples, flipped votes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from bayespoint.posteriors import ChainPosterior
from bayespoint.posteriors.diagnostics import r_hat

RULES = pytest.mark.parametrize("rule", ["bayes_point", "vote"])


def posterior_of(n_chains=3, n_draws=4, d=5, n_tasks=2, noise=0.1, seed=0, **parameters):
    chains = np.random.default_rng(seed).normal(size=(n_chains, n_draws, d, n_tasks))
    chains[:, :, 0] += 1
    chains /= np.linalg.norm(chains, axis=2, keepdims=True)
    return ChainPosterior(chains, noise * np.ones(n_tasks), **parameters), chains


def points(n=40, d=5):
    return np.random.default_rng(9).normal(size=(n, d)) * np.logspace(-3, 3, n)[:, None]


def test_answers_are_loops_over_the_samples():
    posterior, chains = posterior_of()
    Z = points()
    samples = chains.reshape(12, 5, 2)
    outputs = np.array([[[z @ w[:, t] for t in range(2)] for w in samples] for z in Z])
    np.testing.assert_allclose(posterior.outputs(Z), outputs, atol=1e-9)
    np.testing.assert_allclose(posterior.mean, samples.mean(axis=0))
    np.testing.assert_allclose(posterior.latent(Z)[1], outputs.var(axis=1), atol=1e-9)
    votes = np.sign(outputs).mean(axis=1)
    np.testing.assert_allclose(posterior.votes(Z), votes)
    mean = outputs.mean(axis=1)
    score = mean / np.sqrt(outputs.var(axis=1) + mean**2 / 12)
    np.testing.assert_allclose(posterior.decision(Z, "bayes_point"), score, atol=1e-9)
    np.testing.assert_allclose(posterior.decision(Z, "vote"), votes + score / 12**1.5, atol=1e-9)
    assert np.array_equal(posterior.to_dict()["weights"], chains)
    assert (posterior.n_chains, posterior.n_draws, posterior.n_samples) == (3, 4, 12)


def test_a_better_mean_decides():
    mean = np.array([[0.0, 1.0], [1.0, 0.0], [0, 0], [0, 0], [0, 0]])
    posterior, _ = posterior_of(mean=mean)
    Z = points()
    assert np.array_equal(np.sign(posterior.decision(Z, "bayes_point")), np.sign(Z @ mean))


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), n_draws=st.integers(1, 5))
def test_tie_break_never_overturns_a_vote(seed, n_draws):
    posterior, _ = posterior_of(n_chains=1, n_draws=n_draws, seed=seed)
    Z = points()
    votes, scores = posterior.votes(Z), posterior.decision(Z, "vote")
    assert (np.abs(scores - votes) <= (1 + 1e-9) / n_draws).all()
    decided = np.abs(votes) > 1e-9
    assert np.array_equal(np.sign(scores)[decided], np.sign(votes)[decided])


@RULES
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
def test_probabilities_are_monotone_and_bounded_by_the_noise(rule, noise):
    posterior, _ = posterior_of(noise=noise)
    size = 1.0 if rule == "vote" else np.sqrt(12)
    decisions = np.linspace(-size, size, 101)[:, None] * np.ones(2)
    yes, no = np.exp(posterior.log_probability(decisions, rule))
    np.testing.assert_allclose(yes + no, 1, atol=1e-12)
    assert (np.diff(yes, axis=0) >= 0).all()
    assert yes.min() >= noise - 1e-12
    assert yes.max() <= 1 - noise + 1e-12
    np.testing.assert_allclose(yes[50], 0.5)
    share = (6 * (decisions + 1) + 0.5) / 13 if rule == "vote" else norm.cdf(decisions)
    np.testing.assert_allclose(yes, noise + (1 - 2 * noise) * share, atol=1e-9)


def test_a_single_classifier_knows_the_flips_only():
    posterior, _ = posterior_of(noise=0.2)
    yes, no = np.exp(posterior.likelihood.log_likelihood(np.array([[3.0, -0.1], [0.0, 5.0]])))
    np.testing.assert_allclose(yes, [[0.8, 0.2], [0.5, 0.8]])
    np.testing.assert_allclose(yes + no, 1)
    certain, _ = posterior_of(noise=0.0)
    log = certain.likelihood.log_likelihood(np.array([[1.0, 1.0], [-1.0, -1.0]]))
    assert np.array_equal(np.exp(log[0]).round(9), [[1, 1], [0, 0]])


def test_outputs_of_zero():
    posterior, _ = posterior_of()
    for rule in ("bayes_point", "vote"):
        assert np.array_equal(posterior.decision(np.zeros((3, 5)), rule), np.zeros((3, 2)))


def test_arviz_reads_the_draws():
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
    posterior, chains = posterior_of(n_chains=4, n_draws=50)
    data = arviz.convert_to_dataset(posterior.to_dict())
    assert dict(data.sizes) == {"chain": 4, "draw": 50, "weights_dim_0": 5, "weights_dim_1": 2}
    np.testing.assert_array_equal(data["weights"].values, chains)
    np.testing.assert_allclose(arviz.rhat(data)["weights"].values, r_hat(chains), rtol=1e-10)
    mean = arviz.summary(data, round_to="none")["mean"].to_numpy().reshape(5, 2)
    np.testing.assert_allclose(mean, posterior.mean, atol=1e-12)
