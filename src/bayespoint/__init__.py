"""Bayes point machines: classifiers that average over all classifiers the data allow."""

from typing import TYPE_CHECKING, Any

from bayespoint.classifier import BayesPointClassifier
from bayespoint.version import __version__

if TYPE_CHECKING:
    from bayespoint.storage import load, save

__all__ = ["BayesPointClassifier", "__version__", "load", "save"]


def __getattr__(name: str) -> Any:
    """Import what model files need, most of scikit-learn's preprocessing, when it is asked for."""
    if name in ("load", "save"):
        from bayespoint import storage

        return getattr(storage, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
