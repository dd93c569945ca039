"""Kernel values in float64 on a device, of points that are prepared as on the CPU.

:class:`~bayespoint.kernels.Points` hold tensors here. Those of new points are in plain units, and
so are kernel matrices.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError
from bayespoint.gpu.arrays import copy_on, to_device, to_host
from bayespoint.gpu.kernels import as_polynomial
from bayespoint.kernels import (
    ConstantKernel,
    Points,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    SumKernel,
)
from bayespoint.kernels.points import known_gamma

NONE: Any = None  # there are no positions


@singledispatch
def prepare(kernel: Any, X: Any) -> Points:
    """Prepare a tensor of points, as ``kernel.prepare`` does, in float64."""
    raise TypeError(f"{type(kernel).__name__} has no values on a device")


@prepare.register
def _(kernel: PolynomialKernel, X: Any) -> Points:
    import torch

    z = X.double() * np.sqrt(known_gamma(kernel))
    if kernel.coef0 > 0:
        z = torch.cat([z, z.new_full((len(z), 1), np.sqrt(kernel.coef0))], dim=1)
    length = torch.linalg.vector_norm(z, dim=1)
    check_finite(length)
    if kernel.normalize:
        z = z / torch.where(length > 0, length, 1.0)[:, None]
        length = (length > 0).double()
    columns = slice(None) if kernel.columns_ is None else copy_on(X.device, kernel.columns_)
    return Points(z[:, columns], length**kernel.degree, 0.0, NONE)


@prepare.register
def _(kernel: RadialKernel, X: Any) -> Points:
    centre = 0.0 if kernel.centre_ is None else copy_on(X.device, kernel.centre_)
    z = (X.double() - centre) * to_device(np.sqrt(2 * known_gamma(kernel)), X.device)
    side = z.square().sum(dim=1) / 2
    check_finite(side)
    return Points(z, z.new_ones(len(z)), 0.0, NONE, side)


@prepare.register
def _(kernel: ConstantKernel, X: Any) -> Points:
    ones = X.new_ones(len(X)).double()
    return Points(ones[:, None], ones, 0.0, NONE)


@prepare.register
def _(kernel: SumKernel, X: Any) -> Points:
    import torch

    if kernel.is_linear:
        return prepare(as_polynomial(kernel), X)
    parts = tuple(prepare(term, X) for term in kernel.terms)
    weights = np.ones(len(parts)) if kernel.weights is None else np.array(kernel.weights, float)
    all_norms: list[Any] = [part.norm for part in parts]
    norms = torch.stack(all_norms, dim=1)
    rows: Any = torch.as_tensor(np.sqrt(weights), device=X.device).expand_as(norms)
    norm = torch.linalg.vector_norm(rows * norms, dim=1)
    check_finite(norm)
    if kernel.normalize:
        rows = rows / torch.where(norm > 0, norm, 1.0)[:, None]
        norm = (norm > 0).double()
    return Points(rows, norm, 0.0, NONE, parts=parts)


@prepare.register
def _(kernel: PrecomputedKernel, X: Any) -> Points:
    return Points(X.double(), NONE, 0.0, NONE)


def values(kernel: Any, left: Points, right: Points) -> Any:
    """Kernel values between new points and prepared ones, in plain units, (n_left, n_right)."""
    if kernel.is_precomputed:
        return left.rows[:, right.index]
    plain = block(kernel, left, right)
    if right.log_unit:
        with np.errstate(over="ignore"):
            plain *= float(np.exp2(right.log_unit / 2))
    check_finite(plain)
    return plain


def block(kernel: Any, left: Points, right: Points) -> Any:
    """The same in the units of the points, as ``kernel.block``."""
    if left.parts:
        total: Any = 0
        for i, (term, one, other) in enumerate(
            zip(kernel.terms, left.parts, right.parts, strict=True)
        ):
            part = block(term, one, other)
            part *= left.rows[:, i, None]
            part *= right.rows[:, i]
            total = total + part
        return total
    products = left.rows @ right.rows.T
    if isinstance(kernel, RadialKernel):
        products -= left.side[:, None]  # type: ignore[index]
        products -= right.side
        return products.clamp_(max=0).exp_()
    return products.pow_(getattr(kernel, "degree", 1))


def diagonal(kernel: Any, X: Any, own: slice) -> Any:
    """k(x, x) of some training points."""
    return X.diagonal()[own].double() if kernel.is_precomputed else squares(prepare(kernel, X[own]))


def squares(points: Points) -> Any:
    """k(x, x) of points that were prepared here."""
    result = points.norm**2
    check_finite(result)
    return result


def points_on(device: Any, points: Points) -> Points:
    """Points that were prepared in NumPy, on a device, where their copy stays as long as they."""
    side = None if points.side is None else copy_on(device, points.side)
    parts = tuple(points_on(device, part) for part in points.parts)
    rows, norm, index = (copy_on(device, a) for a in (points.rows, points.norm, points.index))
    return Points(rows, norm, points.log_unit, index, side, parts)


def take(kernel: Any, X: Any, which: Any) -> Points:
    """Some training points, prepared."""
    return replace(prepare(kernel, X[which]), index=which)


def host_points(kernel: Any, X: Any, which: NDArray[np.int64]) -> Points:
    """The same in NumPy, for predictions; the positions are enough if points are a matrix."""
    if kernel.is_precomputed:
        return Points(np.empty((len(which), 0)), np.ones(len(which)), 0.0, which)
    return kernel.prepare(to_host(X[which].double()), training=True)


def check_finite(numbers: Any) -> None:
    """Raise an error for numbers that overflow."""
    if not bool(numbers.isfinite().all()):
        raise KernelError(
            "Kernel values overflow float64 on the device. Use normalize=True, scale the features, "
            "or lower the degree or gamma."
        )
