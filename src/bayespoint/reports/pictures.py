"""Pictures of an evaluation, drawn for light and for dark screens."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayespoint.plots import BLUE, VERMILION, house_style, new_axes, new_panels
from bayespoint.reject import OperatingPoint, RejectionCurveDisplay
from bayespoint.reports import parts
from bayespoint.reports.evaluation import Evaluation
from bayespoint.reports.intervals import score_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SKY = "#56b4e9"  # Okabe and Ito's light blue: seen on white and on black
SIZE = 5.6, 4.0  # inches: letters can be read where the picture is as wide as a telephone
N_RATES = 200  # fractions rejected at which the band is drawn: smooth to the eye
LAST_RATE = 0.9  # fraction rejected: beyond it, the error of a few points jumps about


def picture(draw: Callable[[], Figure], alternative: str, caption: str) -> str:
    """A drawing as a figure of the page; ``caption`` is HTML."""
    light, dark = (parts.svg_address(as_svg(draw, dark)) for dark in (False, True))
    return parts.figure(light, alternative, caption, dark=dark)


def as_svg(draw: Callable[[], Figure], dark: bool) -> bytes:
    """The drawing in one look; equal drawings give equal bytes."""
    import matplotlib

    with house_style(dark):
        matplotlib.rcParams["svg.hashsalt"] = "bayespoint"
        content = BytesIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        draw().savefig(content, format="svg", metadata=nothing)
    return content.getvalue()


def draw_rejection(evaluation: Evaluation) -> Figure:
    """Error on the accepted points over the fraction rejected, with a 95 % band."""
    curve, chosen = evaluation.rejection, evaluation.selective
    point = None
    if chosen is not None and chosen.accuracy is not None:
        point = OperatingPoint(chosen.threshold, chosen.rejected, 1 - chosen.accuracy)
    drawing, ax = new_axes(*SIZE)
    rates = np.linspace(0, LAST_RATE, N_RATES)
    ends = np.array(
        [
            score_interval(float(error), evaluation.weight * (1 - rate))
            for rate, error in zip(rates, np.clip(curve.error_at(rates), 0, 1), strict=True)
        ]
    )
    ax.fill_between(rates, *ends.T, color=SKY, alpha=0.25, linewidth=0, label="95 % interval")
    display = RejectionCurveDisplay(
        curve,
        score=evaluation.rejection_score,
        operating_point=point,
        threshold_source=None if chosen is None else chosen.source,
    )
    display.plot(ax, max_rate=LAST_RATE, color=SKY if is_dark() else BLUE)
    ax.set_ylim(0, max(1.3 * ends[: N_RATES // 2].max(), 1e-3))
    return drawing


def draw_reliability(evaluation: Evaluation) -> Figure:
    """How often answers of each confidence are right, above how many of them there are."""
    drawing, axes = new_panels(2, 1, *SIZE, heights=[5, 2])
    (upper,), (lower,) = axes
    colour = SKY if is_dark() else BLUE
    filled = [one for one in evaluation.reliability if one.weight > 0]
    low, high = least_confidence(evaluation), 1.0
    upper.plot([low, high], [low, high], color="#888888", linestyle=":", label="as sure as right")
    confidence = np.array([one.confidence for one in filled], dtype=float)
    accuracy = np.array([one.accuracy for one in filled], dtype=float)
    ends = np.array([one.interval for one in filled], dtype=float)
    upper.errorbar(
        confidence, accuracy, abs(ends - accuracy[:, None]).T, fmt="o-",
        color=colour, elinewidth=1.2, capsize=3, label="measured, 95 % interval",
    )  # fmt: skip
    upper.set_ylabel("Share of right answers")
    upper.set_ylim(max(0.0, float(ends.min()) - 0.05), 1.02)
    upper.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    right, wrong = histogram(evaluation)
    edges = [one.low for one in evaluation.reliability]
    width = evaluation.reliability[0].high - evaluation.reliability[0].low
    style = {"width": 0.92 * width, "align": "edge"}
    lower.bar(edges, right, color=colour, label="right", **style)
    lower.bar(edges, wrong, bottom=right, color=VERMILION, label="wrong", **style)
    lower.set_xlabel("Confidence: probability of the predicted class")
    lower.set_ylabel("Points")
    lower.legend(fontsize="small", loc="upper left")
    for ax in (upper, lower):
        ax.set_xlim(low, high + 0.01)
    upper.tick_params(labelbottom=False)
    return drawing


def least_confidence(evaluation: Evaluation) -> float:
    """Where the first bin with points begins."""
    return min(one.low for one in evaluation.reliability if one.weight > 0)


def histogram(evaluation: Evaluation) -> tuple[NDArray, NDArray]:
    """Weight of right and of wrong answers in each bin of the confidence."""
    total = np.array([one.weight for one in evaluation.reliability])
    share = np.array([one.accuracy or 0.0 for one in evaluation.reliability])
    return total * share, total * (1 - share)


def is_dark() -> bool:
    """Whether the look that is being drawn in is the one for dark screens."""
    import matplotlib

    return matplotlib.rcParams["figure.facecolor"] == "none"
