"""Sections of the report about single test rows, as images or as a table."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from bayespoint.active import SuspectLabels
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.reports import html
from bayespoint.reports.answers import of_class
from bayespoint.reports.evaluation import Evaluation, Report
from bayespoint.reports.explanation import column_names, explain
from bayespoint.tools.pipelines import split_pipeline
from bayespoint.tools.validation import is_missing

SMALLEST_SIDE = 8  # pixels; smaller squares of numbers are not taken for images
SMOOTHNESS = 0.7  # neighbours differ at most so much, relative to pixels anywhere in the picture
N_LOOKED_AT = 200  # rows, to tell whether rows are pictures
N_COLUMNS = 30  # of a row, that a table shows
LARGE = 1e9  # numbers from here on are shown as powers of ten

Shape = tuple[int, int]


def examples(report: Report) -> str:
    """The most uncertain and the most confidently wrong predictions."""
    evaluation, rows = report.evaluation, report.rows
    shape = picture_shape(rows, report.image_shape)
    kinds = {
        "Most uncertain": most_uncertain(evaluation, report.n_examples),
        "Most confidently wrong": most_confidently_wrong(evaluation, report.n_examples),
    }
    shown = html.quiet(numbering(rows))
    for name, chosen in kinds.items():
        shown += f"<h3>{name}</h3>"
        if not len(chosen):
            shown += "<p>None: all predictions are correct.</p>"
        elif shape is None:
            shown += listing(evaluation, chosen, rows, name)
        else:
            shown += gallery(evaluation, chosen, rows, shape)
    return shown


def explanations(report: Report) -> str:
    """The least certain predictions, explained."""
    evaluation = report.evaluation
    if not isinstance(split_pipeline(evaluation.classifier).last, BayesPointClassifier):
        return ""
    told = explain(evaluation.classifier, evaluation.uncertain)
    places = evaluation.positions[most_uncertain(evaluation, len(told))].tolist()
    words = (
        "The least certain predictions. The interval has 90 % of the posterior. The number before "
        "a column is what its value adds to the log-odds of the label, compared with a typical one."
    )
    if any(one.voices for one in told):
        words += " Rows for and against: training rows, from 0, and what they add to the output."
    return html.quiet(words) + "".join(
        f"<h3>Row {html.text(row_name(report.rows, place))}</h3><pre>{html.text(one)}</pre>"
        for place, one in zip(places, told, strict=True)
    )


def suspects(report: Report) -> str:
    """Labels of test rows that are probably wrong."""
    evaluation = report.evaluation
    found = SuspectLabels.of(evaluation.answers.probabilities, evaluation.answers.truth)
    chosen = found.order[found.is_suspect[found.order]].tolist()
    if not chosen:
        return ""
    rows = []
    for one in chosen[: report.n_examples]:
        place, label, *_ = answer(evaluation, one)
        suggested = html.short(evaluation.classes[found.suggested[one]])
        numbers = html.number(found.probability[one]), html.number(found.own[one])
        evidence = f"{found.score[one]:.1f}"
        rows.append([row_name(report.rows, place), label, suggested, *numbers, evidence])
    words = (
        f"Labels that are more probably wrong than right: check them ({len(chosen)} in all). "
        "Evidence: the logarithm of the ratio of the probabilities of the suggested and the given "
        f"label. {numbering(report.rows)}"
    )
    heads = ["row", "label", "suggested", "p wrong", "p of label", "evidence"]
    return html.quiet(words) + html.table(heads, rows, label="Suspect labels")


def most_uncertain(evaluation: Evaluation, n: int) -> NDArray[np.intp]:
    """The n predictions of least confidence, the least first."""
    return np.argsort(evaluation.answers.confidence, kind="stable")[:n]


def most_confidently_wrong(evaluation: Evaluation, n: int) -> NDArray[np.intp]:
    """The n wrong predictions of largest confidence, the largest first.

    Of equally confident ones, the one with the less probable true class comes first.
    """
    answers = evaluation.answers
    wrong = np.flatnonzero(~answers.right)
    truth = of_class(answers.probabilities, answers.truth)
    return wrong[np.lexsort([truth[wrong], -answers.confidence[wrong]])][:n]


def gallery(evaluation: Evaluation, chosen: NDArray, rows: Any, shape: Shape) -> str:
    """The chosen rows as pictures."""
    items = []
    for one in chosen:
        place, true, predicted, sure = answer(evaluation, one)
        row = row_name(rows, place)
        pixels = np.array(row_values(rows, place), dtype=np.float64).reshape(shape)
        image = html.data_address("png", grey_png(pixels))
        label = f"row {row}: true {true}, predicted {predicted} with {sure}"
        items.append(
            f'<li><img src="{image}" alt="{html.text(label)}">'
            f"<span>true <b>{html.text(true)}</b></span> "
            f"<span>predicted <b>{html.text(predicted)}</b></span> "
            f'<span class="quiet">{sure}, row {html.text(row)}</span></li>'
        )
    return f'<ul class="gallery">{"".join(items)}</ul>'


def listing(evaluation: Evaluation, chosen: NDArray, rows: Any, label: str) -> str:
    """The chosen rows as a table, with their columns where these are known."""
    names = column_names(rows)
    heads = ["row", "true", "predicted", "probability", *names[:N_COLUMNS]]
    found = [answer(evaluation, one) for one in chosen]
    values = [row_values(rows, place)[:N_COLUMNS] for place, *_ in found]
    cells = zip(*map(even, zip(*values, strict=True)), strict=True) if names else [()] * len(found)
    lines = [
        [row_name(rows, place), *others, *shown]
        for (place, *others), shown in zip(found, cells, strict=True)
    ]
    left_out = len(names) - N_COLUMNS
    note = html.quiet(f"{left_out} more columns are not shown.") if left_out > 0 else ""
    return html.table(heads, lines, label=label) + note


def even(values: Sequence[Any]) -> list[str]:
    """The cells of a column: numbers with equally many digits after the point, and no zeros."""
    numbers = [one for one in values if isinstance(one, float) and abs(one) < LARGE]
    digits = html.decimals(numbers, 4)
    while digits and all(round(one, digits - 1) == round(one, digits) for one in numbers):
        digits -= 1
    return [
        html.NOTHING if is_missing(x) else f"{x:.{digits}f}" if x in numbers else html.short(x)
        for x in values
    ]


def answer(evaluation: Evaluation, one: int) -> tuple[int, str, str, str]:
    """Row, true label, predicted label, and the probability of the latter."""
    answers = evaluation.answers
    labels = (evaluation.classes[index[one]] for index in (answers.truth, answers.predicted))
    true, predicted = map(html.short, labels)
    return int(evaluation.positions[one]), true, predicted, f"{answers.confidence[one]:.3f}"


def row_name(rows: Any, place: int) -> str:
    """The label of a row in the index of a data frame, or its place, from 0."""
    return html.short(rows.index[place]) if hasattr(rows, "iloc") else str(place)


def numbering(rows: Any) -> str:
    """What the row numbers mean."""
    if not hasattr(rows, "iloc"):
        return "Rows of the test set are counted from 0."
    return f"Row numbers are {rows.index.name or 'the index of the data frame'}."


def row_values(rows: Any, position: int) -> list[Any]:
    """The values of one row, be it one value or several."""
    if rows is None:
        return []
    if issparse(rows):
        return rows[[position]].toarray()[0].tolist()
    row = rows.iloc[position] if hasattr(rows, "iloc") else rows[position]
    return np.asarray(row, dtype=object).ravel().tolist()


def picture_shape(rows: Any, image_shape: Shape | str | None) -> Shape | None:
    """Height and width of the pictures that rows are; None if they are shown as numbers.

    "auto" takes rows for pictures if they are squares of at least 8 by 8 numbers, all between 0 and
    1 or all integers from 0 to 255, of which neighbours are alike.
    """
    if rows is None or image_shape is None or issparse(rows):
        return None
    some = np.asarray(rows[:N_LOOKED_AT])
    n_columns = some.shape[1] if some.ndim == 2 else 1
    if image_shape == "auto":
        side = isqrt(n_columns)
        is_square = side >= SMALLEST_SIDE and side**2 == n_columns
        return (side, side) if is_square and look_like_pictures(some, side) else None
    if isinstance(image_shape, str) or len(image_shape) != 2 or np.prod(image_shape) != n_columns:
        raise ValueError(
            "The 'image_shape' parameter of write_evaluation must be 'auto', None, or a tuple of "
            f"two ints whose product is the number of columns, {n_columns}. Got {image_shape!r} "
            "instead."
        )
    return image_shape


def look_like_pictures(rows: NDArray, side: int) -> bool:
    """Whether rows are squares of grey values."""
    if rows.dtype.kind not in "iuf" or not np.isfinite(rows).all():
        return False
    grey = rows.astype(np.float64)
    if grey.min() < 0 or grey.max() > 255 or (grey.max() > 1 and (grey % 1 != 0).any()):
        return False
    squares = grey.reshape(-1, side, side)
    # Mean squared difference of neighbours, and of two pixels anywhere in the same picture.
    near = [np.square(np.diff(squares, axis=axis)).mean() for axis in (1, 2)]
    anywhere = 2 * squares.var(axis=(1, 2)).mean()
    return bool(np.mean(near) < SMOOTHNESS * anywhere)


def grey_png(values: NDArray[np.float64]) -> bytes:
    """A picture from its smallest value, black, to its largest, white."""
    from matplotlib.image import imsave

    content = BytesIO()
    imsave(content, values, cmap="gray", format="png")
    return content.getvalue()
