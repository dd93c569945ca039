"""Posteriors: answers against loops over the samples, probabilities against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit
from scipy.stats import norm
from tests.helpers.posteriors import machine_with, some_visits

from bayespoint.posteriors import SampledPosterior
from bayespoint.posteriors.log_odds import LogOdds
from bayespoint.posteriors.sampled import FirstVisits

RULES = pytest.mark.parametrize("rule", ["bayes_point", "vote"])


def unit(vectors, axis):
    return vectors / np.linalg.norm(vectors, axis=axis, keepdims=True)


def posterior_of(n_samples=5, n_tasks=3, width=6, noise=0.2, seed=0, support=None):
    rng = np.random.default_rng(seed)
    weights = unit(rng.normal(size=(width, n_samples, n_tasks)), axis=0)
    log_odds = LogOdds(np.diag(rng.uniform(1, 20, n_tasks)), np.zeros(n_tasks))
    return SampledPosterior(weights, some_visits(n_samples, n_tasks, noise), log_odds, support)


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
            scale = posterior.log_odds.matrix[task, task]
            assert by_mean[i, task] == pytest.approx(scale * average, abs=1e-13)
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


# Votes -----------------------------------------------------------------------------------------


def with_outputs(outputs):
    """A posterior, and points at which its samples have these outputs, (n, n_samples)."""
    weights = np.eye(outputs.shape[1])[:, :, None]
    log_odds = LogOdds(np.eye(1), np.zeros(1))
    return SampledPosterior(weights, some_visits(len(weights), 1), log_odds), outputs


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


def test_outputs_of_the_size_of_rounding_errors_are_ties():
    """0.1 + 0.2 - 0.3 is 5.6e-17; a hundred times as much is an output."""
    weights = np.array([0.1, 0.2, -0.3])[:, None, None]
    odds = LogOdds(np.eye(1), np.zeros(1))
    posterior = SampledPosterior(weights, some_visits(1, 1, 0.2), odds)
    Z = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1 - 1e-13], [1e-200, 1e-200, 1e-200]])
    assert (posterior.outputs(Z) > 0).all()
    assert posterior.votes(Z).ravel().tolist() == [0, 1, 0]


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


def test_decision_of_the_bayes_point_is_its_log_odds():
    posterior = posterior_of()
    decisions = np.random.default_rng(0).uniform(-9, 9, (50, 3))
    yes, no = np.exp(posterior.log_probability(decisions, "bayes_point"))
    np.testing.assert_allclose(yes, expit(decisions), atol=1e-12)
    np.testing.assert_allclose(no, expit(-decisions), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_tasks=st.sampled_from([1, 3, 5]), rule=st.booleans())
def test_no_contradictions_with_unequal_scales(seed, n_tasks, rule):
    """Unequal scales, offsets and terms of other classes: one rule drives all answers."""
    rng = np.random.default_rng(seed)
    posterior = posterior_of(n_tasks=n_tasks, width=4, seed=seed % 1000)
    matrix = np.diag(np.exp(rng.normal(0, 2, n_tasks))) + rng.normal(size=(n_tasks, n_tasks))
    posterior.log_odds = LogOdds(matrix, rng.normal(size=n_tasks))
    clf = machine_with(posterior, 4, n_classes=max(2, n_tasks))
    clf.set_params(decision="vote" if rule else "bayes_point")
    X = rng.normal(size=(200, 4))
    scores, probability, answers = (clf.decision_function(X), clf.predict_proba(X), clf.predict(X))
    by_score = scores.argmax(axis=1) if n_tasks > 1 else (scores > 0).astype(int)
    assert np.array_equal(answers, clf.classes_[by_score])
    assert np.array_equal(answers, clf.classes_[probability.argmax(axis=1)])
    if not rule and n_tasks > 1:
        # The negative control: the largest output is another class at some points.
        largest = clf.latent_mean_and_variance(X)[0].argmax(axis=1)
        assert not np.array_equal(by_score, largest)


def test_a_single_classifier_knows_the_label_noise_only():
    posterior = posterior_of(noise=0.2)
    outputs = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    scale = np.sqrt(posterior.visits.noise / posterior.n_samples)
    np.testing.assert_allclose(scale, 0.2, rtol=1e-12)
    yes, no = np.exp(posterior.likelihood.log_likelihood(outputs))
    np.testing.assert_allclose(yes, norm.cdf(outputs / scale), atol=1e-12)
    np.testing.assert_allclose(yes + no, 1, atol=1e-12)
    yes, _ = np.exp(posterior_of(noise=0.0).likelihood.log_likelihood(outputs))
    assert np.array_equal(yes, outputs > 0)


# First visits ----------------------------------------------------------------------------------


def visits_of(outputs, late, first_square=1.0, final_square=1.0):
    """Visits of one sample: its outputs (n_points, n_tasks) where points come late."""
    return FirstVisits(
        np.where(late[:, None], outputs, 0.0),
        late.astype(int),
        first_square,
        final_square,
        np.zeros(outputs.shape[1]),
    )


def test_honest_outputs_are_means_over_late_visits_in_final_units():
    rng = np.random.default_rng(0)
    outputs, late = rng.normal(size=(4, 9, 2)), rng.random((4, 9)) < 0.5
    late[0], late[:, 3] = True, False
    parts = [visits_of(outputs[n], late[n], 4.0, 1.0) for n in range(4)]
    visits = parts[0] + parts[1] + parts[2] + parts[3]
    honest = visits.honest_outputs
    assert np.isnan(honest[3]).all()
    for i in set(range(9)) - {3}:
        expected = np.mean([outputs[n, i] for n in range(4) if late[n, i]], axis=0)
        np.testing.assert_allclose(honest[i], expected / 2, rtol=1e-12)  # sqrt(1 / 4)


def test_without_unlearned_points_the_unit_is_kept():
    outputs = np.array([[0.5], [-0.25]])
    visits = visits_of(outputs, np.array([True, True]), 0.0, 0.0)
    assert np.array_equal(visits.honest_outputs, outputs)


def test_out_of_bag_decisions_are_log_odds():
    posterior = posterior_of()
    expected = posterior.visits.honest_outputs @ posterior.log_odds.matrix
    np.testing.assert_allclose(posterior.oob_decision("bayes_point"), expected, rtol=1e-12)
    assert posterior.oob_decision("vote") is None
