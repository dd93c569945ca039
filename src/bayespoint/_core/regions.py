"""The messages of 0-1 factors where curves are not convex: dynamic programming over regions.

A curve is the least loss for a gain of at least t: breakpoints (gain, loss), both ascending, linear
between them, constant up to the first and infinite beyond the last; a gain that comes twice is a
jump. The curve of two variables together is least over all ways to share a gain: T_K of Eq. 22 from
T_{K-1} and M_K. Where both curves are convex that is their segments by slope; so each is cut into
convex regions, and the curve of both is the lower envelope over all pairs of regions (Eq. 24).

Slow beside :mod:`bayespoint._core.knapsack`, which explains gains, losses and needs.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint._core import grids
from bayespoint._core.compiler import compiled
from bayespoint._core.grids import Interpolation
from bayespoint._core.knapsack import Graph

ROUNDING = 1e-13  # of the product of sides, below which three points lie on a line
MANY = 64  # breakpoints from which a curve is thinned: unthinned, their number can double each time
TOLERANCE = 1e-4  # of C, by which a thinned curve may be off


class Curve(NamedTuple):
    """Breakpoints: least losses for gains, both ascending."""

    gain: NDArray
    loss: NDArray


def pass_messages(graph: Graph, damping: float, new: Interpolation, total: NDArray) -> None:
    """Renew all messages in place and add them to ``total``: see the function in ``knapsack``."""
    for x, cost, copies, messages in zip(
        graph.x, graph.cost, graph.copies, graph.messages, strict=True
    ):
        grids.interpolate(messages, new)
        fresh = factor_messages(x, cost, graph.grid, graph.belief - messages)
        messages[:] = (1 - damping) * messages + damping * fresh
        total += copies * messages


def factor_messages(x: NDArray, cost: float, grid: NDArray, incoming: NDArray) -> NDArray:
    """Messages of one factor to all its variables; ``incoming`` are the M_j."""
    # Of several peaks that with the largest x w dominates the others.
    first = incoming.argmax(axis=1)
    last = grid.shape[1] - 1 - incoming[:, ::-1].argmax(axis=1)
    peaks = np.where(x > 0, last, first)
    at_peak = x * grid[np.arange(len(x)), peaks]
    need = 1 - x[:, None] * grid - (at_peak.sum() - at_peak)[:, None]  # Eq. 16
    return -least_losses(x, cost, grid, incoming, peaks, need)


@compiled
def least_losses(
    x: NDArray, cost: float, grid: NDArray, incoming: NDArray, peaks: NDArray, need: NDArray
) -> NDArray:
    """Least losses of all other variables for the needs of each, up to C."""
    losses, involved = np.zeros(grid.shape), np.flatnonzero(x)
    curves = [draw_curve(x[j], grid[j], incoming[j], peaks[j], cost) for j in involved]
    # Convex curves first: the intermediate ones stay convex as long as possible.
    order = np.argsort(np.array([count_regions(curve) for curve in curves]), kind="mergesort")
    before = [Curve(np.zeros(1), np.zeros(1)) for _ in range(len(order))]
    beyond = before.copy()
    for n in range(1, len(order)):
        before[n] = join(before[n - 1], curves[order[n - 1]], cost)
        beyond[-1 - n] = join(beyond[-n], curves[order[-n]], cost)
    for n in range(len(order)):
        i = involved[order[n]]
        losses[i] = read(join(before[n], beyond[n], cost), need[i], cost)
    return losses


@compiled
def draw_curve(x: float, grid: NDArray, incoming: NDArray, peak: int, cost: float) -> Curve:
    """The curve of one variable from the peak of its message on, up to a loss of C."""
    n_bins, step = len(grid), 1 if x > 0 else -1
    n = 1 + (n_bins - 1 - peak if x > 0 else peak)
    gain, loss = np.empty(n), np.empty(n)
    for m in range(n):
        gain[m] = abs(x) * abs(grid[peak + step * m] - grid[peak])
        loss[m] = incoming[peak] - incoming[peak + step * m]
    while n > 1 and loss[n - 2] > cost:
        n -= 1
    if loss[n - 1] > cost:  # cut the chord where the loss is C
        share = (cost - loss[n - 2]) / (loss[n - 1] - loss[n - 2])
        gain[n - 1], loss[n - 1] = gain[n - 2] + share * (gain[n - 1] - gain[n - 2]), cost
    # From the end: a point that loses more than a later one is not needed ("dominated").
    kept_gain, kept_loss = np.empty(2 * n), np.empty(2 * n)
    first = 2 * n - 1
    kept_gain[first], kept_loss[first] = gain[n - 1], loss[n - 1]
    for m in range(n - 2, -1, -1):
        least = kept_loss[first]
        if loss[m] < least:
            if loss[m + 1] > least:
                share = (least - loss[m]) / (loss[m + 1] - loss[m])
                first -= 1
                kept_gain[first] = gain[m] + share * (gain[m + 1] - gain[m])
                kept_loss[first] = least
            first -= 1
            kept_gain[first], kept_loss[first] = gain[m], loss[m]
    return Curve(kept_gain[first:].copy(), kept_loss[first:].copy())


@compiled
def end_of_region(curve: Curve, first: int) -> int:
    """Last breakpoint of the convex region that begins at ``first``."""
    gain, loss = curve
    k = first + 1
    while k + 1 < len(gain):
        rise, run = loss[k] - loss[k - 1], gain[k] - gain[k - 1]
        if rise * (gain[k + 1] - gain[k]) > (loss[k + 1] - loss[k]) * run:
            break
        k += 1
    return min(k, len(gain) - 1)


@compiled
def count_regions(curve: Curve) -> int:
    """Number of convex regions of a curve, R in the paper."""
    n, k = 1, end_of_region(curve, 0)
    while k < len(curve.gain) - 1:
        k = end_of_region(curve, k)
        n += 1
    return n


@compiled
def join(one: Curve, other: Curve, cost: float) -> Curve:
    """The curve of two together: least sum of losses for gains that sum to t, up to C."""
    if len(one.gain) == 1:
        return Curve(other.gain + one.gain[0], other.loss + one.loss[0])
    if len(other.gain) == 1:
        return Curve(one.gain + other.gain[0], one.loss + other.loss[0])
    both = Curve(np.zeros(1), np.zeros(1))
    begin = 0
    while begin < len(one.gain) - 1:
        end, other_begin = end_of_region(one, begin), 0
        while other_begin < len(other.gain) - 1:
            other_end = end_of_region(other, other_begin)
            least = one.loss[begin] + other.loss[other_begin]
            farthest = one.gain[end] + other.gain[other_end]
            if least < cost and read_one(both, farthest, cost) > least:
                region, other_region = part(one, begin, end), part(other, other_begin, other_end)
                both = lower(both, join_convex(region, other_region, cost))
            other_begin = other_end
        begin = end
    if len(both.gain) > MANY:
        return thin(both, TOLERANCE * cost)
    return both


@compiled
def part(curve: Curve, first: int, last: int) -> Curve:
    """A curve from one breakpoint to another."""
    return Curve(curve.gain[first : last + 1], curve.loss[first : last + 1])


@compiled
def thin(curve: Curve, tolerance: float) -> Curve:
    """A curve with fewer of the breakpoints, nowhere off by more than the tolerance."""
    gain, loss = curve
    kept_gain, kept_loss = np.empty(len(gain)), np.empty(len(gain))
    kept_gain[0], kept_loss[0] = gain[0], loss[0]
    n, last = 1, 0
    low, high = -np.inf, np.inf  # slopes of chords from the last one that pass all points since
    for k in range(1, len(gain)):
        run = gain[k] - gain[last]
        inside = low * run <= loss[k] - loss[last] <= high * run
        fits = run > 0 and gain[k] > gain[k - 1] and inside
        if not fits and k - 1 > last:
            last = k - 1
            kept_gain[n], kept_loss[n] = gain[last], loss[last]
            n += 1
            low, high, run = -np.inf, np.inf, gain[k] - gain[last]
        if run > 0:
            low = max(low, (loss[k] - loss[last] - tolerance) / run)
            high = min(high, (loss[k] - loss[last] + tolerance) / run)
        else:  # a jump is kept, both ends of it
            last = k
            kept_gain[n], kept_loss[n] = gain[k], loss[k]
            n += 1
            low, high = -np.inf, np.inf
    if last < len(gain) - 1:
        kept_gain[n], kept_loss[n] = gain[-1], loss[-1]
        n += 1
    return Curve(kept_gain[:n].copy(), kept_loss[:n].copy())


@compiled
def join_convex(one: Curve, other: Curve, cost: float) -> Curve:
    """The curve of two convex curves together: their segments in the order of their slopes."""
    n_one, n_other = len(one.gain), len(other.gain)
    gain, loss = np.empty(n_one + n_other - 1), np.empty(n_one + n_other - 1)
    gain[0], loss[0] = one.gain[0] + other.gain[0], one.loss[0] + other.loss[0]
    a, b, n = 1, 1, 1
    while a < n_one or b < n_other:
        rise = run = other_rise = other_run = 0.0
        if a < n_one:
            rise, run = one.loss[a] - one.loss[a - 1], one.gain[a] - one.gain[a - 1]
        if b < n_other:
            other_rise = other.loss[b] - other.loss[b - 1]
            other_run = other.gain[b] - other.gain[b - 1]
        if b == n_other or (a < n_one and rise * other_run <= other_rise * run):
            a += 1
        else:
            rise, run = other_rise, other_run
            b += 1
        if loss[n - 1] + rise > cost:
            gain[n], loss[n] = gain[n - 1] + (cost - loss[n - 1]) / rise * run, cost
            return Curve(gain[: n + 1], loss[: n + 1])
        gain[n], loss[n] = gain[n - 1] + run, loss[n - 1] + rise
        n += 1
    return Curve(gain, loss)


@compiled
def read_one(curve: Curve, t: float, cost: float) -> float:
    """A curve at a gain t, at most C."""
    gain, loss = curve
    if not (t <= gain[-1]):  # beyond the last, or NaN
        return cost
    k = np.searchsorted(gain, t)  # the first breakpoint from t on
    if k == 0:
        return min(loss[0], cost)
    share = (t - gain[k - 1]) / (gain[k] - gain[k - 1])
    return min(loss[k - 1] + share * (loss[k] - loss[k - 1]), cost)


@compiled
def read(curve: Curve, t: NDArray, cost: float) -> NDArray:
    """A curve at many gains."""
    values = np.empty(len(t))
    for k in range(len(t)):
        values[k] = read_one(curve, t[k], cost)
    return values


@compiled
def lower(one: Curve, other: Curve) -> Curve:
    """The lesser of two curves everywhere."""
    n_one, n_other = len(one.gain), len(other.gain)
    gain, loss = np.empty(2 * (n_one + n_other) + 4), np.empty(2 * (n_one + n_other) + 4)
    both = Curve(gain, loss)
    a, b, n, t = 0, 0, 0, min(one.gain[0], other.gain[0], 0.0)
    while a < n_one or b < n_other:
        # Both are linear from t to the next breakpoint of either.
        end = min(one.gain[a] if a < n_one else np.inf, other.gain[b] if b < n_other else np.inf)
        here, there = piece(one, a, t), piece(one, a, end)
        other_here, other_there = piece(other, b, t), piece(other, b, end)
        n = add(both, n, t, min(here, other_here))
        if (here - other_here) * (there - other_there) < 0 and np.isfinite(here - other_here):
            share = (here - other_here) / ((here - other_here) - (there - other_there))
            n = add(both, n, t + share * (end - t), here + share * (there - here))
        n = add(both, n, end, min(there, other_there))
        if a < n_one and one.gain[a] == end:
            a += 1
        if b < n_other and other.gain[b] == end:
            b += 1
        t = end
    return Curve(gain[:n].copy(), loss[:n].copy())


@compiled
def piece(curve: Curve, k: int, t: float) -> float:
    """A curve at t, from the piece that ends at breakpoint k."""
    gain, loss = curve
    if k == len(gain):
        return np.inf
    if k == 0:
        return loss[0]
    if gain[k] == gain[k - 1]:
        return loss[k]
    return loss[k - 1] + (t - gain[k - 1]) / (gain[k] - gain[k - 1]) * (loss[k] - loss[k - 1])


@compiled
def add(curve: Curve, n: int, t: float, value: float) -> int:
    """Add a breakpoint to the n that there are; one that it makes superfluous goes."""
    gain, loss = curve
    if n > 0 and gain[n - 1] == t and loss[n - 1] == value:
        return n
    if n > 1:
        run, rise = gain[n - 1] - gain[n - 2], loss[n - 1] - loss[n - 2]
        new_run, new_rise = t - gain[n - 2], value - loss[n - 2]
        size = run * abs(new_rise) + abs(rise) * new_run
        if abs(run * new_rise - rise * new_run) <= ROUNDING * size:
            n -= 1
    gain[n], loss[n] = t, value
    return n + 1
