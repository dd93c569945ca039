"""Kernels along the axes, of |x_j - x'_j|, also of ranks: exponential and additive."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint import _core
from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Points, QuickBlock
from bayespoint.kernels.radial import ProfileKernel, known_gamma
from bayespoint.tools.arrays import Array, beside, cast, float64, is_tensor, namespace, to_host
from bayespoint.tools.attributes import finite, need, shaped
from bayespoint.tools.validation import check_flag

MOST_KNOTS = 32  # of a feature; ranks between them are interpolated
APART = 2.0  # distance of the intervals [0, 1] of consecutive features on the common axis


@dataclass(frozen=True)
class Ranks:
    """A monotone map of each feature to its rank among its values, between 0 and 1.

    With k different values, the first has the rank 1 / 2k and the last 1 - 1 / 2k. It does not
    matter how often each occurs, and two levels are always 1/2 apart. Between knots the map is
    linear, and beyond the first and the last it is constant. All features are searched together:
    the feature of column j, scaled to [0, 1], starts at 2 j on a common axis.

    Attributes
    ----------
    low, width : ndarray of shape (n_features,)
        Smallest value and range of each feature; the range of a constant one is 1.
    knots, ranks : ndarray of shape (n_knots,)
        Places on the common axis, and the ranks there.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels.axes import Ranks
    >>> ranks = Ranks.of(np.array([[1.0], [10.0], [10.0], [100.0], [1000.0]]))
    >>> ranks.transform(np.array([[-5.0], [1.0], [5.5], [2000.0]]))
    array([[0.125],
           [0.125],
           [0.25 ],
           [0.875]])
    """

    low: NDArray[np.float64]
    width: NDArray[np.float64]
    knots: NDArray[np.float64]
    ranks: NDArray[np.float64]

    @classmethod
    def of(cls, X: Array) -> Ranks:
        """The ranks of these points."""
        X = to_host(X).astype(np.float64, copy=False)
        low, half = X.min(axis=0), X.max(axis=0) / 2 - X.min(axis=0) / 2  # ranges may overflow
        width = np.where(half > 0, half, 0.5) * 2.0
        columns = [knots_of(column, j) for j, column in enumerate(((X - low) / width).T)]
        return cls(low, width, *(np.concatenate(parts) for parts in zip(*columns, strict=True)))

    def transform(self, X: Array) -> Array:
        """The ranks of the features of new points, arrays or tensors."""
        xp, knots, ranks = namespace(X), beside(X, self.knots), beside(X, self.ranks)
        if not is_tensor(X):
            known = float64(X), self.low, self.width, knots, ranks, APART
            return cast(_core.distances.between_knots(*known), X.dtype)
        x = (float64(X) - beside(X, self.low)) / beside(X, self.width)
        x = xp.clip(x, 0.0, 1.0) + APART * xp.arange(X.shape[1], device=X.device)
        if len(knots) == 1:  # a single feature, which is constant
            return cast(ranks + 0 * x, X.dtype)
        k = xp.clip(xp.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        gap = knots[k + 1] - knots[k]
        # A constant feature has one knot, 2 before the next feature's: there is no way from it.
        share = xp.clip((x - knots[k]) / gap, 0.0, 1.0) * (gap < 1.5)
        return cast(ranks[k] + share * (ranks[k + 1] - ranks[k]), X.dtype)

    def onnx_ranks(self, X: Any) -> Any:
        """The same as nodes of an ONNX graph: steps up from knot to knot, of each its share."""
        owner = (self.knots / APART).astype(np.int64)
        inside = np.flatnonzero(np.diff(owner) == 0)
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        steps = np.zeros((len(inside), len(self.low)))
        steps[np.arange(len(inside)), owner[inside]] = np.diff(self.ranks)[inside]
        x = (X - self.low) / self.width
        x = x.graph.add("Gather", x, owner[inside], axis=1) - (self.knots - APART * owner)[inside]
        share = (x / np.diff(self.knots)[inside]).at_least(0.0).at_most(1.0)
        return share @ steps + self.ranks[first]

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.low, "d")
        finite(self.width, "d", **sizes)
        need((self.width > 0).all(), "a range is not positive")
        sizes = shaped(self.knots, "f", "k")
        finite(self.ranks, "k", **sizes)
        need((np.diff(self.knots) > 0).all(), "knots are not in order")
        owner = np.unique(self.knots // APART)
        need(np.array_equal(owner, np.arange(len(self.low))), "a feature has no knot")


def knots_of(column: NDArray[np.float64], j: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Some of the values of feature j on the common axis, and their ranks."""
    values = np.unique(column + APART * j)  # values that rounding makes equal there are one
    rank = (np.arange(len(values)) + 0.5) / len(values)
    some = spaced(len(values))
    return values[some], rank[some]


@cache
def spaced(n: int) -> NDArray[np.intp]:
    """Positions of the knots among n values."""
    return np.unique(np.linspace(0, n - 1, MOST_KNOTS).round().astype(np.intp))


@dataclass(eq=False, repr=False, kw_only=True)
class AxesKernel(ProfileKernel):
    r"""A function h(t) of :math:`t = -\sum_j \gamma_j |x_j - x'_j| \le 0` with h(0) = 1.

    Functions of such kernels have kinks along the axes, as those of trees have. Subclasses define h
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
        is_given = not isinstance(self.gamma, str)  # so that it does not depend on the ranks
        kernel = super().fitted(X if ranks is None or is_given else ranks.transform(X))
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
        both = float64(left.rows), np.ascontiguousarray(float64(right.rows).T)
        t = _core.distances.along_axes(*both)
        return np.negative(t, out=t).astype(left.rows.dtype, copy=False)

    def quick_block(self, points: Points) -> QuickBlock:
        """h(t); the distances of terms whose ratios of gamma are the same are computed once."""
        size, ranks = float(np.max(self.factor)), self.ranks_
        ratios = np.broadcast_to(self.factor / size, points.rows.shape[1])
        rows = np.ascontiguousarray(points.rows.T / size, dtype=np.float64)
        known = () if ranks is None else (ranks.low, ranks.width, ranks.knots)
        key = tuple(array.tobytes() for array in (ratios, *known))

        def values(X: NDArray, shared: dict) -> tuple[Any, Any]:
            if key not in shared:
                z = self.moved(X) * ratios
                t = _core.distances.along_axes(z, rows)
                shared[key] = t if np.isfinite(size * z.sum()) else t * np.nan
            return self.profile(shared[key] * -size), 1.0

        return values

    def distance_sums(self, left: Array, right: Array, weight: NDArray) -> NDArray:
        """Of ``|z_j - z'_j|``, feature by feature."""
        both = (np.ascontiguousarray(float64(rows).T) for rows in (left, right))
        return _core.distances.weighted_along_axes(*both, np.ascontiguousarray(weight))

    def onnx_values(self, X: Any, points: Points) -> Any:
        """h(t), as nodes of an ONNX graph."""
        z = (X if self.ranks_ is None else self.ranks_.onnx_ranks(X)) * self.factor
        apart = abs(z.reshape(0, 1, -1) - points.rows.astype(np.float64))
        return self.profile(-apart.sum(2, keep=False))


class ExponentialKernel(AxesKernel):
    r"""The exponential kernel, :math:`k(x, x') = \exp(-\sum_j \gamma_j |x_j - x'_j|)`.

    It is the Matern kernel of order 1/2 with the sum of the distances along the axes. Functions are
    rough, with interactions of all features. It is the limit of the average of random forests with
    axis-parallel cuts (M. Balog, B. Lakshminarayanan, Z. Ghahramani, D. M. Roy and Y. W. Teh, *The
    Mondrian Kernel*, 2016).

    Parameters
    ----------
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.
    gamma : float, array-like of shape (n_features,), "scale" or "features", default=1.0
        Inverse width, for all features or for each. "scale" is 1 / (n_features s), where s is the
        standard deviation of all training points X, and "features" is 1 / n_features.
    ranks : bool, default=False
        Whether each feature becomes its rank among its values in training, between 0 and 1. So
        monotone changes of a feature do not matter.

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


class AdditiveKernel(AxesKernel):
    r"""The kernel :math:`k(x, x') = 1 - \sum_j \gamma_j |u_j - u'_j| / \sum_j \gamma_j` of ranks u.

    Its functions are sums of functions of single features, :math:`f(x) = \sum_j f_j(u_j)`: an
    additive model without interactions. Each is a random walk over the ranks of its feature among
    the training values, between 0 and 1. Monotone changes of a feature therefore do not matter.

    Parameters
    ----------
    gamma : float or array-like of shape (n_features,), default=1.0
        Weights of the features; a single number means equal weights.
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.

    Attributes
    ----------
    ranks_ : Ranks
        The map to ranks. Set by :meth:`fitted`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import AdditiveKernel
    >>> X = np.array([[0.0, 7.0], [1.0, 7.0], [5.0, 9.0], [20.0, 9.0]])
    >>> AdditiveKernel().fitted(X)(X[:1], X)
    array([[1.   , 0.875, 0.5  , 0.375]])
    """

    def __init__(self, *, gamma: ArrayLike | str = 1.0, normalize: bool = False) -> None:
        super().__init__(gamma=gamma, ranks=True, normalize=normalize)

    @property
    def factor(self) -> Any:
        """The shares of the features."""
        if self.ranks_ is None:
            raise KernelError(
                "An AdditiveKernel needs the ranks of training rows. Call kernel.fitted(X) first."
            )
        gamma = np.broadcast_to(known_gamma(self), len(self.ranks_.low))
        return gamma / gamma.sum()

    def profile(self, t: Array) -> Array:
        """1 + t."""
        return t + 1.0

    def profile_slope(self, t: Array) -> Array:
        """1."""
        return namespace(t).ones_like(t)

    def derivative(self, left: Points, right: Points, name: str) -> Array | None:
        """None: a common factor of all shares has no effect."""
        return None

    def slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        """One number for each share, which is taken from the others."""
        own = super().slope(left, right, name, pull)
        return own if np.ndim(own) == 0 else own - self.factor * own.sum()
