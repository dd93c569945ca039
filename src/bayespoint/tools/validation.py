"""Checks of parameters and of data, with errors in scikit-learn's wording."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from numbers import Integral, Real
from threading import RLock
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array as sklearn_check_array
from sklearn.utils import column_or_1d as sklearn_column_or_1d
from sklearn.utils.multiclass import check_classification_targets as sklearn_check_targets
from sklearn.utils.validation import validate_data as sklearn_validate_data

from bayespoint.tools.tables import cells_named, supported

__all__ = ["check_choice", "check_flag", "check_number", "parameter_error"]


def parameter_error(owner: Any, name: str, allowed: str) -> ValueError:
    """Error for a constructor parameter, in scikit-learn's wording.

    Parameters
    ----------
    owner : object
        Object that has the parameter.
    name : str
        Name of the parameter.
    allowed : str
        Description of the allowed values.

    Returns
    -------
    ValueError
        The error, for the caller to raise.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> from bayespoint.tools.validation import parameter_error
    >>> parameter_error(GibbsSampler(thin="x"), "thin", "an int")
    ValueError("The 'thin' parameter of GibbsSampler must be an int. Got 'x' instead.")
    """
    return ValueError(
        f"The {name!r} parameter of {type(owner).__name__} must be {allowed}. "
        f"Got {getattr(owner, name)!r} instead."
    )


def check_choice(owner: Any, name: str, choices: tuple[str, ...], more: str = "") -> None:
    """Raise an error unless the parameter is one of the strings.

    Parameters
    ----------
    owner : object
        Object that has the parameter.
    name : str
        Name of the parameter.
    choices : tuple of str
        Allowed values.
    more : str, default=""
        Other allowed values, for the message.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> from bayespoint.tools.validation import check_choice
    >>> check_choice(GibbsSampler(directions="up"), "directions", ("isotropic", "adapted"))
    Traceback (most recent call last):
    ...
    ValueError: The 'directions' parameter of GibbsSampler must be a str among {'isotropic',
    'adapted'}. Got 'up' instead.
    """
    value = getattr(owner, name)
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(map(repr, choices))
        raise parameter_error(owner, name, f"a str among {{{listed}}} {more}".strip())


def check_flag(owner: Any, name: str) -> None:
    """Raise an error unless the parameter is a bool.

    Parameters
    ----------
    owner : object
        Object that has the parameter.
    name : str
        Name of the parameter.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> from bayespoint.tools.validation import check_flag
    >>> check_flag(GibbsSampler(evidence="yes"), "evidence")
    Traceback (most recent call last):
    ...
    ValueError: The 'evidence' parameter of GibbsSampler must be a bool. Got 'yes' instead.
    """
    if not isinstance(getattr(owner, name), (bool, np.bool_)):
        raise parameter_error(owner, name, "a bool")


def is_number(value: Any, low: float, high: float, *, integer: bool = False) -> bool:
    """Whether a value is a number from ``low`` to ``high``; a bool is not a number."""
    kind: Any = Integral if integer else Real
    is_bool = isinstance(value, (bool, np.bool_))
    return isinstance(value, kind) and not is_bool and low <= value <= high


def check_number(
    owner: Any,
    name: str,
    *,
    low: float,
    high: float = np.inf,
    closed: str = "left",
    integer: bool = False,
    also: tuple[str | None, ...] = (),
    words: str = "",
) -> None:
    """Raise an error unless the parameter is a number in an interval.

    Parameters
    ----------
    owner : object
        Object that has the parameter.
    name : str
        Name of the parameter.
    low, high : float
        Ends of the interval.
    closed : {"left", "right", "both", "neither"}, default="left"
        Which ends belong to the interval.
    integer : bool, default=False
        Whether the value must be an integer.
    also : tuple of str or None, default=()
        Values that are allowed besides numbers, such as ``(None,)`` or ``("auto",)``.
    words : str, default=""
        Other allowed values, which the caller has checked, for the message.

    Examples
    --------
    >>> from bayespoint.engines import GibbsSampler
    >>> from bayespoint.tools.validation import check_number
    >>> check_number(GibbsSampler(thin=0), "thin", low=1, integer=True)
    Traceback (most recent call last):
    ...
    ValueError: The 'thin' parameter of GibbsSampler must be an int in the range [1, inf). Got 0
    instead.
    """
    value = getattr(owner, name)
    if (value is None or isinstance(value, str)) and value in also:
        return
    with_low, with_high = closed in ("left", "both"), closed in ("right", "both")
    is_inside = is_number(value, low, high, integer=integer)
    if not is_inside or (value == low and not with_low) or (value == high and not with_high):
        interval = f"{'[' if with_low else '('}{low}, {high}{']' if with_high else ')'}"
        if also:
            words = f"{', '.join(map(repr, also))}{', ' + words if words else ' or '}"
        raise parameter_error(
            owner, name, f"{words}{'an int' if integer else 'a float'} in the range {interval}"
        )


def missing_labels(labels: NDArray) -> NDArray[np.intp]:
    """Indices of labels that are None, NaN, or pandas' NA or NaT.

    Parameters
    ----------
    labels : ndarray
        Labels of any type.

    Returns
    -------
    ndarray of int
        Indices; none unless the labels are an array of one dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tools.validation import missing_labels
    >>> missing_labels(np.array(["a", None, "b", np.nan], dtype=object)).tolist()
    [1, 3]
    """
    if labels.ndim != 1 or labels.dtype.kind not in "fO":
        return np.empty(0, dtype=np.intp)
    if labels.dtype.kind == "f":
        return np.flatnonzero(np.isnan(labels))
    return np.flatnonzero([is_missing(one) for one in labels])


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT."""
    if isinstance(value, float):
        return value != value
    return type(value).__name__ in ("NoneType", "NAType", "NaTType")


P = ParamSpec("P")
R = TypeVar("R")

# scikit-learn's checks change the filters of warnings for a moment, and so does Numba while it
# compiles. The filters belong to the process: what two threads change at once does not come back as
# it was. So checks of arrays and labels run one at a time.
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
    >>> from bayespoint.tools.validation import alone
    >>> with alone(), warnings.catch_warnings():
    ...     warnings.simplefilter("error")
    """
    lock = sys.modules.get("numba.core.compiler_lock")  # if it is not there nothing compiles
    with _CHECKING, lock.global_compiler_lock if lock else nullcontext():
        yield


def _one_at_a_time(check: Callable[P, R]) -> Callable[P, R]:
    @wraps(check)
    def checked(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            with alone(), np.errstate(over="ignore", invalid="ignore"):  # of a sum, see sklearn
                return check(*arguments, **named)
        except TypeError as error:
            if "not supported between" not in str(error):
                raise
            raise TypeError(f"Labels must be all text or all numbers: {error}.") from None

    return checked


check_array: Callable[..., Any] = _one_at_a_time(sklearn_check_array)
check_classification_targets: Callable[..., None] = _one_at_a_time(sklearn_check_targets)
column_or_1d: Callable[..., Any] = _one_at_a_time(sklearn_column_or_1d)
validate_data: Callable[..., Any] = _one_at_a_time(sklearn_validate_data)


def has_known_columns(estimator: Any, X: Any) -> bool:
    """Whether X is a data frame with rows and the columns that the estimator was fitted with.

    Much quicker than scikit-learn's check, which says what is wrong with others.
    """
    names = getattr(estimator, "feature_names_in_", None)
    is_frame = hasattr(X, "to_numpy") and hasattr(X, "columns") and len(X) > 0
    return names is not None and is_frame and list(X.columns) == names.tolist()


def without_sparse_columns(X: Any, keeps: bool = False) -> Any:
    """A data frame of sparse columns as a dense one; ``keeps`` those of which a matrix is made."""
    is_sparse = hasattr(X, "columns") and hasattr(X, "sparse")  # if all columns are, says pandas
    is_kept = not is_sparse or (keeps and all(one.fill_value == 0 for one in X.dtypes))
    return X if is_kept else X.sparse.to_dense()


def new_points(
    estimator: Any, X: Any, *, accepts_sparse: bool = False, table: Any = None, reset: bool = False
) -> Any:
    """Rows as an array of float32 or float64, with the features that are known.

    ``table`` are the columns (``spaces.columns.Columns``) of which the features are made, if rows
    may lack cells. With ``reset`` the estimator is told the number and the names of the columns.
    """
    is_known = not reset and has_known_columns(estimator, X)
    has_levels = table is not None and len(table.categories) > 0
    has_flags = table is not None and len(table.flags) > 0
    is_quick = is_known and not has_levels and not has_flags
    if not is_quick or not hasattr(X, "iloc"):  # pandas makes no numbers of dates, Polars does
        X = supported(X)
    if is_quick:
        numbers = X.to_numpy()
        if numbers.dtype == np.float64 and np.isfinite(numbers.sum()):
            return np.ascontiguousarray(numbers)
        X = supported(X)
    if has_levels:
        X = X if hasattr(X, "shape") else np.array(X, dtype=object)
        if not is_known:
            validate_data(estimator, X, skip_check_array=True, reset=reset)
        return table.transform(X)
    with cells_named(X):
        points = validate_data(
            estimator,
            without_sparse_columns(X, keeps=accepts_sparse),
            reset=reset,
            order="C",
            dtype=(np.float64, np.float32),
            accept_sparse="csr" if accepts_sparse else False,
            ensure_all_finite=True if table is None else "allow-nan",
        )
    if table is None or issparse(points) or not (has_flags or np.isnan(points).any()):
        return points
    return table.transform(points)
