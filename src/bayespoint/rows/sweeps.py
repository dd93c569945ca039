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
from bayespoint.engines.gaussian.prior import LARGE
from bayespoint.rows.base import Block
from bayespoint.rows.design import Design

MOST_LEFT_OUT = 10_000_000  # rows of which left-out probabilities are collected

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
    tol, n_steps : float and int
        Where sites are not kept: the move at which they are found, and most steps to that.
    """

    task: int
    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    share: float = 1.0
    takes_copies: bool = False
    is_prior: bool = False
    tol: float = 0.0
    n_steps: int = 1

    def removed(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Copies of each site that its cavity lacks."""
        return np.minimum(weight, 1.0) if self.takes_copies else np.ones(len(weight))


@dataclass(frozen=True)
class Order:
    """What a visit of a block needs besides the block and its sites."""

    design: Design
    constants: tuple[float, float]  # beta^2 and the flip rate
    beliefs: list[Belief]
    thinning: Thinning


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


def sweep(
    block: Block, k: int, sites: Sites | None, order: Order
) -> tuple[Sites | None, SweepSums]:
    """Steps 1 to 3 of all sites of a block at once, and the sums that step 4 needs.

    The sites go the belief's share of the way to where they should be. Tasks without a belief keep
    theirs. Sites that are not kept are found from the posterior.
    """
    n, d = len(order.beliefs), order.design.space.n_coordinates
    precision, pull = np.zeros((n, d, d)), np.zeros((n, d))
    largest, widest = np.zeros((2, n))
    new = None if sites is None else sites.copy()
    for own, space, targets, weight in order.design.parts(block):
        for i, belief in enumerate(order.beliefs):
            y = targets[:, belief.task].astype(np.float64)
            e = space.variances(belief.factor, is_triangular=True)
            f = space.outputs(belief.mean)
            if belief.is_prior:
                widest[i] = max(widest[i], e.max(initial=0.0))
            if sites is None or new is None:
                a, b, moved = find_sites(e, f, y, weight, belief, order.constants)
            else:
                a, b = sites[belief.task][:, own]
                new_a, new_b, moved = _core.ep.all_sites(
                    e, f, y, a, b, belief.removed(weight), *order.constants
                )
                a, b = a + belief.share * (new_a - a), b + belief.share * (new_b - b)
                new[belief.task, :, own] = a, b
            precision[i] += space.curvature(np.clip(weight * b, -LARGE, LARGE))
            pull[i] += space.pull(weight * a * y)
            largest[i] = np.maximum(largest[i], moved.max(initial=0.0))  # NaN stays NaN
    return new, SweepSums(precision, pull, largest, widest)


def find_sites(
    e: NDArray,
    f: NDArray,
    y: NDArray,
    weight: NDArray,
    belief: Belief,
    constants: tuple[float, float],
) -> tuple[NDArray, NDArray, NDArray]:
    """The sites that outputs of variances e and means f have, and the last moves to them.

    A site is what it should be at the posterior without itself. Where its share of the posterior is
    small, as with many more points than weights, a step brings it there but for that share.
    """
    a, b = np.zeros_like(e), np.zeros_like(e)
    removed = belief.removed(weight)
    moved, before = np.zeros_like(e), 0.0
    for _ in range(belief.n_steps):
        new_a, new_b, moved = _core.ep.all_sites(e, f, y, a, b, removed, *constants)
        lost = np.isinf(moved)  # no cavity is left: half of the site
        a, b = np.where(lost, a / 2, new_a), np.where(lost, b / 2, new_b)
        move = float(moved.max(initial=0.0))
        shrinks = move / before if before > move else 1.0
        if shrinks * move <= belief.tol:  # as far as the next would go
            break
        before = move
    return a, b, moved


@dataclass(frozen=True)
class Thinning:
    """Which rows are looked at: all, or of very many some at equal distances.

    Attributes
    ----------
    begins : list of int
        Number of the first row of each block, among those of positive weight.
    step : int
        Distance of two rows.
    """

    begins: list[int]
    step: int = 1

    @classmethod
    def of(cls, sizes: list[int]) -> Thinning:
        """At most 10^7 of the rows of blocks of these sizes."""
        step = max(1, -(-sum(sizes) // MOST_LEFT_OUT))
        return cls(np.cumsum([0, *sizes[:-1]]).tolist(), step)

    def own(self, k: int) -> slice:
        """The rows of block k."""
        return slice(-self.begins[k] % self.step, None, self.step)


class LeftOut(NamedTuple):
    """What the labels of a block, or some of them, looked like without their own sites."""

    log_probability: NDArray[np.float64]  # (n, n_tasks)
    codes: NDArray[np.int64]
    weight: NDArray[np.float64]

    def thinned(self, own: slice) -> LeftOut:
        """Some of the rows."""
        if own == slice(0, None, 1):
            return self
        log_probability, codes, weight = self
        return LeftOut(log_probability[own].copy(), codes[own].copy(), weight[own].copy())


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


def summarise(
    block: Block, k: int, sites: Sites | None, order: Order
) -> tuple[LeftOut, SummarySums]:
    """Left-out probabilities and the terms of the evidence, with one belief for each task."""
    _, codes, all_weights = order.design.used(block)
    constant, wrong = np.zeros((2, len(order.beliefs)))
    left_out = np.zeros((len(codes), len(order.beliefs)))
    for own, space, targets, weight in order.design.parts(block):
        for i, belief in enumerate(order.beliefs):
            y = targets[:, i].astype(np.float64)
            e = space.variances(belief.factor, is_triangular=True)
            f = space.outputs(belief.mean)
            if sites is None:
                a, b, _ = find_sites(e, f, y, weight, belief, order.constants)
            else:
                a, b = sites[i][:, own]
            left_out[own, i], constants = _core.ep.summary(
                e, f, y, a, b, belief.removed(weight), *order.constants
            )
            constant[i] += weight @ constants
            wrong[i] += (y * f <= 0).sum()
    return (
        LeftOut(left_out, small_codes(codes, order.design), all_weights).thinned(
            order.thinning.own(k)
        ),
        SummarySums(constant, wrong, len(codes)),
    )


def small_codes(codes: NDArray[np.int64], design: Design) -> NDArray:
    """Class indices in as few bytes as there are classes for."""
    return codes.astype(np.min_scalar_type(len(design.classes)))
