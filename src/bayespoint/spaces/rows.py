"""Kernel rows k(x_i, .) of the training points, computed in blocks and kept while there is room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import CacheTooSmallError
from bayespoint.kernels import Kernel, Points
from bayespoint.spaces.tiles import UNIT, fill, filling
from bayespoint.tools.memory import available_memory
from bayespoint.tools.threads import ThreadPool

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
        fill(self._kernel, self._points, points, self.values, slots, self._pool)
        self.n_computed += len(points)

    def _share_memory(self, n_more: int) -> None:
        """Let the cache grow no more where others have taken the memory that was free."""
        n_slots = min(self._n_slots + n_more, self.capacity)
        if n_slots > self._granted:
            self._granted = n_slots + BLOCK // self._row_bytes
            free = available_memory() + self._n_slots * self._row_bytes
            if self._granted * self._row_bytes > SHARE * free:
                self.capacity = max(self._n_slots, min(self.capacity, UNIT))
