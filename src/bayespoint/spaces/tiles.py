"""Large blocks of kernel values, computed in tiles that stay in the processor's cache.

Every matrix product here has a fixed shape, ``UNIT`` rows by ``TILE`` columns (or half the rows),
and runs on one BLAS thread; several tiles run side by side. Apart from speed this makes a kernel
value depend on its two points alone, to the bit: the rounding of a BLAS product changes with its
shape and with its number of threads. (Not with every BLAS: the float32 product of OpenBLAS for AVX2
also rounds by the place in the block; see the page on limits.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels import Kernel, Points
from bayespoint.tools.threads import ThreadPool, stop_if_cancelled

UNIT = 128  # rows a product; 512 would be a fifth faster, but asks for more rows than are needed
EDGE = 64  # smaller products have multiples of this: BLAS sums what its own tiles leave otherwise
TILE = 512  # columns a product: UNIT x TILE in float32 is 256 kB, and fits a level-2 cache


def fill(
    kernel: Kernel, left: Points, right: Points, out: NDArray, where: NDArray, pool: ThreadPool
) -> None:
    """Write k(left, right) into the rows ``where`` of ``out``."""
    # Half a unit is enough for few rows, and rounds alike where no product is small: BLAS has
    # another way for those.
    multiple = EDGE if len(right) >= TILE else UNIT
    units = [
        padded(left.take(slice(start, start + UNIT)), multiple)
        for start in range(0, len(left), UNIT)
    ]
    starts = np.arange(0, len(right), TILE)
    shares = np.array_split(starts, min(len(starts), 4 * pool.n_threads))
    pool.map(_fill_tiles, shares, kernel, units, right, out, where)


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
    units: list[Points],
    right: Points,
    out: NDArray,
    where: NDArray,
) -> None:
    for start in starts:
        stop_if_cancelled()
        end = min(start + TILE, len(right))
        begin = max(end - TILE, 0)  # the last tile overlaps its neighbour rather than be narrower
        tile = padded(right.take(slice(begin, end)), EDGE)
        for number, unit in enumerate(units):
            rows = where[number * UNIT : (number + 1) * UNIT]
            block = kernel.block(unit, tile)
            out[rows, start:end] = block[: len(rows), start - begin : end - begin]
