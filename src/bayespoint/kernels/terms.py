"""Parts of a sum of kernels: names of parameters, factors of features, parts of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from bayespoint.kernels.points import Points

SMALL = 64  # points of which all pairs are computed where only a diagonal is needed


def split_name(name: str) -> tuple[int, str]:
    """Index of the term that a parameter belongs to, and its name there ("" for the weight)."""
    _, number, *inner = name.split("__", 2)
    return int(number), "".join(inner)


def replaced(values: Sequence, i: int, value: Any) -> list:
    """A copy of a list with one entry replaced."""
    return [value if j == i else old for j, old in enumerate(values)]


def scaled(values: NDArray, left: Points, right: Points, i: int) -> NDArray:
    """Values of one term of a sum, in the unit of the sum's points."""
    return values * (left.rows[:, i, None] * right.rows[:, i])  # symmetric to the bit


def small_parts(n: int) -> list[slice]:
    """Consecutive parts of n points, so small that all pairs of each take little time."""
    return [slice(begin, begin + SMALL) for begin in range(0, n, SMALL)]
