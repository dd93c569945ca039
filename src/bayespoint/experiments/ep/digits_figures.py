"""Pictures of the weights for pairs of digits, and curves over the scale of the prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.experiments.base import Figure, rounded
from bayespoint.experiments.ep.digits import SHOWN, DigitsRun, Weights, best
from bayespoint.experiments.ep.methods import Method
from bayespoint.plots import BLUE, GREEN, VERMILION, colours, new_panels
from bayespoint.plots.style import Axes, Drawing

DEEP_GREEN = "#00382a"
MARKERS = "os^v"
ROWS = {"log_evidence": "log Z", "log_loss": "log-loss on the test set"}


def weights_figure(weights: Sequence[Weights]) -> Figure:
    """The slide's images: mu and diag Sigma of each pair."""
    largest = max(float(np.abs(one.mean).max()) for one in weights)
    signed = (-largest, largest)

    def draw() -> Drawing:
        drawing, axes = new_panels(len(weights), 2, 6.8, 7.2)
        for (left, right), one in zip(axes, weights, strict=True):
            show(left, one.mean, (VERMILION, "white", BLUE), signed)
            show(right, one.variance, (DEEP_GREEN, GREEN, "white"), (0, SHOWN))
            left.set_ylabel("“{}” against “{}”".format(*one.pair.digits))
        for column, title in zip(axes.T, ("μ", "diag Σ"), strict=True):
            column[0].set_title(title)
            drawing.colorbar(column[0].images[0], ax=column, location="bottom", aspect=26)
        return drawing

    data = {
        "pairs": [
            {
                "digits": list(one.pair.digits),
                "mean": rounded(one.mean),
                "variance": rounded(one.variance),
            }
            for one in weights
        ]
    }
    first = weights[0].pair.digits[0]
    caption = (
        f"EP, τ² = {SHOWN:g}. Ink on blue pixels is evidence against “{first}”, ink on orange "
        "pixels for it. The prior variance is τ² (white); the darker a pixel, the more was learned "
        "about its weight."
    )
    return Figure("digits", "Digits: mean and variance of the weights", caption, data, draw)


def show(ax: Axes, image: NDArray, stops: Sequence[str], limits: tuple[float, float]) -> None:
    """An image, pixel by pixel, in a frame."""
    ax.imshow(image, cmap=colours(*stops), vmin=limits[0], vmax=limits[1])
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(True)


def scales_figure(runs: Sequence[DigitsRun]) -> Figure:
    """Evidence and log-loss of each pair over the scales of the prior."""
    pairs = list(dict.fromkeys(run.pair.digits for run in runs))
    methods = list(dict.fromkeys(run.method for run in runs))

    def draw() -> Drawing:
        drawing, axes = new_panels(len(ROWS), len(pairs), 6.8, 6.2)
        for column, digits in zip(axes.T, pairs, strict=True):
            own = [run for run in runs if run.pair.digits == digits]
            for ax, score in zip(column, ROWS, strict=True):
                for method, marker in zip(methods, MARKERS, strict=False):
                    draw_curve(ax, own, method, score, marker)
            column[0].set_title("“{}” against “{}”".format(*digits))
            column[-1].set_xlabel("τ²")
            column[-1].set_ylim(bottom=0)
        for ax, words in zip(axes[:, 0], ROWS.values(), strict=True):
            ax.set_ylabel(words)
        handles, names = axes[0, 0].get_legend_handles_labels()
        drawing.legend(handles, names, loc="outside lower center", ncols=len(names))
        return drawing

    data = {
        "runs": [
            {
                "digits": list(run.pair.digits),
                "method": run.method.name,
                "variance": run.variance,
                "error": run.scores.error,
                "log_loss": run.scores.log_loss,
                "log_evidence": run.scores.log_evidence,
            }
            for run in runs
        ]
    }
    caption = (
        "Top: the evidence, which uses no test images. Bottom: the log-loss on the test images. "
        "Both against the variance of the prior. Filled: the choice of the evidence."
    )
    return Figure("scales", "Digits: the scale of the prior", caption, data, draw)


def draw_curve(
    ax: Axes, runs: Sequence[DigitsRun], method: Method, score: str, marker: str
) -> None:
    """One score of one method over the scales, the choice of the evidence filled."""
    own = [run for run in runs if run.method is method]
    chosen = best(runs, method, "evidence")
    hollow: Any = {"marker": marker, "markerfacecolor": "white", "color": method.colour}
    values = [getattr(run.scores, score) for run in own]
    ax.plot([run.variance for run in own], values, label=method.name, **hollow)
    value = getattr(chosen.scores, score)
    ax.plot(chosen.variance, value, marker, color=method.colour, markersize=9)
    ax.set_xscale("log")
