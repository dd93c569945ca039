"""Messages of 0-1 factors as linear multiple-choice knapsack problems (L-MCKP).

B. Potetz, Estimating the Bayes Point Using Linear Knapsack Problems, ICML 2011, section 4. With
logarithms divided by beta, and less the maximum under condition B (Eq. 17), the message of a factor
to variable i is

    m_i(w_i) = max(-C, max sum_{j != i} M_j(w_j) - max M_j  such that  x.w >= 1)   (Eq. 14 to 16).

The inner maximum is a knapsack problem (Eq. 18 to 20): each variable j takes one bin k, which has
the profit M_j(w_jk) and the weight -x_j w_jk. If bins can be divided, only the concave envelope of
M_j counts. Its segments are the items of weight w' and profit p' of the paper's greedy algorithm:
the lists of items of all variables, merged by efficiency p' / w', solve the problem for every
capacity.

The paper starts with an empty knapsack and takes the most efficient items first. Here it is full
at first, with every variable at the peak of its M_j, and the least efficient items are given back
until x.w >= 1. To give an item back is a *gain* of w' in x.w and a *loss* of p' in the sum. Since
no loss above C matters, few items are looked at. One merged list serves all messages of a factor:
the message to variable i leaves out the items of i.

    on paper       in code                       on paper      in code
    x_d of f       x[f, d], label folded in      w', p'        gain, loss
    w_dk           grid[d, k]                    p' / w'       efficiency
    m_i            messages[f, i]                -c            need: gain that is required
    M_j            belief[j] - messages[f, j]

Numba counts references to arrays at every call of a function that may raise an error, or that
leaves its last loop by ``break``: a fifth of the time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner
from bayespoint._core.grids import Interpolation, interpolate

# Bins and places in lists are unsigned: for signed ones Numba asks at every access whether they
# count from the end, which costs a quarter of the time. A step DOWN from bin 0 wraps around to the
# largest number, so that k < n_bins tells at both ends whether k is on the grid.
ZERO, ONE, TWO, THREE = (np.uintp(n) for n in range(4))
UP, DOWN = ONE, ~ZERO


class Graph(NamedTuple):
    """The factor graph (section 2): factors are training points, variables are weights."""

    x: NDArray  # (factors, variables) points times their labels
    cost: NDArray  # (factors,) C
    copies: NDArray  # (factors,) how often each factor counts
    grid: NDArray  # (variables, bins) ascending
    belief: NDArray  # (variables, bins) logarithms
    messages: NDArray  # (factors, variables, bins) to the variables, logarithms


class Maxima(NamedTuple):
    """Largest beliefs towards the lower (0) and the upper (1) end of each grid."""

    outer: NDArray  # (2, variables, bins) largest belief from this bin to that end
    peak: NDArray  # (2, variables) bin of the largest belief, nearest to that end


class Items(NamedTuple):
    """Lists of items of a factor's variables, one after another, each by ascending efficiency.

    The list of variable j is at ``begin[j]`` up to ``begin[j + 1]``, and its first items, up to
    ``merged[j]``, are also at ``place`` in the merged list.
    """

    efficiency: NDArray  # (items,)
    gained: NDArray  # (items,) sum of gains of the same list, up to and with this item
    lost: NDArray  # (items,) sum of losses
    place: NDArray  # (items,)
    begin: NDArray  # (variables + 1,)
    merged: NDArray  # (variables,)
    others: NDArray  # (variables,) x.w at the peaks of all M_j but that of the variable


class Merged(NamedTuple):
    """Items of all variables by ascending efficiency; sums are over the items *before* a place."""

    efficiency: NDArray
    gained: NDArray
    lost: NDArray


class Heap(NamedTuple):
    """Binary heap of variables: the one whose next item has the least efficiency is first."""

    efficiency: NDArray  # (variables,) of the next item
    variable: NDArray  # (variables,)


def find_maxima(belief: NDArray) -> Maxima:
    """Largest beliefs on both sides of every bin."""
    above = np.maximum.accumulate(belief[:, ::-1], axis=1)[:, ::-1]
    outer = np.array([np.maximum.accumulate(belief, axis=1), above])
    last = belief.shape[1] - 1 - belief[:, ::-1].argmax(axis=1)
    return Maxima(outer, np.array([belief.argmax(axis=1), last], dtype=np.uintp))


@inner
def find_peak(graph: Graph, maxima: Maxima, f: int, j: int) -> np.uintp:
    """The bin with the largest M_j; of several, that with the largest x_j w_j dominates the others.

    A message rises with x_j w_j, from -C to 0. So the peak of M_j = belief - message is that of the
    belief or lies behind it, but not where all beliefs are more than C below.
    """
    belief, messages, n_bins = graph.belief, graph.messages, np.uintp(graph.grid.shape[1])
    step, ahead, behind = (UP, 1, 0) if graph.x[f, j] > 0 else (DOWN, 0, 1)
    peak = maxima.peak[ahead, j]
    largest, k = belief[j, peak] - messages[f, j, peak], peak - step
    while k < n_bins and maxima.outer[behind, j, k] + graph.cost[f] >= largest:
        value = belief[j, k] - messages[f, j, k]
        if value > largest:
            largest, peak = value, k
        k -= step
    return peak


@inner
def add_items(
    graph: Graph, maxima: Maxima, f: int, j: int, peak: np.uintp, items: Items
) -> np.uintp:
    """Write the list of variable j, from the peak of M_j to a loss of C; returns where it ends.

    Points (gain, loss) of the bins; items are the segments of their lower convex envelope.
    """
    grid, belief, messages = graph.grid, graph.belief, graph.messages
    cost, n_bins, size = graph.cost[f], np.uintp(graph.grid.shape[1]), abs(graph.x[f, j])
    step, ahead = (UP, 1) if graph.x[f, j] > 0 else (DOWN, 0)
    largest = belief[j, peak] - messages[f, j, peak]
    least_belief = belief[j, peak] - cost  # below it, losses are above C
    begin = end = items.begin[j]
    gained, lost, efficiency = 0.0, 0.0, -1.0  # last point of the envelope so far, last segment
    last_gain, last_loss = 0.0, 0.0  # of the last bin
    k, more = peak + step, True
    while k < n_bins and more:
        bin_gain = size * abs(grid[j, k] - grid[j, peak])
        bin_loss = largest - (belief[j, k] - messages[f, j, k])
        gain, loss = bin_gain, bin_loss
        if bin_loss > cost and last_loss < cost:  # cut the chord where the loss is C
            share = (cost - last_loss) / (bin_loss - last_loss)
            gain, loss = last_gain + share * (bin_gain - last_gain), cost
        if loss <= cost and gain > gained:
            new_efficiency = (loss - lost) / (gain - gained)
            while new_efficiency <= efficiency:  # the last point is not below the chord: drop it
                end -= ONE
                gained = items.gained[end - ONE] if end > begin else 0.0
                lost = items.lost[end - ONE] if end > begin else 0.0
                efficiency = items.efficiency[end - ONE] if end > begin else -1.0
                new_efficiency = (loss - lost) / (gain - gained)
            gained, lost, efficiency = gain, loss, new_efficiency
            items.gained[end], items.lost[end], items.efficiency[end] = gained, lost, efficiency
            end += ONE
        more = maxima.outer[ahead, j, k] >= least_belief
        last_gain, last_loss = bin_gain, bin_loss
        k += step
    return end


@inner
def list_items(graph: Graph, maxima: Maxima, f: int, items: Items) -> None:
    """Write the lists of all variables of a factor."""
    n_variables, total = np.uintp(graph.grid.shape[0]), 0.0
    for j in range(n_variables):
        items.begin[j + ONE], items.others[j] = items.begin[j], 0.0
        if graph.x[f, j] != 0.0:
            peak = find_peak(graph, maxima, f, j)
            items.begin[j + ONE] = add_items(graph, maxima, f, j, peak, items)
            items.others[j] = graph.x[f, j] * graph.grid[j, peak]
            total += items.others[j]
    for i in range(n_variables):
        items.others[i] = total - items.others[i]


@inner
def rise(heap: Heap, k: np.uintp, efficiency: float, variable: np.uintp) -> None:
    """Put a variable at place k of the heap, or above."""
    while k > ZERO and heap.efficiency[(k - ONE) >> ONE] > efficiency:
        parent = (k - ONE) >> ONE
        heap.efficiency[k], heap.variable[k] = heap.efficiency[parent], heap.variable[parent]
        k = parent
    heap.efficiency[k], heap.variable[k] = efficiency, variable


@inner
def sink(heap: Heap, size: np.uintp, efficiency: float, variable: np.uintp) -> None:
    """Put a variable at the top of the heap, in place of the one there, or below."""
    k, child = ZERO, ONE
    while child < size:
        if child + ONE < size and heap.efficiency[child + ONE] < heap.efficiency[child]:
            child += ONE
        if efficiency <= heap.efficiency[child]:
            break
        heap.efficiency[k], heap.variable[k] = heap.efficiency[child], heap.variable[child]
        k, child = child, child + child + ONE
    heap.efficiency[k], heap.variable[k] = efficiency, variable


@inner
def largest_need(graph: Graph, f: int, items: Items) -> float:
    """Largest gain that a message of the factor requires."""
    x, grid, need = graph.x, graph.grid, 0.0
    last = np.uintp(grid.shape[1]) - ONE
    for i in range(np.uintp(grid.shape[0])):
        least = min(x[f, i] * grid[i, ZERO], x[f, i] * grid[i, last])
        need = max(need, 1.0 - least - items.others[i])
    return need


@inner
def merge(items: Items, cost: float, need: float, heap: Heap, merged: Merged) -> np.uintp:
    """Merge the lists by efficiency, as far as any message uses them; returns how many items.

    It ends when the items so far, without those of any one variable, lose C or gain ``need``.
    """
    gained, lost, begin, size = items.gained, items.lost, items.begin, ZERO
    for j in range(np.uintp(len(items.merged))):
        items.merged[j] = begin[j]
        if begin[j] < begin[j + ONE]:
            rise(heap, size, items.efficiency[begin[j]], j)
            size += ONE
    count, all_gained, all_lost, most_gained, most_lost = ZERO, 0.0, 0.0, 0.0, 0.0
    merged.gained[ZERO] = merged.lost[ZERO] = 0.0
    while size > ZERO:
        j = heap.variable[ZERO]
        item = items.merged[j]
        gain, loss = gained[item], lost[item]
        most_gained, most_lost = max(most_gained, gain), max(most_lost, loss)
        if item > begin[j]:
            gain, loss = gain - gained[item - ONE], loss - lost[item - ONE]
        merged.efficiency[count], items.place[item] = heap.efficiency[ZERO], count
        items.merged[j] = item + ONE
        count += ONE
        all_gained, all_lost = all_gained + gain, all_lost + loss
        merged.gained[count], merged.lost[count] = all_gained, all_lost
        if all_lost - most_lost >= cost or all_gained - most_gained >= need:
            size = ZERO
        elif item + ONE < begin[j + ONE]:
            sink(heap, size, items.efficiency[item + ONE], j)
        else:
            size -= ONE
            sink(heap, size, heap.efficiency[size], heap.variable[size])
    for place in range(count + ONE, count + ONE + THREE):
        merged.gained[place] = np.inf  # write_messages looks up to three places beyond the end
    return count


@inner
def write_ends(graph: Graph, f: int, i: int, others: float) -> np.uintp:
    """Write the message 0 where variable i requires no gain, and -C elsewhere.

    Returns the first bin with a need, from which the need grows in the direction of falling x_i w.
    """
    x_i, cost, n_bins = graph.x[f, i], graph.cost[f], np.uintp(graph.grid.shape[1])
    border, n_below = (1.0 - others) / x_i, ZERO
    for k in range(n_bins):
        n_below += np.uintp(graph.grid[i, k] <= border)
    below = -cost if x_i > 0 else 0.0
    above = -cost if x_i < 0 else 0.0
    for k in range(n_bins):
        graph.messages[f, i, k] = below if k < n_below else above
    if x_i == 0.0:
        return n_bins
    return n_below - ONE if x_i > 0 else n_below


@inner
def write_messages(graph: Graph, f: int, items: Items, merged: Merged, count: np.uintp) -> None:
    """Write the messages of a factor: each is a walk along the merged list as its need grows.

    At bin k of variable i the others have to gain 1 - x_i w_ik - sum_{j != i} x_j w_j, with w_j at
    the peak of M_j (Eq. 16). The sums of the merged list contain the items of i, too: what those
    already passed gain is added to the need, and what they lose is subtracted from the loss.
    """
    grid, cost, n_bins = graph.grid, graph.cost[f], np.uintp(graph.grid.shape[1])
    efficiency, gained, lost = merged
    for i in range(np.uintp(grid.shape[0])):
        x_i, need_at_0 = graph.x[f, i], 1.0 - items.others[i]
        place, own, own_gained, own_lost = ZERO, items.begin[i], 0.0, 0.0
        next_own = items.place[own] if own < items.merged[i] else count + ONE
        k, step = write_ends(graph, f, i, items.others[i]), DOWN if x_i > 0 else UP
        while k < n_bins:
            need = need_at_0 - x_i * grid[i, k] + own_gained
            while gained[next_own] < need:
                gain = gained[next_own + ONE] - gained[next_own]
                own_gained, need = own_gained + gain, need + gain
                own_lost += lost[next_own + ONE] - lost[next_own]
                place, own = next_own + ONE, own + ONE
                next_own = items.place[own] if own < items.merged[i] else count + ONE
            # Most walks to the next bin are short: to count places is faster than to branch.
            place += (
                np.uintp(gained[place + ONE] < need)
                + np.uintp(gained[place + TWO] < need)
                + np.uintp(gained[place + THREE] < need)
            )
            while gained[place + ONE] < need:
                place += ONE
            loss = lost[place] - own_lost + efficiency[place] * (need - gained[place])
            if place >= count or loss >= cost:
                break
            graph.messages[f, i, k] = -max(loss, 0.0)
            k += step


def room_for(belief: NDArray) -> tuple[Maxima, Items, Merged, Heap, NDArray]:
    """What a pass needs: the maxima of beliefs, and room to work in."""
    n_variables, n_bins = belief.shape
    room = n_variables * n_bins + 4  # four places more than items: see merge
    items = Items(
        np.empty(room),
        np.empty(room),
        np.empty(room),
        np.empty(room, dtype=np.uintp),
        np.zeros(n_variables + 1, dtype=np.uintp),
        np.empty(n_variables, dtype=np.uintp),
        np.empty(n_variables),
    )
    merged = Merged(np.zeros(room), np.zeros(room), np.zeros(room))
    heap = Heap(np.empty(n_variables), np.empty(n_variables, dtype=np.uintp))
    return find_maxima(belief), items, merged, heap, np.empty((n_variables, n_bins))


@compiled
def pass_messages(
    graph: Graph, damping: float, new: Interpolation, total: NDArray, room: tuple, prune: bool
) -> None:
    """Renew the messages of all factors in place (Eq. 12); adds them, copies counted, to ``total``.

    ``new`` says which grids have moved since the last pass. Each message moves the share
    ``damping`` of the way to its new value. ``prune=False`` merges all items, also those that no
    message uses.
    """
    messages, copies, (maxima, items, merged, heap, old) = graph.messages, graph.copies, room
    n_factors, n_variables, n_bins = messages.shape
    for f in range(np.uintp(n_factors)):
        interpolate(messages[f], new)  # factor by factor: they are in the processor's cache then
        for i in range(np.uintp(n_variables)):
            for k in range(np.uintp(n_bins)):
                old[i, k] = messages[f, i, k]
        list_items(graph, maxima, f, items)
        cost, need = graph.cost[f], largest_need(graph, f, items)
        if not prune:
            cost = need = np.inf
        count = merge(items, cost, need, heap, merged)
        write_messages(graph, f, items, merged, count)
        for i in range(np.uintp(n_variables)):
            for k in range(np.uintp(n_bins)):
                if damping < 1.0:
                    messages[f, i, k] = (1.0 - damping) * old[i, k] + damping * messages[f, i, k]
                total[i, k] += copies[f] * messages[f, i, k]
