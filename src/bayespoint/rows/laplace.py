"""Laplace's approximation over blocks: one reading of all blocks for each Newton step."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, lapack

from bayespoint.engines import LaplaceApproximation
from bayespoint.engines.gaussian.laplace import NEAR, REMEDY
from bayespoint.engines.gaussian.newton import FLAT, TRIALS
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.sweeps import ACTIVE
from bayespoint.engines.gaussian.tasks import EXHAUSTED, STOPPED, Ending, TaskResult, run_of
from bayespoint.likelihoods import LogisticLikelihood
from bayespoint.posteriors import GaussianPosterior
from bayespoint.rows.fit import BlockFit, Learned
from bayespoint.rows.newton import (
    Around,
    AroundOrder,
    NewtonOrder,
    NewtonSums,
    Place,
    newton_sums,
    summarise_mode,
)

TINY = np.finfo(np.float64).tiny


@dataclass
class ModeState:
    """One task on its way to the mode: u, and the step from there that is being tried.

    The coordinates are those in which the prior is N(0, I): w = m + R u.
    """

    u: NDArray[np.float64]
    step: NDArray[np.float64]
    root: NDArray[np.float64]  # F with F F^T the inverse of the curvature at u
    length: float = 1.0  # share of the step that is tried
    shortest_refused: float = 1.0
    first_slope: float = -np.inf
    decrement: float = np.inf
    changes: list[float] = field(default_factory=list)
    reason: str = ACTIVE

    def place(self, i: int, prior: GaussianPrior) -> Place:
        """The weights that are tried, and how they differ from the last ones."""
        change = prior.rooted(self.length * self.step)
        return Place(i, prior.mean + prior.rooted(self.u) + change, change)

    def settle(self, prior: GaussianPrior, sums: NewtonSums, i: int, tol: float) -> bool:
        """Go where the sums were taken, or refuse to, if that is too far; whether it converged."""
        relative, is_first = float(sums.relative[i]), np.isinf(self.first_slope)
        tried = self.u + self.length * self.step
        gradient = tried - prior.spread(sums.pull[i])
        H = prior.spread(prior.spread(sums.curvature[i]).T)
        H[np.diag_indices_from(H)] += 1.0
        slope = gradient @ self.step
        is_far = slope > -FLAT * self.first_slope and relative > tol
        if not is_first and is_far and self.length > 2.0**-TRIALS:
            self.shortest_refused = self.length
            length = self.length - slope / (self.step @ H @ self.step)
            inside = 0 < length < self.shortest_refused
            self.length = float(length if inside else self.length / 2)
            return False
        try:
            L = cholesky(H, lower=True, overwrite_a=True)
        except (LinAlgError, ValueError) as error:
            raise ValueError(
                "The curvature of the posterior overflows or is lost in rounding errors. Scale "
                "the features, and take prior_scale nearer to 1."
            ) from error
        before = self.decrement
        self.u, self.root = tried, lapack.dtrtri(L, lower=1)[0].T
        self.step = -cho_solve((L, True), gradient, check_finite=False)
        self.length = self.shortest_refused = 1.0
        self.first_slope = float(gradient @ self.step)
        self.decrement = float(np.sqrt(max(0.0, -self.first_slope)))
        if is_first:
            return False
        self.changes.append(relative)
        # Near the mode, the decrement falls by the share of the change, or is rounding.
        near, falls = sums.largest[i] < NEAR, self.decrement / max(before, TINY)
        # The next step, which is taken, changes outputs by about as much less as the decrement is.
        return relative * min(1.0, 10 * falls) <= tol or bool(near and falls > 10 * NEAR)


def learn(fit: BlockFit, engine: LaplaceApproximation) -> Learned:
    """Find the modes of all tasks over blocks, and the Gaussians around them."""
    steps = Steps(fit, engine)
    steps.run()
    result = steps.result()
    if result.run.converged:
        fit.complete()
    return result


class Steps:
    """The steps of all tasks, with everything that the next one needs."""

    def __init__(self, fit: BlockFit, engine: LaplaceApproximation) -> None:
        self.fit, self.engine = fit, engine
        sizes = [len(prior.mean) for prior in fit.priors]
        self.tasks = [ModeState(np.zeros(d), np.zeros(d), np.eye(d)) for d in sizes]
        self.round = 0
        saved = fit.load()
        if saved is not None:
            self.restore(saved)

    def run(self) -> None:
        """Step until all tasks are at their modes."""
        with self.fit.monitor.running(self.engine.max_iter, "steps"):
            while any(task.reason == ACTIVE for task in self.tasks):
                self.next()

    def next(self) -> None:
        """One visit of all blocks, and the steps that follow from it."""
        began, fit = time.perf_counter(), self.fit
        active = [i for i, task in enumerate(self.tasks) if task.reason == ACTIVE]
        places = [self.tasks[i].place(i, fit.priors[i]) for i in active]
        nothing = [None] * len(fit.sizes)
        _, sums = fit.run(newton_sums, nothing, NewtonOrder(fit.design, places))
        should_stop = fit.monitor.should_stop()
        self.round += 1
        for place, i in enumerate(active):
            task = self.tasks[i]
            if task.settle(fit.priors[i], sums, place, self.engine.tol):
                task.reason = ""
            elif self.round > self.engine.max_iter:
                task.reason = EXHAUSTED
            elif should_stop:
                task.reason = STOPPED
        self.save()
        fit.advance(self.round, self.engine.max_iter, float(sums.relative.max()), began)

    def result(self) -> Learned:
        """The Gaussians at the ends of the last steps, from one more visit of all blocks."""
        fit = self.fit
        modes = [task.u + task.step for task in self.tasks]
        gaussians = [
            Around(prior.mean + prior.rooted(u), prior.rooted(task.root))
            for u, task, prior in zip(modes, self.tasks, fit.priors, strict=True)
        ]
        left_out, sums = fit.run(
            summarise_mode, fit.sizes, AroundOrder(fit.design, gaussians, fit.thinning)
        )
        results, endings = [], []
        for i, (u, task, (mean, factor)) in enumerate(
            zip(modes, self.tasks, gaussians, strict=True)
        ):
            evidence = sums.constant[i] - 0.5 * (u @ u) + np.log(task.root.diagonal()).sum()
            error = float(sums.wrong[i] / sums.n_rows)
            results.append(TaskResult(mean, factor, float(evidence), np.empty(0), error))
            endings.append(Ending(task.changes, task.reason, REMEDY))
        posterior = GaussianPosterior(
            np.stack([one.mean for one in results], axis=1),
            np.stack([one.factor for one in results]),
            LogisticLikelihood(),
            log_evidence=np.array([one.log_evidence for one in results]),
        )
        return Learned(
            posterior,
            run_of(results, endings, "steps", self.engine.tol),
            left_out,
            fit.thinning.step,
        )

    def save(self) -> None:
        """Write a checkpoint: it is small, so after every step."""
        arrays: dict[str, Any] = {"round": np.array(self.round)}
        for i, task in enumerate(self.tasks):
            arrays |= {f"task{i}_{name}": np.array(value) for name, value in vars(task).items()}
        self.fit.save(arrays, now=True)

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from a checkpoint; what it ended for is forgotten unless it converged."""
        self.round = int(saved["round"])
        for i, task in enumerate(self.tasks):
            for name, value in vars(task).items():
                found = saved[f"task{i}_{name}"]
                setattr(task, name, found if isinstance(value, np.ndarray) else found.tolist())
            task.reason = "" if task.reason == "" else ACTIVE
