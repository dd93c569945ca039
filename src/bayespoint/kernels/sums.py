"""Weighted sums of kernels, and the constant kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from numbers import Real
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels.base import Kernel, Points, QuickBlock, positions
from bayespoint.kernels.linear import LinearForm
from bayespoint.tools.arrays import Array, beside, cast, float64, is_tensor, namespace
from bayespoint.tools.validation import check_flag, parameter_error

SMALL = 64  # points of which all pairs are computed where only a diagonal is needed


@dataclass(eq=False, repr=False, kw_only=True)
class SumKernel(Kernel):
    r"""A weighted sum of kernels, :math:`k(x, x') = \sum_t w_t\, k_t(x, x')`.

    Its features are those of all terms, scaled by :math:`\sqrt{w_t}`. A function drawn from the
    prior is a sum of independent functions, one for each term. A sum of linear and constant kernels
    is linear.

    Parameters
    ----------
    terms : list of Kernel
        The kernels :math:`k_t`. Their parameters are numbered from 0: ``terms__0__gamma`` is the
        gamma of the first.
    normalize : bool, default=False
        Whether to divide by the lengths of the feature vectors.
    weights : list of float, optional
        The positive weights :math:`w_t`; 1 by default. ``weights__0`` is the weight of the first
        term.
    by_class : bool, default=False
        Whether, of several classes against the rest, each has a term of its own instead of the sum:
        the first terms, in the order of the classes, beside those that follow. Fits by expectation
        propagation and Laplace's approximation do this, unless the kernel is linear; all others,
        and searches by the evidence, take the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import ConstantKernel, PolynomialKernel, RadialKernel
    >>> kernel = 2.0 * RadialKernel(gamma=0.5) + PolynomialKernel() + ConstantKernel()
    >>> kernel
    SumKernel(terms=[RadialKernel(gamma=0.5), PolynomialKernel(), ConstantKernel()],
              weights=[2.0, 1.0, 1.0])
    >>> kernel(np.array([[1.0]]), np.array([[1.0], [3.0]])).round(3)
    array([[4.   , 4.271]])
    >>> kernel.positive_parameters[:4]
    ('weights__0', 'terms__0__gamma', 'weights__1', 'terms__1__gamma')
    >>> kernel.set_params(weights__0=0.5, terms__0__gamma=0.1).diag(np.array([[1.0]]))
    array([2.5])
    """

    terms: Sequence[Kernel] = field(kw_only=False)
    weights: Sequence[float] | None = None
    by_class: bool = False

    @classmethod
    def of(cls, weighted: list[tuple[float, Kernel]]) -> SumKernel:
        """The sum of kernels with these weights."""
        return cls([term for _, term in weighted], weights=[weight for weight, _ in weighted])

    @property
    def is_by_class(self) -> bool:  # type: ignore[override]
        """Whether it was asked for, of a kernel that is not linear."""
        return self.by_class and not self.is_linear

    def of_classes(self, n_classes: int) -> list[SumKernel]:
        """The kernel of each class: its own term, and those that follow the terms of classes."""
        pairs = self._pairs()
        if len(pairs) < n_classes:
            raise ValueError(f"by_class needs a term for each of {n_classes} classes. Got {self}.")
        return [self.of([pair, *pairs[n_classes:]]) for pair in pairs[:n_classes]]

    def check(self) -> None:
        """Raise a ValueError, in scikit-learn's wording, for an invalid parameter."""
        super().check()
        check_flag(self, "by_class")
        terms: Any = self.terms
        weights: Any = self.weights
        if not isinstance(terms, (list, tuple)) or len(terms) == 0:
            raise parameter_error(self, "terms", "a non-empty list of kernels")
        for term in terms:
            if not isinstance(term, Kernel) or term.is_precomputed:
                raise parameter_error(
                    self, "terms", "a list of kernels of features (sum kernel matrices yourself)"
                )
            term.check()
        if weights is None:
            return
        is_list = isinstance(weights, (list, tuple, np.ndarray)) and len(weights) == len(terms)
        if not is_list or not all(isinstance(w, Real) and 0 < float(w) < np.inf for w in weights):
            raise parameter_error(self, "weights", f"None or {len(terms)} positive numbers")

    def fitted(self, X: Array) -> SumKernel:
        """Return a new sum, of terms that are fitted to the training points."""
        kernel = super().fitted(X)
        kernel.terms = [term.fitted(X) for term in self.terms]
        return kernel

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep``, also those of the terms."""
        params = super().get_params(deep=False)
        if deep:
            for i, (weight, term) in enumerate(self._pairs()):
                params |= {f"weights__{i}": weight, f"terms__{i}": term}
                params |= {f"terms__{i}__{name}": v for name, v in term.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, also those of the terms."""
        super().set_params(**{name: params[name] for name in params if "__" not in name})
        known = self.get_params()
        for name in (name for name in params if "__" in name):
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for {self}. Valid parameters are: "
                    f"{', '.join(known)}."
                )
            i, inner = split_name(name)
            if name.startswith("weights"):
                self.weights = replaced([w for w, _ in self._pairs()], i, params[name])
            elif inner:
                self.terms[i].set_params(**{inner: params[name]})
            else:
                self.terms = replaced(self.terms, i, params[name])
                known = self.get_params()
        return self

    def _pairs(self) -> list[tuple[float, Kernel]]:
        weights = [1.0] * len(self.terms) if self.weights is None else self.weights
        return list(zip(weights, self.terms, strict=False))

    @property
    def works_on_devices(self) -> bool:  # type: ignore[override]
        """Whether all terms do."""
        return all(term.works_on_devices for term in self.terms)

    def weighted_terms(self) -> list[tuple[float, Kernel]]:
        """The kernel as a list of (weight, kernel) pairs."""
        return super().weighted_terms() if self.normalize else self._pairs()

    @property
    def positive_parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """The weights, and the positive parameters of all terms."""
        names: list[str] = []
        for i, term in enumerate(self.terms):
            names += [f"weights__{i}", *(f"terms__{i}__{one}" for one in term.positive_parameters)]
        return tuple(names)

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        """Whether all terms are linear or constant, and not all constant."""
        return self.linear_form is not None and self.linear_form.gamma > 0

    @property
    def linear_form(self) -> LinearForm | None:  # type: ignore[override]
        """The sum of the terms' coefficients, if all terms are linear."""
        forms = [None if term.normalize else term.linear_form for term in self.terms]
        known = [form for form in forms if form is not None]
        if len(known) < len(forms):
            return None
        return LinearForm(*(np.array([w for w, _ in self._pairs()]) @ known).tolist())

    def linear_change(self, name: str) -> LinearForm:
        """Derivatives of the coefficients in the logarithm of a positive parameter."""
        i, inner = split_name(name)
        weight, term = self._pairs()[i]
        change = term.linear_change(inner) if inner else term.linear_form
        assert change is not None
        return LinearForm(weight * change.gamma, weight * change.coef0)

    def prepare(self, X: Array, *, unit: bool = False, training: bool = False) -> Points:
        """Prepare the points with each term; ``rows`` are the factors of the terms' features.

        If the sum is linear, the rows are its features, and there are no parts.
        """
        unit = unit or self.normalize
        if self.is_linear:
            return self.linear_form.prepare(X, unit=unit)  # type: ignore[union-attr]
        xp, parts = namespace(X), [term.prepare(X, training=training) for term in self.terms]
        log_weight = np.log2([w for w, _ in self._pairs()])
        log_units = log_weight + [part.log_unit for part in parts]
        norms = xp.stack([part.norm for part in parts], axis=1)
        if unit:
            # Each term has length 1, times the square root of its share of k(x, x).
            with np.errstate(divide="ignore"):  # phi(x) = 0
                log_square = beside(X, log_units) + 2 * xp.log2(norms)
            log_total = reduce(xp.logaddexp2, log_square.T)[:, None]  # log2 k(x, x)
            parts = [term.prepare(X, unit=True, training=training) for term in self.terms]
            is_zero = xp.isneginf(log_total)
            scale = xp.exp2((log_square - xp.where(is_zero, 0.0, log_total)) / 2)
            norm, log_unit = float64(~is_zero[:, 0]), 0.0
        else:
            # No share exceeds 1, nor does their sum; the root of the unit is a power of two.
            log_unit = 2 * np.ceil((log_units.max() + np.log2(len(parts))) / 2)
            scale = xp.tile(beside(X, np.exp2((log_units - log_unit) / 2)), (len(X), 1))
            norm = xp.sqrt(xp.square(norms * scale).sum(axis=1))
        rows = cast(scale, X.dtype)
        return Points(rows, norm, float(log_unit), positions(X), parts=tuple(parts))

    def block(self, left: Points, right: Points) -> Array:
        """The sum of the blocks of all terms, each times the factors of its features."""
        if not left.parts:
            return left.rows @ right.rows.T
        sides = zip(self.terms, left.parts, right.parts, strict=True)
        blocks = (term.block(one, other) for term, one, other in sides)
        return reduce(add, (scaled(block, left, right, i) for i, block in enumerate(blocks)))

    def quick_block(self, points: Points) -> QuickBlock:
        """The weighted sum of the terms."""
        constant, forms = 0.0, []
        for (weight, term), part in zip(self._pairs(), points.parts, strict=False):
            if isinstance(term, ConstantKernel):
                constant += weight
            else:
                forms.append((weight, term.quick_block(part)))
        if self.normalize or not forms:
            return super().quick_block(points)

        def values(X: NDArray, shared: dict) -> tuple[Any, Any]:
            total, square, shared = constant, constant, {}
            for weight, form in forms:
                value, own = form(X, shared)
                value *= weight
                value += total
                total, square = value, square + weight * own
            return total, square

        return values

    def derivative(self, left: Points, right: Points, name: str) -> Array | None:
        """The derivative of one term; in the logarithm of its weight it is the term's block."""
        change = self._change(left, right, name)
        if change is None or not self.normalize or not left.parts:
            return change
        along, across = self._lengthening(left, name), self._lengthening(right, name)
        return change - self.block(left, right) * (along[:, None] + across)  # d (k / |phi| |phi'|)

    def _lengthening(self, points: Points, name: str) -> Array:
        """The derivatives of the logarithms of the lengths of the points."""
        parts: list[Any] = [points.take(own) for own in small_parts(len(points))]
        squares: list[Any] = [self._change(part, part, name) for part in parts]
        return namespace(points.rows).concatenate([change.diagonal() / 2 for change in squares])

    def _change(self, left: Points, right: Points, name: str) -> Array | None:
        """The derivative, the lengths of all points being fixed."""
        if not left.parts:
            change = self.feature_derivative(left, name) @ right.rows.T
            return change + left.rows @ self.feature_derivative(right, name).T
        i, inner = split_name(name)
        term, parts = self.terms[i], (left.parts[i], right.parts[i])
        change = term.derivative(*parts, inner) if inner else term.block(*parts)
        return None if change is None else scaled(change, left, right, i)

    def slope(self, left: Points, right: Points, name: str, pull: NDArray) -> Any:
        """That of the term, with the factors of its features in the pull."""
        i, inner = split_name(name)
        if not left.parts or not (inner or not self.normalize):
            return super().slope(left, right, name, pull)

        def of_term(left: Points, right: Points, pull: NDArray) -> Any:
            weighted, parts = scaled(pull, left, right, i), (left.parts[i], right.parts[i])
            if not inner:
                return float(np.vdot(weighted, self.terms[i].block(*parts)))
            return self.terms[i].slope(*parts, inner, weighted)

        total = of_term(left, right, pull)
        if self.normalize:  # the lengths change as well
            values = pull * self.block(left, right)
            for points, along in ((left, values.sum(axis=1)), (right, values.sum(axis=0))):
                for own in small_parts(len(points)):
                    part = points.take(own)
                    total = total - of_term(part, part, np.diag(along[own] / 2))
        return total

    def onnx_values(self, X: Any, points: Points) -> Any:
        """The sum of the terms' values, with the factors of the prepared points."""
        pairs = zip(self._pairs(), points.parts, points.rows.T, strict=True)
        weighted = [
            term.onnx_block(X, part) * (np.sqrt(weight) * scale)
            for (weight, term), part, scale in pairs
        ]
        return sum(weighted[1:], weighted[0])

    def onnx_square(self, X: Any) -> Any:
        """The weighted sum of those of the terms."""
        return sum((weight * term.onnx_diagonal(X) for weight, term in self._pairs()), 0.0)


Kernel.sum_kernel = SumKernel


def split_name(name: str) -> tuple[int, str]:
    """Index of the term that a parameter belongs to, and its name there ("" for the weight)."""
    _, number, *inner = name.split("__", 2)
    return int(number), "".join(inner)


def replaced(values: Sequence, i: int, value: Any) -> list:
    """A copy of a list with one entry replaced."""
    return [value if j == i else old for j, old in enumerate(values)]


def scaled(values: Array, left: Points, right: Points, i: int) -> Array:
    """Values of one term of a sum, in the unit of the sum's points."""
    own, others = left.rows[:, i], right.rows[:, i]
    if not is_tensor(own) and (own == own[:1]).all() and (others == others[:1]).all():
        own, others = own[:1], others[:1]  # one factor for all
    return values * (own[:, None] * others)  # symmetric to the bit


def small_parts(n: int) -> list[slice]:
    """Consecutive parts of n points, so small that all pairs of each take little time."""
    return [slice(begin, begin + SMALL) for begin in range(0, n, SMALL)]


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
