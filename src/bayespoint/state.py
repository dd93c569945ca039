"""Checks of an object's stored attributes, for classes whose objects are kept in model files.

Such a class has a method ``check_state``, which asks these questions of its own attributes. It is
called before an object is saved and after it is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class ContentError(ValueError):
    """A value that cannot be kept in a model file, or that a model file should not contain."""


def need(fine: object, wrong: str) -> None:
    """Raise an error that says what is wrong, unless all is fine."""
    if not fine:
        raise ContentError(wrong)


def shaped(array: Any, kinds: str, axes: str, **sizes: int) -> dict[str, int]:
    """Sizes by the names of the axes, one letter each; the same letter has the same size.

    Raises an error unless the array has as many axes, these sizes, and numbers of these kinds.
    """
    need(isinstance(array, np.ndarray), f"there is {type(array).__name__} instead of an array")
    fits = array.ndim == len(axes) and array.dtype.kind in kinds
    for axis, size in zip(axes, array.shape, strict=False):
        fits = fits and sizes.setdefault(axis, size) == size
    need(fits, f"an array has the shape {array.shape} and the type {array.dtype}")
    return sizes


def finite(array: Any, axes: str, **sizes: int) -> dict[str, int]:
    """As ``shaped``, for floats that are finite."""
    sizes = shaped(array, "f", axes, **sizes)
    need(np.isfinite(array).all(), "an array has numbers that are not finite")
    return sizes


def optional(array: Any, axes: str, **sizes: int) -> None:
    """As ``shaped``, for floats that may be missing."""
    if array is not None:
        shaped(array, "f", axes, **sizes)


def integer(value: Any, low: int) -> None:
    """Raise an error unless the value is an integer from ``low`` on."""
    fine = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= low
    need(fine, f"{value!r:.80} is not an integer from {low} on")


def number(value: Any, low: float, high: float = np.inf) -> None:
    """Raise an error unless the value is a number between these."""
    fine = (
        isinstance(value, (int, float, np.number))
        and not isinstance(value, bool)
        and low <= value <= high
    )
    need(fine, f"{value!r:.80} is not a number from {low:g} to {high:g}")
