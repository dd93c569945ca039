"""Bayes point machines for scikit-learn."""

from typing import TYPE_CHECKING, Any

from bayespoint.classifier import BayesPointClassifier
from bayespoint.version import __version__

if TYPE_CHECKING:
    from bayespoint.storage import load, save

__all__ = ["BayesPointClassifier", "__version__", "load", "save"]


def __getattr__(name: str) -> Any:
    """Import ``storage`` on first use, since it loads much of scikit-learn."""
    if name in ("load", "save"):
        from bayespoint import storage

        return getattr(storage, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
