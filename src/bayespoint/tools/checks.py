"""scikit-learn's checks of arrays and labels, one at a time.

They change the filters of warnings for a moment, and so does Numba while it compiles. The filters
belong to the process: what two threads change at once does not come back as it was.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from threading import RLock
from typing import Any, ParamSpec, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array as sklearn_check_array
from sklearn.utils import column_or_1d as sklearn_column_or_1d
from sklearn.utils.multiclass import check_classification_targets as sklearn_check_targets
from sklearn.utils.validation import validate_data as sklearn_validate_data

P = ParamSpec("P")
R = TypeVar("R")

_CHECKING = RLock()


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other thread is in such a block, nor compiles.

    Returns
    -------
    context manager
        Gives nothing.

    Examples
    --------
    >>> import warnings
    >>> from bayespoint.tools.checks import alone
    >>> with alone(), warnings.catch_warnings():
    ...     warnings.simplefilter("error")
    """
    lock = sys.modules.get("numba.core.compiler_lock")  # if it is not there nothing compiles
    with _CHECKING, lock.global_compiler_lock if lock else nullcontext():
        yield


def _one_at_a_time(check: Callable[P, R]) -> Callable[P, R]:
    @wraps(check)
    def checked(*arguments: P.args, **named: P.kwargs) -> R:
        with alone():
            return check(*arguments, **named)

    return checked


check_array: Callable[..., Any] = _one_at_a_time(sklearn_check_array)
check_classification_targets: Callable[..., None] = _one_at_a_time(sklearn_check_targets)
column_or_1d: Callable[..., Any] = _one_at_a_time(sklearn_column_or_1d)
validate_data: Callable[..., Any] = _one_at_a_time(sklearn_validate_data)


def new_points(
    estimator: Any,
    X: Any,
    *,
    accepts_sparse: bool = False,
    table: Any = None,
    reset: bool = False,
) -> Any:
    """Rows as an array of float32 or float64, with the features that are known.

    ``table`` are the columns (``spaces.columns.Columns``) of which the features are made, if rows
    may lack cells. With ``reset`` the estimator is told the number and the names of the columns.
    """
    if table is not None and len(table.categories):
        X = X if hasattr(X, "shape") else np.array(X, dtype=object)
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        return table.transform(X)
    with np.errstate(over="ignore", invalid="ignore"):  # of a sum that looks for infinity
        points = validate_data(
            estimator, X, dtype=(np.float64, np.float32), order="C", reset=reset,
            accept_sparse="csr" if accepts_sparse else False,
            ensure_all_finite=True if table is None else "allow-nan",
        )  # fmt: skip
    if table is None or issparse(points) or not (len(table.flags) or np.isnan(points).any()):
        return points
    return table.transform(points)
