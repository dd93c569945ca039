"""Kernel rows k(x_i, .) of all training points, in the memory of a device."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from bayespoint.exceptions import CacheTooSmallError
from bayespoint.gpu.devices import is_out_of_memory
from bayespoint.gpu.kernels import FusedPoints, block, degree_of
from bayespoint.gpu.products import inner_products
from bayespoint.gpu.source import CLUSTER, WIDE, finish_symmetric
from bayespoint.kernels import Points

MEGABYTE = 1e6
SHARE = 0.75  # of the free device memory, for kernel values
WIDE_UNIT = 8192  # rows of a product
UNIT = 64  # they are a multiple of this
ALIGNED = 32  # columns are a multiple of this
LARGEST_SLICE = 81_920  # bytes of margins in a block's shared memory, as in source.cu
LARGEST_HALF_SLICE = 229_376  # the same of machines with rows of half precision
PRODUCTS = 1 << 32  # bytes of inner products at a time
SPARE = 8e9  # bytes for those, and for kernel values that are not rows


class DeviceRows:
    """Kernel rows: all of them if they fit, else those that were needed first.

    Where all rows in float32 do not fit, and all points have the same length in feature space, rows
    are of half precision.

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
    in_clusters : bool
        Whether clusters can train with rows of half precision, as long as there are rows.
    values : tensor of shape (slots, stride) or None
        The rows, once there is memory for them.
    slot_of : tensor of shape (m + 1,) or None
        Slots of the points; -1 where there is no row. None if every point has its own.
    slot_used : tensor of shape (slots + 1,) or None
        When rows were last used, by ``now``; -1 where a slot is free.
    now : int
        How often rows were asked for.
    n_slots : int
        Rows that there is room for.
    together : int
        Rows that may be asked for at once.
    points : Points
        What kernel values are computed from, without the inputs if these are not needed.
    spare : float
        Bytes for kernel values beside the rows.
    """

    def __init__(self, kernel: Any, points: Points, cache_size: float | str) -> None:
        if isinstance(points, FusedPoints):
            points = replace(points, rows=points.rows[:, :0])
        self.kernel, self.points, self.device = kernel, points, points.norm.device
        self.n_points = m = len(points)
        self.stride = m + -m % ALIGNED
        row_bytes = 4 * self.stride
        room = self._free(row_bytes * m)
        if not isinstance(cache_size, str):
            room = cache_size * MEGABYTE
        if room < row_bytes:
            raise CacheTooSmallError(room / MEGABYTE, row_bytes / MEGABYTE)
        self.spare = min(room / 2, SPARE)
        self.values: Any = None
        self.slot_of: Any = None
        self.slot_used: Any = None
        self.now = 0
        most = 4 * self.slice if can_cluster(self.device) else np.inf  # bytes of shared memory
        self.holds_all = most <= LARGEST_SLICE and row_bytes * m <= room
        self._is_half = not self.holds_all and bool((points.norm == 1).all())
        self.in_clusters = self._is_half and most <= LARGEST_HALF_SLICE
        size = row_bytes // 2 if self._is_half else row_bytes
        self.n_slots = int(min(m, max(1, (room - self.spare) // size)))

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
        """Compute all rows if there is room for them; else take memory for some."""
        import torch

        m, dtype = self.n_points, torch.float16 if self._is_half else torch.float32
        while self.values is None:
            try:
                if self.holds_all:
                    self.values = self._all()
                    return
                shape = self.n_slots, self.stride
                self.values = torch.empty(shape, dtype=dtype, device=self.device)
            except RuntimeError as error:
                if not is_out_of_memory(error) or self.n_slots == 1:
                    raise
                self.holds_all, self.n_slots = False, 3 * self.n_slots // 4
                if self.device.type == "cuda":
                    torch.cuda.empty_cache()
            else:
                nothing = torch.full((m + 1,), -1, dtype=torch.int32, device=self.device)
                self.slot_of, self.slot_used = nothing, nothing[: self.n_slots + 1].clone()
                self._held = self.slot_used.long()  # the point of each slot
                self.together = max(1, min(self.n_slots // 4, 4 * WIDE_UNIT))
                if self.n_slots == m and self.in_clusters:
                    self.holds_all = True
                    for some in torch.arange(m, device=self.device).split(WIDE_UNIT):
                        self._load(some)

    def slots(self, points: Any) -> Any:
        """Slots of some points, ``together`` at most, whose rows are computed if need be."""
        self.now += 1
        slots = self.slot_of[points]
        self.slot_used[slots] = self.now  # -1 is a place of its own, behind all slots
        is_missing = slots.new_zeros(self.n_points, dtype=bool)
        is_missing[points] = slots < 0
        missing = is_missing.nonzero()[:, 0]  # each once and in order
        if len(missing):
            self._load(missing)
        return self.slot_of[points]

    def _load(self, points: Any) -> None:
        """Compute rows that are missing, in place of those that were not used for longest."""
        import torch

        n = len(points)
        slots = self.slot_used[:-1].argsort(stable=True)[:n]
        self.slot_of[self._held[slots]] = -1
        self._held[slots], self.slot_used[slots] = points, self.now
        self.slot_of[points] = slots.int()
        left = self.points.take(torch.nn.functional.pad(points, (0, -n % UNIT)))
        n_columns = int(min(PRODUCTS, self.spare) // (4 * len(left)))
        n_columns = max(WIDE, n_columns // WIDE * WIDE)
        for first in range(0, self.stride, n_columns):
            part = slice(first, first + n_columns)
            block(self.kernel, left, self._columns.take(part), self.values[:, part], slots)

    @cached_property
    def _columns(self) -> Any:
        """The points of all columns: those beyond the last point repeat it."""
        import torch

        if self.stride == self.n_points:
            return self.points
        columns = torch.arange(self.stride, device=self.device)
        return self.points.take(columns.clamp(max=self.n_points - 1))

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
