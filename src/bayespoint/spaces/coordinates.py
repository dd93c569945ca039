"""Coordinates of the training points, read a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, blas, cholesky, lapack

from bayespoint.gpu import coordinates as device
from bayespoint.gpu.arrays import to_host

ALL = slice(None)
PART = 4096  # rows a part: products with a thousand coordinates take 32 MB


class Coordinates:
    """The rows Z of the training points in some basis, so that outputs are f = Z w.

    Sums over all points should be computed over parts: only this class knows where rows come
    from. They may be dense or sparse (CSR).

    Parameters
    ----------
    Z : array or sparse array of shape (n_points, n_coordinates)
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.spaces import Coordinates
    >>> space = Coordinates(np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]))
    >>> space.outputs(np.array([1.0, 10.0]))
    array([ 1., 12., 30.])
    >>> space.pull(np.array([1.0, 1.0, 0.0]))
    array([3., 1.])
    >>> space.curvature(np.array([1.0, 1.0, 0.0]))
    array([[5., 2.],
           [2., 1.]])
    """

    on_device: Any = None  # the rows as a tensor on a GPU, where sums are then taken

    def __init__(self, Z: Any) -> None:
        self.Z_ = Z

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return self._table.shape[0]

    @property
    def n_coordinates(self) -> int:
        """Number of weights."""
        return self._table.shape[1]

    @property
    def _table(self) -> Any:
        return self.Z_ if self.on_device is None else self.on_device

    @property
    def largest(self) -> float:
        """The largest absolute value of a coordinate."""
        if self.on_device is not None:
            return float(self.on_device.abs().max())
        sizes = (max(rows.max(), -rows.min()) for _, rows in self.parts() if min(rows.shape))
        return float(max(sizes, default=0.0))

    def parts(self) -> Iterator[tuple[slice, Any]]:
        """Consecutive blocks of rows, each with the slice of points that it belongs to."""
        for begin in range(0, self.n_points, PART):
            own = slice(begin, min(begin + PART, self.n_points))
            yield own, self.rows(own)

    def rows(self, which: slice | NDArray[np.intp] = ALL) -> Any:
        """The rows of some points, or of all; do not write into them."""
        return self.Z_[which] if self.on_device is None else to_host(self.on_device[which])

    def outputs(self, weights: NDArray) -> NDArray[np.float64]:
        """Z w of all points, for one vector of weights or for each column of a matrix."""
        if self.on_device is not None:
            return device.outputs(self.on_device, weights)
        outputs = np.empty((self.n_points, *weights.shape[1:]))
        for own, rows in self.parts():
            outputs[own] = rows @ weights
        return outputs

    def pull(self, forces: NDArray) -> NDArray[np.float64]:
        """Z^T s, what forces s on the outputs are to the weights."""
        if self.on_device is not None:
            return device.pull(self.on_device, forces)
        pull = np.zeros((self.n_coordinates, *forces.shape[1:]))
        for own, rows in self.parts():
            pull += rows.T @ forces[own]
        return pull

    def curvature(self, rate: NDArray) -> NDArray[np.float64]:
        """Z^T diag(rate) Z; rows whose rate is 0 take no time."""
        if self.on_device is not None:
            return to_host(device.curvature(self.on_device, rate))
        total = np.zeros((self.n_coordinates, self.n_coordinates))
        for own, rows in self.parts():
            for told, add in ((rate[own] > 0, np.add), (rate[own] < 0, np.subtract)):
                if told.any():
                    some = rows if told.all() else rows[told]
                    scaled = some * np.sqrt(np.abs(rate[own][told]))[:, None]
                    # A product of a matrix with its own transpose takes half the time of others.
                    add(total, dense(scaled.T @ scaled), out=total)
        return total

    def variances(self, factor: Any, *, is_triangular: bool) -> NDArray[np.float64]:
        """Squared length of F^T z for every point; an upper triangular F takes half the time."""
        if self.on_device is not None:
            return device.variances(self.on_device, factor)
        variances = np.empty(self.n_points)
        for own, rows in self.parts():
            if is_triangular:
                spread = blas.dtrmm(1.0, factor.T, rows.T, lower=1)
            else:
                spread = factor.T @ rows.T
            variances[own] = np.einsum("dn,dn->n", spread, spread)
        return variances

    def posterior_root(self, rate: NDArray, prior: NDArray) -> Any:
        """F, upper triangular, with F F^T the inverse of Z^T diag(rate) Z + prior.

        The prior is a matrix, or its diagonal. On a device F is a tensor, and stays there. Raises a
        LinAlgError if the sum is not positive definite.
        """
        if self.on_device is not None:
            return device.posterior_root(self.on_device, rate, prior)
        precision = self.curvature(rate)
        if prior.ndim == 1:
            precision[np.diag_indices_from(precision)] += prior
        else:
            precision += prior
        if not np.isfinite(precision).all():
            raise LinAlgError("the messages overflow")
        return inverse_root(precision)

    def covary(self, factor: Any, forces: NDArray) -> NDArray[np.float64]:
        """F F^T Z^T s, how far forces s on the outputs move weights of this covariance."""
        pull = self.pull(forces)
        if self.on_device is not None:
            return device.times_covariance(factor, pull)
        return factor @ (factor.T @ pull)

    def gram(self) -> NDArray[np.float64]:
        """Z Z^T, the inner products of all pairs of points."""
        Z = self.rows()
        return dense(Z @ Z.T)


def inverse_root(precision: NDArray) -> NDArray[np.float64]:
    """F, upper triangular, with F F^T the inverse of a matrix, which may be overwritten."""
    L = cholesky(precision, lower=True, overwrite_a=True, check_finite=False)
    return lapack.dtrtri(L, lower=1)[0].T


def dense(matrix: Any) -> NDArray[np.float64]:
    """A matrix as an array, if it is sparse."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix
