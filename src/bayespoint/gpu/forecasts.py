"""Forecasts of training points by classifiers that have not learned from them, on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.arrays import to_device


def oob_forecasts(
    log_odds: Any, codes: NDArray, weight: NDArray[np.float64] | None, temperature: float
) -> tuple[Any, tuple[Any, Any, Any]]:
    """Scores of all points, and what their expected scores are computed from.

    Parameters
    ----------
    log_odds : tensor of shape (n_points, n_tasks)
        Of honest outputs; rows with NaN do not count.
    codes : ndarray of shape (n_points,)
        Index of the class of each point.
    weight : ndarray of shape (n_points,) or None
        How many copies each point counts for.
    temperature : float
        Divides the log-odds of several classes.

    Returns
    -------
    scores : tensor of shape (n_points, n_tasks)
        As ``decision_function`` has them.
    forecasts : tuple of tensors
        Probabilities of the classes (n_points, n_classes), codes, and the copies that each point
        counts for, at most 1; see ``expected_scores_of_parts``.
    """
    import torch

    device, two_classes = log_odds.device, log_odds.shape[1] == 1
    scores = log_odds if two_classes else log_odds / temperature
    log_p = scores
    if two_classes:
        log_p = torch.nn.functional.logsigmoid(torch.cat([-scores, scores], dim=1)) / temperature
    copies = log_p.isfinite().all(dim=1).double()
    if weight is not None:
        copies *= to_device(weight / weight.max(), device)
    p = torch.nan_to_num(log_p).softmax(dim=1)
    return scores, (p, to_device(codes, device).long(), copies)
