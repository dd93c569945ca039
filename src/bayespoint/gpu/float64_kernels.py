"""Kernel values in float64 on a device, of points that are prepared as on the CPU.

:class:`~bayespoint.kernels.Points` hold tensors here. Those of new points are in plain units.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from bayespoint.exceptions import KernelError
from bayespoint.gpu.arrays import copy_on, to_device
from bayespoint.gpu.kernels import as_polynomial
from bayespoint.kernels import ConstantKernel, Points, PolynomialKernel, RadialKernel, SumKernel
from bayespoint.kernels.gamma import known_gamma

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


def values(kernel: Any, left: Points, right: Points) -> Any:
    """Kernel values between prepared points in plain units, shape (len(left), len(right))."""
    plain = block(kernel, left, right)
    if left.log_unit + right.log_unit:
        plain *= 2.0 ** ((left.log_unit + right.log_unit) / 2)
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


def squares(points: Points) -> Any:
    """k(x, x) in plain units."""
    result = points.norm**2 * 2.0**points.log_unit
    check_finite(result)
    return result


def points_on(device: Any, points: Points) -> Points:
    """Points that were prepared in NumPy, on a device, where their copy stays as long as they."""
    side = None if points.side is None else copy_on(device, points.side)
    parts = tuple(points_on(device, part) for part in points.parts)
    rows, norm = copy_on(device, points.rows), copy_on(device, points.norm)
    return Points(rows, norm, points.log_unit, NONE, side, parts)


def check_finite(numbers: Any) -> None:
    """Raise an error for numbers that overflow."""
    if not bool(numbers.isfinite().all()):
        raise KernelError(
            "Kernel values overflow float64 on the device. Use normalize=True, scale the features, "
            "or lower the degree or gamma."
        )
