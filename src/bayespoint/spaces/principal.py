"""The basis space, turned into its principal axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from bayespoint.spaces.basis import BasisSpace


class PrincipalSpace(BasisSpace):
    r"""Coordinates along the principal axes of the training points: Z^T Z is diagonal.

    For engines that look at one coordinate at a time, such as max-marginals: which coordinates
    these are then does not depend on the order of the points. Z is :math:`V \sqrt{e}` for
    :math:`K + \lambda I = V \mathrm{diag}(e) V^T`. Linear features stay as they are.

    Parameters
    ----------
    kernel, ridge, n_components
        As in :class:`BasisSpace`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> from bayespoint.spaces import PrincipalSpace
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> Z = PrincipalSpace(RadialKernel(gamma=0.5)).fit(X).Z_
    >>> (Z.T @ Z).round(3) + 0.0
    array([[1.624, 0.   , 0.   ],
           [0.   , 0.995, 0.   ],
           [0.   , 0.   , 0.381]])
    """

    _axes: NDArray[np.float64]

    def fit(self, X: NDArray, pivots: NDArray | None = None) -> PrincipalSpace:
        """Find the basis and set ``Z_``, the coordinates of the training points."""
        super().fit(X, pivots)
        if not self.is_linear:
            # Largest first; in the order of a pickle, so that products of copies are equal.
            self._axes = np.ascontiguousarray(eigh(self.Z_.T @ self.Z_)[1][:, ::-1])
            self.Z_ = self.Z_ @ self._axes
        return self

    def transform(self, X: NDArray) -> NDArray:
        """Coordinates z(x) of new points."""
        Z = super().transform(X)
        return Z if self.is_linear else Z @ self._axes

    def onnx_coordinates(self, X: Any) -> Any:
        """Coordinates z(x) of new points X, as nodes of an ONNX graph."""
        Z = super().onnx_coordinates(X)
        return Z if self.is_linear else Z @ self._axes

    def primal(self, weights: NDArray) -> NDArray:
        """Weights of (x, 1), or of x without a constant, if the kernel is linear."""
        return super().primal(weights if self.is_linear else self._axes @ weights)
