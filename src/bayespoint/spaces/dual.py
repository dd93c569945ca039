"""Weights as combinations of training points, w = sum_i alpha_i phi(x_i)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels import Kernel, Points
from bayespoint.spaces.rows import RowCache
from bayespoint.spaces.tiles import UNIT, ThreadPool, fill, thread_pool


class DualSpace:
    """The span of the training points, with kernel rows on demand.

    Coordinates of a weight vector are its coefficients alpha; ``transform`` gives the
    inner products of phi(x)/|phi(x)| with the training points that carry weight, so that
    ``transform(X) @ alpha`` is <w, phi(x)> / |phi(x)|.

    Parameters
    ----------
    kernel : Kernel
        The inner product.
    ridge : float or "mean"
        lambda of k_lambda(x, x') = k(x, x') + lambda [x is x'], in plain units of k; "mean" is the
        mean of k(x, x). It acts only where a training point meets itself, never on a new point.
    """

    def __init__(self, kernel: Kernel, ridge: float | str = 0.0) -> None:
        self.kernel = kernel
        self.ridge = ridge

    def fit(self, X: NDArray) -> DualSpace:
        """Prepare the training points."""
        self.points: Points = self.kernel.prepare(X, training=True)
        return self

    @property
    def n_points(self) -> int:
        """Number of training points that are kept."""
        return len(self.points)

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """k(x_i, x_i) in the unit of the prepared points, without the ridge."""
        return self.points.norm**2

    @property
    def scaled_ridge(self) -> float:
        """The ridge in the unit of the prepared points."""
        if self.ridge == "mean":
            return float(self.diagonal.mean())
        return float(float(self.ridge) * np.exp2(-self.points.log_unit))

    def rows(self, cache_size: float, pool: ThreadPool) -> RowCache:
        """A cache of kernel rows, of at most ``cache_size`` megabytes."""
        return RowCache(self.kernel, self.points, cache_size, pool)

    def restrict(self, support: NDArray) -> DualSpace:
        """The same space with only the training points ``support`` kept."""
        space = DualSpace(self.kernel, self.ridge)
        space.points = self.points.take(support)
        return space

    def transform(self, X: NDArray) -> NDArray:
        """k(x, x_i) / |phi(x)| for each kept training point x_i."""
        new = self.kernel.prepare(X, unit=True)
        if len(new) < UNIT:
            return self.kernel.block(new, self.points)
        out = np.empty((len(new), len(self.points)), dtype=new.rows.dtype)
        with thread_pool() as pool:
            fill(self.kernel, new, self.points, out, np.arange(len(new)), pool)
        return out

    def primal(self, alpha: NDArray) -> NDArray:
        """The weight vectors themselves, if the kernel is linear: phi(x) = (x, 1)."""
        return self.points.rows.T @ alpha
