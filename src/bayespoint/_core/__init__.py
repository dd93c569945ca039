"""Compiled loops: arrays in, arrays out, nothing known of scikit-learn.

The modules are loaded at first use, so that importing the package neither imports Numba nor
compiles anything: ``from bayespoint import _core`` and then ``_core.perceptron.advance(...)``. This
is the only way in from outside, as it guards the functions against interrupts (``calls.py``).
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from bayespoint._core.calls import guarded_module, interrupts_later

MODULES = (
    "billiard",
    "distances",
    "ep",
    "factorised",
    "filters",
    "gibbs",
    "grids",
    "joint",
    "knapsack",
    "orthants",
    "perceptron",
    "softmax",
)


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with interrupts_later():
        import_module(f"{__name__}.{name}")
        for loaded in MODULES:  # one module may have imported others
            module = globals().get(loaded)
            if isinstance(module, ModuleType):
                globals()[loaded] = guarded_module(module)
    return globals()[name]
