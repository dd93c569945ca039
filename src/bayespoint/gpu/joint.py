"""The precision of several classes together, in float64 on a device.

Tensors of all weights stay there; numbers of points and vectors of weights go to and fro.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayespoint.gpu import linear_algebra
from bayespoint.gpu.arrays import to_device
from bayespoint.tools.arrays import to_host

BYTES = 2**30  # for a part of the points


def inverse_root(Z: Any, prior: Any, rate: NDArray, contrasts: NDArray) -> Any:
    """F, upper triangular, with F F^T the covariance of the weights of all contrasts.

    Parameters
    ----------
    Z : tensor of shape (n, d)
        The points.
    prior : tensor of shape ((C - 1) d, (C - 1) d)
        Precision of the weights before any label is seen.
    rate : ndarray of shape (n, C)
        Rates r of the messages, whose precisions are diag(r) - r r^T / sum(r).
    contrasts : ndarray of shape (C, C - 1)
        H; a LinAlgError says that the precisions leave no posterior.
    """
    r, H = (to_device(one, Z.device, Z.dtype) for one in (rate, contrasts))
    pull = (r / r.sum(dim=1, keepdim=True).sqrt()) @ H
    precision = prior.clone()
    d = Z.shape[1]
    for a in range(H.shape[1]):
        up_to = r @ (H[:, [a]] * H[:, : a + 1]) - pull[:, [a]] * pull[:, : a + 1]
        step = max(16, BYTES // (8 * (a + 1) * d))
        for begin in range(0, len(Z), step):
            some = Z[begin : begin + step]
            held = (up_to[begin : begin + step, :, None] * some[:, None, :]).flatten(1)
            precision[a * d : (a + 1) * d, : (a + 1) * d].addmm_(some.T, held)
    return linear_algebra.inverse_root(precision)


def log_determinant(factor: Any) -> float:
    """Of F F^T."""
    return float(2 * factor.diagonal().log().sum())


def output_covariances(Z: Any, factors: Any) -> NDArray[np.float64]:
    """Covariances (n, C, C) of the outputs of each point, from factors (C, d, r) of the weights."""
    size, _, width = factors.shape
    step = max(16, BYTES // (8 * size * max(1, width)))
    parts = []
    for begin in range(0, len(Z), step):
        spread = (Z[begin : begin + step] @ factors).transpose(0, 1)  # (points, C, r)
        parts.append(to_host(spread @ spread.transpose(1, 2)))
    return np.concatenate(parts)
