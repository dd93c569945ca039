"""Expectation propagation over blocks: all sites change at once, in rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from bayespoint.engines.base import Request
from bayespoint.engines.gaussian.blocks import visits
from bayespoint.engines.gaussian.blocks.rounds import Rounds
from bayespoint.engines.gaussian.blocks.rows import BlockRows, SummarySums
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.sites_old import COLLAPSED, HALVINGS
from bayespoint.engines.gaussian.tasks import Sweeps, TaskResult, log_evidence
from bayespoint.spaces.coordinates import inverse_root

MANY = 1000  # points for each weight, from which sites need not be kept
# Steps to find the sites of a posterior: few while it moves by more than this, as it is not final.
CLOSE, FEW_STEPS, MOST_STEPS = 1e-2, 2, 30
# Shares of the last round's move at which messages of single rows are found, and a visit ends.
EARLY, ENOUGH = 0.01, 0.5


class Kind(NamedTuple):
    """What is kept of the sites of a block between rounds.

    Attributes
    ----------
    visit : callable
        Visits a block.
    is_full : bool
        Whether weights depend on each other.
    keeps_rows : bool
        Whether it is the site of each row.
    first_share : float
        Share of the first step that is taken.
    """

    visit: Callable
    is_full: bool
    keeps_rows: bool
    first_share: float


KEPT = Kind(visits.sweep, is_full=True, keeps_rows=True, first_share=0.5)
# With many more points than weights a block finds its sites from the posterior, and sends sums
# only. So nothing of the size of the data is kept between rounds, or moved.
FOUND = Kind(visits.sweep, is_full=True, keeps_rows=False, first_share=1.0)
# Of independent weights, the sum of the messages of a block is kept.
SUMMED = Kind(visits.sweep_rows, is_full=False, keeps_rows=False, first_share=1.0)


class BlockSites:
    """The sites of one task in all blocks: their sums, and the posterior that they make.

    Parameters
    ----------
    kind : Kind
        What is kept of them.
    task : int
        Which task.
    prior : GaussianPrior
        Of its weights.
    sizes : list of int
        Rows of the blocks.

    Attributes
    ----------
    precision, pull : ndarray of shape (d, d) and (d,)
        Sums over all sites; both are vectors if weights are independent, as is the factor.
    mean, factor : ndarray of shape (d,) and (d, d)
        The posterior N(mean, factor factor^T).
    takes_copies : bool
        Whether the cavity of a site of weight k lacks one of k copies, or all if k < 1.
    radius : float
        Standard deviation of the outputs before any label is seen, the largest.
    sites : list of ndarray
        What is kept of each block; empty if nothing is.
    """

    STATE = ("precision", "pull", "mean", "factor", "takes_copies", "radius", "sites")

    def __init__(self, kind: Kind, task: int, prior: GaussianPrior, sizes: list[int]) -> None:
        self.kind, self.task, self.prior = kind, task, prior
        self.takes_copies, self.radius = False, 0.0
        self.left = np.inf  # the largest move of a site, or of the posterior, as a visit finds it
        d = len(prior.mean)
        self.sites: list[visits.SitesOfBlock] = []
        if kind is not FOUND:
            self.sites = [np.zeros((2, n if kind.keeps_rows else d)) for n in sizes]
        self._new: list[visits.SitesOfBlock] | None = None
        self._take(np.zeros((d, d) if kind.is_full else d), np.zeros(d))

    def belief(self, sweeps: Sweeps, tol: float) -> visits.Belief:
        """What blocks are visited with."""
        last = min([1.0, *sweeps.changes[-1:]])
        belief = visits.Belief(
            self.task, self.mean, self.factor, sweeps.share, self.takes_copies, not sweeps.changes
        )
        if self.kind is KEPT:
            return belief
        if self.kind is SUMMED:
            near, enough = max(tol, EARLY * last), max(tol, ENOUGH * last)
            return belief._replace(tol=near, n_steps=visits.STEPS, enough=enough)
        n_steps = FEW_STEPS if last > CLOSE else MOST_STEPS
        return belief._replace(tol=max(0.1 * tol, EARLY * last), n_steps=n_steps)

    def see(self, sums: Any, place: int, new: list[Any]) -> None:
        """Note what a visit of all blocks has found."""
        self._precision, self._pull = sums.precision[place], sums.pull[place]
        self._is_lost = bool(np.isinf(sums.largest[place]))
        self.left = self._distance() if self.kind is FOUND else float(sums.largest[place])
        self.radius = max(self.radius, float(np.sqrt(sums.widest[place])))
        if self.sites:
            self._new = [of_block[place] for of_block in new]

    def moves_left(self, tol: float) -> float:
        """The largest move that the next sweep would make."""
        if np.isnan(self.left):
            raise LinAlgError("the sites overflow")
        if self.kind is FOUND and self.left <= tol:
            self._take(self._precision, self._pull)  # the last step costs nothing more
        return self.left

    def sweep(self, share: float) -> float:
        """Step 4: take over what the last visit has found; the largest move."""
        if np.isnan(self.left):
            raise LinAlgError("the sites overflow")
        if self._is_lost and (self.kind is not FOUND or self.left <= CLOSE):
            self.takes_copies = True  # no cavity: lack no more copies than are there
        part = share if self.kind is FOUND else 1.0  # kept ones have gone their share already
        rate, pull = self._precision - self.precision, self._pull - self.pull
        for _ in range(HALVINGS):
            try:
                self._take(self.precision + part * rate, self.pull + part * pull)
                break
            except LinAlgError:  # sites of negative precision went too far: half the way back
                part /= 2
        else:
            raise LinAlgError("no step leaves a posterior")
        if self._new is not None:
            before, after = self.sites, self._new
            if part < 1:
                pairs = zip(before, after, strict=True)
                after = [old + part * (new - old) for old, new in pairs]
            self.sites, self._new = after, None
        return self.left

    def _take(self, precision: NDArray, pull: NDArray) -> None:
        """Take the posterior of the prior and these sums; a LinAlgError if there is none."""
        prior, full = self.prior, precision.ndim == 2
        total = precision + (prior.precision if full else prior.root**-2.0)
        if not np.isfinite(total).all() or not (full or (total > 0).all()):
            raise LinAlgError("the messages overflow")
        factor = inverse_root(total) if full else total**-0.5
        forces = pull - (precision @ prior.mean if full else precision * prior.mean)
        move = factor @ (factor.T @ forces) if full else forces / total
        mean, scales = prior.mean + move, np.linalg.norm(factor, axis=1) if full else factor
        if not np.isfinite(mean).all():
            raise LinAlgError("the messages leave no posterior")
        if not (scales >= np.sqrt(COLLAPSED) * prior.scales).all():
            raise LinAlgError("the posterior has collapsed")
        self.precision, self.pull, self.factor, self.mean = precision, pull, factor, mean

    def _distance(self) -> float:
        """How far the posterior would move: no output by more of its standard deviations.

        Nor would its variance change by a larger share.
        """
        rate = self._precision - self.precision
        pull = self._pull - self.pull - rate @ self.mean
        change = self.factor.T @ rate @ self.factor
        return float(max(np.linalg.norm(self.factor.T @ pull), np.linalg.norm(change, 2)))

    def result(self, constant: float, error: float) -> TaskResult:
        """The posterior and its evidence; ``constant`` is the sum of those of the sites."""
        scales = self.factor.diagonal() if self.kind.is_full else self.factor
        evidence = log_evidence(
            constant,
            2 * np.log(scales).sum() - self.prior.log_determinant,
            (self.mean - self.prior.mean) @ self.prior.pull + self.mean @ self.pull,
        )
        return TaskResult(self.mean, self.factor, evidence, np.empty(0), error)


def keeps_sites(engine: Any, n_rows: int, n_weights: int) -> bool:
    """Whether a full covariance needs the sites of all rows between rounds.

    Sites that can have a negative precision do, and sites with a large share of the posterior.
    """
    return engine.label_noise > 0 or n_rows < MANY * n_weights


class SiteRounds(Rounds):
    """Expectation propagation over blocks, all of them at once.

    The fixed point is that in memory. With a full covariance the rounds are those of
    ``schedule="parallel"`` in memory, to rounding, or, with 1 000 times as many points as weights
    and no flips of labels, rounds that keep no sites. With independent weights a round is a sweep
    over the rows of each block.

    Parameters
    ----------
    engine, rows, request
        See the base class.
    kind : Kind
        What is kept of the sites.
    """

    saves_always = False

    def __init__(self, engine: Any, rows: BlockRows, request: Request, kind: Kind) -> None:
        self.kind, self.is_full, self.keeps_rows = kind, kind.is_full, kind.keeps_rows
        super().__init__(engine, rows, request)

    def begin(self, task: int, prior: GaussianPrior) -> Sweeps:
        """The sites of a task before the first sweep."""
        sites = BlockSites(self.kind, task, prior, self.rows.sizes)
        return Sweeps.of(self.engine, sites, in_turn=False, share=self.kind.first_share)

    def look(self, active: list[Sweeps]) -> None:
        """Read all blocks once, and find where the sites of these tasks should be."""
        if self.engine.max_iter == 1 and any(task.changes for task in active):
            return  # a single pass asks for no more
        new, sums = self._reduce(self.kind.visit, active)
        for place, task in enumerate(active):
            task.sites.see(sums, place, new)
        self.largest = max(task.sites.left for task in self.tasks)

    def _reduce(self, function: Callable, tasks: list[Any]) -> tuple[list, Any]:
        """Run a function on all blocks with what is known of tasks."""
        n_blocks = len(self.rows.sizes)
        arguments: list[Any] = [None] * n_blocks
        if self.kind is not FOUND:
            arguments = [[task.sites.sites[k] for task in tasks] for k in range(n_blocks)]
        return self.reduce(
            function, arguments, [task.sites.belief(task, self.engine.tol) for task in tasks]
        )

    def summarise(self) -> tuple[list[Any], SummarySums, list[TaskResult]]:
        """The posteriors, their evidence and their cavities."""
        left_out, sums = self._reduce(visits.summarise, self.tasks)
        found = zip(self.tasks, sums.constant.tolist(), sums.errors, strict=True)
        return left_out, sums, [task.sites.result(*rest) for task, *rest in found]
