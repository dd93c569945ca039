"""Calls of compiled functions: in short slices, and such that an interrupt gets through."""

import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

from bayespoint.tools.threads import stop_if_cancelled

# Without the enums of the module ``signal``, which take ten times as long as to set a handler.
SIGNALS: Any = sys.modules.get("_signal", signal)
UNSAVED = 100  # functions that one call compiles at most
NOT_SAVED = (
    "Numba cannot save compiled code in its cache. Free disk space, or set the environment "
    "variable NUMBA_CACHE_DIR to another folder"
)


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


class interrupts_later:
    """Hold back a keyboard interrupt until the block is left.

    A class and not a generator: it is entered at every call of a compiled function. Within another
    such block it does little.
    """

    _outermost: ClassVar[Any] = None  # of the main thread
    _is_known: ClassVar[bool] = False  # that interrupts are not in the hands of another language

    def __init__(self) -> None:
        self._waiting: list[tuple] = []
        self._handler: Any = None
        self._within: Any = None  # the block of which this is a part
        self._n_inner = 0  # such parts that are not left yet

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # signals are the main thread's
        self._within = interrupts_later._outermost
        if self._within is not None:
            self._within._n_inner += 1
            return
        if not self._is_known:  # asked once, since it takes as long as a small call
            interrupts_later._is_known = signal.getsignal(signal.SIGINT) is not None
        handler = SIGNALS.signal(signal.SIGINT, self._hold) if self._is_known else None
        if callable(handler):
            self._handler, interrupts_later._outermost = handler, self
        elif handler is not None:
            SIGNALS.signal(signal.SIGINT, handler)  # ignored, or the process ends: it stays so

    def _hold(self, *event: Any) -> None:
        self._waiting.append(event)

    def deliver(self) -> None:
        """Raise the interrupt, if there was one; not within a part of the block."""
        if self._waiting and not self._n_inner:
            self._handler(*self._waiting.pop())

    def __exit__(self, *_: object) -> None:
        if self._within is not None:
            self._within._n_inner -= 1
        if self._handler is not None:
            interrupts_later._outermost = None
            SIGNALS.signal(signal.SIGINT, self._handler)
        self.deliver()


def leave_if_asked() -> None:
    """End the call of a compiled function here, if its task is cancelled or the user interrupts.

    For places within a call where an exception does no harm.
    """
    stop_if_cancelled()
    if threading.current_thread() is threading.main_thread():
        holder = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
        if isinstance(holder, interrupts_later):
            holder.deliver()


def guarded(function: Any) -> Callable[..., Any]:
    """A function of the compiled layer as callers outside of it see it.

    An interrupt waits until the call is over, which is soon, or until the next pass of the compiler
    (``compiler.py``). Numba runs a little Python while it
    compiles and while it wraps arrays into results, and does not ask whether that raised
    something: an exception there is a SystemError, a function left half compiled, or a
    segmentation fault. A task of a pool that is cancelled ends here.

    Code that cannot be saved, because a disk is full, is used all the same: Numba raises an error
    after it has compiled one function, and the next call goes on from there.
    """
    n_calls = UNSAVED if hasattr(function, "py_func") else 1  # others may have begun their work

    @wraps(function, updated=())
    def call(*arguments: Any, **named: Any) -> Any:
        stop_if_cancelled()
        with interrupts_later():
            for left in reversed(range(n_calls)):
                try:
                    return function(*arguments, **named)
                except OSError as error:
                    if not left:
                        raise OSError(error.errno, NOT_SAVED) from error

    return call


def guarded_module(module: ModuleType) -> SimpleNamespace:
    """What is in a module of the compiled layer, its functions guarded."""

    def is_function(it: Any) -> bool:
        return hasattr(it, "py_func") or inspect.isfunction(it)

    contents = vars(module).items()
    return SimpleNamespace(
        **{name: guarded(it) if is_function(it) else it for name, it in contents}
    )
