"""Blocks of arrays, in memory, memory-mapped or in .npy files, and points that stay there."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from dataclasses import dataclass
from io import RawIOBase
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bayespoint.kernels import Kernel, Points
from bayespoint.rows.base import Block, Blocks, file_stamp, rows_of_block, sampled_print
from bayespoint.rows.executor import naming
from bayespoint.spaces.coordinates import PART
from bayespoint.spaces.scaling import Scaling


class FileArray:
    """An array in a file, of which only the rows that are asked for come into memory.

    They are read, not mapped: a file that becomes shorter while it is read ends in an error, where
    a mapped one would kill the process (SIGBUS).
    """

    def __init__(self, path: str | os.PathLike[str], mapped: np.memmap, offset: int) -> None:
        self.path = Path(path).absolute()
        self.dtype, self.shape, self._offset = mapped.dtype, mapped.shape, offset
        self._by_rows = mapped.flags.c_contiguous

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, begin: int, end: int) -> NDArray:
        """A copy of consecutive rows."""
        return self[np.arange(begin, end)]

    def __getitem__(self, which: NDArray[np.intp]) -> NDArray:
        """A copy of some rows, in any order."""
        found = np.empty((len(which), *self.shape[1:]), self.dtype)
        gaps = (np.flatnonzero(np.diff(which) != 1) + 1).tolist()
        with self.path.open("rb", buffering=0) as file:
            for begin, end in pairwise([0, *gaps, len(which)]):
                if end == begin:
                    continue
                first, part = int(which[begin]), found[begin:end]
                if self._by_rows:
                    self._read(file, first * math.prod(self.shape[1:]), part)
                    continue
                column = np.empty(end - begin, self.dtype)
                for j in range(self.shape[1]):
                    self._read(file, j * len(self) + first, column)
                    part[:, j] = column
        return found

    def _read(self, file: RawIOBase, first: int, into: NDArray) -> None:
        """Read the values from number ``first`` on."""
        file.seek(self._offset + first * self.dtype.itemsize)
        rest = into.reshape(-1).view(np.uint8).data
        while rest:
            n = file.readinto(rest)
            if not n:
                raise EOFError(f"{self.path} has become shorter since it was opened")
            rest = rest[n:]


def file_array(array: Any) -> FileArray | None:
    """The file of a memory-mapped array; None if it is none, or has no place in its file."""
    root = array
    while isinstance(root, np.ndarray) and isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.filename is None or root.mode == "c":
        return None
    if not (array.flags.c_contiguous or array.flags.f_contiguous) or array.dtype.hasobject:
        return None
    start = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    root.flush()
    return FileArray(root.filename, array, int(root.offset) + start)


class ArrayBlocks(Blocks):
    """Rows of arrays, as :func:`from_arrays` and :func:`from_npy` divide them."""

    def __init__(self, X: Any, y: Any, weight: Any, block_rows: int | None) -> None:
        given = (X, y, weight)
        self._columns: list[Any] = [None if one is None else stored(one) for one in given]
        X = self._columns[0]
        if len(X.shape) != 2:
            raise ValueError(f"X must have rows and columns. Got shape {X.shape}.")
        n, self.n_features = X.shape
        for name, column in zip(("y", "sample_weight"), self._columns[1:], strict=True):
            if column is not None and column.shape != (n,):
                raise ValueError(
                    f"{name} must have one entry for each of the {n} rows of X. Got shape "
                    f"{column.shape}."
                )
        if n == 0:
            raise ValueError("X has no rows: at least one is required.")
        width = -(-X.nnz // n) if sparse.issparse(X) else self.n_features
        size = rows_of_block(width, block_rows)
        self._begins = [*range(0, n, size), n]

    def __len__(self) -> int:
        return len(self._begins) - 1

    def read(self, k: int) -> Block:
        """Copies of parts of files, and views of arrays in memory."""
        return Block(*(part(one, *self._begins[k : k + 2]) for one in self._columns))

    def take(self, rows: NDArray[np.intp]) -> NDArray:
        """Features of some rows, in any order."""
        with naming(bisect_right(self._begins, int(rows[0])) - 1):
            return self._columns[0][rows]

    def labels_and_weights(self) -> tuple[NDArray | None, NDArray | None]:
        """Those of all rows."""
        with naming(0):
            labels, weight = (part(one, 0, self._begins[-1]) for one in self._columns[1:])
        return labels, weight

    def fingerprint(self, k: int) -> tuple:
        """Size and time of files, and checksums of a few rows in memory."""
        of_files = [file_stamp(one.path) for one in self._columns if isinstance(one, FileArray)]
        own = self._begins[k : k + 2]
        in_memory = [
            None if isinstance(one, FileArray) else part(one, *own) for one in self._columns
        ]
        return (*of_files, *own, *sampled_print(*in_memory))


def stored(array: Any) -> Any:
    """Where the rows of an array are to be read from."""
    if isinstance(array, FileArray):
        return array
    if sparse.issparse(array):
        return sparse.csr_array(array)
    known = file_array(array)
    return np.asarray(array) if known is None else known


def part(array: Any, begin: int, end: int) -> Any:
    """Some rows."""
    if array is None:
        return None
    return array.rows(begin, end) if isinstance(array, FileArray) else array[begin:end]


def from_arrays(
    X: ArrayLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    block_rows: int | None = None,
) -> Blocks:
    """Blocks of arrays, which may be memory-mapped (``np.memmap``) or sparse (CSR).

    Parameters
    ----------
    X : array, memmap or sparse array of shape (n_samples, n_features)
        The points. Of a memmap only a block at a time comes into memory.
    y : array-like of shape (n_samples,), optional
        Their labels; not needed for predictions.
    sample_weight : array-like of shape (n_samples,), optional
        Their weights.
    block_rows : int, optional
        Rows of a block; by default as many as have 32 MiB in float64.

    Returns
    -------
    Blocks
        To be passed to ``fit`` or ``predict`` instead of X.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.rows import from_arrays
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> blocks = from_arrays(X, X[:, 0] > 0, block_rows=300)
    >>> clf = BayesPointClassifier(kernel="linear").fit(blocks)
    >>> clf.predict(X[:3])
    array([ True,  True, False])
    """
    return ArrayBlocks(X, y, sample_weight, block_rows)


def from_npy(
    X: str | os.PathLike[str],
    y: str | os.PathLike[str] | ArrayLike | None = None,
    sample_weight: str | os.PathLike[str] | ArrayLike | None = None,
    *,
    block_rows: int | None = None,
) -> Blocks:
    """Blocks of .npy files, of which only a block at a time comes into memory.

    Parameters
    ----------
    X : path
        File of the points, as ``np.save`` writes it.
    y, sample_weight : path or array-like, optional
        Labels and weights: files, or arrays.
    block_rows : int, optional
        Rows of a block; by default as many as have 32 MiB in float64.

    Returns
    -------
    Blocks
        To be passed to ``fit`` or ``predict`` instead of X.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from bayespoint.rows import from_npy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "X.npy"), np.eye(4))
    ...     blocks = from_npy(Path(folder, "X.npy"), [0, 0, 1, 1], block_rows=3)
    ...     blocks.read(1)
    Block(X=array([[0., 0., 0., 1.]]), y=array([1]), weight=None)
    """
    opened: list[Any] = [
        np.load(one, mmap_mode="r") if isinstance(one, (str, os.PathLike)) else one
        for one in (X, y, sample_weight)
    ]
    return from_arrays(*opened, block_rows=block_rows)


@dataclass(frozen=True)
class StoredPoints(Points):
    """Points that are read, scaled and prepared when they are taken.

    Attributes
    ----------
    kernel : Kernel
        Prepares them.
    blocks : ArrayBlocks
        Where they are.
    where : ndarray of shape (n,)
        Their rows there.
    scaling : Scaling or None
        Of their features.
    longest : ndarray of shape (1, n_features)
        The longest of them. A kernel scales points by the longest one that it prepares, so it
        prepares this one with all others.
    """

    kernel: Kernel = None  # type: ignore[assignment]
    blocks: ArrayBlocks = None  # type: ignore[assignment]
    where: NDArray[np.int64] = None  # type: ignore[assignment]
    scaling: Scaling | None = None
    longest: NDArray = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.where)

    def take(self, which: Any) -> Points:
        """The chosen points, in memory."""
        chosen = self.where[which]
        points = prepare(self.kernel, self.blocks, chosen, self.scaling, self.longest)
        some = points.take(slice(len(chosen)))
        return Points(some.rows, some.norm, some.log_unit, self.index[which], some.side, some.parts)


def prepare(
    kernel: Kernel,
    blocks: ArrayBlocks,
    where: NDArray[np.int64],
    scaling: Scaling | None,
    longest: NDArray,
) -> Points:
    """Some points, and the longest of all as the last one."""
    return kernel.prepare(np.vstack([scaled_rows(blocks, where, scaling), longest]), training=True)


def scaled_rows(blocks: ArrayBlocks, where: NDArray[np.int64], scaling: Scaling | None) -> NDArray:
    """Features of some rows, as the kernel takes them."""
    X = blocks.take(where)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return X if scaling is None else scaling.transform(X)


def stored_points(
    kernel: Kernel, blocks: ArrayBlocks, where: NDArray[np.int64], scaling: Scaling | None
) -> StoredPoints:
    """Points of a file, of which only the lengths are computed now."""
    size, longest = -1.0, np.empty(0)
    parts = [where[begin : begin + PART] for begin in range(0, len(where), PART)]
    for own in parts:
        X = scaled_rows(blocks, own, scaling)
        squares = np.einsum("nd,nd->n", X, X, dtype=np.float64)
        if squares.max() > size:
            size, longest = float(squares.max()), X[[int(squares.argmax())]]
    norms = []
    for own in parts:
        points = prepare(kernel, blocks, own, scaling, longest)
        norms.append(points.norm[: len(own)])
    return StoredPoints(
        points.rows[:0],
        np.concatenate(norms),
        points.log_unit,
        np.arange(len(where)),
        kernel=kernel,
        blocks=blocks,
        where=where,
        scaling=scaling,
        longest=longest,
    )
