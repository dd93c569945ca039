"""A partial pivoted Cholesky decomposition, which never forms the kernel matrix.

H. Harbrecht, M. Peters and R. Schneider, On the low-rank approximation by the pivoted Cholesky
decomposition, Applied Numerical Mathematics 62, 2012. Pivots are chosen in blocks here, so that all
work is matrix products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cholesky, lapack

from bayespoint.exceptions import KernelError
from bayespoint.kernels import Kernel, Points, in_plain_units
from bayespoint.threads import ThreadPool, stop_if_cancelled, thread_pool

RANK_TOLERANCE = 1e-10  # squared distances to the span below this share of the largest are rounding
PSD_TOLERANCE = 1e-6  # what is left of K beyond its rank: rounding stays far below this share
BLOCKS = 4  # in which pivots are chosen, if there are many: each is a pass over the data
SMALLEST_BLOCK = 64  # pivots
CANDIDATES = 4  # of which one is chosen: more come closer to the largest remainders of all points
SHARE = 0.01  # of the largest remainder at which the next candidates are better ones
TIES = 1e-9  # share of a remainder by which the last candidate must exceed the first
PART = 1024  # rows that one thread prepares at a time


class PartialFactor(NamedTuple):
    """Z with Z Z^T about K; Z[pivots] is lower triangular.

    ``left`` is the largest of the remainders k(x, x) - |z(x)|^2 of the training points.
    """

    Z: NDArray[np.float64]
    pivots: NDArray[np.int64]
    points: Points
    left: float


def partial_cholesky(kernel: Kernel, X: NDArray, n_components: int) -> PartialFactor:
    """Gram-Schmidt basis of at most ``n_components`` of the points, in n M^2 operations.

    The next pivots are taken from a pool of candidates with large remainders, the largest of the
    pool first. It ends before M if nothing remains of any point.
    """
    decomposition = Decomposition(kernel, X, n_components)
    with thread_pool() as pool:
        while decomposition.grows(pool):
            pass
    return decomposition.result()


class Decomposition:
    """The decomposition so far: coordinates of all points, and the remainders of k(x, x)."""

    def __init__(self, kernel: Kernel, X: NDArray, n_components: int) -> None:
        self.kernel, self.X, self.most = kernel, X, n_components
        # A matrix can only be prepared as a whole, which copies nothing.
        self._matrix = kernel.prepare(X, training=True) if kernel.is_precomputed else None
        self.remainder = self._diagonal()
        self.largest = float(self.remainder.max(initial=0.0))
        self.Z = np.empty((len(X), n_components))
        self.pivots = np.empty(0, dtype=np.int64)
        self.block = max(SMALLEST_BLOCK, -(-n_components // BLOCKS))

    def grows(self, pool: ThreadPool) -> bool:
        """Add a block of pivots; False if there is none to add."""
        n_before = len(self.pivots)
        candidates = self._candidates()
        if n_before == self.most or len(candidates) == 0:
            return False
        chosen, factor = self._choose(candidates)
        basis = self._take(chosen)
        known = self.Z[chosen, :n_before]
        starts = range(0, len(self.X), PART)
        pool.map(self._extend, starts, basis, known, factor)
        self.pivots = np.append(self.pivots, chosen)
        self.remainder[chosen] = 0.0
        lowest = self.remainder.min()
        if lowest < -PSD_TOLERANCE * self.largest:
            raise KernelError(
                f"The kernel is not positive semi-definite: a squared distance of {lowest:.3g} "
                f"appeared, where the largest k(x, x) is {self.largest:.3g}. Use another kernel."
            )
        return True

    def result(self) -> PartialFactor:
        """What was found."""
        Z = self.Z if len(self.pivots) == self.most else self.Z[:, : len(self.pivots)].copy()
        points = self._take(self.pivots)
        return PartialFactor(Z, self.pivots, points, float(self.remainder.max(initial=0.0)))

    def _candidates(self) -> NDArray[np.int64]:
        """Points with large remainders: the largest, or some of many that are about as large.

        Those are evenly spaced, since neighbours in a table are often alike.
        """
        size = CANDIDATES * self.block
        top = self.remainder.max(initial=0.0)
        order = np.argsort(-np.round(self.remainder / (TIES * (top or 1.0))), kind="stable")
        order = order[: np.count_nonzero(self.remainder > RANK_TOLERANCE * self.largest)]
        order = order[: max(size, np.count_nonzero(self.remainder >= top / 2))]
        return order[np.linspace(0, len(order) - 1, min(size, len(order))).astype(np.intp)]

    def _choose(self, candidates: NDArray) -> tuple[NDArray, NDArray]:
        """The next pivots, and their triangle."""
        points = self._take(candidates)
        known = self.Z[candidates, : len(self.pivots)]
        K = self._values(points, points) - known @ known.T
        tol = max(RANK_TOLERANCE * self.largest, SHARE * K.diagonal().max())
        # Equal remainders are equal but for rounding: the first candidate wins, whatever it does.
        handicap = TIES * K.diagonal() * np.linspace(0, 1, len(K))
        _, order, rank, _ = lapack.dpstrf(K - np.diag(handicap), tol=tol, lower=1)
        order = order[: min(rank, self.block, self.most - len(self.pivots))] - 1
        return candidates[order], cholesky(K[np.ix_(order, order)], lower=True)

    def _extend(self, start: int, basis: Points, known: NDArray, factor: NDArray) -> None:
        """Coordinates of some points along the new pivots."""
        stop_if_cancelled()
        own, n_before = slice(start, start + PART), known.shape[1]
        new = self.kernel.prepare(self.X[own].astype(np.float64, copy=False))
        values = self._values(new, basis)
        values -= self.Z[own, :n_before] @ known.T
        # The rows z = L^-1 k, as columns of a matrix in Fortran's order.
        values = blas.dtrsm(1.0, factor, values.T, lower=1, overwrite_b=1).T
        self.Z[own, n_before : n_before + values.shape[1]] = values
        self.remainder[own] -= np.einsum("nd,nd->n", values, values)

    def _values(self, left: Points, right: Points) -> NDArray[np.float64]:
        values = self.kernel.block(left, right).astype(np.float64, copy=False)
        return in_plain_units(values, left.log_unit, right.log_unit)

    def _diagonal(self) -> NDArray[np.float64]:
        """k(x, x) of all training points."""
        if self._matrix is not None:
            square = self._matrix.norm**2
            return in_plain_units(square, self._matrix.log_unit, self._matrix.log_unit)
        parts = [self.X[start : start + PART] for start in range(0, len(self.X), PART)]
        return np.concatenate([self.kernel.diag(part.astype(np.float64)) for part in parts])

    def _take(self, which: Any) -> Points:
        """Some of the training points, prepared."""
        if self._matrix is not None:
            return self._matrix.take(which)
        return self.kernel.prepare(self.X[which].astype(np.float64), training=True)
