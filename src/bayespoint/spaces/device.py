"""The dual space in the memory of a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.kernels import on_grid, prepare, to_points
from bayespoint.gpu.rows import DeviceRows
from bayespoint.spaces.dual import DualSpace
from bayespoint.tools.arrays import to_host


class DeviceSpace(DualSpace):
    """A dual space whose training points are on a device, for the time of a fit.

    Parameters
    ----------
    kernel, ridge, n_components
        As in :class:`DualSpace`.

    Attributes
    ----------
    half : bool
        Whether training points are rounded to eleven binary digits.
    """

    half = False

    def fit(self, X: Any) -> DeviceSpace:
        """Prepare the training points, a tensor."""
        self.kernel = on_grid(self.kernel, X)
        self.points: Any = prepare(self.kernel, X, half=self.half)
        self.device = X.device
        return self

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """k(x_i, x_i) in the unit of the prepared points, without the ridge."""
        return to_host(self.points.norm**2)

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Length of phi(x_i) in the unit of the points."""
        return super().lengths if self.kernel.is_precomputed else to_host(self.points.norm)

    @property
    def device_lengths(self) -> Any:
        """The same on the device."""
        is_matrix = self.kernel.is_precomputed
        return to_device(self.lengths, self.device) if is_matrix else self.points.norm

    @property
    def device_memory(self) -> float:
        """Bytes of memory of the device."""
        import torch

        if self.device.type != "cuda":
            return 1e9
        return float(torch.cuda.get_device_properties(self.device).total_memory)

    def device_rows(self, cache_size: float | str) -> DeviceRows:
        """A cache of kernel rows on the device: see there."""
        return DeviceRows(self.kernel, self.points, cache_size)

    def restrict(self, support: NDArray) -> DualSpace:
        """The space of the training points ``support``, fetched when they are needed."""
        kept = self.points.take(to_device(support, self.device))
        space = DualSpace(self.kernel, self.ridge, self.n_components)
        space.defer(points=lambda: to_points(self.kernel, kept))
        space.on_device[self.device] = kept
        return space
