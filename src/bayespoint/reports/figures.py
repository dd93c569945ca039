"""Pictures of an evaluation; the style sheet inverts them on dark screens."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve, roc_curve

from bayespoint.reject import OperatingPoint, RejectionCurveDisplay
from bayespoint.reports import html
from bayespoint.reports.answers import score_interval
from bayespoint.reports.evaluation import Evaluation
from bayespoint.tools import plots
from bayespoint.tools.plots import BLUE, VERMILION, Axes, Drawing, house_style, new_axes

SIZE = 5.6, 4.0  # inches: letters can be read where the picture is as wide as a telephone
N_RATES = 200  # fractions rejected at which the band is drawn: smooth to the eye
N_LETTERS = 24  # of names in pictures
GREY = "#888888"
# Colours and dashes of up to ten classes.
LINES = [
    (colour, dashes)
    for dashes in ("-", "--")
    for colour in (BLUE, VERMILION, plots.GREEN, plots.PURPLE, "#e69f00")
]
LAST_RATE = 0.9  # fraction rejected: beyond it, the error of a few points jumps about


Draw = Callable[[Evaluation], Drawing]


def picture(draw: Draw, evaluation: Evaluation, title: str, words: str) -> str:
    """A drawing as a figure of the page, with words below it."""
    address = html.data_address("svg+xml", as_svg(draw, evaluation))
    caption = f"<strong>{html.text(title)}</strong>: {html.text(words)}"
    return html.figure(address, title, caption, kind="drawn")


def as_svg(draw: Draw, evaluation: Evaluation) -> bytes:
    """The drawing; equal drawings give equal bytes."""
    import matplotlib

    content = BytesIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with house_style():
        matplotlib.rcParams["svg.hashsalt"] = "bayespoint"
        draw(evaluation).savefig(content, format="svg", metadata=nothing, transparent=True)
    return content.getvalue()


def draw_rejection(evaluation: Evaluation) -> Drawing:
    """Error on the accepted rows over the fraction rejected, with a 95 % band."""
    curve, chosen = evaluation.rejection, evaluation.selective
    point = None
    if chosen is not None and chosen.accuracy is not None:
        point = OperatingPoint(chosen.threshold, chosen.rejected, 1 - chosen.accuracy)
    drawing, ax = new_axes(*SIZE)
    rates = np.linspace(0, LAST_RATE, N_RATES)
    errors = np.clip(curve.error_at(rates), 0, 1)
    left = evaluation.weight * (1 - rates)
    ends = np.array([score_interval(*one) for one in zip(errors, left, strict=True)])
    ax.fill_between(rates, *ends.T, color=BLUE, alpha=0.2, linewidth=0, label="95 % interval")
    display = RejectionCurveDisplay(
        curve,
        score=evaluation.rejection_score,
        operating_point=point,
        threshold_source=None if chosen is None else chosen.source,
        guarantee=None if chosen is None else chosen.guarantee,
        calibration_curve=None if chosen is None else chosen.calibration_curve,
    )
    display.plot(ax, max_rate=LAST_RATE, color=BLUE)
    # Room for the legend; where few points are left, the band may leave the picture.
    ax.set_ylim(0, 1.3 * ends[: N_RATES // 2].max())
    return drawing


def draw_reliability(evaluation: Evaluation) -> Drawing:
    """Accuracy against confidence beside the diagonal, above the numbers of rows."""
    drawing, ((upper,), (lower,)) = plots.new_panels(2, 1, *SIZE, heights=[5, 2])
    filled = [one for one in evaluation.answers.bins if one.weight > 0]
    *columns, intervals = zip(*filled, strict=True)
    low, high, weight, confidence, accuracy = np.array(columns, dtype=float)
    ends = np.array(intervals, dtype=float)
    upper.plot([low[0], 1], [low[0], 1], color=GREY, linestyle=":", label="calibrated")
    upper.errorbar(
        confidence,
        accuracy,
        abs(ends - accuracy[:, None]).T,
        fmt="o-",
        color=BLUE,
        elinewidth=1.2,
        capsize=3,
        label="measured, 95 % interval",
    )
    upper.set_ylim(max(0.0, ends.min() - 0.05), 1.02)
    upper.set_ylabel("Accuracy")
    upper.tick_params(labelbottom=False)
    upper.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    style: Any = {"width": 0.92 * (high - low), "align": "edge"}
    right = weight * accuracy
    lower.bar(low, right, color=BLUE, label="correct", **style)
    lower.bar(low, weight - right, bottom=right, color=VERMILION, label="wrong", **style)
    finish(lower, "Confidence: probability of the predicted class", "Rows", "upper left")
    for ax in (upper, lower):
        ax.set_xlim(low[0], 1.01)
    return drawing


def finish(ax: Axes, x: str, y: str, legend: Any) -> None:
    """Label the axes, and place the legend."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(fontsize="small", loc=legend)


def plain(label: Any) -> str:
    """A label that matplotlib shows as it is: no formula, not hidden, no control characters."""
    shown = "".join(char if char.isprintable() else "?" for char in html.short(label))
    shown = shown[:N_LETTERS].replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def drawn_classes(evaluation: Evaluation) -> list[int]:
    """The classes with a curve of their own: the second of two, or the most frequent of several."""
    if len(evaluation.classes) == 2:
        return [1]
    sizes = evaluation.answers.confusion.sum(axis=1)
    return sorted(np.argsort(-sizes, kind="stable")[: len(LINES)].tolist())


def drawn_scores(evaluation: Evaluation) -> dict[int, tuple[NDArray, NDArray]]:
    """Which rows are of these classes, and their probabilities; of classes that are there."""
    answers = evaluation.answers
    pairs = {
        of: (answers.truth == of, answers.probabilities[:, of]) for of in drawn_classes(evaluation)
    }
    return {of: pair for of, pair in pairs.items() if pair[0].any() and not pair[0].all()}


def line_style(evaluation: Evaluation, of: int) -> dict[str, Any]:
    """Label, colour and dashes of the curve of a class."""
    colour, dashes = LINES[drawn_classes(evaluation).index(of)]
    return {"label": plain(evaluation.classes[of]), "color": colour, "linestyle": dashes}


def draw_roc(evaluation: Evaluation) -> Drawing:
    """Recall against the false positive rate."""
    drawing, ax = new_axes(*SIZE)
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="guessing")
    for of, scores in drawn_scores(evaluation).items():
        alarms, recall, _ = roc_curve(*scores, sample_weight=evaluation.answers.weight)
        ax.plot(alarms, recall, **line_style(evaluation, of))
    finish(ax, "False positive rate", "Recall", "lower right")
    return drawing


def draw_precision_recall(evaluation: Evaluation) -> Drawing:
    """Precision against recall."""
    drawing, ax = new_axes(*SIZE)
    weight = evaluation.answers.weight
    for of, scores in drawn_scores(evaluation).items():
        precision, recall, _ = precision_recall_curve(*scores, sample_weight=weight)
        ax.plot(recall, precision, **line_style(evaluation, of))
        if len(evaluation.classes) == 2:
            ax.axhline(np.average(scores[0], weights=weight), color=BLUE, linestyle=":")
    ax.set_ylim(0, 1.02)
    finish(ax, "Recall", "Precision", "lower left")
    return drawing
