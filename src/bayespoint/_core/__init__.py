"""Compiled loops: arrays in, arrays out, nothing known of scikit-learn.

The modules are loaded at first use, so that importing the package neither imports Numba nor
compiles anything: ``from bayespoint import _core`` and then ``_core.perceptron.advance(...)``.
"""

from importlib import import_module
from typing import Any

MODULES = ("billiard", "ep", "gibbs", "grids", "knapsack", "perceptron", "regions")


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
