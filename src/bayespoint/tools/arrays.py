"""Arrays of NumPy and tensors of torch alike.

Formulas are written once, with the functions of :func:`namespace`: both libraries have ``exp``,
``sqrt``, ``where``, ``einsum`` and most others by the same names. Here are the few things whose
names differ. Nothing here imports torch.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, TypeAlias
from weakref import finalize

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from bayespoint.exceptions import KernelError

Array: TypeAlias = Any  # an ndarray, or a tensor: torch has no types that mypy could read

FEW = 8  # rows for which halves of matrices do not pay
CHUNK, DEVICE_CHUNK = 1024, 65_536  # rows at a time, where a temporary copy of all would be large
LARGEST = 1e100  # coordinate: squares of outputs, and their sums, must not overflow
_copies: dict[tuple[int, Any], Array] = {}  # of arrays that are alive, on devices


def is_tensor(X: Any) -> bool:
    """Whether X is a torch tensor; does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_device_array(X: Any) -> bool:
    """Whether X is an array in the memory of a GPU: a torch tensor, or one of CuPy."""
    if is_tensor(X):
        return X.device.type == "cuda"
    return not isinstance(X, np.ndarray) and hasattr(X, "__cuda_array_interface__")


def namespace(X: Any) -> Any:
    """The library whose functions take X: NumPy, torch, or what an array of another kind names.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tools.arrays import namespace
    >>> namespace(np.ones(2)).__name__
    'numpy'
    """
    if isinstance(X, np.ndarray):
        return np
    return sys.modules["torch"] if is_tensor(X) else X.__array_namespace__()


def beside(X: Array, values: Any) -> Array:
    """Values as an array of the kind of X, where X is; their type stays."""
    if not is_tensor(X):
        return np.asarray(values)
    return sys.modules["torch"].as_tensor(values, device=X.device)


def kept(X: Array, values: NDArray) -> Array:
    """Numbers that never change, where X is; a copy is made once and kept as long as they live."""
    if not is_tensor(X):
        return values
    key = (id(values), X.device)
    if key not in _copies:
        _copies[key] = beside(X, values.copy())  # shares no memory, on any device
        finalize(values, _copies.pop, key, None).atexit = False
    return _copies[key]


def cast(values: Array, dtype: Any) -> Array:
    """The same numbers in another type; the same array if it has it."""
    return values.to(dtype) if is_tensor(values) else values.astype(dtype, copy=False)


def float64(values: Array) -> Array:
    """The same numbers in double precision."""
    return cast(values, namespace(values).float64)


def to_host(values: Array) -> NDArray:
    """A NumPy array with the values of a tensor; an array as it is."""
    return values.detach().contiguous().cpu().numpy() if is_tensor(values) else values


def product(Z: Any, weights: NDArray) -> NDArray:
    """Z w in NumPy, of coordinates Z in the type that they have, wherever they are."""
    if is_tensor(Z):
        return to_host(Z @ cast(beside(Z, weights), Z.dtype))
    return Z @ weights.astype(Z.dtype, copy=False)


def softmax(scores: Array) -> Array:
    """Exponentials of the scores in each row, over their sum."""
    if is_tensor(scores):
        return scores.softmax(-1)
    share = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return share / share.sum(axis=-1, keepdims=True)


def squares(rows: Array) -> Array:
    """Squared lengths of the rows; torch makes many small products of an einsum."""
    return rows.square().sum(1) if is_tensor(rows) else np.einsum("nd,nd->n", rows, rows)


def triangular_squares(
    rows: NDArray, factor: NDArray, overwrite: bool = False
) -> NDArray[np.float64]:
    """Squared length of F^T z for each row z; an upper triangular F takes half the time."""
    if len(rows) < FEW:
        spread = (rows @ factor).T
    else:
        spread = blas.dtrmm(1.0, factor.T, rows.T, lower=1, overwrite_b=overwrite)
    return np.einsum("dn,dn->n", spread, spread)


def largest(values: Array) -> float:
    """The largest absolute value; 0 if there are none."""
    return float(max(values.max(), -values.min())) if min(values.shape) else 0.0


def with_column(Z: Array, column: Array) -> Array:
    """Z with one more column."""
    return namespace(Z).concatenate([Z, column[:, None]], axis=1)


def check_range(Z: Any) -> None:
    """Raise an error if squares of outputs would overflow."""
    size = largest(Z)
    if not size <= LARGEST:
        raise KernelError(
            f"Features in the space of the kernel are as large as {size:.3g}, and their squares "
            "overflow. Scale the features, or use normalize=True."
        )


def chunks(X: Array) -> Iterator[slice]:
    """Consecutive rows, few enough for a temporary copy in float64."""
    size = DEVICE_CHUNK if is_tensor(X) else CHUNK
    return (slice(begin, begin + size) for begin in range(0, len(X), size))


def inverse(length: Array) -> Array:
    """1 / length, and 0 where it is 0."""
    xp = namespace(length)
    return xp.where(length > 0, 1.0 / xp.where(length > 0, length, 1.0), 0.0)


def power_of_two(size: float) -> float:
    """The smallest power of two not below ``size`` (1 for 0): scaling by it causes no rounding."""
    if size == 0:
        return 1.0
    mantissa, exponent = math.frexp(size)  # size = mantissa 2**exponent, 1/2 <= mantissa < 1
    return math.ldexp(1.0, exponent - (mantissa == 0.5))


def to_numpy(array: Any) -> Any:
    """A NumPy array of a tensor or a CuPy array; anything else as it is."""
    if is_tensor(array):
        return array.detach().cpu().numpy()
    return array.get() if is_device_array(array) and hasattr(array, "get") else array


def like(X: Any, result: Any) -> Any:
    """A NumPy result as an array of the kind of X, where X lies; text stays NumPy."""
    if isinstance(result, tuple):
        return tuple(like(X, one) for one in result)
    if result.dtype.kind not in "biuf":
        return result
    if is_tensor(X):
        return beside(X, result)
    if is_device_array(X):
        return import_module(type(X).__module__.split(".")[0]).asarray(result)
    return result
