"""Inner products of float32 accuracy from float16 products, which tensor cores compute.

A float32 number has 24 binary digits and a float16 number 11. So x is written as high + low, and
x.x' = high.high' + high.low' + low.high', summed in float32; low.low' is below the rounding. Points
on a grid, such as pixels and counts, need one product only: whole numbers up to 2048 are float16
numbers, and their products are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bayespoint.gpu.source import to_grid

LARGEST = 2048  # all whole numbers up to here are float16 numbers
NEAR = 2.0**-21  # relative distance from the grid: that of a float32 quotient of float32 numbers
PAD = 16  # tensor cores want sizes that are multiples of 8
HIGHEST = 8  # exponent of the largest entry of a scaled row; low parts are then normal numbers
CHUNK = 65_536  # rows that are split at a time


@dataclass(frozen=True)
class Halves:
    """A matrix as float16 parts: rows are ``(high + low) * unit``.

    Attributes
    ----------
    high : tensor of shape (n, k)
        The rounded rows.
    low : tensor of shape (n, k) or None
        What rounding has left; None if nothing.
    unit : tensor of shape (n,)
        Powers of two, or the step of a grid.
    """

    high: Any
    low: Any
    unit: Any

    def take(self, which: Any) -> Halves:
        """The chosen rows."""
        low = None if self.low is None else self.low[which]
        taken = Halves(self.high[which], low, self.unit[which])
        if isinstance(which, slice):  # a view of what is there, rather than a new copy
            vars(taken)["right"] = self.right[which]
        return taken

    def padded(self, n: int) -> Halves:
        """The same with n more rows of zeros."""
        from torch.nn.functional import pad

        if n == 0:
            return self
        low = None if self.low is None else pad(self.low, (0, 0, 0, n))
        return Halves(pad(self.high, (0, 0, 0, n)), low, pad(self.unit, (0, n)))

    @cached_property
    def right(self) -> Any:
        """The parts side by side, as the right factor."""
        import torch

        parts = [self.high] if self.low is None else [self.high, self.low, self.high]
        return torch.cat(parts, dim=1) if len(parts) > 1 else self.high

    def left(self, other: Halves) -> Any:
        """The parts side by side, as the left factor of ``other.right``."""
        import torch

        high, low = self.high, self.low
        if other.low is None:
            return high if low is None else torch.cat([high, low], dim=1)
        return torch.cat([high, high] if low is None else [high, high, low], dim=1)


def split(X: Any) -> Halves:
    """Split the rows of a float32 matrix; one part is enough if they lie on a grid."""
    import torch

    for step in grid_steps(X):
        halves = on_grid(X, step)
        if halves is not None:
            return halves
    n, k = X.shape
    high = torch.zeros((n, k + -k % PAD), dtype=torch.float16, device=X.device)
    low, unit = torch.zeros_like(high), torch.empty(n, device=X.device)
    for begin in range(0, n, CHUNK):
        part = slice(begin, begin + CHUNK)
        top = X[part].abs().amax(dim=1)
        exponent = torch.where(top > 0, torch.frexp(top).exponent, HIGHEST) - HIGHEST
        unit[part] = torch.ldexp(torch.ones_like(top), exponent)
        scaled = X[part] / unit[part, None]
        high[part, :k] = scaled
        low[part, :k] = scaled - high[part, :k]
    return Halves(high, low if bool(low.any()) else None, unit)


def rounded(X: Any) -> Any:
    """The nearest rows of eleven binary digits, for which one part is enough."""
    halves = split(X)
    if halves.low is None:
        return X
    return halves.high[:, : X.shape[1]].float() * halves.unit[:, None]


def grid_steps(X: Any) -> list[float]:
    """Steps of grids through 0 on which all entries may lie: those of a sample do."""
    import torch

    sample = X[:: max(1, len(X) // 1000)]
    size = sample.abs()
    smallest = float(torch.where(size > 0, size, torch.inf).min())
    candidates = sorted({1.0, smallest if smallest < torch.inf else 1.0}, reverse=True)
    return [step for step in candidates if on_grid(sample, step) is not None]


def on_grid(X: Any, step: float) -> Halves | None:
    """Multiples of the step as float16 numbers, if all entries are such, up to 2048 of them."""
    import torch

    n, k = X.shape
    if X.device.type == "cuda" and X.stride(1) == 1:
        high = torch.empty((n, k + -k % PAD), dtype=torch.float16, device=X.device)
        is_on = to_grid(X, step, NEAR, LARGEST, high)
        return Halves(high, None, X.new_full((n,), step)) if is_on else None
    high = torch.zeros((n, k + -k % PAD), dtype=torch.float16, device=X.device)
    furthest = torch.zeros((), device=X.device)
    for begin in range(0, n, CHUNK):
        places = X[begin : begin + CHUNK] / step
        whole = places.round()
        high[begin : begin + CHUNK, :k] = whole
        furthest = torch.maximum(furthest, (places - whole).abs_().sub_(NEAR * whole.abs_()).max())
        furthest = torch.maximum(furthest, whole.max() - LARGEST)
    if not bool(furthest <= 0):
        return None
    return Halves(high, None, torch.full((n,), step, device=X.device))


def inner_products(left: Halves, right: Halves, out: Any = None) -> Any:
    """Inner products of the scaled rows, (high + low).(high' + low'), in float32."""
    import torch

    if left.high.device.type != "cuda":  # torch has no such product on the CPU
        whole = [h.high.float() + (0 if h.low is None else h.low.float()) for h in (left, right)]
        result = whole[0] @ whole[1].T
        return result if out is None else out.copy_(result)
    if out is None:  # products of other sizes take several times as long
        n, more = len(right.high), -len(right.high) % PAD
        out = torch.empty((len(left.high), n + more), device=left.high.device)
        return inner_products(left, right.padded(more), out)[:, :n]
    one, other = left.left(right), right.right
    if one.shape[1] <= other.shape[1]:
        other = other[:, : one.shape[1]]
        return torch.mm(one, other.T, out_dtype=torch.float32, out=out)
    torch.mm(left.high, other.T, out_dtype=torch.float32, out=out)
    return out.add_(torch.mm(left.low, other.T, out_dtype=torch.float32))


def grouped_products(left: Halves, right: Halves, n_groups: int) -> Any:
    """The same for each of some groups of rows, on a GPU: (n_groups, rows, columns)."""
    import torch

    one, other = left.left(right), right.right
    one, other = (part.view(n_groups, -1, part.shape[1]) for part in (one, other))
    return torch.bmm(one, other.transpose(1, 2), out_dtype=torch.float32)
