"""What every kernel is asked, and the points that it works on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError


@dataclass(frozen=True)
class Points:
    """Points as a kernel wants them.

    Attributes
    ----------
    rows : ndarray of shape (n, width)
        What blocks are computed from: scaled feature vectors, raw inputs or kernel rows.
    norm : ndarray of shape (n,)
        ``|phi(x)| = sqrt(k(x, x))`` after scaling, so at most 1.
    log_unit : float
        The unit of k, as its logarithm to base 2: plain values of k are 2**log_unit times larger.
    index : ndarray of shape (n,)
        Positions among the points prepared together (columns of a precomputed kernel).
    side : ndarray of shape (n,) or None
        One more number a point, where the kernel needs it.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import PolynomialKernel
    >>> points = PolynomialKernel(degree=2).prepare(np.array([[0.0, 4.0], [3.0, 4.0]]))
    >>> len(points), int(points.log_unit)  # the longest, 5, is below 8: k is in units of 8^4
    (2, 12)
    """

    rows: NDArray
    norm: NDArray[np.float64]
    log_unit: float
    index: NDArray[np.int64]
    side: NDArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: Any) -> Points:
        """The chosen points (an index array or a slice)."""
        side = None if self.side is None else self.side[which]
        return Points(self.rows[which], self.norm[which], self.log_unit, self.index[which], side)


class Kernel(ABC):
    r"""A kernel k, or its normalised form :math:`k(x, x') / \sqrt{k(x, x) k(x', x')}`.

    Subclasses prepare points and compute blocks; calling a kernel on arrays gives plain values.

    Parameters
    ----------
    normalize : bool, default=False
        Whether to take the normalised form.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import PolynomialKernel
    >>> A, B = np.array([[2.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> PolynomialKernel()(A, B), PolynomialKernel(normalize=True)(A, B).round(3)
    (array([[6.]]), array([[0.6]]))
    """

    def __init__(self, *, normalize: bool = False) -> None:
        self.normalize = normalize

    @abstractmethod
    def prepare(self, X: NDArray, *, unit: bool = False, training: bool = False) -> Points:
        """Prepare points for :meth:`block`.

        With ``unit`` (always, if the kernel is normalised) every phi(x) is scaled to length 1,
        else all by one factor that makes the longest at most 1. ``training`` says that new points
        will be compared with these.
        """

    @abstractmethod
    def block(self, left: Points, right: Points) -> NDArray:
        """Inner products of the scaled features, shape (len(left), len(right))."""

    def derivative(self, points: Points, name: str) -> NDArray | None:
        """D block(points, points) / d log ``name`` of a positive parameter; None if it is 0.

        Points are prepared with the parameter, so that their scale may depend on it: the
        derivative is that of plain values, in the unit of the points.
        """
        return None

    def __call__(self, A: NDArray, B: NDArray) -> NDArray:
        """Values k between the rows of A and the rows of B, in plain units."""
        left, right = self.prepare(A), self.prepare(B, training=True)
        return in_plain_units(self.block(left, right), left.log_unit, right.log_unit)

    def diag(self, A: NDArray) -> NDArray[np.float64]:
        """k(x, x) for each row of A, in plain units."""
        points = self.prepare(A, training=True)
        return in_plain_units(points.norm**2, points.log_unit, points.log_unit)


def in_plain_units(values: NDArray, left_unit: float, right_unit: float) -> NDArray:
    """Kernel values between points of these (logarithmic) units, or an error if they overflow.

    Parameters
    ----------
    values : ndarray
        Values in the units of the points.
    left_unit, right_unit : float
        ``log_unit`` of the points on either side.

    Returns
    -------
    ndarray
        Plain values, of the same shape.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import in_plain_units
    >>> in_plain_units(np.array([0.5, 1.0]), 3.0, 1.0)
    array([2., 4.])
    """
    log_unit = (left_unit + right_unit) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        plain = values * values.dtype.type(np.exp2(log_unit))
    if not np.isfinite(plain).all():
        raise KernelError(
            f"Kernel values of about 1e{log_unit * np.log10(2):.0f} overflow {values.dtype}. "
            "Use normalize=True, scale the features, or lower the degree."
        )
    return plain
