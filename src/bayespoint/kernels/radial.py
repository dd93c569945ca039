"""The Gaussian (rbf) kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.gamma import check_gamma, gamma_from_data, known_gamma
from bayespoint.kernels.points import Points
from bayespoint.kernels.scaling import lengths
from bayespoint.tools.state import finite


class RadialKernel(Kernel):
    r"""The Gaussian kernel, :math:`k(x, x') = \exp(-\sum_j \gamma_j (x_j - x'_j)^2)`.

    Distances are computed by one matrix product.

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

    centre_: NDArray | None = None

    def __init__(self, *, gamma: ArrayLike | str = 1.0, normalize: bool = False) -> None:
        super().__init__(normalize=normalize)
        self.gamma = gamma

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        check_gamma(self, by_feature=True)

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        super().check_state()
        if self.centre_ is not None:
            finite(self.centre_, "d")

    def fitted(self, X: NDArray) -> RadialKernel:
        """Return a new kernel with gamma and the mean of the training points."""
        kernel = super().fitted(X)
        kernel.gamma = gamma_from_data(self.gamma, X)
        with np.errstate(over="ignore"):  # `prepare` raises the error
            kernel.centre_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        return kernel

    @property
    def positive_parameters(self) -> tuple[str, ...]:
        """The factor gamma."""
        return ("gamma",)

    def feature_slopes(self, left: Points, right: Points, alpha: NDArray) -> NDArray:
        r"""They are :math:`\sum_m \alpha_m k\, (z_{mj} - z_j)` by :math:`z = \sqrt{2 \gamma} x`."""
        K = self.block(left, right)
        slopes = K @ (alpha[:, None] * right.rows) - (K @ alpha)[:, None] * left.rows
        return slopes * np.sqrt(2 * known_gamma(self))

    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Centre and scale the inputs; ``side`` is ``gamma |x - centre|^2``."""
        gamma = known_gamma(self)
        z = X if self.centre_ is None else (X - self.centre_).astype(X.dtype, copy=False)
        with np.errstate(over="ignore"):
            z = z * np.sqrt(2 * gamma).astype(X.dtype)
            largest_exponent = (2 * lengths(z) ** 2).astype(X.dtype)  # between x and -x
        if not np.isfinite(largest_exponent).all():
            raise KernelError(
                f"gamma |x|^2 overflows {X.dtype} for features as large as {np.abs(X).max():.2g} "
                f"at gamma={np.max(gamma):.2g}. Scale the features or lower gamma."
            )
        return Points(z, np.ones(len(z)), 0.0, np.arange(len(z)), largest_exponent / 4)

    def block(self, left: Points, right: Points) -> NDArray:
        """``exp(z.z' - |z|^2 / 2 - |z'|^2 / 2)``."""
        exponent = log_radial(left, right)
        return np.exp(exponent, out=exponent)

    def derivative(self, left: Points, right: Points, name: str) -> NDArray | None:
        """Dk / d log gamma = k log k, since log k is proportional to gamma."""
        if name != "gamma":
            return None
        exponent = log_radial(left, right)
        return exponent * np.exp(exponent)

    def slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        r"""One number for each feature that has its own gamma.

        With :math:`z_j = \sqrt{2 \gamma_j} x_j` and P = pull k, the sum of
        :math:`-P_{ii'} (z_{ij} - z_{i'j})^2 / 2` over all pairs takes one matrix product.
        """
        if np.ndim(self.gamma) == 0:
            return super().slope(left, right, name, pull)
        z, other, P = left.rows, right.rows, pull * self.block(left, right)
        squares = P.sum(axis=1) @ np.square(z) + P.sum(axis=0) @ np.square(other)
        return np.einsum("nd,nd->d", z, P @ other) - squares / 2


def log_radial(left: Points, right: Points) -> NDArray:
    """Log k = z.z' - |z|^2/2 - |z'|^2/2, at most 0 despite rounding."""
    assert left.side is not None and right.side is not None
    exponent = left.rows @ right.rows.T
    exponent -= left.side[:, None] + right.side  # one sum, so that k(x, x') = k(x', x)
    return np.minimum(exponent, 0, out=exponent)
