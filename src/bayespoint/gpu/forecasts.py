"""How good forecasts of many points are, summed up on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.arrays import to_device, to_host


def oob_summary(
    outputs: Any,
    matrix: NDArray[np.float64],
    offset: NDArray[np.float64],
    codes: NDArray,
    weight: NDArray[np.float64] | None,
    temperature: float,
) -> tuple[Any, tuple[float, float, float, float] | None]:
    """Log-odds of all points, and how good they are.

    Parameters
    ----------
    outputs : tensor of shape (n_points, n_tasks)
        Honest outputs; rows with NaN are not counted.
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
    numbers : tuple of float or None
        Number of points of equal weight that say as much, share of errors, mean log-loss and its
        standard error (the larger of the one seen and the one that the forecasts imply); None if
        no row is known.
    """
    import torch

    device = outputs.device
    scores = outputs @ to_device(matrix.T.copy(), device) + to_device(offset, device)
    classes = to_device(codes, device).long()
    if scores.shape[1] == 1:
        log_odds = scores
        scores = torch.nn.functional.logsigmoid(torch.cat([-scores, scores], dim=1)) / temperature
    else:
        scores = scores / temperature
        log_odds = scores
    known = scores.isfinite().all(dim=1).double()
    copies = known if weight is None else known * to_device(weight, device)
    scores = torch.nan_to_num(scores)
    all_losses = -scores.log_softmax(dim=1)
    losses = all_losses.gather(1, classes[:, None])[:, 0]
    wrong = (scores.argmax(dim=1) != classes).double()
    total = copies.sum()
    mean = copies @ losses / total
    variance = copies @ (losses - mean) ** 2 / total
    p = (-all_losses).exp()  # from here on: the same, if labels came from the forecasts
    expected = copies @ (p * all_losses).sum(dim=1) / total
    implied = copies @ (p * (all_losses - expected) ** 2).sum(dim=1) / total
    variance = torch.maximum(variance, implied)
    sums = to_host(torch.stack([total, copies @ copies, copies @ wrong, mean, variance]))
    count, squares, errors, loss, spread = sums.tolist()
    if count == 0:
        return log_odds, None
    n = count**2 / squares
    return log_odds, (n, errors / count, loss, float(np.sqrt(spread / n)))
