"""Sections of the report about features and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayespoint.reports import figures
from bayespoint.reports.drift import Shift
from bayespoint.reports.evaluation import Evaluation, Report
from bayespoint.reports.examples import short
from bayespoint.reports.features import Features
from bayespoint.reports.html import NOTHING, Cell, decimals, percent, table, text

N_FEATURES = 20  # in the table
N_COLUMNS = 10  # in the table of differences, unless more are worth a remark
MOST_CLASSES = 6  # with a column of weights each
FULL_SHADE = 0.45  # of the most relevant feature


def features(report: Report) -> str:
    """Relevance and weights of features."""
    found = report.evaluation.features
    if found is None:
        return ""
    shown = feature_table(found)
    more = len(found.names) - N_FEATURES
    note = f'<p class="quiet">{more} more features are not shown.</p>' if more > 0 else ""
    words = "Relevance: the share of a feature in the squared slopes of the Bayes point."
    if found.weights is not None:
        words += (
            " Weights are those of the features as the classifier gets them, with 95 % intervals "
            "of the posterior. If an interval contains 0, the sign of the weight is uncertain."
        )
    if found.weights is not None and len(found.classes) == 1:
        shown = f'<div class="beside">{weights_picture(report.evaluation, found)}{shown}</div>'
    return f'<p class="quiet">{words}</p>{shown}{note}'


def weights_picture(evaluation: Evaluation, found: Features) -> str:
    """Weights with their intervals."""
    first = found.names[found.order[0]]
    alternative = f"Weights of the most relevant features with 95 % intervals, first {first}."
    caption = "<strong>Weights of the most relevant features</strong>, with 95 % intervals."
    return figures.picture(figures.draw_weights, evaluation, alternative, caption)


def feature_table(found: Features) -> str:
    """Relevance, and the weights for each class."""
    classes = found.classes if found.weights is not None else []
    classes = classes if len(classes) <= MOST_CLASSES else []
    heads = ["feature", "relevance", *(f"weight for {short(label)}" for label in classes)]
    largest = 1.0 if found.relevance is None else max(float(found.relevance.max()), 1e-12)
    digits = 0 if found.weights is None else decimals(found.weights.ravel())
    rows = []
    for j in found.order[:N_FEATURES]:
        relevance = None if found.relevance is None else float(found.relevance[j])
        shown = NOTHING if relevance is None else percent(relevance, 1)
        shade = None if relevance is None else FULL_SHADE * relevance / largest
        cells = [weight_words(found, task, j, digits) for task in range(len(classes))]
        rows.append([short(found.names[j]), Cell(shown, "shaded", shade), *cells])
    return table(heads, rows, label="Features")


def weight_words(found: Features, task: int, j: int, digits: int) -> str:
    """A weight and its interval."""
    if found.weights is None:
        return NOTHING
    weight = f"{found.weights[task, j]:.{digits}f}"
    if found.low is None or found.high is None:
        return weight
    return f"{weight} ({found.low[task, j]:.{digits}f} to {found.high[task, j]:.{digits}f})"


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
    rows = [
        [
            short(one.column),
            Cell(percent(one.distance, 0), "worse" if one.is_shifted else ""),
            one.kind,
            Cell(f"{one.before} → {one.now}", "words"),
        ]
        for one in shifts
    ]
    far = [short(one.column) for one in shifts if one.is_shifted]
    verdict = (
        f'<p class="warning">Different from the training data: {text(", ".join(far))}. The model '
        "may be less accurate here.</p>"
        if far
        else "<p>No column differs significantly from the training data.</p>"
    )
    words = (
        "Difference: the share of the rows that would have to change for the values to be "
        "distributed as in the training data, over deciles or categories. With few rows, some "
        "of it is chance."
    )
    first = max(N_COLUMNS, len(far))
    shown = table(heads, rows[:first], kind="stacked", label="Columns in training and here")
    if rows[first:]:
        rest = table(heads, rows[first:], kind="stacked", label="Columns that differ less")
        shown += f"<details><summary>{len(rows) - first} more</summary>{rest}</details>"
    return f'{verdict}<p class="quiet">{words}</p>{shown}'
