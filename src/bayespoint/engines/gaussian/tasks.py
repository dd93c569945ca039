"""The binary tasks of a Gaussian engine: run side by side, and what is known of each and of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.base import Progress, Request, Run
from bayespoint.exceptions import NotConvergedWarning
from bayespoint.likelihoods import Likelihood
from bayespoint.posteriors import GaussianPosterior, Messages
from bayespoint.tools.memory import check_fits
from bayespoint.tools.threads import in_parallel, useful_threads

STOPPED, GO_ON = "stopped by the monitor", "let the run go on until it converges"
EXHAUSTED = "max_iter was reached"
ACTIVE = "active"  # the reason of a task that goes on
WORK = 3  # matrices that a task works with, besides those of the result


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


class Ending(NamedTuple):
    """How the iterations of one task ended."""

    changes: list[float]  # the largest change of each iteration
    reason: str = ""  # why they ended; empty if they converged
    remedy: str = ""  # what to do if they did not


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
    left_out = np.stack([task.left_out for task in tasks], axis=1)
    return GaussianPosterior(
        np.stack([task.mean for task in tasks], axis=1),
        np.stack([task.factor for task in tasks]),
        likelihood,
        log_evidence=evidence,
        left_out_log_probability=left_out if left_out.size else None,
        messages=Messages(*np.stack(messages, axis=2)) if messages else None,
    )


def run_of(tasks: Sequence[TaskResult], endings: Sequence[Ending], unit: str, tol: float) -> Run:
    """The run of all tasks; one warning for all that have not converged, by the worst."""
    history = [ending.changes for ending in endings]
    n_iter = max(map(len, history))
    failed = [task for task, ending in enumerate(endings) if ending.reason]
    if not failed:
        summary = f"converged after {n_iter} {unit}"
        return Run(unit, n_iter, summary, history=history)
    worst = max(failed, key=lambda task: history[task][-1:])
    changes, reason, remedy = endings[worst]
    if reason == STOPPED:
        remedy = GO_ON
    warning = NotConvergedWarning(
        worst, len(failed) - 1, tuple(changes), tol, tasks[worst].training_error, reason, remedy,
        unit,
    )  # fmt: skip
    return Run(
        unit,
        n_iter,
        f"not converged, {reason} after {n_iter} {unit}",
        converged=False,
        remedy=remedy,
        history=history,
        warnings=[warning],
    )


def learn_tasks(
    engine: Any,
    learn: Callable[[int, Progress], tuple[TaskResult, Ending]],
    n_tasks: int,
    unit: str,
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
        "take fewer points or features, a smaller n_components, engine='factorised-ep' with a "
        "linear kernel, or engine='perceptron'",
    )
    progress = Progress(request.monitor)

    def learn_one(task: int) -> tuple[TaskResult, Ending]:
        with useful_threads(size):
            return learn(task, progress)

    with request.monitor.running(n_tasks * engine.max_iter, unit):
        learned = in_parallel(learn_one, range(n_tasks), request.n_jobs, 8.0 * size * WORK)
    results, endings = zip(*learned, strict=True)
    return gather(results, likelihood, request.start), run_of(results, endings, unit, engine.tol)
