"""Numbers as people write them: 1.234,5 and $12,345.67 and 45.3%."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
POINTS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")  # between thousands, beside decimal commas
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
PERCENT = re.compile(r"(.*\d)\s?%")
CURRENCY = re.compile(r"(-?)([$€£¥])\s?(-?\d.*)|(-?\d(?:.*\d)?)\s?([$€£¥])")
COMMAS_REMARK = "has decimal commas, read as points"
THOUSANDS_REMARK = "has commas between thousands, which are dropped"
CURRENCY_REMARK = "has currency signs, which are dropped"
PERCENT_REMARK = "has percent signs: 45% is read as 0.45"


class Numbers(NamedTuple):
    """A column as numbers, its values that are not numbers, and how it is written.

    ``decimal_comma`` is None where no value tells.
    """

    values: pd.Series
    words: list[str]
    decimal_comma: bool | None = None
    remarks: tuple[str, ...] = ()


def as_numbers(series: pd.Series, decimal_comma: bool | None = None) -> Numbers:
    """Numbers where a column has them; truth values count as 0 and 1.

    ``decimal_comma`` says what commas are if it is known, as for a column that a model was trained
    on. Else they stand between thousands if every number with a comma allows it, as 1,234 does and
    1,5 and 0,123 do not.
    """
    if types.is_numeric_dtype(series) or types.is_bool_dtype(series):
        return Numbers(series.astype(np.float64), [], decimal_comma)
    text = as_text(series)
    there, remarks = text.dropna(), []
    amounts = without_currency(there)
    if amounts is not None:
        there = amounts
        remarks.append(CURRENCY_REMARK)
    is_percent = there.map(lambda word: PERCENT.fullmatch(word) is not None).astype(bool)
    bare = there.where(~is_percent, there.str.rstrip("% "))
    if decimal_comma is None:
        decimal_comma = uses_decimal_comma(bare)
    if decimal_comma is not None:
        plain = bare.map(with_point if decimal_comma else without_thousands)
        if (plain != bare).any():
            remarks.append(COMMAS_REMARK if decimal_comma else THOUSANDS_REMARK)
        bare = plain
    truth = bare.str.lower().map({"true": "1", "false": "0"})  # as pandas reads it in CSV
    numbers = pd.to_numeric(truth.fillna(bare), errors="coerce").astype(np.float64)
    if (is_percent & numbers.notna()).any():
        numbers = numbers.where(~is_percent, numbers / 100)
        remarks.append(PERCENT_REMARK)
    values = numbers.reindex(text.index)
    words = list(dict.fromkeys(text[text.notna() & values.isna()]))
    return Numbers(values, words, decimal_comma, tuple(remarks))


def without_currency(words: pd.Series) -> pd.Series | None:
    """The same words, $5 as 5, in a column that has signs of one currency; else None."""
    found = words.map(CURRENCY.fullmatch)
    signs = {match[2] or match[5] for match in found.dropna()}
    if len(signs) != 1:  # none, or amounts that cannot be compared
        return None
    return words.where(found.isna(), found.map(lambda m: m and (m[4] or m[1] + m[3])))


def uses_decimal_comma(words: pd.Series) -> bool | None:
    """Whether commas are decimal: None without commas in numbers."""
    commas = [word for word in words.unique() if "," in word]
    decimal = [word for word in commas if DECIMAL_COMMA.fullmatch(word)]
    thousands = [word for word in commas if THOUSANDS.fullmatch(word)]
    found = decimal or thousands
    return any(not THOUSANDS.fullmatch(word) for word in decimal) if found else None


def with_point(word: str) -> str:
    """1.234,5 as 1234.5, in a column that has decimal commas."""
    is_number = DECIMAL_COMMA.fullmatch(word) or POINTS.fullmatch(word)
    return word.replace(".", "").replace(",", ".") if is_number else word


def without_thousands(word: str) -> str:
    """12,345.67 as 12345.67."""
    return word.replace(",", "") if THOUSANDS.fullmatch(word) else word


def as_text(series: pd.Series) -> pd.Series:
    """Values as text without spaces around it, NaN where there is none; whole numbers as such."""
    present = series.dropna()
    if types.is_float_dtype(present) and (present % 1 == 0).all():
        present = present.astype(np.int64) if (present.abs() < 2**53).all() else present
    words = present.astype(object).map(lambda value: str(value).strip())
    return words[words != ""].reindex(series.index).astype(object)
