"""The space of a Gaussian process: what lies outside the span of the training points counts."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from bayespoint.kernels import Points, in_plain_units
from bayespoint.spaces.basis import BasisSpace
from bayespoint.spaces.values import Values, values_at
from bayespoint.tools.arrays import Array, float64, namespace, squares, with_column
from bayespoint.tools.attributes import number
from bayespoint.tools.numbers import TINY

DEVICE_BYTES, DEVICE_POINTS = 2**30, 65_536  # of coordinates on a device at a time, and points
# Share of the points in a basis from which what it leaves of the others can count as noise. With
# less, most labels would say little.
MOSTLY = 0.4


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
    than of those it was trained on.) If the ``noise`` of labels is set, and the basis has two
    fifths of the points, what is left of a training point counts as noise of its label instead
    (E. Snelson and Z. Ghahramani, Sparse Gaussian processes using pseudo-inputs, 2006), and all of
    it counts at new points. Then neither is more certain than the other.

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
    noise: float | None = None  # of labels, over the prior scale, if what is left is to add to it

    def fit(self, X: Array, pivots: NDArray | None = None) -> ProcessSpace:
        """Find the basis and set ``Z_``, the coordinates of the training points."""
        super().fit(X, pivots)
        if not (self.has_basis and self.has_rest and len(self._points) >= MOSTLY * len(X)):
            self.noise = None
        if self.noise is not None:
            self.left = 0.0
            self.Z_ = self._in_noise(self._beside_rest(self.Z_, self.kernel.prepare(float64(X))))
        elif self.has_rest:
            self.Z_ = with_column(self.Z_, namespace(self.Z_).zeros_like(self.Z_[:, 0]))
        return self

    def labelled(self, X: Array) -> Array:
        r"""Coordinates of points with labels, whose messages are about these.

        The label of a point with r left has noise :math:`\sqrt{\beta^2 + r^2}`. With z over
        :math:`\sqrt{1 + r^2 / \beta^2}`, its noise is :math:`\beta`.
        """
        return self._in_noise(self.transform(X))

    def _in_noise(self, Z: Array) -> Array:
        if self.noise is not None:
            Z = Z / namespace(Z).sqrt(1 + (Z[:, -1:] / self.noise) ** 2)
            Z[:, -1] = 0.0
        return Z

    def values(self) -> Values:
        """A function of new points: kernel values at the basis and k(x, x), quicker than z(x)."""
        return values_at(self.kernel, self._points)

    @property
    def has_device_form(self) -> bool:  # type: ignore[override]
        """Whether ``transform`` takes points on a device."""
        return self.kernel.works_on_devices

    def device_chunk(self, n_features: int) -> int:
        """How many points to transform at a time on a device."""
        width = n_features if self.is_linear else max(n_features, len(self._points))
        return max(1024, min(DEVICE_POINTS, DEVICE_BYTES // (8 * width)))

    def onnx_coordinates(self, X: Any) -> Any:
        """Coordinates z(x) of new points X, as nodes of an ONNX graph."""
        Z = super().onnx_coordinates(X)
        if not self.has_rest:
            return Z
        rest = self.kernel.onnx_diagonal(X) - self.left - (Z * Z).sum(1)
        return Z.beside(rest.at_least(0.0).sqrt())

    def primal(self, weights: NDArray) -> NDArray:
        """Weights of (x, 1), or of x without a constant, if the kernel is linear."""
        return super().primal(weights[:-1] if self.has_rest else weights)

    def check_state(self) -> None:
        """Raise an error unless there are as many coordinates as basis points."""
        super().check_state()
        number(1.0 if self.noise is None else self.noise, TINY)

    @property
    def has_rest(self) -> bool:
        """Whether there is a coordinate for what lies outside the span."""
        return not self.is_linear and not self.kernel.is_precomputed

    def _project(self, new: Points) -> Array:
        Z = super()._project(new)
        return self._beside_rest(Z, new) if self.has_rest else Z

    def _beside_rest(self, Z: Array, new: Points) -> Array:
        xp, square = namespace(Z), in_plain_units(new.norm**2, new.log_unit, new.log_unit)
        rest = square - self.left - squares(Z)
        return with_column(Z, xp.sqrt(xp.clip(rest, 0, None)))
