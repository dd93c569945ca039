"""Prepared points: the factor gamma of their features, their lengths, and the units of values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.tools.arrays import (
    Array,
    beside,
    cast,
    chunks,
    float64,
    is_tensor,
    largest,
    namespace,
    squares,
)
from bayespoint.tools.attributes import finite, need, number, shaped
from bayespoint.tools.numbers import TINY
from bayespoint.tools.validation import check_number, parameter_error

NAMED = ("scale", "features")  # values of gamma that depend on the training points
HUGE = 2.0**1023  # lengths stay below the largest power of two


@dataclass(frozen=True)
class Points:
    """Points prepared by a kernel: arrays, or tensors on a device.

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

    rows: Array
    norm: Array
    log_unit: float
    index: Array
    side: Array | None = None
    parts: tuple[Points, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """Number of values from which blocks are computed."""
        return self.rows.size + sum(part.size for part in self.parts)

    def take(self, which: Any) -> Points:
        """The chosen points (an index array or a slice)."""
        return self.apply(lambda array: array[which])

    def apply(self, function: Callable[[Array], Array]) -> Points:
        """The same with a function applied to each array."""
        return replace(
            self,
            rows=function(self.rows),
            norm=function(self.norm),
            index=function(self.index),
            side=None if self.side is None else function(self.side),
            parts=tuple(part.apply(function) for part in self.parts),
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


def positions(rows: Array) -> Array:
    """The numbers of the rows."""
    return namespace(rows).arange(len(rows), device=rows.device)


def in_plain_units(values: Array, left_unit: float, right_unit: float) -> Array:
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
    plain = values
    if log_unit:
        with np.errstate(over="ignore", invalid="ignore"):
            plain = values * cast(beside(values, np.exp2(log_unit)), values.dtype)
    if not namespace(plain).isfinite(plain).all():
        raise KernelError(
            f"Kernel values of about 1e{log_unit * np.log10(2):.0f} overflow {values.dtype}. "
            "Use normalize=True, scale the features, or lower the degree."
        )
    return plain


def check_gamma(owner: Any, also: tuple[str, ...] = NAMED, *, by_feature: bool = False) -> None:
    """Raise an error unless gamma is a positive number or one of the names.

    With ``by_feature`` it may also be an array of positive numbers.
    """
    if by_feature and isinstance(owner.gamma, (list, tuple, np.ndarray)):
        if not are_positive(owner.gamma):
            raise parameter_error(owner, "gamma", "a positive number or an array of them")
        return
    words = "an array or " if by_feature else ""
    check_number(owner, "gamma", low=0, closed="neither", also=also, words=words)


def are_positive(values: Any) -> bool:
    """Whether these are positive, finite numbers, one for each feature."""
    array = np.asarray(values)
    is_list = array.ndim == 1 and len(array) > 0 and array.dtype.kind in "iuf"
    return bool(is_list and np.isfinite(array).all() and (array > 0).all())


def gamma_from_data(gamma: Any, X: Array) -> Any:
    """The value of gamma for these training points."""
    if np.ndim(gamma) == 1:
        if len(gamma) != X.shape[1]:
            raise ValueError(
                f"gamma has {len(gamma)} numbers, but the points have {X.shape[1]} features. Give "
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
        variance = float(float64(X).var(correction=0) if is_tensor(X) else X.var(dtype=np.float64))
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
            f"gamma={owner.gamma!r} depends on the training points. Call kernel.fitted(X) first, "
            "or set gamma to a number."
        )
    return np.asarray(owner.gamma, np.float64) if np.ndim(owner.gamma) else float(owner.gamma)


def lengths(z: Array) -> Array:
    """Euclidean lengths of the rows in float64, without intermediate overflow."""
    peak = largest(z) or 1.0
    if not peak * z.shape[1] ** 0.5 < HUGE:
        raise KernelError(
            f"Features times sqrt(gamma) are as large as {peak:.2g} and overflow. Scale the "
            "features or lower gamma."
        )
    xp = namespace(z)
    length = xp.empty(len(z), dtype=xp.float64, device=z.device)
    for part in chunks(z):
        rows = float64(z[part]) / peak
        length[part] = xp.sqrt(squares(rows))
    length *= peak
    length[length < TINY] = 0.0  # 1 / length would overflow
    return length


def inverse(length: Array) -> Array:
    """1 / length, and 0 where it is 0."""
    xp = namespace(length)
    return xp.where(length > 0, 1.0 / xp.where(length > 0, length, 1.0), 0.0)


def norms(square: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Norms sqrt(k(x, x)) of at most 1, and the unit of k as a logarithm to base 2."""
    if square.min(initial=0.0) < 0:
        i = int(square.argmin())
        raise KernelError(
            f"k(x, x) must not be negative. Got {square[i]:.6g} at point {i}: the kernel is not "
            "positive semi-definite."
        )
    plain = np.sqrt(square)
    longest = power_of_two(plain.max(initial=0.0))
    return plain / longest, 2 * float(np.log2(longest))


def power_of_two(size: float) -> float:
    """The smallest power of two not below ``size`` (1 for 0): scaling by it causes no rounding."""
    if size == 0:
        return 1.0
    mantissa, exponent = math.frexp(size)  # size = mantissa 2**exponent, 1/2 <= mantissa < 1
    return math.ldexp(1.0, exponent - (mantissa == 0.5))
