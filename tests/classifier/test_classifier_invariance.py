"""Seeds, and what must not change a classifier: names of labels, rotations, units, order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import special_ortho_group
from tests.helpers.clouds import blobs, machine

SEEDS = st.integers(0, 2**32 - 1)


def test_seeds():
    X, y, _ = blobs()

    def scores(random_state):
        return machine(random_state=random_state).fit(X, y).decision_function(X)

    assert np.array_equal(scores(1), scores(1))
    assert not np.array_equal(scores(1), scores(2))
    assert not np.array_equal(scores(None), scores(None))
    state, again = np.random.RandomState(1), np.random.RandomState(1)
    first, second = scores(state), scores(state)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, scores(again))
    assert np.array_equal(second, scores(again))


def random_problem(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = rng.permutation(np.arange(n) % 2)  # noise: many mistakes, and both classes
    return X, y, rng.normal(size=(10, d)), rng


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, rule=st.sampled_from(["bayes_point", "vote"]))
def test_flipping_labels_negates_decisions_exactly(seed, rule):
    X, y, new, _ = random_problem(seed)
    scores = machine(decision=rule).fit(X, y).decision_function(new)
    assert np.array_equal(machine(decision=rule).fit(X, 1 - y).decision_function(new), -scores)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_renaming_classes_permutes_columns(seed):
    """Of outputs exactly; their log-odds are learned from sums over the classes, which round."""
    X, _, new, rng = random_problem(seed)
    y, names = rng.permutation(np.arange(30) % 3), rng.permutation(3)
    plain, renamed = machine().fit(X, y), machine().fit(X, names[y])
    outputs, _ = plain.latent_mean_and_variance(new)
    assert np.array_equal(renamed.latent_mean_and_variance(new)[0][:, names], outputs)
    scores = plain.decision_function(new)
    np.testing.assert_allclose(renamed.decision_function(new)[:, names], scores, rtol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, kernel=st.sampled_from(["linear", "poly", "rbf"]))
def test_rotations_change_nothing_but_rounding(seed, kernel):
    X, y, new, rng = random_problem(seed)
    rotation = special_ortho_group.rvs(3, random_state=rng)
    scores = machine(kernel=kernel).fit(X, y).decision_function(new)
    rotated = machine(kernel=kernel).fit(X @ rotation, y).decision_function(new @ rotation)
    np.testing.assert_allclose(rotated, scores, atol=1e-9)


@pytest.mark.filterwarnings("ignore::bayespoint.exceptions.NotSeparableWarning")
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, exponent=st.integers(-60, 60), ridge=st.sampled_from([0.0, "mean"]))
def test_units_change_nothing_to_the_bit(seed, exponent, ridge):
    """Scaling all features, by a power of two since others round."""
    X, _, new, rng = random_problem(seed)
    y = (X @ rng.normal(size=3) > 0).astype(int)

    def scores(scale):
        clf = machine(kernel="linear", fit_intercept=False, ridge=ridge)
        return (
            clf.set_params(engine__max_epochs=20).fit(scale * X, y).decision_function(scale * new)
        )

    if min(y.sum(), (1 - y).sum()) > 0:
        assert np.array_equal(scores(2.0**exponent), scores(1.0))


def test_the_order_of_samples_matters_only_through_permutations():
    """Another order gives other samples of the same distribution: means agree in 5 errors."""
    X, y, new = blobs(spread=4.0, n=40)
    new = new[:20]

    def mean_and_error(X, y):
        mean, variance = machine(300, ridge=0.1).fit(X, y).latent_mean_and_variance(new)
        return mean, variance / 300

    def distance(first, second):
        return np.abs(first[0] - second[0]) / np.sqrt(first[1] + second[1])

    order = np.random.default_rng(0).permutation(len(y))
    here, there = mean_and_error(X, y), mean_and_error(X[order], y[order])
    assert 0 < distance(here, there).max() < 5
    # The control: one label changed is another distribution.
    changed = np.where(np.arange(len(y)) == 0, 1 - y, y)
    assert distance(here, mean_and_error(X, changed)).max() > 5
