"""Grids that follow beliefs: where bins go, and how values move from an old grid to a new one."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner

BEND = 2.0  # sinh spacing: bins at the centre are cosh(2) = 3.8 times as dense as at the ends
GROWTH = 0.25  # of the span, by which a side grows whose end is not yet deep enough
SLACK = 0.05  # of the span, by which a grid may be wrong before it is made anew
TIE = 1e-12  # of the depth, below which peaks are of the same height: rounding
FARTHEST = 1e6  # weights beyond this are not represented; a prior that does not fall gets here


class Interpolation(NamedTuple):
    """How values on old grids are read on new ones: between bins ``left`` and ``left + 1``."""

    moved: NDArray  # (variables,) whether a grid is new; the other fields count only there
    left: NDArray  # (variables, bins) of the new grid: bins of the old one
    share: NDArray  # (variables, bins) of the way from there to the next


def stay(shape: tuple[int, int]) -> Interpolation:
    """No grid is new."""
    return Interpolation(np.zeros(shape[0], bool), np.zeros(shape, np.int64), np.zeros(shape))


@compiled
def renew(
    grid: NDArray, belief: NDArray, depth: float, knots: NDArray, new: NDArray, how: Interpolation
) -> None:
    """Grids for beliefs that have changed: dense at the peak, down to ``depth`` below it.

    ``new`` is a copy of the old ones and ``how`` says that they stay, when it begins.
    """
    n_variables, n_bins = grid.shape
    for d in range(n_variables):
        w, b = grid[d], belief[d]
        highest = b[0]
        for k in range(n_bins):
            highest = max(highest, b[k])
        first, last = outermost(b, highest - depth)
        left_peak, right_peak = outermost(b, highest - TIE * depth)
        peak = 0.5 * (w[left_peak] + w[right_peak])  # one, or between two: as if seen in a mirror
        span = w[n_bins - 1] - w[0]
        low = w[first - 1] if first > 0 else max(w[0] - GROWTH * span, -FARTHEST)
        high = w[last + 1] if last < n_bins - 1 else min(w[n_bins - 1] + GROWTH * span, FARTHEST)
        shift = abs(peak - centre_of(w))
        if max(abs(low - w[0]), abs(high - w[n_bins - 1]), shift) <= SLACK * span:
            continue
        how.moved[d] = True
        place_bins(low, peak, high, knots, new[d])
        locate(w, new[d], how.left[d], how.share[d])


@inner
def outermost(values: NDArray, least: float) -> tuple[int, int]:
    """First and last bin with at least this value."""
    first, last = 0, len(values) - 1
    while values[first] < least:
        first += 1
    while values[last] < least:
        last -= 1
    return first, last


@inner
def centre_of(grid: NDArray) -> float:
    """Where a grid is densest."""
    densest = 1
    for k in range(2, len(grid) - 1):
        if grid[k + 1] - grid[k - 1] < grid[densest + 1] - grid[densest - 1]:
            densest = k
    return grid[densest]


@compiled
def place_bins(low: float, centre: float, high: float, knots: NDArray, grid: NDArray) -> None:
    """Fill a grid from low to high, dense about the centre, with the knots that lie inside."""
    inside = 0
    for knot in knots:
        inside += low < knot < high
    n = len(grid) - inside
    centre = min(max(centre, low), high)
    weight = min(max((centre - low) / (high - low), 0.25), 0.75)
    n_left = round(weight * (n - 1))
    n_right = n - 1 - n_left
    for k in range(1, n_left + 1):
        grid[n_left - k] = centre - (centre - low) * math.sinh(BEND * k / n_left) / math.sinh(BEND)
    grid[n_left] = centre
    for k in range(1, n_right + 1):
        grid[n_left + k] = centre + (high - centre) * math.sinh(BEND * k / n_right) / math.sinh(
            BEND
        )
    for knot in knots:
        if low < knot < high:
            k = n
            while k > 0 and grid[k - 1] > knot:
                grid[k] = grid[k - 1]
                k -= 1
            grid[k] = knot
            n += 1
    if inside:
        for k in range(1, n):  # a knot that is a bin already: the copy moves a little to the right
            if grid[k] <= grid[k - 1]:
                beyond = grid[k + 1] if k + 1 < n else high + (high - low) / n
                grid[k] = grid[k - 1] + 0.5 * (beyond - grid[k - 1])


@compiled
def locate(old: NDArray, new: NDArray, left: NDArray, share: NDArray) -> None:
    """Write the old bin left of each new one, and the share of the way to the next, within [0, 1].

    Values beyond the ends of the old grid are those at its ends: messages are flat there.
    """
    last, a = len(old) - 2, 0
    for k in range(len(new)):
        while a < last and old[a + 1] < new[k]:
            a += 1
        left[k] = a
        share[k] = min(max((new[k] - old[a]) / (old[a + 1] - old[a]), 0.0), 1.0)


@compiled
def interpolate(values: NDArray, new: Interpolation) -> None:
    """Read values (variables, bins) on their new grids, in place."""
    n_bins = np.uintp(values.shape[1])
    fresh = np.empty(values.shape[1])
    for d in range(np.uintp(len(values))):
        if new.moved[d]:
            for k in range(n_bins):
                left = np.uintp(new.left[d, k])
                here, there = values[d, left], values[d, left + np.uintp(1)]
                fresh[k] = here + new.share[d, k] * (there - here)
            for k in range(n_bins):
                values[d, k] = fresh[k]
