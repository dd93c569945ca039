"""Weights in an orthonormal basis of the span of the training points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from bayespoint.exceptions import KernelError
from bayespoint.kernels import Kernel, PolynomialKernel, in_plain_units

RANK_TOLERANCE = 1e-10  # eigenvalues below this share of the largest are rounding errors of K


class BasisSpace:
    """Coordinates Z with Z Z^T = K: f = Z w, and w ~ N(0, I) is the Gaussian process prior.

    The linear kernel needs no kernel matrix: its basis is the features themselves, Z = (X, 1).
    Other kernels take K + ridge I = V diag(e) V^T, Z = V sqrt(e), and new points
    z(x) = k(x, .) V / sqrt(e): the ridge acts where a training point meets itself, never on a
    new point.

    Parameters
    ----------
    kernel : Kernel
        The inner product.
    ridge : float or "mean"
        lambda of k_lambda, in plain units of k; "mean" is the mean of k(x, x).

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> from bayespoint.spaces import BasisSpace
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> kernel = RadialKernel(gamma=0.5)
    >>> Z = BasisSpace(kernel).fit(X).transform(X)
    >>> np.allclose(Z @ Z.T, kernel(X, X))
    True
    """

    def __init__(self, kernel: Kernel, ridge: float | str = 0.0) -> None:
        self.kernel = kernel
        self.ridge = ridge

    def fit(self, X: NDArray) -> BasisSpace:
        """Find the basis and set ``Z_``, the coordinates of the training points."""
        X = X.astype(np.float64, copy=False)
        if self._is_linear:
            self.Z_ = self._features(X)
            return self
        self._points = self.kernel.prepare(X, training=True)
        unit = self._points.log_unit
        K = in_plain_units(self.kernel.block(self._points, self._points), unit, unit)
        # One triangle decides, so that rounding cannot make K asymmetric.
        ridge = K.trace() / len(K) if self.ridge == "mean" else float(self.ridge)
        values, vectors = eigh(K + ridge * np.eye(len(K)))
        largest = values[-1]
        if values[0] < -1e-6 * largest:  # rounding stays far below this
            raise KernelError(
                f"The kernel is not positive semi-definite: its matrix has the eigenvalue "
                f"{values[0]:.3g} beside the largest, {largest:.3g}. Use another kernel, or a "
                f"ridge of at least {-values[0]:.3g}."
            )
        kept = values > RANK_TOLERANCE * largest
        values, vectors = values[kept], vectors[:, kept]
        self._to_basis = vectors / np.sqrt(values)
        self.Z_ = vectors * np.sqrt(values)
        return self

    def transform(self, X: NDArray) -> NDArray:
        """Coordinates z(x) of new points."""
        X = X.astype(np.float64, copy=False)
        if self._is_linear:
            return self._features(X)
        new = self.kernel.prepare(X)
        values = self.kernel.block(new, self._points)
        return in_plain_units(values, new.log_unit, self._points.log_unit) @ self._to_basis

    def primal(self, weights: NDArray) -> NDArray:
        """The weight vectors themselves, if the kernel is linear: phi(x) = (x, 1)."""
        if self._is_linear:
            return weights
        features = self._points.rows * np.exp2(self._points.log_unit / 2)
        return features.T @ (self._to_basis @ weights)

    @property
    def _is_linear(self) -> bool:
        is_linear = isinstance(self.kernel, PolynomialKernel) and self.kernel.degree == 1
        return is_linear and self.ridge == 0

    def _features(self, X: NDArray) -> NDArray:
        points = self.kernel.prepare(X)
        return points.rows * np.exp2(points.log_unit / 2)
