"""Messages of knapsack propagation against linear programmes, search and slow versions."""

import numpy as np
import pytest
from tests.helpers.knapsack import (
    by_linear_programme,
    by_search,
    concave_factor,
    envelope_messages,
    wild_factor,
)

from bayespoint import _core

# One factor --------------------------------------------------------------------------------------


@pytest.mark.parametrize("D", [2, 3, 5, 8])
def test_concave_messages_are_linear_programmes(D):
    rng = np.random.default_rng(D)
    between = 0
    for _ in range(4):
        C = rng.uniform(0.3, 3)
        x, grid, incoming = concave_factor(rng, D, 13)
        found = envelope_messages(x, C, grid, incoming)
        for i in rng.permutation(D)[:2]:
            for k in range(13):
                expected = by_linear_programme(x, C, grid, incoming, i, grid[i, k])
                assert found[i, k] == pytest.approx(expected, abs=1e-10)
                between += -C < expected < 0
    assert between > 10  # not all of it is saturated


def test_messages_of_wild_factors_are_linear_programmes_too():
    """Divisible items are the concave envelope (with a C that cuts nothing off)."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        x, grid, incoming = wild_factor(rng, 4, 12)
        found = envelope_messages(x, 1000.0, grid, incoming)
        for k in range(12):
            expected = by_linear_programme(x, 1000.0, grid, incoming, 0, grid[0, k])
            assert found[0, k] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("make", [concave_factor, wild_factor])
@pytest.mark.parametrize("D", [2, 8, 30, 61])
def test_items_that_are_not_merged_are_not_used(make, D):
    rng = np.random.default_rng(D)
    for _ in range(20):
        x, grid, incoming = make(rng, D, 128)
        pruned = envelope_messages(x, 1.0, grid, incoming)
        complete = envelope_messages(x, 1.0, grid, incoming, prune=False)
        np.testing.assert_array_equal(pruned, complete)


def walk(x, C, grid, incoming):
    """The algorithm in plain words: hulls, one sorted list, a walk for each message."""
    D, bins = grid.shape
    segments, peak = [], np.zeros(D)
    for j in range(D):
        gain = x[j] * grid[j]
        order = np.argsort(gain)
        gain, value = gain[order], incoming[j][order]
        top = bins - 1 - np.argmax(value[::-1])
        peak[j] = gain[top]
        gain, loss = gain[top:], value[top] - value[top:]
        for k in range(len(gain) - 1):  # where a chord passes C it has a point
            if (loss[k] < C) != (loss[k + 1] < C):
                part = (C - loss[k]) / (loss[k + 1] - loss[k])
                gain = np.append(gain, gain[k] + part * (gain[k + 1] - gain[k]))
                loss = np.append(loss, C)
        gain, loss = gain[loss <= C], loss[loss <= C]
        k = 0
        while gain[k] < gain.max():
            ahead = np.flatnonzero(gain > gain[k])
            slopes = (loss[ahead] - loss[k]) / (gain[ahead] - gain[k])
            new = ahead[np.argmin(slopes)]
            segments.append((slopes.min(), gain[new] - gain[k], j))
            k = new
    segments.sort()
    messages = np.zeros((D, bins))
    for i in range(D):
        for k in range(bins):
            need, loss = 1 - x[i] * grid[i, k] - (peak.sum() - peak[i]), 0.0
            for slope, length, owner in segments:
                if owner != i and need > 0:
                    loss += slope * min(need, length)
                    need -= length
            messages[i, k] = -min(loss, C) if need <= 0 else -C
    return messages


@pytest.mark.parametrize("make", [concave_factor, wild_factor])
@pytest.mark.parametrize("D", [1, 2, 9])
def test_fast_messages_are_the_slow_ones(make, D):
    rng = np.random.default_rng(D)
    for _ in range(5):
        C = rng.uniform(0.1, 5)
        x, grid, incoming = make(rng, D, 40)
        found = envelope_messages(x, C, grid, incoming)
        np.testing.assert_allclose(found, walk(x, C, grid, incoming), atol=1e-12)
        assert found.min() >= -C
        assert found.max() <= 0


def test_messages_rise_with_the_margin_and_vanish_without_a_feature():
    rng = np.random.default_rng(0)
    x, grid, incoming = concave_factor(rng, 5, 64)
    x[2] = 0
    found = envelope_messages(x, 1.0, grid, incoming)
    assert (np.diff(found, axis=1) * np.sign(x)[:, None] >= 0).all()
    assert not found[2].any()
    assert found.min() == -1


def test_equal_peaks_start_where_the_margin_is_larger():
    """A flat top costs nothing, so that its far end is where the walk begins."""
    grid = np.tile(np.linspace(-2, 2, 41), (2, 1))
    incoming = -np.maximum(np.abs(grid) - 1, 0)
    found = envelope_messages(np.array([1.0, -1.0]), 3.0, grid, incoming)
    for i, need in enumerate((-grid[0], grid[1])):
        expected = np.where(need > 1.001, -3, -np.clip(need, 0, 1))  # the grid ends: infeasible
        np.testing.assert_allclose(found[i], expected, atol=1e-14)


# Messages that are not concave -------------------------------------------------------------------


def test_the_envelope_is_never_below_a_search():
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(12):
        C = rng.uniform(0.3, 3)
        x, grid, incoming = wild_factor(rng, 3, 24)
        searched = by_search(x, C, grid, incoming)
        envelope = envelope_messages(x, C, grid, incoming)
        assert (envelope >= searched - 1e-12).all()
        gaps.append((envelope - searched).max() / C)
    assert max(gaps) > 0.1  # the two do differ


# Grids -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("knots", [[], [0.0], [-0.05, 0.0, 0.05], [0.31], [7.0]])
def test_bins_are_in_order_and_hold_the_knots(knots):
    rng = np.random.default_rng(0)
    for _ in range(50):
        low, centre, high = np.sort(rng.uniform(-2, 2, 3))
        grid = np.empty(32)
        _core.grids.place_bins(low, centre, high, np.array(knots, dtype=float), grid)
        assert (np.diff(grid) > 0).all()
        assert (grid[0], grid[-1]) == (pytest.approx(low), pytest.approx(high))
        assert all(knot in grid for knot in knots if low < knot < high)
        assert np.abs(grid - centre).min() < 1e-12


def test_a_knot_that_is_a_bin_already():
    grid = np.empty(16)
    _core.grids.place_bins(-1.0, 0.0, 1.0, np.array([0.0]), grid)
    assert (np.diff(grid) > 0).all()
    assert 0.0 in grid


def test_values_move_by_interpolation_and_stay_flat_outside():
    old, new = np.linspace(0, 1, 11)[None], np.linspace(-0.5, 2, 33)[None]
    move = _core.grids.stay(new.shape)
    move.moved[0] = True
    _core.grids.locate(old[0], new[0], move.left[0], move.share[0])
    values = np.pad(np.sin(3 * old), ((0, 0), (0, 22)))
    expected = np.interp(new, old[0], np.sin(3 * old[0]))
    _core.grids.interpolate(values, move)
    np.testing.assert_allclose(values, expected, atol=1e-14)


def test_grids_follow_beliefs_to_their_depth():
    grid = np.tile(np.linspace(-5, 5, 64), (3, 1))
    centre, width = np.array([[1.5], [-3.0], [0.0]]), np.array([[0.1], [30.0], [1.0]])
    for _ in range(60):
        belief = -0.5 * ((grid - centre) / width) ** 2
        old, grid, new = grid, grid.copy(), _core.grids.stay(grid.shape)
        _core.grids.renew(old, belief, 20.0, np.zeros(0), grid, new)
        assert (np.diff(grid, axis=1) > 0).all()
    assert not new.moved.any()
    reach = np.sqrt(40) * width
    for d in range(3):
        assert grid[d, 0] < centre[d] - 0.9 * reach[d]
        assert grid[d, -1] > centre[d] + 0.9 * reach[d]
        assert grid[d, -1] - grid[d, 0] < 3.2 * reach[d]
