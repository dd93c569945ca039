"""Kernels of an exponent or a distance: their common parts, and the Gaussian (rbf) kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Kernel, Points, QuickBlock, lengths, positions
from bayespoint.tools import arrays
from bayespoint.tools.arrays import Array, beside, cast, float64, largest, namespace, to_host
from bayespoint.tools.attributes import finite
from bayespoint.tools.validation import check_number, parameter_error

NAMED = ("scale", "features")  # values of gamma that depend on the training points


def check_gamma(owner: Any, also: tuple[str, ...] = NAMED, *, by_feature: bool = False) -> None:
    """Raise an error unless gamma is a positive number or one of the names.

    With ``by_feature`` it may also be an array of positive numbers.
    """
    if by_feature and isinstance(owner.gamma, (list, tuple, np.ndarray)):
        array = np.asarray(owner.gamma)
        is_list = array.ndim == 1 and len(array) > 0 and array.dtype.kind in "iuf"
        if not (is_list and np.isfinite(array).all() and (array > 0).all()):
            raise parameter_error(owner, "gamma", "a positive number or an array of them")
        return
    words = "an array or " if by_feature else ""
    check_number(owner, "gamma", low=0, closed="neither", also=also, words=words)


def gamma_from_data(gamma: Any, X: Array) -> Any:
    """The value of gamma for these training points."""
    if np.ndim(gamma) == 1:
        if len(gamma) != X.shape[1]:
            raise ValueError(
                f"gamma has {len(gamma)} numbers, but the rows have {X.shape[1]} features. Give "
                "one number for each feature, or a single one."
            )
        return np.asarray(gamma, dtype=np.float64)
    if not isinstance(gamma, str):
        return float(gamma)
    return scale_gamma(X) if gamma == "scale" else 1 / X.shape[1]


def scale_gamma(X: Array) -> float:
    """1 / (n_features * Var X), as scikit-learn's SVC; 1 for constant data."""
    if X.min() == X.max():
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        on_device = arrays.is_tensor(X)
        variance = float(float64(X).var(correction=0) if on_device else X.var(dtype=np.float64))
    if not 1e-300 < variance < 1e300:
        raise KernelError(
            f"gamma='scale' is 1 / (n_features Var X), which is out of range for features as large "
            f"as {largest(X):.2g}. Scale the features."
        )
    return 1.0 / (X.shape[1] * variance)


def known_gamma(owner: Any) -> Any:
    """Gamma as a number or an array, or an error if it depends on training points."""
    if isinstance(owner.gamma, str):
        raise KernelError(
            f"gamma={owner.gamma!r} depends on the training rows. Call kernel.fitted(X) first, "
            "or set gamma to a number."
        )
    return np.asarray(owner.gamma, np.float64) if np.ndim(owner.gamma) else float(owner.gamma)


@dataclass(eq=False, repr=False, kw_only=True)
class ProfileKernel(Kernel):
    r"""A function h(t) of an exponent :math:`t = -\sum_j \gamma_j d(x_j, x'_j) \le 0`, h(0) = 1.

    Subclasses define h and its derivative h' (``profile``, ``profile_slope``), unless h is exp. For
    the distance d they define the inputs z (``moved`` times ``factor``), their exponent t
    (``exponent``), and its largest size (``reach``).

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

    def profile(self, t: Array) -> Array:
        """h(t), exp t by default, also of nodes of an ONNX graph; may overwrite t."""
        return namespace(t).exp(t, out=t)

    def profile_slope(self, t: Array) -> Array:
        """h'(t)."""
        return namespace(t).exp(t)

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
        return self.profile(self._exponents(left, right))

    def _exponents(self, left: Points, right: Points) -> Array:
        """The exponents t, of which slopes ask again; see :meth:`Points.remember`."""
        if left is not right or left.known is None:
            return self.exponent(left, right)
        if "t" not in left.known:
            left.known["t"] = self.exponent(left, left)
        return 1 * left.known["t"]

    def derivative(self, left: Points, right: Points, name: str) -> Array | None:
        """Dk / d log gamma = t h'(t), since t is proportional to gamma."""
        if name != "gamma":
            return None
        t = self._exponents(left, right)
        return t * self.profile_slope(t)

    def slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        """One number for each feature that has its own gamma."""
        if np.ndim(self.gamma) == 0:
            return super().slope(left, right, name, pull)
        weight = pull * self.profile_slope(self._exponents(left, right))
        return -self.distance_sums(left.rows, right.rows, weight)


@dataclass(eq=False, repr=False, kw_only=True)
class DistanceKernel(ProfileKernel):
    r"""A function h(t) of :math:`t = -\sum_j \gamma_j (x_j - x'_j)^2 \le 0` with h(0) = 1.

    Distances are computed by one matrix product: with :math:`z = \sqrt{2 \gamma}\, x`,
    :math:`t = z \cdot z' - |z|^2 / 2 - |z'|^2 / 2`. Subclasses define h and its derivative h'.

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

    def quick_block(self, points: Points) -> QuickBlock:
        """One product for the exponents: ``(z, 1, -|z|^2 / 2) . (z', -|z'|^2 / 2, 1)``."""
        assert points.side is not None
        factor, rows = self.factor, points.rows.T
        right = np.vstack([rows, -points.side, np.ones(len(points))]).astype(np.float64)

        def values(X: NDArray, shared: dict) -> tuple[Any, Any]:
            left = np.empty((len(X), len(right)))
            left[:, -2] = 1.0
            z = np.multiply(self.moved(X), factor, out=left[:, :-2])
            left[:, -1] = -0.5 * arrays.squares(z)
            t = left @ right
            np.minimum(t, 0.0 if np.isfinite(left[:, -1].sum()) else np.nan, out=t)
            return self.profile(t), 1.0

        return values

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
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.
    gamma : float, array-like of shape (n_features,), "scale" or "features", default=1.0
        Inverse of twice the squared width, for all features or for each. "scale" is
        1 / (n_features Var X) and "features" is 1 / n_features of the training points X.

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
