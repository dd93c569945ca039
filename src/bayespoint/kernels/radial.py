"""Kernels of the distance of two points: their common part, and the Gaussian (rbf) kernel."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.points import (
    Points,
    check_gamma,
    gamma_from_data,
    known_gamma,
    lengths,
    positions,
)
from bayespoint.tools.arrays import Array, beside, cast, largest, namespace, to_host
from bayespoint.tools.attributes import finite


class DistanceKernel(Kernel):
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
    positive_parameters = ("gamma",)
    works_on_devices = True

    def __init__(self, *, gamma: ArrayLike | str = 1.0, normalize: bool = False) -> None:
        super().__init__(normalize=normalize)
        self.gamma = gamma

    @abstractmethod
    def profile(self, t: Array) -> Array:
        """h(t), also of nodes of an ONNX graph; may overwrite t."""

    @abstractmethod
    def profile_slope(self, t: Array) -> Array:
        """h'(t)."""

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        check_gamma(self, by_feature=True)

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        super().check_state()
        if self.centre_ is not None:
            finite(self.centre_, "d")

    def fitted(self, X: Array) -> Any:
        """Return a new kernel with gamma and the mean of the training points."""
        kernel = super().fitted(X)
        kernel.gamma = gamma_from_data(self.gamma, X)
        with np.errstate(over="ignore"):  # `prepare` raises the error
            centre = X.mean(axis=0, dtype=namespace(X).float64)
            kernel.centre_ = to_host(cast(centre, X.dtype))
        return kernel

    def prepare(self, X: Array, *, unit: bool = False, training: bool = False) -> Points:
        """Centre and scale the inputs; ``side`` is ``gamma |x - centre|^2``."""
        xp, gamma = namespace(X), known_gamma(self)
        z = X if self.centre_ is None else cast(X - beside(X, self.centre_), X.dtype)
        with np.errstate(over="ignore"):
            z = z * cast(beside(X, np.sqrt(2 * gamma)), X.dtype)
            largest_exponent = cast(2 * lengths(z) ** 2, X.dtype)  # between x and -x
        if not xp.isfinite(largest_exponent).all():
            raise KernelError(
                f"gamma |x|^2 overflows {X.dtype} for features as large as {largest(X):.2g} "
                f"at gamma={np.max(gamma):.2g}. Scale the features or lower gamma."
            )
        norm = xp.ones(len(z), dtype=xp.float64, device=z.device)
        return Points(z, norm, 0.0, positions(z), largest_exponent / 4)

    def block(self, left: Points, right: Points) -> Array:
        """``h(z.z' - |z|^2 / 2 - |z'|^2 / 2)``."""
        return self.profile(exponent(left, right))

    def derivative(self, left: Points, right: Points, name: str) -> Array | None:
        """Dk / d log gamma = t h'(t), since t is proportional to gamma."""
        if name != "gamma":
            return None
        t = exponent(left, right)
        return t * self.profile_slope(t)

    def slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        r"""One number for each feature that has its own gamma.

        With :math:`z_j = \sqrt{2 \gamma_j} x_j` and P = pull h', the sum of
        :math:`-P_{ii'} (z_{ij} - z_{i'j})^2 / 2` over all pairs takes one matrix product.
        """
        if np.ndim(self.gamma) == 0:
            return super().slope(left, right, name, pull)
        z, other = left.rows, right.rows
        P = pull * self.profile_slope(exponent(left, right))
        squares = P.sum(axis=1) @ np.square(z) + P.sum(axis=0) @ np.square(other)
        return np.einsum("nd,nd->d", z, P @ other) - squares / 2

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


def exponent(left: Points, right: Points) -> Array:
    """The exponents t = z.z' - |z|^2/2 - |z'|^2/2, at most 0 despite rounding."""
    assert left.side is not None and right.side is not None
    t = left.rows @ right.rows.T
    t -= left.side[:, None] + right.side  # one sum, so that k(x, x') = k(x', x)
    return namespace(t).clip(t, None, 0, out=t)
