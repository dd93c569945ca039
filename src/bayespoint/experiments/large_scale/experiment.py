"""Large Scale Bayes Point Machines: samples of version space (Figure 1), rejection (Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from bayespoint.classifier import BayesPointClassifier
from bayespoint.datasets import Split, load_mnist
from bayespoint.engines import PermutedPerceptron
from bayespoint.experiments.base import Context, Experiment, Result, Row, Table
from bayespoint.experiments.large_scale import figures, versions
from bayespoint.experiments.large_scale.samples import SampleErrors, sample_errors
from bayespoint.experiments.verdicts import PRINTED_AND_MEASURED, error_row

N_SAMPLES = 10  # N of section 4
DEGREE = 5  # of equation (5)
RATES = np.arange(11) / 100  # the table of Figure 2: fractions rejected ...
PRINTED = (1.46, 1.10, 0.87, 0.67, 0.49, 0.37, 0.32, 0.26, 0.21, 0.14, 0.11)  # ... errors in %
PAPER_SIZES = (60_000, 10_000)
KERNELS = {"plain kernel": False, "normalised kernel": True}

INTERVAL = (
    "The interval contains the rates that are at most two binomial standard errors from the "
    "measured one."
)
OTHER_DATA = "other data, not comparable"


class Problem(NamedTuple):
    """Data, the kernel's gamma on them, and the printed errors that apply to them, if any do."""

    words: str
    split: Split
    gamma: float
    printed: tuple[float, ...] | None


def pose(context: Context) -> Problem:
    """The data of the paper, or small data to see the same on."""
    if context.full:
        split = load_mnist(context.data)
        sizes = (len(split.X_train), len(split.X_test))
        words = f"MNIST, {sizes[0]} training and {sizes[1]} test images, pixels from 0 to 1"
        return Problem(words, split, 1.0, PRINTED if sizes == PAPER_SIZES else None)
    X, y = load_digits(return_X_y=True)
    split = Split(X[:1000], y[:1000], X[1000:], y[1000:])
    words = (
        f"scikit-learn's digits, the first {len(split.X_train)} to train and the other "
        f"{len(split.X_test)} to test; not the paper's data, so its numbers do not apply"
    )
    return Problem(words, split, 1 / 16**2, None)  # pixels go up to 16


def run(context: Context) -> Result:
    """Fit with both kernels, test, and set the errors beside the printed ones."""
    with context.part("loading the data"):
        problem = pose(context)
    with context.part("samples of version space"):
        few = versions.ones_and_twos(problem.split.X_train, problem.split.y_train)
        samples = versions.solve_versions(context, few, problem.gamma)
    measured = []
    for name, normalize in KERNELS.items():
        machine = BayesPointClassifier(
            kernel="poly",
            degree=DEGREE,
            gamma=problem.gamma,
            coef0=1,
            normalize=normalize,
            engine=PermutedPerceptron(n_samples=N_SAMPLES),
            random_state=context.seed,
        )
        measured.append(sample_errors(name, machine, problem.split, context))
    return Result(
        setting=setting(problem, measured, context.seed),
        tables=[
            versions.versions_table(few, samples),
            *(rejection_table(errors, problem) for errors in measured),
            *(samples_table(errors, problem) for errors in measured),
        ],
        figures=[
            figures.versions_figure(samples),
            figures.rejection_figure(measured, RATES, problem.printed),
            figures.anytime_figure(measured, problem.printed),
        ],
    )


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


def rejection_table(errors: SampleErrors, problem: Problem) -> Table:
    """Figure 2: error on the accepted test points for each fraction rejected."""
    n = errors.curve.n_samples
    printed: Sequence[float | None] = problem.printed or [None] * len(RATES)
    rows = [
        error_row(
            f"{100 * rate:.0f} % rejected", float(error), accepted(n, rate), value, OTHER_DATA
        )
        for rate, error, value in zip(RATES, errors.curve.error_at(RATES), printed, strict=True)
    ]
    caption = (
        f"Error on the accepted points, least certain rejected first. {INTERVAL} The rows share "
        "their test points, so they are not independent."
    )
    if errors.name != "plain kernel":
        caption += " The printed numbers are for the plain kernel, the only one of the paper."
    title = f"Figure 2: error in % against rejection rate, {errors.name}"
    return Table(title, caption, PRINTED_AND_MEASURED, rows)


def accepted(n: int, rate: float) -> int:
    """Points that are left when a fraction is rejected."""
    return n - round(n * rate)


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
        error_row(f"N = {N_SAMPLES}", together, n, printed, OTHER_DATA),
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


EXPERIMENT = Experiment(
    name="large-scale",
    title="Large scale Bayes point machines",
    paper="R. Herbrich and T. Graepel, Large Scale Bayes Point Machines, NIPS 13, 2001",
    description=(
        "Ten perceptrons on permuted training sets for each digit. The largest mean output "
        "is the prediction, and its size decides which test points are rejected. With the paper's "
        "kernel, and with the same kernel normalised."
    ),
    run=run,
)
