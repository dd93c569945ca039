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

BLOCK = 4  # segments among which one is found by counting; fastest of 4 ... 32


class Curves(NamedTuple):
    """Segments of every variable's curve, one variable after another, each by ascending slope.

    Those of variable j are at ``begin[j]`` up to ``begin[j + 1]``; ``gained`` and ``lost`` are sums
    within a variable, the own segment included.
    """

    slope: NDArray
    gained: NDArray
    lost: NDArray
    begin: NDArray


class Ordered(NamedTuple):
    """Segments of all variables by ascending slope; ``gained[p]``, ``lost[p]`` sum those before."""

    slope: NDArray
    gained: NDArray
    lost: NDArray
    owner: NDArray


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
def curve(
    x: float,
    grid: NDArray,
    belief: NDArray,
    message: NDArray,
    before: NDArray,
    beyond: NDArray,
    peak: int,
    cost: float,
    gain: NDArray,
    loss: NDArray,
) -> tuple[float, int]:
    """Gain and loss of a variable from the peak of M = belief - message on, up to a loss of C.

    ``peak`` is that of the belief; where several bins share it, the one with the largest x w.

    Returns x w at the peak, and the number of points (the first is 0, 0). ``message`` rises with
    x w, from -C to 0, so that the peak of M is not above that of the belief, and no point whose
    belief is C below another's that it competes with can matter: most bins are never looked at.
    """
    n_bins = len(grid)
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
    count, size, last_gain, last_loss = 1, abs(x), 0.0, 0.0
    gain[0] = loss[0] = 0.0
    k = peak + step
    while 0 <= k < n_bins:
        above = beyond[k] if x > 0 else before[k]
        g, l = size * abs(grid[k] - grid[peak]), best - (belief[k] - message[k])
        if last_loss < cost:
            if l > cost:  # the point of the chord where the loss is C
                part = (cost - last_loss) / (l - last_loss)
                count = push(gain, loss, count, last_gain + part * (g - last_gain), cost)
            else:
                count = push(gain, loss, count, g, l)
        elif l <= cost:
            count = push(gain, loss, count, g, l)
        if above < belief[peak] - cost:
            break
        last_gain, last_loss = g, l
        k += step
    return x * grid[peak], count


@compiled
def push(gain: NDArray, loss: NDArray, count: int, g: float, l: float) -> int:
    """Add a point to a convex curve; points above the new chord leave it."""
    while count > 1:
        run, rise = gain[count - 1] - gain[count - 2], loss[count - 1] - loss[count - 2]
        if rise * (g - gain[count - 1]) < (l - loss[count - 1]) * run:
            break
        count -= 1
    if g <= gain[count - 1]:  # a step too short for float64
        return count
    gain[count], loss[count] = g, l
    return count + 1


@compiled
def put_in_order(
    curves: Curves, cost: float, need: float, key: NDArray, item: NDArray, ordered: Ordered
) -> int:
    """Merge the curves by slope, as far as any message can use them; returns how many segments.

    It ends where the segments so far, without those of any one variable, lose C or gain ``need``.
    ``key`` and ``item`` are room for a heap of variables, by the slope of their next segment.
    """
    begin, size = curves.begin, 0
    following = begin[:-1].copy()
    for j in range(len(following)):
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
        k = following[j]
        gain, loss = curves.gained[k], curves.lost[k]
        most_gain, most_loss = max(most_gain, gain), max(most_loss, loss)
        if k > begin[j]:
            gain, loss = gain - curves.gained[k - 1], loss - curves.lost[k - 1]
        ordered.slope[count], ordered.owner[count] = key[0], j
        count += 1
        ordered.gained[count] = ordered.gained[count - 1] + gain
        ordered.lost[count] = ordered.lost[count - 1] + loss
        if ordered.lost[count] - most_loss >= cost or ordered.gained[count] - most_gain >= need:
            break
        following[j] = k + 1
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
def leave_out(i: int, ordered: Ordered, count: int, others: Ordered) -> int:
    """Copy the segments of all variables but i, and return how many there are."""
    n, own_gain, own_loss = 0, 0.0, 0.0
    for p in range(count):
        others.slope[n] = ordered.slope[p]
        if ordered.owner[p] != i:
            n += 1
        else:
            own_gain += ordered.gained[p + 1] - ordered.gained[p]
            own_loss += ordered.lost[p + 1] - ordered.lost[p]
        others.gained[n] = ordered.gained[p + 1] - own_gain
        others.lost[n] = ordered.lost[p + 1] - own_loss
    return n


@compiled
def write_message(
    x: float, grid: NDArray, rest: float, cost: float, others: Ordered, n: int, message: NDArray
) -> None:
    """The message to a variable, from the segments of the others.

    ``rest`` is what the others' peaks give; the need of a bin is t = 1 - x w - rest (Eq. 16).
    """
    others.gained[n + 1 : n + 1 + BLOCK] = np.inf
    near = first_above(grid, (1.0 - rest) / x)  # where the need is 0
    if x > 0:
        message[near:] = 0.0
        k, step, stop = near - 1, -1, -1
    else:
        message[:near] = 0.0
        k, step, stop = near, 1, len(grid)
    p = 0
    while k != stop:
        need = 1.0 - rest - x * grid[k]
        while others.gained[p + BLOCK] < need:
            p += BLOCK
        q = p
        for j in range(BLOCK):  # counts instead of walking: the processor need not guess
            q += others.gained[p + j + 1] < need
        value = others.lost[q] + others.slope[q] * (need - others.gained[q])
        if q >= n or value >= cost:
            break
        message[k] = -max(value, 0.0)
        k += step
    if x > 0:
        message[: k + 1] = -cost
    else:
        message[k:] = -cost


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
    capacity = n_variables * n_bins + 2 + BLOCK
    gain, loss = np.empty(n_bins + 1), np.empty(n_bins + 1)
    curves = Curves(
        np.empty(capacity), np.empty(capacity), np.empty(capacity),
        np.zeros(n_variables + 1, dtype=np.int64),
    )  # fmt: skip
    ordered = Ordered(
        np.empty(capacity), np.empty(capacity), np.empty(capacity),
        np.empty(capacity, dtype=np.int64),
    )  # fmt: skip
    others = Ordered(np.empty(capacity), np.zeros(capacity), np.zeros(capacity), ordered.owner)
    key, item = np.empty(n_variables), np.empty(n_variables, dtype=np.int64)
    peak, fresh = np.empty(n_variables), np.empty(n_bins)
    total = np.zeros((n_variables, n_bins))
    for f in range(n_factors):
        c, all_peaks = cost[f], 0.0
        for j in range(n_variables):
            row, end = messages[f, j], curves.begin[j]
            if moved[j]:
                for k in range(n_bins):
                    a = left[j, k]
                    fresh[k] = row[a] + share[j, k] * (row[a + 1] - row[a])
                row[:] = fresh
            peak[j] = 0.0
            if x[f, j] != 0.0:
                top = peaks[j, 1 if x[f, j] > 0.0 else 0]
                peak[j], count = curve(
                    x[f, j], grid[j], belief[j], row, before[j], beyond[j], top, c, gain, loss
                )
                all_peaks += peak[j]
                for k in range(1, count):
                    curves.slope[end] = (loss[k] - loss[k - 1]) / (gain[k] - gain[k - 1])
                    curves.gained[end], curves.lost[end] = gain[k], loss[k]
                    end += 1
            curves.begin[j + 1] = end
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
            n = leave_out(i, ordered, count, others)
            if damping == 1.0:
                write_message(x[f, i], grid[i], rest, c, others, n, row)
            else:
                write_message(x[f, i], grid[i], rest, c, others, n, fresh)
                for k in range(n_bins):
                    row[k] = (1.0 - damping) * row[k] + damping * fresh[k]
            for k in range(n_bins):
                total[i, k] += copies[f] * row[k]
    return total
