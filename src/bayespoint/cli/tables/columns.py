"""The kinds of the columns of a table: numbers, categories, or unused."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from bayespoint.active.labelling.pictures import SIDE, PictureError, PictureFolder, small_copy
from bayespoint.cli.options import Columns
from bayespoint.cli.output.errors import bad_data
from bayespoint.cli.output.printing import Notes, count, listed
from bayespoint.cli.tables.number_formats import Numbers, as_numbers, as_text
from bayespoint.tools.extras import require

NUMBER, CATEGORY = "number", "category"
TEXT, IMAGE = "text", "image"  # of models that were made by bayespoint label
KINDS = (NUMBER, CATEGORY, TEXT, IMAGE)
FOLDER = "folder"  # attribute of a table: where names of files in it begin
LARGEST = 1e100  # squares of numbers, and sums of many of them, stay far below 1.8e308
MOSTLY = 0.9  # share of the values that makes a column of numbers, or of dates
HALF = 0.5  # the same, where all other values are one word
VARIED = 10  # different numbers from which a word among them is a mistake, not a category
MANY_CATEGORIES = 100  # from here on, nearly different values are names, not categories
ROWS_OF_IDENTIFIERS = 20  # rows from which different whole numbers may be identifiers
NO_CHANCE = 1e-3  # probability of a coincidence that is not taken for one
LONG = 1e6  # whole numbers from here on may be identifiers, however few rows there are
SHOWN = 6  # columns that a remark on missing values names
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ].*)?")
CODE = re.compile(r"0\d+")  # quantities are not written with leading zeros
DATES = "it has dates; to use them, add columns of numbers, such as year, month and weekday"
POSTAL = re.compile(r"(zip|plz|post(al)? ?code|postleitzahl)s?( ?codes?)?")
NAMED_ID = re.compile(r"(.* )?(id|ids|uuid|identifier)")


def sort_columns(frame: pd.DataFrame, notes: Notes, given: Columns) -> dict[str, str]:
    """The kind of every column that is used; reports which others are left out, and why."""
    kinds: dict[str, str] = {}
    for name in frame:
        if name in given.number or name in given.category:
            kinds[name] = NUMBER if name in given.number else CATEGORY
            check_kind(frame[name], name, kinds[name])
            continue
        kind, remark = judge(frame[name], name)
        if kind:
            kinds[name] = kind
            if remark:
                notes.add(f"column {name!r} {remark}")
        else:
            notes.add(f"column {name!r} is left out: {remark}")
    if not kinds:
        bad_data("no column is left to learn from")
    return kinds


def check_kind(series: pd.Series, name: str, kind: str) -> None:
    """End the command if a column cannot be of the kind that the user gives."""
    if series.dropna().empty:
        bad_data(f"column {name!r} (--{kind}) has no values")
    if kind == NUMBER and as_numbers(series).values.isna().all():
        bad_data(f"column {name!r} (--number) has no numbers, only {listed(series.dropna())}")


def judge(series: pd.Series, name: str = "") -> tuple[str, str]:
    """Kind and remark; without a kind, the reason to leave the column out."""
    present = series.dropna()
    if present.empty:
        return "", "it has no values"
    if types.is_datetime64_any_dtype(series) or types.is_timedelta64_dtype(series):
        return "", DATES
    numbers = as_numbers(series)
    share = numbers.values.notna().sum() / len(present)
    different = numbers.values.nunique()
    if share == 1 and different > 1 and (reason := code_words(series, numbers, name)):
        kind, remark = judge_words(as_text(series), 0.0)
        return kind, "; it ".join(filter(None, [reason if kind else "", remark]))
    # A single word among many numbers, such as "-" or "n.a.", is a missing value, however frequent.
    most = HALF if len(numbers.words) == 1 else MOSTLY
    if share == 1 or (share >= most and different > VARIED):
        return judge_numbers(numbers, different, name)
    mixed = 0.0 if numbers.remarks else share  # "0%" among "1 - 10%" is a word among words
    return judge_words(as_text(series), mixed)


def code_words(series: pd.Series, numbers: Numbers, name: str) -> str:
    """Why whole numbers are codes and not quantities; "" if they are not."""
    if (numbers.values.dropna() % 1 != 0).any() or types.is_bool_dtype(series):
        return ""
    if POSTAL.fullmatch(spaced(name)):
        return f"has postal codes, used as categories (--number {quote(name)}: as numbers)"
    if not types.is_numeric_dtype(series) and as_text(series).dropna().map(is_code).any():
        return "has codes with leading zeros, used as categories"
    return ""


def is_code(word: str) -> bool:
    """Whether digits are a code: 02139."""
    return CODE.fullmatch(word) is not None


def spaced(name: str) -> str:
    """customerID, customer_id and Customer-Id as customer id."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\s_.-]+", " ", apart).strip().lower()


def judge_numbers(numbers: Numbers, different: int, name: str) -> tuple[str, str]:
    """Numbers are used, unless they are always the same or number the rows."""
    if different == 1:
        return "", f"it is always {numbers.values.dropna().iloc[0]:g}"
    present = numbers.values.dropna()
    if different == len(present) >= ROWS_OF_IDENTIFIERS and (present % 1 == 0).all():
        to_use = f"an identifier; --number {quote(name)} uses it"
        if (present.diff().iloc[1:] == 1).all():
            return "", f"it numbers the rows, {to_use}"
        if NAMED_ID.fullmatch(spaced(name)) or would_repeat(present):
            return "", f"every value is a different whole number, {to_use}"
        if present.abs().max() >= LONG:
            remark = (
                "has a different large whole number in every row; --drop it if it is an identifier"
            )
            return NUMBER, "; it ".join([*numbers.remarks, remark])
    return NUMBER, "; it ".join(numbers.remarks)


def would_repeat(values: pd.Series) -> bool:
    """Whether as many whole numbers, drawn at random from the same range, would repeat some.

    All n of R numbers are different with the probability (1 - 1/R) ... (1 - (n - 1)/R).
    """
    n, numbers = len(values), values.max() - values.min() + 1
    chance = np.log1p(-np.arange(1, n) / max(numbers, n)).sum()
    return bool(chance < np.log(NO_CHANCE))


def judge_words(words: pd.Series, share_of_numbers: float) -> tuple[str, str]:
    """Texts are categories if they are repeated and are not dates."""
    present = words.dropna()
    different = present.nunique()
    if sum(DATE.fullmatch(word) is not None for word in present.unique()) >= MOSTLY * different:
        return "", DATES
    if different == 1 and len(present) == len(words):
        return "", f"it is always {present.iloc[0]!r}"
    if different == len(present) and different > 2:
        return "", "every value is a different text, an identifier"
    if different > max(MANY_CATEGORIES, len(present) / 2):
        return "", f"it has {different} different texts in {len(words)} rows"
    remarks = []
    if share_of_numbers > 0:
        remarks.append("mixes numbers and words, used as categories")
    if different > MANY_CATEGORIES:
        kept = MANY_CATEGORIES - 1
        rows = int(present.value_counts().iloc[:kept].sum())
        remarks.append(
            f"has {different} categories; the {kept} most frequent ones are kept ({rows} of "
            f"{len(words)} rows), and all others become one category"
        )
    return CATEGORY, "; it ".join(remarks)


def prepare(
    frame: pd.DataFrame,
    kinds: Mapping[str, str],
    notes: Notes,
    formats: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.DataFrame:
    """The columns as the pipeline takes them: floats, and text with NaN where it is missing.

    ``formats`` says how known columns are written; see ``column_formats``.
    """
    prepared = {}
    for name, kind in kinds.items():
        if kind == CATEGORY:
            prepared[name] = as_text(frame[name])
        elif kind == TEXT:
            prepared[name] = as_text(frame[name]).fillna("").astype(object)
        elif kind == IMAGE:
            prepared |= pixel_columns(frame[name], Path(frame.attrs[FOLDER]), notes).items()
        else:
            numbers = as_numbers(frame[name], (formats or {}).get(name, {}).get("decimal_comma"))
            check_range(name, numbers.values)
            if numbers.words:
                what = "not numbers" if len(numbers.words) > 1 else "not a number"
                words = f"{listed(numbers.words)}, {what}"
                notes.add(f"column {name!r} has {words}: treated as missing")
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


def note_missing(
    missing: Mapping[str, int],
    kinds: Mapping[str, str],
    notes: Notes,
    never_missing: Collection[str] = (),
) -> None:
    """Report missing values, and how they are filled in.

    ``never_missing`` are columns of categories that had all their values in training.
    """
    remarks: dict[str, list[str]] = {}
    for name, n in missing.items():
        if name in never_missing:
            remark = "none were missing in training, so they count as no category"
        elif kinds[name] == NUMBER:
            remark = "filled in with the mean"
        else:
            remark = "they become a category"
        remarks.setdefault(remark, []).append(f"{n} in {name!r}")
    for remark, columns in sorted(remarks.items()):
        more = f" and in {count(len(columns) - SHOWN, 'other column')}" if columns[SHOWN:] else ""
        notes.add(f"missing values: {', '.join(columns[:SHOWN])}{more}; {remark}")


def pixel_names(column: str) -> list[str]:
    """Names of the columns of numbers that stand for a column of pictures."""
    return [f"{column} {place}" for place in range(SIDE**2)]


def pixel_columns(series: pd.Series, folder: Path, notes: Notes) -> pd.DataFrame:
    """Grey values from 0 to 1 of small copies; all 0 where there is no picture."""
    require("PIL", "label", f"column {series.name!r}")
    values = np.zeros((len(series), SIDE**2))
    missing, pictures = [], PictureFolder(folder)
    for place, name in enumerate(series):
        try:
            values[place] = small_copy(pictures.read(str(name)))
        except PictureError:
            missing.append(name)
    if missing:
        several = count(len(missing), "picture")
        notes.add(f"column {series.name!r}: {several} cannot be read: {listed(missing)}")
    return pd.DataFrame(values, columns=pixel_names(str(series.name)), index=series.index)
