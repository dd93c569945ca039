"""The messages of 0-1 factors where curves are not convex: dynamic programming over regions.

A curve is the least loss for a gain of at least t: breakpoints (gain, loss), both ascending, linear
between them, constant up to the first and infinite beyond the last; a gain that comes twice is a
jump. The curve of two variables together is least over all ways to share a gain. Where both curves
are convex that is their segments by slope; so each is cut into convex regions, and the curve of
both is the lower envelope over all pairs of regions (section 4 of the paper).

Slow beside :mod:`bayespoint._core.knapsack`, whose names are used here; only loops over breakpoints
are compiled.
"""

import numpy as np
from numpy.typing import NDArray

from bayespoint._core import grids
from bayespoint._core.compiler import compiled

ROUNDING = 1e-13  # of the product of sides, below which three points lie on a line
MANY = 64  # breakpoints from which a curve is thinned: unthinned, their number can double each time
TOLERANCE = 1e-4  # of C, by which a thinned curve may be off


def one_pass(
    x: NDArray,
    cost: NDArray,
    copies: NDArray,
    grid: NDArray,
    belief: NDArray,
    messages: NDArray,
    damping: float,
    moved: NDArray,
    left: NDArray,
    share: NDArray,
) -> NDArray:
    """Renew all messages in place and return their sum: see the function in ``knapsack``."""
    total = np.zeros(grid.shape)
    for f, point in enumerate(x):
        grids.move(messages[f], moved, left, share)
        fresh = factor_messages(point, cost[f], grid, belief - messages[f])
        messages[f] = (1 - damping) * messages[f] + damping * fresh
        total += copies[f] * messages[f]
    return total


def factor_messages(x: NDArray, cost: float, grid: NDArray, incoming: NDArray) -> NDArray:
    """Messages of one factor to all its variables."""
    involved = np.flatnonzero(x)
    messages = np.zeros(grid.shape)
    if not len(involved):
        return messages
    curves, peaks = {}, np.zeros(len(x))
    for j in involved:
        peaks[j], *curves[j] = curve(x[j], grid[j], incoming[j], cost)
    # Convex curves first: the intermediate ones stay convex as long as possible.
    order = sorted(involved, key=lambda j: count_regions(*curves[j]))
    nothing = (np.zeros(1), np.zeros(1))
    before, beyond = [nothing], [nothing]
    for j in order[:-1]:
        before.append(join(*before[-1], *curves[j], cost))
    for j in order[:0:-1]:
        beyond.append(join(*beyond[-1], *curves[j], cost))
    for i, ahead, behind in zip(order, before, beyond[::-1], strict=True):
        others = join(*ahead, *behind, cost)
        need = 1 - x[i] * grid[i] - (peaks.sum() - peaks[i])  # Eq. 16
        messages[i] = -read(*others, need, cost)
    return messages


@compiled
def curve(
    x: float, grid: NDArray, incoming: NDArray, cost: float
) -> tuple[float, NDArray, NDArray]:
    """Find x w at the peak of a message, and the curve from there on, up to a loss of C."""
    n_bins, step = len(grid), 1 if x > 0 else -1
    k = n_bins - 1 if x > 0 else 0
    peak = k
    for _ in range(n_bins):
        if incoming[k] > incoming[peak]:
            peak = k
        k -= step
    n = 1 + (n_bins - 1 - peak if x > 0 else peak)
    gain, loss = np.empty(n), np.empty(n)
    for m in range(n):
        gain[m] = abs(x) * abs(grid[peak + step * m] - grid[peak])
        loss[m] = incoming[peak] - incoming[peak + step * m]
    while n > 1 and loss[n - 2] > cost:
        n -= 1
    if loss[n - 1] > cost:  # the point of the chord where the loss is C
        part = (cost - loss[n - 2]) / (loss[n - 1] - loss[n - 2])
        gain[n - 1], loss[n - 1] = gain[n - 2] + part * (gain[n - 1] - gain[n - 2]), cost
    # From the end: a point that loses more than a later one is not needed ("dominated").
    s, d = np.empty(2 * n), np.empty(2 * n)
    place = 2 * n - 1
    s[place], d[place] = gain[n - 1], loss[n - 1]
    for m in range(n - 2, -1, -1):
        if loss[m] < d[place]:
            least = d[place]
            if loss[m + 1] > least:
                part = (least - loss[m]) / (loss[m + 1] - loss[m])
                place -= 1
                s[place], d[place] = gain[m] + part * (gain[m + 1] - gain[m]), least
            place -= 1
            s[place], d[place] = gain[m], loss[m]
    return x * grid[peak], s[place:].copy(), d[place:].copy()


@compiled
def next_region(s: NDArray, d: NDArray, first: int) -> int:
    """Last breakpoint of the convex region that begins at ``first``."""
    k = first + 1
    while k + 1 < len(s):
        rise, run = d[k] - d[k - 1], s[k] - s[k - 1]
        if rise * (s[k + 1] - s[k]) > (d[k + 1] - d[k]) * run:
            break
        k += 1
    return min(k, len(s) - 1)


@compiled
def count_regions(s: NDArray, d: NDArray) -> int:
    """Number of convex regions of a curve."""
    n, k = 1, next_region(s, d, 0)
    while k < len(s) - 1:
        k = next_region(s, d, k)
        n += 1
    return n


@compiled
def join(
    s1: NDArray, d1: NDArray, s2: NDArray, d2: NDArray, cost: float
) -> tuple[NDArray, NDArray]:
    """The curve of two together: least loss d1(t1) + d2(t2) for t1 + t2 >= t, up to C."""
    if len(s1) == 1:
        return s2 + s1[0], d2 + d1[0]
    if len(s2) == 1:
        return s1 + s2[0], d1 + d2[0]
    all_s, all_d = np.zeros(1), np.zeros(1)
    begin1 = 0
    while begin1 < len(s1) - 1:
        end1, begin2 = next_region(s1, d1, begin1), 0
        while begin2 < len(s2) - 1:
            end2 = next_region(s2, d2, begin2)
            start = d1[begin1] + d2[begin2]
            farthest = s1[end1] + s2[end2]
            if start < cost and read_one(all_s, all_d, farthest, cost) > start:
                s, d = by_slope(
                    s1[begin1 : end1 + 1], d1[begin1 : end1 + 1],
                    s2[begin2 : end2 + 1], d2[begin2 : end2 + 1], cost,
                )  # fmt: skip
                all_s, all_d = lower(all_s, all_d, s, d)
            begin2 = end2
        begin1 = end1
    if len(all_s) > MANY:
        return thin(all_s, all_d, TOLERANCE * cost)
    return all_s, all_d


@compiled
def thin(s: NDArray, d: NDArray, tolerance: float) -> tuple[NDArray, NDArray]:
    """A curve with fewer of the breakpoints, nowhere off by more than the tolerance."""
    kept_s, kept_d = np.empty(len(s)), np.empty(len(s))
    kept_s[0], kept_d[0] = s[0], d[0]
    n, last = 1, 0
    low, high = -np.inf, np.inf  # slopes of chords from the last one that pass all points since
    for k in range(1, len(s)):
        run = s[k] - s[last]
        fits = run > 0 and s[k] > s[k - 1] and low * run <= d[k] - d[last] <= high * run
        if not fits and k - 1 > last:
            last = k - 1
            kept_s[n], kept_d[n] = s[last], d[last]
            n += 1
            low, high, run = -np.inf, np.inf, s[k] - s[last]
        if run > 0:
            low = max(low, (d[k] - d[last] - tolerance) / run)
            high = min(high, (d[k] - d[last] + tolerance) / run)
        else:  # a jump is kept, both ends of it
            last = k
            kept_s[n], kept_d[n] = s[k], d[k]
            n += 1
            low, high = -np.inf, np.inf
    if last < len(s) - 1:
        kept_s[n], kept_d[n] = s[-1], d[-1]
        n += 1
    return kept_s[:n].copy(), kept_d[:n].copy()


@compiled
def by_slope(
    s1: NDArray, d1: NDArray, s2: NDArray, d2: NDArray, cost: float
) -> tuple[NDArray, NDArray]:
    """The curve of two convex curves together: their segments in the order of their slopes."""
    s, d = np.empty(len(s1) + len(s2) - 1), np.empty(len(s1) + len(s2) - 1)
    s[0], d[0] = s1[0] + s2[0], d1[0] + d2[0]
    a, b, n = 1, 1, 1
    while a < len(s1) or b < len(s2):
        first = b == len(s2)
        if not first and a < len(s1):
            rise1, run1 = d1[a] - d1[a - 1], s1[a] - s1[a - 1]
            rise2, run2 = d2[b] - d2[b - 1], s2[b] - s2[b - 1]
            first = rise1 * run2 <= rise2 * run1
        if first:
            rise, run = d1[a] - d1[a - 1], s1[a] - s1[a - 1]
            a += 1
        else:
            rise, run = d2[b] - d2[b - 1], s2[b] - s2[b - 1]
            b += 1
        if d[n - 1] + rise > cost:
            s[n], d[n] = s[n - 1] + (cost - d[n - 1]) / rise * run, cost
            return s[: n + 1], d[: n + 1]
        s[n], d[n] = s[n - 1] + run, d[n - 1] + rise
        n += 1
    return s, d


@compiled
def read_one(s: NDArray, d: NDArray, t: float, cost: float) -> float:
    """A curve at a gain t, at most C."""
    if t > s[-1]:
        return cost
    k = np.searchsorted(s, t)  # the first breakpoint from t on
    if k == 0:
        return min(d[0], cost)
    part = (t - s[k - 1]) / (s[k] - s[k - 1])
    return min(d[k - 1] + part * (d[k] - d[k - 1]), cost)


@compiled
def read(s: NDArray, d: NDArray, t: NDArray, cost: float) -> NDArray:
    """A curve at many gains."""
    values = np.empty(len(t))
    for k in range(len(t)):
        values[k] = read_one(s, d, t[k], cost)
    return values


@compiled
def lower(s1: NDArray, d1: NDArray, s2: NDArray, d2: NDArray) -> tuple[NDArray, NDArray]:
    """The lesser of two curves everywhere."""
    s, d = np.empty(2 * (len(s1) + len(s2)) + 4), np.empty(2 * (len(s1) + len(s2)) + 4)
    a, b, n, t = 0, 0, 0, min(s1[0], s2[0], 0.0)
    while a < len(s1) or b < len(s2):
        # Both are linear from t to the next breakpoint of either.
        end = min(s1[a] if a < len(s1) else np.inf, s2[b] if b < len(s2) else np.inf)
        from1, to1 = piece(s1, d1, a, t), piece(s1, d1, a, end)
        from2, to2 = piece(s2, d2, b, t), piece(s2, d2, b, end)
        n = add(s, d, n, t, min(from1, from2))
        if (from1 - from2) * (to1 - to2) < 0 and np.isfinite(from1 - from2):
            part = (from1 - from2) / ((from1 - from2) - (to1 - to2))
            n = add(s, d, n, t + part * (end - t), from1 + part * (to1 - from1))
        n = add(s, d, n, end, min(to1, to2))
        if a < len(s1) and s1[a] == end:
            a += 1
        if b < len(s2) and s2[b] == end:
            b += 1
        t = end
    return s[:n].copy(), d[:n].copy()


@compiled
def piece(s: NDArray, d: NDArray, k: int, t: float) -> float:
    """A curve at t, from the piece that ends at breakpoint k."""
    if k == len(s):
        return np.inf
    if k == 0:
        return d[0]
    if s[k] == s[k - 1]:
        return d[k]
    return d[k - 1] + (t - s[k - 1]) / (s[k] - s[k - 1]) * (d[k] - d[k - 1])


@compiled
def add(s: NDArray, d: NDArray, n: int, t: float, value: float) -> int:
    """Add a breakpoint; one that it makes superfluous goes."""
    if n > 0 and s[n - 1] == t and d[n - 1] == value:
        return n
    if n > 1:
        run, rise = s[n - 1] - s[n - 2], d[n - 1] - d[n - 2]
        on, up = t - s[n - 2], value - d[n - 2]
        if abs(run * up - rise * on) <= ROUNDING * (run * abs(up) + abs(rise) * on):
            n -= 1
    s[n], d[n] = t, value
    return n + 1
