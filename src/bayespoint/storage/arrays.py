"""Arrays as the bytes of .npy files, without pickles."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bayespoint.state import ContentError

KINDS = "biufU"  # bool, integers, floats, strings of one width: no pointers, nothing to unpickle
VERSION = (1, 0)  # of the .npy format
HEADER = 10_000  # bytes of a header at most, as NumPy's own limit; a normal one has 118
LARGEST = 8  # bytes of a number: wider floats are not the same on all machines


def is_plain(dtype: np.dtype) -> bool:
    """Whether arrays of this dtype may be in a model file."""
    longest = np.inf if dtype.kind == "U" else LARGEST
    return dtype.kind in KINDS and 0 < dtype.itemsize <= longest


def axis_order(array: NDArray) -> list[int]:
    """The axes from the slowest to the fastest in memory.

    An array is kept in this order: the last bits of a BLAS product depend on it.
    """
    long = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    order = sorted(long, key=lambda axis: -abs(array.strides[axis]))
    if order == long:
        return list(range(array.ndim))
    return [axis for axis in range(array.ndim) if axis not in long] + order


def to_bytes(array: NDArray, order: Sequence[int]) -> memoryview:
    """The bytes of an array as a .npy file, its axes in the given order."""
    buffer = io.BytesIO()
    turned = array.transpose(order)
    contiguous = np.ascontiguousarray(turned).reshape(turned.shape)  # a single number stays one
    npy.write_array(buffer, contiguous, version=VERSION, allow_pickle=False)
    return buffer.getbuffer()


def from_bytes(data: bytes, order: Sequence[int] | None = None) -> NDArray:
    """The array of a .npy file, whose axes were in the given order (or in their own)."""
    buffer = io.BytesIO(data)
    if npy.read_magic(buffer) != VERSION:
        raise ContentError("the version of its .npy format is not 1.0")
    shape, is_fortran, dtype = npy.read_array_header_1_0(buffer, max_header_size=HEADER)
    if not is_plain(dtype) or is_fortran:
        raise ContentError(f"its numbers are of the type {dtype}, which is not allowed")
    order = range(len(shape)) if order is None else order
    if any(length < 0 for length in shape) or sorted(order) != list(range(len(shape))):
        raise ContentError(f"its shape {shape} does not fit its axes {list(order)}")
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes != len(data) - buffer.tell():
        raise ContentError(f"it holds {len(data)} bytes, not those of {shape} numbers {dtype}")
    array: NDArray = np.ndarray(shape, dtype, buffer=data, offset=buffer.tell()).copy()
    return array.transpose(np.argsort(order)) if len(shape) else array
