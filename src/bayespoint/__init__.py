"""Bayes point machines for scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayespoint.tools.version import __version__

if TYPE_CHECKING:
    from bayespoint.classifier.estimator import BayesPointClassifier
    from bayespoint.storage import load, save

__all__ = ["BayesPointClassifier", "__version__", "load", "save"]

MODULES = {"BayesPointClassifier": "classifier.estimator", "load": "storage", "save": "storage"}
# Parts that need no extra, as in bayespoint.reject.SelectiveClassifier.
PARTS = (
    "active",
    "engines",
    "exceptions",
    "kernels",
    "posteriors",
    "reject",
    "reports",
    "rows",
    "selection",
    "storage",
    "testing",
    "tools",
)


def __getattr__(name: str) -> Any:
    """Import what is used on first use: NumPy and scikit-learn take most of a second."""
    if name in MODULES:
        return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    if name in PARTS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *PARTS})
