"""Pictures of an evaluation, drawn for light and for dark screens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from bayespoint.reject import OperatingPoint, RejectionCurveDisplay
from bayespoint.reports import html
from bayespoint.reports.answers import Bin, Curve
from bayespoint.reports.costs import at_thresholds
from bayespoint.reports.evaluation import Evaluation
from bayespoint.reports.examples import short
from bayespoint.reports.intervals import score_interval
from bayespoint.tools import plots
from bayespoint.tools.plots import BLUE, VERMILION, Axes, Drawing, house_style, new_axes

SKY = "#56b4e9"  # Okabe and Ito's light blue: seen on white and on black
SIZE = 5.6, 4.0  # inches: letters can be read where the picture is as wide as a telephone
N_RATES = 200  # fractions rejected at which the band is drawn: smooth to the eye
N_COSTS = 101  # thresholds at which costs are drawn
N_WEIGHTS = 15  # features whose weights are drawn
N_LETTERS = 24  # of names in pictures
GREY = "#888888"
# Colours and dashes of up to ten classes, seen on white and on black.
LINES = [
    (colour, dashes)
    for dashes in ("-", "--")
    for colour in (SKY, VERMILION, plots.GREEN, plots.PURPLE, "#e69f00")
]
LAST_RATE = 0.9  # fraction rejected: beyond it, the error of a few points jumps about


Draw = Callable[[Evaluation, str], Drawing]  # what to show, and the colour of what matters


def picture(draw: Draw, evaluation: Evaluation, alternative: str, caption: str) -> str:
    """A drawing as a figure of the page; ``caption`` is HTML."""
    drawn = (as_svg(draw, evaluation, dark) for dark in (False, True))
    light, dark = (html.data_address("svg+xml", one) for one in drawn)
    return html.figure(light, alternative, caption, dark=dark)


def as_svg(draw: Draw, evaluation: Evaluation, dark: bool) -> bytes:
    """The drawing in one look; equal drawings give equal bytes."""
    import matplotlib

    with house_style(dark):
        matplotlib.rcParams["svg.hashsalt"] = "bayespoint"
        content = BytesIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        draw(evaluation, SKY if dark else BLUE).savefig(content, format="svg", metadata=nothing)
    return content.getvalue()


def draw_rejection(evaluation: Evaluation, colour: str) -> Drawing:
    """Error on the accepted points over the fraction rejected, with a 95 % band."""
    curve, chosen = evaluation.rejection, evaluation.selective
    point = None
    if chosen is not None and chosen.accuracy is not None:
        point = OperatingPoint(chosen.threshold, chosen.rejected, 1 - chosen.accuracy)
    drawing, ax = new_axes(*SIZE)
    rates = np.linspace(0, LAST_RATE, N_RATES)
    errors = np.clip(curve.error_at(rates), 0, 1)
    left = evaluation.weight * (1 - rates)
    ends = np.array([score_interval(*one) for one in zip(errors, left, strict=True)])
    ax.fill_between(rates, *ends.T, color=SKY, alpha=0.25, linewidth=0, label="95 % interval")
    display = RejectionCurveDisplay(
        curve,
        score=evaluation.rejection_score,
        operating_point=point,
        threshold_source=None if chosen is None else chosen.source,
        guarantee=None if chosen is None else chosen.guarantee,
        calibration_curve=None if chosen is None else chosen.calibration_curve,
    )
    display.plot(ax, max_rate=LAST_RATE, color=colour)
    # Room for the legend; where few points are left, the band may leave the picture.
    ax.set_ylim(0, 1.3 * ends[: N_RATES // 2].max())
    return drawing


def draw_reliability(evaluation: Evaluation, colour: str) -> Drawing:
    """Accuracy against confidence, above the numbers of points."""
    drawing, ((upper,), (lower,)) = plots.new_panels(2, 1, *SIZE, heights=[5, 2])
    bins = [one for one in evaluation.answers.bins if one.weight > 0]
    draw_accuracies(upper, bins, colour)
    draw_histogram(lower, bins, colour)
    for ax in (upper, lower):
        ax.set_xlim(bins[0].low, 1.01)
    return drawing


def draw_accuracies(ax: Axes, bins: Sequence[Bin], colour: str) -> None:
    """Accuracy against confidence, beside the diagonal."""
    ends = [bins[0].low, 1.0]
    ax.plot(ends, ends, color=GREY, linestyle=":", label="calibrated")
    confidence = np.array([one.confidence for one in bins], dtype=float)
    accuracy = np.array([one.accuracy for one in bins], dtype=float)
    intervals = np.array([one.interval for one in bins], dtype=float)
    ax.errorbar(
        confidence, accuracy, abs(intervals - accuracy[:, None]).T,
        fmt="o-", color=colour, elinewidth=1.2, capsize=3, label="measured, 95 % interval",
    )  # fmt: skip
    ax.set_ylim(max(0.0, float(intervals.min()) - 0.05), 1.02)
    ax.set_ylabel("Accuracy")
    ax.tick_params(labelbottom=False)
    ax.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def draw_histogram(ax: Axes, bins: Sequence[Bin], colour: str) -> None:
    """Correct and wrong predictions by confidence."""
    low, high, weight = (np.array([one[k] for one in bins]) for k in range(3))
    right = weight * np.array([one.accuracy for one in bins])
    style = {"width": 0.92 * (high - low), "align": "edge"}
    ax.bar(low, right, color=colour, label="correct", **style)
    ax.bar(low, weight - right, bottom=right, color=VERMILION, label="wrong", **style)
    finish(ax, "Confidence: probability of the predicted class", "Points", "upper left")


def finish(ax: Axes, x: str, y: str, legend: Any) -> None:
    """Label the axes, and place the legend."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.legend(fontsize="small", loc=legend)


def plain(label: Any) -> str:
    """A label that matplotlib shows as it is: no formula, not hidden, no control characters."""
    shown = "".join(char if char.isprintable() else "?" for char in short(label))
    shown = shown[:N_LETTERS].replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def drawn_classes(evaluation: Evaluation) -> list[int]:
    """The classes with a curve of their own: the second of two, or the most frequent of several."""
    if len(evaluation.classes) == 2:
        return [1]
    sizes = evaluation.answers.confusion.sum(axis=1)
    return sorted(np.argsort(-sizes, kind="stable")[: len(LINES)].tolist())


def drawn_curves(evaluation: Evaluation) -> dict[int, Curve]:
    """The curves of these classes, as far as there are points of them."""
    found = {of: evaluation.answers.curve(of) for of in drawn_classes(evaluation)}
    return {of: one for of, one in found.items() if one is not None}


def line_style(evaluation: Evaluation, of: int, colour: str) -> dict[str, Any]:
    """Label, colour and dashes of the curve of a class."""
    several = len(evaluation.classes) > 2
    colour, dashes = LINES[drawn_classes(evaluation).index(of)] if several else (colour, "-")
    return {"label": plain(evaluation.classes[of]), "color": colour, "linestyle": dashes}


def draw_roc(evaluation: Evaluation, colour: str) -> Drawing:
    """Recall against the false positive rate."""
    drawing, ax = new_axes(*SIZE)
    ax.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="guessing")
    for of, found in drawn_curves(evaluation).items():
        ax.plot(found.false_alarms, found.recall, **line_style(evaluation, of, colour))
    finish(ax, "False positive rate", "Recall", "lower right")
    return drawing


def draw_precision_recall(evaluation: Evaluation, colour: str) -> Drawing:
    """Precision against recall."""
    drawing, ax = new_axes(*SIZE)
    for of, found in drawn_curves(evaluation).items():
        ax.plot(found.recall, found.precision, **line_style(evaluation, of, colour))
        if len(evaluation.classes) == 2:
            ax.axhline(found.prevalence, color=colour, linestyle=":", linewidth=1)
    ax.set_ylim(0, 1.02)
    finish(ax, "Recall", "Precision", "lower left")
    return drawing


def draw_costs(evaluation: Evaluation, colour: str) -> Drawing:
    """Mean cost against the threshold, beside that of least expected cost."""
    drawing, ax = new_axes(*SIZE)
    at = np.linspace(0, 1, N_COSTS)
    for of in drawn_classes(evaluation):
        costs = [one.cost for one in at_thresholds(evaluation.answers, of, evaluation.costs, at)]
        ax.plot(at, costs, **line_style(evaluation, of, colour))
    least = evaluation.expected_costs[1].cost
    ax.axhline(least, color=GREY, linestyle="--", linewidth=1.2, label="least expected cost")
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    finish(ax, "Threshold of the probability", "Mean cost", "best")
    return drawing


def draw_weights(evaluation: Evaluation, colour: str) -> Drawing:
    """Weights of the most relevant features, with their 95 % intervals."""
    features: Any = evaluation.features
    chosen = features.order[:N_WEIGHTS][::-1]
    drawing, ax = new_axes(SIZE[0], 0.9 + 0.27 * len(chosen))
    weights = features.weights[0, chosen]
    ends = None
    if features.low is not None:
        ends = np.abs([weights - features.low[0, chosen], features.high[0, chosen] - weights])
    ax.axvline(0, color=GREY, linewidth=1)
    ax.errorbar(weights, range(len(chosen)), xerr=ends, fmt="o", color=colour, capsize=3)
    names = [plain(features.names[j]) for j in chosen]
    ax.set_yticks(range(len(chosen)), names)
    ax.set_xlabel(f"Weight; positive values favour {plain(features.classes[0])}")
    return drawing
