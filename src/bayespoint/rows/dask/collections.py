"""Dask arrays and data frames: as numbered blocks of rows, and lazy predictions of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np

from bayespoint.rows import Blocks, from_csv, from_npy, from_parquet
from bayespoint.rows.base import rows_of_block
from bayespoint.rows.dask.cluster import Cluster, ClusterBlocks, constant, read_here, task
from bayespoint.tools.threads import blas_threads
from dask import delayed


def as_blocks(cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> Blocks:
    """Blocks that workers can read, or that lie in their memory."""
    if isinstance(X, (str, os.PathLike)):
        return from_path(Path(X).absolute(), y, sample_weight)
    if not isinstance(X, Blocks):
        return divide(cluster, X, y, sample_weight)
    if y is not None or sample_weight is not None:
        raise ValueError(
            "Blocks bring their labels and weights with them. Pass y and sample_weight to the "
            "function that made the blocks, and not to fit."
        )
    if X.in_order_only:
        raise ValueError(
            "These blocks can only be read one after another, and not by several workers. Store "
            "them as .npy or Parquet files, or pass a dask collection."
        )
    return X


def held(cluster: Cluster, blocks: Blocks) -> ClusterBlocks:
    """Blocks that workers read once, and keep in memory."""
    where = constant(blocks)
    rows = [task(rows_of, where, k) for k in range(len(blocks))]
    return ClusterBlocks(cluster, rows, blocks.n_features, blocks.feature_names)


def rows_of(blocks: Blocks, k: int) -> tuple:
    """The rows of block k."""
    return tuple(read_here(blocks, k))


def from_path(path: Path, y: Any, sample_weight: Any) -> Blocks:
    """Blocks of a file or a folder that workers read."""
    if path.suffix == ".npy":
        return from_npy(path, y, sample_weight)
    readers: dict[str, Callable[..., Blocks]] = {".parquet": from_parquet, ".csv": from_csv}
    reader = from_parquet if path.is_dir() else readers.get(path.suffix)
    if reader is None:
        raise ValueError(
            f"{path} must be a .parquet, .csv or .npy file, or a folder of .parquet files."
        )
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        if not isinstance(column, str) and (name == "y" or column is not None):
            raise ValueError(f"{name} must be the name of the column of {path}. Got {column!r}.")
    return reader(path, y, sample_weight=sample_weight)


def divide(cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> ClusterBlocks:
    """The blocks of dask collections, or of arrays, which are divided here.

    Labels and weights follow the blocks of X.
    """
    given, X = X, as_collection(X)
    names = check_columns(given) if hasattr(given, "columns") else None
    if isinstance(X, dd.DataFrame):
        rows = X.to_delayed()
        sizes: tuple = (np.nan,) * len(rows)
    else:
        rows, sizes = list(X.to_delayed().ravel()), X.chunks[0]
    if y is None:
        raise ValueError(
            "DaskBayesPointClassifier requires y to be passed, but the target y is None."
        )
    labels = follow(y, "y", sizes)
    weights = follow(sample_weight, "sample_weight", sizes)
    blocks = [delayed(as_arrays)(*one) for one in zip(rows, labels, weights, strict=True)]
    return ClusterBlocks(cluster, blocks, X.shape[1], names)


def as_arrays(*columns: Any) -> tuple:
    """Parts of data frames as arrays; others as they are."""
    return tuple(one.to_numpy() if hasattr(one, "to_numpy") else one for one in columns)


def as_collection(X: Any) -> Any:
    """X as a dask array or data frame; other arrays are divided as local fits divide them."""
    if isinstance(X, dd.Series):
        raise TypeError("X must be a dask data frame, and is a single column. Pass X.to_frame().")
    X = X if isinstance(X, (da.Array, dd.DataFrame)) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns. Got shape {X.shape}.")
    if isinstance(X, np.ndarray):
        X = da.from_array(X, chunks=(rows_of_block(X.shape[1], None), -1))
    return X.rechunk({1: -1}) if isinstance(X, da.Array) and X.numblocks[1] > 1 else X


def check_columns(X: Any) -> list[str] | None:
    """The names of the columns of a data frame, all of which must hold numbers."""
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "kind", "O") not in "biuf":
            raise TypeError(
                f"Column {name!r} of X has dtype {dtype}, and features must be numbers. Encode it "
                "(for example with dask's categorize and get_dummies), or drop it."
            )
    names = list(X.columns)
    return names if all(isinstance(name, str) for name in names) else None


def follow(column: Any, name: str, sizes: tuple) -> list[Any]:
    """The parts of labels or weights that belong to blocks of X of these sizes (NaN: unknown)."""
    if column is None:
        return [None] * len(sizes)
    if isinstance(column, dd.DataFrame) or getattr(column, "ndim", 1) != 1:
        raise ValueError(f"{name} must be one column. Got shape {np.shape(column)}.")
    if isinstance(column, dd.Series):
        chunks: tuple = (np.nan,) * column.npartitions
    else:
        if not isinstance(column, da.Array):
            column = da.from_array(np.asarray(column), chunks=-1)
        chunks = column.chunks[0]
    known = not np.isnan([*sizes, *chunks]).any()
    if known and sum(sizes) != sum(chunks):
        raise ValueError(f"X has {sum(sizes)} rows, and {name} has {sum(chunks)}.")
    if known and chunks != sizes:
        column = column.rechunk((sizes,))
    elif not known and len(chunks) != len(sizes):
        raise ValueError(
            f"X has {len(sizes)} blocks, and {name} has {len(chunks)}, and not all of their sizes "
            "are known, so that rows cannot be matched. Take both from one data frame, or call "
            "compute_chunk_sizes() on dask arrays."
        )
    return list(column.to_delayed())


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
        shape = (np.nan, *like.shape[1:])
        found = [delayed(answers)([part], known, method) for part in X.to_delayed()]
        return da.concatenate([da.from_delayed(one, shape, meta=like) for one in found])
    X = as_collection(X)
    # Not map_blocks: in older versions of Dask it cannot drop the columns of sparse blocks.
    given = (X, "ij", known, None, method, None)
    columns = {"k": like.shape[1]} if like.ndim == 2 else None
    return da.blockwise(answers, "ik"[: like.ndim], *given, new_axes=columns, meta=like)


def answers(blocks: list[Any], model: Any, method: str) -> np.ndarray:
    """Answers for the rows of the only block, which may be empty."""
    (X,) = blocks
    if X.shape[0] == 0:
        return getattr(model, method)(np.zeros((1, model.n_features_in_)))[:0]
    with blas_threads(1):
        return getattr(model, method)(X)
