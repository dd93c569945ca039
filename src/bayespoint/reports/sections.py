"""The sections of an evaluation's page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from bayespoint.reject import SCORES
from bayespoint.reports import figures
from bayespoint.reports.answers import Answers
from bayespoint.reports.environment import describe_environment, environment_words
from bayespoint.reports.evaluation import Evaluation, Report, Selective
from bayespoint.reports.examples import short, single_points
from bayespoint.reports.html import (
    Cell,
    amount,
    definitions,
    ends,
    in_percent,
    number,
    percent,
    table,
    text,
)
from bayespoint.reports.intervals import score_interval
from bayespoint.reports.metrics import METRICS, Measured, Metric

MOST_CLASSES = 30  # in a confusion matrix; for more, the most frequent errors are listed
N_MISTAKES = 20  # that are listed
FULL_SHADE = 0.45  # of the fullest cell of the confusion matrix: ink stays readable on it
RATES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # fractions rejected, in the table


def summary(report: Report) -> str:
    """Title, size of the test set, and the most important metrics."""
    evaluation = report.evaluation
    points = f"{evaluation.n:,} test points".replace(",", "\u202f")
    weight = "" if evaluation.weight == evaluation.n else f" of total weight {evaluation.weight:g}"
    tiles = "".join(
        f"<div><dt>{title_of(metric)}</dt><dd>{number(value)}</dd>"
        f"<dd>{ends(interval) if interval else '&nbsp;'}</dd>"
        f"<dd>{baseline_words(evaluation.baseline[name])}</dd></div>"
        for name, metric, (value, interval) in measured(evaluation)
        if metric.on_top
    )
    return (
        f"<h1>{text(report.title)}</h1>"
        f'<p class="quiet">{points}{weight}, {len(evaluation.classes)} classes. Small numbers are '
        f'95\u00a0% intervals.</p><dl class="tiles">{tiles}</dl>'
    )


def baseline_words(value: float | None) -> str:
    """The baseline of a metric, in a tile."""
    return "&nbsp;" if value is None else f"baseline {number(value)}"


def numbers(report: Report) -> str:
    """All metrics."""
    evaluation = report.evaluation
    rows: list[list[Any]] = [
        [
            title_of(metric), number(value), number(evaluation.baseline[name]), ends(interval),
            Cell(metric.words, "words"),
        ]
        for name, metric, (value, interval) in measured(evaluation)
    ]  # fmt: skip
    heads = ["", "value", "baseline", "95 % interval", Cell("description", "words")]
    shown = table(heads, rows, kind="stacked", label="Metrics")
    largest = max(evaluation.per_class, key=lambda one: one.weight)
    note = (
        f'<p class="quiet">Baseline: always {text(short(largest.label))}, the largest '
        "class, with the class frequencies as probabilities.</p>"
    )
    return f"{shown}{note}{absent(evaluation)}"


def measured(evaluation: Evaluation) -> list[tuple[str, Metric, Measured]]:
    """All metrics with their values."""
    return [(name, METRICS[name], found) for name, found in evaluation.metrics.items()]


def title_of(metric: Metric) -> str:
    """The name of a metric, at the beginning of a line."""
    return f"{metric.name[0].upper()}{metric.name[1:]}"


def absent(evaluation: Evaluation) -> str:
    """A warning about classes without test points."""
    labels = [one.label for one in evaluation.per_class if one.weight == 0]
    names = ", ".join(text(short(label)) for label in labels)
    if not names:
        return ""
    return (
        f'<p class="warning">There are no test points of class {names}: the AUC is undefined, and '
        "balanced accuracy is the mean over the other classes.</p>"
    )


def rejection(report: Report) -> str:
    """The gain from rejecting the least certain predictions."""
    evaluation = report.evaluation
    curve = evaluation.rejection
    errors = np.clip(curve.error_at(RATES), 0, 1)
    rows = []
    for rate, error in zip(RATES, errors.tolist(), strict=True):
        interval = score_interval(error, evaluation.weight * (1 - rate))
        rows.append([f"{100 * rate:.0f} %", percent(error), in_percent(interval)])
    score = SCORES[evaluation.rejection_score].words
    caption = (
        f"<strong>Error on the accepted points</strong> against the fraction rejected, the least "
        f"certain first, by {text(score)}. The area under the curve (AURC), its mean, is "
        f"{percent(curve.aurc)}."
    )
    words = (
        f"Rejection curve: error {percent(errors[0])} with nothing rejected, "
        f"{percent(errors[4])} with {100 * RATES[4]:.0f} % rejected."
    )
    drawn = figures.picture(figures.draw_rejection, evaluation, words, caption)
    shown = table(["rejected", "error", "95 % interval"], rows, label="Error by rejection rate")
    return f'{refusals(evaluation.selective)}<div class="beside">{drawn}{shown}</div>'


def refusals(own: Selective | None) -> str:
    """The results of a classifier at its rejection threshold."""
    if own is None:
        return ""
    if own.accuracy is None:
        return "<p>This classifier rejects all points at its own threshold.</p>"
    return (
        f"<p>At its own threshold of {own.threshold:.4g} ({text(own.source)}), this classifier "
        f"rejects {percent(own.rejected)} of the points and has an accuracy of "
        f"{percent(own.accuracy)} on the others ({in_percent(own.interval)}). All other numbers of "
        f"this page are about all points.</p>{promise(own)}"
    )


def promise(own: Selective) -> str:
    """The guaranteed and the observed error."""
    if own.guarantee is None or own.accuracy is None:
        return ""
    kept, error = own.guarantee, 1 - own.accuracy
    compared = "not more" if error <= kept.risk else "more"
    return (
        f"<p>{kept.summary[0].upper()}{kept.summary[1:]} ({kept.details}). Observed here: "
        f"{percent(error)}, {compared} than guaranteed.</p>"
    )


def calibration(report: Report) -> str:
    """Confidence against accuracy."""
    evaluation = report.evaluation
    filled = [one for one in evaluation.answers.bins if one.weight > 0]
    rows = [
        [
            f"{one.low:.1f}–{one.high:.1f}", amount(one.weight), number(one.confidence),
            number(one.accuracy), ends(one.interval),
        ]
        for one in filled
    ]  # fmt: skip
    caption = (
        "<strong>Accuracy against confidence</strong>, above the number of points in each bin. "
        "If the probabilities are calibrated, the accuracies lie on the diagonal."
    )
    words = (
        f"Reliability diagram: expected calibration error "
        f"{number(evaluation.metrics['calibration_error'].value)} over {len(filled)} bins with "
        "points."
    )
    drawn = figures.picture(figures.draw_reliability, evaluation, words, caption)
    heads = ["confidence", "points", "mean", "accuracy", "95 %\ninterval"]
    shown = table(heads, rows, label="Accuracy by confidence")
    return f'<div class="beside">{drawn}{shown}</div>'


def classes(report: Report) -> str:
    """Precision and recall of each class, and the confusion of classes."""
    rows = [
        [short(one.label), amount(one.weight), *map(number, (one.precision, one.recall, one.auc))]
        for one in report.evaluation.per_class
    ]
    heads = ["class", "points", "precision", "recall", "AUC"]
    scores = table(heads, rows, label="Scores of each class")
    shown = f"{confusion(report.evaluation)}{distances(report.evaluation.answers)}"
    return f"{scores}<h3>Confusion</h3>{shown}"


def distances(answers: Answers) -> str:
    """How many predictions of ordered classes are how far from the true ones."""
    if answers.ranks is None:
        return ""
    points = np.bincount(answers.distance, answers.weight)
    rows = [[str(far), amount(n), percent(n / answers.total)] for far, n in enumerate(points)]
    shown = table(["distance", "points", "share"], rows, label="Confusion by distance")
    return f'<p class="quiet">Steps from the true to the predicted class.</p>{shown}'


def confusion(evaluation: Evaluation) -> str:
    """The confusion matrix, or the most frequent errors if there are too many classes."""
    if len(evaluation.classes) > MOST_CLASSES:
        return mistakes(evaluation)
    return (
        '<p class="quiet">Rows are true classes, columns are predicted ones. Shade: share of the '
        f"true class.</p>{matrix(evaluation)}"
    )


def mistakes(evaluation: Evaluation) -> str:
    """The most frequent errors."""
    wrong = evaluation.confusion - np.diag(np.diag(evaluation.confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:N_MISTAKES]
    names = [short(label) for label in evaluation.classes]
    rows = [
        [names[i], names[j], amount(wrong[i, j])]
        for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
        if wrong[i, j] > 0
    ]
    if not rows:
        return "<p>None: all predictions are correct.</p>"
    shown = table(["true", "predicted", "points"], rows, label="Most frequent errors")
    return f'<p class="quiet">The most frequent errors.</p>{shown}'


def matrix(evaluation: Evaluation) -> str:
    """Counts, shaded by their share of the true class; with what the classifier rejects."""
    own = evaluation.selective
    counts: Any = evaluation.confusion if own is None else own.confusion
    sizes = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(sizes > 0, sizes, 1)
    names = [short(label) for label in evaluation.classes]
    rows = []
    for i, name in enumerate(names):
        row: list[Any] = [name]
        for j, count in enumerate(counts[i]):
            kind = "hit" if i == j else ("" if count else "quiet")
            row.append(Cell(amount(count), f"shaded {kind}".strip(), FULL_SHADE * shares[i, j]))
        rows.append(row)
    heads = ["true", *names, *(["rejected"] if own is not None else [])]
    return table(heads, rows, label="Confusion matrix")


def examples(report: Report) -> str:
    """Uncertain and wrong predictions."""
    return single_points(report.evaluation, report.rows, report.image_shape, report.n_examples)


def model(report: Report) -> str:
    """Model, data and computer."""
    written = {"written": datetime.now(UTC).isoformat(timespec="seconds")}
    return (
        f"{definitions({**report.details, **report.evaluation.model})}"
        "<details><summary>Computer and versions</summary>"
        f"{definitions(written | environment_words(describe_environment()))}</details>"
    )
