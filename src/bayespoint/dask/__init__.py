"""Bayes point machines on a Dask cluster."""

from bayespoint.extras import require

require("distributed", "dask", "bayespoint.dask")

from bayespoint.dask.classifier import DaskBayesPointClassifier  # noqa: E402

__all__ = ["DaskBayesPointClassifier"]
