"""Kernel rows k(x_i, .) of the training points, computed in tiles and kept while there is room.

Every matrix product here has a fixed shape, ``UNIT`` rows by ``TILE`` columns (or a part of the
rows), and runs on one BLAS thread; several tiles run side by side. Apart from speed this makes a
kernel value depend on its two points alone, to the bit: the rounding of a BLAS product changes with
its shape and with its number of threads. It can also change with the place: OpenBLAS for AVX2 sums
float32 products of every second ``STRIPE`` of rows in the opposite order. So points of even number
have the even stripes, and those of odd number the odd ones; a column has one place in any case.

Where points have zeros, as digits do beside the ink, a tile takes points that lack the same rare
features, and its products leave these out: nearly half of all multiplications on MNIST.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import CacheTooSmallError
from bayespoint.kernels import Kernel, Points, PolynomialKernel
from bayespoint.tools.memory import available_memory
from bayespoint.tools.threads import ThreadPool, stop_if_cancelled

STRIPE = 6  # rows that BLAS sums alike: two of them, or a third, are a tile of its own
UNIT = 192  # rows a product; 512 would be a tenth faster, but asks for more rows than are needed
EDGE = 24  # smaller products have multiples of this: BLAS sums what its own tiles leave otherwise
TILE = 512  # columns a product: UNIT x TILE in float32 is 384 kB, and fits a level-2 cache


def staircase(points: Points) -> tuple[NDArray, NDArray, Points]:
    """An order of the points in which products can leave out the features that are 0 in a tile.

    The rarest feature comes first, and the points that have it; then the rarest feature among the
    other points, and those of them that have it; and so on.

    Returns
    -------
    order : ndarray of shape (m,)
        Which point comes at each place.
    zeros : ndarray of shape (m,)
        How many features, the first ones, are 0 in the point at a place and in all after it.
    points : Points
        The points, and their features, in these orders.
    """
    used = np.ascontiguousarray(points.rows != 0)
    m, width = used.shape
    counts, features = np.count_nonzero(used, axis=0), np.empty(width, dtype=np.int64)
    zeros, is_left = np.zeros(m, dtype=np.int64), np.ones(m, dtype=bool)
    if counts.min(initial=m) == m:
        return np.arange(m), zeros, points
    by_feature = np.asfortranarray(used)  # with both, points and features are read in one piece
    for k in range(width):
        features[k] = feature = counts.argmin()
        these = np.flatnonzero(is_left & by_feature[:, feature])
        zeros[these], is_left[these] = k, False
        counts -= np.count_nonzero(used[these], axis=0)
        counts[feature] = m + 1
    order = np.argsort(zeros, kind="stable")
    rows = np.ascontiguousarray(points.rows[:, features])
    return order, zeros[order], replace(points, rows=rows).take(order)


def fill(
    kernel: Kernel,
    points: Points,
    which: NDArray,
    out: NDArray,
    where: NDArray,
    pool: ThreadPool,
    zeros: NDArray | None = None,
) -> None:
    """Write the kernel rows of the points ``which`` into the rows ``where`` of ``out``.

    Points that are a staircase have ``zeros``, see there.
    """
    # Part of a unit is enough for few rows, and rounds alike where no product is small: BLAS has
    # another way for those.
    multiple = EDGE if len(points) >= TILE else UNIT
    order = in_stripes(which)
    order = np.pad(order, (0, -len(order) % multiple), constant_values=-1)
    units = []
    for some in np.split(order, range(UNIT, len(order), UNIT)):
        used: Any = np.flatnonzero(some >= 0)
        used = slice(None) if len(used) == len(some) else used
        units.append((points.take(which[some]), used, where[some[used]]))
    starts = np.arange(0, len(points), TILE)
    shares = np.array_split(starts, min(len(starts), 4 * pool.n_threads))
    pool.map(_fill_tiles, shares, kernel, units, points, out, zeros)


def in_stripes(which: NDArray) -> NDArray[np.int64]:
    """Places of a product: which of the points is there; -1 for a place that is left empty."""
    sides = [np.flatnonzero(which % 2 == side) for side in (0, 1)]
    n_stripes = -(-max(map(len, sides)) // STRIPE)
    order = np.full((2, n_stripes * STRIPE), -1)
    for places, side in zip(order, sides, strict=True):
        places[: len(side)] = side
    return order.reshape(2, n_stripes, STRIPE).transpose(1, 0, 2).ravel()


def filling(needed: NDArray, candidates: NDArray) -> NDArray[np.bool_]:
    """Which candidates fill up the products of the points that are needed."""
    sides = np.bincount(needed % 2, minlength=2)
    places = max(UNIT if len(needed) else 0, 2 * sides.max())
    room = (places + -places % EDGE) // 2 - sides
    is_odd = candidates % 2 == 1
    number = np.where(is_odd, is_odd.cumsum(), (~is_odd).cumsum())
    return number <= room[is_odd.astype(int)]


def multiply(
    kernel: Kernel, left: Points, right: Points, weights: NDArray, pool: ThreadPool
) -> NDArray[np.float64]:
    """k(left, right) @ weights, each tile multiplied while it is in the cache."""
    out = np.zeros((len(left), weights.shape[1]))
    units = np.arange(0, len(left), UNIT)
    shares = np.array_split(units, min(len(units), pool.n_threads))
    pool.map(_multiply_units, shares, kernel, left, right, weights, out)
    return out


def _multiply_units(
    starts: NDArray, kernel: Kernel, left: Points, right: Points, weights: NDArray, out: NDArray
) -> None:
    units = [slice(start, start + UNIT) for start in starts]
    points = [left.take(unit) for unit in units]
    for start in range(0, len(right), TILE):
        stop_if_cancelled()
        columns = slice(start, start + TILE)
        tile = right.take(columns)
        for unit, some in zip(units, points, strict=True):
            out[unit] += kernel.block(some, tile) @ weights[columns]


def padded(points: Points, multiple: int) -> Points:
    """Repeat the last point until their number is a multiple."""
    missing = -len(points) % multiple
    if not missing:
        return points
    return points.take(np.minimum(np.arange(len(points) + missing), len(points) - 1))


def _fill_tiles(
    starts: NDArray,
    kernel: Kernel,
    units: list[tuple[Points, Any, NDArray]],
    right: Points,
    out: NDArray,
    zeros: NDArray | None,
) -> None:
    for start in starts:
        stop_if_cancelled()
        end = min(start + TILE, len(right))
        begin = max(end - TILE, 0)  # the last tile overlaps its neighbour rather than be narrower
        tile = padded(right.take(slice(begin, end)), EDGE if len(right) < TILE else TILE)
        n_zeros = 0 if zeros is None else zeros[begin]
        tile = tile.without(n_zeros)
        for unit, used, rows in units:
            block = kernel.block(unit.without(n_zeros), tile)
            out[rows, start:end] = block[used, start - begin : end - begin]


MEGABYTE = 1e6
SHARE = 0.5  # of the free memory, for rows; if several processes do so, each leaves some
BLOCK = 64_000_000  # bytes by which the cache grows before it asks again what is free


class RowCache:
    """The most recently used kernel rows, as many as there is room for.

    Parameters
    ----------
    kernel : Kernel
        Computes them.
    points : Points
        The training points.
    cache_size : float or "auto"
        Megabytes for rows; "auto" takes what is needed, up to half of the memory that is free.
    pool : ThreadPool
        Blocks of rows are computed on its threads.

    Attributes
    ----------
    order : ndarray of shape (m,)
        The points in the order in which they are numbered here.
    values : ndarray of shape (capacity, m)
        The rows; memory is taken from the system only as they are filled.
    slot_of : ndarray of shape (m,)
        Where the row of a point is; -1 if it is not there.
    slot_used : ndarray of shape (capacity,)
        The round in which a row was last used; whoever uses rows writes it.
    round : int
        Number of the present round; whoever uses rows counts it up.
    n_computed : int
        Rows computed so far, repetitions included.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import PolynomialKernel
    >>> from bayespoint.spaces import DualSpace
    >>> from bayespoint.tools.threads import thread_pool
    >>> space = DualSpace(PolynomialKernel()).fit(np.eye(3))
    >>> with thread_pool(1) as pool:
    ...     cache = space.rows(cache_size=1.0, pool=pool)
    ...     cache.load(np.array([2]), np.array([], dtype=int))
    >>> cache.values[cache.slot_of[2]], cache.n_computed
    (array([0., 0., 1.]), 1)
    """

    def __init__(
        self, kernel: Kernel, points: Points, cache_size: float | str, pool: ThreadPool
    ) -> None:
        self._kernel, self._points, self._pool = kernel, points, pool
        self.order, self._zeros = np.arange(len(points)), None
        products = type(kernel).block is PolynomialKernel.block
        if products and type(points) is Points:  # not those that stay in a file
            self.order, self._zeros, self._points = staircase(points)
        m, dtype = len(points), points.rows.dtype
        self._row_bytes = m * dtype.itemsize
        if not isinstance(cache_size, str):
            n_bytes = cache_size * MEGABYTE
        elif m * self._row_bytes <= BLOCK:
            n_bytes = BLOCK
        else:
            n_bytes = SHARE * available_memory()
        self.capacity = int(min(m, n_bytes / self._row_bytes))
        if self.capacity < 1:
            raise CacheTooSmallError(n_bytes / MEGABYTE, self._row_bytes / MEGABYTE)
        self._n_slots = 0  # that have been used
        self._granted = self.capacity if cache_size != "auto" else BLOCK // self._row_bytes
        self.values = np.empty((self.capacity, m), dtype=dtype)
        self.slot_of = np.full(m, -1)
        self.slot_used = np.full(self.capacity, -1)
        self._owner = np.full(self.capacity, -1)
        self.round = 0
        self.n_computed = 0

    def load(self, needed: NDArray, welcome: NDArray) -> None:
        """Bring in the rows ``needed``; fill the last block up with rows that may be ``welcome``.

        Both hold distinct points that are not in the cache, in order of importance. What does not
        fit is left out.
        """
        self._share_memory(len(needed))
        needed = needed[: self.capacity]
        points = np.concatenate([needed, welcome[filling(needed, welcome)]])[: self.capacity]
        slots = np.argsort(self.slot_used[: self.capacity], kind="stable")[: len(points)]
        self._n_slots = max(self._n_slots, slots.max(initial=-1) + 1)

        evicted = self._owner[slots]
        self.slot_of[evicted[evicted >= 0]] = -1
        self._owner[slots] = points
        self.slot_of[points] = slots
        self.slot_used[slots] = self.round
        fill(self._kernel, self._points, points, self.values, slots, self._pool, self._zeros)
        self.n_computed += len(points)

    def _share_memory(self, n_more: int) -> None:
        """Let the cache grow no more where others have taken the memory that was free."""
        n_slots = min(self._n_slots + n_more, self.capacity)
        if n_slots > self._granted:
            self._granted = n_slots + BLOCK // self._row_bytes
            free = available_memory() + self._n_slots * self._row_bytes
            if self._granted * self._row_bytes > SHARE * free:
                self.capacity = max(self._n_slots, min(self.capacity, UNIT))
