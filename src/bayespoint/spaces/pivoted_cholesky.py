"""A partial pivoted Cholesky decomposition, which never forms the kernel matrix.

E. N. Epperly, J. A. Tropp and R. J. Webber, Embrace rejection: Kernel matrix approximation by
accelerated randomly pivoted Cholesky, 2024: pivots come in blocks, so that all work is matrix
products, and in proportion to what the basis so far leaves of the points. Here nothing is random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cholesky, lapack

from bayespoint.exceptions import KernelError
from bayespoint.gpu.arrays import to_device, to_host, to_numpy
from bayespoint.gpu.coordinates import PART as DEVICE_PART
from bayespoint.gpu.coordinates import solve_lower
from bayespoint.gpu.devices import is_tensor
from bayespoint.gpu.float64_kernels import (
    diagonal,
    host_points,
    prepare,
    take,
    values,
)
from bayespoint.kernels import Kernel, Points, in_plain_units
from bayespoint.tools.threads import ThreadPool, stop_if_cancelled, thread_pool

RANK_TOLERANCE = 1e-10  # squared distances to the span below this share of the largest are rounding
PSD_TOLERANCE = 1e-6  # what is left of K beyond its rank: rounding stays far below this share
# The same in units of the rounding error of K. Float32 matrices X X^T of up to 1 500 points and 784
# features, of mean 0 or 10, have their rank at 100 and leave less than 1 000.
RANK_ROUNDING, PSD_ROUNDING = 100, 10_000
BLOCKS = 4  # in which pivots are chosen, if there are many: each is a pass over the data
SMALLEST_BLOCK = 64  # pivots
CANDIDATES = 2  # of which one is chosen: best of 1, 2 and 4 in log-loss on most of six data sets
OFFSET = 0.618  # of the sample, so that rounding does not decide where all remainders are equal
SHARE = 0.01  # of the largest remainder at which the next candidates are better ones
TIES = 1e-9  # share of a remainder by which the last candidate must exceed the first
PART = 1024  # rows that one thread prepares at a time


class PartialFactor(NamedTuple):
    """Z with Z Z^T about K; Z[pivots] is lower triangular.

    ``left`` is the largest of the remainders k(x, x) - |z(x)|^2 of the training points. Z is a
    tensor if these are one.
    """

    Z: Any
    pivots: NDArray[np.int64]
    points: Points
    left: float


def tolerances(kernel: Kernel, X: Any) -> tuple[float, float]:
    """Shares of the largest k(x, x): of distances that are 0, and of what may be left of K.

    Values are computed in float64, unless they were given.
    """
    kind = str(X.dtype).removeprefix("torch.") if kernel.is_precomputed else np.float64
    rounding = float(np.finfo(kind).eps)
    rank, psd = RANK_ROUNDING * rounding, PSD_ROUNDING * rounding
    return max(RANK_TOLERANCE, rank), max(PSD_TOLERANCE, psd)


def check_not_zero(largest: float) -> None:
    """Raise an error if k(x, x) is 0 for all training points."""
    if largest == 0:
        raise KernelError(
            "All kernel values are 0: every training point is zero in feature space, and nothing "
            "can be learned. Use another kernel, a constant feature (coef0 > 0), or a ridge > 0."
        )


def partial_cholesky(
    kernel: Kernel, X: Any, n_components: int, first: NDArray | None = None
) -> PartialFactor:
    """Gram-Schmidt basis of at most ``n_components`` of the points, in n M^2 operations.

    The next pivots are taken from a sample of candidates, the one with the largest remainder first.
    It ends before M if nothing remains of any point. Points ``first`` are pivots before all others.
    A tensor of points is worked on where it is.
    """
    kind = DeviceDecomposition if is_tensor(X) else Decomposition
    decomposition = kind(kernel, X, n_components)
    with thread_pool() as pool:
        if first is not None:
            decomposition.add(*decomposition.choose(first, share=0.0), pool)
        while decomposition.grows(pool):
            pass
    return decomposition.result()


class Decomposition:
    """The decomposition so far: coordinates of all points, and the remainders of k(x, x)."""

    def __init__(self, kernel: Kernel, X: Any, n_components: int) -> None:
        self.kernel, self.X, self.most = kernel, X, n_components
        # A matrix can only be prepared as a whole, which copies nothing.
        is_array = kernel.is_precomputed and not is_tensor(X)
        self._matrix = kernel.prepare(X, training=True) if is_array else None
        self.rank_tolerance, self.psd_tolerance = tolerances(kernel, X)
        self.remainder = self._diagonal()
        self.largest = float(self.remainder.max(initial=0.0))
        check_not_zero(self.largest)
        self.Z = self._table(len(X), n_components)
        self.pivots = np.empty(0, dtype=np.int64)
        self.block = max(SMALLEST_BLOCK, -(-n_components // BLOCKS))

    def grows(self, pool: ThreadPool) -> bool:
        """Add a block of pivots; False if there is none to add."""
        n_before = len(self.pivots)
        candidates = self._candidates()
        if n_before == self.most or len(candidates) == 0:
            return False
        self.add(*self.choose(candidates, SHARE), pool)
        return True

    def add(self, chosen: NDArray, factor: NDArray, pool: ThreadPool) -> None:
        """Add pivots, whose triangle is ``factor``."""
        known = self.Z[chosen, : len(self.pivots)]
        self._extend_all(self._take(chosen), known, factor, pool)
        self.pivots = np.append(self.pivots, chosen)
        self.remainder[chosen] = 0.0
        lowest = self.remainder.min()
        if lowest < -self.psd_tolerance * self.largest:
            raise KernelError(
                f"The kernel is not positive semi-definite: a squared distance of {lowest:.3g} "
                f"appeared, where the largest k(x, x) is {self.largest:.3g}. Use another kernel."
            )

    def result(self) -> PartialFactor:
        """What was found."""
        Z = self.Z
        if len(self.pivots) < self.most:
            Z = self._table(len(Z), len(self.pivots))
            Z[:] = self.Z[:, : len(self.pivots)]
        left = float(self.remainder.max(initial=0.0))
        return PartialFactor(Z, self.pivots, self._host_points(), left)

    def _candidates(self) -> NDArray[np.int64]:
        """A systematic sample of the points, in proportion to their remainders, without chance.

        Only the largest ones would be outliers. Evenly spaced points represent a sorted table.
        """
        least = self.rank_tolerance * self.largest
        remainder = np.where(self.remainder > least, self.remainder, 0.0)
        total = remainder.cumsum()
        steps = (np.arange(CANDIDATES * self.block) + OFFSET) / (CANDIDATES * self.block)
        sample = np.searchsorted(total, steps * total[-1]) if total[-1] > 0 else steps[:0]
        return np.unique(sample).astype(np.int64)

    def choose(self, candidates: NDArray, share: float) -> tuple[NDArray, NDArray]:
        """The next pivots, down to this share of the largest remainder, and their triangle."""
        points = self._take(candidates)
        known = self.Z[candidates, : len(self.pivots)]
        K = to_numpy(self._values(points, points) - known @ known.T)
        tol = max(self.rank_tolerance * self.largest, share * K.diagonal().max())
        # Equal remainders are equal but for rounding: the first candidate wins, whatever it does.
        handicap = TIES * K.diagonal() * np.linspace(0, 1, len(K))
        _, order, rank, _ = lapack.dpstrf(K - np.diag(handicap), tol=tol, lower=1)
        most = self.block if share else len(K)
        order = order[: min(rank, most, self.most - len(self.pivots))] - 1
        return candidates[order], cholesky(K[np.ix_(order, order)], lower=True)

    def _extend_all(self, basis: Points, known: Any, factor: NDArray, pool: ThreadPool) -> None:
        pool.map(self._extend, range(0, len(self.X), PART), basis, known, factor)

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

    def _host_points(self) -> Points:
        """The points of the basis."""
        return self._take(self.pivots)

    def _table(self, n: int, n_columns: int) -> Any:
        """Room for coordinates."""
        return np.empty((n, n_columns))


class DeviceDecomposition(Decomposition):
    """The same with the points and their coordinates on a device; the same pivots are chosen."""

    def _extend_all(self, basis: Points, known: Any, factor: NDArray, pool: ThreadPool) -> None:
        factor = to_device(factor, self.X.device)
        for start in range(0, len(self.X), DEVICE_PART):
            own, n_before = slice(start, start + DEVICE_PART), known.shape[1]
            new = self._values(prepare(self.kernel, self.X[own]), basis)
            new = solve_lower(factor, new.addmm_(self.Z[own, :n_before], known.T, alpha=-1))
            self.Z[own, n_before : n_before + new.shape[1]] = new
            self.remainder[own] -= to_host(new.square().sum(dim=1))

    def _values(self, left: Points, right: Points) -> Any:
        return values(self.kernel, left, right)

    def _diagonal(self) -> NDArray[np.float64]:
        parts = [slice(i, i + DEVICE_PART) for i in range(0, len(self.X), DEVICE_PART)]
        return np.concatenate([to_host(diagonal(self.kernel, self.X, own)) for own in parts])

    def _take(self, which: Any) -> Points:
        return take(self.kernel, self.X, which)

    def _host_points(self) -> Points:
        return host_points(self.kernel, self.X, self.pivots)

    def _table(self, n: int, n_columns: int) -> Any:
        import torch

        return self.X.new_empty((n, n_columns), dtype=torch.float64)
