"""Pure functions on a Dask cluster, and clear errors where it fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from uuid import uuid4

from distributed import Client, Future, KilledWorker, get_client, wait
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError

from bayespoint.exceptions import ClusterError, one_line
from bayespoint.monitor import Monitor
from bayespoint.threads import blas_threads

RETRIES = 2  # times that a task which raises is run again: a file server may fail once
POLL = 0.5  # seconds between two looks at the monitor
NO_WORKERS = 300.0  # seconds after which a cluster without workers is an error


class Cluster:
    """A Dask client that runs pure functions.

    Tasks are bound to no worker, and workers keep no state: what a lost worker has computed, or
    was computing, Dask computes again elsewhere. Every task has one BLAS thread, so that its result
    does not depend on the worker.

    Parameters
    ----------
    client : distributed.Client or None
        The connection to the cluster; None is the client of this process.
    monitor : Monitor, optional
        Whom to tell if there are no workers.

    Examples
    --------
    >>> from distributed import Client
    >>> from bayespoint.dask.cluster import Cluster
    >>> options = {"processes": False, "n_workers": 1, "dashboard_address": None}
    >>> with Client(**options) as client:
    ...     cluster = Cluster(client)
    ...     cluster.results([cluster.submit(pow, 2, k) for k in range(4)])
    [1, 2, 4, 8]
    """

    def __init__(self, client: Client | None = None, monitor: Monitor | None = None) -> None:
        self.client = find_client(client)
        self.monitor = monitor or Monitor()
        self.address = self.client.scheduler.address if self.client.scheduler else "?"
        self._names = (f"{uuid4().hex[:12]}-{n}" for n in count())

    def submit(self, function: Callable, *arguments: Any) -> Future:
        """The future of ``function(*arguments)``; arguments may be futures, or lists of them."""
        key = f"{getattr(function, '__name__', 'task')}-{next(self._names)}"
        try:
            return self.client.submit(
                on_one_thread, function, *arguments, key=key, retries=RETRIES
            )
        except (OSError, RuntimeError) as error:
            raise self._error(error) from error

    def compute(self, delayed: Sequence[Any]) -> list[Future]:
        """The futures of several delayed values, which workers keep in memory."""
        try:
            return self.client.compute(list(delayed), retries=RETRIES)
        except (OSError, RuntimeError) as error:
            raise self._error(error) from error

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """The results, in order; errors of the tasks are raised."""
        try:
            while not self.done(futures):
                pass
            return self.client.gather(futures)
        except (FutureCancelledError, CommClosedError) as error:
            raise self._error(error) from error
        except BaseException:
            self.cancel(futures)
            raise

    def done(self, futures: Sequence[Future], seconds: float = POLL) -> bool:
        """Whether all tasks have ended, after waiting for at most some seconds.

        Raises the error of a task as soon as one has failed, and one of its own if the cluster is
        lost.
        """
        self._check_connection()
        try:
            wait(futures, timeout=seconds)
        except TimeoutError:
            self._look_for_workers()
        except FutureCancelledError as error:
            raise self._error(error) from error
        pending = False
        for future in futures:
            if future.status == "error":
                self._raise(future)
            pending = pending or future.status == "pending"
        self._check_connection()
        return not pending

    def cancel(self, futures: Sequence[Future]) -> None:
        """Forget tasks; those that run on a worker end there."""
        if self.client.status == "running":
            self.client.cancel(futures, force=True)

    def _raise(self, future: Future) -> None:
        error = future.exception()
        if isinstance(error, KilledWorker):
            raise ClusterError(
                self.address,
                f"one task has ended {error.allowed_failures + 1} workers, probably for want of "
                "memory",
                "use smaller blocks, or workers with more memory (memory_limit)",
            ) from error
        raise error

    def _check_connection(self) -> None:
        if self.client.status != "running":
            raise self._error(None)

    def _look_for_workers(self) -> None:
        """Raise an error if there has been no worker for a long time."""
        try:
            if self.client.nthreads():
                self._alone_since = None
                return
        except (OSError, RuntimeError) as error:
            raise self._error(error) from error
        now = time.monotonic()
        if self._alone_since is None:
            self._alone_since = now
            self.monitor.tell("the Dask cluster has no workers; waiting")
        elif now - self._alone_since > NO_WORKERS:
            raise ClusterError(
                self.address,
                f"it has had no workers for {NO_WORKERS:.0f} s",
                "start workers (dask worker ADDRESS), and fit again",
            )

    _alone_since: float | None = None

    def _error(self, error: BaseException | None) -> ClusterError:
        reason = "the connection to the scheduler is lost"
        if error is not None:
            reason += f" ({one_line(error)})"
        return ClusterError(
            self.address,
            reason,
            "start the cluster again, connect a new client and fit again; with a checkpoint, a fit "
            "continues where it was",
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


def on_one_thread(function: Callable, *arguments: Any) -> Any:
    """Call a function with BLAS on one thread."""
    with blas_threads(1):
        return function(*arguments)
