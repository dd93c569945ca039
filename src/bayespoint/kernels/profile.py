"""Kernels that are a function of one exponent: what those of distances and along axes share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.points import Points, check_gamma, gamma_from_data, positions
from bayespoint.tools.arrays import Array, beside, cast, largest, namespace


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
