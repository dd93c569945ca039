"""Pure functions, also of blocks, on a Dask cluster, and clear errors where it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from operator import getitem
from socket import gethostname
from typing import Any
from uuid import uuid4

from dask.delayed import Delayed
from distributed import Client, Future, KilledWorker, client, get_client, wait
from distributed.comm import CommClosedError

from bayespoint.exceptions import BlockError, ClusterError, one_line
from bayespoint.rows.base import Block, Blocks, checked, sampled_print
from bayespoint.rows.executor import BlockFunction, Executor, Own, read, run_on_block
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.threads import blas_threads
from dask import config, delayed

# older versions cancel the tasks instead
CLOSED: Any = getattr(client, "ClosedClientError", CancelledError)
RETRIES = 2  # times that a task which raises is run again: a file server may fail once
POLL = 0.5  # seconds between two looks at the monitor
NO_WORKERS = 300.0  # seconds after which a cluster without workers is an error
LARGE_GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TB"}  # arrays, as intended

Describe = Callable[[int, BaseException], BaseException] | None  # None: the error itself


class Cluster:
    """A Dask client that runs pure functions.

    Tasks are bound to no worker, and workers keep no state: what a lost worker has computed, or
    was computing, Dask computes again elsewhere. Every task has one BLAS thread, so that its
    result does not depend on the worker.

    Parameters
    ----------
    client : distributed.Client or None
        The connection to the cluster; None is the client of this process.
    monitor : Monitor, optional
        Whom to tell if there are no workers.

    Examples
    --------
    >>> from distributed import Client
    >>> from bayespoint.rows.dask.cluster import Cluster, task
    >>> options = {"processes": False, "n_workers": 1, "dashboard_address": ":0"}
    >>> with Client(**options) as client:
    ...     cluster = Cluster(client)
    ...     cluster.results(cluster.compute([task(pow, 2, k) for k in range(4)]))
    [1, 2, 4, 8]
    """

    def __init__(self, client: Client | None = None, monitor: Monitor | None = None) -> None:
        self.client = find_client(client)
        self.monitor = monitor or Monitor()
        scheduler = self.client.scheduler
        self.address = "an unknown address" if scheduler is None else str(scheduler.address)
        self._alone_since: float | None = None

    def compute(self, tasks: Sequence[Delayed]) -> list[Future]:
        """The futures of tasks, which are sent as one graph."""
        with self._clear_errors(), config.set(LARGE_GRAPHS):
            return self.client.compute(list(tasks), retries=RETRIES)

    def results(self, futures: Sequence[Future], describe: Describe = None) -> list[Any]:
        """The results, in order; the first error of a task is raised as ``describe`` says."""
        try:
            while not self.done(futures, describe):
                pass
            with self._clear_errors():
                return self.client.gather(futures)
        except BaseException:
            self.cancel(futures)
            raise

    def done(self, futures: Sequence[Future], describe: Describe = None) -> bool:
        """Whether all tasks have ended, after waiting for half a second if they have not.

        Raises the error of a task as soon as one has failed, and a ClusterError if the cluster is
        lost.
        """
        with self._clear_errors():
            try:
                with self.client.as_current():  # which may not be the default of this process
                    wait(futures, timeout=POLL)
            except TimeoutError:
                self._look_for_workers()
            status = [future.status for future in futures]
            failed = status.index("error") if "error" in status else None
            error: Any = None if failed is None else futures[failed].exception()
        if isinstance(error, KilledWorker):
            raise ClusterError(
                self.address,
                f"workers were lost {error.allowed_failures + 1} times while they ran the same "
                "task, which probably needs more memory than a worker has",
                "use smaller blocks of rows, or give workers more memory (memory_limit)",
            ) from error
        if failed is not None:
            raise error if describe is None else describe(failed, error)
        return "pending" not in status

    def cancel(self, futures: Sequence[Future]) -> None:
        """Forget tasks; those that run on a worker end there."""
        if futures and self.client.status == "running":
            self.client.cancel(futures, force=True)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn errors of a lost connection into one that says so."""
        try:
            yield
        except (CancelledError, CLOSED, CommClosedError, TimeoutError) as error:
            raise self._lost(error) from error
        except Exception as error:
            if self.client.status == "running" or isinstance(error, ClusterError):
                raise
            raise self._lost(error) from error
        if self.client.status != "running":
            raise self._lost(None)

    def _look_for_workers(self) -> None:
        """Raise an error if there has been no worker for a long time."""
        now = time.monotonic()
        if self.client.nthreads():
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
            self.monitor.tell("the Dask cluster has no workers; waiting for some")
        elif now - self._alone_since > NO_WORKERS:
            raise ClusterError(
                self.address,
                f"it has had no workers for {NO_WORKERS:.0f} s",
                f"start some (dask worker {self.address}), and fit again",
            )

    def _lost(self, error: BaseException | None) -> ClusterError:
        kind = "" if error is None else f" ({type(error).__name__})"
        return ClusterError(
            self.address,
            f"the connection to its scheduler is lost{kind}",
            "start the cluster again, connect a new client and fit again. With a checkpoint the "
            "fit continues where it was",
        )


def find_client(client: Client | None) -> Client:
    """The client that was given, or that of this process."""
    if client is None:
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "DaskBayesPointClassifier needs a Dask client, and this process has none. Make one "
                "with dask.distributed.Client(), which starts workers on this computer, or "
                "Client('tcp://HOST:8786'), or pass client=."
            ) from None
    if not isinstance(client, Client):
        raise TypeError(
            f"The 'client' parameter of DaskBayesPointClassifier must be a "
            f"dask.distributed.Client or None. Got {client!r} instead."
        )
    if client.asynchronous:
        raise TypeError(
            "DaskBayesPointClassifier needs a synchronous client. Got one with asynchronous=True."
        )
    return client


def task(function: Callable, *arguments: Any) -> Delayed:
    """The task ``function(*arguments)``; arguments may be futures, tasks, or lists of these."""
    name = f"{function.__name__}-{uuid4()}"
    return delayed(on_one_thread, pure=True)(function, *arguments, dask_key_name=name)


def constant(value: Any) -> Delayed:
    """A value as a node of the graph: it travels to a worker once, however many tasks need it."""
    return delayed(value, name=f"constant-{uuid4()}", traverse=False)


def on_one_thread(function: Callable, *arguments: Any) -> Any:
    """Call a function with BLAS on one thread."""
    with blas_threads(1):
        return function(*arguments)


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


def futures_of(blocks: Blocks) -> Sequence[Future | None]:
    """The rows that workers hold, or None for each block that they read themselves."""
    return blocks.futures if isinstance(blocks, ClusterBlocks) else [None] * len(blocks)


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
        rows = futures_of(blocks)
        # What all tasks have in common is a node of the graph, so that it travels to a worker once.
        common = constant((blocks, function, shared))
        found = [task(on_block, rows[k], common, own[k]) for k in range(len(blocks))]
        kept, merged = ([task(getitem, pair, part) for pair in found] for part in (0, 1))
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


def merge(earlier: Any, later: Any) -> Any:
    """What was found in neighbouring blocks, together."""
    return earlier.merge(later)


def with_block(k: int, error: BaseException) -> BaseException:
    """The error of block k, with its number."""
    if isinstance(error, NAMED):
        return error
    return BlockError(k, f"cannot be computed: {one_line(error)}")
