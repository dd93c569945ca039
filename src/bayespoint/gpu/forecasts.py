"""Forecasts of training points by classifiers that have not learned from them, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.arrays import to_device


def oob_forecasts(
    outputs: Any,
    matrix: NDArray[np.float64],
    offset: NDArray[np.float64],
    codes: NDArray,
    weight: NDArray[np.float64] | None,
    temperature: float,
) -> tuple[Any, tuple[Any, Any, Any]]:
    """Log-odds of all points, and what their expected scores are computed from.

    Parameters
    ----------
    outputs : tensor of shape (n_points, n_tasks)
        Honest outputs; rows with NaN do not count.
    matrix, offset : ndarray of shape (n_tasks, n_tasks) and (n_tasks,)
        The log-odds are ``outputs @ matrix.T + offset``.
    codes : ndarray of shape (n_points,)
        Index of the class of each point.
    weight : ndarray of shape (n_points,) or None
        How many copies each point counts for.
    temperature : float
        Divides the log-odds of several classes.

    Returns
    -------
    log_odds : tensor of shape (n_points, n_tasks)
        As ``decision_function`` has them.
    forecasts : tuple of tensors
        Probabilities of the classes (n_points, n_classes), codes, and the copies that each point
        counts for, at most 1; see ``expected_scores_of_parts``.
    """
    import torch

    device = outputs.device
    scores = outputs @ to_device(matrix.T.copy(), device) + to_device(offset, device)
    if scores.shape[1] == 1:
        log_odds = scores
        scores = torch.nn.functional.logsigmoid(torch.cat([-scores, scores], dim=1)) / temperature
    else:
        scores = scores / temperature
        log_odds = scores
    copies = scores.isfinite().all(dim=1).double()
    if weight is not None:
        copies *= to_device(weight / weight.max(), device)
    p = torch.nan_to_num(scores).softmax(dim=1)
    return log_odds, (p, to_device(codes, device).long(), copies)
