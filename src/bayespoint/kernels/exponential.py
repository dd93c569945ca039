"""Kernels along the axes, of |x_j - x'_j|: their common part, and the exponential kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bayespoint.kernels.points import Points, known_gamma
from bayespoint.kernels.radial import ProfileKernel
from bayespoint.kernels.ranks import Ranks
from bayespoint.tools.arrays import Array, is_tensor, namespace
from bayespoint.tools.attributes import need
from bayespoint.tools.validation import check_flag


@dataclass(eq=False, repr=False, kw_only=True)
class AxesKernel(ProfileKernel):
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

    ranks: bool = False
    ranks_: Ranks | None = field(default=None, init=False)

    @property
    def factor(self) -> Any:
        """Gamma."""
        return known_gamma(self)

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        check_flag(self, "ranks")

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        super().check_state()
        need(isinstance(self.ranks_, Ranks | None), "its ranks are not Ranks")

    def fitted(self, X: Array) -> Any:
        """Return a new kernel with gamma and the ranks of the training points."""
        ranks = Ranks.of(X) if self.ranks else None
        inputs = X if ranks is None else ranks.transform(X)
        kernel = super().fitted(inputs)
        kernel.ranks_ = ranks
        if isinstance(self.gamma, str) and self.gamma == "scale":
            kernel.gamma = float(np.sqrt(kernel.gamma / X.shape[1]))
        return kernel

    def moved(self, X: Array) -> Array:
        """Features, or their ranks."""
        return X if self.ranks_ is None else self.ranks_.transform(X)

    def reach(self, z: Array) -> Array:
        """Twice the sum of the sizes."""
        return 2 * abs(z).sum(axis=1)

    def exponent(self, left: Points, right: Points) -> Array:
        """The exponents ``t = -sum_j |z_j - z'_j|``."""
        if is_tensor(left.rows):
            return -namespace(left.rows).cdist(left.rows, right.rows, p=1.0)
        return -cdist(left.rows, right.rows, "cityblock").astype(left.rows.dtype, copy=False)

    def distance_sums(self, left: Array, right: Array, weight: NDArray) -> NDArray:
        """Of ``|z_j - z'_j|``, feature by feature."""
        pairs = zip(left.T, right.T, strict=True)
        return np.array([np.vdot(weight, np.abs(a[:, None] - b)) for a, b in pairs])

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
