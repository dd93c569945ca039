"""Tables to learn from: rows with labels, and what their columns are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bayespoint.cli.options import Columns
from bayespoint.cli.output.errors import bad_usage
from bayespoint.cli.output.messages import Notes, TableNotes
from bayespoint.cli.tables.columns import CATEGORY, note_missing, prepare, sort_columns
from bayespoint.cli.tables.labels import check_classes, check_column, class_array, rows_with_labels
from bayespoint.cli.tables.number_formats import as_numbers
from bayespoint.cli.tables.reading import read_table
from bayespoint.reports import profile


def check_roles(frame: pd.DataFrame, target: str | None, columns: Columns) -> None:
    """End the command if a column does not exist, or is named by two options."""
    option_of: dict[str, str] = {}
    named = {"target": [] if target is None else [target], **vars(columns)}
    for option, names in named.items():
        for name in names:
            check_column(frame, name, f"--{option}")
            other = option_of.setdefault(name, option)
            if other != option:
                bad_usage(f"--{option} and --{other} name the same column, {name!r}")


@dataclass(frozen=True)
class TrainingData:
    """A table to learn from: kinds of columns, rows as the pipeline takes them, and labels.

    ``missing`` and ``counts`` are missing values of columns, and rows of classes.
    """

    target: str
    kinds: dict[str, str]
    missing: dict[str, int]
    counts: dict[Any, int]
    X: pd.DataFrame
    y: NDArray
    formats: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows with a label."""
        return sum(self.counts.values())

    def names(self, kind: str) -> list[str]:
        """Columns of a kind."""
        return [name for name, one in self.kinds.items() if one == kind]

    def part(self, rows: NDArray[np.intp]) -> TrainingData:
        """Some of the rows."""
        X = self.X.iloc[rows]
        return replace(self, X=X, missing=count_missing(X)).labelled(self.y[rows], self.counts)

    def labelled(self, y: NDArray, classes: Any) -> TrainingData:
        """The same rows with labels of these classes."""
        return replace(self, y=y, counts=count_labels(y, classes))

    def columns(self) -> dict[str, dict[str, Any]]:
        """How each column is written, and its profile: what new rows are read and judged by."""
        return with_profiles(self.formats, self.X)


def count_missing(X: pd.DataFrame) -> dict[str, int]:
    """How many values are missing in which columns."""
    return {name: int(n) for name, n in X.isna().sum().items() if n}


def count_labels(y: NDArray, classes: Any) -> dict[Any, int]:
    """How many rows each class has."""
    return {label: int(np.sum(y == label)) for label in classes}


def with_profiles(formats: dict[str, dict[str, Any]], X: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Formats of columns, and the distribution of their values."""
    return {name: {**formats.get(name, {}), **one} for name, one in profile(X).items()}


def read_training_data(
    path: Path, target: str, columns: Columns, notes: TableNotes, needs_classes: bool = True
) -> TrainingData:
    """Read a table to learn from; ``needs_classes`` if it must have at least two of them."""
    frame = read_table(path, notes)
    check_roles(frame, target, columns)
    frame, labels = rows_with_labels(frame, target, notes)
    counts = labels.value_counts().sort_index().to_dict()
    if needs_classes:
        check_classes(counts, target)
    return training_data(frame, class_array(labels), counts, target, columns, notes)


def training_data(
    frame: pd.DataFrame,
    y: NDArray,
    counts: dict[Any, int],
    target: str,
    columns: Columns,
    notes: Notes,
) -> TrainingData:
    """Decide what columns are, and prepare them."""
    features = frame.drop(columns=[target, *dict.fromkeys(columns.drop)])
    kinds = sort_columns(features, notes, columns)
    formats = column_formats(features, kinds)
    X = prepare(features, kinds, notes, formats)
    missing = count_missing(X)
    note_missing(missing, kinds, notes)
    return TrainingData(target, kinds, missing, counts, X, y, formats)


def column_formats(frame: pd.DataFrame, kinds: dict[str, str]) -> dict[str, dict[str, Any]]:
    """How columns are written, so that new rows are read in the same way."""
    formats: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    for name, kind in kinds.items():
        is_text = not (is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name]))
        if kind == CATEGORY:
            formats[name] = {"text": is_text}
        elif is_text:
            formats[name] = {"decimal_comma": as_numbers(frame[name]).decimal_comma}
    return formats
