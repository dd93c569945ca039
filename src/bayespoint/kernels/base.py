"""The interface of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bayespoint.kernels.linear import LinearForm
from bayespoint.kernels.points import Points, in_plain_units
from bayespoint.tools.arrays import Array
from bayespoint.tools.numbers import TINY
from bayespoint.tools.stability import EXTENDING, unstable
from bayespoint.tools.validation import check_flag


@unstable(EXTENDING)
@dataclass(eq=False, repr=False, kw_only=True)
class Kernel(BaseEstimator, ABC):
    r"""A kernel k, or its normalised form :math:`k(x, x') / \sqrt{k(x, x) k(x', x')}`.

    A kernel has parameters in scikit-learn's sense, so ``kernel__gamma`` works in a grid search.
    :meth:`fitted` computes what depends on the training points and returns a new kernel. Kernels
    can be added, and multiplied by positive numbers.

    Subclasses prepare points and compute blocks of values between prepared points. Calling a kernel
    on two arrays of points returns plain values. A subclass with further parameters is a dataclass
    as this one, or passes ``normalize`` to this constructor.

    Formulas of the package are written for NumPy arrays and torch tensors alike
    (``namespace`` of ``bayespoint.tools.arrays``), so that kernels work on a GPU as they are.

    Parameters
    ----------
    normalize : bool, default=False
        Whether to use the normalised form.

    Attributes
    ----------
    positive_parameters : tuple of str
        Names of the parameters that take any positive number and have a ``derivative``.
    linear_form : LinearForm or None
        The coefficients of a linear or constant kernel before it is normalised.
    is_linear : bool
        Whether k is an inner product of the inputs plus a constant, possibly normalised. The
        coefficients must be known, so with ``gamma="scale"`` only a fitted kernel is linear.
    is_precomputed : bool
        Whether points are given as rows of a kernel matrix, not as features.
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
    works_on_devices: ClassVar[bool] = False
    sum_kernel: ClassVar[Any]  # SumKernel, the kind of a sum of kernels

    normalize: bool = False

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        check_flag(self, "normalize")

    def check_state(self) -> None:
        """Raise an error if the parameters or the fitted attributes are invalid."""
        self.check()

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

    def linear_change(self, name: str) -> LinearForm:
        """Derivatives of the coefficients in the logarithm of a positive parameter."""
        return LinearForm(0.0, 0.0)

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
        form = self.linear_form
        assert form is not None
        return form.derivative(points.rows, self.linear_change(name), self.normalize)

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
            return products / form.onnx_length(X) if unit else products
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
