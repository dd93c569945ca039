"""Newton's method for the logistic model on one block: sums for the next step, and a summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.gaussian.newton import left_out_log_probability
from bayespoint.likelihoods import LogisticLikelihood
from bayespoint.rows.base import Block
from bayespoint.rows.design import Design
from bayespoint.rows.sweeps import LeftOut, SummarySums, Thinning, small_codes


class Place(NamedTuple):
    """Weights of a task at which a block is asked, and how they came there.

    Attributes
    ----------
    task : int
        Which task.
    weights, change : ndarray of shape (d,)
        The weights, and the step that led to them.
    """

    task: int
    weights: NDArray[np.float64]
    change: NDArray[np.float64]


@dataclass(frozen=True)
class NewtonOrder:
    """What a visit of a block needs besides the block."""

    design: Design
    places: list[Place]


@dataclass(frozen=True)
class NewtonSums:
    r"""Sums over the rows of some blocks, for each place.

    Attributes
    ----------
    curvature : ndarray of shape (n_places, d, d)
        :math:`Z^T \mathrm{diag}(k p (1 - p)) Z`.
    pull : ndarray of shape (n_places, d)
        :math:`Z^T s`, with the slopes s of the log-likelihood by the outputs.
    largest, relative : ndarray of shape (n_places,)
        The largest change of an output f by the last step, and the largest as a share of 1 + |f|.
    """

    curvature: NDArray[np.float64]
    pull: NDArray[np.float64]
    largest: NDArray[np.float64]
    relative: NDArray[np.float64]

    def merge(self, later: NewtonSums) -> NewtonSums:
        """The sums over both."""
        return NewtonSums(
            self.curvature + later.curvature,
            self.pull + later.pull,
            np.maximum(self.largest, later.largest),
            np.maximum(self.relative, later.relative),
        )


def newton_sums(block: Block, k: int, argument: None, order: NewtonOrder) -> tuple:
    """Slope and curvature of the log-likelihood at each place: n d^2 operations."""
    n, d = len(order.places), order.design.space.n_coordinates
    curvature, pull = np.zeros((n, d, d)), np.zeros((n, d))
    largest, relative = np.zeros((2, n))
    likelihood = LogisticLikelihood()
    for _, space, targets, weight in order.design.parts(block):
        for i, place in enumerate(order.places):
            y = targets[:, place.task]
            both = space.outputs(np.column_stack([place.weights, place.change]))
            f, change = both[:, 0], np.abs(both[:, 1])
            miss, bend = likelihood.derivatives(y * f)
            curvature[i] += space.curvature(weight * bend)
            pull[i] += space.pull(weight * y * miss)
            before = np.abs(f - both[:, 1])
            largest[i] = np.maximum(largest[i], change.max(initial=0.0))
            relative[i] = np.maximum(relative[i], (change / (1 + before)).max(initial=0.0))
    return None, NewtonSums(curvature, pull, largest, relative)


class Around(NamedTuple):
    """The Gaussian around the mode of a task."""

    mean: NDArray[np.float64]
    factor: NDArray[np.float64]


@dataclass(frozen=True)
class AroundOrder:
    """What the last visit of a block needs; the Gaussians are those of all tasks."""

    design: Design
    gaussians: list[Around]
    thinning: Thinning


def summarise_mode(
    block: Block, k: int, n_rows: int, order: AroundOrder
) -> tuple[LeftOut, SummarySums]:
    """Left-out probabilities and the log-likelihood of a block around the modes.

    A cavity lacks one copy of a message (all of it, if it weighs less), as in memory.
    """
    likelihood = LogisticLikelihood()
    found, wrong = np.zeros((2, len(order.gaussians)))
    left_out = np.zeros((n_rows, len(order.gaussians)))
    for own, space, targets, weight in order.design.parts(block):
        removed = np.minimum(weight, 1.0)
        for i, (mean, factor) in enumerate(order.gaussians):
            y = targets[:, i]
            f, variance = space.outputs(mean), space.variances(factor, is_triangular=False)
            miss, bend = likelihood.derivatives(y * f)
            left_out[own, i] = left_out_log_probability(
                likelihood, y, f, variance, removed * bend, removed * y * miss
            )
            found[i] += weight @ likelihood.log_likelihood(y * f)[0]
            wrong[i] += (y * f <= 0).sum()
    _, codes, weight = order.design.used(block)
    return (
        LeftOut(left_out, small_codes(codes, order.design), weight).thinned(order.thinning.own(k)),
        SummarySums(found, wrong, len(codes)),
    )
