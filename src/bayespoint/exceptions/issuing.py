"""Issuing warnings so that they point at the user's code."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Packages whose frames may lie between the user's code and the warning.
BETWEEN = ("bayespoint", "sklearn", "joblib", "threading", "concurrent", "contextlib")

_held: ContextVar[list[Warning] | None] = ContextVar("bayespoint_held_warnings", default=None)


@contextmanager
def held_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of :func:`warn_user` instead of issuing them, in this thread only."""
    held: list[Warning] = []
    token = _held.set(held)
    try:
        yield held
    finally:
        _held.reset(token)


def warn_user(warning: Warning) -> None:
    """Issue a warning that points at the user's line, however deep in the call stack it arises.

    Frames of this package, scikit-learn and joblib are skipped. How many there are depends on
    pipelines, searches and the release of scikit-learn.
    """
    held = _held.get()
    if held is not None:
        held.append(warning)
        return
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] not in BETWEEN:
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
