"""Laplace's approximation over blocks: one reading of all blocks for each Newton step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, lapack

from bayespoint.engines import LaplaceApproximation
from bayespoint.engines.gaussian.logistic import left_out_log_probability
from bayespoint.engines.gaussian.newton import NEAR, Descent, LineSearch, Local, find_modes
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import ACTIVE, TaskResult
from bayespoint.likelihoods import LogisticLikelihood
from bayespoint.rows.base import Block
from bayespoint.rows.design import Design
from bayespoint.rows.executor import BlockFunction, Sums
from bayespoint.rows.fit import BlockFit, Learned, State
from bayespoint.rows.sweeps import LeftOut, Look, SummarySums, Thinning, summary

AT_FIRST = LineSearch(-np.inf)  # whatever the slope is, it is flat beside this one


class Place(NamedTuple):
    """Weights of a task at which a block is asked.

    Attributes
    ----------
    task : int
        Which task.
    weights : ndarray of shape (d,)
        The weights.
    spread : ndarray of shape (d,) or (d, d)
        The step that led to them, or at the end F of their covariance F F^T.
    """

    task: int
    weights: NDArray[np.float64]
    spread: NDArray[np.float64]


@dataclass(frozen=True)
class NewtonOrder:
    """What a visit of a block needs besides the block."""

    design: Design
    places: list[Place]
    thinning: Thinning


@dataclass(frozen=True)
class NewtonSums(Sums):
    r"""Sums over the rows of some blocks, for each place.

    Attributes
    ----------
    curvature : ndarray of shape (n_places, d, d)
        :math:`Z^T \mathrm{diag}(k p (1 - p)) Z`.
    pull : ndarray of shape (n_places, d)
        :math:`Z^T s`, with the slopes s of the log-likelihood by the outputs.
    largest : ndarray of shape (2, n_places)
        The largest change of an output f by the last step, and the largest as a share of 1 + |f|.
    """

    MAXIMA = ("largest",)

    curvature: NDArray[np.float64]
    pull: NDArray[np.float64]
    largest: NDArray[np.float64]


def newton_sums(block: Block, k: int, n_rows: int, order: NewtonOrder) -> tuple[None, NewtonSums]:
    """Slope and curvature of the log-likelihood at each place: n d^2 operations."""
    n, d = len(order.places), order.design.space.n_coordinates
    sums = NewtonSums(np.zeros((n, d, d)), np.zeros((n, d)), np.zeros((2, n)))
    likelihood = LogisticLikelihood()
    for _, space, targets, weight in order.design.parts(block):
        for i, place in enumerate(order.places):
            y = targets[:, place.task]
            f, step = space.outputs(np.column_stack([place.weights, place.spread])).T
            miss, bend = likelihood.derivatives(y * f)
            sums.curvature[i] += space.curvature(weight * bend)
            sums.pull[i] += space.pull(weight * y * miss)
            change = np.stack([np.abs(step), np.abs(step) / (1 + np.abs(f - step))])
            sums.largest[:, i] = np.maximum(sums.largest[:, i], change.max(axis=1, initial=0.0))
    return None, sums


def summarise_modes(
    block: Block, k: int, n_rows: int, order: NewtonOrder
) -> tuple[LeftOut, SummarySums]:
    """Left-out probabilities and the log-likelihood of a block around the modes of all tasks."""
    return summary(block, k, order, len(order.places), looks_around(block, order))


def looks_around(block: Block, order: NewtonOrder) -> Iterator[Look]:
    """What rows look like, some of them at a time.

    A cavity lacks one copy of a message (all of it, if it weighs less), as in memory.
    """
    likelihood = LogisticLikelihood()
    for own, space, targets, weight in order.design.parts(block):
        removed = np.minimum(weight, 1.0)
        for i, place in enumerate(order.places):
            y, f = targets[:, i], space.outputs(place.weights)
            variance = space.variances(place.spread, is_triangular=False)
            miss, bend = likelihood.derivatives(y * f)
            left_out = left_out_log_probability(y, f, variance, removed * bend, removed * y * miss)
            yield i, own, y * f, left_out, likelihood.log_likelihood(y * f)[0]


class BlockMode(Descent):
    """One task on its way to the mode: u, and the step from there that is being tried.

    The coordinates are those in which the prior is N(0, I): w = m + R u.
    """

    STATE = ("u", "step", "root", "search", "decrement", "changes", "reason")

    def __init__(self, task: int, prior: GaussianPrior) -> None:
        super().__init__()
        self.task, self.prior, d = task, prior, len(prior.mean)
        self.u, self.step = np.zeros((2, d))
        self.root = np.eye(d)  # F with F F^T the inverse of the curvature at u
        self.search = AT_FIRST

    def place(self) -> Place:
        """The weights that are tried, and how they differ from the last ones."""
        change = self.prior.rooted(self.search.t * self.step)
        return Place(self.task, self.prior.mean + self.prior.rooted(self.u) + change, change)

    def arrive(self, sums: NewtonSums, i: int, tol: float) -> Local | None:
        """Go where sums i were taken, or refuse to, if that is too far."""
        tried = self.u + self.search.t * self.step
        gradient = tried - self.prior.spread(sums.pull[i])
        H = self.prior.whitened(sums.curvature[i])
        slope, bend = float(gradient @ self.step), float(self.step @ H @ self.step)
        try:
            L = cholesky(H, lower=True, overwrite_a=True)
        except (LinAlgError, ValueError) as error:
            raise ValueError(
                "The curvature of the posterior overflows or is lost in rounding errors. Scale "
                "the features, and take prior_scale nearer to 1."
            ) from error
        change, relative = map(float, sums.largest[:, i])
        other = self.search.next(slope, bend, may_be_short=True)
        if other is not None and relative > tol:
            self.search = other
            return None
        is_first = self.search == AT_FIRST
        self.u, self.root = tried, lapack.dtrtri(L, lower=1)[0].T
        self.step = -cho_solve((L, True), gradient, check_finite=False)
        self.search = LineSearch(float(gradient @ self.step))
        decrement = float(np.sqrt(max(0.0, -self.search.first_slope)))
        if is_first:
            self.decrement = decrement
            return None
        return Local(relative, decrement, change < NEAR, is_ahead=False)

    def end(self) -> Place:
        """Where the last step ends: the mode, and the Gaussian around it."""
        mean = self.prior.mean + self.prior.rooted(self.u + self.step)
        return Place(self.task, mean, self.prior.rooted(self.root))

    def result(self, end: Place, sums: SummarySums) -> TaskResult:
        """The Gaussian and its evidence."""
        u, log_likelihood = self.u + self.step, sums.constant[self.task]
        evidence = log_likelihood - 0.5 * (u @ u) + np.log(self.root.diagonal()).sum()
        error = float(sums.wrong[self.task] / sums.n_rows)
        return TaskResult(end.weights, end.spread, float(evidence), np.empty(0), error)


def learn(fit: BlockFit, engine: LaplaceApproximation) -> Learned:
    """Find the modes of all tasks over blocks, and the Gaussians around them."""
    steps = Steps(fit, engine)
    with fit.monitor.running(engine.max_iter, "steps"):
        find_modes(steps.modes, steps.visit, engine, fit.monitor.should_stop, steps.keep)
    return steps.result()


class Steps:
    """The steps of all tasks, with everything that the next one needs."""

    def __init__(self, fit: BlockFit, engine: LaplaceApproximation) -> None:
        self.fit, self.engine = fit, engine
        self.modes = [BlockMode(task, prior) for task, prior in enumerate(fit.priors)]
        self.began, self.largest = time.perf_counter(), 0.0  # of the current round
        self.round = fit.load(self.state())
        for mode in self.modes:  # what it ended for is forgotten unless it converged
            mode.reason = "" if mode.reason == "" else ACTIVE

    def run(self, function: BlockFunction, places: list[Place]) -> tuple[list[Any], Any]:
        """One visit of all blocks."""
        order = NewtonOrder(self.fit.design, places, self.fit.thinning)
        return self.fit.run(function, self.fit.sizes, order)

    def visit(self, active: list[BlockMode]) -> list[Local | None]:
        """Try the steps of these tasks, which takes one visit of all blocks."""
        self.began = time.perf_counter()
        _, sums = self.run(newton_sums, [mode.place() for mode in active])
        self.largest = float(sums.largest[1].max())
        return [mode.arrive(sums, i, self.engine.tol) for i, mode in enumerate(active)]

    def keep(self) -> None:
        """Write a checkpoint (it is small, so after every round), and tell the monitor."""
        self.round += 1
        self.fit.save(self.round, self.state(), now=True)
        self.fit.advance(self.round, self.engine.max_iter, self.largest, self.began)

    def state(self) -> State:
        """What a checkpoint keeps."""
        return [(mode, f"task{mode.task}", BlockMode.STATE) for mode in self.modes]

    def result(self) -> Learned:
        """The Gaussians at the ends of the last steps, from one more visit of all blocks."""
        ends = [mode.end() for mode in self.modes]
        left_out, sums = self.run(summarise_modes, ends)
        pairs = zip(self.modes, ends, strict=True)
        results = [mode.result(end, sums) for mode, end in pairs]
        endings = [mode.ending for mode in self.modes]
        return self.fit.learned(self.engine, results, endings, "steps", left_out)
