"""Kernel values of new rows at fixed points, in few passes over the numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.kernels import Points
from bayespoint.tools.arrays import float64

Values = Callable[[NDArray], tuple[Any, Any]]


def values_at(kernel: Any, points: Points) -> Values:
    """A function of rows: plain values at fixed points, and k(x, x) of each row.

    The same as ``prepare`` and ``block`` give, but what depends on the points alone is computed
    once, and nothing is scaled against overflow, unless numbers do overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.kernels import RadialKernel
    >>> from bayespoint.spaces.values import values_at
    >>> kernel = RadialKernel(gamma=0.5)
    >>> values, square = values_at(kernel, kernel.prepare(np.array([[0.0]])))(np.array([[2.0]]))
    >>> values.round(4), square
    (array([[0.1353]]), array([1.]))
    """
    quick = kernel.quick_block(points)

    def values(X: NDArray) -> tuple[Any, Any]:
        X = float64(X)
        found, square = quick(X, {})
        if not np.isfinite(found.sum() + np.max(square)):
            return kernel.plain_block(X, points)
        return found, square + np.zeros(len(X))

    return values
