r"""Expectation propagation on one block: the new sites, and their sums.

With a full covariance a site is rank one along its row, so that a block sends sums only. Sites of
rows are kept between rounds, or found again from the posterior.

With independent weights only the sum of the messages of the rows of a block to a weight is kept. A
visit finds those of single rows again: each is what it should be at the posterior without itself,
which a few steps of iteration find, since one row's share of a posterior is small. Then sweeps over
the rows, one after another, change them, given what all other blocks say. So a round is a sweep of
the sequential schedule within blocks (or a few, while rounds still move far), and all blocks change
at once. The fixed point is that in memory. (The division is that of A. Gelman et al., Expectation
Propagation as a Way of Life, JMLR 21, 2020.)

All of these functions are pure: what they need are their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError

from bayespoint import _core
from bayespoint.engines.gaussian.blocks.rows import (
    Design,
    LeftOut,
    Look,
    Order,
    SummarySums,
    Sums,
    summary,
)
from bayespoint.engines.gaussian.factorised_sites import FactorisedSites, sparse_rows
from bayespoint.engines.gaussian.prior import LARGE, GaussianPrior
from bayespoint.engines.gaussian.tasks import Labels
from bayespoint.spaces import Coordinates

STEPS = 30  # to find the messages of single rows, at most; two or three are enough
SWEEPS = 50  # over the rows of a block, at most
SMALLEST = 1e-10  # share of a precision that a cavity keeps, at least

# Of one task: a and b of each row of a block, (2, rows), or, of independent weights, shift and rate
# of all of its rows, (2, d).
SitesOfBlock = NDArray[np.float64]


class Belief(NamedTuple):
    """The posterior of a task, with which a block is visited.

    Attributes
    ----------
    task : int
        Which task.
    mean, factor : ndarray of shape (d,) and (d, d), or (d,) of independent weights
        N(mean, factor factor^T); the factor is upper triangular, or standard deviations.
    share : float
        Share of the way to where they should be that sites go.
    takes_copies : bool
        Whether the cavity of a site of weight k lacks one of k copies, or all if k < 1.
    is_prior : bool
        Whether this is the prior, before any label is seen.
    tol, n_steps : float and int
        Where sites of rows are not kept: the move at which they are found, and most steps to that.
    enough : float
        Move of the messages of a block at which sweeps over its rows end.
    """

    task: int
    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    share: float = 1.0
    takes_copies: bool = False
    is_prior: bool = False
    tol: float = 0.0
    n_steps: int = 1
    enough: float = 0.0

    def removed(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Copies of each site that its cavity lacks."""
        return np.minimum(weight, 1.0) if self.takes_copies else np.ones(len(weight))

    def size(self, moved: NDArray[np.float64]) -> float:
        """How far messages (2, d) that moved so take a weight, in its standard deviations."""
        by_mean = moved[0] - moved[1] * self.mean
        by_rate = np.abs(moved[1]) * self.factor**2
        return float(np.maximum(np.abs(by_mean) * self.factor, by_rate).max())


@dataclass(frozen=True)
class SweepSums(Sums):
    r"""Sums over the sites of some blocks, for each belief.

    Attributes
    ----------
    precision : ndarray of shape (n_beliefs, d, d), or (n_beliefs, d) of independent weights
        :math:`\Lambda = Z^T \mathrm{diag}(k b) Z`, or sums of rates.
    pull : ndarray of shape (n_beliefs, d)
        :math:`\eta = Z^T (k a y)`, or sums of shifts.
    largest : ndarray of shape (n_beliefs,)
        The largest whole move of a site.
    widest : ndarray of shape (n_beliefs,)
        Largest variance of an output, of beliefs that are the prior.
    """

    MAXIMA = ("largest", "widest")

    precision: NDArray[np.float64]
    pull: NDArray[np.float64]
    largest: NDArray[np.float64]
    widest: NDArray[np.float64]


def sweep(
    block: Any, k: int, sites: list[SitesOfBlock] | None, order: Order
) -> tuple[list[SitesOfBlock] | None, SweepSums]:
    """Steps 1 to 3 of all sites of a block at once, and the sums that step 4 needs.

    The sites of each belief go its share of the way to where they should be. Those that are not
    kept are found from the posterior.
    """
    n, d = len(order.beliefs), order.design.space.n_coordinates
    precision, pull = np.zeros((n, d, d)), np.zeros((n, d))
    largest, widest = np.zeros((2, n))
    law = order.likelihood.constants
    new = None if sites is None else [one.copy() for one in sites]
    for i, belief, (own, space, _, weight, _), (e, f, y) in outputs_of(block, order):
        if belief.is_prior:
            widest[i] = max(widest[i], e.max(initial=0.0))
        removed = belief.removed(weight)
        if sites is None or new is None:
            a, b, moved = find_sites((e, f), y, removed, belief, law)
        else:
            a, b = sites[i][:, own]
            new_a, new_b, moved = _core.ep.all_sites((e, f), (y, a, b, removed), law)
            a, b = a + belief.share * (new_a - a), b + belief.share * (new_b - b)
            new[i][:, own] = a, b
        precision[i] += space.curvature(np.clip(weight * b, -LARGE, LARGE))
        pull[i] += space.pull(weight * a * y)
        largest[i] = np.maximum(largest[i], moved.max(initial=0.0))  # NaN stays NaN
    return new, SweepSums(precision, pull, largest, widest)


def outputs_of(block: Any, order: Order) -> Iterator[tuple]:
    """Variances and means of the outputs of some rows at a time, with their labels."""
    for part in order.design.parts(block):
        for i, belief in enumerate(order.beliefs):
            e = part.space.variances(belief.factor, is_triangular=True)
            y = part.targets[:, belief.task].astype(np.float64)
            yield i, belief, part, (e, part.space.outputs(belief.mean), y)


def find_sites(
    moments: tuple[NDArray, NDArray], y: NDArray, removed: NDArray, belief: Belief, law: tuple
) -> tuple[NDArray, NDArray, NDArray]:
    """The sites that outputs of these variances and means have, and the last moves to them.

    A site is what it should be at the posterior without itself. Where its share of the posterior is
    small, as with many more points than weights, a step brings it there but for that share.
    """
    a, b, moved, before = *np.zeros((3, len(y))), 0.0
    for _ in range(belief.n_steps):
        new_a, new_b, moved = _core.ep.all_sites(moments, (y, a, b, removed), law)
        lost = np.isinf(moved)  # no cavity is left: half of the site
        a, b = np.where(lost, a / 2, new_a), np.where(lost, b / 2, new_b)
        move = float(moved.max(initial=0.0))
        shrinks = move / before if before > move else 1.0
        if shrinks * move <= belief.tol:  # as far as the next would go
            break
        before = move
    return a, b, moved


def sweep_rows(
    block: Any, k: int, sites: list[SitesOfBlock], order: Order
) -> tuple[list[SitesOfBlock], SweepSums]:
    """The same for independent weights: messages of the rows are found anew, one after another."""
    space, targets, weight, left = sparse_rows_of(block, order.design)
    new = [one.copy() for one in sites]
    largest, widest = np.zeros((2, len(sites)))
    for i, belief in enumerate(order.beliefs):
        if not len(weight):
            continue
        labels = Labels(targets[:, belief.task], weight, order.likelihood, left)
        found = row_messages(space, labels, belief, sites[i])
        if found is None:  # no messages leave a posterior: stay, and let others move first
            largest[i] = np.inf
            continue
        moved = found.totals() - sites[i]
        largest[i] = belief.size(moved)
        new[i] += belief.share * moved
        if belief.is_prior:
            widest[i] = (found.Z.power(2) @ belief.factor**2).max(initial=0.0)
    pull, precision = np.stack(new, axis=1)
    return new, SweepSums(precision, pull, largest, widest)


def sparse_rows_of(block: Any, design: Design) -> tuple[Coordinates, NDArray, NDArray, NDArray]:
    """Rows of positive weight, as compiled loops take them; targets, weights, those left out."""
    X, codes, weight, left = design.used(block)
    Z = design.coordinates(X) if len(codes) else sparse.csr_array((0, 1))
    return sparse_rows(Coordinates(Z)), design.coding.encode(codes), weight, left


def row_messages(
    space: Coordinates, labels: Labels, belief: Belief, known: SitesOfBlock
) -> FactorisedSites | None:
    """The messages of all rows, given what other blocks say; None if they leave no posterior.

    ``known`` is the sum of them that is in the posterior.
    """
    # Rows that count for nothing leave the posterior as it is.
    whole = GaussianPrior(belief.mean, belief.factor)
    single = FactorisedSites(space, whole, labels._replace(weight=0 * labels.weight))
    total = belief.factor**-2.0
    precision = np.maximum(total - known[1], SMALLEST * total)
    cavity = GaussianPrior((total * belief.mean - known[0]) / precision, precision**-0.5)
    sites = FactorisedSites(space, cavity, labels)
    try:
        for _ in range(belief.n_steps):
            if single.sweep(1.0) <= belief.tol:
                break
        sites.start_from(single)
        before = np.stack([sites.pull, sites.precision])
        for _ in range(SWEEPS):
            sites.sweep(1.0)
            after = np.stack([sites.pull, sites.precision])
            if belief.size(after - before) <= belief.enough:
                break
            before = after
    except LinAlgError:
        return None
    return sites


def summarise(
    block: Any, k: int, sites: list[SitesOfBlock] | None, order: Order
) -> tuple[LeftOut, SummarySums]:
    """Left-out probabilities and the terms of the evidence, with one belief for each task."""
    look = looks if order.beliefs[0].factor.ndim == 2 else looks_of_rows
    return summary(block, k, order, look(block, sites, order))


def looks(block: Any, sites: list[SitesOfBlock] | None, order: Order) -> Iterator[Look]:
    """What rows and sites look like with a full covariance, some of them at a time."""
    law = order.likelihood.constants
    for i, belief, (own, _, _, weight, left), (e, f, y) in outputs_of(block, order):
        removed = belief.removed(weight)
        if sites is None:
            a, b, _ = find_sites((e, f), y, removed, belief, law)
        else:
            a, b = sites[i][:, own]
        left_out, constant = _core.ep.summary((e, f), (y, a, b, removed), law)
        if not np.array_equal(left, removed):
            left_out, _ = _core.ep.summary((e, f), (y, a, b, left), law)
        yield i, own, y * f, left_out, constant


def looks_of_rows(block: Any, sites: list[SitesOfBlock] | None, order: Order) -> Iterator[Look]:
    """The same for independent weights."""
    assert sites is not None
    space, targets, weight, left = sparse_rows_of(block, order.design)
    for i, belief in enumerate(order.beliefs):
        if len(weight):
            margin = targets[:, i] * (space.rows() @ belief.mean)
            labels = Labels(targets[:, belief.task], weight, order.likelihood, left)
            found = row_messages(space, labels, belief, sites[i])
            unknown = np.full(len(weight), np.log(0.5)), np.zeros(len(weight))
            yield i, slice(None), margin, *(unknown if found is None else found.summary[:2])
