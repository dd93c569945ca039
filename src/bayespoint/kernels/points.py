"""Prepared points, and the units of kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.tools.state import finite, need, number, shaped


@dataclass(frozen=True)
class Points:
    """Points prepared by a kernel.

    Attributes
    ----------
    rows : ndarray of shape (n, width)
        Scaled feature vectors, raw inputs or kernel rows, from which blocks are computed.
    norm : ndarray of shape (n,)
        ``|phi(x)| = sqrt(k(x, x))`` after scaling, at most 1.
    log_unit : float
        Logarithm to base 2 of the unit of k: plain values of k are 2**log_unit times larger.
    index : ndarray of shape (n,)
        Positions among the points prepared together (columns of a precomputed kernel).
    side : ndarray of shape (n,) or None
        One more number per point, if the kernel needs it.
    parts : tuple of Points
        The same points as prepared by each term of a sum of kernels.

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
    parts: tuple[Points, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """Number of values from which blocks are computed."""
        return self.rows.size + sum(part.size for part in self.parts)

    def take(self, which: Any) -> Points:
        """The chosen points (an index array or a slice)."""
        side = None if self.side is None else self.side[which]
        parts = tuple(part.take(which) for part in self.parts)
        return Points(
            self.rows[which], self.norm[which], self.log_unit, self.index[which], side, parts
        )

    def check_state(self) -> None:
        """Raise an error unless norms, positions and side have one entry for each row."""
        n = finite(self.rows, "nw")["n"]
        finite(self.norm, "n", n=n)
        shaped(self.index, "iu", "n", n=n)
        need((self.index >= 0).all(), "a position is negative")
        number(self.log_unit, -1e5, 1e5)
        if self.side is not None:
            finite(self.side, "n", n=n)
        for part in self.parts:
            need(isinstance(part, Points) and len(part) == n, "a term has different points")


def in_plain_units(values: NDArray, left_unit: float, right_unit: float) -> NDArray:
    """Convert kernel values to plain units; raise an error if they overflow.

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
