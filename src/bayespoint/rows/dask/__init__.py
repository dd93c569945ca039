"""Rows of dask collections, and functions of them that run on a cluster."""

from bayespoint.tools.extras import require

require("distributed", "dask", "DaskBayesPointClassifier")
