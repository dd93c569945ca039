"""Functions of blocks on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from socket import gethostname
from typing import Any

from bayespoint.exceptions import BlockError, one_line
from bayespoint.rows.base import Block, Blocks, checked, sampled_print
from bayespoint.rows.dask.cluster import Cluster, constant, task
from bayespoint.rows.executor import BlockFunction, Executor, Own, read, run_on_block

NAMED = (BlockError, MemoryError)  # errors that need no more to be understood


class ClusterBlocks(Blocks):
    """Blocks of a dask collection, which lie in the memory of workers.

    Those that are lost with a worker are computed again from their source.
    """

    def __init__(
        self, cluster: Cluster, delayed: Sequence[Any], n_features: int, names: list[str] | None
    ) -> None:
        self._cluster, self.n_features, self.feature_names = cluster, n_features, names
        self.futures = cluster.compute(delayed)
        prints = [task(print_of, k, rows, n_features) for k, rows in enumerate(self.futures)]
        self._prints = cluster.results(cluster.compute(prints), with_block)

    def __len__(self) -> int:
        return len(self._prints)

    def read(self, k: int) -> Block:
        """The rows, brought to this process."""
        return Block(*self._cluster.results([self.futures[k]])[0])

    def fingerprint(self, k: int) -> tuple:
        """A checksum of a few rows, taken when the block was first computed."""
        return self._prints[k]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_cluster": None, "futures": None}  # tasks get their rows as argument


class DaskExecutor(Executor):
    """Runs functions of blocks on a cluster, with the bits of a ``LocalExecutor``.

    A block is read by the worker that needs it, or lies in the memory of workers if it is one of
    a dask collection. Results are merged by workers, in the same tree as elsewhere.

    Parameters
    ----------
    cluster : Cluster
        Where to run them.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def execute(
        self, function: BlockFunction, blocks: Blocks, own: list[Own], shared: Any
    ) -> tuple[list[Any], Any]:
        """Send all as one graph."""
        rows = blocks.futures if isinstance(blocks, ClusterBlocks) else [None] * len(blocks)
        # What all tasks have in common is a node of the graph, so that it travels to a worker once.
        common = constant((blocks, function, shared))
        found = [task(on_block, rows[k], common, own[k]) for k in range(len(blocks))]
        kept = [task(first, pair) for pair in found]
        merged = [task(second, pair) for pair in found]
        while len(merged) > 1:
            last = merged[-1:] if len(merged) % 2 else []
            neighbours = zip(merged[::2], merged[1::2], strict=False)
            merged = [task(merge, *two) for two in neighbours] + last
        *result, total = self.cluster.results(self.cluster.compute([*kept, *merged]), with_block)
        return result, total


def print_of(k: int, rows: tuple, n_features: int) -> tuple:
    """The fingerprint of block k."""
    return sampled_print(*checked(Block(*rows), k, n_features))


def on_block(rows: tuple | None, common: tuple, own: Own) -> tuple[Any, Any]:
    """Run a function on a block, which is read here unless its rows are given."""
    blocks, function, shared = common
    block = read_here(blocks, own.k) if rows is None else Block(*rows)
    try:
        return run_on_block(blocks, own.k, function, own.argument, shared, own.expected, block)
    except NAMED:
        raise
    except Exception as error:
        raise with_block(own.k, error) from error


def read_here(blocks: Blocks, k: int) -> Block:
    """Read block k on this worker."""
    try:
        return read(blocks, k)
    except BlockError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        problem = f"{error.problem}, on {gethostname()}. Every worker must be able to read the data"
        raise BlockError(k, f"{problem}: put them where all computers see them") from error


def first(pair: tuple[Any, Any]) -> Any:
    """What is kept of a block."""
    return pair[0]


def second(pair: tuple[Any, Any]) -> Any:
    """What is merged."""
    return pair[1]


def merge(earlier: Any, later: Any) -> Any:
    """What was found in neighbouring blocks, together."""
    return earlier.merge(later)


def with_block(k: int, error: BaseException) -> BaseException:
    """The error of block k, with its number."""
    if isinstance(error, NAMED):
        return error
    return BlockError(k, f"cannot be computed: {one_line(error)}")
