"""Arrays in NumPy's .npy format, without pickles."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bayespoint.state import ContentError

KINDS = "biufU"  # bool, integers, floats and strings of fixed width: nothing to unpickle
VERSION = (1, 0)  # of the .npy format
HEADER = 10_000  # largest header in bytes, NumPy's limit; a typical one has 118
LAST_LETTER = 0x10FFFF  # of Unicode
LARGEST = 8  # bytes of a number; wider floats differ between platforms


def is_plain(dtype: np.dtype) -> bool:
    """Whether model files may contain arrays of this dtype."""
    longest = np.inf if dtype.kind == "U" else LARGEST
    return dtype.kind in KINDS and 0 < dtype.itemsize <= longest


def axis_order(array: NDArray) -> list[int]:
    """The axes from the slowest to the fastest in memory.

    The order is stored, because the last bits of a BLAS product depend on it.
    """
    long = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    order = sorted(long, key=lambda axis: -abs(array.strides[axis]))
    if order == long:
        return list(range(array.ndim))
    return [axis for axis in range(array.ndim) if axis not in long] + order


def to_bytes(array: NDArray, order: Sequence[int]) -> memoryview:
    """The array as bytes of a .npy file, with its axes in the given order."""
    buffer = io.BytesIO()
    turned = array.transpose(order)
    contiguous = np.ascontiguousarray(turned).reshape(turned.shape)  # 0-d arrays stay 0-d
    npy.write_array(buffer, contiguous, version=VERSION, allow_pickle=False)
    return buffer.getbuffer()


def from_bytes(data: bytes, order: Sequence[int] | None = None) -> NDArray:
    """The array of a .npy file whose axes were stored in the given order, if any."""
    buffer = io.BytesIO(data)
    if npy.read_magic(buffer) != VERSION:
        raise ContentError("its .npy format is not version 1.0")
    shape, is_fortran, dtype = npy.read_array_header_1_0(buffer, max_header_size=HEADER)
    if not is_plain(dtype) or is_fortran:
        raise ContentError(f"its type {dtype} is not allowed")
    order = range(len(shape)) if order is None else order
    if any(length < 0 for length in shape) or sorted(order) != list(range(len(shape))):
        raise ContentError(f"its shape {shape} does not match its axes {list(order)}")
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes != len(data) - buffer.tell():
        raise ContentError(f"its {len(data)} bytes do not match shape {shape} and type {dtype}")
    array: NDArray = np.ndarray(shape, dtype, buffer=data, offset=buffer.tell()).copy()
    if dtype.kind == "U" and array.size:
        letters = np.frombuffer(array.tobytes(), np.dtype("u4").newbyteorder(dtype.byteorder))
        if letters.max() > LAST_LETTER:
            raise ContentError("its text contains numbers that are not Unicode characters")
    return array.transpose(np.argsort(order)) if len(shape) else array
