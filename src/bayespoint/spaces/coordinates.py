"""Coordinates of the training points, read a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, blas, cholesky, lapack

from bayespoint.exceptions import KernelError
from bayespoint.gpu import linear_algebra as on_device
from bayespoint.gpu.arrays import to_device
from bayespoint.kernels import Kernel
from bayespoint.tools.arrays import Array, is_tensor, namespace, squares, to_host
from bayespoint.tools.attributes import integer, need, number
from bayespoint.tools.stability import EXTENDING, unstable

ALL = slice(None)
SMALL = 64  # triangle that LAPACK inverts as fast as any
PART = 4096  # rows a part: products with a thousand coordinates take 32 MB
DEVICE_PART = 16_384  # rows a part on a device


@unstable(EXTENDING)
class Coordinates:
    """The rows Z of the training points in some basis, so that outputs are f = Z w.

    Sums over all points should be computed over parts: only this class knows where rows come
    from. They may be dense, sparse (CSR), or a tensor on a device, where sums are then taken;
    numbers of points and weights are NumPy arrays in any case, factors of matrices stay there.

    Parameters
    ----------
    Z : array, sparse array or tensor of shape (n_points, n_coordinates)
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

    is_single: ClassVar[bool] = False  # whether rows are in float32 where they are read

    def __init__(self, Z: Any) -> None:
        self.Z_ = Z

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return self.Z_.shape[0]

    @property
    def n_coordinates(self) -> int:
        """Number of weights."""
        return self.Z_.shape[1]

    @property
    def device(self) -> Any:
        """The device on which the rows are; None in NumPy."""
        return self.Z_.device if is_tensor(self.Z_) else None

    @property
    def largest(self) -> float:
        """The largest absolute value of a coordinate."""
        sizes = (max(rows.max(), -rows.min()) for _, rows in self.native_parts() if min(rows.shape))
        return float(max(sizes, default=0.0))

    def native_parts(self) -> Iterator[tuple[slice, Any]]:
        """Consecutive blocks of rows where they are, each with the slice of its points."""
        size = PART if self.device is None else DEVICE_PART
        for begin in range(0, self.n_points, size):
            own = slice(begin, min(begin + size, self.n_points))
            yield own, self.native_rows(own)

    def parts(self) -> Iterator[tuple[slice, Any]]:
        """The same in NumPy."""
        return ((own, to_host(rows)) for own, rows in self.native_parts())

    def rows(self, which: slice | NDArray[np.intp] = ALL) -> Any:
        """The rows of some points, or of all; do not write into them."""
        return to_host(self.native_rows(which))

    def native_rows(self, which: slice | NDArray[np.intp]) -> Array:
        """The same where they are."""
        rows = self.Z_[which]
        return rows.astype(np.float32) if self.is_single else rows

    def in_single(self) -> Coordinates:
        """The same points, a part of which at a time is rounded to float32 where it is read."""
        points = Coordinates(self.Z_)
        vars(points)["is_single"] = True
        return points

    def there(self, values: Any) -> Array:
        """Numbers where the rows are, in the type that these have."""
        if self.device is None:
            return values.astype(np.float32 if self.is_single else self.Z_.dtype, copy=False)
        return to_device(values, self.device, self.Z_.dtype)

    def _zeros(self, *shape: int) -> Array:
        """Zeros where the rows are."""
        return np.zeros(shape) if self.device is None else self.Z_.new_zeros(shape)

    def outputs(self, weights: NDArray) -> NDArray[np.float64]:
        """Z w of all points, for one vector of weights or for each column of a matrix."""
        outputs = np.empty((self.n_points, *weights.shape[1:]))
        moved = self.there(weights)
        for own, rows in self.native_parts():
            outputs[own] = to_host(rows @ moved)
        return outputs

    def pull(self, forces: NDArray) -> NDArray[np.float64]:
        """Z^T s, what forces s on the outputs are to the weights."""
        return to_host(self._pull(forces))

    def _pull(self, forces: NDArray) -> Array:
        pull = self._zeros(self.n_coordinates, *forces.shape[1:])
        moved = self.there(forces)
        for own, rows in self.native_parts():
            pull += rows.T @ moved[own]
        return pull

    def curvature(self, rate: NDArray) -> NDArray[np.float64]:
        """Z^T diag(rate) Z; rows whose rate is 0 take no time."""
        return to_host(self.native_curvature(rate))

    def native_curvature(self, rate: NDArray) -> Array:
        """The same where the rows are."""
        total = self._zeros(self.n_coordinates, self.n_coordinates)
        if self.device is not None:  # which need not wait for the host between parts
            moved = self.there(rate)[:, None]
            for own, rows in self.native_parts():
                total.addmm_((rows * moved[own]).T, rows)
            return (total + total.T) / 2
        for own, rows in self.native_parts():
            for told, sign in ((rate[own] > 0, 1.0), (rate[own] < 0, -1.0)):
                if told.any():
                    some = rows if told.all() else rows[np.flatnonzero(told)]
                    roots = np.sqrt(np.abs(rate[own][told])).astype(rows.dtype, copy=False)
                    scaled = some * roots[:, None]
                    # A product of a matrix with its own transpose takes half the time of others.
                    total += sign * dense(scaled.T @ scaled)
        return total

    def variances(self, factor: Any, *, is_triangular: bool) -> NDArray[np.float64]:
        """Squared length of F^T z for every point; an upper triangular F takes half the time."""
        variances = np.empty(self.n_points)
        F = self.there(factor)
        for own, rows in self.native_parts():
            if self.device is not None:
                variances[own] = to_host(squares(rows @ F))
                continue
            trmm = blas.strmm if rows.dtype == np.float32 else blas.dtrmm
            spread = trmm(1.0, F.T, rows.T, lower=1) if is_triangular else F.T @ rows.T
            variances[own] = np.einsum("dn,dn->n", spread, spread)
        return variances

    def posterior_root(self, rate: NDArray, prior: NDArray) -> Any:
        """F, upper triangular, with F F^T the inverse of Z^T diag(rate) Z + prior.

        The prior is a matrix, or its diagonal. On a device F is a tensor, and stays there. Raises a
        LinAlgError if the sum is not positive definite.
        """
        precision = self.native_curvature(rate)
        diagonal = namespace(precision).einsum("ii->i", precision)
        changed = diagonal if prior.ndim == 1 else precision
        changed += self.there(prior)
        return inverse_root(precision)

    def covary(self, factor: Any, forces: NDArray) -> NDArray[np.float64]:
        """F F^T Z^T s, how far forces s on the outputs move weights of this covariance."""
        return to_host(factor @ (factor.T @ self._pull(forces)))

    def gram(self) -> NDArray[np.float64]:
        """Z Z^T, the inner products of all pairs of points."""
        Z = self.rows()
        return dense(Z @ Z.T)


def inverse_root(precision: Array) -> Array:
    """F, upper triangular, with F F^T the inverse of a matrix, which may be overwritten.

    A LinAlgError says that the matrix, of which the lower half is read, is not positive definite.
    """
    if is_tensor(precision):
        return on_device.inverse_root(precision)
    if not np.isfinite(precision).all():
        raise LinAlgError("the matrix overflows")
    L = cholesky(precision, lower=True, overwrite_a=True, check_finite=False)
    return inverse_lower(L).T


def inverse_lower(L: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of a lower triangular matrix; by parts, LAPACK takes twice the time."""
    half = len(L) // 2
    if len(L) <= SMALL:
        return lapack.dtrtri(L, lower=1)[0]
    first, second = inverse_lower(L[:half, :half]), inverse_lower(L[half:, half:])
    inverse = np.zeros(L.shape, order="F")
    inverse[:half, :half], inverse[half:, half:] = first, second
    between = blas.dtrmm(-1.0, second, L[half:, :half], lower=1)
    inverse[half:, :half] = blas.dtrmm(1.0, first, between, lower=1, side=1)
    return inverse


def dense(matrix: Any) -> NDArray[np.float64]:
    """A matrix as an array, if it is sparse."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def linear_features(kernel: Any, X: Any) -> Any:
    """The features of a linear kernel, with or without a constant one, as they are in its unit."""
    if sparse.issparse(X):
        return sparse_features(kernel, X)
    points = kernel.prepare(X)
    if points.log_unit:
        points.rows[:] *= np.exp2(points.log_unit / 2)  # a power of two: exact, and in place
    return points.rows


def sparse_features(kernel: Any, X: Any) -> Any:
    """The same of a sparse array."""
    if kernel.normalize:
        raise KernelError(
            "normalize=True is not written for sparse features. Scale the rows yourself, for "
            "instance with scikit-learn's Normalizer."
        )
    if not X.has_canonical_format:
        X = X.copy()  # SciPy sorts in place, also to find a maximum; the user's array must stay
        X.sum_duplicates()
    gamma, coef0 = kernel.linear_form
    X = sparse.csr_array(X) if gamma == 1 else sparse.csr_array(X * np.sqrt(gamma))
    return with_constant(X, np.sqrt(coef0)) if coef0 > 0 else X


def with_constant(X: Any, constant: float) -> Any:
    """A sparse array with one more, constant column; several times as fast as ``hstack``."""
    n, d = X.shape
    begin = X.indptr + np.arange(n + 1, dtype=X.indptr.dtype)
    is_new = np.zeros(begin[-1], dtype=bool)
    is_new[begin[1:] - 1] = True
    data = np.full(len(is_new), constant)
    column = np.full(len(is_new), d, dtype=X.indices.dtype)
    data[~is_new], column[~is_new] = X.data, X.indices
    return sparse.csr_array((data, column, begin), shape=(n, d + 1))


def check_space(space: Any) -> None:
    """Raise an error unless a space has a kernel and a ridge."""
    need(isinstance(space.kernel, Kernel), "its kernel is not a Kernel")
    if not isinstance(space.ridge, str) or space.ridge != "mean":
        number(space.ridge, 0)
    if space.n_components is not None and space.n_components != "auto":
        integer(space.n_components, 1)
