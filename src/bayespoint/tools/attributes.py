"""Checks of attributes, for classes whose objects can be saved in model files.

Such a class has a method ``check_state``, which applies these checks to its attributes. It is
called before an object is saved and after it is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class ContentError(ValueError):
    """A value that a model file cannot or must not contain."""


def need(fine: object, wrong: str) -> None:
    """Raise an error that says what is wrong, unless the condition holds."""
    if not fine:
        raise ContentError(wrong)


def shaped(array: Any, kinds: str, axes: str, **sizes: int) -> dict[str, int]:
    """Check an array and return its sizes by the names of its axes, one letter each.

    Raises an error unless the array has these axes, the same size for the same letter, and a dtype
    of one of these kinds.
    """
    need(isinstance(array, np.ndarray), f"{type(array).__name__} instead of an array")
    fits = array.ndim == len(axes) and array.dtype.kind in kinds
    for axis, size in zip(axes, array.shape, strict=False):
        fits = fits and sizes.setdefault(axis, size) == size
    need(fits, f"an array has the wrong shape {array.shape} or type {array.dtype}")
    return sizes


def finite(array: Any, axes: str, **sizes: int) -> dict[str, int]:
    """As ``shaped``, for finite floats."""
    sizes = shaped(array, "f", axes, **sizes)
    need(np.isfinite(array).all(), "an array contains NaN or infinity")
    return sizes


def optional(array: Any, axes: str, **sizes: int) -> None:
    """As ``shaped``, for an optional array of floats."""
    if array is not None:
        shaped(array, "f", axes, **sizes)


def integer(value: Any, low: int) -> None:
    """Raise an error unless the value is an integer of at least ``low``."""
    fine = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= low
    need(fine, f"{value!r:.80} is not an integer of at least {low}")


def number(value: Any, low: float, high: float = np.inf) -> None:
    """Raise an error unless the value is a number in the interval."""
    fine = (
        isinstance(value, (int, float, np.number))
        and not isinstance(value, bool)
        and low <= value <= high
    )
    need(fine, f"{value!r:.80} is not a number from {low:g} to {high:g}")
