"""The picture of the posterior over two weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayespoint.experiments.base import Figure, rounded
from bayespoint.experiments.ep.exact import Moments, log_joint, points_of_grid
from bayespoint.experiments.ep.methods import Method
from bayespoint.experiments.ep.two_weights import PRIOR_SCALE, Learned
from bayespoint.plots import INK, colours, new_panels, paint
from bayespoint.plots.style import Axes, Drawing

N_STEPS = 101  # along each axis
RADII = (1.0, 2.0)  # standard deviations at which a Gaussian is drawn
MARGIN = 2.8  # standard deviations around every posterior that the window shows
GREY = "#7d7d7d"

CAPTION = (
    "Grey: the exact posterior; thin lines: its regions of highest density with 39 % and 86 % of "
    "the mass. Ellipses: one and two standard deviations of the Gaussian, with the same mass. "
    "Dotted: weights for which a training point is on the decision boundary. EP approximates the "
    "mean, Laplace the mode; the two differ if the posterior is skewed."
)


def two_weights_figure(learned: Sequence[Learned]) -> Figure:
    """One row for each number of labels, one column for each method."""
    methods = list(dict.fromkeys(one.method for one in learned))
    axes_of_window = window(learned)
    densities = [density(one, *axes_of_window) for one in learned]

    def draw() -> Drawing:
        n_rows = len(learned) // len(methods)
        drawing, axes = new_panels(n_rows, len(methods), 6.8, 10.1, shared=True)
        for ax, one, values in zip(axes.flat, learned, densities, strict=True):
            draw_panel(ax, one, *axes_of_window, values)
        for ax, method in zip(axes[0], methods, strict=True):
            ax.set_title(f"{method.name}, {method.model} model", color=method.colour)
        for row, one in zip(axes, learned[:: len(methods)], strict=True):
            row[0].set_ylabel(f"n = {len(one.X)}\n$w_2$")
        for ax in axes[-1]:
            ax.set_xlabel("$w_1$")
        drawing.legend(*legend_entries(methods), loc="outside lower center", ncols=3)
        return drawing

    data = {
        "w1": rounded(axes_of_window[0]),
        "w2": rounded(axes_of_window[1]),
        "panels": [panel_data(one, values) for one, values in zip(learned, densities, strict=True)],
    }
    title = "Learning in pictures: the posterior over two weights"
    return Figure("two-weights", title, CAPTION, data, draw)


def window(learned: Sequence[Learned]) -> tuple[NDArray, NDArray]:
    """Coordinates of a square that shows all posteriors."""
    means = np.array([one.exact.mean for one in learned])
    widths = np.sqrt([np.diag(one.exact.covariance) for one in learned])
    low, high = (means - MARGIN * widths).min(axis=0), (means + MARGIN * widths).max(axis=0)
    centre, half = (low + high) / 2, (high - low).max() / 2
    first, second = (np.linspace(middle - half, middle + half, N_STEPS) for middle in centre)
    return first, second


def density(one: Learned, first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """The exact posterior density; a row of the matrix is a value of the second weight."""
    W = points_of_grid(first, second)
    joint = log_joint(W, one.X, one.y, one.method.log_likelihood, PRIOR_SCALE)
    return np.exp(joint - one.exact.log_evidence).reshape(len(second), len(first))


def draw_panel(
    ax: Axes, one: Learned, first: NDArray, second: NDArray, values: NDArray[np.float64]
) -> None:
    """The exact posterior, and the Gaussian on it."""
    paint(ax, values, first, second, cmap=colours("white", GREY))
    for x in one.X:
        ax.axline((0, 0), (-x[1], x[0]), color=INK, linewidth=0.6, linestyle=":", alpha=0.4)
    ax.contour(first, second, values, levels=levels(values), colors=INK, linewidths=0.9)
    for radius in RADII:
        ax.plot(*ellipse(one.gaussian, radius), color=one.method.colour)
    ax.plot(*one.gaussian.mean, "o", color=one.method.colour)
    ax.plot(*one.exact.mean, "x", color=INK)
    ax.locator_params(nbins=6, integer=True)


def legend_entries(methods: Sequence[Method]) -> tuple[list, list[str]]:
    """What is drawn how, in all panels."""
    from matplotlib.lines import Line2D

    exact = Line2D([], [], color=INK, linewidth=0.9, marker="x")
    gaussians = [Line2D([], [], color=method.colour, marker="o") for method in methods]
    return [exact, *gaussians], ["exact", *(method.name for method in methods)]


def levels(values: NDArray[np.float64]) -> list[float]:
    """Heights above which a density holds as much as a Gaussian within the radii, ascending."""
    heights = np.sort(values, axis=None)[::-1]
    held = heights.cumsum() / heights.sum()
    masses = [1 - np.exp(-(radius**2) / 2) for radius in RADII]
    return sorted(float(heights[np.searchsorted(held, mass)]) for mass in masses)


def ellipse(gaussian: Moments, radius: float) -> NDArray[np.float64]:
    """Points at so many standard deviations from the mean, shape (2, n)."""
    angle = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return gaussian.mean[:, None] + radius * np.linalg.cholesky(gaussian.covariance) @ circle


def panel_data(one: Learned, values: NDArray[np.float64]) -> dict:
    """The numbers of one panel."""
    return {
        "n": len(one.X),
        "method": one.method.name,
        "X": rounded(one.X),
        "y": one.y.tolist(),
        "mean": rounded(one.gaussian.mean),
        "covariance": rounded(one.gaussian.covariance),
        "exact_mean": rounded(one.exact.mean),
        "exact_covariance": rounded(one.exact.covariance),
        "exact_density": rounded(values, 6),
    }
