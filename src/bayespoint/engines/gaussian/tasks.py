"""The tasks of a Gaussian engine: one loop for all, when they end, and what is known of each.

Sites that sweeps change may be those of one task or of all classes together, with a full covariance
or independent weights, in memory or in blocks that are read again in every round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from bayespoint.engines.base import Progress, Request, Run
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.exceptions import NotConvergedWarning
from bayespoint.likelihoods import Likelihood
from bayespoint.posteriors import GaussianPosterior, Messages
from bayespoint.spaces import Coordinates
from bayespoint.tools.memory import check_fits
from bayespoint.tools.threads import in_parallel, useful_threads

STOPPED, GO_ON = "stopped by the monitor", "let the run go on until it converges"
EXHAUSTED = "max_iter was reached"
SINGLE_PASS = "a single pass, as asked"
COLLAPSE = "the posterior collapsed"
STALLED = "moves do not shrink"
ROUNDING = 1e-10  # moves below this are rounding errors
PATIENCE = 8  # rounds after which moves should be smaller than they were before
MANY = 20  # sweeps after which the same is asked
SMALLER = 0.5  # by this factor
HESITANT = 0.2  # smallest share of a step that is tried
ACTIVE = "active"  # the reason of a task that goes on
# Numbers in a matrix below which threads for tasks cost time: SciPy's products keep the GIL.
LARGE_TASK = 1_000_000
WORK = 3  # matrices that a task works with, besides those of the result


class Labels(NamedTuple):
    """The labels of one task, or the classes of all points; copies they count for; what they say.

    ``likelihood`` is a Likelihood or, of classes, a JointLikelihood; ``left`` are the copies that
    leave-one-out takes out.
    """

    target: NDArray
    weight: NDArray[np.float64]
    likelihood: Any
    left: NDArray[np.float64]


def begin_at(messages: Messages | None, task: int, n_points: int) -> Messages | None:
    """Messages of one task to begin at; an error unless they are those of the same points."""
    if messages is None:
        return None
    if len(messages.shift) != n_points:
        raise ValueError(
            f"Request.messages must be those of the {n_points} training points. Got messages of "
            f"{len(messages.shift)} points."
        )
    return Messages(messages.shift[:, task], messages.rate[:, task])


class TaskResult(NamedTuple):
    """The posterior N(mean, factor factor^T) of one task, and what came with it.

    ``messages`` are those of the training points to their outputs, weights included;
    ``training_error`` is the share of the points that the mean gets wrong.
    """

    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    log_evidence: float
    left_out: NDArray[np.float64]
    training_error: float
    messages: Messages | None = None
    likelihood: Likelihood | None = None  # with what it has learned


class Ending(NamedTuple):
    """How the iterations of one task ended."""

    changes: list[float]  # the largest change of each iteration
    reason: str = ""  # why they ended; empty if they converged
    remedy: str = ""  # what to do if they did not


class Iterations(ABC):
    """The iterations of one task, or of all classes together, and how they went so far.

    Attributes
    ----------
    changes : list of float
        How far each left the sites from agreeing with their posterior, as ``tol`` measures it.
    reason : str
        Why they ended; empty if they converged.
    left : float
        How far the sites are from that now.
    is_ahead : bool
        Whether the last visit went ahead, or refused to.
    has_cavities : bool
        Whether sites match moments at their cavities.
    """

    has_cavities: bool
    is_ahead = True

    def __init__(self) -> None:
        self.changes: list[float] = []
        self.n_before = 0  # changes with which those that follow are not compared
        self.reason = ACTIVE
        self.left = np.inf

    def go_on_anew(self) -> None:
        """Go on with a likelihood that has changed, so that moves are larger again."""
        self.reason, self.n_before = ACTIVE, len(self.changes)

    @abstractmethod
    def agrees(self, tol: float) -> bool:
        """Whether the sites agree with their posterior, as far as can be computed."""

    def go_on(self, engine: Any, should_stop: bool) -> None:
        """End if the sites agree with their posterior, or if the run has to end."""
        if self.reason != ACTIVE:
            return
        if self.is_ahead:
            self.changes.append(self.left)
            is_single_pass = engine.max_iter == 1 and self.has_cavities
            if is_single_pass or self.agrees(max(engine.tol, ROUNDING)):
                self.reason = ""
        if self.reason == ACTIVE:
            self.end_early(engine, should_stop)

    def end_early(self, engine: Any, should_stop: bool) -> None:
        """End if the monitor wants it, or after ``engine.max_iter`` iterations."""
        if should_stop:
            self.reason = STOPPED
        elif len(self.changes) >= engine.max_iter:
            self.reason = EXHAUSTED

    def share_after(self, share: float, patience: int = PATIENCE) -> float:
        """The share of the next steps: half, where moves have not become smaller for a while."""
        moves = self.changes[self.n_before :]
        earlier, late = moves[:-patience], moves[-patience:]
        if len(moves) % patience or not earlier or min(late) < SMALLER * min(earlier):
            return share
        return share / 2


def iterate(
    tasks: Sequence[Iterations],
    engine: Any,
    advance: Callable[[], bool],
    visit: Callable[[list[Any]], None] = lambda active: None,
    keep: Callable[[], None] = lambda: None,
) -> None:
    """Go on with all tasks, side by side, until each has ended.

    Parameters
    ----------
    tasks : sequence of Iterations
        What goes on.
    engine : Engine
        With ``tol`` and ``max_iter``.
    advance : callable
        Counts a round for the monitor, which may want the run to stop.
    visit : callable, optional
        Computes or reads what tasks need to go on, for all of them at once.
    keep : callable, optional
        Called after each round.
    """
    while active := [task for task in tasks if task.reason == ACTIVE]:
        visit(active)
        should_stop = advance()
        for task in active:
            task.go_on(engine, should_stop)
        keep()


def log_evidence(constant: float, log_determinant: float, square: float) -> float:
    r"""The logarithm of the probability of all labels of a task, or of all classes together.

    Parameters
    ----------
    constant : float
        Sum of the logarithms of the sites' constants, each counted by its weight.
    log_determinant : float
        :math:`\log |\Sigma| / |\Sigma_0|`.
    square : float
        :math:`\mu^T \Sigma^{-1} \mu - m^T \Sigma_0^{-1} m
        = (\mu - m)^T \Sigma_0^{-1} m + \mu^T h`, h the pull of all messages.
    """
    return float(constant + 0.5 * log_determinant + 0.5 * square)


def gather(
    tasks: Sequence[TaskResult], likelihood: Likelihood, start: GaussianPosterior | None
) -> GaussianPosterior:
    """The posterior of all tasks; evidence adds to that of the batches before, up to ``start``.

    Left-out probabilities are empty where they are collected apart.
    """
    evidence = np.array([task.log_evidence for task in tasks])
    if start is not None and start.log_evidence is not None:
        evidence += start.log_evidence
    messages = [task.messages for task in tasks if task.messages is not None]
    left_out = np.column_stack([task.left_out for task in tasks])
    return GaussianPosterior(
        np.stack([task.mean for task in tasks], axis=1),
        np.stack([task.factor for task in tasks]),
        tasks[0].likelihood or likelihood,
        log_evidence=evidence,
        left_out_log_probability=left_out if left_out.size else None,
        messages=Messages(*np.stack(messages, axis=2)) if messages else None,
    )


def run_of(engine: Any, tasks: Sequence[TaskResult], endings: Sequence[Ending]) -> Run:
    """The run of all tasks; one warning for all that have not converged, by the worst."""
    unit, history = engine.unit, [ending.changes for ending in endings]
    n_iter = max(map(len, history))
    failed = [task for task, ending in enumerate(endings) if ending.reason]
    if not failed:
        single = unit == "sweeps" and engine.max_iter == 1
        summary = SINGLE_PASS if single else f"converged after {n_iter} {unit}"
        return Run(unit, n_iter, summary, history=history)
    worst = max(failed, key=lambda task: history[task][-1:])
    changes, reason, remedy = endings[worst]
    if reason == STOPPED:
        remedy = GO_ON
    warning = NotConvergedWarning(
        worst,
        len(failed) - 1,
        tuple(changes),
        engine.tol,
        tasks[worst].training_error,
        reason,
        remedy,
        unit,
    )
    summary = f"not converged, {reason} after {n_iter} {unit}"
    more: dict[str, Any] = {"converged": False, "remedy": remedy, "warnings": [warning]}
    return Run(unit, n_iter, summary, history=history, **more)


def learn_tasks(
    engine: Any,
    learn: Callable[[int, Progress], tuple[TaskResult, Ending]],
    n_tasks: int,
    likelihood: Likelihood,
    request: Request,
    size: int,
) -> tuple[GaussianPosterior, Run]:
    """Learn all tasks side by side, of at most ``engine.max_iter`` iterations each.

    Each of them works with some matrices of ``size`` numbers, and two of all remain at the end.
    """
    check_fits(
        8.0 * size * (2 * n_tasks + WORK),
        f"The posterior of {n_tasks} binary task{'s' * (n_tasks > 1)} and all pairs of weights",
        "take fewer rows or features, a smaller n_components, engine='factorised-ep' with a "
        "linear kernel, or engine='perceptron'",
    )
    progress = Progress(request.monitor, n_tasks * engine.max_iter)

    def learn_one(task: int) -> tuple[TaskResult, Ending]:
        with useful_threads(size):
            return learn(task, progress)

    tasks, threads = range(n_tasks), (request.n_jobs, 8.0 * size * WORK)
    with request.monitor.running(n_tasks * engine.max_iter, engine.unit):
        if size < LARGE_TASK and request.n_jobs is None:
            learned = [learn_one(task) for task in tasks]
        else:
            learned = in_parallel(learn_one, tasks, *threads)
    results, endings = zip(*learned, strict=True)
    return gather(results, likelihood, request.start), run_of(engine, results, endings)


class Span:
    r"""Training points and prior in no more coordinates than there are points.

    Labels have no information on weights outside the span of the rows of A = Z R, where R is the
    root of the prior's covariance. With the QR decomposition :math:`A^T = Q T^T` and
    :math:`w = R u`, outputs are :math:`f = T v` of :math:`v = Q^T u`, which has the prior
    :math:`N(Q^T R^{-1} m, I)`.

    Parameters
    ----------
    space : Coordinates
        The training points.
    root : ndarray of shape (d,) or (d, d), optional
        Of the prior's covariance. None: all stays as it is.

    Attributes
    ----------
    space : Coordinates
        The training points in the new coordinates.
    basis : ndarray of shape (d, n) or None
        Q; None if all stays as it is.
    """

    def __init__(self, space: Coordinates, root: NDArray | None = None) -> None:
        self.space = space
        self.basis: NDArray | None = None
        if root is not None:
            A = GaussianPrior(np.zeros(len(root)), root).spread(space.rows())
            self.basis, transposed = qr(A.T, mode="economic", overwrite_a=True)
            self.space = Coordinates(np.ascontiguousarray(transposed.T))

    def project(self, prior: GaussianPrior) -> GaussianPrior:
        """The prior in the new coordinates."""
        if self.basis is None:
            return prior
        mean: NDArray = prior.mean
        if mean.any():
            root = prior.root
            mean = mean / root if root.ndim == 1 else np.linalg.solve(root, mean)
        return GaussianPrior(self.basis.T @ mean, np.ones(self.space.n_coordinates))

    def lift(self, result: TaskResult, prior: GaussianPrior) -> TaskResult:
        """A result in the old coordinates; the prior remains outside the span."""
        if self.basis is None:
            return result
        move = self.basis @ (result.mean - self.project(prior).mean)
        factor = self.lift_factor(result.factor, prior)
        return result._replace(mean=prior.mean + prior.rooted(move), factor=factor)

    def lift_factor(self, factor: NDArray, prior: GaussianPrior) -> NDArray[np.float64]:
        """A factor of a covariance in the old coordinates."""
        if self.basis is None:
            return factor
        F = self.basis @ (factor - np.eye(len(factor))) @ self.basis.T
        F[np.diag_indices_from(F)] += 1.0
        return prior.rooted(F)


def spans(space: Coordinates, priors: Sequence[GaussianPrior]) -> list[Span]:
    """The span for each prior, if there are more weights than points; equal roots share it."""
    # Spaces of kernels have one coordinate more, which is 0 at all training points.
    if space.n_coordinates <= space.n_points + 1:
        return [Span(space)] * len(priors)
    roots = {id(prior.root): prior.root for prior in priors}
    known = {key: Span(space, root) for key, root in roots.items()}
    return [known[id(prior.root)] for prior in priors]
