"""Sums of functions of single features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.exceptions import KernelError
from bayespoint.kernels.exponential import AxesKernel
from bayespoint.kernels.points import Points, known_gamma
from bayespoint.tools.arrays import Array, namespace


class AdditiveKernel(AxesKernel):
    r"""The kernel :math:`k(x, x') = 1 - \sum_j \gamma_j |u_j - u'_j| / \sum_j \gamma_j` of ranks u.

    A function of it is a sum of functions of single features, :math:`f(x) = \sum_j f_j(u_j)`: an
    additive model without interactions. Each is a random walk over the ranks of its feature among
    its values in training, between 0 and 1; so monotone changes of a feature do not matter.

    Parameters
    ----------
    gamma : float or array-like of shape (n_features,), default=1.0
        Shares of the features; a single number stands for equal ones.
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
                "An AdditiveKernel needs the ranks of training points. Call kernel.fitted(X) first."
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
