"""Kernel rows k(x_i, .) of the training points, in the memory of a device."""

from __future__ import annotations

from typing import Any

from bayespoint.exceptions import CacheTooSmallError
from bayespoint.gpu.devices import is_out_of_memory
from bayespoint.gpu.kernels import FusedPoints, block, degree_of
from bayespoint.gpu.products import inner_products
from bayespoint.gpu.source import finish_symmetric
from bayespoint.kernels import Points

MEGABYTE = 1e6
SHARE = 0.75  # of the free device memory, for rows
FEWER = 4  # a quarter of the rows is held, where all did not fit after all
UNIT = 1024  # rows of a product; all have this number, so that values do not depend on the round
WIDE_UNIT = 8192  # rows of a product, where all rows are computed
ALIGNED = 16  # columns are a multiple of this


class DeviceRows:
    """The most recently used kernel rows, as many as there is room for.

    Parameters
    ----------
    kernel : Kernel
        Computes them.
    points : Points
        The training points.
    cache_size : float or "auto"
        Megabytes of device memory for rows; "auto" takes what is needed, up to three quarters of
        what is free.

    Attributes
    ----------
    address : tensor of shape (m,)
        Where the row of a point begins in device memory; 0 if it is not there.
    used : tensor of shape (m,)
        The round in which a row was last used; whoever uses rows writes it.
    round : int
        Number of the present round; whoever uses rows counts it up.
    n_computed : int
        Rows computed so far, repetitions included.
    """

    def __init__(self, kernel: Any, points: Points, cache_size: float | str) -> None:
        import torch

        self._kernel, self._points = kernel, points
        self._padded: Points | None = None
        self._device = points.norm.device
        self.n_points = len(points)
        self.stride = self.n_points + -self.n_points % ALIGNED
        row_bytes = 4 * self.stride
        if isinstance(cache_size, str):
            n_bytes = self._free(row_bytes * self.n_points)
        else:
            n_bytes = cache_size * MEGABYTE
        self.capacity = int(min(self.n_points, n_bytes // row_bytes))
        if self.capacity < 1:
            raise CacheTooSmallError(n_bytes / MEGABYTE, row_bytes / MEGABYTE)
        self.address = torch.zeros(self.n_points, dtype=torch.int64, device=self._device)
        self.used = torch.full((self.n_points,), -1, dtype=torch.int32, device=self._device)
        self._owner = torch.empty(0, dtype=torch.int64, device=self._device)
        self._blocks: list[Any] = []  # of UNIT rows each
        self._starts = torch.empty(0, dtype=torch.int64, device=self._device)
        self.round = self.n_computed = 0

    def _free(self, enough: float) -> float:
        """Bytes that rows may take: at least what is enough, or all that there are."""
        import torch

        if self._device.type != "cuda":
            return 1e9
        free, _ = torch.cuda.mem_get_info(self._device)
        if SHARE * free >= enough:
            return SHARE * free
        cached = torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(
            self._device
        )
        return SHARE * (free + cached)

    @property
    def holds_all(self) -> bool:
        """Whether there is room for all rows."""
        return self.capacity == self.n_points

    def prepare(self) -> None:
        """Compute all rows, if there is room for them and they are not there."""
        if self.holds_all and self.n_computed == 0:
            try:
                self.load_all()
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                self._free_memory()
                self.capacity = max(1, self.capacity // FEWER)

    def load_all(self) -> None:
        """Compute all rows, each value and its mirror image at once."""
        import torch

        m = self.n_points
        values = torch.empty((m, self.stride), device=self._device)
        if self.stride > m:
            values[:, m:] = 0
        points, kernel = self._points, self._kernel
        for begin in range(0, m, WIDE_UNIT):
            n_rows = min(WIDE_UNIT, m - begin)
            rows, rest = slice(begin, begin + n_rows), slice(begin, m)
            if not isinstance(points, FusedPoints):
                block(kernel, points.take(rows), points, values[rows, :m])
                continue
            halves = points.halves
            inner_products(halves.take(rows), halves.take(rest), values[rows, begin:m])
            finish_symmetric(values, points.factor, points.side, begin, n_rows, degree_of(kernel))
        self._blocks = [values]
        starts = torch.arange(m, device=self._device) * (4 * self.stride)
        self.address = starts + values.data_ptr()
        self.n_computed += m

    def load(self, points: Any) -> None:
        """Bring in the rows of some points, at most ``capacity`` of them, none of which is there.

        Rows that were not used for the longest time give way.
        """
        import torch

        slots = self._grow(min(len(points), self.capacity - len(self._owner)))
        points = points[: self.capacity]
        if len(points) > len(slots):
            age = torch.argsort(self.used[self._owner], stable=True)
            age = age[self._owner[age] >= 0]  # not the new ones
            slots = torch.cat([slots, age[: len(points) - len(slots)]])
        old = self._owner[slots]
        self.address[old[old >= 0]] = 0
        self._owner[slots] = points
        starts = self._starts[slots]
        for begin in range(0, len(points), UNIT):
            some = points[begin : begin + UNIT]
            padded = torch.nn.functional.pad(some, (0, UNIT - len(some)))
            self._compute(self._points.take(padded), slots[begin : begin + UNIT])
        self.address[points] = starts
        self.used[points] = self.round
        self.n_computed += len(points)

    def _compute(self, unit: Points, slots: Any) -> None:
        """Compute the rows of a unit of points, and put them into their slots."""
        import torch

        if self._padded is None:  # columns beyond the last point repeat it
            columns = torch.arange(self.stride, device=self._device).clamp(max=self.n_points - 1)
            self._padded = (
                self._points.take(columns) if self.stride > self.n_points else self._points
            )
        places = slots.cpu()
        number, inside = int(places[0]) // UNIT, places % UNIT
        whole = len(places) == UNIT == len(self._blocks[number])
        if whole and bool((places == number * UNIT + torch.arange(UNIT)).all()):
            block(self._kernel, unit, self._padded, self._blocks[number])
            return
        values = block(self._kernel, unit, self._padded)
        for number in (places // UNIT).unique().tolist():
            here = (places // UNIT == number).nonzero()[:, 0]
            there = inside[here].to(self._device)
            self._blocks[number][there] = values[here.to(self._device)]

    def _grow(self, n: int) -> Any:
        """So many new slots."""
        import torch

        begin = len(self._owner)
        while len(self._starts) < begin + n:
            size = min(UNIT, self.capacity - len(self._starts))
            try:
                new = torch.zeros((size, self.stride), device=self._device)
            except RuntimeError as error:
                if not is_out_of_memory(error) or not self._blocks:
                    raise
                self.capacity = len(self._starts)  # no more than are there
                break
            self._blocks.append(new)
            starts = new.data_ptr() + torch.arange(size, device=self._device) * (4 * self.stride)
            self._starts = torch.cat([self._starts, starts])
        n = min(n, len(self._starts) - begin)
        new_owner = torch.full((n,), -1, dtype=torch.int64, device=self._device)
        self._owner = torch.cat([self._owner, new_owner])
        return torch.arange(begin, begin + n, device=self._device)

    def _free_memory(self) -> None:
        """Give back what torch keeps for later."""
        import torch

        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def row(self, point: int) -> Any:
        """The row of a point that is there, for the reference of the CUDA source."""
        if len(self._blocks) == 1 and len(self._blocks[0]) == self.n_points:
            return self._blocks[0][point]
        slot = int((self._owner == point).nonzero()[0])
        return self._blocks[slot // UNIT][slot % UNIT]
