"""Versions, computer and compiled code."""

from __future__ import annotations

from typing import Any

from bayespoint import _core
from bayespoint.reports.environment import describe_environment, environment_words


def describe() -> dict[str, Any]:
    """All of it, ready for JSON."""
    return {**describe_environment(), "compiled_code": cache_folder()}


def cache_folder() -> str | None:
    """The folder of Numba's compiled code; None if no folder is writable."""
    function: Any = _core.perceptron.advance
    while not hasattr(function, "stats"):  # behind the guard against interrupts
        function = function.__wrapped__
    return function.stats.cache_path


def summary(found: dict[str, Any]) -> dict[str, str]:
    """The same as text for the terminal."""
    nowhere = "not cached: no folder is writable"
    return {**environment_words(found), "compiled code": found["compiled_code"] or nowhere}
