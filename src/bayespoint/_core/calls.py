"""Calls of compiled functions: in short slices, and such that an interrupt gets through."""

import inspect
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Any

from bayespoint.threads import stop_if_cancelled


class Slices:
    """Splits work that is counted in steps into calls of some tens of milliseconds.

    Between two of them an interrupt is raised, progress is told, and a wish to stop is heard.
    The first is a single step; how many there are in the next ones follows from the clock.

    Examples
    --------
    >>> from bayespoint._core.calls import Slices
    >>> [(begin, end) for begin, end in Slices().of(100)]
    [(0, 1), (1, 100)]
    """

    SECONDS = 0.03
    GROWTH = 100  # a slice has at most so many times the steps of the last, which may be special

    def __init__(self) -> None:
        self._size = 1

    def of(self, n_steps: int) -> Iterator[tuple[int, int]]:
        """Yield (begin, end) for each slice of ``n_steps``."""
        begin = 0
        while begin < n_steps:
            end = min(begin + self._size, n_steps)
            started = time.perf_counter()
            yield begin, end
            seconds = max(time.perf_counter() - started, 1e-9)
            fitting = int((end - begin) * self.SECONDS / seconds)
            self._size = min(max(1, fitting), self.GROWTH * self._size)
            begin = end


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Hold back a keyboard interrupt until the block is left.

    Numba compiles through callbacks and finalisers, where Python drops the exception, and the
    function is left half compiled.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    waiting: list[tuple] = []
    signal.signal(signal.SIGINT, lambda *event: waiting.append(event))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if waiting:
            handler(*waiting[0])


def guarded(function: Any) -> Callable[..., Any]:
    """A function of the compiled layer as callers outside of it see it.

    An interrupt raises KeyboardInterrupt. Without the guard it is a SystemError in most cases:
    Numba runs a little Python while it wraps arrays into results, and does not ask whether that
    raised something. A task of a pool that is cancelled ends here.
    """
    is_new = True

    @wraps(function, updated=())
    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal is_new
        stop_if_cancelled()
        if is_new:  # it may have to be compiled
            with interrupts_later():
                result = function(*arguments, **named)
                is_new = False
                return result
        try:
            return function(*arguments, **named)
        except SystemError as error:
            raise origin(error) from None

    return call


def origin(error: BaseException) -> BaseException:
    """The exception that made Python complain of "a result with an exception set"."""
    while isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def guarded_module(module: ModuleType) -> SimpleNamespace:
    """What is in a module of the compiled layer, its functions guarded."""

    def is_function(it: Any) -> bool:
        return hasattr(it, "py_func") or inspect.isfunction(it)

    contents = vars(module).items()
    return SimpleNamespace(
        **{name: guarded(it) if is_function(it) else it for name, it in contents}
    )
