"""Figures of the experiments with the kernel Gibbs sampler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bayespoint.active import LearningCurveDisplay
from bayespoint.experiments.base import Figure, rounded
from bayespoint.experiments.gibbs import plane, posterior, sphere
from bayespoint.experiments.gibbs.curves import Curves
from bayespoint.experiments.gibbs.plane import Diversity, WidthEvidence
from bayespoint.experiments.gibbs.posterior import SpherePosterior
from bayespoint.experiments.gibbs.sphere import SphereRun
from bayespoint.experiments.verdicts import standard_error
from bayespoint.plots import colours, new_axes, new_panels, paint
from bayespoint.plots.style import BLUE, GREEN, INK, PURPLE, VERMILION, Axes, Drawing

LINES = ((BLUE, "-"), (VERMILION, "--"), (GREEN, ":"), (PURPLE, "-."))


def posterior_figure(posteriors: Sequence[SpherePosterior]) -> Figure:
    """Figure 1: the log posterior on the sphere, for few points and for many, and samples of it."""
    longitude = np.linspace(0, 360, posterior.GRID)
    latitude = np.linspace(-90, 90, posterior.GRID)

    def draw() -> Drawing:
        drawing, axes = new_panels(2, len(posteriors), 9.2, 5.6)
        for (exact, sampled), run in zip(axes.T, posteriors, strict=True):
            image = paint(
                exact, run.log_posterior, longitude, latitude,
                cmap=colours("white", BLUE, INK).reversed(), aspect="auto",
            )  # fmt: skip
            drawing.colorbar(image, ax=exact)
            exact.set_title(f"m = {run.m}")
            east, north = posterior.angles(run.draws.reshape(-1, 3))
            sampled.plot(east, north, ".", color=VERMILION, markersize=2, alpha=0.4)
            sampled.set(xlim=(0, 360), ylim=(-90, 90), xlabel="longitude")
            drawing.colorbar(image, ax=sampled).ax.set_visible(False)  # keep both as wide
        axes[0, 0].set_ylabel("latitude, exact")
        axes[1, 0].set_ylabel("latitude, sampled")
        return drawing

    data = {
        "longitude": rounded(longitude, 1),
        "latitude": rounded(latitude, 1),
        "log_posterior": {str(run.m): rounded(run.log_posterior, 2) for run in posteriors},
    }
    caption = (
        "Log posterior of the weight vector, up to a constant, with 20 % label noise: piecewise "
        "constant, with several peaks for few points and one for many. Below, draws of the "
        "sampler. The true weights are at longitude 180, latitude 0."
    )
    return Figure("gibbs-posterior", "Figure 1: the posterior on the sphere", caption, data, draw)


def diversity_figure(runs: Sequence[Diversity], X: NDArray, y: NDArray) -> Figure:
    """Figure 3: borders of 50 classifiers for several flip rates."""
    axis = plane.AXIS

    def draw() -> Drawing:
        drawing, axes = new_panels(1, len(runs), 11.0, 3.1, shared=True)
        for ax, run in zip(axes[0], runs, strict=True):
            for outputs in run.outputs:
                square = outputs.reshape(len(axis), len(axis))
                ax.contour(axis, axis, square, levels=[0], colors=INK, linewidths=0.3, alpha=0.5)
            for label, colour, marker in ((1, BLUE, "o"), (-1, VERMILION, "x")):
                ax.scatter(*X[y == label].T, s=14, color=colour, marker=marker, zorder=3)
            ax.set_title(f"q = {run.q:g}")
            ax.grid(False)
        return drawing

    data = {
        "X": rounded(X),
        "y": y.tolist(),
        "axis": rounded(axis, 2),
        "classifiers": [{"q": run.q, "outputs": rounded(run.outputs, 3)} for run in runs],
    }
    caption = f"Decision boundaries of {plane.N_SHOWN} posterior samples for each flip rate q."
    return Figure("gibbs-diversity", "Figure 3: classifiers over label noise", caption, data, draw)


def sphere_figure(runs: Sequence[SphereRun]) -> Figure:
    """Figure 4: test error over q and over lambda."""

    def draw() -> Drawing:
        drawing, axes = new_panels(1, len(runs), 10.0, 3.4)
        for ax, run in zip(axes[0], runs, strict=True):
            twin = ax.twiny()
            draw_errors(ax, sphere.NOISES, run.bpm, BLUE, "o-")
            draw_errors(twin, sphere.RIDGES, run.svm, VERMILION, "s--")
            ax.set_xlabel("q of the BPM", color=BLUE)
            twin.set_xlabel(f"λ of the SVM; data: {run.convention}", color=VERMILION)
            twin.grid(False)
        axes[0, 0].set_ylabel("test error, %")
        return drawing

    data = {
        "q": list(sphere.NOISES),
        "lambda": list(sphere.RIDGES),
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


def curves_figure(runs: Sequence[Curves]) -> Figure:
    """Test error over the number of labels, asked for or taken at random."""

    def draw() -> Drawing:
        drawing, axes = new_panels(1, len(runs), 9.2, 3.6, shared=True)
        for ax, run in zip(axes[0], runs, strict=True):
            for name, errors, (colour, line) in (
                ("random", run.random, LINES[1]),
                ("largest entropy", run.active, LINES[0]),
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


def evidence_figure(runs: Sequence[WidthEvidence]) -> Figure:
    """Evidence over the flip rate, a curve for each width."""

    def draw() -> Drawing:
        drawing, ax = new_axes()
        for run, (colour, line) in zip(runs, LINES, strict=False):
            label = f"width {run.width:g}"
            ax.plot(plane.RATES, run.log_evidence, line, color=colour, label=label)
            ax.plot(run.best_rate, run.best, "o", color=colour)
        ax.set_xscale("log")
        ax.set_xlabel("flip rate q")
        ax.set_ylabel("log evidence")
        ax.legend()
        return drawing

    data = {
        "q": rounded(plane.RATES, 5),
        "log_evidence": {f"{run.width:g}": rounded(run.log_evidence, 3) for run in runs},
    }
    caption = "Log evidence of 76 points against the flip rate; dots mark the maxima."
    return Figure("gibbs-evidence", "Evidence over q and width", caption, data, draw)
