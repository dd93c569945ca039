"""Checks of parameters, before any label is queried."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_indices(name: str, indices: ArrayLike, n_pool: int) -> NDArray[np.intp]:
    """The indices as an array, or an error if they are invalid."""
    values = np.asarray(indices)
    if values.size == 0:
        return np.empty(0, dtype=np.intp)
    if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, indices into the pool. Got an "
            f"array of shape {values.shape} and type {values.dtype} instead."
        )
    if values.min() < 0 or values.max() >= n_pool:
        raise ValueError(
            f"{name} must contain indices into the pool, from 0 to {n_pool - 1}. Got indices from "
            f"{values.min()} to {values.max()} instead."
        )
    return values.astype(np.intp)


def check_count(
    name: str, value: Any, low: int, high: int | None = None, of_what: str = ""
) -> None:
    """Raise an error unless the value is an int in the range."""
    is_int = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not is_int or value < low or (high is not None and value > high):
        allowed = f"[{low}, inf)" if high is None else f"[{low}, {high}], {of_what}"
        raise ValueError(f"{name} must be an int in the range {allowed}. Got {value!r} instead.")
