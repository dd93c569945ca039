"""Lengths of feature vectors, and units that cause no rounding."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import KernelError

CHUNK = 1024  # rows at a time, where a float64 copy of all would be large
HUGE = 2.0**1023  # lengths stay below the largest power of two
TINY = 2.0**-1022  # the smallest normal number


def lengths(z: NDArray) -> NDArray[np.float64]:
    """Euclidean lengths of the rows in float64, without intermediate overflow."""
    peak = float(max(z.max(initial=0.0), -z.min(initial=0.0))) or 1.0
    if not peak * z.shape[1] ** 0.5 < HUGE:
        raise KernelError(
            f"Features times sqrt(gamma) are as large as {peak:.2g} and overflow. Scale the "
            "features or lower gamma."
        )
    length = np.empty(len(z))
    for start in range(0, len(z), CHUNK):
        part = z[start : start + CHUNK].astype(np.float64) / peak
        length[start : start + CHUNK] = np.sqrt(np.einsum("ij,ij->i", part, part))
    length *= peak
    length[length < TINY] = 0.0  # 1 / length would overflow
    return length


def norms(square: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Norms sqrt(k(x, x)) of at most 1, and the unit of k as a logarithm to base 2."""
    if square.min(initial=0.0) < 0:
        i = int(square.argmin())
        raise KernelError(
            f"k(x, x) must not be negative. Got {square[i]:.6g} at point {i}: the kernel is not "
            "positive semi-definite."
        )
    plain = np.sqrt(square)
    longest = power_of_two(plain.max(initial=0.0))
    return plain / longest, 2 * float(np.log2(longest))


def power_of_two(size: float) -> float:
    """The smallest power of two not below ``size`` (1 for 0): scaling by it causes no rounding."""
    if size == 0:
        return 1.0
    mantissa, exponent = math.frexp(size)  # size = mantissa 2**exponent, 1/2 <= mantissa < 1
    return math.ldexp(1.0, exponent - (mantissa == 0.5))
