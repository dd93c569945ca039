"""The basis space of a Gaussian process, with the part of new points outside the span."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.gpu.arrays import copy_on, to_host
from bayespoint.gpu.coordinates import (
    PART,
    DeviceCoordinates,
    load_solvers,
    solve_lower,
    with_column,
)
from bayespoint.gpu.devices import is_tensor
from bayespoint.gpu.float64_kernels import (
    host_points,
    points_on,
    prepare,
    squares,
    take,
    values,
)
from bayespoint.gpu.kernels import has_device_form
from bayespoint.gpu.pivoted_cholesky import pivoted_cholesky
from bayespoint.kernels import Points, in_plain_units
from bayespoint.spaces.basis import BasisSpace, check_factor, check_range, check_room
from bayespoint.spaces.pivoted_cholesky import check_not_zero, partial_cholesky, tolerances

BYTES, MOST = 2**30, 65_536  # of coordinates on a device at a time, and points


class ProcessSpace(BasisSpace):
    r"""The basis space, and one more coordinate for what of a new point lies outside the span.

    The coordinates z(x) of a new point are its projection on the training points. What is left has
    the length :math:`\sqrt{k(x, x) - |z(x)|^2}`. No label says anything about weights out there:
    they keep their prior, and the output has the variance of the Gaussian process,
    :math:`z^T \Sigma z + \tau^2 (k(x, x) - |z|^2)`. The coordinate is 0 at training points. (It is
    one for all new points, so their joint law is not that of the process; each alone is.)

    With a basis of some points (``n_components``) a training point, too, has something left, which
    the model neglects. So does a new point: what is left is counted from the largest of the
    training points on. (To count all of it would make the model far less certain of new points
    than of those it was trained on.)

    Linear features are no projection and have no such coordinate, nor do the rows of a precomputed
    kernel, which do not tell k(x, x).

    Parameters
    ----------
    kernel, ridge, n_components
        As in :class:`BasisSpace`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> from bayespoint.spaces import ProcessSpace
    >>> space = ProcessSpace(RadialKernel(gamma=0.5)).fit(np.array([[0.0], [1.0]]))
    >>> space.transform(np.array([[0.0], [0.5], [9.0]])).round(3)
    array([[1.   , 0.   , 0.   ],
           [0.882, 0.437, 0.175],
           [0.   , 0.   , 1.   ]])
    """

    keeps_gram = True
    device_dtype = "float64"

    def fit(self, X: NDArray, pivots: NDArray | None = None) -> ProcessSpace:
        """Find the basis and set ``Z_``, the coordinates of the training points."""
        super().fit(X, pivots)
        if self._has_rest:
            self.Z_ = np.column_stack([self.Z_, np.zeros(len(self.Z_))])
        return self

    def fit_on_device(self, X: Any) -> ProcessSpace:
        """Find the basis of a tensor's points; coordinates stay on its device, in ``on_device``."""
        load_solvers(X)
        most = self._most_components(len(X))
        if self.is_linear:
            self.on_device = prepare(self.kernel, X).rows
            check_range(self.on_device)
            return self
        if most is not None:
            Z, self.pivots, self._points, self.left = partial_cholesky(self.kernel, X, most)
            order = self.pivots
        else:
            Z, order = self._decompose(X)
            self._points = host_points(self.kernel, X, order)
        self._factor = to_host(Z[order])
        check_factor(self._factor)
        self.on_device = with_column(Z, 0.0) if self._has_rest else Z
        return self

    def _decompose(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Z with Z Z^T = K + lambda I on the device, and its pivots."""
        check_room(len(X))
        every = take(self.kernel, X, slice(None))
        K = X.new_empty((len(X), len(X)), dtype=every.rows.dtype)
        for begin in range(0, len(X), PART):
            own = slice(begin, begin + PART)
            K[own] = values(self.kernel, prepare(self.kernel, X[own]), every)
        K.diagonal().add_(K.trace() / len(K) if self.ridge == "mean" else float(self.ridge))
        largest = float(K.diagonal().max())
        check_not_zero(largest)
        rank_tolerance, psd_tolerance = tolerances(self.kernel, X)
        Z, pivots = pivoted_cholesky(K, rank_tolerance * largest)
        left = float(max(K.max(), -K.min()))
        if left > psd_tolerance * largest:
            raise KernelError(
                f"The kernel is not positive semi-definite: {left:.3g} is left of its matrix, "
                f"whose largest value is {largest:.3g}. Use another kernel, or a ridge."
            )
        return Z, to_host(pivots)

    def transform(self, X: Any) -> Any:
        """Coordinates z(x) of new points, an array or a tensor on a device, where these stay."""
        if not is_tensor(X):
            return super().transform(X)
        points = prepare(self.kernel, X)
        Z: Any = points.rows
        if not self.is_linear:
            found = values(self.kernel, points, points_on(X.device, self._points))
            Z = solve_lower(copy_on(X.device, self._factor), found)
        if self._has_rest:
            rest = squares(points) - self.left - Z.square().sum(dim=1)
            Z = with_column(Z, rest.clamp_(min=0).sqrt_())
        check_range(Z)
        return DeviceCoordinates(Z)

    @property
    def has_device_form(self) -> bool:  # type: ignore[override]
        """Whether ``transform`` takes points on a device."""
        return has_device_form(self.kernel)

    def device_chunk(self, n_features: int) -> int:
        """How many points to transform at a time on a device."""
        width = n_features if self.is_linear else max(n_features, len(self._factor))
        return max(1024, min(MOST, BYTES // (8 * width)))

    def onnx_coordinates(self, X: Any) -> Any:
        """Coordinates z(x) of new points X, as nodes of an ONNX graph."""
        Z = super().onnx_coordinates(X)
        if not self._has_rest:
            return Z
        rest = self.kernel.onnx_diagonal(X) - self.left - (Z * Z).sum(1)
        return Z.beside(rest.at_least(0.0).sqrt())

    def primal(self, weights: NDArray) -> NDArray:
        """Weights of (x, 1), or of x without a constant, if the kernel is linear."""
        return super().primal(weights[:-1] if self._has_rest else weights)

    @property
    def _has_rest(self) -> bool:
        return not self.is_linear and not self.kernel.is_precomputed

    def _project(self, new: Points) -> NDArray:
        Z = super()._project(new)
        if not self._has_rest:
            return Z
        square = in_plain_units(new.norm**2, new.log_unit, new.log_unit)
        rest = square - self.left - np.einsum("nd,nd->n", Z, Z)
        return np.column_stack([Z, np.sqrt(np.maximum(rest, 0.0))])
