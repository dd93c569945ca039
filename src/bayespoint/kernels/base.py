"""The interface of a kernel, and the points that it prepares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bayespoint.exceptions import KernelError
from bayespoint.tools import arrays
from bayespoint.tools.arrays import Array, beside, cast, float64, largest, namespace
from bayespoint.tools.attributes import finite, need, number, shaped
from bayespoint.tools.numbers import TINY
from bayespoint.tools.stability import EXTENDING, unstable
from bayespoint.tools.validation import check_flag

if TYPE_CHECKING:
    from bayespoint.kernels.linear import LinearForm

QuickBlock = Callable[[NDArray, dict], tuple[Any, Any]]
FEW = 500  # points whose pairs take little memory
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
    known: ClassVar[dict[str, Array] | None] = None  # what pairs of these points have, if kept

    def remember(self) -> Points:
        """Keep what is known of all pairs, if they are few; copies and parts of it do not."""
        for one in (self, *self.parts) if len(self) <= FEW else ():
            vars(one)["known"] = {}
        return self

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """Number of values from which blocks are computed."""
        return self.rows.size + sum(part.size for part in self.parts)

    def take(self, which: Any) -> Points:
        """The chosen points (an index array or a slice)."""
        return self.apply(lambda array: array[which])

    def without(self, n: int) -> Points:
        """The same points without the first n numbers of their rows."""
        return self if n == 0 else replace(self, rows=self.rows[:, n:])

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
    for part in arrays.chunks(z):
        rows = float64(z[part]) / peak
        length[part] = xp.sqrt(arrays.squares(rows))
    length *= peak
    length[length < TINY] = 0.0  # 1 / length would overflow
    return length


def norms(square: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Norms sqrt(k(x, x)) of at most 1, and the unit of k as a logarithm to base 2."""
    if square.min(initial=0.0) < 0:
        i = int(square.argmin())
        raise KernelError(
            f"k(x, x) must not be negative. Got {square[i]:.6g} at row {i}: the kernel is not "
            "positive semi-definite."
        )
    plain = np.sqrt(square)
    longest = arrays.power_of_two(plain.max(initial=0.0))
    return plain / longest, 2 * float(np.log2(longest))


@cache
def parameter_names(kind: type) -> list[str]:
    """Names of the constructor's parameters; scikit-learn reads them from it in every call."""
    return sorted(signature(kind).parameters)


@unstable(EXTENDING)
@dataclass(eq=False, repr=False, kw_only=True)
class Kernel(BaseEstimator, ABC):
    r"""A kernel k, or its normalised form :math:`k(x, x') / \sqrt{k(x, x) k(x', x')}`.

    A kernel has parameters in scikit-learn's sense, so ``kernel__gamma`` works in a grid search.
    :meth:`fitted` computes what depends on the training points and returns a new kernel. Kernels
    can be added, and multiplied by positive numbers.

    Subclasses prepare points and compute blocks of values between prepared points. Calling a kernel
    on two arrays of points returns plain values. A subclass with further parameters is a dataclass
    like this one, or passes ``normalize`` to this constructor.

    Formulas work with both NumPy arrays and torch tensors (``namespace`` of
    ``bayespoint.tools.arrays``), so that kernels work on a GPU without changes.

    Parameters
    ----------
    normalize : bool, default=False
        Whether to use the normalised form.

    Attributes
    ----------
    positive_parameters : tuple of str
        Names of the parameters that may be any positive number and have a ``derivative``.
    linear_form : LinearForm or None
        The coefficients of a linear or constant kernel before it is normalised.
    is_linear : bool
        Whether k is an inner product of the inputs plus a constant, possibly normalised. The
        coefficients must be known: with ``gamma="scale"``, only a fitted kernel is linear.
    is_precomputed : bool
        Whether points are given as rows of a kernel matrix, not as features.
    is_by_class : bool
        Whether each class against the rest is to have a kernel of its own.
    works_on_devices : bool
        Whether points may be tensors.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel
    >>> A, B = np.array([[2.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> PolynomialKernel()(A, B), PolynomialKernel(normalize=True)(A, B).round(3)
    (array([[6.]]), array([[0.6]]))
    >>> (0.5 * PolynomialKernel() + ConstantKernel())(A, B)
    array([[4.]])
    """

    positive_parameters: ClassVar[tuple[str, ...]] = ()
    linear_form: ClassVar[LinearForm | None] = None
    is_linear: ClassVar[bool] = False
    is_precomputed: ClassVar[bool] = False
    is_by_class: ClassVar[bool] = False
    works_on_devices: ClassVar[bool] = False
    sum_kernel: ClassVar[Any]  # SumKernel, the kind of a sum of kernels

    normalize: bool = False

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        check_flag(self, "normalize")

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        self.check()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep``, also those of parameters that have some."""
        params = {name: getattr(self, name) for name in parameter_names(type(self))}
        for name, value in list(params.items()) if deep else ():
            if hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{inner}": one for inner, one in value.get_params().items()}
        return params

    def fitted(self, X: Array) -> Self:
        """Return a new kernel that is fitted to the training points.

        Parameters
        ----------
        X : ndarray of shape (n_points, n_features)
            Training points.

        Returns
        -------
        Kernel
            The fitted kernel; this one is unchanged.
        """
        self.check()
        return copy(self)

    @abstractmethod
    def prepare(self, X: Array, *, unit: bool = False, training: bool = False) -> Points:
        """Prepare points for :meth:`block`.

        With ``unit``, and always if the kernel is normalised, every phi(x) is scaled to length 1.
        Otherwise all are scaled by one factor, so that the longest has length at most 1. Set
        ``training`` for the points that others will be compared with. The rows of a linear kernel
        are its scaled features.
        """

    @abstractmethod
    def block(self, left: Points, right: Points) -> Array:
        """Inner products of the scaled features, shape (len(left), len(right))."""

    def plain_block(self, X: NDArray, points: Points) -> tuple[NDArray, NDArray]:
        """Plain values of rows and points, and k(x, x) of each row; an error if they overflow."""
        new = self.prepare(X)
        values = in_plain_units(self.block(new, points), new.log_unit, points.log_unit)
        return values, in_plain_units(new.norm**2, new.log_unit, new.log_unit)

    def quick_block(self, points: Points) -> QuickBlock:
        """A function of rows in float64 that gives the same in few passes over the numbers.

        What depends on the points alone is computed once, and nothing is scaled against overflow:
        where numbers overflow, a result is not finite. The function also takes a dict, in which
        terms of a sum find what others have computed for these rows and points.
        """
        form = None if self.normalize else self.linear_form
        if form is None or form.gamma == 0:
            return lambda X, shared: self.plain_block(X, points)
        gamma, coef0 = form
        rows = points.rows[:, : -1 if coef0 > 0 else None].T
        rows = rows * np.exp2(points.log_unit / 2) * np.sqrt(gamma)
        return lambda X, shared: (X @ rows + coef0, gamma * arrays.squares(X) + coef0)

    def derivative(self, left: Points, right: Points, name: str) -> Array | None:
        """D block(left, right) / d log ``name`` of a positive parameter; None if it is 0.

        The scale of the points may depend on the parameter, so the derivative is that of plain
        values, expressed in the unit of the points.
        """
        return None

    def slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        """D sum(pull * block(left, right)) / d log ``name``, an array if the parameter is one."""
        change = self.derivative(left, right, name)
        return 0.0 if change is None else float(np.vdot(pull, change))

    def feature_derivative(self, points: Points, name: str) -> NDArray:
        """D rows / d log ``name`` of a linear kernel's points, in their unit."""
        change = self.linear_change(name)  # which linear kernels have
        assert self.linear_form is not None
        return self.linear_form.derivative(points.rows, change, self.normalize)

    def __call__(self, A: Array, B: Array) -> Array:
        """Values k between the rows of A and the rows of B, in plain units."""
        left, right = self.prepare(A), self.prepare(B, training=True)
        return in_plain_units(self.block(left, right), left.log_unit, right.log_unit)

    def diag(self, A: Array) -> Array:
        """k(x, x) for each row of A, in plain units."""
        points = self.prepare(A, training=True)
        return in_plain_units(points.norm**2, points.log_unit, points.log_unit)

    def onnx_block(self, X: Any, points: Points, *, unit: bool = False) -> Any:
        """k(x, x_i) in the unit of prepared points x_i, as nodes of an ONNX graph.

        With ``unit``, over the length of phi(x).
        """
        form, unit = self.linear_form, unit or self.normalize
        if form is not None and not points.parts:
            products = form.onnx_products(X, points)
            return products / onnx_length(form.onnx_square(X)) if unit else products
        values = self.onnx_values(X, points)
        return values / onnx_length(self.onnx_square(X)) if unit else values

    def onnx_values(self, X: Any, points: Points) -> Any:
        """The same before the kernel is normalised."""
        raise ValueError(
            f"to_onnx cannot write a {type(self).__name__}. Fit the classifier with a linear, "
            "polynomial, Gaussian or Matern kernel, or a sum of these."
        )

    def onnx_square(self, X: Any) -> Any:
        """k(x, x) before the kernel is normalised; a number if it does not depend on x."""
        return 1.0

    def onnx_diagonal(self, X: Any) -> Any:
        """k(x, x) of each new point."""
        square = self.onnx_square(X)
        if not self.normalize:
            return square
        return 1.0 if isinstance(square, float) else square.is_positive()

    def weighted_terms(self) -> list[tuple[float, Kernel]]:
        """The kernel as a list of (weight, kernel) pairs."""
        return [(1.0, self)]

    def __add__(self, other: Kernel) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        return self.sum_kernel.of([*self.weighted_terms(), *other.weighted_terms()])

    def __mul__(self, factor: Any) -> Kernel:
        if not isinstance(factor, Real):
            return NotImplemented
        return self.sum_kernel.of([(float(factor) * w, t) for w, t in self.weighted_terms()])

    __rmul__ = __mul__
    __array_ufunc__ = None  # NumPy scalars leave the product to the kernel


def onnx_length(square: Any) -> Any:
    """The length of phi(x), from its square."""
    return np.sqrt(square) if isinstance(square, float) else square.at_least(TINY).sqrt()
