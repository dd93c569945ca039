"""Active learning: labels asked for where the votes are split, against labels taken at random."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from bayespoint.active import LearningCurveDisplay, learn_actively
from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.exceptions import ChainsDisagreeWarning
from bayespoint.tools.plots import BLUE, VERMILION, Drawing, new_panels
from papers.base import Column, Context, Figure, Result, Table, rounded
from papers.gibbs.sphere import flipped
from papers.verdicts import mean_row

DIMENSION, N_POOL, N_TEST = 10, 300, 1000
NOISES = (0.0, 0.05)  # share of labels that the oracle flips; the sampler knows it
N_SETS = {"quick": 4, "full": 30}
N_LABELS = {"quick": 10, "full": 41}  # at the end
THIN = {"quick": 10, "full": 30}  # moves between samples
LEVEL = 0.05  # of the test whether it pays
ENOUGH_SETS = 10  # data sets, for a verdict
SHOWN = (2, 5, 10, 20, 30, 41)  # labels in the table


def run(context: Context) -> Result:
    """Learning curves of both strategies."""
    mode = context.mode
    with context.part("active learning"):
        runs = solve_curves(N_SETS[mode], N_LABELS[mode], THIN[mode], context.seed)
    return Result({}, [curves_table(runs)], [curves_figure(runs)])


class Curves(NamedTuple):
    """Test errors after each label, (n_sets, n_fits); row i of both has the same data and start."""

    q: float
    n_labels: NDArray[np.intp]
    active: NDArray[np.float64]
    random: NDArray[np.float64]


class Task(NamedTuple):
    """A pool, the labels that the oracle gives, and clean test points."""

    X: NDArray[np.float64]
    labels: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def draw_task(q: float, rng: np.random.Generator) -> Task:
    """Points uniform on the sphere, cut by a plane through its centre; the pool's labels flip."""
    X = rng.normal(size=(N_POOL + N_TEST, DIMENSION))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X @ rng.normal(size=DIMENSION) > 0, 1, -1)
    return Task(X[:N_POOL], flipped(y[:N_POOL], q, rng), X[N_POOL:], y[N_POOL:])


def solve_curves(n_sets: int, n_labels: int, thin: int, seed: int) -> list[Curves]:
    """Learning curves of both strategies for every flip rate, on the same points."""
    runs = []
    for q in NOISES:
        errors: dict[str, list] = {"entropy": [], "random": []}
        for number in range(n_sets):
            task = draw_task(q, np.random.default_rng((seed, 11, number)))
            for strategy, found in errors.items():
                found.append(learn(task, strategy, n_labels, machine(q, thin, number), number))
        active, random = (np.array(errors[strategy]) for strategy in ("entropy", "random"))
        runs.append(Curves(q, np.arange(2, n_labels + 1), active, random))
    return runs


def machine(q: float, thin: int, seed: int) -> BayesPointClassifier:
    """The Gibbs sampler that knows the flip rate."""
    engine = GibbsSampler(label_noise=q, n_samples=400, burn_in=30 * thin, thin=thin)
    return BayesPointClassifier(
        kernel="linear", temperature=1.0, engine=engine, fit_intercept=False, random_state=seed
    )


def learn(
    task: Task, strategy: str, n_labels: int, clf: BayesPointClassifier, seed: int
) -> NDArray[np.float64]:
    """Test errors with 2, 3, ..., n_labels labels, of which the first two are one of each class."""
    with warnings.catch_warnings():
        # Many labels, well chosen, leave a region so thin that chains this short often disagree. On
        # eight sets of 41 labels their test errors were within a point of chains 30 times as long.
        warnings.simplefilter("ignore", ChainsDisagreeWarning)
        curve = learn_actively(
            clf,
            task.X,
            lambda indices: task.labels[indices],
            n_queries=n_labels - 2,
            start=[int(np.argmax(task.labels == label)) for label in (-1, 1)],
            strategy=strategy,
            X_test=task.X_test,
            y_test=task.y_test,
            random_state=seed,
        )
    assert curve.scores is not None
    return 1 - curve.scores


def curves_table(runs: Sequence[Curves]) -> Table:
    """Mean errors, and the differences of the two strategies on the same data."""
    shown = np.intersect1d(SHOWN, runs[0].n_labels)
    rows = []
    for run in runs:
        at = np.isin(run.n_labels, shown)
        random, active = 100 * run.random[:, at], 100 * run.active[:, at]
        gap = random - active
        for name, errors, verdict in (
            ("random", random, ""),
            ("largest entropy", active, ""),
            ("random minus entropy", gap, judge(gap[:, -1])),
        ):
            rows.append(mean_row(f"q = {run.q:g}, {name}", errors, verdict))
    caption = (
        "Mean error in % on clean test points, by the number of labels; "
        f"{DIMENSION} features, a pool of {N_POOL} points on the sphere, {len(runs[0].active)} "
        "data sets; q is the share of labels flipped. Both strategies start from the same two "
        "points, one of each class. The paper says that the entropy of the vote shows how "
        "informative a label is; it prints no curve and no number. The verdict is on the last "
        f"column, at the level of {100 * LEVEL:.0f} %."
    )
    columns = [Column(f"{n} labels") for n in shown]
    return Table("Active learning: entropy against random", caption, columns, rows)


def judge(gap: NDArray) -> str:
    """Whether it pays to ask, from the errors of random less those of active learning."""
    if len(gap) < ENOUGH_SETS:
        return "too few data sets to tell"
    if not ttest_1samp(gap, 0).pvalue < LEVEL:
        return "no difference beyond chance"
    return "it pays to ask: the claim holds" if gap.mean() > 0 else "random labels are better"


def curves_figure(runs: Sequence[Curves]) -> Figure:
    """Test error over the number of labels, asked for or taken at random."""

    def draw() -> Drawing:
        drawing, axes = new_panels(1, len(runs), 9.2, 3.6, shared=True)
        for ax, run in zip(axes[0], runs, strict=True):
            for name, errors, colour, line in (
                ("random", run.random, VERMILION, "--"),
                ("largest entropy", run.active, BLUE, "-"),
            ):
                display = LearningCurveDisplay(run.n_labels, 100 * errors, name=name)
                display.plot(ax, color=colour, linestyle=line)
            ax.set_title(f"q = {run.q:g}")
            ax.set_xlabel("labels")
            ax.set_ylabel("")
        axes[0, 0].set_ylabel("test error, %")
        axes[0, 0].set_ylim(bottom=0)
        return drawing

    data = {
        "n_labels": runs[0].n_labels.tolist(),
        "errors": [
            {"q": run.q, "entropy": rounded(run.active), "random": rounded(run.random)}
            for run in runs
        ],
    }
    caption = (
        "Mean error on clean test points, with a band of one standard error; a share q of the "
        "labels is flipped. Points are queried by the entropy of the vote, or at random."
    )
    return Figure("gibbs-active", "Active learning: learning curves", caption, data, draw)
