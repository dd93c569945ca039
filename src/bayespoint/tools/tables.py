"""Tables that a classifier cannot take, with errors that name the column and say what to do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

# Errors of NumPy, pandas and Polars, of cells that are not numbers.
CONVERSION = re.compile(r"could not convert|[Cc]annot (cast|convert)|array element")
NUMBERS = frozenset("biufc")  # kinds of NumPy's types; pandas names the same letters
SHOWN = 10  # columns that an error names
LONG = 60  # characters of a cell that an error shows

# What the type of a column begins with (pandas, pyarrow, Polars), what its cells are, and a remedy.
LEAVE_OUT = "or leave the column out"
DATES = "dates", f"Make numbers of them, such as the year or the days since the first, {LEAVE_OUT}"
NESTED = "nested values", f"Make a column of each entry, {LEAVE_OUT}"
KINDS = {
    ("datetime", "timestamp", "date", "period"): DATES,
    ("timedelta", "duration"): ("durations", f"Make numbers of them, such as seconds, {LEAVE_OUT}"),
    ("time",): ("times", f"Make numbers of them, such as seconds since midnight, {LEAVE_OUT}"),
    ("interval",): (
        "intervals",
        f"Make text of them, or numbers such as their middle, {LEAVE_OUT}",
    ),
    ("list", "large_list", "fixed_size_list", "array", "struct", "map"): NESTED,
    ("binary", "large_binary", "fixed_size_binary"): (
        "bytes",
        f"Decode them as text, or make numbers of them, {LEAVE_OUT}",
    ),
}


def supported(X: Any) -> Any:
    """The rows, if they are a table that can be checked; an error says what to pass instead.

    Sparse rows of float16, for which SciPy has no routines, become float32.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tools.tables import supported
    >>> supported(np.array([["2024-02-29"]], dtype="datetime64[D]"))
    Traceback (most recent call last):
    ...
    TypeError: X has dates (datetime64[D]), which are neither numbers nor categories. Make numbers
    of them, such as the year or the days since the first, or leave the column out.
    """
    if issparse(X):
        if X.dtype.kind == "c":
            raise ValueError(f"Complex data not supported. Got {X.dtype}: take the real part.")
        return X.astype(np.float32) if X.dtype == np.float16 else X
    if isinstance(X, np.ndarray):
        check_kinds([None], [X.dtype])
        return X
    kind, library = type(X).__name__, type(X).__module__.partition(".")[0]
    if library == "polars" and kind == "LazyFrame":
        raise TypeError("X is a Polars LazyFrame, which has no rows yet. Pass X.collect().")
    if library == "pyarrow":
        raise TypeError(
            f"X is a {kind} of pyarrow, which is not supported. Pass a data frame: X.to_pandas(), "
            "or polars.from_arrow(X)."
        )
    if hasattr(X, "to_frame") and len(X.shape) == 1:
        raise ValueError(
            f"Expected 2D array, got 1D {kind} {X.name!r} instead. Pass a data frame: X.to_frame() "
            "if it is a column, or a row such as frame.iloc[[0]] if it is a row."
        )
    if isinstance(X, Mapping | Iterator | set | frozenset):
        raise TypeError(
            f"X is a {kind}, which is not a table: float() argument must be a string or a real "
            "number. Pass a data frame, an array or a list of rows."
        )
    if isinstance(X, list | tuple):
        check_lengths(X)
    elif hasattr(X, "columns") and hasattr(X, "dtypes"):
        names = list(X.columns)
        check_names(names)
        check_kinds(names, list(X.dtypes), objects=library == "polars")
    return X


def check_names(names: Sequence[Any]) -> None:
    """Raise an error if columns have equal names."""
    if len(set(names)) < len(names):
        several = [f"{name!r} ({n} columns)" for name, n in Counter(names).items() if n > 1]
        raise ValueError(
            f"Columns must have different names. Got {listed(several)}. Rename them, or keep the "
            "first of each: X.loc[:, ~X.columns.duplicated()]."
        )


def check_kinds(names: Sequence[Any], types: Sequence[Any], objects: bool = False) -> None:
    """Raise an error if the type of a column is neither of numbers nor of categories.

    ``objects`` says that a column of objects is not either; else its cells decide.
    """
    found: dict[tuple[str, str], list[Any]] = {}
    for name, one in zip(names, types, strict=True):
        if getattr(one, "kind", "") in NUMBERS:  # most are, and text takes long to make
            continue
        text = str(one).lower()
        for begins, (what, remedy) in KINDS.items():
            if text.startswith(begins):
                found.setdefault((f"{what} ({one})", remedy), []).append(name)
                break
        if objects and text == "object":
            remedy = f"Make text or numbers of them, {LEAVE_OUT}"
            found.setdefault(("objects", remedy), []).append(name)
    for (what, remedy), odd in found.items():
        where = "X has" if odd == [None] else f"{columns(odd)} {'has' if len(odd) == 1 else 'have'}"
        raise TypeError(f"{where} {what}, which are neither numbers nor categories. {remedy}.")


def check_lengths(rows: Sequence[Any]) -> None:
    """Raise an error if lists of cells differ in length."""
    lengths = [len(row) for row in rows if isinstance(row, list | tuple)]
    if len(lengths) == len(rows) and len(set(lengths)) > 1:
        other = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise ValueError(
            f"Rows of X must have equal numbers of cells. Got {lengths[0]} in row 0 and "
            f"{lengths[other]} in row {other}."
        )


def weight_numbers(weights: Any) -> Any:
    """Sample weights as an array of float64; missing ones are NaN, however they are written."""
    values = np.asarray(weights)
    if values.dtype.kind in "cmM":
        what = "complex ones" if values.dtype.kind == "c" else values.dtype
        raise ValueError(f"Sample weights must be real numbers. Got {what}.")
    if values.dtype.kind in "OUS" and values.ndim == 1:
        values = np.array(
            [np.nan if is_lost(one) else one for one in values.tolist()], dtype=object
        )
        for row, one in enumerate(values):
            if not is_number_like(one):
                raise ValueError(
                    f"Sample weights must be real numbers. Got {short(one)} ({type(one).__name__}) "
                    f"at row {row}."
                )
    return values.astype(np.float64)


@contextmanager
def cells_named(X: Any, places: Sequence[int] | None = None) -> Iterator[None]:
    """Name the column and the row of a cell of which no number can be made.

    ``places`` are the numbers of the columns of X in the whole table, if X is a part of it.
    """
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"X has a number that float64 cannot hold: {error}.") from None
    except (TypeError, ValueError) as error:
        is_conversion = isinstance(error, TypeError) or CONVERSION.search(str(error))
        place = odd_cell(X) if is_conversion else None
        if place is None:
            raise
        column, row, cell = place
        names = getattr(X, "columns", None)
        name = (column if places is None else places[column]) if names is None else names[column]
        where = f"column {name}" if names is None else f"column {name!r}"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{where[0].upper()}{where[1:]} has a cell that is not a number: "
            f"{short(cell)} ({type(cell).__name__}) in row {row}. {remedy_for(cell)}. ({error})"
        ) from error


def odd_cell(X: Any) -> tuple[int, int, Any] | None:
    """Column, row and content of the first cell of which no number can be made, if there is one."""
    if hasattr(X, "columns") and not hasattr(X, "iloc"):
        every = [X[:, j] for j in range(len(X.columns))]  # Polars
    elif hasattr(X, "iloc"):
        every = [X.iloc[:, j] for j in range(X.shape[1])]
    else:
        cells = as_objects(X)
        every = [] if cells is None else list(cells.T)
    for j, cells in enumerate(every):
        if getattr(getattr(cells, "dtype", None), "kind", "O") in NUMBERS:
            continue
        for i, cell in enumerate(cells.tolist() if hasattr(cells, "tolist") else list(cells)):
            if not is_number_like(cell):
                return j, i, cell
    return None


def as_objects(X: Any) -> Any:
    """The cells of an array or a list of lists, each as it is; None if they are not a table."""
    if isinstance(X, np.ndarray):
        return X if X.ndim == 2 else None
    if not isinstance(X, list | tuple) or not all(isinstance(row, list | tuple) for row in X):
        return None
    cells = np.empty((len(X), len(X[0]) if X else 0), dtype=object)
    for i, row in enumerate(X):
        for j, cell in enumerate(row):
            cells[i, j] = cell
    return cells


def is_number_like(cell: Any) -> bool:
    """Whether a number can be made of a cell, or it is missing."""
    if is_lost(cell):
        return True
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def is_lost(cell: Any) -> bool:
    """Whether a cell is None, or pandas' NA or NaT."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def remedy_for(cell: Any) -> str:
    """What to do with a column that has such a cell."""
    if isinstance(cell, str):
        return "Name columns of categories in categorical_features, or make numbers of them"
    if hasattr(cell, "year"):
        return DATES[1]
    if hasattr(cell, "total_seconds"):
        return KINDS["timedelta", "duration"][1]
    if isinstance(cell, list | tuple | set | frozenset | Mapping | np.ndarray):
        return NESTED[1]
    return f"Make numbers of its cells, {LEAVE_OUT}"


def short(cell: Any) -> str:
    """A cell in an error."""
    text = " ".join(repr(cell).split())
    return text if len(text) <= LONG else f"{text[:LONG]}..."


def columns(names: Sequence[Any]) -> str:
    """Columns at the beginning of a sentence."""
    return f"Column{'s' if len(names) > 1 else ''} {listed([repr(name) for name in names])}"


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
