"""76 points in the plane: Figure 3 of the kernel Gibbs sampler, and evidence."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import GibbsSampler
from bayespoint.exceptions import ChainsDisagreeWarning
from bayespoint.posteriors import ChainPosterior
from bayespoint.tools.plots import (
    BLUE,
    GREEN,
    INK,
    PURPLE,
    VERMILION,
    Drawing,
    new_axes,
    new_panels,
)
from papers.base import Column, Context, Figure, Result, Row, Table, rounded
from papers.ep.exact import points_of_grid

SIZE = 38  # points of each class; the paper has 76 in all, and does not give them
TEST_SIZE = 5000  # points of each class to test on
CENTRE = (0.9, -0.4)  # of the second class; the first is opposite
SPREAD = 0.7
WIDTH = 1.0  # of exp(-|x - x'|^2 / 2 width^2), the paper's kernel
NOISES = (0.001, 0.05, 0.2, 0.4)
WIDTHS = (0.3, 1.0, 3.0)
RATES = np.geomspace(0.001, 0.5, 40)  # flip rates of the curves of evidence
AXIS = np.linspace(-3, 3, 61)
N_SHOWN = 50  # classifiers, as in the paper
THIN = {"quick": 1000, "full": 10_000}  # moves between samples ...
EVIDENCE_THIN = {"quick": 20, "full": 100}  # ... and for the evidence, which makes many more
LINES = ((BLUE, "-"), (VERMILION, "--"), (GREEN, ":"), (PURPLE, "-."))


def run(context: Context) -> Result:
    """Classifiers over label noise, and the evidence of flip rates and widths."""
    with context.part("plane"):
        X, y = draw_data(context.seed)
        diversity = solve_diversity(X, y, THIN[context.mode], context.seed)
        evidence = solve_evidence(X, y, EVIDENCE_THIN[context.mode], context.seed)
    setting = (
        f"{2 * SIZE} points from two Gaussians, kernel exp(-|x - x'|² / 2 width²); the paper does "
        "not give its data"
    )
    tables = [diversity_table(diversity), evidence_table(evidence)]
    figures = [diversity_figure(diversity, X, y), evidence_figure(evidence)]
    return Result({"plane": setting}, tables, figures)


class Diversity(NamedTuple):
    """What 50 classifiers have in common at flip rate q."""

    q: float
    training_errors: float
    disagreement: float
    on_grid: float
    r_hat: float
    outputs: NDArray[np.float64]  # (N_SHOWN, len(AXIS)^2)


class WidthEvidence(NamedTuple):
    """Evidence over flip rates for one width of the kernel."""

    width: float
    log_evidence: NDArray[np.float64]  # at RATES
    best_rate: float
    best: float
    error: float
    test_error: float  # of the Bayes point at the best rate, in %
    test_errors: list[float]  # at NOISES
    r_hat: float  # the largest of all chains


def draw_data(seed: int, size: int = SIZE) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two overlapping classes, so many points of each."""
    rng = np.random.default_rng((seed, 7))
    centre = np.array(CENTRE)
    X = np.vstack([rng.normal(sign * centre, SPREAD, (size, 2)) for sign in (-1, 1)])
    return X, np.repeat([-1, 1], size)


def machine(width: float, seed: int, **parameters: object) -> BayesPointClassifier:
    """The Gibbs sampler with a kernel of this width."""
    return BayesPointClassifier(
        kernel="rbf",
        gamma=1 / (2 * width**2),
        engine=GibbsSampler(**parameters),  # type: ignore[arg-type]
        temperature=1.0,
        random_state=seed,
        n_jobs=-1,
    )


def fit(clf: BayesPointClassifier, X: NDArray, y: NDArray) -> float:
    """Fit without a warning, and return R-hat, which the tables show instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDisagreeWarning)
        clf.fit(X, y)
    return float(np.max(clf.run_.measures["r_hat"]))


def solve_diversity(X: NDArray, y: NDArray, thin: int, seed: int) -> list[Diversity]:
    """Figure 3: how far classifiers disagree, for several flip rates."""
    grid = points_of_grid(AXIS, AXIS)
    runs = []
    for q in NOISES:
        clf = machine(
            WIDTH,
            seed,
            label_noise=q,
            burn_in=10 * thin,
            thin=thin,
            n_samples=200,
        )
        r_hat = fit(clf, X, y)
        signs = np.sign(clf.sample_outputs(X)[:, :, 0])
        outputs = clf.sample_outputs(grid)[:, ::4, 0]
        runs.append(
            Diversity(
                q,
                float((signs != y[:, None]).sum(axis=0).mean()),
                pairs_that_differ(signs),
                pairs_that_differ(np.sign(outputs)),
                r_hat,
                outputs[:, :N_SHOWN].T,
            )
        )
    return runs


def pairs_that_differ(signs: NDArray) -> float:
    """Share of pairs of classifiers, and of points, with different answers."""
    share = (signs > 0).mean(axis=1)
    n = signs.shape[1]
    return float(np.mean(2 * share * (1 - share)) * n / (n - 1))


def diversity_table(runs: Sequence[Diversity]) -> Table:
    """Figure 3 in numbers."""
    grows = [a.disagreement < b.disagreement for a, b in pairwise(runs)]
    verdicts = ["least noise", *("more diverse" if more else "not more diverse" for more in grows)]
    rows = [
        Row(
            f"q = {run.q:g}",
            [run.training_errors, 100 * run.disagreement, 100 * run.on_grid, run.r_hat],
            words,
        )
        for run, words in zip(runs, verdicts, strict=True)
    ]
    caption = (
        "The paper says that more noise makes classifiers more diverse on the training set: "
        f"{'this holds' if all(grows) else 'this does not hold here'}. Its data are not printed; "
        "these are ours. Disagreement is the share of pairs of classifiers that differ, in %, on "
        "the training points and on a grid over [-3, 3]². With hardly any noise, few moves are "
        "possible between the classifiers that fit best: chains of this length then do not agree "
        "(R-hat well above 1), and the row depends on the seed."
    )
    names = ("training errors", "disagreement", "on the grid", "R-hat")
    columns = [Column(name) for name in names]
    return Table("Figure 3: diversity over label noise, 76 points", caption, columns, rows)


def solve_evidence(X: NDArray, y: NDArray, thin: int, seed: int) -> list[WidthEvidence]:
    """Evidence of flip rates and widths, one run for each width; and what they are good for."""
    test = draw_data(seed + 1, TEST_SIZE)

    def error_of(clf: BayesPointClassifier) -> float:
        return 100 * (1 - float(clf.score(*test)))

    runs = []
    for width in WIDTHS:
        clf = machine(width, seed, label_noise="auto", burn_in=100 * thin, thin=thin)
        others = [
            machine(width, seed, label_noise=q, burn_in=100 * thin, thin=10 * thin, n_samples=200)
            for q in NOISES
        ]
        r_hat = max(fit(one, X, y) for one in (clf, *others))
        posterior = clf.posterior_
        assert isinstance(posterior, ChainPosterior)
        curve = np.array([posterior.log_evidence_at(q)[0] for q in RATES])
        runs.append(
            WidthEvidence(
                width,
                curve,
                float(posterior.label_noise[0]),
                float(clf.log_evidence_[0]),
                float(posterior.log_evidence_error[0]),
                error_of(clf),
                [error_of(other) for other in others],
                r_hat,
            )
        )
    return runs


def evidence_table(runs: Sequence[WidthEvidence]) -> Table:
    """The best flip rate of every width."""
    largest = max(runs, key=lambda run: run.best)
    rows = [
        Row(
            f"width {run.width:g}",
            [run.best_rate, run.best, run.test_error, *run.test_errors],
            verdict(run, largest),
            [None, run.error],
        )
        for run in runs
    ]
    columns = [Column("best q", 3), Column("log evidence"), Column("error %", 1)]
    columns += [Column(f"q = {q:g}", 1) for q in NOISES]
    caption = (
        "log p(labels) at the flip rate of the largest evidence, the test error of the Bayes point "
        f"there, and at other flip rates, in % of {2 * TEST_SIZE} points (standard error 0.3). The "
        "paper proposes the sampler for this and gives no estimator; here one run over 25 noise "
        f"levels gives the evidence for all q. R-hat of all chains is at most "
        f"{max(run.r_hat for run in runs):.2f}."
    )
    return Table("Model selection: evidence over q and width", caption, columns, rows)


def verdict(run: WidthEvidence, largest: WidthEvidence) -> str:
    """How far the evidence is from the largest, in standard errors of the difference."""
    if run is largest:
        return "largest evidence"
    distance = (largest.best - run.best) / max(np.hypot(run.error, largest.error), 1e-12)
    return f"smaller, by {distance:.1f} standard errors"


def diversity_figure(runs: Sequence[Diversity], X: NDArray, y: NDArray) -> Figure:
    """Figure 3: borders of 50 classifiers for several flip rates."""

    def draw() -> Drawing:
        drawing, axes = new_panels(1, len(runs), 11.0, 3.1, shared=True)
        for ax, run in zip(axes[0], runs, strict=True):
            for outputs in run.outputs:
                square = outputs.reshape(len(AXIS), len(AXIS))
                ax.contour(AXIS, AXIS, square, levels=[0], colors=INK, linewidths=0.3, alpha=0.5)
            for label, colour, marker in ((1, BLUE, "o"), (-1, VERMILION, "x")):
                ax.scatter(*X[y == label].T, s=14, color=colour, marker=marker, zorder=3)
            ax.set_title(f"q = {run.q:g}")
            ax.grid(False)
        return drawing

    data = {
        "X": rounded(X),
        "y": y.tolist(),
        "axis": rounded(AXIS, 2),
        "classifiers": [{"q": run.q, "outputs": rounded(run.outputs, 3)} for run in runs],
    }
    caption = f"Decision boundaries of {N_SHOWN} posterior samples for each flip rate q."
    return Figure("gibbs-diversity", "Figure 3: classifiers over label noise", caption, data, draw)


def evidence_figure(runs: Sequence[WidthEvidence]) -> Figure:
    """Evidence over the flip rate, a curve for each width."""

    def draw() -> Drawing:
        drawing, ax = new_axes()
        for run, (colour, line) in zip(runs, LINES, strict=False):
            label = f"width {run.width:g}"
            ax.plot(RATES, run.log_evidence, line, color=colour, label=label)
            ax.plot(run.best_rate, run.best, "o", color=colour)
        ax.set_xscale("log")
        ax.set_xlabel("flip rate q")
        ax.set_ylabel("log evidence")
        ax.legend()
        return drawing

    data = {
        "q": rounded(RATES, 5),
        "log_evidence": {f"{run.width:g}": rounded(run.log_evidence, 3) for run in runs},
    }
    caption = "Log evidence of 76 points against the flip rate; dots mark the maxima."
    return Figure("gibbs-evidence", "Evidence over q and width", caption, data, draw)
