"""Figure 1 of the knapsack paper: two Gaussians in the plane, and one outlier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.svm import SVC

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import KnapsackPropagation
from bayespoint.posteriors import MarginalPosterior
from bayespoint.tools.plots import (
    BLUE,
    GREEN,
    INK,
    PURPLE,
    VERMILION,
    Axes,
    Drawing,
    colours,
    new_panels,
)
from papers.base import Column, Context, Figure, Result, Row, Table, rounded
from papers.plots import paint
from papers.verdicts import PRINTED_AND_MEASURED, standard_error

N_POINTS = 100  # 50 of each class, Figure 1c
N_TOYS = {"quick": 6, "full": 30}  # draws with and without the outlier
COST = 1.0  # C, which the paper does not give for this figure
OUTLIER = (10.0, 0.0)
OPTIMUM = float(100 * ndtr(-np.sqrt(2.0)))  # 7.865 %, printed as 7.87
PATH = np.geomspace(5.0, 50.0, 10)  # values of beta in Figure 1a
ANGLES = np.linspace(-0.25, 1.75, 101)  # of w, in radians; the optimum is pi / 4
OFFSETS = np.linspace(-1.5, 1.5, 76)
LENGTHS = np.linspace(0.2, 6.0, 30)  # of w: 1 / |w| is the width of the margin
PRINTED = {
    ("SVM", False): 7.87,
    ("SVM", True): 7.94,
    ("knapsack, β = 1", False): 7.87,
    ("knapsack, β = 1", True): 7.87,
}
FAINT = 0.3  # power of the posterior that is painted: its peaks alone would be a few dots
MARKS: dict[str, dict[str, Any]] = {
    "MAP": {"marker": "x", "color": VERMILION},
    "exact Bayes point": {"marker": "o", "color": INK},
    "SVM": {"marker": "s", "color": PURPLE},
    "knapsack, β = 1": {"marker": "D", "color": BLUE},
}


def run(context: Context) -> Result:
    """One toy problem, and many with and without the outlier."""
    with context.part("toy problem"):
        toy = solve_toy(context.seed)
        errors = outlier_errors(N_TOYS[context.mode], context.seed)
    return Result({}, [toy_table(toy), outlier_table(errors)], [toy_figure(toy)])


@dataclass(frozen=True)
class Toy:
    """The exact posterior of one toy problem, and where the classifiers are in it.

    Weights are (w_1, w_2, w_0) with the output w_1 x_1 + w_2 x_2 + w_0.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    log_posterior: NDArray[np.float64]  # (offsets, angles), at the best length
    errors: NDArray[np.float64]  # true error in % of the same classifiers
    weights: dict[str, NDArray[np.float64]]
    path: NDArray[np.float64]  # weights for the values of PATH


def draw_toy(seed: int, outlier: bool = False) -> tuple[NDArray, NDArray]:
    """Unit Gaussians at (1, 1) and (-1, -1), and perhaps a point of the second class at (10, 0)."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1, -1], N_POINTS // 2)
    X = rng.normal(size=(N_POINTS, 2)) + y[:, None]
    return (np.vstack([X, OUTLIER]), np.append(y, -1)) if outlier else (X, y)


def true_error(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Error in % on the two Gaussians, for weights along the last axis."""
    along = weights[..., 0] + weights[..., 1]
    length = np.hypot(weights[..., 0], weights[..., 1])
    return 50 * (
        ndtr(-(along + weights[..., 2]) / length) + ndtr((weights[..., 2] - along) / length)
    )


def boundaries(length: float) -> NDArray[np.float64]:
    """Weights of all boundaries x.u + offset = 0 with unit u, shape (offsets, angles, 3)."""
    offset, angle = np.meshgrid(OFFSETS, ANGLES, indexing="ij")
    return length * np.stack([np.cos(angle), np.sin(angle), offset], axis=-1)


def log_posterior(weights: NDArray, X: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Eq. 5 with beta = 1, for weights along the last axis."""
    log_p = -0.5 * np.square(weights).sum(axis=-1)
    for point, label in zip(X, y, strict=True):
        margin = label * (weights[..., :2] @ point + weights[..., 2])
        log_p -= COST * (margin < 1)
    return log_p


def solve_toy(seed: int) -> Toy:
    """The exact posterior on a grid, its mode and mean, the SVM, and the path of the knapsacks."""
    X, y = draw_toy(seed)
    layers = np.stack([log_posterior(boundaries(length), X, y) for length in LENGTHS])
    best, offset, angle = np.unravel_index(layers.argmax(), layers.shape)
    # The grid is uniform in (angle, offset, length), of which dw = length^2 d(...).
    density = np.exp(layers - layers.max()) * np.square(LENGTHS)[:, None, None]
    every = np.stack([boundaries(length) for length in LENGTHS])
    mean = np.tensordot(density, every, axes=3) / density.sum()
    posterior = fit_knapsack(X, y)
    weights = {
        "MAP": every[best, offset, angle],
        "exact Bayes point": mean,
        "SVM": fit_svm(X, y),
        "knapsack, β = 1": posterior.means(1.0)[0, :, 0],
        "knapsack, β = ∞": posterior.mode[:, 0],
    }
    path = posterior.means(PATH)[:, :, 0]
    errors = true_error(boundaries(1.0))
    return Toy(X, y, layers[best], errors, weights, path)


def fit_knapsack(X: NDArray, y: NDArray) -> MarginalPosterior:
    """Max-marginals on the data as they are, with the paper's schedule."""
    engine = KnapsackPropagation(C=COST, beta=1.0, bins=128, schedule="heskes")
    machine = BayesPointClassifier(kernel="linear", engine=engine).fit(X, y)
    posterior = machine.posterior_
    assert isinstance(posterior, MarginalPosterior)
    return posterior


def fit_svm(X: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Weights of the linear SVM with C = 1."""
    svm = SVC(kernel="linear", C=1.0).fit(X, y)
    return np.append(svm.coef_[0], svm.intercept_)


def outlier_errors(n_sets: int, seed: int) -> dict[tuple[str, bool], NDArray[np.float64]]:
    """True errors of three classifiers over several draws, without and with the outlier."""
    errors: dict[tuple[str, bool], list[float]] = {}
    for number in range(n_sets):
        for outlier in (False, True):
            X, y = draw_toy(seed + number, outlier)
            posterior = fit_knapsack(X, y)
            for name, weights in (
                ("SVM", fit_svm(X, y)),
                ("knapsack, β = 1", posterior.means(1.0)[0, :, 0]),
                ("knapsack, β = ∞", posterior.mode[:, 0]),
            ):
                errors.setdefault((name, outlier), []).append(float(true_error(weights)))
    return {key: np.array(values) for key, values in errors.items()}


def toy_table(toy: Toy) -> Table:
    """Classifiers of Figure 1, with their true errors."""
    rows = [Row("optimum", [45.0, 0.0, OPTIMUM, None], "none can be better")]
    for name, w in toy.weights.items():
        error = float(true_error(w))
        values = [*map(float, place(w)), error, float(log_posterior(w, toy.X, toy.y))]
        rows.append(Row(name, values, f"{error - OPTIMUM:.2f} above the optimum"))
    columns = (Column("angle °", 1), Column("offset"), Column("true error %"), Column("log P", 1))
    caption = (
        "One draw of the data of Figure 1c. The mode of the posterior (MAP) has the largest log P, "
        "but not the smallest error; the exact Bayes point is the mean over a grid of weights."
    )
    return Table("Figure 1: one toy problem", caption, columns, rows)


def outlier_table(errors: dict[tuple[str, bool], NDArray[np.float64]]) -> Table:
    """Mean true errors, without and with the outlier."""
    rows = []
    for (name, outlier), own in errors.items():
        mean, half = float(own.mean()), 2 * standard_error(own)
        printed = PRINTED.get((name, outlier))
        verdict = place_of(printed, own)
        if outlier:
            change = own - errors[name, False]
            verdict += f"; {change.mean():+.3f} ± {standard_error(change):.3f} by the outlier"
        words = "with the outlier" if outlier else "without"
        rows.append(Row(f"{name}, {words}", (printed, mean, (mean - half, mean + half)), verdict))
    caption = (
        f"Mean true error over {len(own)} draws, with two standard errors on either side. The "
        f"optimum is {OPTIMUM:.2f} %. The paper prints one draw, with parameters chosen by folds; "
        "here C = 1 throughout."
    )
    title = "Section 5: an outlier at (10, 0), true error in %"
    return Table(title, caption, PRINTED_AND_MEASURED, rows)


def place_of(printed: float | None, errors: NDArray[np.float64]) -> str:
    """Where the one draw that the paper prints would stand among ours."""
    if printed is None:
        return "not printed"
    as_good = int((errors <= printed + 0.005).sum())  # what is printed was rounded
    return f"{as_good} of {len(errors)} draws as good as the printed one"


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
