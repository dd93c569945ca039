"""Virtual digits: support points of a first machine, shifted or deformed at random.

B. Schölkopf, C. Burges and V. Vapnik, Incorporating invariances in support vector learning
machines, 1996; D. DeCoste and B. Schölkopf, Training invariant support vector machines, 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier.estimator import BayesPointClassifier
from bayespoint.engines import PermutedPerceptron
from bayespoint.gpu.arrays import to_device
from bayespoint.gpu.devices import find_device
from bayespoint.reject import rejection_curve
from bayespoint.tools.arrays import like, to_numpy
from papers.base import Column, Context, Result, Row, Table
from papers.large_scale.images import deformed, deskewed, gradients, library, rounded, shifted
from papers.large_scale.problem import Problem
from papers.large_scale.samples import N_SAMPLES, RATES
from papers.verdicts import PRINTED_AND_MEASURED, error_row, standard_error

HELD_OUT = 6  # one training digit in so many is held out to choose by,
N_PARTS = {"quick": 1, "full": 3}  # so many times, other ones each time
N_SEEDS = {"quick": 1, "full": 5}
PUBLISHED = {1: 0.68, 2: 0.56}  # % of support vector machines, deskewed and shifted so far (2002)
LENGTH = 100.0  # gamma times the mean squared length of gradients: about that of pixels, gamma = 1
APART = 1000  # seeds of the machines of one ensemble


class Choice(NamedTuple):
    """How digits are described and virtual ones made, the degree of the kernel, how many machines.

    Machines differ in their deformations and permutations, and their outputs are added.
    """

    deskew: bool
    features: str  # "pixels" or "gradients"
    degree: int
    shift: int = 0  # in pixels
    copies: int = 0  # deformed at random
    machines: int = 1

    def __str__(self) -> str:
        parts = [
            "deskewed" if self.deskew else "as they are",
            self.features,
            f"shifts of up to {self.shift} px" if self.shift else "",
            f"{self.copies} deformed copies" if self.copies else "",
            f"degree {self.degree}",
            f"{self.machines} machines" if self.machines > 1 else "",
        ]
        return ", ".join(part for part in parts if part)


CHOICES = [
    Choice(False, "pixels", 5),
    Choice(True, "pixels", 5),
    Choice(True, "pixels", 9, shift=1),
    Choice(True, "pixels", 9, shift=2),
    Choice(True, "pixels", 9, copies=8),
    Choice(True, "gradients", 5),
    Choice(True, "gradients", 9),
    Choice(True, "gradients", 9, copies=8),
    Choice(True, "gradients", 9, copies=8, machines=4),
]
QUICK = [
    Choice(False, "pixels", 5),
    Choice(False, "pixels", 5, shift=1),
    Choice(True, "gradients", 5, copies=2, machines=2),
]


@dataclass(frozen=True)
class Ensemble:
    """Machines whose outputs are added, and the number of points that each has learned from."""

    choice: Choice
    machines: list[BayesPointClassifier]
    n_points: int

    def decision_function(self, images: Any) -> NDArray[np.float64]:
        """Log-odds of each class, summed over the machines."""
        X = described(images, self.choice)
        return np.sum([to_numpy(one.decision_function(X)) for one in self.machines], axis=0)

    def predict(self, images: Any) -> NDArray:
        """The classes of the largest outputs."""
        return self.machines[0].classes_[self.decision_function(images).argmax(axis=1)]


def run(context: Context, problem: Problem) -> Result:
    """Choose on held-out training digits, then test with several seeds."""
    X, y, X_test, y_test = problem.split
    device, top = find_device(context.device), X.max()

    def images(X: NDArray) -> Any:
        grey = (X / top).astype(np.float32)
        return grey if device is None else to_device(grey, device)

    data = {False: (images(X), images(X_test))}
    data[True] = tuple(deskewed(one) for one in data[False])
    # Digits of one writer are neighbours in MNIST, and the test digits have other writers: so whole
    # blocks are held out.
    part = np.arange(len(y)) * HELD_OUT // len(y)
    n_parts = N_PARTS[context.mode]
    choices = CHOICES if context.full else QUICK
    with context.part("choosing virtual digits"):
        errors = []
        for choice in choices:
            own, wrong = data[choice.deskew][0], []
            for held in (part == number for number in range(n_parts)):
                seen, rest = (like(own, np.flatnonzero(one)) for one in (~held, held))
                fitted = trained(own[seen], y[~held], choice, context, context.seed)
                wrong.append(np.mean(fitted.predict(own[rest]) != y[held]))
            errors.append(float(np.mean(wrong)))
    best = choices[int(np.argmin(errors))]
    own, own_test = data[best.deskew]
    seeds = range(context.seed, context.seed + N_SEEDS[context.mode])
    with context.part("training with virtual digits"):
        ensembles = [trained(own, y, best, context, seed) for seed in seeds]
    with context.part("testing virtual digits"):
        classes = ensembles[0].machines[0].classes_
        curves = [
            rejection_curve(y_test, one.decision_function(own_test), classes=classes)
            for one in ensembles
        ]
    tables = [
        choice_table(choices, errors, int((part < n_parts).sum())),
        rejection_table(best, np.array([one.error_at(RATES) for one in curves]), y_test, context),
    ]
    sizes = ", ".join(str(one.n_points) for one in ensembles)
    return Result({"training points with virtual digits": sizes}, tables, [])


def trained(images: Any, y: NDArray, choice: Choice, context: Context, seed: int) -> Ensemble:
    """Machines of the support points of a first one, and of virtual digits made of these."""
    X = described(images, choice)
    gamma = 1.0 if choice.features == "pixels" else LENGTH / float((X**2).sum(1).mean())

    def machine(number: int = 0) -> BayesPointClassifier:
        return BayesPointClassifier(
            kernel="poly",
            degree=choice.degree,
            gamma=gamma,
            coef0=1,
            normalize=True,
            engine=PermutedPerceptron(n_samples=N_SAMPLES),
            device=context.device,
            random_state=seed + APART * number,
        )

    first = machine().fit(X, y)
    if not choice.shift and not choice.copies:
        return Ensemble(choice, [first], len(X))
    support = first.posterior_.support
    assert support is not None
    labels, hard = y[support], images[like(X, support)]
    machines = []
    for number in range(choice.machines):
        rng = np.random.default_rng([seed, number])
        new = [shifted(hard, choice.shift), *(deformed(hard, rng) for _ in range(choice.copies))]
        more = library(X).concatenate([described(one, choice) for one in new])
        machines.append(machine(number).fit(more, np.tile(labels, len(more) // len(labels))))
    return Ensemble(choice, machines, len(more))


def described(images: Any, choice: Choice) -> Any:
    """The features of images."""
    return gradients(images) if choice.features == "gradients" else rounded(images)


def choice_table(choices: list[Choice], errors: list[float], n: int) -> Table:
    """Errors on the held-out training digits."""
    best = int(np.argmin(errors))
    rows = [
        Row(str(choice), [100 * error], "chosen" if i == best else "")
        for i, (choice, error) in enumerate(zip(choices, errors, strict=True))
    ]
    caption = (
        f"Error in % on {n} training digits that were held out, in blocks of a sixth of all, so "
        "that their writers are new to the machine. The test digits had no part in the choice."
    )
    return Table("Virtual digits: the choice", caption, [Column("held-out error")], rows)


def rejection_table(
    best: Choice, errors: NDArray[np.float64], y_test: NDArray, context: Context
) -> Table:
    """Mean error over the seeds on the accepted test points."""
    n = len(y_test)
    printed = PUBLISHED.get(best.shift) if context.full and best.deskew else None
    rows = [
        error_row(
            f"{100 * rate:.0f} % rejected",
            float(error),
            n - round(n * rate),
            printed if rate == 0 else None,
        )
        for rate, error in zip(RATES, errors.mean(axis=0), strict=True)
    ]
    spread = 100 * standard_error(errors[:, 0])
    caption = (
        f"Mean error of {len(errors)} seeds ({best}) on the accepted test points, least certain "
        f"rejected first; nothing rejected, it varies by {spread:.3f} (standard error) with the "
        "seed."
    )
    if printed:
        caption += " The printed number is that of a support vector machine with such digits."
    return Table("Virtual digits: error in %", caption, PRINTED_AND_MEASURED, rows)
