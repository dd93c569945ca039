"""Sections of the report about thresholds and costs."""

from __future__ import annotations

import numpy as np

from bayespoint.reports import figures
from bayespoint.reports.costs import Threshold, at_thresholds
from bayespoint.reports.evaluation import Evaluation, Report
from bayespoint.reports.examples import short
from bayespoint.reports.html import NOTHING, Cell, decimals, ends, number, table, text

MOST_CLASSES = 30  # with a table of thresholds each


def thresholds(report: Report) -> str:
    """ROC and precision-recall curves, and the results of thresholds."""
    return curves(report.evaluation) + threshold_tables(report.evaluation)


def shown_classes(evaluation: Evaluation) -> list[int]:
    """The classes that have a threshold: the second of two, or all of several."""
    return [1] if len(evaluation.classes) == 2 else list(range(len(evaluation.classes)))


def curves(evaluation: Evaluation) -> str:
    """Both figures, if there are points of two classes."""
    drawn = figures.drawn_curves(evaluation)
    if not drawn:
        return "<p>There are test points of one class only: the curves are undefined.</p>"
    several = len(evaluation.classes) > 2
    mean = "Mean area" if several else "Area"
    areas = [auc for of in drawn if (auc := evaluation.per_class[of].auc) is not None]
    area = f"{mean}: {number(float(np.mean(areas)))}."
    mean = "Mean of the average precisions" if several else "Average precision"
    precisions = [one.average_precision for one in drawn.values()]
    average = f"{mean}: {number(float(np.mean(precisions)))}."
    left_out = len(shown_classes(evaluation)) - len(drawn)
    more = f" The {len(drawn)} most frequent classes are drawn." if left_out else ""
    against = " of each class against the rest" if several else ""
    guess = "" if several else " Dotted: the precision of guessing, the share of the class."
    roc = figures.picture(
        figures.draw_roc, evaluation, f"ROC curves. {area}",
        f"<strong>ROC curve{against}</strong>: recall against the false positive rate. "
        f"{area}{more}",
    )  # fmt: skip
    precision = figures.picture(
        figures.draw_precision_recall, evaluation, f"Precision-recall curves. {average}",
        f"<strong>Precision against recall</strong>. {average}{guess}",
    )  # fmt: skip
    return f'<div class="figures">{roc}{precision}</div>'


def threshold_tables(evaluation: Evaluation) -> str:
    """One table for two classes, and a folded one for each of several."""
    shown = shown_classes(evaluation)[:MOST_CLASSES]
    words = (
        "A class is predicted wherever its probability reaches the threshold, and the best of the "
        "other classes elsewhere. Share of these predictions, precision, recall and false positive "
        "rate are in %."
    )
    parts = []
    for of in shown:
        label = short(evaluation.classes[of])
        one = threshold_table(evaluation, of, label)
        if len(shown) == 1:
            parts.append(f"<h3>Thresholds for predicting {text(label)}</h3>{one}")
        else:
            parts.append(f"<details><summary>Thresholds for {text(label)}</summary>{one}</details>")
    return f'<p class="quiet">{words} {text(cost_words(evaluation))}</p>{"".join(parts)}'


def threshold_table(evaluation: Evaluation, of: int, label: str) -> str:
    """The results of thresholds for one class."""
    rows = at_thresholds(evaluation.answers, of, evaluation.costs)
    least, digits = min(one.cost for one in rows), decimals(one.cost for one in rows)
    heads = ["from", "share", "precision", "recall", "false\npositives", "mean\ncost"]
    cells = [threshold_row(one, one.cost == least, digits) for one in rows]
    return table(heads, cells, label=f"Thresholds for {label}")


def threshold_row(one: Threshold, is_least: bool, digits: int) -> list[str | Cell]:
    """The cells of a threshold; the least cost is highlighted."""
    shares = (one.answered, one.precision, one.recall, one.false_alarms)
    return [
        f"{one.threshold:.2f}",
        *(NOTHING if share is None else f"{100 * share:.1f}" for share in shares),
        Cell(f"{one.cost:.{digits}f}", "hit" if is_least else ""),
    ]


def has_own_costs(evaluation: Evaluation) -> bool:
    """Whether costs were given."""
    return not np.array_equal(evaluation.costs, 1 - np.eye(len(evaluation.classes)))


def cost_words(evaluation: Evaluation) -> str:
    """The costs of errors."""
    if not has_own_costs(evaluation):
        return "Every error costs 1, so the mean cost is the error rate."
    n = len(evaluation.classes)
    pairs = [
        f"{short(evaluation.classes[i])} predicted as {short(evaluation.classes[j])}: "
        f"{evaluation.costs[i, j]:g}"
        for i in range(n)
        for j in range(n)
        if evaluation.costs[i, j] != float(i != j)
    ]
    return f"Costs: {', '.join(pairs)}; other errors 1."


def cost_form(evaluation: Evaluation) -> str:
    """The format of mean costs, with as many digits after the point in all of them."""
    return f".{decimals(way.cost for way in evaluation.expected_costs)}f"


def costs(report: Report) -> str:
    """The mean cost of decision rules and of thresholds."""
    evaluation = report.evaluation
    form = cost_form(evaluation)
    rows = [
        [way.words, format(way.cost, form), ends(way.interval, form)]
        for way in evaluation.expected_costs
    ]
    given = "" if has_own_costs(evaluation) else (
        " To set other costs, use <code>measure(..., costs=...)</code> in Python or "
        "<code>--cost</code> on the command line."
    )  # fmt: skip
    words = "Mean cost against the thresholds of " + ", ".join(
        short(evaluation.classes[of]) for of in figures.drawn_classes(evaluation)
    )
    drawn = figures.picture(
        figures.draw_costs, evaluation, words,
        "<strong>Mean cost against the threshold</strong>. Dashed: predictions of least expected "
        "cost, which weigh the costs by the probabilities of each point.",
    )  # fmt: skip
    shown = table(["predictions", "mean cost", "95 % interval"], rows, label="Mean costs")
    return (
        f'<p class="quiet">{text(cost_words(evaluation))}{given}</p>'
        f'<div class="beside">{drawn}{shown}</div>'
    )
