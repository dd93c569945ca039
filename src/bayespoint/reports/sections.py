"""The sections of an evaluation's page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from bayespoint.reject import SCORES
from bayespoint.reports import examples, pictures
from bayespoint.reports.confusion import confusion
from bayespoint.reports.environment import describe_environment, environment_words
from bayespoint.reports.evaluation import Evaluation, Selective
from bayespoint.reports.formats import amount, ends, in_percent, number, percent
from bayespoint.reports.html import Cell, definitions, table, text
from bayespoint.reports.intervals import Interval, score_interval
from bayespoint.reports.metrics import METRICS, Measured, Metric

RATES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # fractions rejected, in the table


def summary(evaluation: Evaluation, title: str) -> str:
    """Title, size of the test set, and the numbers that matter most."""
    points = f"{evaluation.n:,} test points".replace(",", "\u202f")
    weight = "" if evaluation.weight == evaluation.n else f" of total weight {evaluation.weight:g}"
    tiles = "".join(
        f"<div><dt>{title_of(metric)}</dt><dd>{number(value)}</dd>"
        f"<dd>{ends(interval) if interval else '&nbsp;'}</dd>"
        f"<dd>baseline {number(evaluation.baseline[name])}</dd></div>"
        for name, metric, (value, interval) in measured(evaluation)
        if metric.on_top
    )
    return (
        f"<h1>{text(title)}</h1>"
        f'<p class="quiet">{points}{weight}, {len(evaluation.classes)} classes. Small numbers are '
        f'95\u00a0% intervals.</p><dl class="tiles">{tiles}</dl>'
    )


def numbers(evaluation: Evaluation) -> str:
    """All metrics."""
    rows: list[list[Any]] = [
        [
            title_of(metric), number(value), number(evaluation.baseline[name]), ends(interval),
            Cell(metric.words, "words"),
        ]
        for name, metric, (value, interval) in measured(evaluation)
    ]  # fmt: skip
    heads = ["", "value", "baseline", "95 % interval", Cell("what it is", "words")]
    shown = table(heads, rows, kind="stacked", label="Metrics")
    largest = max(evaluation.per_class, key=lambda one: one.weight)
    note = (
        f'<p class="quiet">Baseline: always {text(examples.short(largest.label))}, the largest '
        "class, with the shares of the classes as probabilities.</p>"
    )
    return f"<section><h2>Numbers</h2>{shown}{note}{absent(evaluation)}</section>"


def measured(evaluation: Evaluation) -> list[tuple[str, Metric, Measured]]:
    """All metrics with their values."""
    return [(name, METRICS[name], found) for name, found in evaluation.metrics.items()]


def title_of(metric: Metric) -> str:
    """The name of a metric, at the beginning of a line."""
    return f"{metric.name[0].upper()}{metric.name[1:]}"


def absent(evaluation: Evaluation) -> str:
    """Which classes have no test points, and the consequences."""
    labels = [one.label for one in evaluation.per_class if one.weight == 0]
    names = ", ".join(text(examples.short(label)) for label in labels)
    if not names:
        return ""
    return (
        f'<p class="warning">No test points of class {names}: there is no AUC, and balanced '
        "accuracy is about the other classes.</p>"
    )


def rejection(evaluation: Evaluation) -> str:
    """The gain from rejecting the least certain predictions."""
    curve = evaluation.rejection
    errors = np.clip(curve.error_at(RATES), 0, 1)
    rows = [
        [f"{100 * rate:.0f} %", percent(error), in_percent(rate_interval(evaluation, rate, error))]
        for rate, error in zip(RATES, errors, strict=True)
    ]
    score = SCORES[evaluation.rejection_score].words
    caption = (
        f"<strong>Error on the answers that are given</strong>, over the share of points that are "
        f"refused, the least sure first, by {text(score)}. The area under the curve, its mean, "
        f"is {percent(curve.aurc)}."
    )
    words = (
        f"Rejection curve: error {percent(errors[0])} with nothing rejected, "
        f"{percent(errors[4])} with {100 * RATES[4]:.0f} % rejected."
    )
    drawn = pictures.picture(pictures.draw_rejection, evaluation, words, caption)
    shown = table(["rejected", "error", "95 % interval"], rows, label="Error by rejection rate")
    return (
        f"<section><h2>Refusing to answer</h2>{refusals(evaluation)}"
        f'<div class="beside">{drawn}{shown}</div></section>'
    )


def rate_interval(evaluation: Evaluation, rate: float, error: float) -> Interval:
    """Of the error on the points that are left."""
    return score_interval(float(error), evaluation.weight * (1 - rate))


def refusals(evaluation: Evaluation) -> str:
    """The results of a classifier at its rejection threshold."""
    own = evaluation.selective
    if own is None:
        return ""
    if own.accuracy is None:
        return "<p>This classifier, with its own threshold, refuses all answers.</p>"
    return (
        f"<p>This classifier, with its own threshold of {own.threshold:.4g} ({text(own.source)}), "
        f"refuses {percent(own.rejected)} of the points and is right on {percent(own.accuracy)} of "
        f"the others ({in_percent(own.interval)}). All other numbers here are about all "
        f"points.</p>{promise(own)}"
    )


def promise(own: Selective) -> str:
    """What the threshold guarantees, and what was observed."""
    if own.guarantee is None or own.accuracy is None:
        return ""
    kept, error = own.guarantee, 1 - own.accuracy
    compared = "not more" if error <= kept.risk else "more"
    return (
        f"<p>{kept.summary[0].upper()}{kept.summary[1:]} ({kept.details}). Observed here: "
        f"{percent(error)}, {compared} than that.</p>"
    )


def calibration(evaluation: Evaluation) -> str:
    """Whether confidence equals accuracy."""
    filled = [one for one in evaluation.answers.bins if one.weight > 0]
    rows = [
        [
            f"{one.low:.1f}–{one.high:.1f}",
            amount(one.weight),
            number(one.confidence),
            number(one.accuracy),
            ends(one.interval),
        ]
        for one in filled
    ]
    caption = (
        "<strong>Right answers over confidence</strong>, above how many points there are of each. "
        "Where probabilities are true, the points lie on the diagonal."
    )
    words = (
        f"Reliability diagram: expected calibration error "
        f"{number(evaluation.metrics['calibration_error'].value)} over {len(filled)} bins with "
        "points."
    )
    drawn = pictures.picture(pictures.draw_reliability, evaluation, words, caption)
    heads = ["confidence", "points", "mean", "right", "95 % interval"]
    shown = table(heads, rows, label="Accuracy by confidence")
    return f'<section><h2>Calibration</h2><div class="beside">{drawn}{shown}</div></section>'


def classes(evaluation: Evaluation) -> str:
    """Precision and recall of each class, and the confusion of classes."""
    rows = [
        [
            examples.short(one.label),
            amount(one.weight),
            number(one.precision),
            number(one.recall),
            number(one.auc),
        ]
        for one in evaluation.per_class
    ]
    heads = ["class", "points", "precision", "recall", "AUC"]
    return (
        f"<section><h2>Classes</h2>{table(heads, rows, label='Scores of each class')}"
        f"<h3>Confusion</h3>{confusion(evaluation)}</section>"
    )


def single_points(
    evaluation: Evaluation, rows: Any, image_shape: tuple[int, int] | str | None, n: int
) -> str:
    """Uncertain and wrong predictions."""
    shape = examples.picture_shape(rows, image_shape)
    kinds = {
        "Most uncertain": examples.most_uncertain(evaluation, n),
        "Most confidently wrong": examples.most_confidently_wrong(evaluation, n),
    }
    shown = ""
    for name, chosen in kinds.items():
        shown += f"<h3>{name}</h3>"
        if not len(chosen):
            shown += "<p>None: all answers are right.</p>"
        elif shape is None:
            shown += examples.listing(evaluation, chosen, rows, name)
        else:
            shown += examples.gallery(evaluation, chosen, rows, shape)
    note = f'<p class="quiet">{text(examples.numbering(rows))}</p>'
    return f"<section><h2>Examples</h2>{note}{shown}</section>"


def about(evaluation: Evaluation, details: Mapping[str, Any]) -> str:
    """Model, data and computer."""
    written = {"written": datetime.now(UTC).isoformat(timespec="seconds")}
    return (
        f"<section><h2>Model</h2>{definitions({**details, **evaluation.model})}"
        f"<details><summary>Computer and versions</summary>"
        f"{definitions(written | environment_words(describe_environment()))}</details></section>"
    )
