"""The Gaussian (rbf) kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.kernels.base import Kernel
from bayespoint.kernels.gamma import check_gamma, gamma_from_data, known_gamma
from bayespoint.kernels.points import Points
from bayespoint.kernels.scaling import lengths
from bayespoint.state import finite


class RadialKernel(Kernel):
    r"""The Gaussian kernel, :math:`k(x, x') = \exp(-\gamma |x - x'|^2)`.

    Distances are computed by one matrix product.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default=1.0
        Inverse of twice the squared width. "scale" is 1 / (n_features Var X) and "auto" is
        1 / n_features of the training points X.
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

    def __init__(self, *, gamma: float | str = 1.0, normalize: bool = False) -> None:
        super().__init__(normalize=normalize)
        self.gamma = gamma

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        check_gamma(self)

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        super().check_state()
        if self.centre_ is not None:
            finite(self.centre_, "d")

    def fitted(self, X: NDArray) -> RadialKernel:
        """Return a new kernel with gamma and the mean of the training points."""
        kernel = super().fitted(X)
        kernel.gamma = gamma_from_data(self.gamma, X)
        kernel.centre_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        return kernel

    @property
    def positive_parameters(self) -> tuple[str, ...]:
        """The factor gamma."""
        return ("gamma",)

    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Centre and scale the inputs; ``side`` is ``gamma |x - centre|^2``."""
        gamma = known_gamma(self)
        z = X if self.centre_ is None else (X - self.centre_).astype(X.dtype, copy=False)
        with np.errstate(over="ignore"):
            z = z * X.dtype.type(np.sqrt(2 * gamma))
            largest_exponent = (2 * lengths(z) ** 2).astype(X.dtype)  # between x and -x
        if not np.isfinite(largest_exponent).all():
            raise KernelError(
                f"gamma |x|^2 overflows {X.dtype} for features as large as {np.abs(X).max():.2g} "
                f"at gamma={gamma:.2g}. Scale the features or lower gamma."
            )
        return Points(z, np.ones(len(z)), 0.0, np.arange(len(z)), largest_exponent / 4)

    def block(self, left: Points, right: Points) -> NDArray:
        """``exp(z.z' - |z|^2 / 2 - |z'|^2 / 2)``."""
        exponent = log_radial(left, right)
        return np.exp(exponent, out=exponent)

    def derivative(self, points: Points, name: str) -> NDArray | None:
        """Dk / d log gamma = k log k, since log k is proportional to gamma."""
        if name != "gamma":
            return None
        exponent = log_radial(points, points)
        return exponent * np.exp(exponent)


def log_radial(left: Points, right: Points) -> NDArray:
    """Log k = z.z' - |z|^2/2 - |z'|^2/2, at most 0 despite rounding."""
    assert left.side is not None and right.side is not None
    exponent = left.rows @ right.rows.T
    exponent -= left.side[:, None] + right.side  # one sum, so that k(x, x') = k(x', x)
    return np.minimum(exponent, 0, out=exponent)
