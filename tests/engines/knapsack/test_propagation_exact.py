"""Whole runs of knapsack propagation against closed forms, trees, and exact grids."""

import warnings

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from tests.helpers.knapsack import PAPER, beliefs_of, exact_max_marginals, machine, toy, toy_error

from bayespoint import BayesPointClassifier, _core
from bayespoint.engines import KnapsackPropagation
from bayespoint.engines.knapsack.beliefs import Beliefs
from bayespoint.engines.knapsack.priors import PRIORS, Prior
from bayespoint.exceptions import CutMarginalsWarning
from bayespoint.posteriors import MarginalPosterior


def passes(beliefs, n):
    changes = [beliefs.step() for _ in range(n)]
    values = beliefs.log_beliefs()
    return values - values.max(axis=1, keepdims=True), changes


# Trees: beliefs are exact ------------------------------------------------------------------------


def one_point_error(D, bins, gamma=1.0, n_passes=3, C=1.0):
    """Distance, over C, to b_i = -w^2 / 2 + max(-(1 - x_i w)_+^2 / (2 sum_{j != i} x_j^2), -C)."""
    x = np.random.default_rng(D).normal(size=(1, D))
    beliefs = beliefs_of(x, C, gamma=gamma, low=-4.0, high=4.0, bins=bins)
    found, _ = passes(beliefs, n_passes)
    w, worst = beliefs.grid[0], 0.0
    for i in range(D):
        rest = np.square(x[0]).sum() - x[0, i] ** 2
        short = np.maximum(1 - x[0, i] * w, 0)
        expected = -0.5 * w**2 + np.maximum(-0.5 * short**2 / rest, -C)
        worst = max(worst, np.abs(found[i] - (expected - expected.max())).max())
    return worst / C


@pytest.mark.parametrize(("D", "tolerance"), [(3, 0.002), (8, 0.006), (30, 0.02)])
def test_one_point_has_a_closed_form(D, tolerance):
    errors = [one_point_error(D, bins) for bins in (128, 512)]
    assert errors[1] < tolerance
    assert 9 < errors[0] / errors[1] < 25  # second order in the width of a bin: about 16


@pytest.mark.parametrize(
    ("beta", "length", "cosine"), [(0.03, 0.7, 0.98), (0.1, 0.12, 0.995), (0.3, 3e-3, 1 - 1e-5)]
)
@pytest.mark.parametrize("C", [0.3, 1.0, 3.0])
def test_low_betas_see_the_ends_of_the_grids(beta, length, cosine, C):
    """One point, against quadrature far beyond the ends: weights too long, in their direction."""
    x = np.array([[1.2, -0.5, 2.0]])
    beliefs = Beliefs(x, np.array([C]), np.ones(1), PRIORS["l2"], gamma=1.0, damping=1.0, bins=512)
    values, _ = passes(beliefs, 10)
    posterior = MarginalPosterior(beliefs.grid[None], values[None], beta, x, np.ones((1, 1)))
    found, w = posterior.mean[:, 0], np.linspace(-60, 60, 60_001)
    others = np.square(x).sum() - np.square(x.T)
    exact = -0.5 * w**2 + np.maximum(-0.5 * np.maximum(1 - x.T * w, 0) ** 2 / others, -C)
    mass = np.exp(beta * exact)
    expected = (mass @ w) / mass.sum(axis=1)
    longer = np.linalg.norm(found) / np.linalg.norm(expected)
    assert -0.002 < longer - 1 < length
    assert found @ expected > cosine * np.linalg.norm(found) * np.linalg.norm(expected)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior.means([1.0, beta])
    assert len(caught) == (beta < 0.23)
    if caught:
        assert isinstance(caught[0].message, CutMarginalsWarning)
        assert caught[0].message.beta == beta
        assert caught[0].message.height == pytest.approx(np.exp(-20 * beta), rel=0.2)
        assert "Remedy: a larger beta" in str(caught[0].message)


def test_points_without_common_features_form_a_tree():
    rng = np.random.default_rng(0)
    x = np.zeros((2, 5))
    x[0, :2], x[1, 2:] = rng.normal(size=2), rng.normal(size=3)
    both, _ = passes(beliefs_of(x, 1.0, gamma=0.5), 80)
    for own, columns in ((x[:1, :2], slice(0, 2)), (x[1:, 2:], slice(2, 5))):
        alone, _ = passes(beliefs_of(own, 1.0), 3)
        assert np.abs(both[columns] - alone).max() < 2e-3
    wrong, _ = passes(beliefs_of(x, 1.1, gamma=0.5), 80)
    assert np.abs(both - wrong).max() > 2e-3


# Loops: fixed points -----------------------------------------------------------------------------


def tiny(seed, D=2, S=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(S, D))
    return x * np.where(x @ rng.normal(size=D) + 0.5 * rng.normal(size=S) > 0, 1, -1)[:, None]


def test_plain_and_heskes_rest_at_the_same_point():
    rested = 0
    for seed in range(6):
        x = tiny(seed)
        plain, plain_changes = passes(beliefs_of(x, 1.0, damping=0.3), 1000)
        heskes, heskes_changes = passes(beliefs_of(x, 1.0, gamma=1 / 6), 1000)
        if max(plain_changes[-1], heskes_changes[-1]) < 1e-12:
            rested += 1
            np.testing.assert_allclose(plain, heskes, atol=1e-9)
    assert rested >= 5  # not every problem comes to rest, and some have two fixed points


def inner_loop(x, C, n_sweeps, bins=65):
    """Weights in turn, B held: the largest change, over C, of a message in the last sweep."""
    S, D = x.shape
    beliefs = beliefs_of(x, C, gamma=1 / S, bins=bins)
    for _ in range(n_sweeps):
        before = beliefs.messages.copy()
        for i in range(D):
            kept = beliefs.messages.copy()
            belief = (beliefs.log_prior + beliefs.messages.sum(axis=0)) / S
            beliefs._pass(belief, _core.grids.stay(belief.shape))
            kept[:, i] = beliefs.messages[:, i]  # only those to weight i are new
            beliefs.messages[:] = kept
        residual = np.abs(beliefs.messages - before).max() / C
        if residual < 1e-9:
            break
    return residual


def test_inner_loop_in_turn_converges():
    """Heskes' guarantee: weights one after another, B held. Flooding has no such guarantee."""
    assert max(inner_loop(tiny(seed), 1.0, 300) for seed in range(8)) < 1e-6


def test_inner_loop_converges_slowly_with_more_weights():
    x = tiny(2, D=3, S=10)
    assert inner_loop(x, 1.0, 300, bins=129) > 1e-6
    assert inner_loop(x, 1.0, 1200, bins=129) < 1e-6


def test_the_guarantee_is_not_one_of_envelopes():
    """Ascent in turn needs the maximum itself; with envelopes it can go in circles."""
    assert inner_loop(tiny(10, S=10), 5.0, 60) > 0.3


# The paper's toy problem -------------------------------------------------------------------------


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_toy_problem_against_an_exact_grid():
    cosines = {"plain": [], "heskes": [], "averaged": []}
    for seed in range(8):
        X, y = toy(seed)
        x = np.column_stack([X, np.ones(100)]) * y[:, None]
        line, marginals = exact_max_marginals(x, 1.0)
        expected = np.array(
            [line @ np.exp(m - m.max()) / np.exp(m - m.max()).sum() for m in marginals]
        )
        for schedule, found in cosines.items():
            engine = KnapsackPropagation(**PAPER | {"schedule": schedule})
            clf = BayesPointClassifier(engine=engine).fit(X, y)
            found.append(cosine(clf.posterior_.mean[:, 0], expected))
    assert np.median(cosines["plain"]) >= 0.995
    assert min(cosines["plain"]) >= 0.95
    assert np.median(cosines["heskes"]) >= 0.985
    assert min(cosines["heskes"]) >= 0.97
    assert np.median(cosines["averaged"]) >= 0.99
    assert min(cosines["averaged"]) >= 0.985


def test_an_outlier_moves_the_svm_and_not_the_bayes_point():
    moved = {"svm": [], "knapsack": []}
    for seed in range(30):
        errors = {name: [] for name in moved}
        for outlier in (False, True):
            X, y = toy(seed, outlier=outlier)
            svm = LinearSVC(C=1.0, loss="hinge", max_iter=100_000, random_state=0).fit(X, y)
            errors["svm"].append(toy_error(np.append(svm.coef_[0], svm.intercept_)))
            clf = BayesPointClassifier(engine=KnapsackPropagation(C=1.0)).fit(X, y)
            errors["knapsack"].append(toy_error(clf.posterior_.mean[:, 0]))
        for name, (before, after) in errors.items():
            moved[name].append(100 * (after - before))
    assert abs(np.mean(moved["knapsack"])) < 0.05
    assert np.mean(moved["svm"]) > 0.3


def test_defaults_bear_many_points():
    """Where Heskes' schedule, with the same C and beta, hardly leaves its start in 50 passes."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 30))
    y = X @ rng.normal(size=30) > 0
    flipped = y ^ (rng.random(3000) < 0.1)
    errors = {}
    for schedule in ("averaged", "heskes"):
        clf = BayesPointClassifier(engine=KnapsackPropagation(bins=48, schedule=schedule))
        errors[schedule] = 1 - clf.fit(X[:1000], flipped[:1000]).score(X[1000:], y[1000:])
    assert errors["averaged"] < 0.07
    assert errors["heskes"] > 0.1


# Beta --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [2.0, 3.7, 8.0])
def test_beta_is_free(beta):
    """A run with C, prior and depth times beta has the means of the first run at that beta."""
    X, y = toy(0)
    beliefs = [
        Beliefs(
            X * y[:, None],
            np.full(100, 2.0 * sharp),
            np.ones(100),
            Prior(lambda w, sharp=sharp: -0.5 * sharp * w**2),
            gamma=0.01,
            damping=1.0,
            bins=128,
        )
        for sharp in (1.0, beta)
    ]
    beliefs[1].depth = beta * beliefs[0].depth
    means = []
    for own, sharp in zip(beliefs, (beta, 1.0), strict=True):
        values, _ = passes(own, 50)
        means.append(MarginalPosterior(own.grid[None], values[None], sharp, X, y[:, None]).mean)
    np.testing.assert_allclose(means[0], means[1], atol=1e-7)


def test_one_run_serves_all_betas():
    X, y = toy(1)
    betas = [0.3, 1.0, 7.0, np.inf]
    means = machine().fit(X, y).posterior_.means(betas)
    for beta, mean in zip(betas, means, strict=True):
        clf = machine(beta=beta).fit(X, y)
        np.testing.assert_array_equal(clf.posterior_.mean, mean)
        np.testing.assert_array_equal(clf.coef_, mean.T)
    assert np.ptp(means, axis=0).min() > 0


# Schedules and messages --------------------------------------------------------------------------


def test_adaptive_grids_change_little():
    """The adapted grid of 128 bins against a fixed one of 1025."""
    X, y = toy(2, n=40)
    x = X * y[:, None]
    clf = machine(n_iter=30).fit(X, y)
    fixed = beliefs_of(x, 1.0, gamma=1 / 40, low=-20, high=20, bins=1025)
    values, _ = passes(fixed, 30)
    mean = MarginalPosterior(fixed.grid[None], values[None], 1.0, X, y[:, None]).mean
    assert cosine(clf.posterior_.mean[:, 0], mean[:, 0]) > 0.999
    np.testing.assert_allclose(clf.posterior_.mean, mean, rtol=0.1)
