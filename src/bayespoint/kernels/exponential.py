"""Kernels along the axes, of |x_j - x'_j|: their common part, and the exponential kernel."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.points import (
    Points,
    check_gamma,
    gamma_from_data,
    known_gamma,
    positions,
    scale_gamma,
)
from bayespoint.kernels.ranks import Ranks
from bayespoint.tools.arrays import Array, beside, cast, is_tensor, largest, namespace
from bayespoint.tools.attributes import need
from bayespoint.tools.validation import check_flag


class AxesKernel(Kernel):
    r"""A function h(t) of :math:`t = -\sum_j \gamma_j |x_j - x'_j| \le 0` with h(0) = 1.

    Functions of such kernels have kinks along the axes, as have those of trees. Subclasses give h
    and its derivative h'.

    Parameters
    ----------
    gamma : float, array-like of shape (n_features,), "scale" or "features", default=1.0
        Inverse width, for all features or for each. "scale" is 1 / (n_features s), where s is the
        standard deviation of all training points X, and "features" is 1 / n_features.
    ranks : bool, default=False
        Whether each feature becomes its rank among its values in training, between 0 and 1. So
        monotone changes of a feature do not matter.
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.

    Attributes
    ----------
    ranks_ : Ranks or None
        The map to ranks. Set by :meth:`fitted`.
    """

    ranks_: Ranks | None = None
    positive_parameters = ("gamma",)
    works_on_devices = True

    def __init__(
        self, *, gamma: ArrayLike | str = 1.0, ranks: bool = False, normalize: bool = False
    ) -> None:
        super().__init__(normalize=normalize)
        self.gamma = gamma
        self.ranks = ranks

    @abstractmethod
    def profile(self, t: Array) -> Array:
        """h(t), also of nodes of an ONNX graph; may overwrite t."""

    @abstractmethod
    def profile_slope(self, t: Array) -> Array:
        """h'(t)."""

    @property
    def factor(self) -> Any:
        """What features are multiplied by."""
        return known_gamma(self)

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        check_gamma(self, by_feature=True)
        check_flag(self, "ranks")

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        super().check_state()
        need(isinstance(self.ranks_, Ranks | None), "its ranks are not Ranks")

    def fitted(self, X: Array) -> Any:
        """Return a new kernel with gamma and the ranks of the training points."""
        kernel = super().fitted(X)
        inputs = X
        if self.ranks:
            kernel.ranks_ = Ranks.of(X)
            inputs = kernel.ranks_.transform(X)
        if isinstance(self.gamma, str) and self.gamma == "scale":
            kernel.gamma = float(np.sqrt(scale_gamma(inputs) / X.shape[1]))
        else:
            kernel.gamma = gamma_from_data(self.gamma, X)
        return kernel

    def prepare(self, X: Array, *, unit: bool = False, training: bool = False) -> Points:
        """Features, or their ranks, times gamma."""
        xp, factor = namespace(X), self.factor
        z = X if self.ranks_ is None else self.ranks_.transform(X)
        with np.errstate(over="ignore"):
            z = z * cast(beside(X, factor), X.dtype)
            farthest = 2.0 * largest(z) * z.shape[1]
        if not farthest < np.finfo(str(z.dtype).removeprefix("torch.")).max:
            raise KernelError(
                f"gamma |x| overflows {X.dtype} for features as large as {largest(X):.2g} "
                f"at gamma={np.max(factor):.2g}. Scale the features or lower gamma."
            )
        norm = xp.ones(len(z), dtype=xp.float64, device=z.device)
        return Points(z, norm, 0.0, positions(z))

    def block(self, left: Points, right: Points) -> Array:
        """h(t) of all pairs."""
        return self.profile(exponent(left, right))

    def derivative(self, left: Points, right: Points, name: str) -> Array | None:
        """Dk / d log gamma = t h'(t), since t is proportional to gamma."""
        if name != "gamma":
            return None
        t = exponent(left, right)
        return t * self.profile_slope(t)

    def slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        """One number for each feature that has its own gamma."""
        if np.ndim(self.gamma) == 0:
            return super().slope(left, right, name, pull)
        P = pull * self.profile_slope(exponent(left, right))
        pairs = zip(left.rows.T, right.rows.T, strict=True)
        return np.array([-np.vdot(P, np.abs(a[:, None] - b)) for a, b in pairs])

    def onnx_values(self, X: Any, points: Points) -> Any:
        """h(t), as nodes of an ONNX graph."""
        z = (X if self.ranks_ is None else self.ranks_.onnx_ranks(X)) * self.factor
        apart = abs(z.reshape(0, 1, -1) - points.rows.astype(np.float64))
        return self.profile(-apart.sum(2, keep=False))


class ExponentialKernel(AxesKernel):
    r"""The exponential kernel, :math:`k(x, x') = \exp(-\sum_j \gamma_j |x_j - x'_j|)`.

    It is the Matern kernel of order 1/2 with the sum of the distances along the axes. Functions
    are rough, with interactions of all features: in the limit, what forests of random trees of
    axis-parallel cuts average to (M. Balog, B. Lakshminarayanan, Z. Ghahramani, D. M. Roy and
    Y. W. Teh, *The Mondrian Kernel*, 2016).

    Parameters
    ----------
    gamma : float, array-like of shape (n_features,), "scale" or "features", default=1.0
        Inverse width, for all features or for each. "scale" is 1 / (n_features s), where s is the
        standard deviation of all training points X, and "features" is 1 / n_features.
    ranks : bool, default=False
        Whether each feature becomes its rank among its values in training, between 0 and 1. So
        monotone changes of a feature do not matter.
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.

    Attributes
    ----------
    ranks_ : Ranks or None
        The map to ranks. Set by :meth:`fitted`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import ExponentialKernel
    >>> ExponentialKernel(gamma=0.5)(np.array([[0.0, 0.0]]), np.array([[0.0, 2.0]])).round(4)
    array([[0.3679]])
    """

    def profile(self, t: Array) -> Array:
        """Exp t."""
        return namespace(t).exp(t, out=t)

    def profile_slope(self, t: Array) -> Array:
        """Exp t."""
        return namespace(t).exp(t)


def exponent(left: Points, right: Points) -> Array:
    """The exponents t = -sum_j |z_j - z'_j|."""
    if is_tensor(left.rows):
        return -namespace(left.rows).cdist(left.rows, right.rows, p=1.0)
    return -cdist(left.rows, right.rows, "cityblock").astype(left.rows.dtype, copy=False)
