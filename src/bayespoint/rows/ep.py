"""Expectation propagation over blocks: all sites change at once, in rounds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from sklearn.base import clone

from bayespoint.engines import ExpectationPropagation
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.sites import COLLAPSED, HALVINGS
from bayespoint.engines.gaussian.sweeps import COLLAPSE, ROUNDING, next_share
from bayespoint.engines.gaussian.tasks import EXHAUSTED, STOPPED, Ending, TaskResult, run_of
from bayespoint.exceptions import ClusterError
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.posteriors import GaussianPosterior
from bayespoint.rows.executor import BlockFunction
from bayespoint.rows.factorised import Independent, RowOrder, summarise_rows, sweep_rows
from bayespoint.rows.fit import BlockFit, Learned
from bayespoint.rows.sweeps import Belief, Order, summarise, sweep
from bayespoint.spaces.coordinates import inverse_root

ACTIVE = "active"  # the reason of a task that goes on
MANY = 1000  # points for each weight, from which sites need not be kept
# Steps to find the sites of a posterior: few while it moves by more than this, as it is not final.
CLOSE, FEW_STEPS, MOST_STEPS = 1e-2, 2, 30
# Shares of the last round's move at which messages of single rows are found, and a visit ends.
EARLY, ENOUGH = 0.01, 0.5


@dataclass
class TaskState:
    """One task on its way: the sums over its sites, and the posterior that they make.

    Those of independent weights are vectors.
    """

    precision: NDArray[np.float64]
    pull: NDArray[np.float64]
    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    share: float
    takes_copies: bool = False
    radius: float = 0.0  # standard deviation of the outputs before any label is seen, the largest
    changes: list[float] = field(default_factory=list)
    reason: str = ACTIVE

    @classmethod
    def at_prior(cls, prior: GaussianPrior, share: float, *, full: bool) -> TaskState:
        """Before the first round: no site says anything."""
        d = len(prior.mean)
        nothing = np.zeros((d, d) if full else d)
        state = cls(nothing, np.zeros(d), prior.mean, nothing, share)
        state.take(prior, state.precision, state.pull)
        return state

    def take(self, prior: GaussianPrior, precision: NDArray, pull: NDArray) -> None:
        """Step 4: the posterior of the prior and these sums; a LinAlgError if there is none."""
        full = precision.ndim == 2
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

    def belief(self, task: int) -> Belief:
        """What blocks are visited with."""
        is_prior = not self.changes
        return Belief(task, self.mean, self.factor, self.share, self.takes_copies, is_prior)

    def independent(self, task: int, tol: float) -> Independent:
        """The same for independent weights."""
        precision = self.factor**-2.0
        last = min(1.0, *self.changes[-1:], 1.0)
        return Independent(
            task, precision * self.mean, precision, self.share, max(tol, EARLY * last),
            max(tol, ENOUGH * last),
        )  # fmt: skip


def learn(fit: BlockFit, engine: ExpectationPropagation) -> Learned:
    """Run expectation propagation over blocks, all of them at once.

    The fixed point is that in memory. With a full covariance the rounds are those of
    ``schedule="parallel"`` in memory, to rounding, or, with 1 000 times as many points as weights
    and no flips of labels, rounds that keep no sites. With independent weights a round is a sweep
    over the rows of each block.
    """
    kind = Rounds if engine.covariance == "full" else TiedRounds
    if kind is Rounds and not keeps_sites(engine, sum(fit.sizes), fit.design.space.n_coordinates):
        kind = FreeRounds
    rounds = kind(fit, engine)
    rounds.run()
    result = rounds.result()
    if result.run.converged:
        fit.complete()
    return result


def keeps_sites(engine: ExpectationPropagation, n_rows: int, n_weights: int) -> bool:
    """Whether a full covariance needs the sites of all rows between rounds.

    Sites that can have a negative precision do, and sites with a large share of the posterior.
    """
    return engine.label_noise > 0 or n_rows < MANY * n_weights


class Rounds:
    """The rounds of all tasks, with everything that the next one needs."""

    is_full = True
    visit: BlockFunction = staticmethod(sweep)
    last_visit: BlockFunction = staticmethod(summarise)
    first_share = 0.5

    def __init__(self, fit: BlockFit, engine: ExpectationPropagation) -> None:
        # An engine whose shares of steps follow the moves of single rounds.
        self.fit, self.engine = fit, clone(engine).set_params(schedule="parallel")
        self.likelihood = ProbitLikelihood(float(engine.noise), float(engine.label_noise))
        share = engine.damping or self.first_share
        self.tasks = [TaskState.at_prior(prior, share, full=self.is_full) for prior in fit.priors]
        self.sites = [self.no_sites(n) for n in fit.sizes]
        self.round = 0
        self.moves: list[float] = []  # of each task, in the last round
        saved = fit.load()
        if saved is not None:
            self.restore(saved)

    def run(self) -> None:
        """Visit all blocks until no site of any task would move."""
        with self.fit.monitor.running(self.engine.max_iter, "sweeps"):
            while any(task.reason == ACTIVE for task in self.tasks):
                self.next()

    def next(self) -> None:
        """One round: a visit of all blocks, and the posteriors that their new sites make."""
        began = time.perf_counter()
        active = [i for i, task in enumerate(self.tasks) if task.reason == ACTIVE]
        try:
            new, sums = self.fit.run(self.visit, self.sites, self.order(active))
        except (KeyboardInterrupt, ClusterError):
            self.save(now=True)
            raise
        should_stop = self.fit.monitor.should_stop()
        self.moves = []
        for place, i in enumerate(active):
            share = self.settle(i, place, sums, should_stop)
            if share < 1:
                self.hold_back(new, i, share)
        self.sites = new
        self.round += 1
        if not all(self.tasks[i].reason == "" for i in active):
            self.save(now=should_stop)
        self.fit.advance(self.round, self.engine.max_iter, max(self.moves), began)

    def hold_back(self, new: list[Any], i: int, share: float) -> None:
        """Let the sites of a task go only a share of the way to new ones."""
        for before, after in zip(self.sites, new, strict=True):
            after[i] = before[i] + share * (after[i] - before[i])

    def move(self, task: TaskState, place: int, sums: Any) -> float:
        """How far the sites of a task would move."""
        return float(sums.largest[place])

    def no_sites(self, n_rows: int) -> Any:
        """The sites of a block of so many rows, before the first round."""
        return np.zeros((self.fit.n_tasks, 2, n_rows))

    def order(self, which: list[int]) -> Any:
        """What the blocks need to know of these tasks."""
        beliefs = [self.tasks[i].belief(i) for i in which]
        return Order(self.fit.design, self.likelihood.constants, beliefs, self.fit.thinning)

    def settle(self, i: int, place: int, sums: Any, should_stop: bool) -> float:
        """Take over the sums of a task, or end it; the share of the moves that stays."""
        task = self.tasks[i]
        move = self.move(task, place, sums)
        self.moves.append(move)
        if not task.changes:
            task.radius = float(np.sqrt(sums.widest[place]))
        task.reason = self.ending(len(task.changes), move, should_stop)
        if task.reason != ACTIVE:
            return 0.0
        task.changes.append(move)
        task.takes_copies = task.takes_copies or self.lost_cavities(task, place, sums)
        part = self.first_part(task)
        for _ in range(HALVINGS):
            try:
                task.take(
                    self.fit.priors[i],
                    task.precision + part * (sums.precision[place] - task.precision),
                    task.pull + part * (sums.pull[place] - task.pull),
                )  # fmt: skip
                break
            except LinAlgError:  # sites of negative precision went too far: half the way back
                part /= 2
        else:
            task.reason = COLLAPSE
            return 0.0
        if self.engine.damping is None:
            task.share = next_share(self.engine, task.share, task.changes)
        return part

    def lost_cavities(self, task: TaskState, place: int, sums: Any) -> bool:
        """Whether a site had no cavity, so that these must lack no more copies than are there."""
        return bool(np.isinf(sums.largest[place]))

    def first_part(self, task: TaskState) -> float:
        """The share of new sums that is taken: blocks have gone the share that they were told."""
        return 1.0

    def ending(self, n_sweeps: int, move: float, should_stop: bool) -> str:
        """Why a task ends before its sites move, "" if it has converged."""
        if np.isnan(move):
            return COLLAPSE
        if n_sweeps and (self.engine.max_iter == 1 or move <= max(self.engine.tol, ROUNDING)):
            return ""
        if n_sweeps >= self.engine.max_iter:
            return EXHAUSTED
        return STOPPED if should_stop and n_sweeps else ACTIVE

    def result(self) -> Learned:
        """The posterior, its evidence and its cavities, from one more visit of all blocks."""
        fit, priors = self.fit, self.fit.priors
        left_out, sums = fit.run(self.last_visit, self.sites, self.order([*range(fit.n_tasks)]))
        results, endings = [], []
        for i, (task, prior) in enumerate(zip(self.tasks, priors, strict=True)):
            scales = task.factor.diagonal() if self.is_full else task.factor
            log_det = 2 * np.log(scales).sum() - prior.log_determinant
            # mu^T Sigma^-1 mu - m^T Sigma_0^-1 m
            square = (task.mean - prior.mean) @ prior.pull + task.mean @ task.pull
            evidence = float(sums.constant[i] + 0.5 * (log_det + square))
            error = float(sums.wrong[i] / sums.n_rows)
            results.append(TaskResult(task.mean, task.factor, evidence, np.empty(0), error))
            remedy = self.engine._remedy(task.reason, error, task.radius)
            endings.append(Ending(task.changes, task.reason, remedy))
        posterior = GaussianPosterior(
            np.stack([one.mean for one in results], axis=1),
            np.stack([one.factor for one in results]),
            self.likelihood,
            log_evidence=np.array([one.log_evidence for one in results]),
        )
        return Learned(
            posterior,
            run_of(results, endings, "sweeps", self.engine.tol),
            left_out,
            fit.thinning.step,
        )

    def save(self, *, now: bool = False) -> None:
        """Write a checkpoint, if it is time."""
        if self.fit.checkpoint is None:
            return
        arrays: dict[str, Any] = {"round": np.array(self.round)}
        for i, task in enumerate(self.tasks):
            arrays |= {f"task{i}_{name}": np.array(value) for name, value in vars(task).items()}
        arrays |= {f"sites{k}": one for k, one in enumerate(self.sites) if one is not None}
        self.fit.save(arrays, now=now)

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from a checkpoint; what it ended for is forgotten unless it converged."""
        self.round = int(saved["round"])
        self.sites = [saved.get(f"sites{k}") for k in range(len(self.sites))]
        for i, task in enumerate(self.tasks):
            for name, value in vars(task).items():
                found = saved[f"task{i}_{name}"]
                setattr(task, name, found.tolist() if not isinstance(value, np.ndarray) else found)
            task.reason = "" if task.reason == "" else ACTIVE


class FreeRounds(Rounds):
    """The same with many more points than weights, where no sites are kept.

    A block finds its sites from the posterior, and sends sums only. So nothing of the size of the
    data is kept between rounds, or moved.
    """

    first_share = 1.0

    def no_sites(self, n_rows: int) -> None:
        """Nothing is kept."""

    def hold_back(self, new: list[Any], i: int, share: float) -> None:
        """Nothing is kept; the sums are held back."""

    def first_part(self, task: TaskState) -> float:
        """The share of the step."""
        return task.share

    def settle(self, i: int, place: int, sums: Any, should_stop: bool) -> float:
        """The same; the last step, which costs nothing more, is taken."""
        share, task = super().settle(i, place, sums, should_stop), self.tasks[i]
        if task.reason == "":
            task.take(self.fit.priors[i], sums.precision[place], sums.pull[place])
        return share

    def lost_cavities(self, task: TaskState, place: int, sums: Any) -> bool:
        """The same, once the posterior is close to its end."""
        return task.changes[-1] <= CLOSE and super().lost_cavities(task, place, sums)

    def order(self, which: list[int]) -> Order:
        """What the blocks need to know of these tasks."""
        order = super().order(which)
        beliefs = []
        for belief in order.beliefs:
            last = min([1.0, *self.tasks[belief.task].changes[-1:]])
            n_steps = FEW_STEPS if last > CLOSE else MOST_STEPS
            tol = max(0.1 * self.engine.tol, EARLY * last)
            beliefs.append(belief._replace(tol=tol, n_steps=n_steps))
        return replace(order, beliefs=beliefs)

    def move(self, task: TaskState, place: int, sums: Any) -> float:
        """How far the posterior would move: no output by more of its standard deviations.

        Nor would its variance change by a larger share.
        """
        rate = sums.precision[place] - task.precision
        pull = sums.pull[place] - task.pull - rate @ task.mean
        change = task.factor.T @ rate @ task.factor
        return float(max(np.linalg.norm(task.factor.T @ pull), np.linalg.norm(change, 2)))


class TiedRounds(Rounds):
    """The same with independent weights; the sites of a block are the sum of its messages."""

    is_full = False
    visit = staticmethod(sweep_rows)
    last_visit = staticmethod(summarise_rows)
    first_share = 1.0

    def no_sites(self, n_rows: int) -> NDArray[np.float64]:
        """The messages of a block, before the first round."""
        return np.zeros((self.fit.n_tasks, 2, self.fit.design.space.n_coordinates))

    def order(self, which: list[int]) -> RowOrder:
        """What the blocks need to know of these tasks."""
        beliefs = [self.tasks[i].independent(i, self.engine.tol) for i in which]
        return RowOrder(self.fit.design, self.likelihood, beliefs, self.fit.thinning)
