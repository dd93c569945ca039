"""Log-odds of outputs: against scikit-learn's logistic regression, a grid, and known truths."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from bayespoint.posteriors.log_odds import (
    FIRST,
    SPREAD,
    LogOdds,
    following,
    forms,
    is_clear,
    learn_log_odds,
    learn_scale,
    left_out_scores,
    log_loss,
    logistic,
)


def simulate(n, matrix, offset, seed=0):
    """Outputs, and labels drawn from the softmax of A f + b (two classes: its logistic)."""
    rng = np.random.default_rng(seed)
    outputs = rng.normal(0, 0.3, (n, len(matrix)))
    scores = outputs @ matrix.T + offset
    if len(matrix) == 1:
        return outputs, np.where(rng.random((n, 1)) < expit(scores), 1, -1)
    codes = (softmax(scores, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return outputs, np.where(codes[:, None] == np.arange(len(matrix)), 1, -1)


ONE = 5.0 * np.eye(3), np.zeros(3)
CLASSES = np.diag([3.0, 6.0, 12.0]), np.array([1.0, 0.0, -1.0])
MATRIX = 5.0 * np.eye(3) + np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]]), np.zeros(3)


@pytest.mark.parametrize("n", [7, 300])
@pytest.mark.parametrize("n_tasks", [1, 4])
def test_scale_minimises_the_loss_with_one_typical_error(n, n_tasks):
    outputs, targets = simulate(n, 4 * np.eye(n_tasks), np.zeros(n_tasks))
    weight = np.random.default_rng(1).uniform(0.5, 2, n)
    margins = np.empty(n)
    for i in range(n):
        others = outputs[i, targets[i] < 0].max() if n_tasks > 1 else 0
        margins[i] = outputs[i, targets[i] > 0].sum() - others if n_tasks > 1 else outputs[i, 0]
    size = np.sqrt((weight * margins**2).sum() / weight.sum())

    def loss(scale):
        if n_tasks == 1:
            points = np.log1p(np.exp(-scale * (targets * outputs)[:, 0]))
        else:
            points = -log_softmax(scale * outputs, axis=1)[targets > 0]
        return weight @ points + np.log1p(np.exp(scale * size))

    grid = np.geomspace(0.1, 50, 4000)
    expected = grid[np.argmin([loss(scale) for scale in grid])]
    assert learn_scale(outputs, targets > 0, weight) == pytest.approx(expected, rel=5e-3)


def test_few_points_without_an_error_are_not_certain():
    outputs = np.array([[-0.2], [0.1], [0.3]])
    log_odds = learn_log_odds(outputs, np.array([[-1], [1], [1]]))
    assert np.array_equal(log_odds.offset, [0.0])
    probability = expit(log_odds(outputs))
    assert 0.6 < probability[2, 0] < 0.95


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_many_copies_without_an_error(n_tasks):
    """The largest scale that is tried, e^6 over a typical size: no scale has a slope of 0."""
    outputs, targets = simulate(300, 1e9 * np.eye(n_tasks), np.zeros(n_tasks))
    outputs[0] = np.eye(n_tasks)[0] * 1e-3  # right, and near the boundary
    targets[0] = 2 * np.eye(n_tasks)[0] - 1
    margins = np.sort(outputs if n_tasks > 1 else np.column_stack([0 * outputs, outputs]), axis=1)
    size = np.sqrt(np.mean((margins[:, -1] - margins[:, -2]) ** 2))
    many = np.full(300, 1e6)
    assert learn_scale(outputs, targets > 0, many) == pytest.approx(np.exp(6) / size)
    assert np.isfinite(learn_log_odds(outputs, targets, many)(outputs)).all()


def test_points_without_outputs_are_left_out():
    outputs, targets = simulate(500, *ONE)
    some = np.vstack([outputs, np.full((50, 3), np.nan)])
    other = learn_log_odds(some, np.vstack([targets, -targets[:50]]), np.ones(550))
    expected = learn_log_odds(outputs, targets)
    assert np.array_equal(other.matrix, expected.matrix)


def test_nothing_to_learn_from():
    for outputs in (np.full((4, 1), np.nan), np.zeros((4, 1))):
        log_odds = learn_log_odds(outputs, np.array([[1], [-1], [1], [1]]))
        assert np.array_equal(log_odds(np.array([[0.5]])), [[0.5]])


@pytest.mark.parametrize("truth", [ONE, CLASSES, MATRIX], ids=["one", "classes", "matrix"])
def test_the_form_is_chosen_and_the_numbers_are_found(truth):
    outputs, targets = simulate(20_000, *truth)
    learned = learn_log_odds(outputs, targets)
    is_diagonal = np.count_nonzero(learned.matrix) == 3
    assert is_diagonal == (truth is not MATRIX)
    assert learned.offset.any() == (truth is not ONE)
    if truth is ONE:
        assert len(set(learned.matrix.diagonal())) == 1
    new, labels = simulate(20_000, *truth, seed=1)
    losses = log_loss(learned(new), labels > 0)
    best = log_loss(new @ truth[0].T + truth[1], labels > 0)
    difference = losses - best
    assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(len(new))
    if truth is not ONE:  # the negative control: one number is not enough here
        simple = log_loss(learn_scale(outputs, targets > 0, np.ones(20_000)) * new, labels > 0)
        assert (simple - best).mean() > 5 * (simple - best).std() / np.sqrt(len(new))


def test_few_points_choose_the_simplest_form():
    for seed in range(20):
        learned = learn_log_odds(*simulate(30, *ONE, seed=seed))
        assert len(set(learned.matrix.diagonal())) == 1
        assert not learned.offset.any()


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_newton_steps_find_the_optimum_of_the_posterior(n_tasks):
    outputs, targets = simulate(400, 2 * np.eye(n_tasks), np.ones(n_tasks))
    weight = np.random.default_rng(0).uniform(0.5, 3, 400)
    features = np.column_stack([outputs, np.ones(400)])
    for mask in forms(n_tasks).values():
        found, _ = logistic(features, targets > 0, weight, mask, np.eye(n_tasks, n_tasks + 1))

        def loss(values):
            total = weight @ log_loss(features @ values.T, targets > 0)
            for row in range(n_tasks):
                for column in range(n_tasks + 1):
                    spread = 1.0 if column in (row, n_tasks) else SPREAD
                    total += ((values[row, column] - (row == column)) / spread) ** 2 / 2
            return total

        for place in zip(*np.nonzero(mask), strict=True):
            ahead, behind = found.copy(), found.copy()
            ahead[place] += 1e-4
            behind[place] -= 1e-4
            assert (loss(ahead) - loss(behind)) / 2e-4 == pytest.approx(0, abs=1e-2)
        assert np.array_equal(found[~mask], np.eye(n_tasks, n_tasks + 1)[~mask])


def test_a_weak_prior_gives_logistic_regression():
    """With many copies the prior has no influence."""
    outputs, targets = simulate(300, np.array([[5.0]]), np.array([1.0]))
    features = np.column_stack([outputs, np.ones(300)])
    every = np.array([[True, True]])
    found, _ = logistic(features, targets > 0, np.full(300, 1e6), every, np.eye(1, 2))
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(outputs, targets[:, 0])
    np.testing.assert_allclose(found, [[reference.coef_[0, 0], reference.intercept_[0]]], rtol=1e-3)


def lopsided(n, n_classes, seed):
    """Signs of outputs are right near 0, and far away the first class is likelier than it seems.

    An offset makes the labels likelier, and moves the boundary to where it is worse.
    """
    rng = np.random.default_rng(seed)
    margin = rng.uniform(-1, 1, n)
    chance = np.select([margin < -0.4, margin < 0, margin < 0.4], [0.4, 0.1, 0.9], 0.99)
    is_yes = rng.random(n) < chance
    if n_classes == 2:
        return margin[:, None], np.where(is_yes, 1, -1)[:, None]
    outputs = rng.normal(-3, 0.3, (n, n_classes))
    outputs[:, 0], outputs[:, 1] = margin / 2, -margin / 2
    return outputs, np.where(np.arange(n_classes) == np.where(is_yes, 0, 1)[:, None], 1, -1)


def error(scores, targets):
    if scores.shape[1] == 1:
        return np.mean((scores > 0) != (targets > 0))
    return np.mean(scores.argmax(axis=1) != targets.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_outputs_decide_where_log_odds_decide_worse(n_classes):
    learned_from, labels = lopsided(6000, n_classes, seed=0)
    log_odds = learn_log_odds(learned_from, labels)
    assert log_odds.follows
    outputs, targets = lopsided(6000, n_classes, seed=1)
    plain = LogOdds(log_odds.matrix, log_odds.offset)
    assert error(log_odds(outputs), targets) == error(outputs, targets)
    assert error(plain(outputs), targets) > error(outputs, targets) + 0.01  # the wrong variant
    loss = log_loss(log_odds(outputs), targets > 0).mean()
    scale = learn_scale(learned_from, labels > 0, np.ones(6000))
    assert loss < log_loss(scale * outputs, targets > 0).mean()  # the numbers still pay


@pytest.mark.parametrize("truth", [CLASSES, MATRIX], ids=["classes", "matrix"])
def test_log_odds_decide_where_they_are_better(truth):
    outputs, targets = simulate(20_000, *truth)
    log_odds = learn_log_odds(outputs, targets)
    assert not log_odds.follows
    assert error(log_odds(outputs), targets) < error(outputs, targets)


def test_classes_above_the_decided_one_share_its_mean_probability():
    rng = np.random.default_rng(2)
    outputs, scores = rng.normal(size=(200, 4)), 3 * rng.normal(size=(200, 4))
    outputs[0] = np.nan
    found = following(outputs, np.where(np.isnan(outputs), np.nan, scores))
    assert np.isnan(found[0]).all()
    for i in range(1, 200):
        p, best = softmax(scores[i]), outputs[i].argmax()
        above = p >= p[best]
        p[above] = p[above].mean()
        np.testing.assert_allclose(softmax(found[i]), p, atol=2 * FIRST)
        assert found[i].argmax() == best
    two = following(outputs[1:, :1], scores[1:, :1])[:, 0]
    agree = outputs[1:, 0] * scores[1:, 0] > 0
    np.testing.assert_allclose(two[agree], scores[1:, 0][agree], atol=2 * FIRST)
    np.testing.assert_allclose(two[~agree], 0, atol=2 * FIRST)
    assert np.array_equal(two > 0, outputs[1:, 0] > 0)


def test_far_scores_stay_finite():
    found = following(np.array([[1.0, 0.0]]), np.array([[-1e4, 1e4]]))
    assert np.isfinite(found).all()
    assert found.argmax() == 0


def posed(outputs, targets, weight=None):
    """Features, labels, weights and the prior's coefficients of a logistic regression."""
    n, n_tasks = outputs.shape
    features = np.column_stack([outputs, np.ones(n)])
    weight = np.ones(n) if weight is None else weight
    return features, targets > 0, weight, np.eye(n_tasks, n_tasks + 1)


@pytest.mark.parametrize("form", ["classes", "matrix"])
@pytest.mark.parametrize(("n", "n_tasks"), [(12, 1), (40, 1), (60, 3)])
def test_left_out_scores_are_those_of_refits(n, n_tasks, form):
    """To a tenth of what a point moves; the wrong variant has the point's weight only once."""
    outputs, targets = simulate(n, 4 * np.eye(n_tasks), np.ones(n_tasks))
    weight = np.random.default_rng(0).integers(1, 4, n).astype(float)
    features, is_yes, weight, start = posed(3 * outputs, targets, weight)
    mask = forms(n_tasks).get(form, np.ones((1, 2), dtype=bool))
    learned, inverse = logistic(features, is_yes, weight, mask, start)
    own, refits = features @ learned.T, np.empty(is_yes.shape)
    for i in range(n):
        others = np.where(np.arange(n) == i, 0.0, weight)
        refits[i] = features[i] @ logistic(features, is_yes, others, mask, learned)[0].T

    def gap(copies):
        found = left_out_scores(features, is_yes, copies, mask, learned, inverse)
        return np.linalg.norm(found - refits) / np.linalg.norm(own - refits)

    assert gap(weight) < 0.1
    assert gap(np.ones(n)) > 0.3


def test_left_out_losses_are_those_of_new_points():
    """The wrong variants: points that were learned from, and halves that test each other."""
    gaps = []
    for seed in range(100):
        features, is_yes, weight, start = posed(*simulate(400, *MATRIX, seed=seed))
        mask = forms(3)["matrix"]
        learned, inverse = logistic(features, is_yes, weight, mask, start)
        left_out = left_out_scores(features, is_yes, weight, mask, learned, inverse)
        new = posed(*simulate(20_000, *MATRIX, seed=1000 + seed))
        truth = log_loss(new[0] @ learned.T, new[1]).mean()
        # What chance has put into these points is in all three.
        best = log_loss(features[:, :-1] @ MATRIX[0].T, is_yes).mean()
        truth -= log_loss(new[0][:, :-1] @ MATRIX[0].T, new[1]).mean()
        halves = two_folds(features, is_yes, weight, mask)
        scores = left_out, features @ learned.T, halves
        gaps.append([log_loss(one, is_yes).mean() - best - truth for one in scores])
    tolerance = 5 * np.std(gaps, axis=0) / 10
    assert (np.abs(np.mean(gaps, axis=0)) < tolerance).tolist() == [True, False, False]


def two_folds(features, is_yes, weight, mask):
    """Scores of rows of even number with what is learned from the others, and the reverse."""
    scores = np.empty(is_yes.shape)
    for here, there in (
        (slice(0, None, 2), slice(1, None, 2)),
        (slice(1, None, 2), slice(0, None, 2)),
    ):
        problem = features[there], is_yes[there], weight[there]
        scores[here] = features[here] @ logistic(*problem, mask, np.eye(*mask.shape))[0].T
    return scores


def test_rows_that_alternate_between_two_sources():
    """As the digits of MNIST do: halves by parity then learn from one what the other denies."""
    sure, unsure = simulate(6000, 8 * MATRIX[0], np.zeros(3)), simulate(6000, *MATRIX, seed=1)
    outputs, targets = (
        np.stack(both, axis=1).reshape(12_000, 3) for both in zip(sure, unsure, strict=True)
    )
    learned = learn_log_odds(outputs, targets)
    assert np.count_nonzero(learned.matrix) == 9
    order = np.random.default_rng(0).permutation(12_000)
    other = learn_log_odds(outputs[order], targets[order])
    np.testing.assert_allclose(other.matrix, learned.matrix, rtol=1e-3, atol=1e-3)
    assert other.follows == learned.follows
    scale = learn_scale(outputs, targets > 0, np.ones(12_000))
    features, is_yes, weight, _ = posed(scale * outputs, targets)
    simple = log_loss(scale * outputs, is_yes)
    for rows, rejects in ((slice(None), True), (order, False)):  # the wrong variant
        halves = two_folds(features[rows], is_yes[rows], weight, forms(3)["matrix"])
        gain = simple[rows] - log_loss(halves, is_yes[rows])
        assert is_clear(gain, weight) != rejects
