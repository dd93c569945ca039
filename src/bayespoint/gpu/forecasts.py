"""How good forecasts of many points are, summed up on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu.arrays import to_device, to_host


def summary(
    log_odds: NDArray[np.float64],
    codes: NDArray,
    weight: NDArray[np.float64] | None,
    temperature: float,
    device: Any,
) -> tuple[float, float, float, float]:
    """Number of points, share of errors, mean log-loss and its standard error.

    Parameters
    ----------
    log_odds : ndarray of shape (n_points, n_tasks)
        Of the second class, or of each class; rows with NaN are left out.
    codes : ndarray of shape (n_points,)
        Index of the class of each point.
    weight : ndarray of shape (n_points,) or None
        How many copies each point counts for.
    temperature : float
        Divides the log-odds.
    device : torch.device
        Where to work.

    Returns
    -------
    tuple of float
        The number is that of points of equal weight that say as much; 0 if no row is known.
    """
    import torch

    scores, classes = to_device(log_odds, device), to_device(codes, device).long()
    if scores.shape[1] == 1:
        scores = torch.cat([-scores, scores], dim=1)
        scores = torch.nn.functional.logsigmoid(scores)
    known = scores.isfinite().all(dim=1).double()
    copies = known if weight is None else known * to_device(weight, device)
    log_p = torch.log_softmax(torch.nan_to_num(scores) / temperature, dim=1)
    losses = -log_p.gather(1, classes[:, None])[:, 0]
    wrong = (scores.argmax(dim=1) != classes).double()
    total = copies.sum()
    mean = (copies * losses).sum() / total
    variance = (copies * (losses - mean) ** 2).sum() / total
    of_all = torch.stack([total, (copies**2).sum(), (copies * wrong).sum(), mean, variance])
    total, squares, errors, mean, variance = to_host(of_all).tolist()
    if total == 0:
        return 0.0, 0.0, 0.0, 0.0
    n = total**2 / squares
    return n, errors / total, mean, float(np.sqrt(variance / n))
