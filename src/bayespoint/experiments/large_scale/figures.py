"""Figures of the large-scale experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.experiments.base import Figure
from bayespoint.experiments.large_scale.samples import SampleErrors
from bayespoint.experiments.large_scale.versions import Errors
from bayespoint.plots import BLUE, GREEN, INK, PURPLE, VERMILION, new_axes, new_panels
from bayespoint.plots.style import Drawing
from bayespoint.reject import RejectionCurveDisplay

# One for each kernel, told apart by shape as well.
LINES: tuple[dict[str, Any], ...] = (
    {"color": VERMILION, "linestyle": "--"},
    {"color": BLUE, "linestyle": "-"},
)
MARKERS = ("s", "o")
SAMPLERS = ((VERMILION, "-", "o"), (BLUE, "-", "."), (GREEN, ":", "s"), (PURPLE, "--", "D"))
N_QUANTILES = 100
PRINTED_STYLE: dict[str, Any] = {
    "color": INK,
    "marker": "D",
    "markersize": 5,
    "markerfacecolor": "white",
    "linestyle": "none",
    "clip_on": False,
    "zorder": 4,
    "label": "printed in the paper",
}


def rejection_figure(
    measured: Sequence[SampleErrors], rates: NDArray[np.float64], printed: Sequence[float] | None
) -> Figure:
    """Figure 2 of the paper, with one curve for each kernel."""
    last = float(rates[-1])

    def draw() -> Drawing:
        drawing, ax = new_axes()
        if printed:
            ax.plot(rates, np.divide(printed, 100), **PRINTED_STYLE)
        for errors, line in zip(measured, LINES, strict=True):
            RejectionCurveDisplay(errors.curve).plot(ax, max_rate=last, label=errors.name, **line)
        return drawing

    data = {
        "kernels": [{"name": errors.name, **rejection_data(errors, last)} for errors in measured],
        "printed": {"rejected_percent": percent(rates), "error_percent": list(printed)}
        if printed
        else None,
    }
    caption = "Error on the accepted test points against the fraction of points rejected."
    return Figure("rejection", "Figure 2: error against rejection rate", caption, data, draw)


def rejection_data(errors: SampleErrors, last: float) -> dict[str, list[float]]:
    """The curve at every number of rejected points."""
    n = errors.curve.n_samples
    rates = np.arange(n) / n
    rates = rates[rates <= last]
    return {
        "rejected_percent": percent(rates),
        "error_percent": percent(errors.curve.error_at(rates)),
    }


def anytime_figure(measured: Sequence[SampleErrors], printed: Sequence[float] | None) -> Figure:
    """Error against the number of samples, and of each sample alone."""
    numbers = list(range(1, len(measured[0].first) + 1))

    def draw() -> Drawing:
        drawing, ax = new_axes()
        for errors, line, marker in zip(measured, LINES, MARKERS, strict=True):
            label = f"{errors.name}, first N"
            ax.plot(numbers, percent(errors.first), marker=marker, label=label, **line)
        for errors, line in zip(measured, LINES, strict=True):
            label = f"{errors.name}, sample N alone"
            ax.plot(numbers, percent(errors.alone), "x", color=line["color"], label=label)
        if printed:
            ax.plot(numbers[-1], printed[0], **PRINTED_STYLE)
        ax.set_xticks(numbers)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("Number of samples N")
        ax.set_ylabel("Test error")
        ax.yaxis.set_major_formatter("{x:g} %")
        ax.legend(fontsize="small", ncols=2, loc="lower left")
        return drawing

    data = {
        "n_samples": numbers,
        "kernels": [
            {
                "name": errors.name,
                "error_percent_of_first": percent(errors.first),
                "error_percent_alone": percent(errors.alone),
            }
            for errors in measured
        ],
        "printed": {"n_samples": numbers[-1], "error_percent": printed[0]} if printed else None,
    }
    caption = (
        "Error of the Bayes point of the first N samples (lines), and of the N-th sample alone "
        "(crosses)."
    )
    return Figure("anytime", "Anytime: error against number of samples", caption, data, draw)


def versions_figure(runs: Sequence[Errors]) -> Figure:
    """Figure 1 of the paper: histograms of errors, and quantiles against the Gibbs sampler's."""
    levels = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    quantiles = {run.name: 100 * np.quantile(run.errors, levels) for run in runs}
    reference = quantiles[runs[1].name]

    def draw() -> Drawing:
        drawing, axes = new_panels(1, 2, 9.2, 3.8)
        histograms, quantile_plot = axes[0]
        step = 100 / runs[0].n_test
        edges = np.arange(-step / 2, max(map(max, quantiles.values())) + 2 * step, 2 * step)
        quantile_plot.plot(reference, reference, color=INK, linewidth=0.8)
        for run, (colour, line, marker) in zip(runs, SAMPLERS, strict=True):
            histograms.hist(
                100 * run.errors, edges, histtype="step", color=colour, linestyle=line,
                linewidth=1.5, label=run.name,
            )  # fmt: skip
            if run is not runs[1]:
                quantile_plot.plot(
                    reference, quantiles[run.name], marker, color=colour, markersize=4,
                    label=run.name,
                )  # fmt: skip
        histograms.set(xlabel="test error of a sample, %", ylabel="samples")
        quantile_plot.set(xlabel="test error of Gibbs samples, %", ylabel="of other samples, %")
        histograms.legend()
        quantile_plot.legend()
        return drawing

    data = {run.name: percent(run.errors) for run in runs}
    caption = (
        "Test errors of single samples of version space: histograms, and quantiles against those "
        "of the Gibbs sampler; on the line the distributions are equal."
    )
    return Figure("version-space", "Figure 1: samples of version space", caption, data, draw)


def percent(fractions: ArrayLike) -> list[float]:
    """Fractions in per cent; digits beyond the sixth decimal are noise of the arithmetic."""
    return [round(float(100 * fraction), 6) for fraction in np.asarray(fractions)]
