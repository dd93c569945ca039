"""Running a pure function on every block, and merging what it finds in a fixed order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from bayespoint.exceptions import BlockError, BlocksChangedError
from bayespoint.rows.base import Block, Blocks, checked
from bayespoint.tools.threads import thread_pool

AHEAD = 4  # blocks a thread for which results wait to be merged

# function(block, k, argument of block k, shared) -> what is kept of the block, and what is merged
# with what is found in later blocks, by its method ``merge``
BlockFunction = Callable[[Block, int, Any, Any], tuple[Any, Any]]


class Own:
    """What only block k needs; no dataclass, into which Dask would look for tasks."""

    def __init__(self, k: int, argument: Any, expected: tuple | None) -> None:
        self.k, self.argument, self.expected = k, argument, expected  # the last: a fingerprint


class Executor(ABC):
    """Runs functions on blocks: in threads of this process, or elsewhere.

    Nothing is kept where a function runs: everything that it needs are its arguments. Subclasses
    write ``execute``.
    """

    def run(
        self,
        function: BlockFunction,
        blocks: Blocks,
        arguments: Sequence[Any],
        shared: Any,
        expected: Sequence[tuple] | None = None,
    ) -> tuple[list[Any], Any]:
        """Run ``function(block, k, arguments[k], shared)`` on all blocks.

        Parameters
        ----------
        function : callable
            Defined at the top of a module. It returns a pair: what is kept of the block, and what
            is merged.
        blocks : Blocks
            The data.
        arguments : sequence
            One for each block.
        shared : object
            The same for all blocks.
        expected : sequence of tuple, optional
            The fingerprints that the blocks must have.

        Returns
        -------
        kept : list
            One entry for each block.
        merged : object
            All of the second results, merged as ``Tree`` does, so that bits do not depend on
            which of them is there first.
        """
        known = [None] * len(blocks) if expected is None else expected
        own = [Own(k, arguments[k], known[k]) for k in range(len(blocks))]
        return self.execute(function, blocks, own, shared)

    @abstractmethod
    def execute(
        self, function: BlockFunction, blocks: Blocks, own: list[Own], shared: Any
    ) -> tuple[list[Any], Any]:
        """The same with what each block needs."""

    def trainer(self, given: Any, scaling: Any, space: Any) -> Callable[..., Any] | None:
        """What trains perceptrons on all rows elsewhere; None: this process does.

        Parameters
        ----------
        given : ndarray of bool
            Which of the rows are training points.
        scaling : Scaling or None
            Of their features.
        space : DualSpace
            Fitted to them.
        """
        return None


class Tree:
    """Merges results pairwise in a fixed tree: 0 with 1, 2 with 3, then 0-1 with 2-3, and so on.

    Results are added in the order of their blocks. At most one for each level is kept. Workers
    may merge along the same tree themselves: level by level, neighbours, and a last one without
    a neighbour as it is.

    Examples
    --------
    >>> from bayespoint.rows.executor import Tree
    >>> class Text(str):
    ...     def merge(self, later):
    ...         return Text(f"({self}{later})")
    >>> tree = Tree()
    >>> for letter in "abcdefg":
    ...     tree.add(Text(letter))
    >>> tree.result()
    '(((ab)(cd))((ef)g))'
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Any]] = []  # level and result, large levels first

    def add(self, result: Any) -> None:
        """Add the result of the next block."""
        level = 0
        while self._waiting and self._waiting[-1][0] == level:
            result, level = self._waiting.pop()[1].merge(result), level + 1
        self._waiting.append((level, result))

    def result(self) -> Any:
        """All of them, merged."""
        _, merged = self._waiting.pop()
        while self._waiting:
            merged = self._waiting.pop()[1].merge(merged)
        return merged


def run_on_block(
    blocks: Blocks,
    k: int,
    function: BlockFunction,
    argument: Any,
    shared: Any,
    expected: tuple | None = None,
    block: Block | None = None,
) -> tuple[Any, Any]:
    """Run the function on block k, which is read unless it is given; errors name the block."""
    if block is None:
        block = read(blocks, k)
    if expected is not None and fingerprint(blocks, k) != expected:
        raise BlocksChangedError(k)
    return function(checked(block, k, blocks.n_features), k, argument, shared)


def read(blocks: Blocks, k: int) -> Block:
    """Read block k; errors of files name the block."""
    with naming(k):
        return blocks.read(k)


def fingerprint(blocks: Blocks, k: int) -> tuple:
    """The fingerprint of block k; the same for its errors."""
    with naming(k):
        return blocks.fingerprint(k)


@contextmanager
def naming(k: int) -> Iterator[None]:
    """Turn errors of a block into those that name it."""
    try:
        yield
    except (BlockError, MemoryError):
        raise
    except Exception as error:
        raise BlockError(k, f"cannot be read: {type(error).__name__}: {error}") from error


class LocalExecutor(Executor):
    """Runs functions in threads of this process.

    Every function has one BLAS thread, and results are merged in a fixed tree, so that bits do
    not depend on the number of threads.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads, as in joblib; no fewer than BLAS would have used.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.rows import LocalExecutor, from_arrays
    >>> class Sum(float):
    ...     def merge(self, later):
    ...         return Sum(self + later)
    >>> def total(block, k, argument, shared):
    ...     return len(block.X), Sum(block.X.sum() * shared)
    >>> blocks = from_arrays(np.arange(6.0).reshape(3, 2), np.array([0, 1, 0]), block_rows=2)
    >>> LocalExecutor().run(total, blocks, [None, None], 2.0)
    ([2, 1], 30.0)
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def execute(
        self, function: BlockFunction, blocks: Blocks, own: list[Own], shared: Any
    ) -> tuple[list[Any], Any]:
        """Run the function in a pool of threads, some blocks at a time."""
        kept: list[Any] = []
        tree = Tree()

        def one(item: tuple[Own, Block | None]) -> tuple[Any, Any]:
            of, block = item
            return run_on_block(blocks, of.k, function, of.argument, shared, of.expected, block)

        with thread_pool(self.n_jobs) as pool:
            ahead = AHEAD * pool.n_threads if pool.n_threads > 1 else 1
            if blocks.in_order_only:
                ahead = pool.n_threads  # blocks that are in memory at a time
            for begin in range(0, len(blocks), ahead):
                some = own[begin : begin + ahead]
                read_now = [read(blocks, of.k) if blocks.in_order_only else None for of in some]
                for found, merged in pool.map(one, list(zip(some, read_now, strict=True))):
                    kept.append(found)
                    tree.add(merged)
        return kept, tree.result()


_current: ContextVar[Executor | None] = ContextVar("bayespoint_executor", default=None)


@contextmanager
def executed_by(executor: Executor) -> Iterator[None]:
    """Let an executor do the work of the fits in the block.

    Parameters
    ----------
    executor : Executor
        Where functions of blocks run.

    Examples
    --------
    >>> from bayespoint.rows.executor import LocalExecutor, current_executor, executed_by
    >>> with executed_by(LocalExecutor(n_jobs=2)):
    ...     current_executor().n_jobs
    2
    """
    token = _current.set(executor)
    try:
        yield
    finally:
        _current.reset(token)


def current_executor(n_jobs: int | None = None) -> Executor:
    """The executor of the enclosing :func:`executed_by`; else threads of this process."""
    return _current.get() or LocalExecutor(n_jobs)
