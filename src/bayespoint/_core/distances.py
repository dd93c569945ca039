"""Distances along the axes, and weighted sums of them."""

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled


@compiled
def along_axes(left: NDArray, right: NDArray) -> NDArray:
    """The sum of |x_j - x'_j| of all rows of ``left`` and all columns of ``right``."""
    total = np.zeros((left.shape[0], right.shape[1]))
    for i in range(len(left)):
        row = total[i]
        for j in range(len(right)):
            x, others = left[i, j], right[j]
            for k in range(len(others)):  # with AVX several at once, as no sum depends on the last
                row[k] += abs(x - others[k])
    return total


@compiled
def weighted_along_axes(left: NDArray, right: NDArray, weight: NDArray) -> NDArray:
    """The sum of w |x_j - x'_j| over all columns of ``left`` and ``right``, for each row j."""
    sums = np.empty(len(left))
    for j in range(len(left)):
        others = right[j]
        total = np.zeros(len(others))
        for i in range(left.shape[1]):
            x, own = left[j, i], weight[i]
            for k in range(len(others)):
                total[k] += own[k] * abs(x - others[k])
        sums[j] = total.sum()
    return sums
