"""Kernels of an exponent and of the distance: their common parts, and the Gaussian (rbf) kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
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


@dataclass(eq=False, repr=False, kw_only=True)
class ProfileKernel(Kernel):
    r"""A function h(t) of an exponent :math:`t = -\sum_j \gamma_j d(x_j, x'_j) \le 0`, h(0) = 1.

    Subclasses give h and its derivative h' (``profile``, ``profile_slope``), and for the distance d
    the inputs z (``moved`` times ``factor``), t of them (``exponent``), and its largest size
    (``reach``).

    Parameters
    ----------
    gamma : float, array-like of shape (n_features,), "scale" or "features", default=1.0
        Factor of the distances, for all features or for each.
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.
    """

    gamma: ArrayLike | str = 1.0
    positive_parameters = ("gamma",)
    works_on_devices = True

    @abstractmethod
    def profile(self, t: Array) -> Array:
        """h(t), also of nodes of an ONNX graph; may overwrite t."""

    @abstractmethod
    def profile_slope(self, t: Array) -> Array:
        """h'(t)."""

    @property
    @abstractmethod
    def factor(self) -> Any:
        """What inputs are multiplied by."""

    @abstractmethod
    def moved(self, X: Array) -> Array:
        """Inputs before they are multiplied."""

    @abstractmethod
    def exponent(self, left: Points, right: Points) -> Array:
        """The exponents t of all pairs."""

    @abstractmethod
    def reach(self, z: Array) -> Array:
        """-t between each row z and -z: no exponent is larger."""

    @abstractmethod
    def distance_sums(self, left: Array, right: Array, weight: NDArray) -> NDArray:
        """The weighted sum of gamma_j d over all pairs, for each feature."""

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        check_gamma(self, by_feature=True)

    def fitted(self, X: Array) -> Any:
        """Return a new kernel with gamma for the training points."""
        kernel = super().fitted(X)
        kernel.gamma = gamma_from_data(self.gamma, X)
        return kernel

    def prepare(self, X: Array, *, unit: bool = False, training: bool = False) -> Points:
        """Scale the inputs; ``side`` is a quarter of the reach."""
        xp, factor = namespace(X), self.factor
        with np.errstate(over="ignore"):
            z = self.moved(X) * cast(beside(X, factor), X.dtype)
            reach = cast(self.reach(z), X.dtype)
        if not xp.isfinite(reach).all():
            raise KernelError(
                f"Distances overflow {X.dtype} for features as large as {largest(X):.2g} at "
                f"gamma={np.max(self.gamma):.2g}. Scale the features or lower gamma."
            )
        norm = xp.ones(len(z), dtype=xp.float64, device=z.device)
        return Points(z, norm, 0.0, positions(z), reach / 4)

    def block(self, left: Points, right: Points) -> Array:
        """h(t) of all pairs."""
        return self.profile(self.exponent(left, right))

    def derivative(self, left: Points, right: Points, name: str) -> Array | None:
        """Dk / d log gamma = t h'(t), since t is proportional to gamma."""
        if name != "gamma":
            return None
        t = self.exponent(left, right)
        return t * self.profile_slope(t)

    def slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        """One number for each feature that has its own gamma."""
        if np.ndim(self.gamma) == 0:
            return super().slope(left, right, name, pull)
        weight = pull * self.profile_slope(self.exponent(left, right))
        return -self.distance_sums(left.rows, right.rows, weight)


@dataclass(eq=False, repr=False, kw_only=True)
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

    centre_: NDArray | None = field(default=None, init=False)

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
        """The exponents ``t = z.z' - |z|^2/2 - |z'|^2/2``, at most 0 despite rounding."""
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
