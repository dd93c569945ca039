"""Maximisation by few evaluations, against maxima that are known exactly."""

import time

import numpy as np
import pytest
from scipy.stats import ortho_group

from bayespoint.tools.maximize import Layout, climb

WIDE = np.full(2, -9.0), np.full(2, 9.0)


class Hill:
    """A function that remembers where it was asked, and its values."""

    def __init__(self, function):
        self.function, self.tried, self.values = function, [], []

    def __call__(self, x):
        value, slope = self.function(x)
        self.tried.append(x.copy())
        self.values.append(value)
        return value, slope


def ridge(x):
    """A curved ridge whose top is 0, at (1, 1)."""
    bend = x[1] - x[0] ** 2
    return -5 * bend**2 - (1 - x[0]) ** 2, np.array([20 * x[0] * bend + 2 * (1 - x[0]), -10 * bend])


def steep(x):
    """A hill far away, whose gradient at 0 would lead 1e8 times too far."""
    return -float(np.cosh(x - 20.0).sum()), -np.sinh(x - 20.0)


def test_the_top_of_a_curved_ridge():
    hill = Hill(ridge)
    found = climb(hill, np.array([-2.0, 3.0]), *WIDE, slope=1e-6)
    np.testing.assert_allclose(found.x, [1, 1], atol=1e-5)
    assert found.status == 0
    assert len(hill.tried) < 40


def test_the_top_between_bounds():
    hill = Hill(ridge)
    low, high = np.full(2, -9.0), np.array([0.5, 9.0])
    found = climb(hill, np.array([-2.0, 3.0]), low, high, slope=1e-6)
    np.testing.assert_allclose(found.x, [0.5, 0.25], atol=1e-6)  # on the ridge, at the bound
    assert all((low <= x).all() and (x <= high).all() for x in hill.tried)


@pytest.mark.parametrize("seed", range(5))
def test_the_top_of_a_quadratic_function(seed):
    rng = np.random.default_rng(seed)
    axes = ortho_group.rvs(6, random_state=seed)
    curvature = axes * np.geomspace(0.1, 100, 6) @ axes.T
    top = rng.uniform(-3, 3, size=6)
    hill = Hill(lambda x: (-0.5 * (x - top) @ curvature @ (x - top), -curvature @ (x - top)))
    found = climb(hill, np.zeros(6), np.full(6, -9.0), np.full(6, 9.0), slope=1e-6)
    assert -1e-6 < max(hill.values) <= 0 < 1 < -hill.values[0]
    np.testing.assert_allclose(found.x, top, atol=5e-3)  # 1e-6 = 0.1 / 2 * 0.0045^2


def test_the_first_step_is_short():
    hill = Hill(steep)
    climb(hill, np.zeros(3), np.full(3, -99.0), np.full(3, 99.0), max_iter=1)
    start, second, *_ = hill.tried
    assert np.abs(second - start).max() == pytest.approx(1)


@pytest.mark.parametrize("max_calls", [1, 2, 7])
def test_few_evaluations_give_the_best_point_tried(max_calls):
    hill = Hill(ridge)
    found = climb(hill, np.array([-2.0, 3.0]), *WIDE, max_calls=max_calls)
    assert np.array_equal(found.x, hill.tried[np.argmax(hill.values)])
    assert max_calls <= len(hill.tried) < max_calls + 5
    assert found.status == 1  # so that a search can say that it was not done


def test_it_ends_after_a_step_that_gains_little():
    gains = {}
    for enough in (0.0, 0.3):
        hill = Hill(ridge)
        climb(hill, np.array([-2.0, 3.0]), *WIDE, enough=enough)
        best = np.maximum.accumulate(hill.values)
        gains[enough] = np.diff(np.unique(best))
    assert gains[0.3][-1] < 0.3 < gains[0.3][:-1].min()
    assert len(gains[0.3]) < len(gains[0.0])


def test_it_ends_in_time(monkeypatch):
    hill = Hill(ridge)
    monkeypatch.setattr(time, "monotonic", lambda: float(len(hill.tried)))  # a second for each
    found = climb(hill, np.array([-2.0, 3.0]), *WIDE, until=5.0)
    assert 5 < len(hill.tried) < 10
    assert np.array_equal(found.x, hill.tried[np.argmax(hill.values)])


def test_values_by_name_are_those_of_the_vector():
    layout = Layout({"a": 1.0, "b": np.ones(3), "c": [2.0]})
    x = layout.vector({"a": 5, "b": [1, 2, 3], "c": 7.0})
    assert x.tolist() == [5, 1, 2, 3, 7]
    found = layout.by_name(x)
    assert found["a"] == 5 and type(found["a"]) is float
    assert found["b"].tolist() == [1, 2, 3] and found["c"].tolist() == [7]
    assert layout.vector({"a": 0, "b": 4.0, "c": 1.0}).tolist() == [0, 4, 4, 4, 1]
    assert layout.entries["b"].tolist() == [1, 2, 3]
