"""Pictures of an evaluation, drawn for light and for dark screens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO

import numpy as np

from bayespoint.plots import BLUE, VERMILION, house_style, new_axes, new_panels
from bayespoint.plots.style import Axes, Drawing
from bayespoint.reject import OperatingPoint, RejectionCurveDisplay
from bayespoint.reports import html
from bayespoint.reports.answers import Bin
from bayespoint.reports.evaluation import Evaluation
from bayespoint.reports.intervals import score_interval

SKY = "#56b4e9"  # Okabe and Ito's light blue: seen on white and on black
SIZE = 5.6, 4.0  # inches: letters can be read where the picture is as wide as a telephone
N_RATES = 200  # fractions rejected at which the band is drawn: smooth to the eye
LAST_RATE = 0.9  # fraction rejected: beyond it, the error of a few points jumps about


Draw = Callable[[Evaluation, str], Drawing]  # what to show, and the colour of what matters


def picture(draw: Draw, evaluation: Evaluation, alternative: str, caption: str) -> str:
    """A drawing as a figure of the page; ``caption`` is HTML."""
    light, dark = (html.svg_address(as_svg(draw, evaluation, dark)) for dark in (False, True))
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
    """How often answers of each confidence are right, above how many of them there are."""
    drawing, ((upper,), (lower,)) = new_panels(2, 1, *SIZE, heights=[5, 2])
    bins = [one for one in evaluation.answers.bins if one.weight > 0]
    draw_accuracies(upper, bins, colour)
    draw_histogram(lower, bins, colour)
    for ax in (upper, lower):
        ax.set_xlim(bins[0].low, 1.01)
    return drawing


def draw_accuracies(ax: Axes, bins: Sequence[Bin], colour: str) -> None:
    """Accuracy over confidence, beside the diagonal."""
    ends = [bins[0].low, 1.0]
    ax.plot(ends, ends, color="#888888", linestyle=":", label="as sure as right")
    confidence = np.array([one.confidence for one in bins], dtype=float)
    accuracy = np.array([one.accuracy for one in bins], dtype=float)
    intervals = np.array([one.interval for one in bins], dtype=float)
    ax.errorbar(
        confidence, accuracy, abs(intervals - accuracy[:, None]).T,
        fmt="o-", color=colour, elinewidth=1.2, capsize=3, label="measured, 95 % interval",
    )  # fmt: skip
    ax.set_ylim(max(0.0, float(intervals.min()) - 0.05), 1.02)
    ax.set_ylabel("Share of right answers")
    ax.tick_params(labelbottom=False)
    ax.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def draw_histogram(ax: Axes, bins: Sequence[Bin], colour: str) -> None:
    """Right and wrong answers over confidence."""
    low, high, weight = (np.array([one[k] for one in bins]) for k in range(3))
    right = weight * np.array([one.accuracy for one in bins])
    style = {"width": 0.92 * (high - low), "align": "edge"}
    ax.bar(low, right, color=colour, label="right", **style)
    ax.bar(low, weight - right, bottom=right, color=VERMILION, label="wrong", **style)
    ax.set_xlabel("Confidence: probability of the predicted class")
    ax.set_ylabel("Points")
    ax.legend(fontsize="small", loc="upper left")
