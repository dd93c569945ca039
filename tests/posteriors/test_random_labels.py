"""Log-odds beside a share of random labels, which are wrong far from all boundaries, too."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from tests.posteriors.test_log_odds import error, simulate

from bayespoint.posteriors.log_odds import (
    LogOdds,
    learn_log_odds,
    learn_random,
    learn_scale,
    log_loss,
    with_random,
)


def random_labels(n, n_tasks, share, seed=0):
    """Log-odds of 30 f, and a share of the labels drawn at random, all classes alike."""
    outputs, targets = simulate(n, 30.0 * np.eye(n_tasks), np.zeros(n_tasks), seed)
    rng = np.random.default_rng(1000 + seed)
    random = rng.random(n) < share
    if n_tasks == 1:
        drawn = np.where(rng.random((n, 1)) < 0.5, 1, -1)
    else:
        drawn = np.where(rng.integers(n_tasks, size=(n, 1)) == np.arange(n_tasks), 1, -1)
    return outputs, np.where(random[:, None], drawn, targets)


@pytest.mark.parametrize("n_tasks", [1, 4])
def test_a_share_of_random_labels(n_tasks):
    scores, share = 3 * np.random.default_rng(0).normal(size=(50, n_tasks)), 0.2
    p = expit(scores) if n_tasks == 1 else softmax(scores, axis=1)
    expected = 0.8 * p + 0.2 / max(2, n_tasks)
    found = with_random(scores, share)
    found = expit(found) if n_tasks == 1 else softmax(found, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    log_odds = LogOdds(np.eye(n_tasks), np.zeros(n_tasks), True, share)
    np.testing.assert_array_equal(error(log_odds(scores), scores), 0)  # the order stays


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_random_labels_are_found(n_tasks):
    """Standard errors of both numbers are 0.08 and 0.008."""
    outputs, targets = random_labels(6000, n_tasks, 0.15)
    weight = np.random.default_rng(2).uniform(0.5, 2, 6000)
    factor, share = learn_random(20 * outputs, targets > 0, weight)
    assert factor == pytest.approx(1.5, abs=0.4)
    assert share == pytest.approx(0.15, abs=0.04)

    def loss(factor, share):
        points = weight @ log_loss(with_random(20 * factor * outputs, share), targets > 0)
        return points + np.log(factor) ** 2 / 2 - np.log(share)

    least = loss(factor, share)
    for step in (0.9, 0.99, 1.01, 1.1):
        assert loss(step * factor, share) > least
        assert loss(factor, step * share) > least


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_probabilities_of_random_labels_hold(n_tasks):
    """The wrong variant, log-odds alone, is too sure of some labels and doubts the others."""
    outputs, targets = random_labels(20_000, n_tasks, 0.1)
    learned = learn_log_odds(3 * outputs, targets)
    assert learned.random_share == pytest.approx(0.1, abs=0.03)
    new, labels = random_labels(20_000, n_tasks, 0.1, seed=1)
    scale = learn_scale(outputs, targets > 0, np.ones(20_000))
    truth = log_loss(with_random(30 * new, 0.1), labels > 0)
    for scores, is_right in ((learned(3 * new), True), (scale * new, False)):
        gap = log_loss(scores, labels > 0) - truth
        assert (abs(gap.mean()) < 5 * gap.std() / np.sqrt(20_000)) == is_right
        p = expit(np.abs(scores)) if n_tasks == 1 else softmax(scores, axis=1)
        wrong = 1 - p.max(axis=1) - error_of_each(scores, labels)
        assert (abs(wrong.mean()) < 5 * wrong.std() / np.sqrt(20_000)) == is_right


def error_of_each(scores, targets):
    if scores.shape[1] == 1:
        return (scores > 0)[:, 0] != (targets > 0)[:, 0]
    return scores.argmax(axis=1) != targets.argmax(axis=1)


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_labels_that_are_not_random_are_not_taken_for_it(n_tasks):
    """By chance a share may be surely better, but then it is small."""
    for seed in range(20):
        outputs, targets = random_labels(1000, n_tasks, 0.0, seed)
        assert learn_log_odds(outputs, targets).random_share < 0.01
    few = learn_log_odds(*random_labels(150, n_tasks, 0.3))
    assert few.random_share == 0


@pytest.mark.parametrize("n", [200, 400, 20_000])
@pytest.mark.parametrize("n_tasks", [1, 3])
def test_no_error_is_no_reason_for_certainty(n, n_tasks):
    """By the rule of succession 1 of n + 2 may be wrong. Steeper log-odds are the wrong variant."""
    outputs, targets = simulate(n, 1e9 * np.eye(n_tasks), np.zeros(n_tasks))
    assert error(outputs, targets) == 0
    learned = learn_log_odds(outputs, targets)
    scores = learned(outputs)
    _, share = learn_random(scores, targets > 0, np.ones(n))
    for found, is_cautious in (
        (scores, True),
        (with_random(1e9 * outputs, share / 20), False),
    ):
        p = expit(np.abs(found)) if n_tasks == 1 else softmax(found, axis=1)
        assert ((1 - p.max(axis=1)).mean() > 0.5 / (n + 2)) == is_cautious
