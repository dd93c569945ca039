"""The one decorator of the compiled layer, and the folders of its compiled code.

Numba notices that the file of a cached function has changed. It does not notice that another file
has, whose functions and constants it compiled into it. So every state of a file, together with all
that it imports from its folder, has a cache of its own.
"""

import gc
import hashlib
import inspect
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.misc.appdirs import AppDirs

from bayespoint._core.calls import leave_if_asked
from bayespoint.tools.monitor import Monitor, TextMonitor, current_monitor

SLOW = 2.0  # seconds of compiling after which standard error says so
KEPT = 5  # states of a file whose code is kept: the last ones used
IMPORT = re.compile(r"^\s*(?:from\s+\S+\s+)?import\s+(?:\([^)]*\)|.*)", re.MULTILINE)
SETTINGS: Any = numba.config  # its names are made from the environment
_DECORATING = threading.Lock()


class CompilerPasses(event.Listener):
    """Lets an interrupt through between two passes of the compiler, which can take a minute in all.

    Numba keeps nothing of a function whose compilation ends in an exception there.
    """

    def on_start(self, event: event.Event) -> None:
        """A pass begins."""
        leave_if_asked()

    def on_end(self, event: event.Event) -> None:
        """A pass has ended."""


class Compilations(event.Listener):
    """Says once that code is compiled, and that it will not be the next time.

    A monitor is told at once; without one standard error is, when it takes long. Meanwhile Python
    looks for no cycles among the objects of the compiler, an eighth of its time.
    """

    has_told = False
    _depth = 0  # functions that wait for those they call
    _began = _seconds = 0.0
    _collects = False  # whether Python looked for cycles before

    def on_start(self, event: event.Event) -> None:
        """A function is compiled; it was not in the cache."""
        if self._depth == 0:
            self._began, self._collects = time.monotonic(), gc.isenabled()
            gc.disable()
        self._depth += 1
        monitor = current_monitor()
        watched = type(monitor) is not Monitor
        is_slow = self._seconds + time.monotonic() - self._began > SLOW
        is_ours = event.data["dispatcher"].py_func.__module__.startswith("bayespoint.")
        if is_ours and not self.has_told and (watched or is_slow):
            self.has_told = True
            (monitor if watched else TextMonitor()).tell(
                "compiling; compiled code is kept for later fits"
            )

    def on_end(self, event: event.Event) -> None:
        """The function is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self._seconds += time.monotonic() - self._began
            if self._collects:
                gc.enable()


event.register("numba:run_pass", CompilerPasses())
event.register("numba:compile", Compilations())


def compiled(function: Callable[..., Any], is_inner: bool = False, **more: Any) -> Callable:
    """Compile at the first call, without the GIL, and keep the result on disk if possible.

    A division by 0 is infinite or NaN, as in NumPy: to look for it can cost a third of the time,
    of compiling, too.
    An inner function can only be called by compiled ones: it compiles in two thirds of the time.
    One that is inlined becomes a part of these, which the compiler does not do with long ones.
    Where neither the package's folder nor the user's cache folder can be written the function is
    compiled anew in each process instead of failing.
    """
    options: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": is_inner, **more}
    options["no_cfunc_wrapper"] = True  # nobody takes its address
    with _DECORATING:
        given = SETTINGS.CACHE_DIR
        try:
            SETTINGS.CACHE_DIR = cache_folder(inspect.getfile(function), given)
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            return numba.njit(**options)(function)
        finally:
            SETTINGS.CACHE_DIR = given


inner = partial(compiled, is_inner=True)
inlined = partial(compiled, is_inner=True, inline="always")


@cache
def cache_folder(file: str, given: str) -> str:
    """Where Numba keeps compiled code of this file in its present state.

    The places are those where Numba would look: ``given`` (NUMBA_CACHE_DIR), ``__pycache__``, the
    user's cache folder.
    """
    path = Path(file)
    try:
        state = digest(path)
    except OSError:
        return given  # within an archive or executable, which Numba knows and nobody edits
    user = AppDirs(appname="numba", appauthor=False).user_cache_dir
    for parent in filter(None, [given, path.parent / "__pycache__", user]):
        folder = Path(parent, f"bayespoint-{path.stem}-{state}")
        try:
            if not folder.exists():
                remove_old(folder)
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)
        except OSError:
            continue
        return str(folder)
    raise RuntimeError(f"no folder for compiled code of {file} can be written")


def digest(path: Path) -> str:
    """A digest of a file, of all that it imports from its folder, and of how Numba checks it."""
    texts: dict[str, str] = {}
    waiting = {path}
    while waiting:
        source = waiting.pop()
        texts[source.name] = source.read_text(encoding="utf-8")
        words = set(re.findall(r"\w+", " ".join(IMPORT.findall(texts[source.name]))))
        others = path.parent.glob("*.py")
        waiting |= {other for other in others if other.stem in words and other.name not in texts}
    state = repr((sorted(texts.items()), SETTINGS.BOUNDSCHECK))
    return hashlib.sha256(state.encode()).hexdigest()[:16]


def remove_old(folder: Path) -> None:
    """Make room for a new folder: of those of the same file the last used ones stay.

    A process that still uses one of the others compiles again.
    """
    pattern = folder.name.rpartition("-")[0] + "-" + "?" * 16
    by_age = sorted((older.stat().st_mtime, older) for older in folder.parent.glob(pattern))
    for _, older in by_age[: 1 - KEPT]:
        with suppress(OSError):
            shutil.rmtree(older)
