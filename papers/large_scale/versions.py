"""Figure 1: perceptrons as samples of version space, beside samplers that are exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import BilliardSampler, Engine, GibbsSampler, PermutedPerceptron
from bayespoint.tools.plots import BLUE, GREEN, INK, PURPLE, VERMILION, Drawing, new_panels
from papers.base import Column, Context, Figure, Result, Row, Table, percent
from papers.datasets import Split
from papers.large_scale.problem import Problem
from papers.verdicts import standard_error

SIZES = (188, 453)  # the paper's training and test digits of the classes 1 and 2
N_SAMPLES = {"quick": 200, "full": 1000}  # 1000 in the paper
THIN = {"quick": 10, "full": 40}  # moves, each of all outputs, or arc lengths of the billiard
DIGITS = (1, 2)
SAMPLERS = ((VERMILION, "-", "o"), (BLUE, "-", "."), (GREEN, ":", "s"), (PURPLE, "--", "D"))
N_QUANTILES = 100


def run(context: Context, problem: Problem) -> Result:
    """Samples of all engines on two of the digits."""
    with context.part("samples of version space"):
        few = ones_and_twos(problem.split.X_train, problem.split.y_train)
        runs = solve_versions(context, few, problem.gamma)
    return Result({}, [versions_table(few, runs)], [versions_figure(runs)])


class Errors(NamedTuple):
    """Test errors of single samples."""

    name: str
    errors: NDArray[np.float64]
    n_test: int


def ones_and_twos(X: NDArray, y: NDArray) -> Split:
    """The first ones and twos, as many as the paper has, or fewer in the same proportion."""
    two = np.flatnonzero(np.isin(y, DIGITS))[: sum(SIZES)]
    n = len(two) * SIZES[0] // sum(SIZES)
    X, y = X[two].astype(np.float64), y[two]
    return Split(X[:n], y[:n], X[n:], y[n:])


def solve_versions(context: Context, split: Split, gamma: float) -> list[Errors]:
    """Errors of samples from version space, by three engines."""
    n, thin = N_SAMPLES[context.mode], THIN[context.mode]
    engines: dict[str, Engine] = {
        "perceptron": PermutedPerceptron(n_samples=n),
        "Gibbs": GibbsSampler(label_noise=0, n_samples=n, burn_in=10 * thin, thin=thin),
        "Gibbs, another run": GibbsSampler(
            label_noise=0, n_samples=n, burn_in=10 * thin, thin=thin
        ),
        "billiard": BilliardSampler(n_samples=n, thin=5 * thin),
    }
    runs = []
    for number, (name, engine) in enumerate(engines.items()):
        clf = BayesPointClassifier(
            kernel="poly", degree=5, gamma=gamma, engine=engine, random_state=context.seed + number
        )
        clf.fit(split.X_train, split.y_train)
        answers = clf.classes_[(clf.sample_outputs(split.X_test)[:, :, 0] > 0).astype(int)]
        runs.append(Errors(name, (answers != split.y_test[:, None]).mean(axis=0), len(answers)))
    return runs


def versions_table(split: Split, runs: Sequence[Errors]) -> Table:
    """Quantiles of the errors, and the distance of their laws from that of the Gibbs sampler."""
    gibbs = runs[1].errors
    n = len(gibbs)
    critical = 1.358 * np.sqrt(2 / n)  # 5 %, two samples of this size
    rows = []
    for run in runs:
        quantiles = np.quantile(run.errors, (0.05, 0.5, 0.95))
        distance = None if run.errors is gibbs else float(ks_2samp(run.errors, gibbs).statistic)
        verdict = "reference"
        if distance is not None:
            verdict = "the same distribution" if distance < critical else "another distribution"
        values = [*100 * quantiles, 100 * run.errors.mean(), distance]
        spread = [None, None, None, standard_error(100 * run.errors)]
        rows.append(Row(run.name, values, verdict, spread))
    caption = (
        f"The first ones and twos, {len(split.y_train)} to train and {len(split.y_test)} to test, "
        f"the plain kernel, {n} samples each; test errors of single samples in %, and the "
        f"Kolmogorov-Smirnov distance to that of the Gibbs sampler (above {critical:.3f} the "
        "distributions differ at 5 %). This bound and the standard errors assume independent "
        "samples, but those of a chain are correlated. The paper finds perceptron and Gibbs "
        "sampler very similar, by a straight line in a quantile plot. A straight line need not be "
        "the diagonal."
    )
    columns = [Column(name) for name in ("5 % quantile", "median", "95 %", "mean", "KS")]
    return Table("Figure 1: errors of samples of version space", caption, columns, rows)


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
                100 * run.errors,
                edges,
                histtype="step",
                color=colour,
                linestyle=line,
                linewidth=1.5,
                label=run.name,
            )
            if run is not runs[1]:
                quantile_plot.plot(
                    reference,
                    quantiles[run.name],
                    marker,
                    color=colour,
                    markersize=4,
                    label=run.name,
                )
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
