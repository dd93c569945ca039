"""The kinds of the columns of a table: numbers, categories, or unused."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api import types

from bayespoint.cli.errors import bad_data
from bayespoint.cli.images import pixel_columns
from bayespoint.cli.messages import Notes, count, listed

NUMBER, CATEGORY = "number", "category"
TEXT, IMAGE = "text", "image"  # of models that were made by bayespoint label
FOLDER = "folder"  # attribute of a table: where names of files in it begin
LARGEST = 1e100  # squares of numbers, and sums of many of them, stay far below 1.8e308
MOSTLY = 0.9  # share of the values that makes a column of numbers, or of dates
VARIED = 10  # different numbers from which a word among them is a mistake, not a category
MANY_CATEGORIES = 100  # from here on, nearly different values are names, not categories
COUNTS = 20  # rows from which consecutive numbers are no chance
SHOWN = 6  # columns that a remark on missing values names
DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ].*)?")


@dataclass(frozen=True)
class Numbers:
    """A column as numbers, its values that are not numbers, and whether it had decimal commas."""

    values: pd.Series
    words: list[str]
    commas: bool


def as_numbers(series: pd.Series) -> Numbers:
    """Numbers where a column has them; truth values count as 0 and 1."""
    if types.is_numeric_dtype(series) or types.is_bool_dtype(series):
        return Numbers(series.astype(np.float64), [], False)
    text = as_text(series)
    there = text.dropna()
    commas = any(DECIMAL_COMMA.fullmatch(word) for word in there.unique())
    if commas:
        there = there.map(without_commas)
    there = there.replace({"True": "1", "False": "0"})
    values = pd.to_numeric(there, errors="coerce").astype(np.float64).reindex(text.index)
    return Numbers(values, list(dict.fromkeys(text[text.notna() & values.isna()])), commas)


def without_commas(word: str) -> str:
    """1.234,5 as 1234.5, in a column that has decimal commas."""
    if DECIMAL_COMMA.fullmatch(word) or THOUSANDS.fullmatch(word):
        return word.replace(".", "").replace(",", ".")
    return word


def as_text(series: pd.Series) -> pd.Series:
    """Values as text without spaces around it, NaN where there is none; whole numbers as such."""
    present = series.dropna()
    if types.is_float_dtype(present) and (present % 1 == 0).all():
        present = present.astype(np.int64) if (present.abs() < 2**53).all() else present
    words = present.astype(object).map(lambda value: str(value).strip())
    return words[words != ""].reindex(series.index).astype(object)


def sort_columns(frame: pd.DataFrame, notes: Notes) -> dict[str, str]:
    """The kind of every column that is used; reports which others are left out, and why."""
    kinds: dict[str, str] = {}
    for name in frame:
        kind, remark = judge(frame[name])
        if kind:
            kinds[name] = kind
            if remark:
                notes.add(f"column {name!r} {remark}")
        else:
            notes.add(f"column {name!r} is left out: {remark}")
    if not kinds:
        bad_data("no column is left to learn from")
    return kinds


def judge(series: pd.Series) -> tuple[str, str]:
    """Kind and remark; without a kind, the reason to leave the column out."""
    present = series.dropna()
    if present.empty:
        return "", "it has no values"
    if types.is_datetime64_any_dtype(series) or types.is_timedelta64_dtype(series):
        return "", "it holds dates; make numbers of them to use them"
    numbers = as_numbers(series)
    share = numbers.values.notna().sum() / len(present)
    different = numbers.values.nunique()
    if share == 1 or (share >= MOSTLY and different > VARIED):
        return judge_numbers(numbers, different)
    return judge_words(as_text(series), share)


def judge_numbers(numbers: Numbers, different: int) -> tuple[str, str]:
    """Numbers are used, unless they are always the same."""
    if different == 1:
        return "", f"it is always {numbers.values.dropna().iloc[0]:g}"
    remarks = []
    if numbers.commas:
        remarks.append("has decimal commas, read as points")
    if counts_rows(numbers.values):
        remarks.append("counts the rows; --drop it if it says nothing about the class")
    return NUMBER, "; it ".join(remarks)


def counts_rows(values: pd.Series) -> bool:
    """Whether numbers go up by one from row to row."""
    return len(values) >= COUNTS and bool((values.diff().iloc[1:] == 1).all())


def judge_words(words: pd.Series, share_of_numbers: float) -> tuple[str, str]:
    """Texts are categories if they are repeated and are not dates."""
    present = words.dropna()
    different = present.nunique()
    if sum(DATE.fullmatch(word) is not None for word in present.unique()) >= MOSTLY * different:
        return "", "it holds dates; make numbers of them to use them"
    if different == 1 and len(present) == len(words):
        return "", f"it is always {present.iloc[0]!r}"
    if different == len(present) and different > 2:
        return "", "every value is different text, an identifier"
    if different > max(MANY_CATEGORIES, len(present) / 2):
        return "", f"it has {different} different texts in {len(words)} rows"
    remarks = []
    if share_of_numbers > 0:
        remarks.append("mixes numbers and words; its values are taken as categories")
    if different > MANY_CATEGORIES:
        remarks.append(f"has {different} categories; only the most frequent are told apart")
    return CATEGORY, "; it ".join(remarks)


def prepare(frame: pd.DataFrame, kinds: Mapping[str, str], notes: Notes) -> pd.DataFrame:
    """The columns as the pipeline takes them: floats, and text with NaN where it is missing."""
    prepared = {}
    for name, kind in kinds.items():
        if kind == CATEGORY:
            prepared[name] = as_text(frame[name])
            continue
        if kind == TEXT:
            prepared[name] = as_text(frame[name]).fillna("").astype(object)
            continue
        if kind == IMAGE:
            prepared |= pixel_columns(frame[name], Path(frame.attrs[FOLDER]), notes).items()
            continue
        numbers = as_numbers(frame[name])
        check_range(name, numbers.values)
        if numbers.words:
            found = f"{listed(numbers.words)}, no number{'s' if len(numbers.words) > 1 else ''}"
            notes.add(f"column {name!r} has {found}: taken as missing")
        prepared[name] = numbers.values
    return pd.DataFrame(prepared)


def check_range(name: str, values: pd.Series) -> None:
    """End the command if numbers are too large to compute with."""
    bad = values[values.abs() > LARGEST]
    if len(bad):
        what = "infinite values" if np.isinf(bad.iloc[0]) else f"values above {LARGEST:g}"
        bad_data(
            f"column {name!r} has {what} ({len(bad)}, first in row {bad.index[0] + 1} below the "
            "header); correct them, or leave their cells empty"
        )


def tell_missing(
    frame: pd.DataFrame, kinds: Mapping[str, str], notes: Notes, never_missing: Collection[str] = ()
) -> dict[str, int]:
    """How many values are missing in which columns; reports how they are filled in.

    ``never_missing`` are columns of categories that had all their values in training.
    """
    missing = {name: int(n) for name, n in frame.isna().sum().items() if n}
    stand_ins = {NUMBER: "the median stands in", CATEGORY: "a category of its own stands in"}
    none = "none were in training, so they count as no category"
    for remark in (*stand_ins.values(), none):
        own = [
            f"{n} in {name!r}"
            for name, n in missing.items()
            if remark == (none if name in never_missing else stand_ins[kinds[name]])
        ]
        if own:
            more = f" and in {count(len(own) - SHOWN, 'other column')}" if own[SHOWN:] else ""
            notes.add(f"missing values: {', '.join(own[:SHOWN])}{more}; {remark}")
    return missing
