"""Tables to learn from: rows with labels, and what their columns are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bayespoint.cli.options import Columns
from bayespoint.cli.output.errors import bad_data, bad_usage, did_you_mean
from bayespoint.cli.output.printing import Notes, TableNotes, count, listed
from bayespoint.cli.tables.columns import CATEGORY, note_missing, prepare, sort_columns
from bayespoint.cli.tables.number_formats import as_numbers, as_text
from bayespoint.cli.tables.reading import header_hint, read_table
from bayespoint.reports import profile

MANY = 20  # different numbers from which a target that is not whole is a quantity


def check_roles(
    frame: pd.DataFrame, target: str | None, columns: Columns, group: str | None = None
) -> None:
    """End the command if a column does not exist, or is named by two options."""
    option_of: dict[str, str] = {}
    named = {"target": target and [target], **vars(columns), "group-column": group and [group]}
    for option, names in named.items():
        for name in names or ():
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
    groups: NDArray | None = None

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
        groups = None if self.groups is None else self.groups[rows]
        found = replace(self, X=X, missing=count_missing(X), groups=groups)
        return found.labelled(self.y[rows], self.counts)

    def labelled(self, y: NDArray, classes: Any) -> TrainingData:
        """The same rows with labels of these classes."""
        return replace(self, y=y, counts=count_labels(y, classes))

    def units(self) -> dict[Any, int]:
        """How many rows each class has, or in how many groups it is."""
        if self.groups is None:
            return self.counts
        return {label: len(set(self.groups[self.y == label])) for label in self.counts}

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
    path: Path,
    target: str,
    columns: Columns,
    notes: TableNotes,
    *,
    group: str | None = None,
    needs_classes: bool = True,
) -> TrainingData:
    """Read a table to learn from; ``needs_classes`` if it must have at least two of them."""
    frame = read_table(path, notes)
    check_roles(frame, target, columns, group)
    frame, labels = rows_with_labels(frame, target, notes)
    counts = labels.value_counts().sort_index().to_dict()
    if needs_classes:
        check_classes(counts, target)
    return training_data(frame, class_array(labels), counts, target, columns, notes, group)


def training_data(
    frame: pd.DataFrame,
    y: NDArray,
    counts: dict[Any, int],
    target: str,
    columns: Columns,
    notes: Notes,
    group: str | None = None,
) -> TrainingData:
    """Decide what columns are, and prepare them."""
    groups = None if group is None else group_names(frame, group)
    left = [target, *dict.fromkeys(columns.drop), *([] if group is None else [group])]
    features = frame.drop(columns=left)
    kinds = sort_columns(features, notes, columns)
    formats = column_formats(features, kinds)
    X = prepare(features, kinds, notes, formats)
    missing = count_missing(X)
    note_missing(missing, kinds, notes)
    return TrainingData(target, kinds, missing, counts, X, y, formats, groups)


def group_names(frame: pd.DataFrame, column: str) -> NDArray:
    """The group of each row; ends the command if one is missing, or if there is only one."""
    check_column(frame, column, "--group-column")
    groups = frame[column]
    lost = int(groups.isna().sum())
    if lost or groups.nunique() < 2:
        why = f"is empty in {count(lost, 'row')}" if lost else "has a single value"
        bad_data(f"column {column!r} (--group-column) {why}; each row needs a group, of several")
    return groups.astype(str).to_numpy(dtype=object)


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


def check_column(frame: pd.DataFrame, name: str, option: str) -> None:
    """End the command if there is no such column."""
    if name not in frame:
        hint = did_you_mean(name, frame.columns)
        there = f"The columns are {listed(frame.columns, 8)}{header_hint(frame.columns)}"
        bad_usage(f"there is no column {name!r} ({option}).{hint} {there}")


def read_labels(series: pd.Series) -> pd.Series:
    """Labels as integers where all are whole numbers, else as text; None where one is missing."""
    words = as_text(series)
    numbers = pd.to_numeric(words.dropna(), errors="coerce").astype(np.float64)
    labels = words.where(words.notna(), None)
    if numbers.notna().all() and (numbers.abs() < 2**53).all() and (numbers % 1 == 0).all():
        labels[numbers.index] = numbers.map(int).astype(object)
    return labels


def rows_with_labels(
    frame: pd.DataFrame, target: str, notes: Notes
) -> tuple[pd.DataFrame, pd.Series]:
    """The rows that have a label, and the labels."""
    labels = read_labels(frame[target])
    there = labels.notna()
    if not there.any():
        bad_data(f"column {target!r} (--target) has no values")
    if not there.all():
        notes.add(f"{count(int((~there).sum()), 'row')} without a value in {target!r} left out")
    return frame[there], labels[there]  # with the index of the table, for numbers of rows


def check_classes(counts: Mapping[Any, int], target: str) -> None:
    """End the command if the column does not hold classes; ``counts`` are rows of each."""
    n, numbers = sum(counts.values()), pd.to_numeric(pd.Series(list(counts)), errors="coerce")
    what = f"column {target!r} (--target)"
    if len(counts) == 1:
        only = next(iter(counts))
        bad_data(f"{what} has only one class, {only!r}; a classifier needs at least two")
    remedy = "a classifier needs classes. Did you mean another column?"
    if len(counts) == n > 2:
        bad_data(f"{what} has a different value in every row, and {remedy}")
    is_quantity = numbers.notna().all() and not (numbers % 1 == 0).all()
    if len(counts) > MANY and (is_quantity or len(counts) > n / 2):
        bad_data(
            f"{what} has {len(counts)} different values in {n} rows, and {remedy} (Predicting "
            "numbers is regression, which this command does not do.)"
        )


def known_labels(labels: pd.Series, classes: NDArray, target: str) -> NDArray:
    """Labels of new rows, as the model has them; ends the command if it does not know one."""
    as_model = {str(label): label for label in classes.tolist()}
    words = labels.map(str)
    unknown = sorted(set(words) - set(as_model))
    if unknown:
        bad_data(
            f"column {target!r} has {listed(unknown)}, which the model does not know; its classes "
            f"are {listed(classes, 8)}"
        )
    return np.array([as_model[word] for word in words], dtype=classes.dtype)


def class_array(labels: Sequence[Any]) -> NDArray:
    """Labels as an array: integers, or text."""
    whole = all(isinstance(label, int) for label in labels)
    return np.array(list(labels), dtype=np.int64 if whole else str)
