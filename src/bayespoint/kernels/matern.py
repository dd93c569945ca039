"""The Matern kernels 3/2 and 5/2."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

from bayespoint.kernels.radial import DistanceKernel
from bayespoint.tools.arrays import Array, namespace
from bayespoint.tools.validation import parameter_error


@dataclass(eq=False, repr=False, kw_only=True)
class MaternKernel(DistanceKernel):
    r"""The Matern kernel of smoothness :math:`\nu`, 3/2 or 5/2: less smooth than the Gaussian one.

    With :math:`s = \sqrt{2 \nu}\, r`, where
    :math:`r^2 = 2 \sum_j \gamma_j (x_j - x'_j)^2` is the squared distance in units of the width,

    .. math:: k_{3/2} = (1 + s)\, e^{-s}, \qquad k_{5/2} = (1 + s + s^2 / 3)\, e^{-s}.

    Functions drawn from it have one or two derivatives. Those of :class:`RadialKernel`, its limit
    for :math:`\nu \to \infty`, have all derivatives.

    Parameters
    ----------
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.
    gamma : float, array-like of shape (n_features,), "scale" or "features", default=1.0
        Inverse of twice the squared width, for all features or for each. The length scale l of
        scikit-learn's ``Matern`` corresponds to gamma = 1 / (2 l^2). "scale" is 1 / (n_features Var
        X) and "features" is 1 / n_features of the training points X.
    nu : {1.5, 2.5}, default=1.5
        The smoothness :math:`\nu`.

    Attributes
    ----------
    centre_ : ndarray of shape (n_features,) or None
        Mean of the training points, which is subtracted from all points to compute distances
        accurately. Set by :meth:`fitted`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import MaternKernel
    >>> MaternKernel(nu=1.5, gamma=0.5)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.1397]])
    """

    nu: float = 1.5

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        nu: Any = self.nu
        if not isinstance(nu, Real) or nu not in (1.5, 2.5):
            raise parameter_error(self, "nu", "1.5 or 2.5")

    def profile(self, t: Array) -> Array:
        """(1 + s) exp(-s), or (1 + s + s^2 / 3) exp(-s), with s^2 = -4 nu t."""
        square = t * (-4.0 * self.nu)
        s = namespace(t).sqrt(square)
        power = s + 1.0 if self.nu == 1.5 else square / 3.0 + s + 1.0
        return power * namespace(t).exp(-s)

    def profile_slope(self, t: Array) -> Array:
        """3 exp(-s), or 5/3 (1 + s) exp(-s)."""
        s = namespace(t).sqrt(t * (-4.0 * self.nu))
        power = 3.0 if self.nu == 1.5 else (s + 1.0) * (5.0 / 3.0)
        return power * namespace(t).exp(-s)
