"""What a Gaussian engine knows of one task, and of all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.run import Run
from bayespoint.exceptions import NotConvergedWarning
from bayespoint.likelihoods import Likelihood
from bayespoint.posteriors import GaussianPosterior, Messages


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


def gather(
    tasks: Sequence[TaskResult], likelihood: Likelihood, start: GaussianPosterior | None
) -> GaussianPosterior:
    """The posterior of all tasks; evidence adds to that of the batches before, up to ``start``."""
    evidence = np.array([task.log_evidence for task in tasks])
    if start is not None and start.log_evidence is not None:
        evidence += start.log_evidence
    messages = [task.messages for task in tasks if task.messages is not None]
    return GaussianPosterior(
        np.stack([task.mean for task in tasks], axis=1),
        np.stack([task.factor for task in tasks]),
        likelihood,
        log_evidence=evidence,
        left_out_log_probability=np.stack([task.left_out for task in tasks], axis=1),
        messages=Messages(*np.stack(messages, axis=2)) if messages else None,
    )


class Ended(NamedTuple):
    """How the iterations of each task ended."""

    history: list[list[float]]  # the largest change of each iteration
    reasons: list[str]  # why they ended; empty where they converged
    remedies: list[str]  # what to do if they did not
    training_errors: list[float]

    def run(self, unit: str, tol: float, warnings: Sequence[Warning] = ()) -> Run:
        """The run of all tasks; one warning for all that have not converged, by the worst."""
        n_iter = max(map(len, self.history))
        failed = [task for task, reason in enumerate(self.reasons) if reason]
        if not failed:
            return Run(
                unit, n_iter, f"converged after {n_iter} {unit}",
                history=self.history, warnings=warnings,
            )  # fmt: skip
        worst = max(failed, key=lambda task: self.history[task][-1:])
        reason, remedy = self.reasons[worst], self.remedies[worst]
        warning = NotConvergedWarning(
            worst, len(failed) - 1, tuple(self.history[worst]), tol, self.training_errors[worst],
            reason, remedy, unit,
        )  # fmt: skip
        summary = f"not converged, {reason} after {n_iter} {unit}"
        return Run(
            unit, n_iter, summary, False, remedy, self.history, warnings=[warning, *warnings]
        )
