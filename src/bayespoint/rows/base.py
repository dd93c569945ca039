"""Training data in numbered blocks that can be read again."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayespoint.exceptions import BlockError
from bayespoint.tools.stability import EXTENDING, unstable

BLOCK_BYTES = 32 * 2**20  # of a block in float64; the division into blocks decides on bits
SAMPLED = 5  # rows of a block in memory that its fingerprint is made of


class Block(NamedTuple):
    """Some consecutive rows of the data.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n, n_features)
        The points.
    y : ndarray of shape (n,) or None
        Their labels; None where only predictions are asked for.
    weight : ndarray of shape (n,) or None
        Their sample weights; None if all are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.rows import Block
    >>> Block(np.eye(2), np.array([0, 1])).y
    array([0, 1])
    """

    X: Any
    y: NDArray | None = None
    weight: NDArray | None = None


@unstable(EXTENDING)
class Blocks(ABC):
    """Data in numbered blocks of rows, which can be read again and again.

    Out-of-core fits read all blocks once in every round. The division into blocks decides on the
    last bits of a result; the number of workers does not.

    Attributes
    ----------
    n_features : int
        Columns of every block.
    feature_names : list of str or None
        Their names, if they have some.
    in_order_only : bool
        Whether blocks can only be read one after another, from the first one on.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.rows import from_arrays
    >>> blocks = from_arrays(np.arange(10.0).reshape(5, 2), np.array([0, 1, 0, 1, 1]), block_rows=3)
    >>> len(blocks), blocks.n_features
    (2, 2)
    >>> blocks.read(1).X
    array([[6., 7.],
           [8., 9.]])
    """

    n_features: int
    feature_names: list[str] | None = None
    in_order_only = False

    @abstractmethod
    def __len__(self) -> int:
        """Number of blocks."""

    @abstractmethod
    def read(self, k: int) -> Block:
        """The rows of block k, from where they are stored."""

    @abstractmethod
    def fingerprint(self, k: int) -> tuple:
        """A few numbers that change when block k does; cheap to get."""

    def __iter__(self) -> Iterator[Block]:
        for k in range(len(self)):
            yield self.read(k)


def rows_of_block(n_features: int, block_rows: int | None) -> int:
    """Rows of a block: the number that is given, or as many as have 32 MiB in float64."""
    if block_rows is not None:
        if block_rows < 1:
            raise ValueError(f"block_rows must be at least 1. Got {block_rows}.")
        return int(block_rows)
    return max(1, BLOCK_BYTES // (8 * max(n_features, 1)))


class Roles(NamedTuple):
    """What the columns of a table are for, by their names; features are all others by default."""

    target: str | None = None
    features: Sequence[str] | None = None
    weight: str | None = None

    def block(self, X: NDArray, column: Callable[[str], NDArray]) -> Block:
        """Features with their labels and weights, from a function that returns a column."""
        y, weight = (None if name is None else column(name) for name in (self.target, self.weight))
        return Block(X, y, None if weight is None else weight.astype(np.float64))


def chosen_columns(names: Sequence[str], roles: Roles, path: Path) -> list[str]:
    """The columns to learn from: those given, or all but labels and weights."""
    target, features, weight = roles
    for name in (*(features or ()), target, weight):
        if name is not None and name not in names:
            raise ValueError(
                f"{path} has no column {name!r}. It has {', '.join(map(repr, names[:12]))}"
                f"{' and more' if len(names) > 12 else ''}."
            )
    others = [name for name in names if name not in (target, weight)]
    found = others if features is None else list(features)
    if target in found or weight in found:
        raise ValueError("features must name neither the labels (target) nor the weights.")
    if not found:
        raise ValueError(f"{path} has no column to learn from besides {target!r}.")
    return found


def file_stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change of a file."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def checked(block: Block, k: int, n_features: int) -> Block:
    """The block with float32 or float64 features, or a BlockError that says what is wrong."""
    X, y, weight = block
    if not sparse.issparse(X):
        X = np.asarray(X)
    if X.ndim != 2:
        raise BlockError(k, f"must be a table of rows and columns. Got {X.ndim} dimensions")
    n, width = X.shape
    if width != n_features:
        raise BlockError(k, f"must have {n_features} columns, as the first block. Got {width}")
    if X.dtype.kind not in "biuf":
        raise BlockError(k, f"must have numbers only. Got dtype {X.dtype}")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    for name, column in (("labels", y), ("sample weights", weight)):
        if column is not None and np.shape(column) != (n,):
            what = f"{n} rows, but {name} of shape {np.shape(column)}"
            raise BlockError(k, f"must have one of its {name} for each row. Got {what}")
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    return Block(X, y, weight)


def check_finite(block: Block, k: int, *, is_known: bool = False) -> None:
    """Raise a BlockError that names the first row with NaN or infinity.

    ``is_known`` says that the features are known to be finite.
    """
    X, y, weight = block
    values = X.data if sparse.issparse(X) else X
    if not is_known and not np.isfinite(values).all():
        entries = sparse.coo_array(X)
        place = int(np.isfinite(entries.data).argmin())
        row, column = (int(index[place]) for index in entries.coords)
        what = f"has {entries.data[place]} in row {row} (counted from 0), column {column}"
        raise BlockError(k, f"{what}: remove the row, or fill the value in")
    if y is not None and y.dtype.kind == "f" and np.isnan(y).any():
        raise BlockError(k, f"has no label in row {int(np.isnan(y).argmax())}: remove the row")
    if weight is not None and len(weight):
        bad = ~(np.isfinite(weight) & (weight >= 0))
        if bad.any():
            row = int(bad.argmax())
            what = f"has the sample weight {weight[row]} in row {row}"
            raise BlockError(k, f"{what}; sample weights must be finite and not negative")


def sampled_print(*arrays: Any) -> tuple:
    """A fingerprint of arrays: shape, type and a checksum of a few rows."""
    prints: list[Any] = []
    for array in arrays:
        if array is None:
            prints.append(None)
            continue
        rows = array.shape[0]
        some = np.unique(np.linspace(0, max(rows - 1, 0), SAMPLED).astype(np.intp))[:rows]
        part = array[some]
        part = part.toarray() if sparse.issparse(part) else np.asarray(part)
        data = repr(part.tolist()).encode() if part.dtype.hasobject else part.tobytes()
        prints.append((*array.shape, str(array.dtype), zlib.crc32(data)))
    return tuple(prints)
