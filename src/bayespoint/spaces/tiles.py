"""Large blocks of kernel values, computed in tiles that stay in the processor's cache.

Every matrix product here has a fixed shape, ``UNIT`` rows by ``TILE`` columns (or a part of the
rows), and runs on one BLAS thread; several tiles run side by side. Apart from speed this makes a
kernel value depend on its two points alone, to the bit: the rounding of a BLAS product changes with
its shape and with its number of threads. It can also change with the place: OpenBLAS for AVX2 sums
float32 products of every second ``STRIPE`` of rows in the opposite order. So points of even number
have the even stripes, and those of odd number the odd ones; a column has one place in any case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels import Kernel, Points
from bayespoint.tools.threads import ThreadPool, stop_if_cancelled

STRIPE = 6  # rows that BLAS sums alike: two of them, or a third, are a tile of its own
UNIT = 144  # rows a product; 512 would be a fifth faster, but asks for more rows than are needed
EDGE = 48  # smaller products have multiples of this: BLAS sums what its own tiles leave otherwise
TILE = 512  # columns a product: UNIT x TILE in float32 is 288 kB, and fits a level-2 cache


def fill(
    kernel: Kernel, points: Points, which: NDArray, out: NDArray, where: NDArray, pool: ThreadPool
) -> None:
    """Write the kernel rows of the points ``which`` into the rows ``where`` of ``out``."""
    # Part of a unit is enough for few rows, and rounds alike where no product is small: BLAS has
    # another way for those.
    multiple = EDGE if len(points) >= TILE else UNIT
    order = in_stripes(which)
    order = np.pad(order, (0, -len(order) % multiple), constant_values=-1)
    units = []
    for some in np.split(order, range(UNIT, len(order), UNIT)):
        used = np.flatnonzero(some >= 0)
        units.append((points.take(which[some]), used, where[some[used]]))
    starts = np.arange(0, len(points), TILE)
    shares = np.array_split(starts, min(len(starts), 4 * pool.n_threads))
    pool.map(_fill_tiles, shares, kernel, units, points, out)


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
    units: list[tuple[Points, NDArray, NDArray]],
    right: Points,
    out: NDArray,
) -> None:
    for start in starts:
        stop_if_cancelled()
        end = min(start + TILE, len(right))
        begin = max(end - TILE, 0)  # the last tile overlaps its neighbour rather than be narrower
        tile = padded(right.take(slice(begin, end)), EDGE if len(right) < TILE else TILE)
        for unit, used, rows in units:
            block = kernel.block(unit, tile)
            out[rows, start:end] = block[used, start - begin : end - begin]
