"""Extrapolation of a fixed-point iteration."""

import numpy as np
import pytest

from bayespoint.engines.gaussian.groups import DEPTH, Extrapolation


@pytest.mark.parametrize("seed", range(5))
def test_linear_moves_of_few_dimensions_end_at_the_fixed_point(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(4, 4))
    matrix *= 1.5 / np.abs(np.linalg.eigvals(matrix)).max()  # plain iteration runs away
    end = rng.normal(size=4)
    x, extrapolation = rng.normal(size=4), Extrapolation()
    for _ in range(30):
        x = extrapolation.after(x, matrix @ (x - end) - (x - end), scale=1.0)
    np.testing.assert_allclose(x, end, atol=1e-6)


def test_first_move_is_taken_as_it_is():
    point, move = np.ones((2, 3)), np.full((2, 3), 0.5)
    np.testing.assert_array_equal(Extrapolation().after(point, move, 1.0), point + move)


def test_after_forgetting_the_next_move_is_the_first():
    extrapolation = Extrapolation()
    for step in (1.0, 0.7, 0.1):
        extrapolation.after(np.full(2, step), np.full(2, -step), 1.0)
    extrapolation.forget()
    np.testing.assert_array_equal(extrapolation.after(np.ones(2), np.ones(2), 1.0), [2.0, 2.0])


def test_only_the_last_moves_are_kept():
    rng = np.random.default_rng(0)
    points, moves = rng.normal(size=(2, DEPTH + 4, 9))
    long, short = Extrapolation(), Extrapolation()
    for point, move in zip(points, moves, strict=True):
        all_of_them = long.after(point, move, 1.0)
    for point, move in zip(points[-DEPTH - 1 :], moves[-DEPTH - 1 :], strict=True):
        last_ones = short.after(point, move, 1.0)
    np.testing.assert_array_equal(all_of_them, last_ones)
