"""What chains found out about each task, put together."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.exceptions import ChainsDisagreeWarning, StoppedEarlyWarning
from bayespoint.posteriors import ChainPosterior
from bayespoint.posteriors.evidence import Evidence
from bayespoint.validation import check_number, parameter_error

DISAGREE = 1.1  # R-hat above which a warning is due; independent chains of 100 draws stay below


class Task(NamedTuple):
    """What is known of one task at the end."""

    draws: NDArray[np.float64]  # (n_chains, n_draws, n_coordinates)
    mean: NDArray[np.float64]
    label_noise: float
    r_hat: float
    effective_sample_size: float
    n_steps: int
    evidence: Evidence | None = None


def check_sizes(engine: Any) -> None:
    """Raise a ValueError for numbers of chains or samples that are not allowed."""
    for name in ("n_chains", "n_samples"):
        check_number(engine, name, low=1, integer=True)
    if engine.n_samples < engine.n_chains:
        raise parameter_error(engine, "n_samples", f"at least n_chains={engine.n_chains}")


def gather(tasks: list[Task], n_coordinates: int) -> ChainPosterior:
    """The posterior of all tasks."""
    n_draws = min(task.draws.shape[1] for task in tasks)  # a stopped run ends with fewer
    draws = np.stack([task.draws[:, :n_draws] for task in tasks], axis=3)
    mean = np.stack([task.mean for task in tasks], axis=1)
    if n_coordinates == 1:  # the second one was there for the circles only
        draws = np.sign(draws[:, :, :1])
        mean = draws.mean(axis=(0, 1))
    evidence = [task.evidence for task in tasks if task.evidence is not None]
    return ChainPosterior(
        draws,
        np.array([task.label_noise for task in tasks]),
        np.array([task.r_hat for task in tasks]),
        np.array([task.effective_sample_size for task in tasks]),
        mean,
        evidence or None,
        max(task.n_steps for task in tasks),
    )


def warn_of(tasks: list[Task], n_draws: int, target_ess: float | None, remedy: str) -> None:
    """Warn of chains that were stopped, and of chains that disagree."""
    n_chains, n_done = tasks[0].draws.shape[0], min(task.draws.shape[1] for task in tasks)
    if n_done < n_draws:
        warnings.warn(
            StoppedEarlyWarning(
                n_done * n_chains, n_draws * n_chains, "the monitor", "fit again to have them all"
            ),
            stacklevel=6,
        )
    for number, task in enumerate(tasks):
        short = target_ess is not None and not task.effective_sample_size >= target_ess
        if task.r_hat > DISAGREE or short:
            size = task.effective_sample_size
            warnings.warn(
                ChainsDisagreeWarning(number, task.r_hat, size, target_ess, task.n_steps, remedy),
                stacklevel=6,
            )
