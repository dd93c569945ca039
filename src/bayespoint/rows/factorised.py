r"""Expectation propagation with independent weights over blocks, whose rows share a message.

Of the messages of the rows of a block to a weight only the sum is kept. A visit finds those of
single rows again: each is what it should be at the posterior without itself, which a few steps of
iteration find, since one row's share of a posterior is small. Then sweeps over the rows, one after
another, change them, given what all other blocks say. So a round is a sweep of the sequential
schedule within blocks (or a few, while rounds still move far), and all blocks change at once. The
fixed point is that in memory, and nothing of the size of the data is kept between rounds. (The
division is that of A. Gelman et al., Expectation Propagation as a Way of Life, JMLR 21, 2020.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError

from bayespoint.engines.gaussian.factorised import FactorisedSites, sparse_rows
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.rows.base import Block
from bayespoint.rows.design import Design
from bayespoint.rows.sweeps import LeftOut, SummarySums, Thinning, small_codes
from bayespoint.spaces import Coordinates

STEPS = 30  # to find the messages of single rows, at most; two or three are enough
SWEEPS = 50  # over the rows of a block, at most
SMALLEST = 1e-10  # share of a precision that a cavity keeps, at least

Tied = NDArray[np.float64]  # (n_tasks, 2, d): shift and rate of all rows of a block


class Independent(NamedTuple):
    """The posterior of independent weights of a task, with which a block is visited.

    Attributes
    ----------
    task : int
        Which task.
    pull, precision : ndarray of shape (d,)
        Of the weights: their means are pull / precision.
    share : float
        Share of the way to where it should be that a message goes.
    tol : float
        Move of a row's message at which it is found.
    enough : float
        Move of their sum at which sweeps over the rows end, measured as moves of rounds are.
    """

    task: int
    pull: NDArray[np.float64]
    precision: NDArray[np.float64]
    share: float
    tol: float
    enough: float

    def size(self, moved: NDArray[np.float64]) -> float:
        """How far messages (2, d) that moved so take a weight, in its standard deviations."""
        by_mean = moved[0] - moved[1] * self.pull / self.precision
        by_rate = np.abs(moved[1]) / self.precision
        return float(np.maximum(np.abs(by_mean) / np.sqrt(self.precision), by_rate).max())


@dataclass(frozen=True)
class RowOrder:
    """What a visit of a block needs besides the block and its messages."""

    design: Design
    likelihood: ProbitLikelihood
    beliefs: list[Independent]
    thinning: Thinning


@dataclass(frozen=True)
class TiedSums:
    """Sums over the messages of some blocks, for each belief.

    Attributes
    ----------
    messages : ndarray of shape (n_beliefs, 2, d)
        Shifts and rates.
    largest : ndarray of shape (n_beliefs,)
        The largest whole move of a message, in standard deviations of its weight.
    widest : ndarray of shape (n_beliefs,)
        Largest variance of an output under the belief.
    """

    messages: NDArray[np.float64]
    largest: NDArray[np.float64]
    widest: NDArray[np.float64]

    @property
    def pull(self) -> NDArray[np.float64]:
        """Sums of shifts, (n_beliefs, d)."""
        return self.messages[:, 0]

    @property
    def precision(self) -> NDArray[np.float64]:
        """Sums of rates, (n_beliefs, d)."""
        return self.messages[:, 1]

    def merge(self, later: TiedSums) -> TiedSums:
        """The sums over both."""
        return TiedSums(
            self.messages + later.messages,
            np.maximum(self.largest, later.largest),
            np.maximum(self.widest, later.widest),
        )


def sweep_rows(block: Block, k: int, tied: Tied, order: RowOrder) -> tuple[Tied, TiedSums]:
    """Find the messages of the rows of a block anew, and let their sum go there."""
    rows = Rows.of(block, order)
    new = tied.copy()
    n = len(order.beliefs)
    largest, widest = np.zeros((2, n))
    for i, belief in enumerate(order.beliefs):
        if not len(rows.codes):
            continue
        found = rows.messages(belief, tied[belief.task])
        if found is None:  # no messages leave a posterior: stay, and let others move first
            largest[i] = np.inf
            continue
        moved = found.totals() - tied[belief.task]
        largest[i] = belief.size(moved)
        new[belief.task] += belief.share * moved
        Z = rows.space.rows()
        widest[i] = ((Z * Z) @ (1 / belief.precision)).max(initial=0.0)
    chosen = [belief.task for belief in order.beliefs]
    return new, TiedSums(new[chosen], largest, widest)


def summarise_rows(
    block: Block, k: int, tied: Tied, order: RowOrder
) -> tuple[LeftOut, SummarySums]:
    """Left-out probabilities and the terms of the evidence, with one belief for each task."""
    rows = Rows.of(block, order)
    constant, wrong = np.zeros((2, len(order.beliefs)))
    left_out = np.zeros((len(rows.codes), len(order.beliefs)))
    for i, belief in enumerate(order.beliefs):
        if not len(rows.codes):
            continue
        f = rows.space.rows() @ (belief.pull / belief.precision)
        wrong[i] = (rows.targets[:, i] * f <= 0).sum()
        found = rows.messages(belief, tied[i])
        if found is None:
            left_out[:, i] = np.log(0.5)
            continue
        left_out[:, i], constants = found.constants()
        constant[i] = rows.weight @ constants
    return (
        LeftOut(left_out, small_codes(rows.codes, order.design), rows.weight).thinned(
            order.thinning.own(k)
        ),
        SummarySums(constant, wrong, len(rows.codes)),
    )


class Rows(NamedTuple):
    """The rows of a block, as the compiled loops take them."""

    space: Coordinates
    codes: NDArray[np.int64]
    targets: NDArray[np.int8]
    weight: NDArray[np.float64]
    likelihood: ProbitLikelihood

    @classmethod
    def of(cls, block: Block, order: RowOrder) -> Rows:
        """The rows of positive weight."""
        X, codes, weight = order.design.used(block)
        Z = order.design.coordinates(X) if len(codes) else sparse.csr_array((0, 1))
        space = sparse_rows(Coordinates(Z))
        return cls(space, codes, order.design.coding.encode(codes), weight, order.likelihood)

    def messages(self, belief: Independent, tied: NDArray[np.float64]) -> FactorisedSites | None:
        """The messages of all rows, given what other blocks say; None if they leave no posterior.

        ``tied`` is the sum of them that is in the posterior.
        """
        y, n = self.targets[:, belief.task], len(self.codes)
        whole = GaussianPrior(belief.pull / belief.precision, belief.precision**-0.5)
        # Rows that count for nothing leave the posterior as it is.
        single = FactorisedSites(self.space, whole, y, np.zeros(n), self.likelihood)
        precision = np.maximum(belief.precision - tied[1], SMALLEST * belief.precision)
        cavity = GaussianPrior((belief.pull - tied[0]) / precision, precision**-0.5)
        sites = FactorisedSites(self.space, cavity, y, self.weight, self.likelihood)
        try:
            for _ in range(STEPS):
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
