"""Sections of the report about features and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayespoint.reports.drift import Shift
from bayespoint.reports.evaluation import Report
from bayespoint.reports.features import Features
from bayespoint.reports.html import Cell, decimals, percent, quiet, short, table, text
from bayespoint.tools.numbers import TINY

N_FEATURES = 20  # in the table
N_COLUMNS = 10  # in the table of differences, unless more are worth a remark
MOST_CLASSES = 6  # with a column of weights each
FULL_SHADE = 0.45  # of the most relevant feature


def features(report: Report) -> str:
    """Relevance of features, and their weights for each class."""
    found = report.evaluation.features
    if found is None:
        return ""
    heads, words, relevance = ["feature"], [], found.relevance
    if relevance is not None:
        heads.append("relevance")
        words.append("Relevance: the share of a feature in the squared slopes of the Bayes point.")
    if found.weights is not None:
        words.append(
            "Weights are those of the features as the classifier gets them, with 95 % intervals "
            "of the posterior. If an interval contains 0, the sign of the weight is uncertain."
        )
    has_columns = found.weights is not None and len(found.classes) <= MOST_CLASSES
    tasks = range(len(found.classes) if has_columns else 0)
    heads += [f"weight for {short(found.classes[task])}" for task in tasks]
    digits = 0 if found.weights is None else decimals(found.weights.ravel())
    rows = []
    for j in found.order[:N_FEATURES]:
        cells: list[Any] = [short(found.names[j])]
        if relevance is not None:
            shade = FULL_SHADE * relevance[j] / max(relevance.max(), TINY)
            cells.append(Cell(percent(relevance[j], 1), "shaded", shade))
        rows.append([*cells, *(weight_words(found, task, j, digits) for task in tasks)])
    more = len(found.names) - N_FEATURES
    note = quiet(f"{more} more features are not shown.") if more > 0 else ""
    return quiet(" ".join(words)) + table(heads, rows, label="Features") + note


def weight_words(found: Features, task: int, j: int, digits: int) -> str:
    """A weight and its interval; one far smaller than the others has digits of its own."""
    parts = [one[task, j] for one in (found.weights, found.low, found.high) if one is not None]
    form = f".{digits}f" if decimals(parts) <= digits + 2 else ".2e"
    weight, *ends = [format(part, form) for part in parts]
    return f"{weight} ({' to '.join(ends)})" if ends else weight


def columns(report: Report) -> str:
    """How the columns were prepared, and how their values differ from the training data."""
    done = "".join(f"<li>{text(sentence)}</li>" for sentence in report.preparation)
    done = f"<h3>Preparation</h3><ul>{done}</ul>" if done else ""
    return drift(report.shifts) + done


def drift(shifts: Sequence[Shift]) -> str:
    """Columns in the training data and in the test set."""
    if not shifts:
        return ""
    heads: list[Any] = ["column", "difference", "used as", Cell("in training → here", "words")]
    rows = []
    for one in shifts:
        distance = Cell(percent(one.distance, 0), "worse" if one.is_shifted else "")
        words = Cell(f"{one.before} → {one.now}", "words")
        rows.append([short(one.column), distance, one.kind, words])
    far = [short(one.column) for one in shifts if one.is_shifted]
    verdict = (
        f'<p class="warning">Different from the training data: {text(", ".join(far))}. The model '
        "may be less accurate here.</p>"
        if far
        else "<p>No column differs significantly from the training data.</p>"
    )
    remarks = (
        "Difference: the share of the rows that would have to change for the values to be "
        "distributed as in the training data, over deciles or categories. With few rows, some "
        "of it is chance."
    )
    first = max(N_COLUMNS, len(far))
    shown = table(heads, rows[:first], kind="stacked", label="Columns in training and here")
    if rows[first:]:
        rest = table(heads, rows[first:], kind="stacked", label="Columns that differ less")
        shown += f"<details><summary>{len(rows) - first} more</summary>{rest}</details>"
    return f"{verdict}{quiet(remarks)}{shown}"
