"""Posteriors: answers against loops over the samples, probabilities against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_ndtr
from scipy.stats import norm

from bayespoint.posteriors import SampledPosterior
from bayespoint.posteriors.sampled import TrainingMoments

RULES = pytest.mark.parametrize("rule", ["bayes_point", "vote"])


def unit(vectors, axis):
    return vectors / np.linalg.norm(vectors, axis=axis, keepdims=True)


def moments_of(margins, noise):
    """Sums over samples; margins and noise have the shape (n_samples, m, n_tasks)."""
    return TrainingMoments(
        n_samples=len(margins),
        margins=margins.sum(axis=0),
        squares=(margins**2).mean(axis=1).sum(axis=0),
        noise=(noise**2).mean(axis=1).sum(axis=0),
    )


def posterior_of(n_samples=5, n_tasks=3, width=6, noise=0.2, seed=0, support=None):
    rng = np.random.default_rng(seed)
    weights = unit(rng.normal(size=(width, n_samples, n_tasks)), axis=0)
    margins = rng.normal(0.1, 0.2, (n_samples, 20, n_tasks))
    moments = moments_of(margins, noise * rng.normal(size=margins.shape))
    return SampledPosterior(weights, moments, support)


def new_points(n=30, width=6, seed=1):
    return unit(np.random.default_rng(seed).normal(size=(n, width)), axis=1)


def single(posterior, Z):
    """f_n(x), one number at a time: [point][sample][task]."""
    samples = posterior.weights.transpose(1, 2, 0)
    return [[[sum(z * w) for w in tasks] for tasks in samples] for z in Z]


# Answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_tasks", [1, 3])
@pytest.mark.parametrize("n_samples", [1, 5, 6])
def test_answers_are_loops_over_the_samples(n_samples, n_tasks):
    posterior, Z = posterior_of(n_samples, n_tasks), new_points()
    outputs = single(posterior, Z)
    mean, variance = posterior.latent(Z)
    votes = posterior.votes(Z)
    by_mean, by_vote = posterior.decision(Z, "bayes_point"), posterior.decision(Z, "vote")
    for i in range(len(Z)):
        for task in range(n_tasks):
            f = [outputs[i][n][task] for n in range(n_samples)]
            average = sum(f) / n_samples
            vote = sum(1 if value > 0 else -1 for value in f) / n_samples
            assert mean[i, task] == pytest.approx(average, abs=1e-14)
            assert by_mean[i, task] == pytest.approx(average, abs=1e-14)
            spread = sum((value - average) ** 2 for value in f) / n_samples
            assert variance[i, task] == pytest.approx(spread, abs=1e-14)
            assert votes[i, task] == pytest.approx(vote, abs=1e-14)
            assert by_vote[i, task] == pytest.approx(vote + average / n_samples, abs=1e-14)
    centre = sum(posterior.weights[:, n] for n in range(n_samples)) / n_samples
    np.testing.assert_allclose(posterior.mean, centre, atol=1e-14)


def test_drawn_classifiers_are_samples_equally_often():
    posterior = posterior_of(4)
    drawn = posterior.draw(4000, np.random.default_rng(0))
    assert drawn.shape == (6, 4000, 3)
    # All tasks of a draw belong to one sample.
    which = [
        np.flatnonzero((posterior.weights == drawn[:, [n]]).all(axis=(0, 2))) for n in range(4000)
    ]
    assert {len(found) for found in which} == {1}
    counts = np.bincount(np.concatenate(which), minlength=4)
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(4000 * 0.25 * 0.75)
    assert np.array_equal(drawn, posterior.draw(4000, np.random.default_rng(0)))


def test_joined_samples_keep_their_order_and_their_points():
    parts = [
        posterior_of(2, width=3, seed=0, support=np.array([1, 4, 7])),
        posterior_of(1, width=2, seed=1, support=np.array([0, 4])),
        posterior_of(3, width=4, seed=2, support=np.array([4, 5, 7, 8])),
    ]
    joined = SampledPosterior.join(parts)
    assert joined.support.tolist() == [0, 1, 4, 5, 7, 8]
    assert joined.n_samples == 6
    expected = []
    for part in parts:
        for n in range(part.n_samples):
            by_point = dict(zip(part.support, part.weights[:, n], strict=True))
            expected.append([by_point.get(i, np.zeros(3)) for i in joined.support])
    assert np.array_equal(joined.weights.swapaxes(0, 1), expected)
    total = parts[0].moments + parts[1].moments + parts[2].moments
    assert joined.moments.n_samples == 6
    for name in ("margins", "squares", "noise"):
        assert np.array_equal(getattr(joined.moments, name), getattr(total, name))


# Votes -----------------------------------------------------------------------------------------


def with_outputs(outputs):
    """A posterior, and points at which its samples have these outputs, (n, n_samples)."""
    weights = np.eye(outputs.shape[1])[:, :, None]
    moments = moments_of(np.zeros((len(weights), 2, 1)), np.zeros((len(weights), 2, 1)))
    return SampledPosterior(weights, moments), outputs


SIZES = st.floats(1e-6, 1).flatmap(lambda size: st.sampled_from([size, -size]))


@settings(deadline=None)
@given(outputs=st.integers(1, 7).flatmap(lambda n: arrays(float, (8, n), elements=SIZES)))
def test_tie_break_never_overturns_a_vote(outputs):
    posterior, Z = with_outputs(outputs)
    votes, scores = posterior.votes(Z)[:, 0], posterior.decision(Z, "vote")[:, 0]
    means = outputs.mean(axis=1)
    assert np.array_equal(np.sign(scores)[votes != 0], np.sign(votes)[votes != 0])
    for i in range(8):
        for j in range(8):
            if votes[i] > votes[j] + 1e-9:
                assert scores[i] >= scores[j]
            elif abs(votes[i] - votes[j]) < 1e-9 and means[i] > means[j] + 1e-9:
                assert scores[i] > scores[j]


def test_outputs_above_1_do_not_outvote():
    """A precomputed kernel does not tell the length of new points."""
    posterior, Z = with_outputs(np.array([[900.0, -1.0, -1.0], [-0.1, 0.2, 0.1]]))
    scores = posterior.decision(Z, "vote")[:, 0]
    assert scores[0] < 0 < scores[1]


def test_votes_give_laplaces_share():
    """(n_yes + 1/2) / (N + 1), the mean output moving it by at most half a vote."""
    outputs = 1e-9 * np.array([[1, 1, 1, 1.0], [1, 1, 1, -1], [1, 1, -1, -1], [-1, -1, -1, -1]])
    posterior, Z = with_outputs(outputs)
    yes, no = np.exp(posterior.log_probability(posterior.decision(Z, "vote"), "vote"))
    np.testing.assert_allclose(yes[:, 0], [4.5 / 5, 3.5 / 5, 2.5 / 5, 0.5 / 5], atol=1e-8)
    np.testing.assert_allclose(yes + no, 1, atol=1e-12)
    posterior, Z = with_outputs(np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]))
    assert np.isfinite(posterior.log_probability(posterior.decision(Z, "vote"), "vote")).all()


# Probabilities ---------------------------------------------------------------------------------


@RULES
def test_probabilities_are_monotone_in_the_decision(rule):
    posterior = posterior_of()
    decisions = np.sort(np.random.default_rng(0).uniform(-1, 1, (200, 3)), axis=0)
    log_yes, log_no = posterior.log_probability(decisions, rule)
    assert (np.diff(log_yes, axis=0) > 0).all()
    assert (np.diff(log_no, axis=0) < 0).all()
    np.testing.assert_allclose(np.exp(log_yes) + np.exp(log_no), 1, atol=1e-12)
    middle = posterior.log_probability(np.zeros((1, 3)), rule)
    np.testing.assert_allclose(middle, np.log(0.5), atol=1e-12)


def test_probability_of_the_bayes_point_is_a_probit():
    posterior = posterior_of()
    decisions = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    log_yes, _ = posterior.log_probability(decisions, "bayes_point")
    expected = norm.cdf(decisions / posterior.moments.predictive_scale)
    np.testing.assert_allclose(np.exp(log_yes), expected, atol=1e-12)


def test_a_single_classifier_knows_the_label_noise_only():
    posterior = posterior_of(noise=0.2)
    outputs = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    scale = np.sqrt(posterior.moments.noise / posterior.n_samples)
    assert scale.min() > 0.1
    yes, no = np.exp(posterior.likelihood.log_likelihood(outputs))
    np.testing.assert_allclose(yes, norm.cdf(outputs / scale), atol=1e-12)
    np.testing.assert_allclose(yes + no, 1, atol=1e-12)
    yes, _ = np.exp(posterior_of(noise=0.0).likelihood.log_likelihood(outputs))
    assert np.array_equal(yes, outputs > 0)


# Moments ---------------------------------------------------------------------------------------


def some_margins(n_samples=7, m=50, seed=0):
    rng = np.random.default_rng(seed)
    centre = rng.normal(0.1, 0.3, (1, m, 2))
    return centre + rng.normal(0, [0.05, 0.2], (n_samples, m, 2))


def test_variances_are_those_of_the_samples():
    margins, noise = some_margins(), some_margins(seed=1)
    moments = moments_of(margins, noise)
    expected = np.mean([np.var(margins[:, i], axis=0, ddof=1) for i in range(50)], axis=0)
    np.testing.assert_allclose(moments.model_variance, expected, rtol=1e-10)
    np.testing.assert_allclose(moments.noise_variance, (noise**2).mean(axis=(0, 1)), rtol=1e-12)


def test_adding_moments_is_joining_samples():
    margins, noise = some_margins(), some_margins(seed=1)
    together = moments_of(margins, noise)
    parts = [
        moments_of(margins[part], noise[part]) for part in (slice(3), slice(3, 4), slice(4, 7))
    ]
    added = parts[0] + parts[1] + parts[2]
    assert added.n_samples == together.n_samples == 7
    for name in ("model_variance", "noise_variance", "margin_scale", "predictive_scale"):
        np.testing.assert_allclose(getattr(added, name), getattr(together, name), rtol=1e-5)


def test_one_sample_stands_in_with_its_mean_square():
    margins = some_margins(1)
    moments = moments_of(margins, np.zeros_like(margins))
    np.testing.assert_allclose(moments.model_variance, (margins[0] ** 2).mean(axis=0), rtol=1e-12)
    assert np.array_equal(moments.noise_variance, [0, 0])


def test_equal_samples_have_no_variance():
    margins = np.repeat(some_margins(1), 5, axis=0)
    variance = moments_of(margins, np.zeros_like(margins)).model_variance
    assert (variance >= 0).all()
    np.testing.assert_allclose(variance, 0, atol=1e-15)


def test_scale_of_the_margins_is_the_likeliest_one():
    margins = some_margins()
    grid = np.geomspace(0.01, 10, 4000)
    for mean, scale in zip(
        margins.mean(axis=0).T, moments_of(margins, margins).margin_scale, strict=True
    ):
        seen = np.append(mean, -np.abs(mean).mean())  # and one typical error more
        likelihood = [log_ndtr(seen / sigma).sum() for sigma in grid]
        assert scale == pytest.approx(grid[np.argmax(likelihood)], rel=5e-3)


def test_the_smaller_scale_counts():
    margins = some_margins()
    for noise in (0.0, 5.0):
        moments = moments_of(margins, np.full_like(margins, noise))
        total = np.sqrt(moments.model_variance + noise**2)
        expected = np.minimum(total, moments.margin_scale)
        np.testing.assert_allclose(moments.predictive_scale, expected, rtol=1e-12)
