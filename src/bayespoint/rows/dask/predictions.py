"""Lazy predictions of dask arrays and data frames."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np

from bayespoint.rows.dask.inputs import as_collection
from bayespoint.tools.threads import blas_threads
from dask import delayed


def lazily(model: Any, method: str, X: Any, like: np.ndarray) -> da.Array:
    """The dask array of ``getattr(model, method)`` of all blocks of rows of X.

    Parameters
    ----------
    model : BayesPointClassifier
        A fitted classifier; it is one node of the graph, so that it travels to a worker once.
    method : str
        Which of its methods.
    X : dask array, data frame, or array-like
        Points. Others become dask arrays.
    like : ndarray
        Answers for no points.

    Returns
    -------
    dask.array.Array
        With the blocks of X. Their sizes are unknown where those of X are.
    """
    known = delayed(model, pure=True, traverse=False)
    if isinstance(X, dd.DataFrame):
        return X.map_partitions(answers, known, method, meta=like)
    if not isinstance(X, da.Array):
        X = as_collection(X)
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns. Got a dask array of shape {X.shape}.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    axes: dict[str, Any] = {"drop_axis": 1}
    if like.ndim == 2:
        axes = {"chunks": (X.chunks[0], (like.shape[1],))}
    return X.map_blocks(answers, known, method, meta=like, dtype=like.dtype, **axes)


def answers(X: Any, model: Any, method: str) -> np.ndarray:
    """Answers for one block, which may be empty."""
    if X.shape[0] == 0:
        one = getattr(model, method)(np.zeros((1, model.n_features_in_)))
        return one[:0]
    with blas_threads(1):
        return getattr(model, method)(X)
