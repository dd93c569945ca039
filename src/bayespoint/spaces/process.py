"""The basis space of a Gaussian process, with the part of new points outside the span."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from bayespoint.kernels import Points, in_plain_units
from bayespoint.spaces.basis import BasisSpace
from bayespoint.tools.arrays import Array, namespace

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

    def fit(self, X: Array, pivots: NDArray | None = None) -> ProcessSpace:
        """Find the basis and set ``Z_``, the coordinates of the training points."""
        super().fit(X, pivots)
        if self._has_rest:
            self.Z_ = with_column(self.Z_, namespace(self.Z_).zeros_like(self.Z_[:, 0]))
        return self

    @property
    def has_device_form(self) -> bool:  # type: ignore[override]
        """Whether ``transform`` takes points on a device."""
        return self.kernel.works_on_devices

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

    def _project(self, new: Points) -> Array:
        Z = super()._project(new)
        if not self._has_rest:
            return Z
        xp, square = namespace(Z), in_plain_units(new.norm**2, new.log_unit, new.log_unit)
        rest = square - self.left - xp.einsum("nd,nd->n", Z, Z)
        return with_column(Z, xp.sqrt(xp.clip(rest, 0, None)))


def with_column(Z: Array, column: Array) -> Array:
    """Z with one more column."""
    return namespace(Z).concatenate([Z, column[:, None]], axis=1)
