"""Kernels, and the coordinates of new points, as nodes of an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from bayespoint.kernels import Kernel, Points, PolynomialKernel, RadialKernel, SumKernel
from bayespoint.kernels.gamma import known_gamma
from bayespoint.spaces import BasisSpace, DualSpace, PrincipalSpace, ProcessSpace
from bayespoint.storage.onnx.graph import Value, join
from bayespoint.tools.numbers import TINY


def coordinates(space: Any, X: Value) -> Value:
    """Coordinates z(x) of new points, as the space transforms them."""
    if isinstance(space, DualSpace):
        return values(space.kernel, X, space.points, unit=True)
    if space.is_linear:
        return features(space.kernel, X)
    return projection(space, X)


def features(kernel: Kernel, X: Value) -> Value:
    """The features z = (sqrt(gamma) x, sqrt(c0)) of a linear kernel."""
    form: Any = kernel.linear_form
    Z = X * np.sqrt(form.gamma)
    if form.coef0 > 0:
        Z = X.graph.add("Pad", Z, np.array([0, 0, 0, 1]), np.sqrt(form.coef0))
    return Z / length(kernel, X) if kernel.normalize else Z


def projection(space: BasisSpace, X: Value) -> Value:
    """Coordinates in the span of the basis, and what lies outside, if the space has it."""
    points, factor = space._points, space._factor
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
    Z = values(space.kernel, X, points) @ (inverse.T * np.exp2(points.log_unit / 2))
    if isinstance(space, ProcessSpace):
        rest = square(space.kernel, X) - space.left - (Z * Z).sum(1)
        return join([Z, rest.at_least(0.0).sqrt()])
    return Z @ space._axes if isinstance(space, PrincipalSpace) else Z


def values(kernel: Kernel, X: Value, points: Points, *, unit: bool = False) -> Value:
    """k(x, x_i) in the unit of the prepared points x_i; with ``unit``, over the length of phi(x).

    A linear sum prepares features, like a single kernel.
    """
    unit = unit or kernel.normalize
    if isinstance(kernel, PolynomialKernel) or kernel.linear_form is not None:
        products = inner_products(kernel, X, points)
        degree = getattr(kernel, "degree", 1)
        products = products / base_square(kernel, X).at_least(TINY).sqrt() if unit else products
        return products if degree == 1 else products ** float(degree)
    found = plain_values(kernel, X, points)
    return found / length(kernel, X) if unit else found


def square(kernel: Kernel, X: Value) -> Any:
    """k(x, x) of each new point."""
    found = plain_square(kernel, X)
    if not kernel.normalize:
        return found
    return found.is_positive() if isinstance(found, Value) else 1.0


def length(kernel: Kernel, X: Value) -> Any:
    """The length of phi(x) before a kernel is normalised."""
    found = plain_square(kernel, X)
    return found.at_least(TINY).sqrt() if isinstance(found, Value) else np.sqrt(found)


def coefficients(kernel: Any) -> tuple[float, float]:
    """Coefficients gamma and c0 of the inner product, of which the kernel is a power."""
    return kernel.linear_form or (known_gamma(kernel), float(kernel.coef0))


def base_square(kernel: Kernel, X: Value) -> Value:
    """Squared length of the features z = (sqrt(gamma) x, sqrt(c0))."""
    gamma, coef0 = coefficients(kernel)
    return (X * X).sum(1) * gamma + coef0


def inner_products(kernel: Any, X: Value, points: Points) -> Value:
    """Inner products of the features z with those of the prepared points."""
    gamma, coef0 = coefficients(kernel)
    rows = points.rows.astype(np.float64)
    constant = rows[:, -1] * np.sqrt(coef0) if coef0 > 0 else 0.0
    rows = rows[:, :-1] if coef0 > 0 else rows
    used = getattr(kernel, "columns_", None)
    matrix = np.zeros((X.graph.n_features, len(rows)))
    matrix[slice(rows.shape[1]) if used is None else used[: rows.shape[1]]] = rows.T
    return X @ (matrix * np.sqrt(gamma)) + constant


@singledispatch
def plain_values(kernel: Kernel, X: Value, points: Points) -> Value:
    """Values of a kernel that is neither linear nor polynomial, before it is normalised."""
    raise ValueError(
        f"to_onnx writes linear, polynomial and Gaussian kernels and their sums, not "
        f"{type(kernel).__name__}. Fit the classifier with one of these."
    )


@plain_values.register
def _(kernel: RadialKernel, X: Value, points: Points) -> Value:
    # No product with a single number before a matrix product: ONNX Runtime would fuse both, with
    # the number in float32, and small differences of large exponents would be lost.
    gamma = np.broadcast_to(known_gamma(kernel), X.graph.n_features)
    away = X if kernel.centre_ is None else X - kernel.centre_
    rows = points.rows.astype(np.float64)
    exponent = away @ (rows * np.sqrt(2 * gamma)).T - (away * away) @ gamma[:, None]
    exponent = exponent - np.square(rows).sum(axis=1) / 2
    return exponent.at_most(0.0).exp()


@plain_values.register
def _(kernel: SumKernel, X: Value, points: Points) -> Value:
    terms = zip(weights(kernel), kernel.terms, points.parts, points.rows.T, strict=True)
    weighted = [
        values(term, X, part) * (np.sqrt(weight) * scale) for weight, term, part, scale in terms
    ]
    return sum(weighted[1:], weighted[0])


@singledispatch
def plain_square(kernel: Kernel, X: Value) -> Any:
    """k(x, x) before the kernel is normalised, a number if it does not depend on x."""
    return 1.0


@plain_square.register
def _(kernel: PolynomialKernel, X: Value) -> Any:
    return base_square(kernel, X) ** float(kernel.degree)


@plain_square.register
def _(kernel: SumKernel, X: Value) -> Any:
    pairs = zip(weights(kernel), kernel.terms, strict=True)
    return sum((weight * square(term, X) for weight, term in pairs), 0.0)


def weights(kernel: SumKernel) -> Sequence[float]:
    """The weights of the terms of a sum."""
    return [1.0] * len(kernel.terms) if kernel.weights is None else kernel.weights
