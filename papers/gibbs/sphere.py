"""Points on the sphere in three dimensions: Figure 4 of the kernel Gibbs sampler."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.exceptions import ChainsDisagreeWarning
from bayespoint.tools.plots import BLUE, VERMILION, Axes, Drawing, new_panels
from papers.base import Column, Context, Figure, Result, Table, rounded
from papers.verdicts import mean_row, standard_error

SIZES = (100, 1000)  # the paper's training and test sets
N_SETS = {"quick": 10, "full": 100}  # 100 in the paper
FLIPPED = 0.05  # the paper's q*, in training and in test labels
NOISES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4)
RIDGES = (1e-4, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
PLANE = np.array([-1.0, 0.0, 0.0])  # w* at longitude pi, on the equator

# The paper takes longitude and latitude from Beta(5, 5) and Beta(0.1, 0.1), without saying how they
# are scaled, nor which is measured from where.
CONVENTIONS = {
    "uniform": "uniform on the sphere, a control",
    "cluster": "polar angle π Beta(5, 5), azimuth 2π Beta(0.1, 0.1): w* points along the data",
    "poles": "azimuth 2π Beta(5, 5), polar angle π Beta(0.1, 0.1): w* lies across the data",
}
CAPTION = (
    "Mean error in % on 1000 test points with 5 % flipped labels, that is, at least 5. BPM: Bayes "
    "point of a Gibbs sampler with flip rate q; SVM: hard margin with the kernel "
    "x·x' + λ [x = x'], without an intercept. The paper says that the BPM at q = 0.05 beats the "
    "SVM at every λ. It does if the boundary between the classes cuts through the data, and not "
    "if w* points along them: there an SVM with a large λ, which is the mean of the classes, is "
    'hard to beat. The points of "poles" are so close to each other that no chain of this length '
    "covers the whole posterior."
)


def run(context: Context) -> Result:
    """All conventions of the data."""
    n_sets = N_SETS[context.mode]
    with context.part("sphere"):
        runs = [solve_sphere(convention, n_sets, context.seed) for convention in CONVENTIONS]
    setting = "; ".join(f"{name}: {text}" for name, text in CONVENTIONS.items())
    return Result({"sphere": setting}, [sphere_table(runs)], [sphere_figure(runs)])


class SphereRun(NamedTuple):
    """Test errors on all data sets of a convention, (n_sets, n_parameters)."""

    convention: str
    bpm: NDArray[np.float64]
    svm: NDArray[np.float64]


def from_angles(polar: NDArray, azimuth: NDArray) -> NDArray[np.float64]:
    """Unit vectors."""
    ring = np.sin(polar)
    return np.stack([ring * np.cos(azimuth), ring * np.sin(azimuth), np.cos(polar)], axis=-1)


def draw_points(convention: str, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points on the sphere."""
    if convention == "uniform":
        X = rng.normal(size=(n, 3))
        return X / np.linalg.norm(X, axis=1, keepdims=True)
    wide, narrow = rng.beta(0.1, 0.1, n), rng.beta(5, 5, n)
    if convention == "cluster":
        return from_angles(np.pi * narrow, 2 * np.pi * wide)
    return from_angles(np.pi * wide, 2 * np.pi * narrow)


def draw_set(
    convention: str, n: int, q: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points, and labels of w* of which a share q is flipped; both classes are there."""
    while True:
        X = draw_points(convention, n, rng)
        y = flipped(np.where(X @ PLANE > 0, 1, -1), q, rng)
        if abs(y.sum()) < n:
            return X, y


def flipped(y: NDArray, q: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels of which each is wrong with probability q."""
    return y * np.where(rng.random(len(y)) < q, -1, 1)


def bayes_point(q: float, seed: int) -> BayesPointClassifier:
    """The paper's machine: 100 samples of one chain."""
    engine = GibbsSampler(label_noise=q, n_samples=100, burn_in=300, thin=10, n_chains=1)
    return BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=seed
    )


def support_vectors(ridge: float) -> LinearSVC:
    """Hard margin in the space of k + lambda I: squared slack at the price 1 / (2 lambda)."""
    return LinearSVC(C=1 / (2 * ridge), fit_intercept=False, max_iter=20_000)


def solve_sphere(convention: str, n_sets: int, seed: int) -> SphereRun:
    """Figure 4: test errors over q and over lambda."""
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDisagreeWarning)  # 100 samples, as in the paper
        warnings.filterwarnings("ignore", message="Liblinear failed to converge")
        for number in range(n_sets):
            rng = np.random.default_rng((seed, number))
            train, test = (draw_set(convention, n, FLIPPED, rng) for n in SIZES)
            machines = [bayes_point(q, number) for q in NOISES]
            machines += [support_vectors(ridge) for ridge in RIDGES]
            errors.append([1 - machine.fit(*train).score(*test) for machine in machines])
    both = np.array(errors)
    return SphereRun(convention, both[:, : len(NOISES)], both[:, len(NOISES) :])


def sphere_table(runs: Sequence[SphereRun]) -> Table:
    """The BPM at the true flip rate beside the SVM at its best ridge, in hindsight."""
    at = NOISES.index(FLIPPED)
    rows = []
    for run in runs:
        bpm, best = run.bpm[:, at], run.svm[:, run.svm.mean(axis=0).argmin()]
        gap = 100 * (best - bpm)
        error = standard_error(gap)
        beats = "beats" if gap.mean() > 2 * error else "loses to"
        word = beats if abs(gap.mean()) > 2 * error else "ties with"
        values = np.column_stack([100 * bpm, 100 * best, gap])
        rows.append(mean_row(run.convention, values, f"the BPM {word} the best SVM"))
    columns = [Column("BPM, q = 0.05"), Column("SVM, best λ"), Column("SVM minus BPM")]
    title = f"Figure 4: label noise on the sphere, {len(runs[0].bpm)} data sets each"
    return Table(title, CAPTION, columns, rows)


def sphere_figure(runs: Sequence[SphereRun]) -> Figure:
    """Figure 4: test error over q and over lambda."""

    def draw() -> Drawing:
        drawing, axes = new_panels(1, len(runs), 10.0, 3.4)
        for ax, run in zip(axes[0], runs, strict=True):
            twin = ax.twiny()
            draw_errors(ax, NOISES, run.bpm, BLUE, "o-")
            draw_errors(twin, RIDGES, run.svm, VERMILION, "s--")
            ax.set_xlabel("q of the BPM", color=BLUE)
            twin.set_xlabel(f"λ of the SVM; data: {run.convention}", color=VERMILION)
            twin.grid(False)
        axes[0, 0].set_ylabel("test error, %")
        return drawing

    data = {
        "q": list(NOISES),
        "lambda": list(RIDGES),
        "errors": [
            {"data": run.convention, "bpm": rounded(run.bpm), "svm": rounded(run.svm)}
            for run in runs
        ],
    }
    caption = "Mean test error and its standard error; BPM (circles, below), SVM (squares, above)."
    return Figure("gibbs-noise", "Figure 4: Bayes point and SVM", caption, data, draw)


def draw_errors(ax: Axes, x: Sequence[float], errors: NDArray, colour: str, style: str) -> None:
    """Means over data sets, with their standard errors."""
    mean = 100 * errors.mean(axis=0)
    spread = [*map(standard_error, 100 * errors.T)]
    ax.errorbar(x, mean, spread, fmt=style, color=colour, markersize=4)
    ax.set_xscale("log")
