"""Weights as combinations of training points, w = sum_i alpha_i phi(x_i), also on a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.kernels import from_points, on_grid, prepare, to_points
from bayespoint.gpu.matrix import DeviceKernelMatrix
from bayespoint.gpu.rows import DeviceRows
from bayespoint.kernels import Kernel, Points
from bayespoint.spaces.coordinates import check_space
from bayespoint.spaces.rows import RowCache, multiply
from bayespoint.tools.arrays import is_tensor, to_host
from bayespoint.tools.attributes import need
from bayespoint.tools.lazy import LazyAttributes
from bayespoint.tools.threads import ThreadPool, thread_pool

DEVICE_CHUNK = 65_536


class KernelMatrix:
    """The matrix k(left, right), which is multiplied but never stored.

    Parameters
    ----------
    kernel : Kernel
        What its entries are values of.
    left, right : Points
        Its rows and its columns.
    """

    SMALL = 10_000_000  # multiplications below which threads cost more than they save

    def __init__(self, kernel: Kernel, left: Points, right: Points) -> None:
        self._kernel, self._left, self._right = kernel, left, right
        self.dtype = left.rows.dtype

    def __len__(self) -> int:
        return len(self._left)

    def __matmul__(self, weights: NDArray) -> NDArray[np.float64]:
        if len(self._left) * self._right.size < self.SMALL:
            return self._kernel.block(self._left, self._right) @ weights
        with thread_pool() as pool:
            return multiply(self._kernel, self._left, self._right, weights, pool)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return np.asarray(self._kernel.block(self._left, self._right), dtype=dtype)

    @property
    def largest(self) -> NDArray:
        """The largest size that values of each column can have: rows are of unit vectors."""
        return self._right.norm

    def rows(self, indices: NDArray[np.intp]) -> NDArray:
        """Values of some rows."""
        return self._kernel.block(self._left.take(indices), self._right)


@dataclass(eq=False, repr=False)
class DualSpace(LazyAttributes):
    r"""The span of the training points, with kernel rows on demand.

    Coordinates of a weight vector are its coefficients :math:`\alpha`; ``transform`` gives the
    inner products of :math:`\phi(x) / |\phi(x)|` with the training points that have a weight, so
    that ``transform(X) @ alpha`` is :math:`\langle w, \phi(x) \rangle / |\phi(x)|`.

    Parameters
    ----------
    kernel : Kernel
        The inner product.
    ridge : float or "mean"
        lambda of k_lambda(x, x') = k(x, x') + lambda [x is x'], in plain units of k; "mean" is the
        mean of k(x, x). It acts only where a training point meets itself, never on a new point.
    n_components : int, "auto" or None
        Ignored: there is no basis here, and all training points may have a weight.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import PolynomialKernel
    >>> from bayespoint.spaces import DualSpace
    >>> space = DualSpace(PolynomialKernel()).fit(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> space.transform(np.array([[3.0, 4.0]])) @ np.array([[1.0], [1.0]])  # (3 + 4) / 5
    array([[1.4]])
    """

    kernel: Any
    ridge: float | str = 0.0
    n_components: int | str | None = None
    points: Points = field(init=False)
    not_stored = ("_later",)
    device_dtype = "float32"

    def fit(self, X: NDArray) -> DualSpace:
        """Prepare the training points."""
        self.points = self.kernel.prepare(X, training=True)
        return self

    @property
    def n_points(self) -> int:
        """Number of training points that are kept."""
        return len(self.points)

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """k(x_i, x_i) in the unit of the prepared points, without the ridge."""
        return self.points.norm**2

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Length of phi(x_i), as a new point at x_i would have it, in the unit of the points."""
        if self.kernel.is_precomputed:  # a typical length stands for those of all new points
            return np.full(self.n_points, np.sqrt(self.diagonal.mean()))
        return self.points.norm

    @property
    def scaled_ridge(self) -> float:
        """The ridge in the unit of the prepared points; infinite beside values near 1e-308."""
        if self.ridge == "mean":
            return float(self.diagonal.mean())
        if self.ridge == 0:  # whatever the unit is
            return 0.0
        with np.errstate(over="ignore"):
            return float(float(self.ridge) * np.exp2(-self.points.log_unit))

    def rows(self, cache_size: float | str, pool: ThreadPool) -> RowCache:
        """A cache of kernel rows."""
        return RowCache(self.kernel, self.points, cache_size, pool)

    def restrict(self, support: NDArray) -> DualSpace:
        """The same space with only the training points ``support`` kept."""
        space = DualSpace(self.kernel, self.ridge, self.n_components)
        space.points = self.points.take(support)
        return space

    def forget(self) -> None:
        """Do nothing: predictions need the training points that are kept."""

    @property
    def has_device_form(self) -> bool:
        """Whether ``transform`` takes points on a device."""
        return self.kernel.works_on_devices

    def device_chunk(self, n_features: int) -> int:
        """How many points to transform at a time on a device."""
        return DEVICE_CHUNK

    @cached_property
    def on_device(self) -> dict[Any, Points]:
        """Copies of the points on devices, for predictions there; neither pickled nor stored."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in super().__getstate__().items() if name != "on_device"}

    def transform(self, X: Any) -> KernelMatrix | DeviceKernelMatrix:
        """``k(x, x_i) / |phi(x)|`` for each kept training point, to be multiplied by weights.

        The points X are an array, or a tensor on a device, where the values are then computed.
        """
        if is_tensor(X):
            if X.device not in self.on_device:
                self.on_device[X.device] = from_points(self.kernel, self.points, X.device)
            new = prepare(self.kernel, X, unit=True)
            return DeviceKernelMatrix(self.kernel, new, self.on_device[X.device])
        return KernelMatrix(self.kernel, self.kernel.prepare(X, unit=True), self.points)

    def onnx_coordinates(self, X: Any) -> Any:
        """The same for new points X, as nodes of an ONNX graph."""
        return self.kernel.onnx_block(X, self.points, unit=True)

    def primal(self, alpha: NDArray) -> NDArray:
        """Weights of (x, 1), or of x without a constant, if the kernel is linear."""
        return self.kernel.linear_form.input_weights(self.points.rows.T @ alpha)

    def check_state(self) -> None:
        """Raise an error unless there are a kernel, a ridge and points."""
        check_space(self)
        if hasattr(self, "points"):
            need(isinstance(self.points, Points), "its points are not Points")


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
