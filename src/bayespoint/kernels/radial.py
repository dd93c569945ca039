"""Kernels of the distance of two points: their common part, and the Gaussian (rbf) kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels.points import Points, known_gamma, lengths
from bayespoint.kernels.profile import ProfileKernel
from bayespoint.tools.arrays import Array, beside, cast, namespace, to_host
from bayespoint.tools.attributes import finite


class DistanceKernel(ProfileKernel):
    r"""A function h(t) of :math:`t = -\sum_j \gamma_j (x_j - x'_j)^2 \le 0` with h(0) = 1.

    Distances are computed by one matrix product: with :math:`z = \sqrt{2 \gamma}\, x`,
    :math:`t = z \cdot z' - |z|^2 / 2 - |z'|^2 / 2`. Subclasses give h and its derivative h'.

    Parameters
    ----------
    gamma : float, array-like of shape (n_features,), "scale" or "features", default=1.0
        Inverse of twice the squared width, for all features or for each. "scale" is
        1 / (n_features Var X) and "features" is 1 / n_features of the training points X.
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.

    Attributes
    ----------
    centre_ : ndarray of shape (n_features,) or None
        Mean of the training points, which is subtracted from all points to compute distances
        accurately. Set by :meth:`fitted`.
    """

    centre_: NDArray | None = None

    @property
    def factor(self) -> Any:
        """The square root of 2 gamma."""
        return np.sqrt(2 * known_gamma(self))

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        super().check_state()
        if self.centre_ is not None:
            finite(self.centre_, "d")

    def fitted(self, X: Array) -> Any:
        """Return a new kernel with gamma and the mean of the training points."""
        kernel = super().fitted(X)
        with np.errstate(over="ignore"):  # `prepare` raises the error
            centre = X.mean(axis=0, dtype=namespace(X).float64)
            kernel.centre_ = to_host(cast(centre, X.dtype))
        return kernel

    def moved(self, X: Array) -> Array:
        """Inputs less the centre."""
        return X if self.centre_ is None else cast(X - beside(X, self.centre_), X.dtype)

    def reach(self, z: Array) -> Array:
        """Twice the squared length, so that a point's side is half of it."""
        return 2 * lengths(z) ** 2

    def exponent(self, left: Points, right: Points) -> Array:
        """The exponents t = z.z' - |z|^2/2 - |z'|^2/2, at most 0 despite rounding."""
        assert left.side is not None and right.side is not None
        t = left.rows @ right.rows.T
        t -= left.side[:, None] + right.side  # one sum, so that k(x, x') = k(x', x)
        return namespace(t).clip(t, None, 0, out=t)

    def distance_sums(self, left: Array, right: Array, weight: NDArray) -> NDArray:
        r"""Of :math:`(z_{ij} - z_{i'j})^2 / 2`, by one matrix product."""
        squares = weight.sum(axis=1) @ np.square(left) + weight.sum(axis=0) @ np.square(right)
        return squares / 2 - np.einsum("nd,nd->d", left, weight @ right)

    def onnx_values(self, X: Any, points: Points) -> Any:
        """h(t), as nodes of an ONNX graph.

        No product with a single number before a matrix product: ONNX Runtime would fuse both, with
        the number in float32, and small differences of large exponents would be lost.
        """
        gamma = np.broadcast_to(known_gamma(self), X.graph.n_features)
        away = X if self.centre_ is None else X - self.centre_
        rows = points.rows.astype(np.float64)
        t = away @ (rows * np.sqrt(2 * gamma)).T - (away * away) @ gamma[:, None]
        return self.profile((t - np.square(rows).sum(axis=1) / 2).at_most(0.0))


class RadialKernel(DistanceKernel):
    r"""The Gaussian kernel, :math:`k(x, x') = \exp(-\sum_j \gamma_j (x_j - x'_j)^2)`.

    Parameters
    ----------
    gamma : float, array-like of shape (n_features,), "scale" or "features", default=1.0
        Inverse of twice the squared width, for all features or for each. "scale" is
        1 / (n_features Var X) and "features" is 1 / n_features of the training points X.
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.

    Attributes
    ----------
    centre_ : ndarray of shape (n_features,) or None
        Mean of the training points, which is subtracted from all points to compute distances
        accurately. Set by :meth:`fitted`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> RadialKernel(gamma=0.5)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.1353]])
    >>> RadialKernel(gamma="scale").fitted(np.array([[0.0], [2.0]]))
    RadialKernel()
    """

    def profile(self, t: Array) -> Array:
        """Exp t."""
        return namespace(t).exp(t, out=t)

    def profile_slope(self, t: Array) -> Array:
        """Exp t."""
        return namespace(t).exp(t)
