"""Tables to learn from: rows with labels, and what their columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bayespoint.cli.output.errors import bad_data, bad_usage
from bayespoint.cli.output.messages import Notes, count
from bayespoint.cli.tables.columns import CATEGORY, note_missing, prepare, sort_columns
from bayespoint.cli.tables.labels import check_classes, check_column, class_array, rows_with_labels
from bayespoint.cli.tables.number_formats import as_numbers
from bayespoint.cli.tables.reading import read_table
from bayespoint.reports import profile


class Roles(NamedTuple):
    """What options say about columns."""

    target: str
    drop: Sequence[str]
    numbers: Sequence[str]
    categories: Sequence[str]
    group: Sequence[str] = ()

    @classmethod
    def of(cls, target: str, *options: list[str] | None, group: str | None = None) -> Roles:
        """The roles that --target, --drop, --number, --category and --group-column give."""
        drop, numbers, categories = (names or [] for names in options)
        return cls(target, drop, numbers, categories, [group] if group else [])

    def check(self, frame: pd.DataFrame) -> None:
        """End the command if a column does not exist, or is named for two purposes."""
        check_roles(frame, [self.target], *self[1:])

    def features(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns to learn from."""
        return frame.drop(columns=[self.target, *dict.fromkeys(self.drop), *self.group])


def check_roles(frame: pd.DataFrame, *columns: Sequence[str]) -> None:
    """End the command if a column does not exist, or is named by two options."""
    option_of: dict[str, str] = {}
    options = ("--target", "--drop", "--number", "--category", "--group-column")
    for option, names in zip(options, columns, strict=False):
        for name in names:
            check_column(frame, name, option)
            other = option_of.setdefault(name, option)
            if other != option:
                bad_usage(f"{option} and {other} name the same column, {name!r}")


@dataclass(frozen=True)
class TrainingTable:
    """What was found in a table: kinds of columns, missing values, and rows of each class."""

    target: str
    kinds: dict[str, str]
    missing: dict[str, int]
    counts: dict[Any, int]

    @property
    def n_rows(self) -> int:
        """Rows with a label."""
        return sum(self.counts.values())

    def names(self, kind: str) -> list[str]:
        """Columns of a kind."""
        return [name for name, one in self.kinds.items() if one == kind]


@dataclass(frozen=True)
class TrainingData(TrainingTable):
    """A table in memory: its rows as the pipeline takes them, and their labels."""

    X: pd.DataFrame
    y: NDArray
    formats: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: NDArray | None = None

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
    path: Path, roles: Roles, encoding: str, notes: Notes, needs_classes: bool = True
) -> TrainingData:
    """Read a table to learn from; ``needs_classes`` if it must have at least two of them."""
    frame = read_table(path, encoding, notes)
    roles.check(frame)
    frame, labels = rows_with_labels(frame, roles.target, notes)
    counts = labels.value_counts().sort_index().to_dict()
    if needs_classes:
        check_classes(counts, roles.target)
    features = roles.features(frame)
    kinds = sort_columns(features, notes, roles.numbers, roles.categories)
    X = prepare(features, kinds, notes)
    missing = count_missing(X)
    note_missing(missing, kinds, notes)
    formats = column_formats(features, kinds)
    groups = group_names(frame, roles.group[0]) if roles.group else None
    y = class_array(labels)
    return TrainingData(roles.target, kinds, missing, counts, X, y, formats, groups)


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
