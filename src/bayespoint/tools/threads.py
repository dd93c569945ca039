"""Threads that share memory, and how many threads BLAS has meanwhile.

The number of BLAS threads belongs to the process, not to a fit: fits that overlap in time share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from threading import Event, Lock, get_ident
from typing import Any

import scipy.linalg  # noqa: F401  SciPy has a BLAS of its own, which must be loaded to be found
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from bayespoint.tools.memory import SMALL, available_memory

SEVERAL_THREADS = 1_000_000  # numbers in a matrix from which several BLAS threads save time

_cancelled: ContextVar[Event | None] = ContextVar("bayespoint_cancelled", default=None)
_made: list[_Blas] = []


def stop_if_cancelled() -> None:
    """End this task of a pool if another one has failed, or the user has interrupted the pool.

    Long tasks call it regularly; compiled functions do (see ``bayespoint._core``).
    """
    cancelled = _cancelled.get()
    if cancelled is not None and cancelled.is_set():
        raise CancelledError


class ThreadPool:
    """Threads for tasks that release the GIL.

    joblib's own threads are polled every 10 ms, longer than most tasks here take.

    Parameters
    ----------
    n_threads : int
        Number of threads; with one, tasks run in the thread that asks.

    Examples
    --------
    >>> from bayespoint.tools.threads import ThreadPool
    >>> pool = ThreadPool(2)
    >>> pool.map(pow, [1, 2, 3], 2)
    [1, 4, 9]
    >>> pool.close()
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._executor = None
        if n_threads > 1:
            self._executor = ThreadPoolExecutor(n_threads, initializer=_blas().follow)

    def map(self, function: Callable[..., Any], items: Sequence, *arguments: Any) -> list:
        """Results of ``function(item, *arguments)`` for each item, in order.

        After an error or an interrupt no other task starts, those that run are asked to end (see
        :func:`stop_if_cancelled`), and the error is raised when they have.
        """
        if self._executor is None or len(items) <= 1:
            return [function(item, *arguments) for item in items]
        cancelled = Event()
        tasks: list[Future] = []
        try:
            for item in items:
                call = copy_context()  # NumPy's error state, and whatever else is set here
                call.run(_cancelled.set, cancelled)
                tasks.append(self._executor.submit(call.run, function, item, *arguments))
            done, _ = wait(tasks, return_when=FIRST_EXCEPTION)
            return [task.result() for task in tasks if task in done]
        except BaseException:
            cancelled.set()
            for task in tasks:
                task.cancel()
            wait(tasks)
            raise

    def close(self) -> None:
        """End the threads."""
        if self._executor is not None:
            self._executor.shutdown()


@contextmanager
def thread_pool(n_jobs: int | None = None) -> Iterator[ThreadPool]:
    """A pool of threads, with BLAS limited to one thread each meanwhile.

    It has as many threads as BLAS would have used, or ``n_jobs`` if that is more, so that it is
    fast even if the user does not set ``n_jobs``.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads as in joblib, whose ``parallel_config`` decides if it is None.

    Returns
    -------
    context manager
        Its value is the pool.

    Examples
    --------
    >>> from bayespoint.tools.threads import thread_pool
    >>> with thread_pool(n_jobs=2) as pool:
    ...     pool.map(abs, [-1, 1])
    [1, 1]
    """
    n_threads = max(_blas().n_free, effective_n_jobs(n_jobs))
    with closing(ThreadPool(n_threads)) as pool, blas_threads(1):
        yield pool


def in_parallel(
    function: Callable[[Any], Any], items: Sequence, n_jobs: int | None = None, n_bytes: float = 0.0
) -> list[Any]:
    """Results of ``function(item)`` for each item, in order, computed in parallel.

    The items share the threads that BLAS has for itself: its number of threads in each of them
    depends on how many items there are, and not on ``n_jobs``, so that results do not either.

    Parameters
    ----------
    function : callable
        What to compute. It must not depend on the order of the calls.
    items : sequence
        What to compute it for.
    n_jobs : int, optional
        Number of threads as in joblib, whose ``parallel_config`` decides if it is None; no fewer
        than BLAS would have used.
    n_bytes : float, default=0
        Memory that one item needs; no more of them run at a time than fit into memory.

    Returns
    -------
    list
        One result for each item.

    Examples
    --------
    >>> from bayespoint.tools.threads import in_parallel
    >>> in_parallel(lambda n: n**2, range(4), n_jobs=2)
    [0, 1, 4, 9]
    """
    if len(items) <= 1:
        return [function(item) for item in items]
    blas = _blas()
    n_threads = min(len(items), max(blas.n_free, effective_n_jobs(n_jobs)))
    if n_threads * n_bytes > SMALL:
        n_threads = max(1, int(min(n_threads, available_memory() / n_bytes)))
    n_each = max(1, blas.n_unlimited // len(items))
    with closing(ThreadPool(n_threads)) as pool, blas_threads(n_each):
        return pool.map(function, items)


@contextmanager
def blas_threads(n: int, *, for_all: bool = True) -> Iterator[None]:
    """Limit BLAS to ``n`` threads, in the whole process.

    Of several limits at the same time the lowest applies, in all threads of Python. After the last
    of them, the original number is restored.

    Parameters
    ----------
    n : int
        Most threads. A lower number that is set already stays.
    for_all : bool, default=True
        Whether pools, too, have no more threads meanwhile.

    Returns
    -------
    context manager
        Limits BLAS within its block.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tools.threads import blas_threads
    >>> with blas_threads(1):
    ...     float(np.ones(9) @ np.ones(9))
    9.0
    """
    blas, ticket = _blas(), object()
    try:
        blas.limit(ticket, n, for_all)
        yield
    finally:
        blas.release(ticket)


def in_parts(function: Callable[[slice], Any], n: int, size: int) -> list:
    """Results of a function for consecutive parts of n rows, computed in threads.

    Parameters
    ----------
    function : callable
        Takes the slice of some rows.
    n, size : int
        Number of all rows, and of those of a part.

    Returns
    -------
    list
        In the order of the rows.

    Examples
    --------
    >>> from bayespoint.tools.threads import in_parts
    >>> in_parts(lambda own: sum(range(5)[own]), 5, 3)
    [3, 7]
    """
    parts = [slice(begin, min(begin + size, n)) for begin in range(0, max(n, 1), size)]
    with thread_pool() if len(parts) > 1 else nullcontext(ThreadPool(1)) as pool:
        return pool.map(function, parts)


def useful_threads(size: int) -> AbstractContextManager[None]:
    """Limit BLAS to one thread where matrices are too small for more to help.

    Idle threads of BLAS wait for the next product at full speed, so that each short one with
    several threads costs milliseconds of all processors. Pools keep their threads.

    Parameters
    ----------
    size : int
        Numbers in such a matrix.

    Returns
    -------
    context manager
        Limits BLAS within its block.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tools.threads import useful_threads
    >>> A = np.ones((9, 9))
    >>> with useful_threads(A.size):
    ...     float((A @ A).sum())
    729.0
    """
    return nullcontext() if size >= SEVERAL_THREADS else blas_threads(1, for_all=False)


class _Blas:
    """The BLAS libraries of the process and the limits on their threads."""

    def __init__(self, libraries: Sequence[Any]) -> None:
        self._libraries = libraries
        self._lock = Lock()
        # Of which thread of Python, how many, and whether pools have no more.
        self._limits: dict[object, tuple[int, int, bool]] = {}
        self._unlimited: list[int] = []  # threads of each library before the first limit

    @property
    def n_threads(self) -> int:
        """Threads that BLAS has now."""
        return max((library.num_threads for library in self._libraries), default=1)

    @property
    def n_unlimited(self) -> int:
        """Threads that BLAS has without the limits."""
        with self._lock:
            return max(self._unlimited, default=self.n_threads)

    @property
    def n_free(self) -> int:
        """Threads that pools may have: as many as BLAS, unless its products are too small."""
        with self._lock:
            limits = [n for _, n, for_all in self._limits.values() if for_all]
            return min([max(self._unlimited, default=self.n_threads), *limits])

    def limit(self, ticket: object, n: int, for_all: bool = True) -> None:
        """Add a limit, which ``ticket`` stands for."""
        with self._lock:
            if not self._limits:
                self._unlimited = [library.num_threads for library in self._libraries]
            self._limits[ticket] = get_ident(), n, for_all
            self._apply(get_ident())

    def release(self, ticket: object) -> None:
        """Remove a limit."""
        with self._lock:
            if self._limits.pop(ticket, None) is not None:
                self._apply(get_ident())
            if not self._limits:
                self._unlimited = []

    def follow(self) -> None:
        """Bring the limits of other threads of Python to this one, which serves them."""
        with self._lock:
            self._apply(None)

    def _apply(self, owner: int | None) -> None:
        """Set all libraries; OpenMP has a number for each thread of Python, others have one."""
        everyone = [n for _, n, _ in self._limits.values()]
        own = [n for thread, n, _ in self._limits.values() if owner in (None, thread)]
        for library, number in zip(self._libraries, self._unlimited, strict=False):
            has_own_number = getattr(library, "threading_layer", None) == "openmp"
            _set_threads(library, min([number, *(own if has_own_number else everyone)]))


def _set_threads(library: Any, n: int) -> None:
    """Set the number of threads from any thread of Python.

    threadpoolctl 3.8 ignores all but the first thread that asked, unless that one is forgotten.
    """
    forget = getattr(library, "clear_controlling_thread", lambda force: None)
    forget(force=True)
    library.set_num_threads(n)
    forget(force=True)


def _blas() -> _Blas:
    """The one object of the process; made at first use, as it takes milliseconds."""
    if not _made:
        _made.append(_Blas(ThreadpoolController().select(user_api="blas").lib_controllers))
    return _made[0]  # for all, if several threads asked at the same time
