"""Rounds of independent weights over blocks of rows.

Only the sum of the messages of the rows of a block to a weight is kept. A visit finds those of
single rows again: each is what it should be at the posterior without itself, which a few steps of
iteration find, since one row's share of a posterior is small. Then sweeps over the rows, one after
another, change them, given what all other blocks say. So a round is a sweep of the sequential
schedule within blocks (or a few, while rounds still move far), and all blocks change at once. The
fixed point is that in memory. (The division is that of A. Gelman et al., Expectation Propagation as
a Way of Life, JMLR 21, 2020.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError

from bayespoint.engines.gaussian.blocks.rows import Design, Look, Order, Sums
from bayespoint.engines.gaussian.factorised_sites import FactorisedSites, sparse_rows
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.sites import COLLAPSED
from bayespoint.engines.gaussian.tasks import HESITANT, Iterations, Labels, TaskResult, log_evidence
from bayespoint.spaces import Coordinates

STEPS = 30  # to find the messages of single rows, at most; two or three are enough
SWEEPS = 50  # over the rows of a block, at most
SMALLEST = 1e-10  # share of a precision that a cavity keeps, at least
HALVINGS = 30  # of a step that left no posterior, before the run is given up
# Shares of the last round's move at which messages of single rows are found, and a visit ends.
EARLY, ENOUGH = 0.01, 0.5

MessagesOfBlock = NDArray[np.float64]  # shift and rate of all of its rows to each weight, (2, d)


class Belief(NamedTuple):
    """The posterior of a task, with which a block is visited.

    Attributes
    ----------
    task : int
        Which task.
    mean, factor : ndarray of shape (d,)
        Means and standard deviations of the weights.
    share : float
        Share of the way to where they should be that messages go.
    is_prior : bool
        Whether this is the prior, before any label is seen.
    tol : float
        The move at which messages of single rows are found.
    n_steps : int
        Most steps to that.
    enough : float
        Move of the messages of a block at which sweeps over its rows end.
    """

    task: int
    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    share: float = 1.0
    is_prior: bool = False
    tol: float = 0.0
    n_steps: int = 1
    enough: float = 0.0

    def size(self, moved: NDArray[np.float64]) -> float:
        """How far messages (2, d) that moved so take a weight, in its standard deviations."""
        by_mean = moved[0] - moved[1] * self.mean
        by_rate = np.abs(moved[1]) * self.factor**2
        return float(np.maximum(np.abs(by_mean) * self.factor, by_rate).max())


@dataclass(frozen=True)
class MessageSums(Sums):
    """Sums over the messages of some blocks, for each belief.

    Attributes
    ----------
    pull, precision : ndarray of shape (n_beliefs, d)
        Sums of shifts and of rates.
    largest : ndarray of shape (n_beliefs,)
        The largest whole move of a block.
    widest : ndarray of shape (n_beliefs,)
        Largest variance of an output, of beliefs that are the prior.
    """

    MAXIMA = ("largest", "widest")

    pull: NDArray[np.float64]
    precision: NDArray[np.float64]
    largest: NDArray[np.float64]
    widest: NDArray[np.float64]


def visit(
    block: Any, k: int, sites: list[MessagesOfBlock], order: Order
) -> tuple[list[MessagesOfBlock], MessageSums]:
    """Find the messages of the rows of a block anew, one after another, and add them up."""
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
    return new, MessageSums(pull, precision, largest, widest)


def sparse_rows_of(block: Any, design: Design) -> tuple[Coordinates, NDArray, NDArray, NDArray]:
    """Rows of positive weight, as compiled loops take them; targets, weights, those left out."""
    X, codes, weight, left = design.used(block)
    Z = design.coordinates(X) if len(codes) else sparse.csr_array((0, 1))
    return sparse_rows(Coordinates(Z)), design.coding.encode(codes), weight, left


def row_messages(
    space: Coordinates, labels: Labels, belief: Belief, known: MessagesOfBlock
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


def look(block: Any, sites: list[MessagesOfBlock] | None, order: Order) -> Iterator[Look]:
    """What rows look like at the end."""
    assert sites is not None
    space, targets, weight, left = sparse_rows_of(block, order.design)
    for i, belief in enumerate(order.beliefs):
        if len(weight):
            is_wrong = targets[:, i] * (space.rows() @ belief.mean) <= 0
            labels = Labels(targets[:, belief.task], weight, order.likelihood, left)
            found = row_messages(space, labels, belief, sites[i])
            unknown = np.full(len(weight), np.log(0.5)), np.zeros(len(weight))
            yield i, slice(None), is_wrong, *(unknown if found is None else found.summary[:2])


class BlockMessages(Iterations):
    """The messages of one task in all blocks: their sums, and the posterior that they make.

    Parameters
    ----------
    task : int
        Which task.
    prior : GaussianPrior
        Of its weights.
    sizes : list of int
        Rows of the blocks.
    damping : float or None
        Share of each step that is taken; None is 1, and less while moves do not decrease.

    Attributes
    ----------
    pull, precision : ndarray of shape (d,)
        Sums over all messages.
    mean, factor : ndarray of shape (d,)
        Means and standard deviations of the weights.
    radius : float
        Standard deviation of the outputs before any label is seen, the largest.
    sites : list of ndarray
        The messages of each block.
    """

    STATE = ("pull", "precision", "mean", "factor", "radius", "sites", "share", "changes", "reason")
    has_cavities, keeps_rows = True, False

    def __init__(
        self, task: int, prior: GaussianPrior, sizes: list[int], damping: float | None
    ) -> None:
        super().__init__()
        self.task, self.prior, self.damping, self.radius = task, prior, damping, 0.0
        self.share = damping or 1.0
        zeros = np.zeros(len(prior.mean))
        self.sites: list[MessagesOfBlock] = [np.zeros((2, len(zeros))) for _ in sizes]
        self._take(zeros, zeros)

    def place(self, tol: float) -> Belief:
        """What blocks are visited with."""
        last = min([1.0, *self.changes[-1:]])
        return Belief(
            self.task,
            self.mean,
            self.factor,
            self.share,
            is_prior=not self.changes,
            tol=max(tol, EARLY * last),
            n_steps=STEPS,
            enough=max(tol, ENOUGH * last),
        )

    def arrive(self, sums: MessageSums, i: int, new: list[MessagesOfBlock], tol: float) -> None:
        """Take over what the visit of all blocks has found."""
        self.left = float(sums.largest[i])
        if np.isnan(self.left):
            raise LinAlgError("the messages overflow")
        self.radius = max(self.radius, float(np.sqrt(sums.widest[i])))
        part, before = 1.0, self.sites
        pull, rate = sums.pull[i] - self.pull, sums.precision[i] - self.precision
        for _ in range(HALVINGS):
            try:
                self._take(self.pull + part * pull, self.precision + part * rate)
                break
            except LinAlgError:  # messages of negative precision went too far: half the way back
                part /= 2
        else:
            raise LinAlgError("no step leaves a posterior")
        if part < 1:
            new = [old + part * (one - old) for old, one in zip(before, new, strict=True)]
        self.sites = new

    def _take(self, pull: NDArray, precision: NDArray) -> None:
        """Take the posterior of the prior and these sums; a LinAlgError if there is none."""
        total = precision + self.prior.root**-2.0
        if not np.isfinite(total).all() or not (total > 0).all():
            raise LinAlgError("the messages overflow")
        mean = self.prior.mean + (pull - precision * self.prior.mean) / total
        if not np.isfinite(mean).all():
            raise LinAlgError("the messages leave no posterior")
        if not (total**-0.5 >= np.sqrt(COLLAPSED) * self.prior.scales).all():
            raise LinAlgError("the posterior has collapsed")
        self.pull, self.precision, self.mean, self.factor = pull, precision, mean, total**-0.5

    def agrees(self, tol: float) -> bool:
        """Whether the messages agree with each other."""
        if self.damping is None:
            grows = len(self.changes) > 1 and not self.changes[-1] < self.changes[-2]
            self.share = max(HESITANT, self.share / 2) if grows else min(1.0, 1.2 * self.share)
        return self.left <= tol

    def end(self, tol: float) -> Belief:
        """What blocks are summarised with."""
        return self.place(tol)

    def result(self, end: Belief, constant: float, error: float) -> TaskResult:
        """The posterior and its evidence; ``constant`` is the sum of those of the rows."""
        prior = self.prior
        evidence = log_evidence(
            constant,
            2 * np.log(self.factor).sum() - prior.log_determinant,
            (self.mean - prior.mean) @ prior.pull + self.mean @ self.pull,
        )
        return TaskResult(self.mean, self.factor, evidence, np.empty(0), error)
