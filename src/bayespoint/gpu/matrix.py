"""A kernel matrix on a device, for predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.kernels import block, multiplied
from bayespoint.kernels import Points
from bayespoint.tools.arrays import to_host

TILE = 1 << 30  # bytes of kernel values at a time


class DeviceKernelMatrix:
    """The matrix k(left, right) on a device, which is multiplied but never stored.

    Parameters
    ----------
    kernel : Kernel
        What its entries are values of.
    left, right : Points
        Its rows and its columns.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, kernel: Any, left: Points, right: Points) -> None:
        self._kernel, self._left, self._right = kernel, left, right

    @property
    def points(self) -> Any:
        """The points of its rows, a tensor."""
        return self._left.rows

    def __len__(self) -> int:
        return len(self._left)

    def __matmul__(self, weights: NDArray) -> NDArray[np.float64]:
        return to_host(self.times(weights))

    def times(self, weights: Any) -> Any:
        """The product with an array or a tensor, as a float64 tensor."""
        import torch

        factor = to_device(weights, self.points.device, torch.float32)
        n_rows = max(128, TILE // (4 * max(1, len(self._right))))
        parts = [
            multiplied(self._kernel, self._left.take(slice(i, i + n_rows)), self._right, factor)
            for i in range(0, len(self), n_rows)
        ]
        return torch.cat(parts).double()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return to_host(block(self._kernel, self._left, self._right)).astype(dtype or np.float32)
