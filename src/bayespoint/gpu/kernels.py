"""Kernel values in float32 on a device, for the rows of perceptrons and predictions with them.

Any kernel works on tensors as it is. Powers of inner products and Gaussians, which most people
use, have a form of their own: inner products on tensor cores, finished by the CUDA source.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayespoint.exceptions import KernelError
from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.products import grid_steps, grouped_products, inner_products, rounded, split
from bayespoint.gpu.source import finish, multiply, put
from bayespoint.kernels import Kernel, Points, PolynomialKernel, RadialKernel
from bayespoint.kernels.base import positions
from bayespoint.kernels.radial import known_gamma
from bayespoint.tools.arrays import beside, chunks, inverse, power_of_two, to_host

LARGEST_VALUE = 1e36  # of squared float32 features, and of exponents
GAUSSIAN = 0  # what the CUDA source takes instead of a degree


@dataclass(frozen=True)
class FusedPoints(Points):
    r"""Points of a kernel whose values are computed from inner products g of raw features.

    They are :math:`(g a_i a_j + c_i c_j)^d`, or :math:`\exp(g a_i a_j - c_i - c_j)`. ``rows`` are
    the inputs, and ``side`` is c.

    Attributes
    ----------
    halves : Halves
        The features whose inner products are taken.
    factor : tensor of shape (n,)
        a_i.
    """

    halves: Any = None
    factor: Any = None

    def take(self, which: Any) -> FusedPoints:
        """The chosen points (an index tensor or a slice)."""
        points: Any = super().take(which)
        return replace(points, halves=self.halves.take(which), factor=self.factor[which])


def as_fused(kernel: Any) -> Any:
    """The kernel as one that has a form of its own; None if there is none."""
    if kernel.is_linear:
        gamma, coef0 = kernel.linear_form
        return PolynomialKernel(gamma=gamma, coef0=coef0, normalize=kernel.normalize)
    return kernel if type(kernel) in (PolynomialKernel, RadialKernel) else None


def degree_of(kernel: Any) -> int:
    """The power of a kernel that has a form of its own."""
    fused = as_fused(kernel)
    return GAUSSIAN if isinstance(fused, RadialKernel) else fused.degree


def on_grid(kernel: Any, X: Any) -> Any:
    """The kernel with centres on the grid of float32 points, so that differences lie on it, too."""
    new = copy(kernel)
    if hasattr(kernel, "terms"):
        new.terms = [on_grid(term, X) for term in kernel.terms]
    if getattr(kernel, "centre_", None) is not None:
        for step in grid_steps(X)[:1]:
            centre = np.round(kernel.centre_.astype(np.float64) / step) * step
            new.centre_ = centre.astype(np.float32)
    return new


def prepare(kernel: Kernel, X: Any, *, unit: bool = False, half: bool = False) -> Points:
    """Prepare points, as ``kernel.prepare`` does; ``half`` rounds them to eleven binary digits."""
    fused = as_fused(kernel)
    if fused is None:
        return kernel.prepare(rounded(X) if half else X, unit=unit, training=not unit)
    of_kind = radial_points if isinstance(fused, RadialKernel) else power_points
    return of_kind(fused, X, unit=unit, half=half)


def power_points(kernel: PolynomialKernel, X: Any, *, unit: bool, half: bool) -> FusedPoints:
    """Points of a power of inner products."""
    import torch

    gamma, coef0 = known_gamma(kernel), float(kernel.coef0)
    X = rounded(X) if half else X
    length = (squares(X, gamma) + coef0).sqrt()
    if unit or kernel.normalize:
        scale, norm, log_unit = inverse(length), (length > 0).double(), 0.0
    else:
        longest = power_of_two(float(length.max()))
        scale = torch.full_like(length, 1.0 / longest)
        norm, log_unit = (length / longest) ** kernel.degree, 2 * kernel.degree * np.log2(longest)
    halves = split(used_columns(X, kernel.columns_))
    factor = np.sqrt(gamma) * scale * halves.unit
    side = np.sqrt(coef0) * scale
    return FusedPoints(
        X, norm, float(log_unit), positions(X), side.float(), halves=halves, factor=factor.float()
    )


def radial_points(kernel: RadialKernel, X: Any, *, unit: bool, half: bool) -> FusedPoints:
    """Points of a Gaussian."""
    import torch

    gamma = known_gamma(kernel)
    centre = 0.0 if kernel.centre_ is None else beside(X, kernel.centre_)
    z = X - centre
    if np.ndim(gamma) == 0:
        z = rounded(z) if half else z
        X = z + centre if half else X
        side, scale = squares(z, gamma), np.sqrt(2 * gamma)
    else:
        widths = beside(X, np.sqrt(2 * gamma)).float()
        z = rounded(z * widths) if half else z * widths
        X = torch.where(widths > 0, z / widths + centre, X) if half else X
        side, scale = squares(z, 0.5), 1.0
    halves, norm = split(z), torch.ones(len(X), dtype=torch.float64, device=X.device)
    factor = (scale * halves.unit).float()
    return FusedPoints(X, norm, 0.0, positions(X), side.float(), halves=halves, factor=factor)


def block(kernel: Any, left: Any, right: Any, out: Any = None, slots: Any = None) -> Any:
    """Kernel values between prepared points, float32 of shape (len(left), len(right)).

    Or rows ``slots`` of ``out`` take them, in float32 or float16, as many as there are slots.
    """
    n = len(left) if out is None else len(out) if slots is None else len(slots)
    if isinstance(left, FusedPoints):
        values, below = inner_products(left.halves, right.halves)[:n], left.side
        assert below is not None
        sides = left.factor[:n], right.factor, below[:n], right.side
        return finish(values, *sides, degree_of(kernel), out=out, slots=slots)
    values = kernel.block(left, right)[:n]
    return values if out is None else put(values, out, slots)


def blocks(kernel: Any, left: Any, right: Any, n_groups: int) -> Any:
    """Kernel values of groups of points with groups of others, (n_groups, rows, columns)."""
    import torch

    if isinstance(left, FusedPoints) and left.norm.device.type == "cuda":
        values = grouped_products(left.halves, right.halves, n_groups)
        flat, sides = values.flatten(0, 1), (left.factor, right.factor, left.side, right.side)
        finish(flat, *sides, degree_of(kernel), n_groups)
        return values
    sizes = len(left) // n_groups, len(right) // n_groups
    groups = [[slice(i * n, (i + 1) * n) for n in sizes] for i in range(n_groups)]
    return torch.stack([block(kernel, left.take(i), right.take(j)) for i, j in groups])


def multiplied(kernel: Any, left: Any, right: Any, weights: Any) -> Any:
    """Kernel values between prepared points, times a matrix of weights."""
    if not isinstance(left, FusedPoints):
        return block(kernel, left, right) @ weights
    values = inner_products(left.halves, right.halves)
    return multiply(
        values, left.factor, right.factor, left.side, right.side, degree_of(kernel), weights
    )


def squares(X: Any, gamma: float) -> Any:
    """Gamma |x|^2 in float64."""
    import torch

    result = torch.empty(len(X), dtype=torch.float64, device=X.device)
    for own in chunks(X):
        part = X[own].double()
        result[own] = gamma * (part * part).sum(dim=1)
    if not bool(result.max() < LARGEST_VALUE):
        raise KernelError(
            "gamma |x|^2 overflows float32, in which a GPU works. Scale the features or lower "
            "gamma."
        )
    return result


def used_columns(X: Any, columns: Any) -> Any:
    """Features that are not always zero; the constant one comes in later."""
    return X if columns is None else X[:, beside(X, columns[columns < X.shape[1]])]


def to_points(kernel: Any, points: Points) -> Points:
    """The same points in NumPy, as ``kernel.prepare`` gives them."""
    import torch

    if not isinstance(points, FusedPoints):
        return points.apply(to_host)
    fused, rows = as_fused(kernel), points.rows
    side: Any = points.side
    if isinstance(fused, RadialKernel):
        rows = rows if fused.centre_ is None else rows - beside(rows, fused.centre_)
        rows = rows * beside(rows, np.sqrt(2 * known_gamma(fused))).float()
    else:
        rows = rows * (points.factor / points.halves.unit)[:, None]
        if fused.coef0 > 0:
            rows = torch.cat([rows, side[:, None]], dim=1)
        if fused.columns_ is not None:
            rows = rows[:, beside(rows, fused.columns_)]
        side = None
    plain = Points(rows, points.norm, points.log_unit, positions(rows), side)
    return plain.apply(to_host)


def from_points(kernel: Any, points: Points, device: Any) -> Points:
    """Points that were prepared in NumPy, on a device."""
    import torch

    def move(array: Any) -> Any:
        moved = to_device(array, device)
        return moved.float() if moved.is_floating_point() else moved

    there, fused = points.apply(move), as_fused(kernel)
    if fused is None:
        return there
    rows, side = there.rows, there.side
    if not isinstance(fused, RadialKernel):
        side = torch.zeros_like(rows[:, 0])
        if fused.coef0 > 0:
            rows, side = rows[:, :-1], rows[:, -1].clone()  # the constant feature comes last
    halves = split(rows)
    return FusedPoints(
        rows, there.norm, points.log_unit, there.index, side, halves=halves, factor=halves.unit
    )
