"""Virtual digits: support points of a first machine, shifted by one or two pixels.

B. Schölkopf, C. Burges and V. Vapnik, Incorporating invariances in support vector learning
machines, 1996; D. DeCoste and B. Schölkopf, Training invariant support vector machines, 2002.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.classifier import BayesPointClassifier
from bayespoint.datasets import Split
from bayespoint.engines import PermutedPerceptron
from bayespoint.experiments.base import Column, Context, Result, Row, Table
from bayespoint.experiments.large_scale.problem import Problem
from bayespoint.experiments.large_scale.samples import N_SAMPLES, RATES
from bayespoint.experiments.verdicts import PRINTED_AND_MEASURED, error_row, standard_error
from bayespoint.reject import rejection_curve

TINY = 1e-12  # instead of 0, in quotients
LEVELS = 255  # of grey: images are rounded to these, as the original ones are
HELD_OUT = 6  # one training digit in so many is held out to choose by,
N_PARTS = {"quick": 1, "full": 3}  # so many times, other ones each time
N_SEEDS = {"quick": 1, "full": 5}
PUBLISHED = {1: 0.68, 2: 0.56}  # % of support vector machines, deskewed and shifted so far (2002)


class Choice(NamedTuple):
    """How virtual digits are made, and the degree of the kernel."""

    deskew: bool
    pixels: int  # 0: no virtual digits
    degree: int

    def __str__(self) -> str:
        shifts = "no shifts" if not self.pixels else f"shifts of up to {self.pixels} px"
        return f"{'deskewed' if self.deskew else 'as they are'}, {shifts}, degree {self.degree}"


CHOICES = [
    *(Choice(False, pixels, degree) for pixels, degree in product((0, 1), (5, 9))),
    *(Choice(True, pixels, degree) for pixels, degree in product((0, 1, 2), (5, 9))),
]


def run(context: Context, problem: Problem) -> Result:
    """Choose on held-out training digits, then test with several seeds."""
    split = problem.split
    straight = Split(deskewed(split.X_train), split.y_train, deskewed(split.X_test), split.y_test)
    data = {False: split, True: straight}
    part = np.arange(len(split.y_train)) % HELD_OUT
    n_parts = N_PARTS[context.mode]
    choices = CHOICES if context.full else CHOICES[:4:2]
    with context.part("choosing virtual digits"):
        errors = []
        for choice in choices:
            X, y = data[choice.deskew].X_train, data[choice.deskew].y_train
            wrong = []
            for held in (part == number for number in range(n_parts)):
                seen = X[~held], y[~held]
                machine, _ = trained(*seen, choice, problem.gamma, context, context.seed)
                wrong.append(np.mean(machine.predict(X[held]) != y[held]))
            errors.append(float(np.mean(wrong)))
    best = choices[int(np.argmin(errors))]
    with context.part("testing virtual digits"):
        own = data[best.deskew]
        machines = [
            trained(own.X_train, own.y_train, best, problem.gamma, context, context.seed + i)
            for i in range(N_SEEDS[context.mode])
        ]
        curves = [
            rejection_curve(own.y_test, one.decision_function(own.X_test), classes=one.classes_)
            for one, _ in machines
        ]
    tables = [
        choice_table(choices, errors, int((part < n_parts).sum())),
        rejection_table(best, np.array([curve.error_at(RATES) for curve in curves]), own, context),
    ]
    sizes = ", ".join(str(size) for _, size in machines)
    return Result({"training points with virtual digits": sizes}, tables, [])


def trained(
    X: NDArray, y: NDArray, choice: Choice, gamma: float, context: Context, seed: int
) -> tuple[BayesPointClassifier, int]:
    """A machine of the support points of a first one and their shifts; and how many points."""

    def machine() -> BayesPointClassifier:
        return BayesPointClassifier(
            kernel="poly", degree=choice.degree, gamma=gamma, coef0=1, normalize=True,
            engine=PermutedPerceptron(n_samples=N_SAMPLES), device=context.device,
            random_state=seed,
        )  # fmt: skip

    first = machine().fit(X, y)
    if not choice.pixels:
        return first, len(X)
    support = first.posterior_.support
    assert support is not None
    more, labels = shifted(X[support], choice.pixels), y[support]
    copies = len(more) // len(support)
    return machine().fit(more, np.tile(labels, copies)), len(more)


def shifted(X: NDArray, pixels: int) -> NDArray:
    """Images and their shifts by up to so many pixels, along both axes; what comes in is empty."""
    side = int(np.sqrt(X.shape[1]))
    wide = np.pad(X.reshape(-1, side, side), ((0, 0), (pixels, pixels), (pixels, pixels)))
    steps = range(2 * pixels + 1)
    moved = (wide[:, i : i + side, j : j + side] for i in steps for j in steps)
    return np.concatenate([images.reshape(len(X), -1) for images in moved])


def deskewed(X: NDArray) -> NDArray:
    """Images sheared so that their lines stand upright, in the same grey levels.

    Moments of the grey values give the slant of each image, as in LeCun et al. (1998). A row is
    moved by the slant times its distance from the centre of mass, with linear interpolation.
    """
    side = int(np.sqrt(X.shape[1]))
    images = X.reshape(-1, side, side).astype(np.float64)
    places = np.arange(side)
    mass = np.maximum(images.sum(axis=(1, 2)), TINY)
    down = places - (images.sum(axis=2) @ places / mass)[:, None]  # of each row from the centre
    across = places - (images.sum(axis=1) @ places / mass)[:, None]
    joint = np.einsum("nij,ni,nj->n", images, down, across)
    spread = np.einsum("nij,ni->n", images, down**2)
    slant = joint / np.maximum(spread, TINY)
    source = places + (slant[:, None] * down)[:, :, None]  # the column that a pixel comes from
    below = np.floor(source).astype(int)
    share = source - below
    moved = np.zeros_like(images)
    for place, weight in ((below, 1 - share), (below + 1, share)):
        inside = (place >= 0) & (place < side)
        values = np.take_along_axis(images, np.clip(place, 0, side - 1), axis=2)
        moved += np.where(inside, weight * values, 0.0)
    top = float(X.max()) or 1.0
    step = top / (LEVELS if top <= 1 else top)
    return (np.round(moved / step) * step).reshape(len(X), -1).astype(X.dtype)


def choice_table(choices: list[Choice], errors: list[float], n: int) -> Table:
    """Errors on the held-out training digits."""
    best = int(np.argmin(errors))
    rows = [
        Row(str(choice), [100 * error], "chosen" if i == best else "")
        for i, (choice, error) in enumerate(zip(choices, errors, strict=True))
    ]
    caption = (
        f"Error in % on {n} training digits that were held out, a sixth of all at a time. The test "
        "digits had no part in the choice."
    )
    return Table("Virtual digits: the choice", caption, [Column("held-out error")], rows)


def rejection_table(
    best: Choice, errors: NDArray[np.float64], split: Split, context: Context
) -> Table:
    """Mean error over the seeds on the accepted test points."""
    n = len(split.y_test)
    printed = PUBLISHED.get(best.pixels) if context.full and best.deskew else None
    rows = [
        error_row(
            f"{100 * rate:.0f} % rejected", float(error), n - round(n * rate),
            printed if rate == 0 else None,
        )
        for rate, error in zip(RATES, errors.mean(axis=0), strict=True)
    ]  # fmt: skip
    spread = 100 * standard_error(errors[:, 0])
    caption = (
        f"Mean error of {len(errors)} seeds ({best}) on the accepted test points, least certain "
        f"rejected first; nothing rejected, it varies by {spread:.3f} (standard error) with the "
        "seed. The printed number is that of a support vector machine with virtual digits."
    )
    return Table("Virtual digits: error in %", caption, PRINTED_AND_MEASURED, rows)
