"""Bayes point machines on a Dask cluster."""

from typing import TYPE_CHECKING, Any

from bayespoint.tools.extras import require

if TYPE_CHECKING:
    from bayespoint.dask.classifier import DaskBayesPointClassifier

__all__ = ["DaskBayesPointClassifier"]

require("distributed", "dask", "bayespoint.dask")


def __getattr__(name: str) -> Any:
    """Import the classifier on first use: workers need less, and data frames take a second."""
    if name in __all__:
        from bayespoint.dask import classifier

        return getattr(classifier, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
