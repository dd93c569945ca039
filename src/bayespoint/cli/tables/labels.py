"""The column that is to be predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayespoint.cli.output.errors import bad_data, bad_usage, did_you_mean
from bayespoint.cli.output.messages import Notes, count, listed
from bayespoint.cli.tables.number_formats import as_text
from bayespoint.cli.tables.reading import header_hint

MANY = 20  # different numbers from which a target that is not whole is a quantity


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
