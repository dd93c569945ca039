"""Kernel values on a device: inner products, powers and Gaussians of them, and their sums."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from bayespoint.exceptions import KernelError
from bayespoint.gpu.arrays import CHUNK, to_device, to_host
from bayespoint.gpu.products import Halves, grid_steps, inner_products, rounded, split
from bayespoint.gpu.source import finish, multiply
from bayespoint.kernels import (
    ConstantKernel,
    Kernel,
    Points,
    PolynomialKernel,
    PrecomputedKernel,
    RadialKernel,
    SumKernel,
)
from bayespoint.kernels.custom import ASYMMETRY, check_square
from bayespoint.kernels.points import known_gamma, norms, power_of_two

COMPARED = 4096  # rows of a matrix that are compared with its columns at a time
LARGEST_VALUE = 1e36  # of squared float32 features, and of exponents


@dataclass(frozen=True)
class DevicePoints:
    """Points prepared by a kernel, on a device; see :class:`bayespoint.kernels.Points`.

    Attributes
    ----------
    halves : Halves or None
        The features whose inner products are taken.
    factor, side : tensor of shape (n,)
        a_i and c_i of the values (g a_i a_j + c_i c_j)^degree, or exp(g a_i a_j - c_i - c_j).
    norm : tensor of shape (n,)
        Lengths of phi(x), in float64.
    log_unit : float
        Logarithm to base 2 of the unit of k.
    rows : tensor of shape (n, width)
        What ``Points.rows`` is made of on the CPU: the features, or the factors of a sum.
    parts : tuple of DevicePoints
        The same points as prepared by each term of a sum.
    index : tensor of shape (n,) or None
        Columns of a kernel matrix, of which ``rows`` are rows; values are a_i a_j K_ij.
    """

    halves: Halves | None
    factor: Any
    side: Any
    norm: Any
    log_unit: float
    rows: Any
    parts: tuple[DevicePoints, ...] = ()
    index: Any = None

    def __len__(self) -> int:
        return len(self.norm)

    def take(self, which: Any) -> DevicePoints:
        """The chosen points (an index tensor or a slice)."""
        return replace(
            self,
            halves=None if self.halves is None else self.halves.take(which),
            factor=self.factor[which],
            side=self.side[which],
            norm=self.norm[which],
            rows=self.rows[which],
            parts=tuple(part.take(which) for part in self.parts),
            index=None if self.index is None else self.index[which],
        )


def has_device_form(kernel: Kernel) -> bool:
    """Whether the values of a kernel can be computed on a device."""
    if isinstance(kernel, SumKernel):
        return all(has_device_form(term) for term in kernel.terms)
    return type(kernel) in (PolynomialKernel, RadialKernel, ConstantKernel, PrecomputedKernel)


@singledispatch
def fitted(kernel: Any, X: Any) -> Any:
    """A new kernel that is fitted to training points on a device."""
    kernel.check()
    return copy(kernel)


@fitted.register
def _(kernel: PolynomialKernel, X: Any) -> Any:
    kernel.check()
    new = copy(kernel)
    new.gamma, new.columns_ = gamma_of(kernel.gamma, X), None
    if kernel.degree > 1:
        used = np.append(to_host(X.any(dim=0)), [True] if kernel.coef0 > 0 else [])
        new.columns_ = None if used.all() else np.flatnonzero(used)
    return new


@fitted.register
def _(kernel: RadialKernel, X: Any) -> Any:
    import torch

    kernel.check()
    new = copy(kernel)
    new.gamma = gamma_of(kernel.gamma, X)
    centre = X.mean(dim=0, dtype=torch.float64)
    if X.dtype == torch.float32:
        for step in grid_steps(X)[:1]:  # on which differences lie as well
            centre = (centre / step).round() * step
    new.centre_ = to_host(centre.to(X.dtype))
    return new


@fitted.register
def _(kernel: SumKernel, X: Any) -> Any:
    kernel.check()
    new = copy(kernel)
    new.terms = [fitted(term, X) for term in kernel.terms]
    return new


@fitted.register
def _(kernel: PrecomputedKernel, X: Any) -> Any:
    kernel.check()
    check_gram(X)
    new = copy(kernel)
    new.typical_length_ = float(X.diagonal().double().mean().sqrt()) or 1.0
    return new


def gamma_of(gamma: Any, X: Any) -> Any:
    """The value of gamma for these training points."""
    from bayespoint.kernels.points import gamma_from_data

    if not isinstance(gamma, str) or gamma != "scale":
        return gamma_from_data(gamma, X)
    variance = float(X.double().var(correction=0))
    if variance == 0:
        return 1.0
    if not 1e-300 < variance < 1e300:
        raise KernelError(
            "gamma='scale' is 1 / (n_features Var X), which is out of range. Scale the features."
        )
    return 1.0 / (X.shape[1] * variance)


@singledispatch
def prepare(kernel: Any, X: Any, *, unit: bool = False, half: bool = False) -> DevicePoints:
    """Prepare points, as ``kernel.prepare`` does; ``half`` rounds them to eleven binary digits."""
    raise TypeError(f"{type(kernel).__name__} has no values on a device")


@prepare.register
def _(kernel: PolynomialKernel, X: Any, *, unit: bool = False, half: bool = False) -> DevicePoints:
    import torch

    gamma, coef0 = known_gamma(kernel), float(kernel.coef0)
    X = rounded(X) if half else X
    square = squares(X, gamma) + coef0
    length = square.sqrt()
    if unit or kernel.normalize:
        scale = torch.where(length > 0, 1.0 / length, 0.0)
        norm, log_unit = (length > 0).double(), 0.0
    else:
        longest = power_of_two(float(length.max()))
        scale = torch.full_like(length, 1.0 / longest)
        norm, log_unit = (length / longest) ** kernel.degree, 2 * kernel.degree * np.log2(longest)
    halves = split(used_columns(X, kernel.columns_))
    factor = np.sqrt(gamma) * scale * halves.unit
    side = np.sqrt(coef0) * scale
    return DevicePoints(halves, factor.float(), side.float(), norm, float(log_unit), X)


@prepare.register
def _(kernel: RadialKernel, X: Any, *, unit: bool = False, half: bool = False) -> DevicePoints:
    import torch

    gamma = known_gamma(kernel)
    centre = 0.0 if kernel.centre_ is None else torch.as_tensor(kernel.centre_, device=X.device)
    z = X - centre
    if np.ndim(gamma) == 0:
        z = rounded(z) if half else z
        X = z + centre if half else X
        side, scale = squares(z, gamma), np.sqrt(2 * gamma)
    else:
        widths = torch.as_tensor(np.sqrt(2 * gamma), device=X.device).float()
        z = rounded(z * widths) if half else z * widths
        X = torch.where(widths > 0, z / widths + centre, X) if half else X
        side, scale = squares(z, 0.5), 1.0
    halves = split(z)
    norm = torch.ones(len(X), dtype=torch.float64, device=X.device)
    return DevicePoints(halves, (scale * halves.unit).float(), side.float(), norm, 0.0, X)


@prepare.register
def _(kernel: ConstantKernel, X: Any, *, unit: bool = False, half: bool = False) -> DevicePoints:
    import torch

    ones = torch.ones(len(X), device=X.device)
    return DevicePoints(split(ones[:, None]), ones, 0 * ones, ones.double(), 0.0, X)


@prepare.register
def _(kernel: SumKernel, X: Any, *, unit: bool = False, half: bool = False) -> DevicePoints:
    import torch

    unit = unit or kernel.normalize
    if kernel.is_linear:
        return prepare(as_polynomial(kernel), X, unit=unit, half=half)
    parts = [prepare(term, X, half=half) for term in kernel.terms]
    weights = [1.0] * len(parts) if kernel.weights is None else kernel.weights
    log_units = torch.tensor(
        [np.log2(w) + part.log_unit for w, part in zip(weights, parts, strict=True)],
        dtype=torch.float64,
        device=X.device,
    )
    log_square = log_units + 2 * torch.log2(torch.stack([part.norm for part in parts], dim=1))
    log_total = torch.logsumexp(log_square * np.log(2), dim=1, keepdim=True) / np.log(2)
    if unit:
        parts = [prepare(term, X, unit=True, half=half) for term in kernel.terms]
        is_zero = torch.isneginf(log_total)
        scale = torch.exp2((log_square - torch.where(is_zero, 0.0, log_total)) / 2)
        norm, log_unit = (~is_zero[:, 0]).double(), 0.0
    else:
        log_unit = 2 * np.ceil((float(log_units.max()) + np.log2(len(parts))) / 2)
        scale = torch.exp2((log_units - log_unit) / 2).expand(len(X), -1)
        norm = torch.exp2((log_total[:, 0] - log_unit) / 2)
    ones = torch.ones(len(X), device=X.device)
    return DevicePoints(None, ones, ones, norm, float(log_unit), scale.float(), tuple(parts))


@prepare.register
def _(kernel: PrecomputedKernel, X: Any, *, unit: bool = False, half: bool = False) -> DevicePoints:
    import torch

    index, ones = torch.arange(len(X), device=X.device), torch.ones(len(X), device=X.device)
    if unit:  # rows of new points, whose lengths are not known
        factor = ones / kernel.typical_length_
        return DevicePoints(None, factor, ones, ones.double(), 0.0, X, index=index)
    norm, log_unit = norms(to_host(X.diagonal().double()))
    factor = ones * 2.0 ** (-log_unit / 2)
    return DevicePoints(None, factor, ones, to_device(norm, X.device), log_unit, X, index=index)


def block(kernel: Any, left: DevicePoints, right: DevicePoints, out: Any = None) -> Any:
    """Kernel values between prepared points, float32 of shape (len(left), len(right))."""
    if left.index is not None:
        values = left.rows[:, right.index] * left.factor[:, None] * right.factor
        return values if out is None else out.copy_(values)
    if not left.parts:
        assert left.halves is not None and right.halves is not None
        values = inner_products(left.halves, right.halves, out)
        return finish(values, left.factor, right.factor, left.side, right.side, degree_of(kernel))
    total: Any = 0
    for i, term in enumerate(kernel.terms):
        values = block(term, left.parts[i], right.parts[i])
        total = total + values * (left.rows[:, i, None] * right.rows[:, i])
    return total if out is None else out.copy_(total)


def multiplied(kernel: Any, left: DevicePoints, right: DevicePoints, weights: Any) -> Any:
    """Kernel values between prepared points, times a matrix of weights."""
    if left.halves is None:
        return block(kernel, left, right) @ weights
    assert left.halves is not None and right.halves is not None
    values = inner_products(left.halves, right.halves)
    return multiply(
        values, left.factor, right.factor, left.side, right.side, degree_of(kernel), weights
    )


def degree_of(kernel: Any) -> int:
    """The power of a kernel; 0 stands for a Gaussian."""
    return 0 if isinstance(kernel, RadialKernel) else getattr(kernel, "degree", 1)


def as_polynomial(kernel: Any) -> PolynomialKernel:
    """A sum of linear kernels as one linear kernel."""
    gamma, coef0 = kernel.linear_form
    return PolynomialKernel(gamma=gamma, coef0=coef0, normalize=kernel.normalize)


def squares(X: Any, gamma: float) -> Any:
    """Gamma |x|^2 in float64."""
    import torch

    result = torch.empty(len(X), dtype=torch.float64, device=X.device)
    for begin in range(0, len(X), CHUNK):
        part = X[begin : begin + CHUNK].double()
        result[begin : begin + CHUNK] = gamma * (part * part).sum(dim=1)
    if not bool(result.max() < LARGEST_VALUE):
        raise KernelError(
            "gamma |x|^2 overflows float32, in which a GPU works. Scale the features or lower "
            "gamma."
        )
    return result


def check_gram(K: Any) -> None:
    """Raise an error unless a matrix is square and symmetric; see the check of the CPU."""
    check_square(K)
    largest = float(K.diagonal().abs().max())
    for begin in range(0, len(K), COMPARED):
        part = K[begin : begin + COMPARED]
        difference = float((part - K[:, begin : begin + COMPARED].T).abs().max())
        if difference > ASYMMETRY * max(largest, float(part.abs().max())):
            raise KernelError(
                f"A precomputed kernel must be symmetric. Got values K[i, j] and K[j, i] that "
                f"differ by {difference:.3g}."
            )


def used_columns(X: Any, columns: Any) -> Any:
    """Features that are not always zero; the constant one comes in later."""
    import torch

    if columns is None:
        return X
    own = columns[columns < X.shape[1]]
    return X[:, torch.as_tensor(own, device=X.device)]


def to_points(kernel: Any, points: DevicePoints) -> Points:
    """The same points in NumPy, as ``kernel.prepare`` gives them."""
    import torch

    if isinstance(kernel, SumKernel) and kernel.is_linear:
        kernel = as_polynomial(kernel)
    index, norm = np.arange(len(points)), to_host(points.norm)
    X, side = points.rows, None
    if points.index is not None:
        index, side = to_host(points.index), to_host(points.factor)
        return Points(to_host(X), norm, points.log_unit, index, side)
    if isinstance(kernel, PolynomialKernel):
        gamma, coef0 = known_gamma(kernel), float(kernel.coef0)
        assert points.halves is not None
        scale = points.factor / points.halves.unit / np.sqrt(gamma)
        rows = X * (np.sqrt(gamma) * scale)[:, None]
        if coef0 > 0:
            rows = torch.cat([rows, points.side[:, None]], dim=1)
        if kernel.columns_ is not None:
            rows = rows[:, torch.as_tensor(kernel.columns_, device=X.device)]
    elif isinstance(kernel, RadialKernel):
        scale = torch.as_tensor(np.sqrt(2 * known_gamma(kernel)), device=X.device).float()
        rows = X if kernel.centre_ is None else X - torch.as_tensor(kernel.centre_, device=X.device)
        rows, side = rows * scale, to_host(points.side)
    elif isinstance(kernel, ConstantKernel):
        rows = torch.ones((len(X), 1), device=X.device)
    else:
        rows = X
    parts = tuple(
        to_points(term, part)
        for term, part in zip(getattr(kernel, "terms", ()), points.parts, strict=False)
    )
    return Points(to_host(rows), norm, points.log_unit, index, side, parts)


def from_points(kernel: Any, points: Points, device: Any) -> DevicePoints:
    """Points that were prepared in NumPy, on a device."""
    import torch

    rows = to_device(points.rows, device, torch.float32)
    norm = to_device(points.norm, device)
    ones = torch.ones(len(rows), device=device)
    if kernel.is_precomputed:
        factor, index = (
            to_device(points.side, device, torch.float32),
            to_device(points.index, device),
        )
        return DevicePoints(None, factor, ones, norm, points.log_unit, rows, index=index)
    if points.parts:
        parts = tuple(
            from_points(term, part, device)
            for term, part in zip(kernel.terms, points.parts, strict=True)
        )
        return DevicePoints(None, ones, ones, norm, points.log_unit, rows, parts)
    side = 0 * ones if points.side is None else to_device(points.side, device, torch.float32)
    linear = as_polynomial(kernel) if isinstance(kernel, SumKernel) else kernel
    if isinstance(linear, PolynomialKernel) and linear.coef0 > 0:
        rows, side = rows[:, :-1], rows[:, -1].clone()  # the constant feature comes last
    halves = split(rows)
    return DevicePoints(halves, halves.unit, side, norm, points.log_unit, rows)
