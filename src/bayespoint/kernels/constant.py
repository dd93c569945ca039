"""The kernel of one constant feature."""

from __future__ import annotations

from bayespoint.kernels.base import Kernel
from bayespoint.kernels.linear import LinearForm
from bayespoint.kernels.points import Points, positions
from bayespoint.tools.arrays import Array, namespace


class ConstantKernel(Kernel):
    """The constant k(x, x') = 1: an intercept, as a term of a sum of kernels.

    Parameters
    ----------
    normalize : bool, default=False
        Has no effect, since k(x, x) = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import ConstantKernel, RadialKernel
    >>> (RadialKernel(gamma=0.5) + 3 * ConstantKernel())(np.array([[0.0]]), np.array([[9.0]]))
    array([[3.]])
    """

    linear_form = LinearForm(0.0, 1.0)
    works_on_devices = True

    def prepare(self, X: Array, *, unit: bool = False, training: bool = False) -> Points:
        """A single feature, 1."""
        xp, n = namespace(X), len(X)
        rows = xp.ones((n, 1), dtype=X.dtype, device=X.device)
        return Points(rows, xp.ones(n, dtype=xp.float64, device=X.device), 0.0, positions(X))

    def block(self, left: Points, right: Points) -> Array:
        """Inner products of the constant feature."""
        return left.rows @ right.rows.T
