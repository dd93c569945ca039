"""Expectation propagation on one block: the new sites, and their sums.

A site is rank one along its row, so that a block sends sums only. All of these functions are pure:
what they need are their arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint import _core
from bayespoint.blocks.base import Block
from bayespoint.blocks.design import Design
from bayespoint.engines.gaussian.prior import LARGE

Sites = NDArray[np.float64]  # (n_tasks, 2, rows of a block): a and b of each task


class Belief(NamedTuple):
    """The posterior N(mean, factor factor^T) of a task, with which a block is visited.

    Attributes
    ----------
    task : int
        Which task.
    mean, factor : ndarray of shape (d,) and (d, d)
        Of the weights; the factor is upper triangular.
    share : float
        Share of the way to where they should be that sites go.
    takes_copies : bool
        Whether the cavity of a site of weight k lacks one of k copies, or all if k < 1.
    is_prior : bool
        Whether this is the prior, before any label is seen.
    """

    task: int
    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    share: float = 1.0
    takes_copies: bool = False
    is_prior: bool = False

    def removed(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Copies of each site that its cavity lacks."""
        return np.minimum(weight, 1.0) if self.takes_copies else np.ones(len(weight))


@dataclass(frozen=True)
class Order:
    """What a visit of a block needs besides the block and its sites."""

    design: Design
    constants: tuple[float, float]  # beta^2 and the flip rate
    beliefs: list[Belief]


@dataclass(frozen=True)
class SweepSums:
    r"""Sums over the sites of some blocks, for each belief.

    Attributes
    ----------
    precision : ndarray of shape (n_beliefs, d, d)
        :math:`\Lambda = Z^T \mathrm{diag}(k b) Z`.
    pull : ndarray of shape (n_beliefs, d)
        :math:`\eta = Z^T (k a y)`.
    largest : ndarray of shape (n_beliefs,)
        The largest whole move of a site.
    widest : ndarray of shape (n_beliefs,)
        Largest variance of an output, of beliefs that are the prior.
    """

    precision: NDArray[np.float64]
    pull: NDArray[np.float64]
    largest: NDArray[np.float64]
    widest: NDArray[np.float64]

    def merge(self, later: SweepSums) -> SweepSums:
        """The sums over the sites of both."""
        return SweepSums(
            self.precision + later.precision,
            self.pull + later.pull,
            np.maximum(self.largest, later.largest),
            np.maximum(self.widest, later.widest),
        )


def sweep(block: Block, k: int, sites: Sites, order: Order) -> tuple[Sites, SweepSums]:
    """Steps 1 to 3 of all sites of a block at once, and the sums that step 4 needs.

    The sites go the belief's share of the way to where they should be. Tasks without a belief keep
    theirs.
    """
    n, d = len(order.beliefs), order.design.space.n_coordinates
    precision, pull = np.zeros((n, d, d)), np.zeros((n, d))
    largest, widest = np.zeros((2, n))
    new = sites.copy()
    for own, space, targets, weight in order.design.parts(block):
        for i, belief in enumerate(order.beliefs):
            y = targets[:, belief.task].astype(np.float64)
            a, b = sites[belief.task][:, own]
            e = space.variances(belief.factor, is_triangular=True)
            f = space.outputs(belief.mean)
            if belief.is_prior:
                widest[i] = max(widest[i], e.max(initial=0.0))
            new_a, new_b, moved = _core.ep.all_sites(
                e, f, y, a, b, belief.removed(weight), *order.constants
            )
            a, b = a + belief.share * (new_a - a), b + belief.share * (new_b - b)
            new[belief.task, :, own] = a, b
            precision[i] += space.curvature(np.clip(weight * b, -LARGE, LARGE))
            pull[i] += space.pull(weight * a * y)
            largest[i] = np.maximum(largest[i], moved.max(initial=0.0))  # NaN stays NaN
    return new, SweepSums(precision, pull, largest, widest)


class LeftOut(NamedTuple):
    """What the labels of a block looked like without their own sites."""

    log_probability: NDArray[np.float64]  # (n, n_tasks)
    codes: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class SummarySums:
    """Sums of a converged run, for each task."""

    constant: NDArray[np.float64]  # logarithms of the sites' constants
    wrong: NDArray[np.float64]  # rows that the mean gets wrong
    n_rows: int

    def merge(self, later: SummarySums) -> SummarySums:
        """The sums over both."""
        return SummarySums(
            self.constant + later.constant,
            self.wrong + later.wrong,
            self.n_rows + later.n_rows,
        )


def summarise(block: Block, k: int, sites: Sites, order: Order) -> tuple[LeftOut, SummarySums]:
    """Left-out probabilities and the terms of the evidence, with one belief for each task."""
    constant, wrong = np.zeros((2, len(order.beliefs)))
    left_out = np.zeros((sites.shape[2], len(order.beliefs)))
    for own, space, targets, weight in order.design.parts(block):
        for i, belief in enumerate(order.beliefs):
            y = targets[:, i].astype(np.float64)
            a, b = sites[i][:, own]
            e = space.variances(belief.factor, is_triangular=True)
            f = space.outputs(belief.mean)
            left_out[own, i], constants = _core.ep.summary(
                e, f, y, a, b, belief.removed(weight), *order.constants
            )
            constant[i] += weight @ constants
            wrong[i] += (y * f <= 0).sum()
    _, codes, weight = order.design.used(block)
    return (
        LeftOut(left_out, small_codes(codes, order.design), weight),
        SummarySums(constant, wrong, len(codes)),
    )


def small_codes(codes: NDArray[np.int64], design: Design) -> NDArray:
    """Class indices in as few bytes as there are classes for."""
    return codes.astype(np.min_scalar_type(len(design.classes)))
