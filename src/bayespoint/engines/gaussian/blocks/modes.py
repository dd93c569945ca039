"""Laplace's approximation over blocks: one reading of all blocks for each Newton step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, lapack

from bayespoint.engines.gaussian.blocks.rounds import Rounds
from bayespoint.engines.gaussian.blocks.rows import LeftOut, Look, Order, SummarySums, Sums, summary
from bayespoint.engines.gaussian.newton import NEAR, Descent, LineSearch, Local, without_messages
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import TaskResult

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


def newton_sums(block: Any, k: int, n_rows: int, order: Order) -> tuple[None, NewtonSums]:
    """Slope and curvature of the log-likelihood at each place: n d^2 operations."""
    n, d = len(order.beliefs), order.design.space.n_coordinates
    sums = NewtonSums(np.zeros((n, d, d)), np.zeros((n, d)), np.zeros((2, n)))
    for _, space, targets, weight, _ in order.design.parts(block):
        for i, place in enumerate(order.beliefs):
            y = targets[:, place.task]
            f, step = space.outputs(np.column_stack([place.weights, place.spread])).T
            miss, bend = order.likelihood.derivatives(y * f)
            sums.curvature[i] += space.curvature(weight * bend)
            sums.pull[i] += space.pull(weight * y * miss)
            change = np.stack([np.abs(step), np.abs(step) / (1 + np.abs(f - step))])
            sums.largest[:, i] = np.maximum(sums.largest[:, i], change.max(axis=1, initial=0.0))
    return None, sums


def summarise_modes(block: Any, k: int, n_rows: int, order: Order) -> tuple[LeftOut, SummarySums]:
    """Left-out probabilities and the log-likelihood of a block around the modes of all tasks."""
    return summary(block, k, order, looks_around(block, order))


def looks_around(block: Any, order: Order) -> Iterator[Look]:
    """What rows look like, some of them at a time; a cavity lacks one copy of a message."""
    for own, space, targets, _, removed in order.design.parts(block):
        for i, place in enumerate(order.beliefs):
            y, f = targets[:, i], space.outputs(place.weights)
            variance = space.variances(place.spread, is_triangular=False)
            miss, bend = order.likelihood.derivatives(y * f)
            mean, variance = without_messages(f, variance, removed * bend, removed * y * miss)
            left_out = order.likelihood.forecast(y, y * mean, variance)
            yield i, own, y * f, left_out, order.likelihood.log_likelihood(y * f)[0]


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
        error = sums.errors[self.task]
        return TaskResult(end.weights, end.spread, float(evidence), np.empty(0), error)


class ModeRounds(Rounds):
    """The modes of all tasks over blocks, and the Gaussians around them."""

    saves_always = True

    def begin(self, task: int, prior: GaussianPrior) -> BlockMode:
        """A task at the prior's mean."""
        return BlockMode(task, prior)

    def look(self, active: list[BlockMode]) -> None:
        """Try the steps of these tasks."""
        _, sums = self.reduce(newton_sums, self.rows.sizes, [mode.place() for mode in active])
        self.largest = float(sums.largest[1].max())
        for i, mode in enumerate(active):
            mode.here = mode.arrive(sums, i, self.engine.tol)

    def summarise(self) -> tuple[list[Any], SummarySums, list[TaskResult]]:
        """The Gaussians at the ends of the last steps."""
        ends = [mode.end() for mode in self.tasks]
        left_out, sums = self.reduce(summarise_modes, self.rows.sizes, ends)
        pairs = zip(self.tasks, ends, strict=True)
        return left_out, sums, [mode.result(end, sums) for mode, end in pairs]
