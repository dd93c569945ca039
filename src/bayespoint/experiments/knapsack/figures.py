"""Pictures of the knapsack experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayespoint.experiments.base import Figure, rounded
from bayespoint.experiments.knapsack.splits import EP, KNAP, ONE, SVM, DataSet, SplitErrors
from bayespoint.experiments.knapsack.state import error_matrix
from bayespoint.experiments.knapsack.tables import paired_test
from bayespoint.experiments.knapsack.toy import ANGLES, OFFSETS, PATH, Toy
from bayespoint.plots import MarginalDisplay, colours, new_axes, new_panels, paint
from bayespoint.plots.style import BLUE, GREEN, INK, PURPLE, VERMILION, Axes, Drawing
from bayespoint.posteriors import MarginalPosterior

FAINT = 0.3  # power of the posterior that is painted: its peaks alone would be a few dots
MARKS: dict[str, dict[str, Any]] = {
    "MAP": {"marker": "x", "color": VERMILION},
    "exact Bayes point": {"marker": "o", "color": INK},
    "SVM": {"marker": "s", "color": PURPLE},
    "knapsack, β = 1": {"marker": "D", "color": BLUE},
}


def toy_figure(toy: Toy) -> Figure:
    """Figure 1 a-c: the posterior over boundaries, their true errors, and the data."""

    def draw() -> Drawing:
        drawing, axes = new_panels(1, 3, 12.5, 4.4)
        density = np.exp(FAINT * (toy.log_posterior - toy.log_posterior.max()))
        degrees = np.degrees(ANGLES)
        paint(
            axes[0, 0], density, degrees, OFFSETS, cmap=colours("white", "#7d7d7d"), aspect="auto"
        )
        paint(axes[0, 1], toy.errors, degrees, OFFSETS, cmap=colours("white", GREEN), aspect="auto")
        for ax, title in zip(axes[0], ("posterior", "true error", "data"), strict=True):
            ax.set_title(title)
        for ax in axes[0, :2]:
            mark_boundaries(ax, toy)
            ax.set_xlabel("angle of w in degrees")
            ax.set_ylabel("offset")
        draw_data(axes[0, 2], toy)
        drawing.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
        return drawing

    data = {
        "angle_degrees": rounded(np.degrees(ANGLES)),
        "offset": rounded(OFFSETS),
        "log_posterior": rounded(toy.log_posterior - toy.log_posterior.max()),
        "error_percent": rounded(toy.errors),
        "weights": {name: rounded(w) for name, w in toy.weights.items()},
        "betas": rounded(PATH),
        "path": rounded(toy.path),
        "X": rounded(toy.X),
        "y": toy.y.tolist(),
    }
    caption = (
        f"Left: the posterior of the decision boundary (Eq. 5, to the power of {FAINT:g}, so that "
        "low values are visible) at the best margin width, with its mode, the exact Bayes point, "
        "and knapsack propagation for β from 5 to 50 (blue line). Middle: the true error of the "
        "same boundaries. Right: the data, with the optimum (solid) and the MAP (dashed)."
    )
    return Figure("toy", "Figure 1 a-c: posterior and true error", caption, data, draw)


def place(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angle in degrees and offset of boundaries, weights along the last axis."""
    angle = np.degrees(np.arctan2(weights[..., 1], weights[..., 0]))
    return angle, weights[..., 2] / np.hypot(weights[..., 0], weights[..., 1])


def mark_boundaries(ax: Axes, toy: Toy) -> None:
    """The classifiers as points, and the path of beta."""
    ax.plot(45.0, 0.0, "*", color=GREEN, markeredgecolor="white", markersize=13, label="optimum")
    for name, style in MARKS.items():
        ax.plot(*place(toy.weights[name]), linestyle="none", label=name, **style)
    ax.plot(*place(toy.path), color=BLUE, label="knapsack, β from 5 to 50")


def draw_data(ax: Axes, toy: Toy) -> None:
    """Points and boundaries in the plane."""
    for label, marker, colour in ((1, "+", BLUE), (-1, ".", VERMILION)):
        ax.plot(*toy.X[toy.y == label].T, marker, color=colour)
    ax.axline((0, 0), slope=-1, color=INK)
    w = toy.weights["MAP"]
    ax.axline((0, -w[2] / w[1]), slope=-w[0] / w[1], color=INK, linestyle="--")
    ax.set_xlabel("$x_1$")
    ax.set_ylabel("$x_2$")
    ax.set_aspect("equal", adjustable="datalim")


def marginals_figure(words: str, posterior: MarginalPosterior) -> Figure:
    """Figure 1 e-g: the three most skewed max-marginals."""
    skew = np.abs(posterior.skew[:, 0])
    features = np.argsort(-skew, kind="stable")[:3].tolist()

    def draw() -> Drawing:
        drawing, axes = new_panels(1, len(features), 9.6, 3.0)
        MarginalDisplay(posterior, features=features).plot(list(axes[0]))
        return drawing

    data = {
        "weights": features,
        "grids": rounded(posterior.grids[0, features]),
        "log_marginals": rounded(np.maximum(posterior.log_marginals[0, features], -1e3)),
        "means": rounded(posterior.mean[features, 0]),
        "modes": rounded(posterior.mode[features, 0]),
        "skews": rounded(posterior.skew[features, 0]),
    }
    caption = f"The three most skewed max-marginals of {words}, each with its mean and its mode."
    return Figure("marginals", "Figure 1 e-g: max-marginals", caption, data, draw)


def differences_figure(sets: Sequence[DataSet], results: Sequence[SplitErrors]) -> Figure:
    """Differences to the SVM and to EP, with corrected intervals."""
    pairs = {(KNAP, SVM): BLUE, (KNAP, EP): GREEN, (ONE, SVM): VERMILION, (ONE, EP): PURPLE}
    tests = {}
    for pair in pairs:
        for data in sets:
            own = error_matrix(results, data.name, pair)
            tests[pair, data.name] = paired_test(own[:, 0] - own[:, 1])

    def draw() -> Drawing:
        drawing, ax = new_axes(7.6, 1.6 + 0.55 * len(sets))
        for number, (pair, colour) in enumerate(pairs.items()):
            own = [tests[pair, data.name] for data in sets]
            ax.errorbar(
                [test.mean for test in own],
                np.arange(len(sets)) + 0.15 * (number - 1.5),
                xerr=[2 * test.standard_error for test in own],
                fmt="o", color=colour, markersize=4, label=f"{pair[0]} − {pair[1]}",
            )  # fmt: skip
        ax.axvline(0, color=INK, linewidth=1)
        ax.set_yticks(range(len(sets)), [data.name for data in sets])
        ax.invert_yaxis()
        ax.set_xlabel("difference of test errors in percentage points")
        drawing.legend(loc="outside lower center", ncols=2)
        return drawing

    numbers = {
        f"{first} - {second}": {
            name: {"mean": round(test.mean, 5), "standard_error": round(test.standard_error, 5)}
            for (pair, name), test in tests.items()
            if pair == (first, second)
        }
        for first, second in pairs
    }
    caption = (
        "Left of the line knapsack propagation is better. Bars: two standard errors, corrected for "
        "the overlap of the splits."
    )
    return Figure("differences", "Table 1: paired differences", caption, numbers, draw)
