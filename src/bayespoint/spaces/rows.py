"""Kernel rows k(x_i, .) of the training points, computed in blocks and kept while there is room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import CacheTooSmallError
from bayespoint.kernels import Kernel, Points
from bayespoint.spaces.tiles import UNIT, fill
from bayespoint.threads import ThreadPool

MEGABYTE = 1e6


class RowCache:
    """The most recently used kernel rows, at most ``cache_size`` megabytes of them.

    Parameters
    ----------
    kernel : Kernel
        Computes them.
    points : Points
        The training points.
    cache_size : float
        Megabytes for rows.
    pool : ThreadPool
        Blocks of rows are computed on its threads.

    Attributes
    ----------
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
    >>> from bayespoint.threads import thread_pool
    >>> space = DualSpace(PolynomialKernel()).fit(np.eye(3))
    >>> with thread_pool(1) as pool:
    ...     cache = space.rows(cache_size=1.0, pool=pool)
    ...     cache.load(np.array([2]), np.array([], dtype=int))
    >>> cache.values[cache.slot_of[2]], cache.n_computed
    (array([0., 0., 1.]), 1)
    """

    def __init__(self, kernel: Kernel, points: Points, cache_size: float, pool: ThreadPool) -> None:
        self._kernel, self._points, self._pool = kernel, points, pool
        m, dtype = len(points), points.rows.dtype
        row_size = m * dtype.itemsize / MEGABYTE
        self.capacity = min(m, int(cache_size / row_size))
        if self.capacity < 1:
            raise CacheTooSmallError(cache_size, row_size)
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
        needed = needed[: self.capacity]
        room = min(-len(needed) % UNIT, self.capacity - len(needed))
        points = np.concatenate([needed, welcome[:room]])
        slots = np.argsort(self.slot_used, kind="stable")[: len(points)]

        evicted = self._owner[slots]
        self.slot_of[evicted[evicted >= 0]] = -1
        self._owner[slots] = points
        self.slot_of[points] = slots
        self.slot_used[slots] = self.round
        fill(self._kernel, self._points.take(points), self._points, self.values, slots, self._pool)
        self.n_computed += len(points)
