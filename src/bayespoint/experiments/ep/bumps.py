"""The slides' example in the plane: 225 Gaussian bumps as features, 100 and 500 points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier import BayesPointClassifier
from bayespoint.datasets import Split
from bayespoint.experiments.base import Column, Row, Table
from bayespoint.experiments.ep.exact import points_of_grid
from bayespoint.experiments.ep.methods import METHODS, Method, Scores, fit_and_score

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
    better = []
    if rivals and run.scores.error < min(scores.error for scores in rivals):
        better.append("error")
    if rivals and run.scores.log_loss < min(scores.log_loss for scores in rivals):
        better.append("log-loss")
    return f"better in {', '.join(better)}" if better else "not better"
