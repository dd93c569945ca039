"""Maximisation by few evaluations."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bayespoint.automatic.quasi_newton import LONGEST, maximise


def banana(x):
    """A curved ridge whose top is at (1, 1)."""
    bend = x[1] - x[0] ** 2
    return -5 * bend**2 - (1 - x[0]) ** 2, np.array([20 * x[0] * bend + 2 * (1 - x[0]), -10 * bend])


def test_it_finds_the_top_of_a_curved_ridge():
    bounds = np.full(2, -9.0), np.full(2, 9.0)
    found = maximise(banana, np.array([-2.0, 3.0]), *bounds, enough=1e-9, max_calls=60)
    np.testing.assert_allclose(found, [1, 1], atol=1e-3)


def test_bounds_hold_and_the_best_point_between_them_is_found():
    low, high = np.full(2, -9.0), np.array([0.5, 9.0])
    found = maximise(banana, np.array([-2.0, 3.0]), low, high, enough=1e-9, max_calls=60)
    box = list(zip(low, high, strict=True))
    best = minimize(lambda x: -banana(x)[0], [0.0, 0.0], bounds=box).x
    np.testing.assert_allclose(found, best, atol=1e-3)


@pytest.mark.parametrize("max_calls", [1, 2, 7])
def test_steps_are_short_and_the_best_point_tried_is_returned(max_calls):
    tried, values = [], []

    def steep(x):
        tried.append(x.copy())
        values.append(-float(np.cosh(x - 20.0).sum()))
        return values[-1], -np.sinh(x - 20.0)

    bounds = np.full(3, -99.0), np.full(3, 99.0)
    found = maximise(steep, np.arange(3.0), *bounds, enough=1e-9, max_calls=max_calls)
    assert len(tried) == max_calls
    assert np.abs(np.diff(tried, axis=0)).max(initial=0) <= LONGEST + 1e-12
    assert np.array_equal(found, tried[np.argmax(values)])
