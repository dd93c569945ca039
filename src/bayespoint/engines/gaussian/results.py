"""What a Gaussian engine knows of one task, and of all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayespoint.posteriors import GaussianWeights, Messages

Kind = TypeVar("Kind", bound=GaussianWeights)


class TaskResult(NamedTuple):
    """The posterior N(mean, factor factor^T) of one task, and what came with it.

    ``messages`` are those of the training points to their outputs, weights included;
    ``training_error`` is the share of the points that the mean gets wrong.
    """

    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    log_evidence: float
    left_out: NDArray[np.float64]
    left_out_error: float
    training_error: float
    messages: Messages | None = None


def gather(
    kind: type[Kind], tasks: Sequence[TaskResult], start: GaussianWeights | None, **rest: Any
) -> Kind:
    """The posterior of all tasks; evidence adds to that of the batches before, up to ``start``."""
    evidence = np.array([task.log_evidence for task in tasks])
    if start is not None and start.log_evidence is not None:
        evidence += start.log_evidence
    messages = [task.messages for task in tasks if task.messages is not None]
    return kind(
        np.stack([task.mean for task in tasks], axis=1),
        np.stack([task.factor for task in tasks]),
        log_evidence=evidence,
        left_out_log_probability=np.stack([task.left_out for task in tasks], axis=1),
        left_out_error=np.array([task.left_out_error for task in tasks]),
        messages=Messages(*np.stack(messages, axis=2)) if messages else None,
        **rest,
    )
