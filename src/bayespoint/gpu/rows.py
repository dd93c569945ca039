"""Kernel rows k(x_i, .) of all training points, in the memory of a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bayespoint.exceptions import CacheTooSmallError
from bayespoint.gpu.devices import is_out_of_memory
from bayespoint.gpu.kernels import FusedPoints, block, degree_of
from bayespoint.gpu.products import inner_products
from bayespoint.gpu.source import CLUSTER, finish_symmetric
from bayespoint.kernels import Points

MEGABYTE = 1e6
SHARE = 0.75  # of the free device memory, for kernel values
WIDE_UNIT = 8192  # rows of a product
ALIGNED = 32  # columns are a multiple of this
LARGEST_SLICE = 81_920  # bytes of margins in a block's shared memory, as in source.cu


class DeviceRows:
    """All kernel rows, if they can be held and used; else the points, and room for some values.

    Parameters
    ----------
    kernel : Kernel
        Computes them.
    points : Points
        The training points.
    cache_size : float or "auto"
        Megabytes of device memory for kernel values; "auto" takes what is needed, up to three
        quarters of what is free.

    Attributes
    ----------
    holds_all : bool
        Whether there is room for all rows, and clusters of blocks can train on so many points.
    values : tensor of shape (m, stride) or None
        The rows, if they are there.
    points : Points
        What kernel values are computed from, without the inputs if these are not needed.
    room : float
        Bytes for kernel values.
    """

    def __init__(self, kernel: Any, points: Points, cache_size: float | str) -> None:
        if isinstance(points, FusedPoints):
            points = replace(points, rows=points.rows[:, :0])
        self.kernel, self.points, self.device = kernel, points, points.norm.device
        self.n_points = len(points)
        self.stride = self.n_points + -self.n_points % ALIGNED
        row_bytes = 4 * self.stride
        if isinstance(cache_size, str):
            self.room = self._free(row_bytes * self.n_points)
        else:
            self.room = cache_size * MEGABYTE
        if self.room < row_bytes:
            raise CacheTooSmallError(self.room / MEGABYTE, row_bytes / MEGABYTE)
        is_small = 4 * self.slice <= LARGEST_SLICE and can_cluster(self.device)
        self.holds_all = is_small and row_bytes * self.n_points <= self.room
        self.values: Any = None

    @property
    def slice(self) -> int:
        """Margins that each block of a cluster keeps."""
        return -(-self.stride // (4 * CLUSTER)) * 4

    def _free(self, enough: float) -> float:
        """Bytes that values may take: at least what is enough, or all that there are."""
        import torch

        if self.device.type != "cuda":
            return 1e9
        free, _ = torch.cuda.mem_get_info(self.device)
        if SHARE * free >= enough:
            return SHARE * free
        cached = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return SHARE * (free + cached)

    def prepare(self) -> None:
        """Compute all rows, if there is room for them and they are not there."""
        if not self.holds_all or self.values is not None:
            return
        try:
            self.values = self._all()
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            self.holds_all = False
            if self.device.type == "cuda":
                import torch

                torch.cuda.empty_cache()

    def _all(self) -> Any:
        """All rows, each value and its mirror image at once."""
        import torch

        m, points, kernel = self.n_points, self.points, self.kernel
        values = torch.empty((m, self.stride), device=self.device)
        if self.stride > m:
            values[:, m:] = 0
        for begin in range(0, m, WIDE_UNIT):
            n_rows = min(WIDE_UNIT, m - begin)
            rows, rest = slice(begin, begin + n_rows), slice(begin, m)
            if not isinstance(points, FusedPoints):
                block(kernel, points.take(rows), points, values[rows, :m])
                continue
            halves = points.halves
            inner_products(halves.take(rows), halves.take(rest), values[rows, begin:m])
            finish_symmetric(values, points.factor, points.side, begin, n_rows, degree_of(kernel))
        return values


def can_cluster(device: Any) -> bool:
    """Whether the device has clusters of blocks with distributed shared memory."""
    import torch

    return device.type != "cuda" or torch.cuda.get_device_capability(device) >= (9, 0)
