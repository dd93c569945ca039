"""Learning in pictures: the posterior over two weights after 4, 6 and 20 labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import norm
from numpy.typing import NDArray

from bayespoint.experiments.base import Column, Row, Table
from bayespoint.experiments.ep.exact import Moments, exact_moments
from bayespoint.experiments.ep.methods import METHODS, Method, fit

SIZES = (4, 6, 20)  # the slide's
PRIOR_SCALE = 3.0  # wide, so that the posterior of few labels is far from Gaussian
TRUE_WEIGHTS = np.array([1.0, 2.0])

# How far EP was off in other problems, most with a narrower prior. Its covariance is no precise
# quantity, and with this prior it is often beyond: see the caption.
BANDS = {"mean": 5.0, "covariance": 15.0, "log Z": 0.15}  # %, % and nats

CAPTION = (
    "The slides show pictures without numbers. Each Gaussian is compared with the exact posterior "
    "of its model, computed by summation over a grid: distances of the mean and of the covariance "
    "(Frobenius norm) in % of the exact ones. Tolerances, from other problems: "
    f"{BANDS['mean']:.0f} % of the mean, {BANDS['covariance']:.0f} % of the covariance, "
    f"{BANDS['log Z']:.2f} of log Z. Seed 0 is favourable to EP's covariance: over the seeds 0 to "
    "39 its median error is 9, 14 and 21 % for n = 4, 6 and 20, beyond the tolerance in 2, 17 and "
    "31 of the 40; mean and log Z are always within. Laplace's covariance is off by 15, 14 and "
    "12 %, its mean by 28, 26 and 17 %."
)


class Learned(NamedTuple):
    """The exact posterior of some labels, and the Gaussian that a method takes it for."""

    method: Method
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    exact: Moments
    gaussian: Moments

    @property
    def distances(self) -> dict[str, float]:
        """How far mean and covariance are off, in % of the exact ones, and log Z."""
        return {
            "mean": percent_off(self.gaussian.mean, self.exact.mean),
            "covariance": percent_off(self.gaussian.covariance, self.exact.covariance),
            "log Z": self.gaussian.log_evidence - self.exact.log_evidence,
        }


def percent_off(estimate: NDArray, exact: NDArray) -> float:
    """Length of the difference in % of the length of the exact value."""
    return 100 * float(norm(estimate - exact) / norm(exact))


def draw_data(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points from N(0, I) and labels of the probit model, +1 and -1 in turn.

    Without an intercept (x, y) and (-x, -y) say the same. So labels can be made to alternate, and
    every beginning of the data has both classes.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((max(SIZES), 2))
    drawn = np.where(X @ TRUE_WEIGHTS + rng.standard_normal(len(X)) > 0, 1, -1)
    y = np.where(np.arange(len(X)) % 2, -1, 1)
    return X * (drawn * y)[:, None], y


def learn(seed: int) -> list[Learned]:
    """The exact posterior and each method's Gaussian, for each number of labels."""
    X, y = draw_data(seed)
    return [learn_from(method, X[:n], y[:n]) for n in SIZES for method in METHODS]


def learn_from(method: Method, X: NDArray[np.float64], y: NDArray[np.int64]) -> Learned:
    """One method beside the exact posterior of its model."""
    machine = fit(method, X, y, PRIOR_SCALE, intercept=False)
    posterior: Any = machine.posterior_
    evidence = float(machine.log_evidence_[0])
    gaussian = Moments(posterior.mean[:, 0], posterior.covariance[0], evidence)
    return Learned(method, X, y, exact_moments(X, y, method.log_likelihood, PRIOR_SCALE), gaussian)


def two_weights_table(learned: Sequence[Learned]) -> Table:
    """How far each Gaussian is from the exact posterior."""
    columns = (
        Column("mean\noff by %", 1),
        Column("covariance\noff by %", 1),
        Column("log Z\nestimate", 3),
        Column("log Z\nexact", 3),
    )
    rows = []
    for one in learned:
        far = one.distances
        evidences = one.gaussian.log_evidence, one.exact.log_evidence
        values = (far["mean"], far["covariance"], *evidences)
        rows.append(Row(f"n = {len(one.X)}, {one.method.name}", values, verdict(far)))
    return Table("Two weights: distance to the exact posterior", CAPTION, columns, rows)


def verdict(distances: dict[str, float]) -> str:
    """Whether all distances are within the bands, and if not, which are beyond."""
    beyond = [name for name, distance in distances.items() if abs(distance) > BANDS[name]]
    return f"worse in {', '.join(beyond)}" if beyond else "agrees within bands"
