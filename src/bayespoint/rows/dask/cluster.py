"""Pure functions on a Dask cluster, and clear errors where it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from dask.delayed import Delayed
from distributed import Client, Future, KilledWorker, get_client, wait
from distributed.client import ClosedClientError
from distributed.comm import CommClosedError

from bayespoint.exceptions import ClusterError
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.threads import blas_threads
from dask import config, delayed

RETRIES = 2  # times that a task which raises is run again: a file server may fail once
POLL = 0.5  # seconds between two looks at the monitor
NO_WORKERS = 300.0  # seconds after which a cluster without workers is an error
LARGE_GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TB"}  # arrays, as intended

Describe = Callable[[int, BaseException], BaseException]


def as_it_is(k: int, error: BaseException) -> BaseException:
    """The error of task k itself."""
    return error


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

    def results(self, futures: Sequence[Future], describe: Describe = as_it_is) -> list[Any]:
        """The results, in order; the first error of a task is raised as ``describe`` says."""
        try:
            while not self.done(futures, describe):
                pass
            with self._clear_errors():
                return self.client.gather(futures)
        except BaseException:
            self.cancel(futures)
            raise

    def done(self, futures: Sequence[Future], describe: Describe = as_it_is) -> bool:
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
            raise self._too_large(error) from error
        if failed is not None:
            raise describe(failed, error)
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
        except (CancelledError, ClosedClientError, CommClosedError, TimeoutError) as error:
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

    def _too_large(self, error: KilledWorker) -> ClusterError:
        return ClusterError(
            self.address,
            f"workers were lost {error.allowed_failures + 1} times while they ran the same task, "
            "which probably needs more memory than a worker has",
            "use smaller blocks of rows, or give workers more memory (memory_limit)",
        )

    def _lost(self, error: BaseException | None) -> ClusterError:
        reason = "the connection to its scheduler is lost"
        if error is not None:
            reason += f" ({type(error).__name__})"
        return ClusterError(
            self.address,
            reason,
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
