"""The sections of an evaluation's page: how good predictions are, and what to do with them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.classifier.label_sets import left_out_sets
from bayespoint.reject import SCORES
from bayespoint.reports import figures
from bayespoint.reports.answers import of_class, score_interval
from bayespoint.reports.costs import at_thresholds
from bayespoint.reports.environment import describe_environment, environment_words
from bayespoint.reports.evaluation import Evaluation, Report, Selective
from bayespoint.reports.html import (
    NOTHING,
    Cell,
    amount,
    decimals,
    definitions,
    ends,
    in_percent,
    number,
    percent,
    quiet,
    short,
    table,
    text,
)
from bayespoint.reports.metrics import METRICS
from bayespoint.tools.numbers import TINY
from bayespoint.tools.pipelines import split_pipeline

MOST_CLASSES = 30  # in a confusion matrix, instead of the most frequent errors; with thresholds
N_MISTAKES = 20  # that are listed
FULL_SHADE = 0.45  # of the fullest cell of the confusion matrix: ink stays readable on it
COVERAGES = (0.8, 0.9, 0.95, 0.99)  # of label sets
RATES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # fractions rejected, in the table


def summary(report: Report) -> str:
    """Title, size of the test set, and the most important metrics."""
    evaluation = report.evaluation
    size = f"{evaluation.n:,} test rows".replace(",", "\u202f")
    weight = "" if evaluation.weight == evaluation.n else f" of total weight {evaluation.weight:g}"
    tiles = ""
    for name, (value, interval) in evaluation.metrics.items():
        baseline = evaluation.baseline[name]
        compared = "&nbsp;" if baseline is None else f"baseline {number(baseline)}"
        if METRICS[name].on_top:
            tiles += (
                f"<div><dt>{METRICS[name].title}</dt><dd>{number(value)}</dd>"
                f"<dd>{ends(interval) if interval else '&nbsp;'}</dd><dd>{compared}</dd></div>"
            )
    words = f"{size}{weight}, {len(evaluation.classes)} classes. Small numbers: 95 % intervals."
    return f'<h1>{text(report.title)}</h1>{quiet(words)}<dl class="tiles">{tiles}</dl>'


def numbers(report: Report) -> str:
    """All metrics, and a warning about classes without test rows."""
    evaluation = report.evaluation
    rows = []
    for name, (value, interval) in evaluation.metrics.items():
        measured = number(value), number(evaluation.baseline[name]), ends(interval)
        rows.append([METRICS[name].title, *measured, Cell(METRICS[name].words, "words")])
    heads = ["", "value", "baseline", "95 % interval", Cell("description", "words")]
    shown = table(heads, rows, kind="stacked", label="Metrics")
    largest = max(evaluation.per_class, key=lambda one: one.weight)
    shown += quiet(
        f"Baseline: always {short(largest.label)}, the largest class, with the class frequencies "
        "as probabilities."
    )
    absent = ", ".join(short(one.label) for one in evaluation.per_class if one.weight == 0)
    if absent:
        shown += (
            f'<p class="warning">There are no test rows of class {text(absent)}: the AUC is '
            "undefined, and balanced accuracy is the mean over the other classes.</p>"
        )
    return shown


def rejection(report: Report) -> str:
    """The gain from rejecting the least certain predictions."""
    evaluation = report.evaluation
    curve = evaluation.rejection
    errors = np.clip(curve.error_at(RATES), 0, 1)
    rows = []
    for rate, error in zip(RATES, errors.tolist(), strict=True):
        interval = score_interval(error, evaluation.weight * (1 - rate))
        rows.append([percent(rate, 0), percent(error), in_percent(interval)])
    drawn = figures.picture(
        figures.draw_rejection,
        evaluation,
        "Error on the accepted rows",
        f"against the fraction rejected, the least certain first, by "
        f"{SCORES[evaluation.rejection_score].words}. The area under the curve (AURC), its mean, "
        f"is {percent(curve.aurc)}.",
    )
    shown = table(["rejected", "error", "95 % interval"], rows, label="Error by rejection rate")
    return f'{refusals(evaluation.selective)}<div class="beside">{drawn}{shown}</div>'


def refusals(own: Selective | None) -> str:
    """The results of a classifier at its rejection threshold, and what it guarantees."""
    if own is None:
        return ""
    if own.accuracy is None:
        return "<p>This classifier rejects all rows at its own threshold.</p>"
    words = (
        f"<p>At its own threshold of {own.threshold:.4g} ({text(own.source)}), this classifier "
        f"rejects {percent(own.rejected)} of the rows and has an accuracy of "
        f"{percent(own.accuracy)} on the others ({in_percent(own.interval)}). All other numbers of "
        "this page are about all rows.</p>"
    )
    if own.guarantee is None:
        return words
    kept, error = own.guarantee, 1 - own.accuracy
    compared = "not more" if error <= kept.risk else "more"
    return (
        f"{words}<p>{kept.summary[0].upper()}{kept.summary[1:]} ({kept.details}). Observed here: "
        f"{percent(error)}, {compared} than guaranteed.</p>"
    )


def sets(report: Report) -> str:
    """Observed coverage and sizes of sets of labels."""
    machine = split_pipeline(report.evaluation.classifier).last
    if not isinstance(machine, BayesPointClassifier):
        return ""
    answers, rows = report.evaluation.answers, []
    for coverage in COVERAGES:
        try:
            found = left_out_sets(machine.model_, answers.probabilities, coverage)
        except ValueError:  # too few training rows for this coverage
            continue
        if found is None:
            return ""
        sizes = found.sum(axis=1)
        measured = of_class(found, answers.truth), sizes, sizes == 0, sizes == 1
        seen, mean, *shares = (float(answers.weight @ each) / answers.total for each in measured)
        interval = in_percent(score_interval(seen, answers.total))
        line = [percent(coverage, 0), percent(seen), interval, number(mean), *map(percent, shares)]
        rows.append(line)
    if not rows:
        return ""
    without = "group" if machine.model_.fact("n_groups") else "one"
    words = (
        f"Sets of the labels that cannot be ruled out, from leave-{without}-out predictions of the "
        "training rows. Observed: how many sets contain the true label. A row with an empty set "
        "is unlike the training rows of every class."
    )
    heads = ["wanted", "observed", "95 % interval", "mean size", "empty", "one label"]
    return quiet(words) + table(heads, rows, label="Coverage and sizes of label sets")


def calibration(report: Report) -> str:
    """Confidence against accuracy."""
    evaluation = report.evaluation
    rows = [
        [f"{low:.1f}–{high:.1f}", amount(weight), *map(number, means), ends(interval)]
        for low, high, weight, *means, interval in evaluation.answers.bins
        if weight > 0
    ]
    drawn = figures.picture(
        figures.draw_reliability,
        evaluation,
        "Accuracy against confidence",
        "above the number of rows in each bin. If the probabilities are calibrated, the "
        "accuracies lie on the diagonal.",
    )
    heads = ["confidence", "rows", "mean", "accuracy", "95 %\ninterval"]
    shown = table(heads, rows, label="Accuracy by confidence")
    return f'<div class="beside">{drawn}{shown}</div>'


def classes(report: Report) -> str:
    """Precision and recall of each class, and the confusion of classes."""
    evaluation, answers = report.evaluation, report.evaluation.answers
    rows = [
        [short(one.label), amount(one.weight), *map(number, (one.precision, one.recall, one.auc))]
        for one in evaluation.per_class
    ]
    heads = ["class", "rows", "precision", "recall", "AUC"]
    many = len(evaluation.classes) > MOST_CLASSES
    shown = table(heads, rows, label="Scores of each class") + "<h3>Confusion</h3>"
    shown += mistakes(evaluation) if many else matrix(evaluation)
    if answers.ranks is None:
        return shown
    points = np.bincount(answers.distance, answers.weight)
    rows = [[str(far), amount(n), percent(n / answers.total)] for far, n in enumerate(points)]
    by_distance = table(["distance", "rows", "share"], rows, label="Confusion by distance")
    return f"{shown}{quiet('Steps from the true to the predicted class.')}{by_distance}"


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
    shown = table(["true", "predicted", "rows"], rows, label="Most frequent errors")
    return quiet("The most frequent errors.") + shown


def matrix(evaluation: Evaluation) -> str:
    """Counts, shaded by their share of the true class; with what the classifier rejects."""
    own = evaluation.selective
    counts: Any = evaluation.confusion if own is None else own.confusion
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), TINY)
    names = [short(label) for label in evaluation.classes]
    rows = []
    for i, name in enumerate(names):
        kinds = ["hit" if i == j else "" if count else "quiet" for j, count in enumerate(counts[i])]
        shaded = zip(counts[i], kinds, FULL_SHADE * shares[i], strict=True)
        rows.append([name, *(Cell(amount(n), f"shaded {kind}", s) for n, kind, s in shaded)])
    heads = ["true", *names, *(["rejected"] if own is not None else [])]
    words = "Rows are true classes, columns are predicted ones. Shade: share of the true class."
    return quiet(words) + table(heads, rows, label="Confusion matrix")


def thresholds(report: Report) -> str:
    """ROC and precision-recall curves, and a table of thresholds for each class."""
    evaluation = report.evaluation
    names = [short(label) for label in evaluation.classes]
    words = (
        "A class is predicted wherever its probability reaches the threshold, and the best of the "
        "other classes elsewhere. Share of these predictions, precision, recall and false positive "
        f"rate are in %. {cost_words(evaluation)}"
    )
    shown = curves(evaluation) + quiet(words)
    if len(names) == 2:
        heading = f"<h3>Thresholds for predicting {text(names[1])}</h3>"
        return f"{shown}{heading}{threshold_table(evaluation, 1)}"
    return shown + "".join(
        f"<details><summary>Thresholds for {text(name)}</summary>{threshold_table(evaluation, of)}"
        "</details>"
        for of, name in enumerate(names[:MOST_CLASSES])
    )


def curves(evaluation: Evaluation) -> str:
    """Both figures, if there are rows of two classes."""
    weight, drawn = evaluation.answers.weight, figures.drawn_scores(evaluation)
    if not drawn:
        return "<p>There are test rows of one class only: the curves are undefined.</p>"
    several = len(evaluation.classes) > 2
    mean, guess = ("mean area", "") if several else ("area", " Dotted: the share of the class.")
    area = float(np.mean([evaluation.per_class[of].auc for of in drawn]))
    under = [average_precision_score(*one, sample_weight=weight) for one in drawn.values()]
    more = ""
    if several and len(drawn) < len(evaluation.classes):
        more = f" The {len(drawn)} most frequent classes are drawn, each against the rest."
    roc = figures.picture(
        figures.draw_roc,
        evaluation,
        "ROC curve",
        f"recall against the false positive rate, {mean} {number(area)}.{more}",
    )
    precision = figures.picture(
        figures.draw_precision_recall,
        evaluation,
        "Precision against recall",
        f"{mean} (average precision) {number(float(np.mean(under)))}.{guess}",
    )
    return f'<div class="figures">{roc}{precision}</div>'


def threshold_table(evaluation: Evaluation, of: int) -> str:
    """The results of thresholds for one class; the least cost is highlighted."""
    found = at_thresholds(evaluation.answers, of, evaluation.costs)
    least, digits = min(one.cost for one in found), decimals(one.cost for one in found)
    rows = [
        [
            f"{one.threshold:.2f}",
            *(NOTHING if share is None else f"{100 * share:.1f}" for share in one[1:-1]),
            Cell(f"{one.cost:.{digits}f}", "hit" if one.cost == least else ""),
        ]
        for one in found
    ]
    heads = ["from", "share", "precision", "recall", "false\npositives", "mean\ncost"]
    return table(heads, rows, label=f"Thresholds for {short(evaluation.classes[of])}")


def costs(report: Report) -> str:
    """The mean cost of decision rules."""
    evaluation = report.evaluation
    form = cost_form(evaluation)
    rows = [
        [way.words, format(way.cost, form), ends(way.interval, form)]
        for way in evaluation.expected_costs
    ]
    words = (
        f"{cost_words(evaluation)} Predictions of least expected cost weigh the costs by the "
        "probabilities of each row."
    )
    if not has_own_costs(evaluation):
        words += " To set other costs, use measure(..., costs=...), or --cost on the command line."
    heads = ["predictions", "mean cost", "95 % interval"]
    return quiet(words) + table(heads, rows, label="Mean costs")


def has_own_costs(evaluation: Evaluation) -> bool:
    """Whether costs were given."""
    return not np.array_equal(evaluation.costs, 1 - np.eye(len(evaluation.classes)))


def cost_words(evaluation: Evaluation) -> str:
    """The costs of errors."""
    if not has_own_costs(evaluation):
        return "Every error costs 1, so the mean cost is the error rate."
    names = [short(label) for label in evaluation.classes]
    pairs = [
        f"{names[i]} predicted as {names[j]}: {cost:g}"
        for (i, j), cost in np.ndenumerate(evaluation.costs)
        if cost != float(i != j)
    ]
    return f"Costs: {', '.join(pairs)}; other errors 1."


def cost_form(evaluation: Evaluation) -> str:
    """The format of mean costs, with as many digits after the point in all of them."""
    return f".{decimals(way.cost for way in evaluation.expected_costs)}f"


def model(report: Report) -> str:
    """Model, data and computer."""
    written = {"written": datetime.now(UTC).isoformat(timespec="seconds")}
    return (
        f"{definitions({**report.details, **report.evaluation.model})}"
        "<details><summary>Computer and versions</summary>"
        f"{definitions(written | environment_words(describe_environment()))}</details>"
    )
