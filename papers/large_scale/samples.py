"""Fit one machine, and see what its samples are worth: alone, the first n together, all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.reject import RejectionCurve, RejectionCurveDisplay, rejection_curve
from bayespoint.tools.plots import BLUE, INK, VERMILION, Drawing, new_axes
from papers.base import Context, Figure, Result, Row, Table, percent
from papers.datasets import Split
from papers.large_scale.problem import Problem
from papers.verdicts import PRINTED_AND_MEASURED, error_row

N_SAMPLES = 10  # N of section 4
DEGREE = 5  # of equation (5)
RATES = np.arange(11) / 100  # fractions rejected of Figure 2
KERNELS = {"plain kernel": False, "normalised kernel": True}
INTERVAL = (
    "The interval contains the rates that are at most two binomial standard errors from the "
    "measured one."
)
# One for each kernel, told apart by shape as well.
LINES: tuple[dict[str, Any], ...] = (
    {"color": VERMILION, "linestyle": "--"},
    {"color": BLUE, "linestyle": "-"},
)
MARKERS = ("s", "o")
PRINTED_STYLE: dict[str, Any] = {
    "color": INK,
    "marker": "D",
    "markersize": 5,
    "markerfacecolor": "white",
    "linestyle": "none",
    "clip_on": False,
    "zorder": 4,
    "label": "printed in the paper",
}


def run(context: Context, problem: Problem) -> Result:
    """Fit with both kernels, test, and set the errors beside the printed ones."""
    measured = []
    for name, normalize in KERNELS.items():
        machine = BayesPointClassifier(
            kernel="poly",
            degree=DEGREE,
            gamma=problem.gamma,
            coef0=1,
            normalize=normalize,
            engine=PermutedPerceptron(n_samples=N_SAMPLES),
            device=context.device,
            random_state=context.seed,
        )
        measured.append(sample_errors(name, machine, problem.split, context))
    tables = [
        *(rejection_table(errors, problem) for errors in measured),
        *(samples_table(errors, problem) for errors in measured),
    ]
    figures = [
        rejection_figure(measured, problem.printed),
        anytime_figure(measured, problem.printed),
    ]
    return Result(setting(problem, measured, context.seed), tables, figures)


def setting(problem: Problem, measured: Sequence[SampleErrors], seed: int) -> dict[str, str]:
    """Data, parameters and the size of the machines, in words."""
    gamma = "" if problem.gamma == 1 else f"{problem.gamma:.3g} "
    return {
        "data": problem.words,
        "kernel": f"({gamma}x·x' + 1)^{DEGREE}, and the same divided by √(k(x, x) k(x', x'))",
        "engine": f"{N_SAMPLES} permuted perceptrons for each class against the rest, seed {seed}",
        "training points with a coefficient": ", ".join(
            f"{errors.n_support} ({errors.name})" for errors in measured
        ),
        "most passes through the data": ", ".join(
            f"{errors.n_epochs} ({errors.name})" for errors in measured
        ),
    }


@dataclass(frozen=True)
class SampleErrors:
    """Errors of a sampled machine on a test set.

    Attributes
    ----------
    name : str
        Which machine.
    curve : RejectionCurve
        Of the Bayes point of all N samples, by its largest output.
    first : ndarray of shape (N,)
        Error of the Bayes point of the first 1, ..., N samples.
    alone : ndarray of shape (N,)
        Error of each sample alone.
    n_support, n_epochs : int
        Training points with a coefficient, and most passes through the data.
    """

    name: str
    curve: RejectionCurve
    first: NDArray[np.float64]
    alone: NDArray[np.float64]
    n_support: int
    n_epochs: int


def sample_errors(
    name: str, machine: BayesPointClassifier, split: Split, context: Context
) -> SampleErrors:
    """Fit the machine and test it; all numbers come from one fit and one pass over the test set.

    Sample n is made from the n-th permutation whatever N is, so that the first n samples of this
    machine are the machine that a fit with ``n_samples=n`` gives.
    """
    with context.part(f"{name}, fit"):
        machine.fit(split.X_train, split.y_train)
    with context.part(f"{name}, test"):
        outputs = machine.sample_outputs(split.X_test)
    n_samples = outputs.shape[1]
    means = outputs.cumsum(axis=1) / np.arange(1, n_samples + 1)[:, None]
    return SampleErrors(
        name=name,
        curve=rejection_curve(split.y_test, means[:, -1], classes=machine.classes_),
        first=error_rates(machine, means, split.y_test),
        alone=error_rates(machine, outputs, split.y_test),
        n_support=len(machine.posterior_.mean),
        n_epochs=machine.n_iter_,
    )


def error_rates(
    machine: BayesPointClassifier, outputs: NDArray, labels: NDArray
) -> NDArray[np.float64]:
    """Share of wrong answers of each of the classifiers along axis 1 of ``outputs``."""
    answers = machine.classes_[outputs.argmax(axis=2)]
    return (answers != labels[:, None]).mean(axis=0)


def rejection_table(errors: SampleErrors, problem: Problem) -> Table:
    """Figure 2: error on the accepted test points for each fraction rejected."""
    n = errors.curve.n_samples
    printed: Sequence[float | None] = problem.printed or [None] * len(RATES)
    measured = errors.curve.error_at(RATES)
    rows = [
        error_row(
            f"{100 * rate:.0f} % rejected",
            float(error),
            n - round(n * rate),
            value,
            f"{100 * (error - measured[0]):+.2f} against none rejected" if rate else "",
        )
        for rate, error, value in zip(RATES, measured, printed, strict=True)
    ]
    caption = (
        f"Error on the accepted points, least certain rejected first. {INTERVAL} The rows share "
        "their test points, so they are not independent."
    )
    if errors.name != "plain kernel":
        caption += " The printed numbers are for the plain kernel, the only one of the paper."
    title = f"Figure 2: error in % against rejection rate, {errors.name}"
    return Table(title, caption, PRINTED_AND_MEASURED, rows)


def samples_table(errors: SampleErrors, problem: Problem) -> Table:
    """Errors of the Bayes point of the first n samples, and of single samples."""
    n, together = errors.curve.n_samples, float(errors.first[-1])

    def row(quantity: str, error: float) -> Row:
        words = f"{100 * (error - together):+.2f} against N = {N_SAMPLES}"
        return error_row(quantity, error, n, words=words)

    printed = problem.printed[0] if problem.printed else None
    mean = row("mean sample", float(errors.alone.mean()))
    rows = [
        *(row(f"N = {number}", float(errors.first[number - 1])) for number in range(1, N_SAMPLES)),
        error_row(f"N = {N_SAMPLES}", together, n, printed),
        row("best sample", float(errors.alone.min())),
        # A mean of dependent rates, of which no binomial law tells.
        replace(mean, values=(*mean.values[:2], None)),
        row("worst sample", float(errors.alone.max())),
    ]
    caption = (
        "Error of the Bayes point of the first N samples, and of single samples, nothing rejected. "
        f"The Bayes point of all {N_SAMPLES} is better than "
        f"{(together < errors.alone).sum()} of the {N_SAMPLES} samples alone. The paper says that "
        f"fewer samples give a slightly larger error, and prints that of N = 10. {INTERVAL}"
    )
    title = f"Anytime: error in % against number of samples, {errors.name}"
    return Table(title, caption, PRINTED_AND_MEASURED, rows)


def rejection_figure(measured: Sequence[SampleErrors], printed: Sequence[float] | None) -> Figure:
    """Figure 2 of the paper, with one curve for each kernel."""
    last = float(RATES[-1])

    def draw() -> Drawing:
        drawing, ax = new_axes()
        if printed:
            ax.plot(RATES, np.divide(printed, 100), **PRINTED_STYLE)
        for errors, line in zip(measured, LINES, strict=True):
            RejectionCurveDisplay(errors.curve).plot(ax, max_rate=last, label=errors.name, **line)
        return drawing

    data = {
        "kernels": [{"name": errors.name, **rejection_data(errors, last)} for errors in measured],
        "printed": {"rejected_percent": percent(RATES), "error_percent": list(printed)}
        if printed
        else None,
    }
    caption = "Error on the accepted test points against the fraction of points rejected."
    return Figure("rejection", "Figure 2: error against rejection rate", caption, data, draw)


def rejection_data(errors: SampleErrors, last: float) -> dict[str, list[float]]:
    """The curve at every number of rejected points."""
    n = errors.curve.n_samples
    rates = np.arange(n) / n
    rates = rates[rates <= last]
    return {
        "rejected_percent": percent(rates),
        "error_percent": percent(errors.curve.error_at(rates)),
    }


def anytime_figure(measured: Sequence[SampleErrors], printed: Sequence[float] | None) -> Figure:
    """Error against the number of samples, and of each sample alone."""
    numbers = list(range(1, len(measured[0].first) + 1))

    def draw() -> Drawing:
        drawing, ax = new_axes()
        for errors, line, marker in zip(measured, LINES, MARKERS, strict=True):
            label = f"{errors.name}, first N"
            ax.plot(numbers, percent(errors.first), marker=marker, label=label, **line)
        for errors, line in zip(measured, LINES, strict=True):
            label = f"{errors.name}, sample N alone"
            ax.plot(numbers, percent(errors.alone), "x", color=line["color"], label=label)
        if printed:
            ax.plot(numbers[-1], printed[0], **PRINTED_STYLE)
        ax.set_xticks(numbers)
        ax.set_ylim(bottom=0)
        ax.set_xlabel("Number of samples N")
        ax.set_ylabel("Test error")
        ax.yaxis.set_major_formatter("{x:g} %")
        ax.legend(fontsize="small", ncols=2, loc="lower left")
        return drawing

    data = {
        "n_samples": numbers,
        "kernels": [
            {
                "name": errors.name,
                "error_percent_of_first": percent(errors.first),
                "error_percent_alone": percent(errors.alone),
            }
            for errors in measured
        ],
        "printed": {"n_samples": numbers[-1], "error_percent": printed[0]} if printed else None,
    }
    caption = (
        "Error of the Bayes point of the first N samples (lines), and of the N-th sample alone "
        "(crosses)."
    )
    return Figure("anytime", "Anytime: error against number of samples", caption, data, draw)
