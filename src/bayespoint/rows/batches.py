"""Blocks of batches that somebody else makes, such as a reader of an own format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bayespoint.exceptions import BlockError, BlocksChangedError
from bayespoint.rows.base import Block, Blocks, sampled_print


class BatchBlocks(Blocks):
    """Batches that are read one after another, from the first one on.

    They are counted when their number is asked for.
    """

    in_order_only = True

    def __init__(self, start: Callable[[], Iterator]) -> None:
        self._start = start
        self._batches: Iterator = iter(())
        self._next = 0  # the batch that the iterator gives next
        self._prints: dict[int, tuple] = {}
        self._n: int | None = None
        self.n_features = self.read(0).X.shape[1]

    def __len__(self) -> int:
        if self._n is None:
            while self._advance() is not None:
                pass
            self._n = self._next
        return self._n

    def fingerprint(self, k: int) -> tuple:
        """A checksum of a few rows, as batch k was last read."""
        if k not in self._prints:
            self.read(k)
        return self._prints[k]

    def read(self, k: int) -> Block:
        """Batch k; blocks before the last one are read by starting again."""
        if k == 0 or k < self._next:
            self._batches, self._next = iter(self._start()), 0
        block = None
        while self._next <= k:
            block = self._advance()
            if block is None:
                if self._n is None and k == 0:
                    raise ValueError("There are no batches: at least one is required.")
                raise BlocksChangedError(k)  # fewer than when they were counted
        assert block is not None
        return block

    def _advance(self) -> Block | None:
        """The next batch; None if there are no more."""
        try:
            batch = next(self._batches)
        except StopIteration:
            return None
        block = as_block(batch, self._next)
        self._prints[self._next] = sampled_print(*block)
        self._next += 1
        return block


class ListBlocks(Blocks):
    """Batches in a list, of which any can be read."""

    def __init__(self, batches: Sequence[Any]) -> None:
        if not len(batches):
            raise ValueError("There are no batches: at least one is required.")
        self._batches = batches
        self.n_features = self.read(0).X.shape[1]

    def __len__(self) -> int:
        return len(self._batches)

    def read(self, k: int) -> Block:
        """Batch k."""
        return as_block(self._batches[k], k)

    def fingerprint(self, k: int) -> tuple:
        """A checksum of a few rows."""
        return sampled_print(*self.read(k))


def as_block(batch: Any, k: int) -> Block:
    """A batch as a block: (X, y) or (X, y, sample_weight), or X alone."""
    parts = batch if isinstance(batch, tuple) else (batch,)
    if not 1 <= len(parts) <= 3:
        raise BlockError(k, f"must be (X, y) or (X, y, sample_weight). Got {len(parts)} entries")
    X, *rest = parts
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise BlockError(k, f"must be a table of rows and columns. Got {X.ndim} dimensions")
    return Block(X, *(None if one is None else np.asarray(one) for one in rest))


def from_batches(batches: Iterable[Any] | Callable[[], Iterator[Any]]) -> Blocks:
    """Blocks of any batches that can be read again.

    Parameters
    ----------
    batches : list, iterable or callable
        Batches ``(X, y)`` or ``(X, y, sample_weight)``: a list of them, an object whose
        ``__iter__`` starts anew each time, or a function that returns a new iterator. A generator
        can be read only once, and is refused; pass the function that makes it.

    Returns
    -------
    Blocks
        To be passed to ``fit`` or ``predict`` instead of X. Unless the batches are in a list, they
        are read one after another in one thread.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.rows import from_batches
    >>> def batches():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).normal(size=(500, 2))
    ...         yield X, X[:, 0] > 0
    >>> clf = BayesPointClassifier(kernel="linear").fit(from_batches(batches))
    >>> clf.predict([[1.0, 0.0]])
    array([ True])
    """
    if isinstance(batches, (list, tuple)):
        return ListBlocks(batches)
    if isinstance(batches, Iterator):
        raise TypeError(
            f"A fit reads the batches once in every round, but a {type(batches).__name__} can be "
            "read only once. Pass the function that makes it (without calling it), or a list."
        )
    if callable(batches):
        return BatchBlocks(batches)
    if not isinstance(batches, Iterable):
        raise TypeError(
            "batches must be a list, an object with __iter__ or a function. Got "
            f"{type(batches).__name__}."
        )
    return BatchBlocks(batches.__iter__)
