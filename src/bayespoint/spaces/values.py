"""Kernel values of new rows at fixed points, in few passes over the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.kernels import ConstantKernel, Points, SumKernel, in_plain_units
from bayespoint.kernels.axes import AxesKernel
from bayespoint.kernels.radial import DistanceKernel
from bayespoint.tools.arrays import float64, squares

Values = Callable[[NDArray], tuple[Any, Any]]


def values_at(kernel: Any, points: Points) -> Values:
    """A function of rows: plain values at fixed points, and k(x, x) of each row.

    The same as ``prepare`` and ``block`` give, but what depends on the points alone is computed
    once, and nothing is scaled against overflow, unless numbers do overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> from bayespoint.spaces.values import values_at
    >>> kernel = RadialKernel(gamma=0.5)
    >>> values, square = values_at(kernel, kernel.prepare(np.array([[0.0]])))(np.array([[2.0]]))
    >>> values.round(4), square
    (array([[0.1353]]), array([1.]))
    """
    quick = form_of(kernel, points)

    def values(X: NDArray) -> tuple[Any, Any]:
        X = float64(X)
        found, square = quick(X)
        if not np.isfinite(found.sum() + np.max(square)):
            return by_blocks(kernel, points, X)
        return found, square + np.zeros(len(X))

    return values


def form_of(kernel: Any, points: Points) -> Values:
    """The same of rows in float64; where numbers overflow, a result is not finite."""
    if isinstance(kernel, SumKernel) and points.parts and not kernel.normalize:
        return of_sum(kernel, points)
    if isinstance(kernel, DistanceKernel | AxesKernel):
        exponent = exponents(kernel, points)
        return lambda X: (kernel.profile(exponent(X)), 1.0)
    form = None if kernel.normalize else kernel.linear_form
    if form is None or form.gamma == 0:
        return lambda X: by_blocks(kernel, points, X)
    rows = points.rows[:, : -1 if form.coef0 > 0 else None].T
    rows = rows * np.exp2(points.log_unit / 2) * np.sqrt(form.gamma)
    return lambda X: (X @ rows + form.coef0, form.gamma * squares(X) + form.coef0)


def by_blocks(kernel: Any, points: Points, X: NDArray) -> tuple[NDArray, NDArray]:
    """Plain values and k(x, x) as any kernel gives them, with errors where they overflow."""
    new = kernel.prepare(X)
    values = in_plain_units(kernel.block(new, points), new.log_unit, points.log_unit)
    return values, in_plain_units(new.norm**2, new.log_unit, new.log_unit)


def of_sum(kernel: SumKernel, points: Points) -> Values:
    """The weighted sum of the terms."""
    constant, forms = 0.0, []
    for (weight, term), part in zip(kernel.weighted_terms(), points.parts, strict=True):
        if isinstance(term, ConstantKernel):
            constant += weight
        else:
            forms.append((weight, form_of(term, part)))
    if not forms:
        return lambda X: by_blocks(kernel, points, X)

    def values(X: NDArray) -> tuple[Any, Any]:
        total, square = constant, constant
        for weight, form in forms:
            value, own = form(X)
            value *= weight
            value += total
            total, square = value, square + weight * own
        return total, square

    return values


def exponents(kernel: Any, points: Points) -> Callable[[NDArray], NDArray]:
    """Exponents of rows and the points; NaN for all of them if numbers overflow."""
    factor, rows = kernel.factor, np.ascontiguousarray(points.rows.T, dtype=np.float64)
    if points.side is None or isinstance(kernel, AxesKernel):

        def by_axes(X: NDArray) -> NDArray:
            z = kernel.moved(X) * factor
            t = _core.distances.along_axes(z, rows)
            return np.multiply(t, -1.0 if np.isfinite(z.sum()) else np.nan, out=t)

        return by_axes
    # One product: (z, 1, -|z|^2/2) . (z', -|z'|^2/2, 1)
    right = np.vstack([rows, -points.side, np.ones(len(points))])

    def by_distance(X: NDArray) -> NDArray:
        left = np.empty((len(X), len(right)))
        left[:, -2] = 1.0
        z = np.multiply(kernel.moved(X), factor, out=left[:, :-2])
        left[:, -1] = -0.5 * squares(z)
        t = left @ right
        return np.minimum(t, 0.0 if np.isfinite(left[:, -1].sum()) else np.nan, out=t)

    return by_distance
