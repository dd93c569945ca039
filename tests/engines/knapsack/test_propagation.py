"""Knapsack propagation as an engine: symmetries, weights, priors, kernels, bad input."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from tests.helpers.knapsack import machine, toy
from tests.helpers.probit import problem

from bayespoint import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation

SCHEDULES = pytest.mark.parametrize("schedule", ["averaged", "heskes", "plain"])


def assert_same(one, other, atol=1e-8):
    np.testing.assert_allclose(one.posterior_.mean, other.posterior_.mean, atol=atol)
    np.testing.assert_allclose(one.posterior_.variance, other.posterior_.variance, atol=atol)


# Weights and symmetries --------------------------------------------------------------------------


@SCHEDULES
def test_weights_are_copies(schedule):
    X, y = problem(40, 3)
    weight = np.random.default_rng(1).integers(1, 5, 40)
    copies = np.repeat(np.arange(40), weight)
    clf = machine(schedule=schedule, n_iter=20)
    weighted = clf.fit(X, y, sample_weight=weight).posterior_
    copied = machine(schedule=schedule, n_iter=20).fit(X[copies], y[copies]).posterior_
    np.testing.assert_allclose(weighted.mean, copied.mean, atol=1e-9)
    np.testing.assert_allclose(weighted.log_marginals, copied.log_marginals, atol=1e-8)
    np.testing.assert_allclose(weighted.scale, copied.scale, rtol=1e-6)


@SCHEDULES
def test_a_weight_below_one_is_a_smaller_cost(schedule):
    X, y = problem(40, 3)
    light = machine(schedule=schedule).fit(X, y, sample_weight=np.full(40, 0.25))
    cheap = machine(schedule=schedule, C=0.25).fit(X, y)
    np.testing.assert_array_equal(light.posterior_.mean, cheap.posterior_.mean)
    # Continuous where copies begin.
    means = [
        machine(schedule=schedule, n_iter=5).fit(X, y, sample_weight=np.full(40, w)).posterior_.mean
        for w in (1 - 1e-9, 1, 1 + 1e-9)
    ]
    np.testing.assert_allclose(means[0], means[1], atol=1e-6)
    np.testing.assert_allclose(means[2], means[1], atol=1e-6)


@settings(max_examples=15, deadline=None)
@example(seed=127, n=3, d=1)  # two peaks of the same height
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 50), d=st.integers(1, 5))
def test_symmetries(seed, n, d):
    """With an odd number of bins; an even one has one more on one side of the peak."""
    X, y = problem(n, d, seed=seed)
    rng = np.random.default_rng(seed)
    fitted = machine(bins=65, n_iter=6).fit(X, y)

    def refitted(X, y):
        return machine(bins=65, n_iter=6).fit(X, y)

    np.testing.assert_allclose(refitted(X, -y).coef_, -fitted.coef_, atol=1e-8)
    order = rng.permutation(n)
    assert_same(refitted(X[order], y[order]), fitted)
    columns = rng.permutation(d)
    np.testing.assert_allclose(
        refitted(X[:, columns], y).coef_, fitted.coef_[:, columns], atol=1e-8
    )
    signs = rng.choice([-1, 1], d)
    np.testing.assert_allclose(refitted(X * signs, y).coef_, fitted.coef_ * signs, atol=1e-8)


def test_features_of_zeros_keep_their_prior():
    X, y = problem(30, 2)
    clf = machine(bins=129).fit(np.column_stack([X, np.zeros(30)]), y)
    w, share = clf.posterior_.grids[0, 2], 1 - (1 - 1 / 30) ** 51  # of the prior, after 50 passes
    np.testing.assert_allclose(clf.posterior_.log_marginals[0, 2], -0.5 * share * w**2, atol=1e-9)
    np.testing.assert_allclose(clf.coef_[0, :2], machine(bins=129).fit(X, y).coef_[0], atol=1e-9)
    assert abs(clf.coef_[0, 2]) < 1e-12


@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e6, 1e70])
def test_features_in_strange_units_give_numbers(unit):
    X, y = problem(40, 3)
    clf = machine().fit(unit * X, y)
    assert np.isfinite(clf.posterior_.mean).all()
    assert np.isfinite(clf.predict_proba(unit * X)).all()
    mixed = X * [unit, 1, 1]
    assert np.isfinite(machine().fit(mixed, y).decision_function(mixed)).all()


def test_features_that_would_overflow_are_refused():
    X, y = problem(20, 2)
    with pytest.raises(ValueError, match=r"squares overflow. Scale the features"):
        machine().fit(1e200 * X, y)


def test_large_features_are_borne():
    """The Bayes point, not the mode: bins are too coarse for the little that is left of it."""
    X, y = problem(60, 3)
    scores = [machine().fit(u * X, y).score(u * X, y) for u in (1, 1e3, 1e6)]
    assert min(scores) > scores[0] - 0.05


# Priors ------------------------------------------------------------------------------------------


def sparse_problem(seed, n=120, relevant=3, irrelevant=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, relevant + irrelevant))
    y = np.where(2 * X[:, :relevant].sum(axis=1) + rng.normal(size=n) > 0, 1, -1)
    return X, y


def test_sparse_priors_find_the_features_that_matter_as_lasso_does():
    """Like LASSO's, the zeros are those of the mode; a mean is never zero."""
    weights = {"l2": [], "l1": [], "l0": [], "lasso": []}
    is_old = LogisticRegression().penalty == "l2"  # scikit-learn 1.7
    l1 = {"penalty": "l1"} if is_old else {"l1_ratio": 1}
    for seed in range(6):
        X, y = sparse_problem(seed)
        for prior in ("l2", "l1", "l0"):
            clf = machine(prior=prior, beta=np.inf).fit(X, y)
            weights[prior].append(clf.coef_[0])
        lasso = LogisticRegression(**l1, C=0.1, solver="liblinear", fit_intercept=False)
        weights["lasso"].append(lasso.fit(X, y).coef_[0])
    zeros = {name: np.mean([w[3:] == 0 for w in own]) for name, own in weights.items()}
    assert zeros["lasso"] > 0.5
    assert zeros["l1"] > 0.5
    assert zeros["l0"] > 0.9
    assert zeros["l2"] < 0.3  # a bin at 0, where the grid began, is kept at times
    for name in ("l1", "l0", "lasso"):
        assert np.mean([w[:3] > 0.2 for w in weights[name]]) > 0.8
        irrelevant, relevant = (
            np.mean([np.abs(w[part]) for w in weights[name]]) for part in (slice(3, None), slice(3))
        )
        assert irrelevant < 0.12 * relevant


def test_a_callable_is_a_prior():
    X, y = problem(40, 3)
    own = machine(prior=lambda w: -0.5 * w**2, bins=129).fit(X, y)
    named = machine(bins=129).fit(X, y)
    np.testing.assert_allclose(own.coef_, named.coef_, rtol=0.05)
    laplace = machine(prior=lambda w: -np.abs(w)).fit(X, y)
    np.testing.assert_array_equal(laplace.coef_, machine(prior="l1").fit(X, y).coef_)


def test_impossible_weights_stay_impossible():
    X, y = toy(0)
    flipped = X * [1, -1]
    clf = machine(prior=lambda w: np.where(w < 0, -np.inf, -0.5 * w**2)).fit(flipped, y)
    grids, values = clf.posterior_.grids[0], clf.posterior_.log_marginals[0]
    assert (values[grids < 0] < -20).all()
    assert clf.coef_[0, 0] > 0.5
    assert 0 <= clf.coef_[0, 1] < 0.3  # its best value would be negative
    assert clf.score(flipped, y) > 0.75


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (lambda w: np.full(w.shape, np.nan), "must return finite log densities.*returned nan"),
        (lambda w: np.where(w > 1, np.inf, -(w**2)), "must return finite log densities.*inf"),
        (lambda w: 0.0, r"one log density for each weight.*returned the shape \(\)"),
        (lambda w: w[:, :-1], "one log density for each weight"),
        (lambda w: np.zeros(w.shape), "must fall for large weights"),
        (lambda w: np.full(w.shape, -np.inf), "It is -inf at all of them"),
        (lambda w: np.where(w < 7, -np.inf, -w), "where the search begins"),
    ],
)
def test_bad_priors(prior, message):
    X, y = problem(20, 2)
    with pytest.raises(ValueError, match=message):
        machine(prior=prior).fit(X, y)


# Kernels and classes -----------------------------------------------------------------------------


def test_kernels_work_in_coordinates_of_the_basis():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (np.square(X).sum(axis=1) > 1.4).astype(int)
    engine = KnapsackPropagation(C=3.0, bins=65, n_iter=20)
    clf = BayesPointClassifier(temperature=1.0, kernel="rbf", gamma=0.5, engine=engine).fit(X, y)
    assert clf.score(X, y) > 0.85
    linear = BayesPointClassifier(kernel="linear", temperature=1.0, engine=engine).fit(X, y)
    assert linear.score(X, y) < 0.75
    given = BayesPointClassifier(temperature=1.0, kernel="precomputed", engine=engine)
    given.fit(rbf_kernel(X, gamma=0.5), y)
    np.testing.assert_allclose(
        given.decision_function(rbf_kernel(X[:9], X, gamma=0.5)),
        clf.decision_function(X[:9]),
        atol=1e-5,
    )


def test_a_kernels_posterior_is_that_of_its_features():
    """Eq. 8 in coordinates: the log posterior of alpha is that of w = Z^T-coordinates."""
    X, y = problem(12, 3)
    rng = np.random.default_rng(0)
    K = rbf_kernel(X)
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(values)
    alpha = rng.normal(size=12)
    w = Z.T @ (alpha * y)
    np.testing.assert_allclose(w @ w, (alpha * y) @ K @ (alpha * y))
    np.testing.assert_allclose(Z @ w, K @ (alpha * y))


def test_more_weights_than_max_rank():
    X, y = problem(40, 3)
    with pytest.raises(ValueError, match=r"here are 40, more than max_rank=39. Take fewer"):
        BayesPointClassifier(kernel="rbf", gamma=5, engine=KnapsackPropagation(max_rank=39)).fit(
            X, y
        )
    with pytest.raises(ValueError, match="more than max_rank=500"):
        machine().fit(np.random.default_rng(0).normal(size=(10, 501)), np.arange(10) % 2)


# The run -----------------------------------------------------------------------------------------


def test_same_result_with_single_precision_data_and_again():
    X, y = problem(30, 3)
    one = machine().fit(X.astype(np.float32), y)
    other = machine().fit(X.astype(np.float32).astype(np.float64), y)
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("bins", [8, 9, 128])
def test_smallest_problems(n, bins):
    for prior in ("l2", "l1", "l0"):
        clf = BayesPointClassifier(engine=KnapsackPropagation(bins=bins, prior=prior))
        X = np.arange(n, dtype=float)[:, None] - 0.5
        assert np.isfinite(clf.fit(X, np.arange(n) > 0).predict_proba(X)).all()
