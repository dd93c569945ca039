"""The slides' example in the plane: 225 Gaussian bumps as features, 100 and 500 points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtr

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.tools.plots import (
    BLUE,
    INK,
    PURPLE,
    VERMILION,
    Axes,
    Colormap,
    Drawing,
    colours,
    new_panels,
)
from papers.base import Column, Context, Figure, Result, Row, Table, rounded
from papers.datasets import Split
from papers.ep.exact import points_of_grid
from papers.ep.methods import CRITERIA, EP, METHODS, Method, Scores, fit_and_score
from papers.plots import paint

SIZES = (100, 500)  # the slide's
PRIOR_SCALE = 10.0  # the slide's τ
CENTRES = points_of_grid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5))  # the slide's 5 x 5 grid ...
WIDTHS = 0.1 * 2 ** (np.arange(9) / 2)  # ... at 9 resolutions, which we take from 0.1 to 1.6
FEATURES = {"densities": True, "bumps": False}  # whether the Gaussians are normalised
FLIPPED = 0.05  # share of the training labels that are wrong
N_TEST = 4000
FAR = np.array([[3.0, 3.0]])  # a point far from all data

# Under the tables of 100 and of 500 points.
CAPTIONS = (
    "The slides show pictures, without data or numbers. The data are ours; the "
    f"{N_TEST} test labels have no flips. Densities are the features of the slides: values of "
    "Gaussian densities, of which the narrow ones are high and so have the most influence. Bumps "
    "all have height 1. The verdict names the better method in error and log-loss.",
    "At (3, 3), far from the data, p should be close to 1/2. With densities it is; wide bumps "
    "extrapolate too far. The evidences log Z are those of two different models.",
)
AXIS = np.linspace(-1.6, 1.6, 81)  # somewhat more than the data's square [-1, 1]²
N_DRAWS = 4
PALE_BLUE, PALE_VERMILION = "#8cc0e0", "#f5b78c"  # points of full colour stand out from them
DEEP_PURPLE = "#4b1d40"
ROWS = {
    "probability": "probability of +1",
    "model": "model uncertainty",
    "data": "data uncertainty",
}

FIGURE_CAPTION = (
    "Top: predictive probability, training points, the boundary p = 1/2 (thick) and the boundaries "
    f"of {N_DRAWS} draws from the posterior (thin). Below, the entropy of a label in two parts: "
    "model uncertainty, which more data would reduce (mutual information of label and weights), "
    "and data uncertainty, which they would not (mean entropy given the weights). Dotted: the "
    "square that contains the data."
)


def run(context: Context) -> Result:
    """Both methods with both kinds of features on 100 and on 500 points."""
    seed = context.seed
    with context.part("the plane"):
        data = draw_data(seed)
        runs = solve_bumps(data)
        figures = [bumps_figure(runs, data, features, seed) for features in FEATURES]
    setting = (
        f"225 Gaussians on a 5 x 5 grid over [-1, 1]² at 9 widths from {WIDTHS[0]:g} to "
        f"{WIDTHS[-1]:g}, τ = {PRIOR_SCALE:g}, no intercept; labels sign(sin 3 x1 - 1.2 x2 + 0.2), "
        f"{100 * FLIPPED:.0f} % of them flipped, seed {seed}; the slides do not give their data"
    )
    return Result({"the plane": setting}, [bumps_table(n, runs) for n in SIZES], figures)


class BumpsRun(NamedTuple):
    """One method with one kind of features on n points."""

    n: int
    features: str
    method: Method
    machine: BayesPointClassifier
    scores: Scores
    far: float


def bumps(X: NDArray[np.float64], normalised: bool) -> NDArray[np.float64]:
    r"""Values of the 225 Gaussians at the points in the rows of X, shape (n, 225).

    .. math:: \exp\left(-|x - c|^2 / 2 \sigma^2\right) / (2 \pi \sigma^2)

    for every width :math:`\sigma` and every centre c; without the denominator if not normalised.
    """
    square = np.square(X[:, None] - CENTRES).sum(axis=2)
    values = np.exp(-square[:, None] / (2 * WIDTHS[:, None] ** 2))
    if normalised:
        values /= 2 * np.pi * WIDTHS[:, None] ** 2
    return values.reshape(len(X), -1)


def true_labels(X: NDArray[np.float64]) -> NDArray[np.int64]:
    """sign(sin 3 x1 - 1.2 x2 + 0.2)."""
    return np.where(np.sin(3 * X[:, 0]) - 1.2 * X[:, 1] + 0.2 > 0, 1, -1)


def draw_data(seed: int) -> Split:
    """Points from the square [-1, 1]²; some training labels are flipped, no test labels."""
    rng = np.random.default_rng(seed)
    X_train = rng.uniform(-1, 1, (max(SIZES), 2))
    flips = np.where(rng.random(len(X_train)) < FLIPPED, -1, 1)
    X_test = rng.uniform(-1, 1, (N_TEST, 2))
    return Split(X_train, flips * true_labels(X_train), X_test, true_labels(X_test))


def solve_bumps(data: Split) -> list[BumpsRun]:
    """Every method with both kinds of features on the first 100 and on all 500 points."""
    runs = []
    for n in SIZES:
        for features, normalised in FEATURES.items():
            X_train, X_test = (bumps(X, normalised) for X in (data.X_train[:n], data.X_test))
            split = Split(X_train, data.y_train[:n], X_test, data.y_test)
            for method in METHODS:
                machine, scores = fit_and_score(method, split, PRIOR_SCALE, intercept=False)
                far = float(machine.predict_proba(bumps(FAR, normalised))[0, 1])
                runs.append(BumpsRun(n, features, method, machine, scores, far))
    return runs


def bumps_table(n: int, runs: Sequence[BumpsRun]) -> Table:
    """Test scores, evidence, steps of the algorithm, and the prediction far from all data."""
    columns = (
        Column("error %"),
        Column("log-loss", 3),
        Column("log Z", 1),
        Column("steps", 0),
        Column("p(3, 3)"),
    )
    own = [run for run in runs if run.n == n]
    rows = [
        Row(
            f"{run.features}, {run.method.name}",
            (*run.scores.cells, run.far),
            verdict(run, own),
            run.scores.standard_errors,
        )
        for run in own
    ]
    caption = CAPTIONS[SIZES.index(n)]
    return Table(f"The plane: {n} points, 225 features", caption, columns, rows)


def verdict(run: BumpsRun, runs: Sequence[BumpsRun]) -> str:
    """In which score a machine is better than all others on the same points and features."""
    rivals = [one.scores for one in runs if one is not run and one.features == run.features]
    better = [
        name
        for name in ("error", "log-loss")
        if rivals and CRITERIA[name](run.scores) < min(map(CRITERIA[name], rivals))
    ]
    return f"better in {', '.join(better)}" if better else "not better"


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
    return Figure(f"plane-{features}", title, FIGURE_CAPTION, content, draw)


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


class Uncertainty(NamedTuple):
    """p(y = 1), and the entropy of y in bits: that of single weights, and what they disagree on."""

    probability: NDArray[np.float64]
    data: NDArray[np.float64]
    model: NDArray[np.float64]


def uncertainty(mean: NDArray, variance: NDArray) -> Uncertainty:
    r"""Split the entropy of labels whose outputs are :math:`f \sim N(m, v)`, with noise 1.

    .. math::

       H[y] = \underbrace{E_f\, H[y | f]}_{\text{data}}
            + \underbrace{I[y; f]}_{\text{model}}, \qquad
       p(y = 1) = \Phi\left(m / \sqrt{1 + v}\right).

    More data do not lessen the first part, they lessen the second.
    """
    likelihood = ProbitLikelihood()
    probability = ndtr(likelihood.predictive(mean, variance))
    entropy = (entr(probability) + entr(1 - probability)) / np.log(2)
    model = likelihood.information(mean, variance) / np.log(2)
    return Uncertainty(probability, np.maximum(entropy - model, 0.0), model)
