"""Arrays in NumPy's .npy format, without pickles."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bayespoint.tools.attributes import ContentError, need

KINDS = "biufU"  # bool, integers, floats and strings of fixed width: nothing to unpickle
VERSION = (1, 0)  # of the .npy format
# What NumPy writes of such arrays. It reads more, and warns of old names of types.
DTYPE = r"[<>|](?:[biufU]\d{1,9}|O)"
HEADER = re.compile(
    rf"\x93NUMPY\x01\x00..\{{'descr': '({DTYPE})', 'fortran_order': False, "
    r"'shape': \(([\d, ]{0,300})\), \} *\n".encode("latin-1"),
    re.DOTALL,
)
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


def triangle_of(array: NDArray) -> str | None:
    """The triangle of the last two axes outside of which all is 0: half of a Cholesky factor."""
    if array.dtype.kind != "f" or array.ndim < 2 or not array.shape[-1] == array.shape[-2] > 1:
        return None
    for name, rest in (("lower", np.triu(array, 1)), ("upper", np.tril(array, -1))):
        if array.size and not rest.any() and not np.signbit(rest).any():  # -0.0 has other bits
            return name
    return None


def mask_of(triangle: str, side: int) -> NDArray[np.bool_]:
    """Where the numbers of a triangle are."""
    lower = np.tri(side, dtype=bool)
    return lower if triangle == "lower" else lower.T


def to_bytes(array: NDArray, triangle: str | None = None) -> memoryview:
    """The array as bytes of a .npy file, or only a triangle of it, row by row."""
    buffer = io.BytesIO()
    if triangle is not None:
        array = array[..., mask_of(triangle, array.shape[-1])]
    contiguous = np.ascontiguousarray(array).reshape(array.shape)  # 0-d arrays stay 0-d
    npy.write_array(buffer, contiguous, version=VERSION, allow_pickle=False)
    return buffer.getbuffer()


def from_bytes(
    data: bytes, order: Sequence[int] | None = None, triangle: str | None = None
) -> NDArray:
    """The array of a .npy file, given how it was stored: order of its axes, one triangle of it."""
    array = read_array(data)
    if triangle is not None:
        array = with_zeros(array, triangle)
    order = range(array.ndim) if order is None else order
    are_axes = all(type(axis) is int for axis in order)
    if not are_axes or sorted(order) != list(range(array.ndim)):
        raise ContentError(f"its shape {array.shape} does not match its axes {list(order)}")
    return array.transpose(np.argsort(order)) if array.ndim else array


def with_zeros(numbers: NDArray, triangle: str) -> NDArray:
    """Square matrices, from the numbers of their triangles."""
    side = math.isqrt(2 * numbers.shape[-1]) if numbers.ndim else 0
    is_known = triangle in ("lower", "upper") and numbers.dtype.kind == "f"
    if not is_known or not numbers.size or side * (side + 1) != 2 * numbers.shape[-1]:
        raise ContentError(f"its shape {numbers.shape} is not that of a triangle")
    array = np.zeros((*numbers.shape[:-1], side, side), numbers.dtype)
    array[..., mask_of(triangle, side)] = numbers
    return array


def read_array(data: bytes) -> NDArray:
    """The array of a .npy file."""
    header = HEADER.match(data)
    if header is None:
        raise ContentError(f"its header {data[:100]!r} is not allowed")
    dtype = np.dtype(header[1].decode())
    need(is_plain(dtype), f"its type {dtype} is not allowed")
    shape, begin = tuple(map(int, re.findall(rb"\d+", header[2]))), header.end()
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes != len(data) - begin:
        raise ContentError(f"its {len(data)} bytes do not match shape {shape} and type {dtype}")
    array: NDArray = np.ndarray(shape, dtype, buffer=data, offset=begin).copy()
    if dtype.kind == "U" and array.size:
        letters = np.frombuffer(array.tobytes(), np.dtype("u4").newbyteorder(dtype.byteorder))
        if letters.max() > LAST_LETTER:
            raise ContentError("its text contains numbers that are not Unicode characters")
    return array
