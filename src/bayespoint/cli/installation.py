"""Versions, computer, compiled code and data folder."""

from __future__ import annotations

from typing import Any

from papers.datasets import VARIABLE, available, data_folder

from bayespoint import _core
from bayespoint.exceptions import DataUnavailableError
from bayespoint.reports.environment import describe_environment, environment_words
from papers import EXPERIMENTS


def describe() -> dict[str, Any]:
    """All of it, ready for JSON."""
    return {
        **describe_environment(),
        "compiled_code": cache_folder(),
        "data": data_facts(),
        "experiments": list(EXPERIMENTS),
    }


def cache_folder() -> str | None:
    """The folder of Numba's compiled code; None if no folder is writable."""
    function: Any = _core.perceptron.advance
    while not hasattr(function, "stats"):  # behind the guard against interrupts
        function = function.__wrapped__
    return function.stats.cache_path


def data_facts() -> dict[str, Any]:
    """The data folder, its contents, and what is wrong with it."""
    try:
        folder = data_folder()
    except DataUnavailableError as error:
        return {"folder": None, "sets": [], "problem": error.tried}
    sets = [] if folder is None else available(folder)
    return {"folder": None if folder is None else str(folder), "sets": sets, "problem": None}


def summary(found: dict[str, Any]) -> dict[str, str]:
    """The same as text for the terminal."""
    data = found["data"]
    unset = f"{VARIABLE} is not set: OpenML is asked"
    return {
        **environment_words(found),
        "compiled code": found["compiled_code"] or "kept nowhere: no folder can be written",
        "data folder": data["folder"] or data["problem"] or unset,
        "data sets": ", ".join(data["sets"]) or "none here",
        "experiments": ", ".join(found["experiments"]),
    }
