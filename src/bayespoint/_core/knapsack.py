"""Max-product messages of 0-1 factors: linear multiple-choice knapsack problems, solved together.

A factor is one training point x, its label folded in. Its message to variable i,

    nu_i(w) = max of sum_{j != i} M_j(w_j) subject to x.w >= 1, less its value without a condition,

cut at -C, is a knapsack problem: every variable j starts at the peak of M_j, and moves from there
to gain x.w at the least loss of M_j. A variable's *curve* is its loss against its gain, the convex
envelope of the points of its grid; the segments of all curves in the order of their slopes are the
solution for every capacity and, with the segments of i left out, for every message.

Arrays: ``grid``, ``belief`` (variables, bins), ``messages`` (factors, variables, bins).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled

BLOCK = np.uintp(4)  # segments among which one is found by counting; fastest of 1 ... 16
ONE, TWO, THREE = np.uintp(1), np.uintp(2), np.uintp(3)
# Unsigned places spare Numba the question whether they count from the end: a quarter of the time.


class Curves(NamedTuple):
    """Segments of every variable's curve, one variable after another, each by ascending slope.

    Those of variable j are at ``begin[j]`` up to ``begin[j + 1]``, and the first ones, up to
    ``used[j]``, are at ``place`` in :class:`Ordered`. ``gained`` and ``lost`` are sums within a
    variable, the own segment included.
    """

    slope: NDArray
    gained: NDArray
    lost: NDArray
    place: NDArray
    begin: NDArray
    used: NDArray


class Ordered(NamedTuple):
    """Segments of all variables by ascending slope; ``gained[p]``, ``lost[p]`` sum those before."""

    slope: NDArray
    gained: NDArray
    lost: NDArray


@compiled
def outer_maxima(belief: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Largest belief up to each bin, and from each bin on; first and last bin with the largest."""
    n_variables, n_bins = belief.shape
    before, beyond = belief.copy(), belief.copy()
    peaks = np.empty((n_variables, 2), dtype=np.int64)
    for d in range(n_variables):
        for k in range(1, n_bins):
            before[d, k] = max(before[d, k], before[d, k - 1])
            beyond[d, n_bins - 1 - k] = max(beyond[d, n_bins - 1 - k], beyond[d, n_bins - k])
        peaks[d] = 0, n_bins - 1
        while before[d, peaks[d, 0]] < beyond[d, 0]:
            peaks[d, 0] += 1
        while beyond[d, peaks[d, 1]] < beyond[d, 0]:
            peaks[d, 1] -= 1
    return before, beyond, peaks


@compiled
def add_curve(
    curves: Curves,
    j: int,
    x: float,
    grid: NDArray,
    belief: NDArray,
    message: NDArray,
    before: NDArray,
    beyond: NDArray,
    peak: int,
    cost: float,
) -> float:
    """Write the curve of variable j, from the peak of M = belief - message on, up to a loss of C.

    ``peak`` is that of the belief; where several bins share it, the one with the largest x w.
    Returns x w at the peak of M. ``message`` rises with x w, from -C to 0, so that the peak of M is
    not above that of the belief, and no point whose belief is C below another's that it competes
    with can matter: most bins are never looked at.
    """
    n_bins, size = len(grid), abs(x)
    step = 1 if x > 0 else -1
    best, k = belief[peak] - message[peak], peak - step
    while 0 <= k < n_bins:
        below = before[k] if x > 0 else beyond[k]
        if below + cost < best:
            break
        value = belief[k] - message[k]
        if value > best:
            best, peak = value, k
        k -= step
    start, last_needed = grid[peak], belief[peak] - cost
    begin = curves.begin[j]
    end = begin
    top_gain, top_loss, steepest = 0.0, 0.0, -1.0  # of the curve so far
    last_gain, last_loss = 0.0, 0.0
    k = peak + step
    while 0 <= k < n_bins:
        gain, loss = size * abs(grid[k] - start), best - (belief[k] - message[k])
        g, l = gain, loss
        if loss > cost and last_loss < cost:  # the point of the chord where the loss is C
            l = cost
            g = last_gain + (cost - last_loss) / (loss - last_loss) * (gain - last_gain)
        if l <= cost and g > top_gain:
            slope = (l - top_loss) / (g - top_gain)
            while slope <= steepest:  # the last point is above the new chord
                end -= 1
                top_gain = curves.gained[end - 1] if end > begin else 0.0
                top_loss = curves.lost[end - 1] if end > begin else 0.0
                steepest = curves.slope[end - 1] if end > begin else -1.0
                slope = (l - top_loss) / (g - top_gain)
            curves.slope[end], curves.gained[end], curves.lost[end] = slope, g, l
            top_gain, top_loss, steepest = g, l, slope
            end += 1
        above = beyond[k] if x > 0 else before[k]
        if above < last_needed:
            break
        last_gain, last_loss = gain, loss
        k += step
    curves.begin[j + 1] = end
    return x * start


@compiled
def put_in_order(
    curves: Curves, cost: float, need: float, key: NDArray, item: NDArray, ordered: Ordered
) -> int:
    """Merge the curves by slope, as far as any message can use them; returns how many segments.

    It ends where the segments so far, without those of any one variable, lose C or gain ``need``.
    ``key`` and ``item`` are room for a heap of variables, by the slope of their next segment.
    """
    begin, used, size = curves.begin, curves.used, 0
    for j in range(len(used)):
        used[j] = begin[j]
        if begin[j] < begin[j + 1]:
            k = size
            size += 1
            while k > 0 and key[(k - 1) // 2] > curves.slope[begin[j]]:
                key[k], item[k] = key[(k - 1) // 2], item[(k - 1) // 2]
                k = (k - 1) // 2
            key[k], item[k] = curves.slope[begin[j]], j
    count, most_gain, most_loss = 0, 0.0, 0.0
    ordered.gained[0] = ordered.lost[0] = 0.0
    while size > 0:
        j = item[0]
        k = used[j]
        gain, loss = curves.gained[k], curves.lost[k]
        most_gain, most_loss = max(most_gain, gain), max(most_loss, loss)
        if k > begin[j]:
            gain, loss = gain - curves.gained[k - 1], loss - curves.lost[k - 1]
        ordered.slope[count], curves.place[k] = key[0], count
        used[j] = k + 1
        count += 1
        ordered.gained[count] = ordered.gained[count - 1] + gain
        ordered.lost[count] = ordered.lost[count - 1] + loss
        if ordered.lost[count] - most_loss >= cost or ordered.gained[count] - most_gain >= need:
            break
        if k + 1 < begin[j + 1]:
            key[0] = curves.slope[k + 1]
        else:
            size -= 1
            key[0], item[0] = key[size], item[size]
        sift_down(key, item, size)
    return count


@compiled
def sift_down(key: NDArray, item: NDArray, size: int) -> None:
    """Let the root of a heap, smallest key on top, sink to its place."""
    own_key, own_item, k = key[0], item[0], 0
    while 2 * k + 1 < size:
        child = 2 * k + 1
        if child + 1 < size and key[child + 1] < key[child]:
            child += 1
        if own_key <= key[child]:
            break
        key[k], item[k] = key[child], item[child]
        k = child
    key[k], item[k] = own_key, own_item


@compiled
def write_message(
    i: int,
    x: float,
    grid: NDArray,
    rest: float,
    cost: float,
    curves: Curves,
    ordered: Ordered,
    count: int,
    message: NDArray,
) -> None:
    """The message to variable i: walk the ordered segments of the others while its need grows.

    ``rest`` is what the others' peaks give; the need of a bin is t = 1 - x w - rest (Eq. 16). What
    the variable's own segments gain, before the walk comes past them, is added to the need.
    """
    slope, gained, lost = ordered.slope, ordered.gained, ordered.lost
    n_bins, n = np.uintp(len(grid)), np.uintp(count)
    for j in range(count + 1, count + 6):
        gained[j] = np.inf  # what a block sees beyond the end
    own, last_own = np.uintp(curves.begin[i]), np.uintp(curves.used[i])
    next_own = curves.place[own] if own < last_own else n + ONE
    near = np.uintp(first_above(grid, (1.0 - rest) / x))  # where the need is 0
    n_steps = near if x > 0 else n_bins - near
    p, own_gain, own_loss = np.uintp(0), 0.0, 0.0
    done = np.uintp(0)
    while done < n_steps:
        k = near - done - ONE if x > 0 else near + done
        need = 1.0 - rest - x * grid[k] + own_gain
        while gained[next_own] < need:
            length = gained[next_own + ONE] - gained[next_own]
            own_gain, need = own_gain + length, need + length
            own_loss += lost[next_own + ONE] - lost[next_own]
            p, own = next_own + ONE, own + ONE
            next_own = curves.place[own] if own < last_own else n + ONE
        while gained[p + BLOCK] < need:
            p += BLOCK
        # Counting instead of walking: the processor need not guess.
        q = p + np.uintp(gained[p + ONE] < need) + np.uintp(gained[p + TWO] < need)
        q += np.uintp(gained[p + THREE] < need)
        value = lost[q] - own_loss + slope[q] * (need - gained[q])
        if q >= n or value >= cost:
            break
        message[k] = -max(value, 0.0)
        done += ONE
    if x > 0:
        message[near:] = 0.0
        message[: near - done] = -cost
    else:
        message[:near] = 0.0
        message[near + done :] = -cost


@compiled
def first_above(values: NDArray, limit: float) -> int:
    """First place in ascending values with a value above the limit."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
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
    stop: float = 1.0,
) -> NDArray:
    """Renew all messages of all factors in place; returns their sum, copies counted.

    Variables with ``moved`` have a new grid: bin k of their messages is read from the old one
    between bins ``left[k]`` and ``left[k] + 1``, at the given share of the way. ``stop=inf`` orders
    all segments, also those that no message can use.
    """
    n_factors, n_variables, n_bins = messages.shape
    before, beyond, peaks = outer_maxima(belief)
    capacity = n_variables * n_bins + 8  # a block and a sentinel beyond the last segment
    curves = Curves(
        np.empty(capacity), np.empty(capacity), np.empty(capacity),
        np.empty(capacity, dtype=np.uintp),
        np.zeros(n_variables + 1, dtype=np.int64), np.zeros(n_variables, dtype=np.int64),
    )  # fmt: skip
    ordered = Ordered(np.zeros(capacity), np.zeros(capacity), np.zeros(capacity))
    key, item = np.empty(n_variables), np.empty(n_variables, dtype=np.int64)
    peak, fresh = np.empty(n_variables), np.empty(n_bins)
    total = np.zeros((n_variables, n_bins))
    for f in range(n_factors):
        c, all_peaks = cost[f], 0.0
        for j in range(n_variables):
            row = messages[f, j]
            if moved[j]:
                for k in range(n_bins):
                    a = left[j, k]
                    fresh[k] = row[a] + share[j, k] * (row[a + 1] - row[a])
                row[:] = fresh
            peak[j], curves.begin[j + 1] = 0.0, curves.begin[j]
            if x[f, j] != 0.0:
                top = peaks[j, 1 if x[f, j] > 0.0 else 0]
                peak[j] = add_curve(
                    curves, j, x[f, j], grid[j], belief[j], row, before[j], beyond[j], top, c
                )
                all_peaks += peak[j]
        need = 0.0
        for i in range(n_variables):
            least = min(x[f, i] * grid[i, 0], x[f, i] * grid[i, n_bins - 1])
            need = max(need, 1.0 - least - (all_peaks - peak[i]))
        count = put_in_order(curves, stop * c, stop * need, key, item, ordered)
        for i in range(n_variables):
            row = messages[f, i]
            if x[f, i] == 0.0:
                row[:] = 0.0
                continue
            rest = all_peaks - peak[i]
            new = row if damping == 1.0 else fresh
            write_message(i, x[f, i], grid[i], rest, c, curves, ordered, count, new)
            if damping < 1.0:
                for k in range(n_bins):
                    row[k] = (1.0 - damping) * row[k] + damping * fresh[k]
            for k in range(n_bins):
                total[i, k] += copies[f] * row[k]
    return total
