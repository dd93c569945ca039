"""Rows and labels, checked: arrays, tensors on a device, or blocks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_consistent_length

from bayespoint.classifier.model import chunks
from bayespoint.classifier.parameters import kernel_is
from bayespoint.gpu.arrays import check_points, to_device
from bayespoint.gpu.devices import find_device, prediction_device
from bayespoint.rows import Blocks
from bayespoint.rows.arrays import file_array
from bayespoint.spaces.columns import Columns, category_columns
from bayespoint.tools import validation
from bayespoint.tools.arrays import is_device_array, is_tensor, to_numpy
from bayespoint.tools.memory import SMALL, available_memory
from bayespoint.tools.tables import cells_named, supported

COPIES = 2  # of the features in float64, that a fit in memory takes at least


def validated(
    estimator: Any,
    X: Any,
    y: Any,
    takes_sparse: bool,
    *,
    reset: bool,
    space: Any = None,
    table: Columns | None = None,
) -> tuple[Any, NDArray, Columns | None]:
    """Rows, as an array or as a tensor on the estimator's device, labels, and their columns.

    With ``reset`` columns are learned from X; otherwise ``table`` are those of earlier rows.
    """
    device = find_device(estimator.device, X)
    y = to_numpy(y)
    check_labels(y)
    if reset:
        X, table = learned_categories(estimator, X)
    if table is not None and len(table.categories):
        points = validation.new_points(estimator, X, table=table, reset=reset)
        labels = plain_labels(estimator, X, y)
        if device is not None:
            points = of_type(to_device(points, device), space.device_dtype)
        return points, labels, table
    if device is not None:
        points = device_points(estimator, X, device, space.device_dtype, reset=reset)
        return points, plain_labels(estimator, X, y), None
    is_table = not (issparse(X) or kernel_is(estimator, "is_precomputed"))
    with cells_named(X):
        points, labels = validation.validate_data(
            estimator,
            validation.without_sparse_columns(to_numpy(X), keeps=takes_sparse),
            y,
            dtype=(np.float64, np.float32),
            order="C",
            reset=reset,
            accept_sparse="csr" if takes_sparse else False,
            ensure_all_finite="allow-nan" if is_table and (reset or table) else True,
        )
    if not is_table:
        return points, labels, None
    if reset:
        names = getattr(estimator, "feature_names_in_", None)
        table = Columns.of(points, names=None if names is None else list(map(str, names)))
    return points if table is None else table.transform(points), labels, table


def learned_categories(estimator: Any, X: Any) -> tuple[Any, Columns | None]:
    """The rows, and their columns if some are categories."""
    given = estimator.categorical_features
    if (
        is_tensor(X)
        or is_device_array(X)
        or issparse(X)
        or (not hasattr(X, "columns") and (given is None or isinstance(given, str)))
    ):
        return X, None
    X = X if hasattr(X, "shape") else np.array(X, dtype=object)
    chosen = category_columns(X, given) if len(X.shape) == 2 else []
    if not chosen:
        return X, None
    if kernel_is(estimator, "is_precomputed"):
        raise ValueError("kernel='precomputed' needs a matrix of numbers, and has no categories.")
    return X, Columns.of(X, chosen)


def is_out_of_core(parameters: Any, X: Any) -> bool:
    """Whether X are blocks, or an array in a file that is too large for a fit in memory."""
    if isinstance(X, Blocks):
        return True
    if not isinstance(X, np.ndarray) or X.ndim != 2 or COPIES * X.nbytes <= SMALL:
        return False
    if file_array(X) is None or not parameters.kernel_is_linear or parameters.ridge != 0:
        return False
    return COPIES * 8.0 * X.size > available_memory()


def points_elsewhere(estimator: Any, X: Any) -> Iterator[Any]:
    """Rows to predict that are not a NumPy array, or go to a device, some at a time."""
    model = estimator.model_
    if isinstance(X, Blocks):
        yield from points_of_blocks(estimator, X)
        return
    device = prediction_device(estimator.device, X)
    if device is None or not model.has_device_form:
        options = {"accepts_sparse": model.accepts_sparse, "table": model.table}
        yield from chunks(validation.new_points(estimator, to_numpy(X), **options))
        return
    X = supported(X)
    is_plain = model.table is None or model.table.is_plain
    if not is_plain:
        X = validation.new_points(estimator, X, table=model.table)
    size = model.space.device_chunk(model.n_features)
    for begin in range(0, max(1, len(X)), size):
        chunk = X[begin : begin + size]
        if not is_plain:
            yield of_type(to_device(chunk, device), model.space.device_dtype)
            continue
        yield device_points(estimator, chunk, device, model.space.device_dtype, reset=False)


def points_of_blocks(estimator: Any, blocks: Blocks) -> Iterator[Any]:
    """Rows of blocks, one after another."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and blocks.feature_names not in (None, list(names)):
        raise ValueError(
            f"The blocks have the columns {blocks.feature_names[:6]}, and the classifier was "
            f"fitted with {list(names[:6])}. Name the same features in the same order."
        )
    for block in blocks:
        if block.X.shape[0]:
            with warnings.catch_warnings():  # arrays of blocks have no names
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                parts = list(points_elsewhere(estimator, block.X))
            yield from parts


def check_labels(y: Any) -> None:
    """Raise an error if labels are missing; NaN among numbers is left to scikit-learn."""
    labels = np.asarray(y)
    lost = validation.missing_labels(labels)
    if labels.dtype == object and len(lost):
        raise ValueError(
            f"y has missing labels ({len(lost)}, the first one at row {lost[0]}). Leave these "
            "rows out."
        )


def device_points(estimator: Any, X: Any, device: Any, dtype: str, *, reset: bool) -> Any:
    """Rows as a float32 tensor on the device; where "float64" is wanted, as of either type.

    Tensors stay where they are if that is the device. Arrays go there in the type they have, are
    converted there, and are checked for NaN and infinity there.
    """
    if is_tensor(X) or is_device_array(X):
        points = to_device(X, device)
        n_features = points.shape[1] if points.ndim == 2 else None
        if reset:
            estimator.n_features_in_ = n_features
            vars(estimator).pop("feature_names_in_", None)
        elif n_features is not None and n_features != estimator.n_features_in_:
            raise ValueError(
                f"X has {n_features} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input."
            )
    else:
        array = validation.validate_data(
            estimator, X, dtype="numeric", order="C", ensure_all_finite=False, reset=reset
        )
        points = to_device(array, device)
    check_points(points, type(estimator).__name__)
    return of_type(points, dtype)


def of_type(points: Any, dtype: str) -> Any:
    """A tensor of float32, or where "float64" is wanted of the type it has."""
    import torch

    if dtype == "float64" and points.dtype != torch.float32:
        return points.double().contiguous()
    return points.to(torch.float32).contiguous()


def plain_labels(estimator: Any, X: Any, y: Any) -> NDArray:
    """Labels as a NumPy array."""
    labels = to_numpy(y)
    if labels is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    labels = validation.column_or_1d(labels, warn=True)
    if labels.dtype.kind not in "iub":
        labels = validation.check_array(labels, ensure_2d=False, dtype=None, input_name="y")
    check_consistent_length(X, labels)
    return labels
