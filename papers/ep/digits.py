"""Digits "1" against "8" and "1" against "9": weights as images, and the scale of the prior."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bayespoint.tools.plots import BLUE, GREEN, VERMILION, Axes, Drawing, colours, new_panels
from papers.base import Column, Context, Figure, Result, Row, Table, rounded
from papers.datasets import Split, load_mnist
from papers.ep.methods import CRITERIA, EP, METHODS, Method, Scores, fit_and_score
from papers.verdicts import two_errors_around

PAIRS = ((1, 8), (1, 9))  # the slide's
VARIANCES = (0.01, 0.1, 1.0, 10.0, 100.0)  # τ²; the slide names none
SHOWN = 1.0  # τ² of the images
DEEP_GREEN = "#00382a"
MARKERS = "os^v"
ROWS = {"log_evidence": "log Z", "log_loss": "log-loss on the test set"}


class Pair(NamedTuple):
    """Images of two digits."""

    digits: tuple[int, int]
    split: Split

    @property
    def name(self) -> str:
        """Such as "1 against 8"."""
        return f"{self.digits[0]} against {self.digits[1]}"


class DigitsRun(NamedTuple):
    """One method with one scale of the prior on one pair."""

    pair: Pair
    method: Method
    variance: float
    scores: Scores


class Weights(NamedTuple):
    """Posterior mean and variance of the weight of every pixel, as images."""

    pair: Pair
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def run(context: Context, words: str, pairs: Sequence[Pair]) -> Result:
    """Both methods with all scales of the prior on both pairs, which ``words`` describe."""
    with context.part("digits"):
        runs, weights = solve_digits(context, pairs)
    setting = f"{words}; with an intercept, τ² from {VARIANCES[0]:g} to {VARIANCES[-1]:g}"
    tables = [digits_table(pair, runs) for pair in pairs]
    return Result({"digits": setting}, tables, [weights_figure(weights), scales_figure(runs)])


def load_pairs(context: Context) -> tuple[str, list[Pair]]:
    """The slide's digits, or small ones; and which, in words."""
    if context.full:
        data, words = load_mnist(context.data), "MNIST, pixels from 0 to 1"
    else:
        X, y = load_digits(return_X_y=True)
        data = Split(X[:1000] / 16, y[:1000], X[1000:] / 16, y[1000:])
        words = "scikit-learn's digits of 8 x 8 pixels from 0 to 1, not the slides' MNIST"
    pairs = [select(data, digits) for digits in PAIRS]
    sizes = [f"{len(p.split.X_train)} and {len(p.split.X_test)} of {p.name}" for p in pairs]
    return f"{words}; images to train and to test: {', '.join(sizes)}", pairs


def select(data: Split, digits: tuple[int, int]) -> Pair:
    """All images of two digits."""
    train, test = (np.isin(y, digits) for y in (data.y_train, data.y_test))
    images = Split(data.X_train[train], data.y_train[train], data.X_test[test], data.y_test[test])
    return Pair(digits, images)


def solve_digits(context: Context, pairs: Sequence[Pair]) -> tuple[list[DigitsRun], list[Weights]]:
    """Every method with every scale on every pair, and EP's weights for one of the scales."""
    runs, weights = [], []
    for pair in pairs:
        for method in METHODS:
            for variance in VARIANCES:
                context.tell(f"{pair.name}, {method.name}, τ² = {variance:g}")
                machine, scores = fit_and_score(method, pair.split, sqrt(variance), intercept=True)
                runs.append(DigitsRun(pair, method, variance, scores))
                if method is EP and variance == SHOWN:
                    posterior: Any = machine.posterior_
                    spread = np.square(posterior.factor[0]).sum(axis=1)  # diag F F^T
                    weights.append(as_images(pair, posterior.mean[:, 0], spread))
    return runs, weights


def as_images(pair: Pair, mean: NDArray, variance: NDArray) -> Weights:
    """Weights of the pixels as squares; the last weight is the intercept and no pixel."""
    side = isqrt(len(mean) - 1)
    return Weights(pair, mean[:-1].reshape(side, -1), variance[:-1].reshape(side, -1))


def digits_table(pair: Pair, runs: Sequence[DigitsRun]) -> Table:
    """Scores of one pair, every method over all scales."""
    columns = (Column("error %"), Column("log-loss", 4), Column("log Z", 1), Column("steps", 0))
    own = [run for run in runs if run.pair is pair]
    rows = [
        Row(
            f"{run.method.name}, τ² = {run.variance:g}",
            run.scores.cells,
            verdict(run, own),
            run.scores.standard_errors,
        )
        for run in own
    ]
    return Table(f"Digits: {pair.name}", table_caption(pair, own), columns, rows)


def best(runs: Sequence[DigitsRun], method: Method, criterion: str) -> DigitsRun:
    """The run of a method that a criterion chooses; the smaller scale, if two are equal."""
    own = [run for run in runs if run.method is method]
    return min(own, key=lambda run: CRITERIA[criterion](run.scores))


def verdict(run: DigitsRun, runs: Sequence[DigitsRun]) -> str:
    """Criteria by which this scale is the best of its method."""
    chosen = [name for name in CRITERIA if best(runs, run.method, name) is run]
    return f"best in {', '.join(chosen)}" if chosen else ""


def table_caption(pair: Pair, runs: Sequence[DigitsRun]) -> str:
    """What the choice by evidence costs, and how much of it may be chance."""
    n = len(pair.split.y_test)
    sentences = []
    for method in dict.fromkeys(run.method for run in runs):
        chosen, fewest = (best(runs, method, name) for name in ("evidence", "error"))
        errors, least = (round(n * run.scores.error) for run in (chosen, fewest))
        words = f"{method.name}'s evidence chooses τ² = {chosen.variance:g}, with {errors} errors"
        if errors > least:
            words += f"; the minimum is {least}, at τ² = {fewest.variance:g}"
        sentences.append(f"{words}.")
    low, high = two_errors_around(best(runs, EP, "evidence").scores.error, n)
    rates = [run.scores.error for run in runs if run.method is EP]
    near = sum(low <= rate <= high for rate in rates)
    return (
        f"{' '.join(sentences)} With {n} test images, {near} of EP's {len(rates)} error rates lie "
        f"within two standard errors of the chosen one ({100 * low:.2f} to {100 * high:.2f} %). "
        "The slides show the weights and print no numbers."
    )


def weights_figure(weights: Sequence[Weights]) -> Figure:
    """The slide's images: mu and diag Sigma of each pair."""
    largest = max(float(np.abs(one.mean).max()) for one in weights)
    signed = (-largest, largest)

    def draw() -> Drawing:
        drawing, axes = new_panels(len(weights), 2, 6.8, 7.2)
        for (left, right), one in zip(axes, weights, strict=True):
            show(left, one.mean, (VERMILION, "white", BLUE), signed)
            show(right, one.variance, (DEEP_GREEN, GREEN, "white"), (0, SHOWN))
            left.set_ylabel("“{}” against “{}”".format(*one.pair.digits))
        for column, title in zip(axes.T, ("μ", "diag Σ"), strict=True):
            column[0].set_title(title)
            drawing.colorbar(column[0].images[0], ax=column, location="bottom", aspect=26)
        return drawing

    data = {
        "pairs": [
            {
                "digits": list(one.pair.digits),
                "mean": rounded(one.mean),
                "variance": rounded(one.variance),
            }
            for one in weights
        ]
    }
    first = weights[0].pair.digits[0]
    caption = (
        f"EP, τ² = {SHOWN:g}. Ink on blue pixels is evidence against “{first}”, ink on orange "
        "pixels for it. The prior variance is τ² (white); the darker a pixel, the more was learned "
        "about its weight."
    )
    return Figure("digits", "Digits: mean and variance of the weights", caption, data, draw)


def show(ax: Axes, image: NDArray, stops: Sequence[str], limits: tuple[float, float]) -> None:
    """An image, pixel by pixel, in a frame."""
    ax.imshow(image, cmap=colours(*stops), vmin=limits[0], vmax=limits[1])
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(False)
    for spine in ax.spines.values():
        spine.set_visible(True)


def scales_figure(runs: Sequence[DigitsRun]) -> Figure:
    """Evidence and log-loss of each pair over the scales of the prior."""
    pairs = list(dict.fromkeys(run.pair.digits for run in runs))
    methods = list(dict.fromkeys(run.method for run in runs))

    def draw() -> Drawing:
        drawing, axes = new_panels(len(ROWS), len(pairs), 6.8, 6.2)
        for column, digits in zip(axes.T, pairs, strict=True):
            own = [run for run in runs if run.pair.digits == digits]
            for ax, score in zip(column, ROWS, strict=True):
                for method, marker in zip(methods, MARKERS, strict=False):
                    draw_curve(ax, own, method, score, marker)
            column[0].set_title("“{}” against “{}”".format(*digits))
            column[-1].set_xlabel("τ²")
            column[-1].set_ylim(bottom=0)
        for ax, words in zip(axes[:, 0], ROWS.values(), strict=True):
            ax.set_ylabel(words)
        handles, names = axes[0, 0].get_legend_handles_labels()
        drawing.legend(handles, names, loc="outside lower center", ncols=len(names))
        return drawing

    data = {
        "runs": [
            {
                "digits": list(run.pair.digits),
                "method": run.method.name,
                "variance": run.variance,
                "error": run.scores.error,
                "log_loss": run.scores.log_loss,
                "log_evidence": run.scores.log_evidence,
            }
            for run in runs
        ]
    }
    caption = (
        "Top: the evidence, which uses no test images. Bottom: the log-loss on the test images. "
        "Both against the variance of the prior. Filled: the choice of the evidence."
    )
    return Figure("scales", "Digits: the scale of the prior", caption, data, draw)


def draw_curve(
    ax: Axes, runs: Sequence[DigitsRun], method: Method, score: str, marker: str
) -> None:
    """One score of one method over the scales, the choice of the evidence filled."""
    own = [run for run in runs if run.method is method]
    chosen = best(runs, method, "evidence")
    hollow: Any = {"marker": marker, "markerfacecolor": "white", "color": method.colour}
    values = [getattr(run.scores, score) for run in own]
    ax.plot([run.variance for run in own], values, label=method.name, **hollow)
    value = getattr(chosen.scores, score)
    ax.plot(chosen.variance, value, marker, color=method.colour, markersize=9)
    ax.set_xscale("log")
