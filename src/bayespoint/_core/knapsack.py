"""Max-product messages of 0-1 factors: linear multiple-choice knapsack problems, solved together.

A factor is one training point x, its label folded in. Its message to variable i,

    nu_i(w) = max of sum_{j != i} M_j(w_j) subject to x.w >= 1, less its value without a condition,

cut at -C, is a knapsack problem: every variable j starts at the peak of M_j, and moves from there
to gain x.w at the least loss of M_j. A variable's *curve* is its loss against its gain, the convex
envelope of the points of its grid; the segments of all curves in the order of their slopes are the
solution for every capacity and, with the segments of i left out, for every message.

Arrays: ``grid``, ``belief`` (variables, bins), ``messages`` (factors, variables, bins). A function
treats all variables of a factor at once and cuts no rows out of its arrays: Numba counts references
at every call and every slice, at 20 cycles each, which took a quarter of the time. Places are
unsigned, which spares it the question whether they count from the end: another quarter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled

NONE, ONE, TWO, THREE, FOUR = (np.uintp(n) for n in range(5))


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
    peaks = np.empty((n_variables, 2), dtype=np.uintp)
    for d in range(n_variables):
        for k in range(1, n_bins):
            before[d, k] = max(before[d, k], before[d, k - 1])
            beyond[d, n_bins - 1 - k] = max(beyond[d, n_bins - 1 - k], beyond[d, n_bins - k])
        first, last = 0, n_bins - 1
        while before[d, first] < beyond[d, 0]:
            first += 1
        while beyond[d, last] < beyond[d, 0]:
            last -= 1
        peaks[d] = first, last
    return before, beyond, peaks


@compiled
def draw_curves(
    curves: Curves,
    f: int,
    x: NDArray,
    grid: NDArray,
    belief: NDArray,
    messages: NDArray,
    before: NDArray,
    beyond: NDArray,
    peaks: NDArray,
    cost: float,
    start: NDArray,
) -> float:
    """Write the curves of a factor's variables, from the peak of M = belief - message to a loss C.

    ``peaks`` are those of the belief; where several bins share one, that with the largest x w
    counts. Writes x w at the peak of each M to ``start`` and returns their sum. A message rises
    with x w, from -C to 0, so that the peak of M is not above that of the belief, and no point
    whose belief is C below another's that it competes with can matter: most bins are never looked
    at.
    """
    slopes, gained, lost, begins = curves.slope, curves.gained, curves.lost, curves.begin
    n_variables, n_bins = np.uintp(grid.shape[0]), np.uintp(grid.shape[1])
    end, all_starts = NONE, 0.0
    for j in range(n_variables):
        begin, x_j = end, x[f, j]
        begins[j + ONE], start[j] = end, 0.0
        if x_j == 0.0:
            continue
        size, up = abs(x_j), x_j > 0
        step = ONE if up else NONE - ONE  # places wrap around: below 0 is beyond n_bins
        peak = peaks[j, 1 if up else 0]
        best, k = belief[j, peak] - messages[f, j, peak], peak - step
        while k < n_bins:
            below = before[j, k] if up else beyond[j, k]
            if below + cost < best:
                break
            value = belief[j, k] - messages[f, j, k]
            if value > best:
                best, peak = value, k
            k -= step
        origin, last_needed = grid[j, peak], belief[j, peak] - cost
        top_gain, top_loss, steepest = 0.0, 0.0, -1.0  # of the curve so far
        last_gain, last_loss = 0.0, 0.0
        k = peak + step
        while k < n_bins:
            gain = size * abs(grid[j, k] - origin)
            loss = best - (belief[j, k] - messages[f, j, k])
            g, l = gain, loss
            if loss > cost and last_loss < cost:  # the point of the chord where the loss is C
                l = cost
                g = last_gain + (cost - last_loss) / (loss - last_loss) * (gain - last_gain)
            if l <= cost and g > top_gain:
                slope = (l - top_loss) / (g - top_gain)
                while slope <= steepest:  # the last point is above the new chord
                    end -= ONE
                    top_gain = gained[end - ONE] if end > begin else 0.0
                    top_loss = lost[end - ONE] if end > begin else 0.0
                    steepest = slopes[end - ONE] if end > begin else -1.0
                    slope = (l - top_loss) / (g - top_gain)
                slopes[end], gained[end], lost[end] = slope, g, l
                top_gain, top_loss, steepest = g, l, slope
                end += ONE
            above = beyond[j, k] if up else before[j, k]
            if above < last_needed:
                break
            last_gain, last_loss = gain, loss
            k += step
        begins[j + ONE], start[j] = end, x_j * origin
        all_starts += start[j]
    return all_starts


@compiled
def put_in_order(
    curves: Curves, cost: float, need: float, key: NDArray, item: NDArray, ordered: Ordered
) -> np.uintp:
    """Merge the curves by slope, as far as any message can use them; returns how many segments.

    It ends where the segments so far, without those of any one variable, lose C or gain ``need``.
    ``key`` and ``item`` are room for a heap of variables, by the slope of their next segment.
    """
    begin, used, place = curves.begin, curves.used, curves.place
    slope, gained, lost = curves.slope, curves.gained, curves.lost
    size = NONE
    for j in range(np.uintp(len(used))):
        used[j] = begin[j]
        if begin[j] < begin[j + ONE]:
            own_key, k = slope[begin[j]], size
            size += ONE
            while k > NONE and key[(k - ONE) >> ONE] > own_key:
                key[k], item[k] = key[(k - ONE) >> ONE], item[(k - ONE) >> ONE]
                k = (k - ONE) >> ONE
            key[k], item[k] = own_key, j
    count, all_gain, all_loss, most_gain, most_loss = NONE, 0.0, 0.0, 0.0, 0.0
    ordered.gained[NONE] = ordered.lost[NONE] = 0.0
    while size > NONE:
        j = item[NONE]
        k = used[j]
        gain, loss = gained[k], lost[k]
        most_gain, most_loss = max(most_gain, gain), max(most_loss, loss)
        if k > begin[j]:
            gain, loss = gain - gained[k - ONE], loss - lost[k - ONE]
        ordered.slope[count], place[k] = key[NONE], count
        used[j] = k + ONE
        count += ONE
        all_gain, all_loss = all_gain + gain, all_loss + loss
        ordered.gained[count], ordered.lost[count] = all_gain, all_loss
        if all_loss - most_loss >= cost or all_gain - most_gain >= need:
            break
        if k + ONE < begin[j + ONE]:
            own_key = slope[k + ONE]
        else:
            size -= ONE
            own_key, j = key[size], item[size]
        k, child = NONE, ONE  # the variable at the top of the heap sinks to its place
        while child < size:
            if child + ONE < size and key[child + ONE] < key[child]:
                child += ONE
            if own_key <= key[child]:
                break
            key[k], item[k] = key[child], item[child]
            k, child = child, child + child + ONE
        key[k], item[k] = own_key, j
    return count


@compiled
def write_messages(
    f: int,
    x: NDArray,
    grid: NDArray,
    start: NDArray,
    all_starts: float,
    cost: float,
    curves: Curves,
    ordered: Ordered,
    count: np.uintp,
    messages: NDArray,
) -> None:
    """Messages of a factor: for each walk the segments of the other variables as its need grows.

    The need of a bin of variable i is t = 1 - x_i w - rest (Eq. 16), where ``rest`` is what the
    others' peaks give. What i's own segments gain, before the walk comes past them, is added to it.
    """
    slope, gained, lost, place = ordered.slope, ordered.gained, ordered.lost, curves.place
    n_variables, n_bins = np.uintp(grid.shape[0]), np.uintp(grid.shape[1])
    for j in range(count + ONE, count + FOUR + TWO):
        gained[j] = np.inf  # what the walk sees beyond the end
    for i in range(n_variables):
        x_i = x[f, i]
        if x_i == 0.0:
            for m in range(n_bins):
                messages[f, i, m] = 0.0
            continue
        up, top = x_i > 0, 1.0 - (all_starts - start[i])
        limit, near = top / x_i, NONE  # up to which bin, and where, the need is 0
        for m in range(n_bins):
            near += np.uintp(grid[i, m] <= limit)
        left, right = (-cost, 0.0) if up else (0.0, -cost)
        for m in range(n_bins):
            messages[f, i, m] = left if m < near else right
        own, last_own = curves.begin[i], curves.used[i]
        next_own = place[own] if own < last_own else count + ONE
        p, own_gain, own_loss = NONE, 0.0, 0.0
        k, step = (near - ONE, NONE - ONE) if up else (near, ONE)
        while k < n_bins:
            need = top - x_i * grid[i, k] + own_gain
            while gained[next_own] < need:
                length = gained[next_own + ONE] - gained[next_own]
                own_gain, need = own_gain + length, need + length
                own_loss += lost[next_own + ONE] - lost[next_own]
                p, own = next_own + ONE, own + ONE
                next_own = place[own] if own < last_own else count + ONE
            # Counting instead of walking: the processor need not guess.
            p += (
                np.uintp(gained[p + ONE] < need)
                + np.uintp(gained[p + TWO] < need)
                + np.uintp(gained[p + THREE] < need)
            )
            while gained[p + ONE] < need:
                p += ONE
            value = lost[p] - own_loss + slope[p] * (need - gained[p])
            if p >= count or value >= cost:
                break
            messages[f, i, k] = -max(value, 0.0)
            k += step


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
    capacity = n_variables * n_bins + 8  # and what the walk sees beyond the last segment
    curves = Curves(
        np.empty(capacity), np.empty(capacity), np.empty(capacity),
        np.empty(capacity, dtype=np.uintp),
        np.zeros(n_variables + 1, dtype=np.uintp), np.zeros(n_variables, dtype=np.uintp),
    )  # fmt: skip
    ordered = Ordered(np.zeros(capacity), np.zeros(capacity), np.zeros(capacity))
    key, item = np.empty(n_variables), np.empty(n_variables, dtype=np.uintp)
    start, fresh, old = np.empty(n_variables), np.empty(n_bins), np.empty(grid.shape)
    total = np.zeros(grid.shape)
    for f in range(np.uintp(n_factors)):
        for j in range(np.uintp(n_variables)):
            if moved[j]:
                for k in range(np.uintp(n_bins)):
                    a = np.uintp(left[j, k])
                    here, there = messages[f, j, a], messages[f, j, a + ONE]
                    fresh[k] = here + share[j, k] * (there - here)
                for k in range(np.uintp(n_bins)):
                    messages[f, j, k] = fresh[k]
        if damping < 1.0:
            old[:] = messages[f]
        c = cost[f]
        all_starts = draw_curves(
            curves, f, x, grid, belief, messages, before, beyond, peaks, c, start
        )
        need = 0.0
        for i in range(np.uintp(n_variables)):
            least = min(x[f, i] * grid[i, 0], x[f, i] * grid[i, n_bins - 1])
            need = max(need, 1.0 - least - (all_starts - start[i]))
        count = put_in_order(curves, stop * c, stop * need, key, item, ordered)
        write_messages(f, x, grid, start, all_starts, c, curves, ordered, count, messages)
        if damping < 1.0:
            messages[f] = (1.0 - damping) * old + damping * messages[f]
        for i in range(np.uintp(n_variables)):
            for k in range(np.uintp(n_bins)):
                total[i, k] += copies[f] * messages[f, i, k]
    return total
