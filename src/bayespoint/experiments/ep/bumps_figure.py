"""Pictures of the example in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.datasets import Split
from bayespoint.experiments.base import Figure, rounded
from bayespoint.experiments.ep.bumps import FEATURES, BumpsRun, bumps
from bayespoint.experiments.ep.exact import points_of_grid
from bayespoint.experiments.ep.methods import EP
from bayespoint.experiments.ep.uncertainty import Uncertainty, uncertainty
from bayespoint.plots import BLUE, INK, PURPLE, VERMILION, colours, new_panels, paint
from bayespoint.plots.style import Axes, Colormap, Drawing

AXIS = np.linspace(-1.6, 1.6, 81)  # somewhat more than the data's square [-1, 1]²
N_DRAWS = 4
PALE_BLUE, PALE_VERMILION = "#8cc0e0", "#f5b78c"  # points of full colour stand out from them
DEEP_PURPLE = "#4b1d40"
ROWS = {
    "probability": "probability of +1",
    "model": "model uncertainty",
    "data": "data uncertainty",
}

CAPTION = (
    "Top: predictive probability, training points, the boundary p = 1/2 (thick) and the boundaries "
    f"of {N_DRAWS} draws from the posterior (thin). Below, the entropy of a label in two parts: "
    "model uncertainty, which more data would reduce (mutual information of label and weights), "
    "and data uncertainty, which they would not (mean entropy given the weights). Dotted: the "
    "square that contains the data."
)


class Surface(NamedTuple):
    """All that is shown of one machine, on the points of the grid."""

    n: int
    parts: Uncertainty
    draws: NDArray[np.float64]


def bumps_figure(runs: Sequence[BumpsRun], data: Split, features: str, seed: int) -> Figure:
    """EP with one kind of features; one column for each number of points."""
    surfaces = [surface(run, seed) for run in runs if run.method is EP and run.features == features]

    def draw() -> Drawing:
        drawing, axes = new_panels(len(ROWS), len(surfaces), 6.8, 8.8, shared=True)
        classes = colours(PALE_VERMILION, "white", PALE_BLUE)
        bits = colours("white", PURPLE, DEEP_PURPLE)
        for column, one in zip(axes.T, surfaces, strict=True):
            for ax, row in zip(column, ROWS, strict=True):
                draw_panel(ax, getattr(one.parts, row), classes if row == "probability" else bits)
            draw_borders(column[0], one)
            draw_points(column[0], data.X_train[: one.n], data.y_train[: one.n])
            column[0].set_title(f"n = {one.n}")
        for row, words in zip(axes[:, 0], ROWS.values(), strict=True):
            row.set_ylabel(words)
        drawing.colorbar(axes[0, 0].images[0], ax=axes[0], aspect=16)
        drawing.colorbar(axes[1, 0].images[0], ax=axes[1:], aspect=34, label="bits")
        return drawing

    shown = "normalised densities" if FEATURES[features] else "bumps of height 1"
    title = f"The plane: EP with 225 {shown}"
    numbers = [surface_data(one) for one in surfaces]
    content = {
        "x1": rounded(AXIS),
        "x2": rounded(AXIS),
        "X": rounded(data.X_train),
        "y": data.y_train.tolist(),
        "columns": numbers,
    }
    return Figure(f"plane-{features}", title, CAPTION, content, draw)


def surface(run: BumpsRun, seed: int) -> Surface:
    """The prediction, its uncertainty, and the outputs of some draws from the posterior."""
    Z = bumps(points_of_grid(AXIS, AXIS), FEATURES[run.features])
    parts = uncertainty(*run.machine.latent_mean_and_variance(Z))
    rng = np.random.default_rng((seed, run.n))  # not the numbers that the data were drawn with
    weights = run.machine.posterior_.draw(N_DRAWS, rng)[:, :, 0]
    return Surface(run.n, parts, (Z @ weights).T)


def square(values: NDArray) -> NDArray:
    """Values on the points of the grid as a matrix; a row is a value of the second coordinate."""
    return values.reshape(*values.shape[:-1], len(AXIS), len(AXIS))


def draw_panel(ax: Axes, values: NDArray, colour_map: Colormap) -> None:
    """Values between 0 and 1 over the plane, and the square that the data come from."""
    paint(ax, square(values), AXIS, AXIS, cmap=colour_map, vmin=0, vmax=1)
    ax.plot([-1, 1, 1, -1, -1], [-1, -1, 1, 1, -1], color=INK, linewidth=0.8, linestyle=":")
    ax.set_xticks([-1, 0, 1])
    ax.set_yticks([-1, 0, 1])


def draw_borders(ax: Axes, one: Surface) -> None:
    """Where p = 1/2, and where single draws from the posterior change their mind."""
    thin = [(outputs, 0.6) for outputs in one.draws]
    for outputs, width in [*thin, (one.parts.probability - 0.5, 1.8)]:
        ax.contour(AXIS, AXIS, square(outputs), levels=[0], colors=INK, linewidths=width)


def draw_points(ax: Axes, X: NDArray, y: NDArray) -> None:
    """The training points, told apart by colour and shape."""
    size = 14 if len(X) <= 100 else 4
    for label, colour, marker in ((1, BLUE, "o"), (-1, VERMILION, "s")):
        x1, x2 = X[y == label].T
        ax.scatter(x1, x2, s=size, color=colour, marker=marker, linewidth=0, zorder=3)


def surface_data(one: Surface) -> dict:
    """The numbers of one column."""
    parts = {name: rounded(square(values), 3) for name, values in one.parts._asdict().items()}
    return {"n": one.n, **parts, "outputs_of_draws": rounded(square(one.draws), 2)}
