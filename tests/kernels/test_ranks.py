"""Ranks of features: ties, knots, new values, stored attributes."""

import numpy as np
import pytest
from scipy.stats import rankdata

from bayespoint.kernels.axes import MOST_KNOTS, Ranks


def test_ranks_of_few_values_are_exact_and_copies_do_not_matter():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(50, 3)).astype(float)
    X[:, 2] = 4.0  # constant
    expected = rankdata(X, axis=0, method="dense") - 0.5
    expected /= [len(np.unique(column)) for column in X.T]
    np.testing.assert_allclose(Ranks.of(X).transform(X), expected, atol=1e-12)


def test_two_levels_are_half_apart_whatever_their_frequency():
    X = (np.arange(100) % 50 == 0).astype(float)[:, None]
    low, high = Ranks.of(X).transform(np.array([[0.0], [1.0]]))[:, 0]
    assert high - low == pytest.approx(0.5)


def test_many_values_are_interpolated_between_knots():
    X = np.random.default_rng(0).lognormal(size=(1000, 2))
    ranks = Ranks.of(X)
    found, exact = ranks.transform(X), (rankdata(X, axis=0) - 0.5) / 1000
    assert np.abs(found - exact).max() < 1 / MOST_KNOTS
    assert (np.diff(found[np.argsort(X[:, 0]), 0]) >= 0).all()
    far = ranks.transform(np.array([[-1e9, -1e300], [1e9, 1e300]]))
    np.testing.assert_allclose(far, [[0.0005] * 2, [0.9995] * 2])


def test_attributes_that_are_not_those_of_ranks_are_refused():
    good = vars(Ranks.of(np.random.default_rng(0).normal(size=(9, 2))))
    Ranks(**good).check_state()
    for wrong in ({"width": -good["width"]}, {"knots": good["knots"][::-1]}, {"low": np.zeros(3)}):
        with pytest.raises((ValueError, AssertionError)):
            Ranks(**good | wrong).check_state()


def test_a_constant_feature_stays_constant_whatever_its_neighbours_are():
    X = np.column_stack([np.zeros(4), np.arange(4.0), np.ones(4), np.ones(4), np.zeros(4)])
    ranks = Ranks.of(X)
    moved = X + np.array([1.0, 0.0, -3.0, 5.0, 0.5])
    np.testing.assert_array_equal(ranks.transform(moved), ranks.transform(X))
    assert ranks.transform(X)[:, [0, 2, 3, 4]].tolist() == 4 * [4 * [0.5]]
