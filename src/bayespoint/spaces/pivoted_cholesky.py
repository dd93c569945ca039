"""Pivoted Cholesky decompositions: of a kernel matrix, and a partial one that never forms it.

E. N. Epperly, J. A. Tropp and R. J. Webber, Embrace rejection: Kernel matrix approximation by
accelerated randomly pivoted Cholesky, 2024: pivots come in blocks, so that all work is matrix
products, and in proportion to what the basis so far leaves of the points. Here nothing is random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cholesky, eigvalsh, lapack

from bayespoint.exceptions import KernelError, in_bytes
from bayespoint.gpu import linear_algebra as on_device
from bayespoint.kernels import Kernel, Points, in_plain_units
from bayespoint.spaces.coordinates import DEVICE_PART
from bayespoint.tools.arrays import Array, beside, float64, is_tensor, namespace, squares, to_host
from bayespoint.tools.memory import check_fits
from bayespoint.tools.monitor import current_monitor
from bayespoint.tools.threads import ThreadPool, stop_if_cancelled, thread_pool

MATRICES = 6  # of the size of K that a fit holds at least: K, its factors, and the engine's own
LARGE = 2000  # points from which the matrix takes a second or more
AUTO_COMPONENTS = 1000  # of "auto", at most
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
            "All kernel values are 0: every training row is zero in feature space, and nothing "
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
    decomposition = Decomposition(kernel, X, n_components)
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
        self._matrix = kernel.prepare(X, training=True) if kernel.is_precomputed else None
        self._part = DEVICE_PART if is_tensor(X) else PART
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
        apply = map if is_tensor(self.X) else pool.map
        starts = range(0, len(self.X), self._part)
        arguments = self._take(chosen), known, beside(self.Z, factor)
        list(apply(lambda start: self._extend(start, *arguments), starts))
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
        return PartialFactor(Z, self.pivots, self._take(self.pivots), left)

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
        K = to_host(self._values(points, points) - known @ known.T)
        tol = max(self.rank_tolerance * self.largest, share * K.diagonal().max())
        # Equal remainders are equal but for rounding: the first candidate wins, whatever it does.
        handicap = TIES * K.diagonal() * np.linspace(0, 1, len(K))
        _, order, rank, _ = lapack.dpstrf(K - np.diag(handicap), tol=tol, lower=1)
        most = self.block if share else len(K)
        order = order[: min(rank, most, self.most - len(self.pivots))] - 1
        return candidates[order], cholesky(K[np.ix_(order, order)], lower=True)

    def _extend(self, start: int, basis: Points, known: Array, factor: Array) -> None:
        """Coordinates of some points along the new pivots."""
        stop_if_cancelled()
        own, n_before = slice(start, start + self._part), known.shape[1]
        new = self.kernel.prepare(float64(self.X[own]))
        values = self._values(new, basis)
        values -= self.Z[own, :n_before] @ known.T
        if is_tensor(values):
            values = on_device.solve_lower(factor, values)
        else:  # the rows z = L^-1 k, as columns of a matrix in Fortran's order
            values = blas.dtrsm(1.0, factor, values.T, lower=1, overwrite_b=1).T
        self.Z[own, n_before : n_before + values.shape[1]] = values
        self.remainder[own] -= to_host(squares(values))

    def _values(self, left: Points, right: Points) -> Array:
        values = float64(self.kernel.block(left, right))
        return in_plain_units(values, left.log_unit, right.log_unit)

    def _diagonal(self) -> NDArray[np.float64]:
        """k(x, x) of all training points."""
        if self._matrix is not None:
            square = self._matrix.norm**2
            return to_host(in_plain_units(square, self._matrix.log_unit, self._matrix.log_unit))
        starts = range(0, len(self.X), self._part)
        parts = (self.kernel.diag(float64(self.X[i : i + self._part])) for i in starts)
        return np.concatenate([to_host(part) for part in parts])

    def _take(self, which: Any) -> Points:
        """Some of the training points, prepared."""
        if self._matrix is not None:
            return self._matrix.take(which)
        return self.kernel.prepare(float64(self.X[which]), training=True)

    def _table(self, n: int, n_columns: int) -> Array:
        """Room for coordinates."""
        xp = namespace(self.X)
        return xp.empty((n, n_columns), dtype=xp.float64, device=self.X.device)


def gram_schmidt(
    K: Array, rank_tolerance: float, psd_tolerance: float
) -> tuple[Array, NDArray[np.int64]]:
    """Z with Z Z^T = K, and the pivots p, for which Z[p] is lower triangular.

    One triangle of K decides, so that rounding cannot make it asymmetric. Raises a KernelError if
    K is not positive semi-definite. A tensor is overwritten.
    """
    largest = float(abs(K.diagonal()).max())
    check_not_zero(largest)
    if is_tensor(K):
        Z, pivots = on_device.pivoted_cholesky(K, rank_tolerance * largest)
        left = float(abs(K).max())
        if left > psd_tolerance * largest:
            raise KernelError(
                f"The kernel is not positive semi-definite: {left:.3g} is left of its matrix, "
                f"whose largest value is {largest:.3g}. Use another kernel, or a ridge."
            )
        return Z, to_host(pivots)
    factor, pivots, rank, _ = lapack.dpstrf(K, tol=rank_tolerance * largest, lower=1)
    order = pivots - 1  # LAPACK counts from 1
    Z = np.empty((len(K), rank))
    Z[order] = np.tril(factor)[:, :rank]
    rest = order[rank:]
    if len(rest):
        left = K[np.ix_(rest, rest)] - Z[rest] @ Z[rest].T
        if np.abs(np.tril(left)).max() > psd_tolerance * largest:
            values = eigvalsh(K)
            raise KernelError(
                f"The kernel is not positive semi-definite: its matrix has the eigenvalue "
                f"{values[0]:.3g} beside the largest, {values[-1]:.3g}. Use another kernel, or a "
                f"ridge of at least {-values[0]:.3g}."
            )
    return Z, order[:rank]


def check_room(n_points: int) -> None:
    """Raise an error if the kernel matrix does not fit in memory; report a large one."""
    n_bytes = 8 * n_points**2
    check_fits(
        MATRICES * n_bytes,
        f"A posterior from the kernel matrix of {n_points} rows",
        f"set n_components='auto' or to a number such as {AUTO_COMPONENTS}, for a basis of so many "
        "rows, or take fewer rows, or engine='perceptron', which computes rows of the matrix "
        "as it needs them",
    )
    if n_points >= LARGE:
        current_monitor().tell(
            f"computing and factorising the kernel matrix of {n_points} rows, {in_bytes(n_bytes)}"
        )


def check_factor(factor: NDArray[np.float64]) -> None:
    """Raise an error if points of the basis have no length of their own."""
    if not (factor.diagonal() > 0).all():
        raise KernelError(
            "Kernel values are rounding errors: k(x, x') of equal rows is not k(x, x). Scale the "
            "features, or lower gamma."
        )


def check_basis(n_points: int, n_components: int) -> None:
    """Raise an error if the coordinates do not fit in memory; report that many are computed."""
    check_fits(
        2 * 8 * n_points * n_components,
        f"A posterior from {n_components} coordinates of each of {n_points} rows",
        "take a smaller n_components, or engine='perceptron'",
    )
    if n_points >= LARGE:
        current_monitor().tell(f"finding a basis of {n_components} of {n_points} rows")
