"""Factors of matrices in float64 on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

BLOCK = 128  # pivots between two updates of the matrix


def load_solvers(X: Any) -> None:
    """Load what factorises matrices, which torch does once, and not safely from several threads."""
    import torch

    one = torch.eye(2, dtype=torch.float64, device=X.device)
    torch.linalg.solve_triangular(torch.linalg.cholesky_ex(one)[0], one, upper=False)


def solve_lower(L: Any, rows: Any) -> Any:
    """The rows L^-1 r, for a lower triangular L."""
    import torch

    return torch.linalg.solve_triangular(L, rows.T, upper=False).T


def inverse_root(precision: Any) -> Any:
    """F, upper triangular, with F F^T the inverse of a matrix, of which the lower half is read."""
    import torch

    L, failed = torch.linalg.cholesky_ex(precision)
    if not bool((failed == 0) & L.diagonal().isfinite().all()):  # NaN if anything overflows
        raise LinAlgError("the matrix is not positive definite")
    one = torch.eye(len(L), dtype=L.dtype, device=L.device)
    return torch.linalg.solve_triangular(L, one, upper=False).T.contiguous()


def pivoted_cholesky(K: Any, tolerance: float) -> tuple[Any, Any]:
    """Z with Z Z^T = K, and the pivots p, for which Z[p] is lower triangular.

    The next pivot is the point of the largest remainder, as in LAPACK's dpstrf, until none exceeds
    the tolerance. K is overwritten by what is left of it: nothing but rounding, if it is positive
    semi-definite.

    Parameters
    ----------
    K : tensor of shape (n, n)
        The matrix.
    tolerance : float
        Remainders of the diagonal that are 0.

    Returns
    -------
    Z : tensor of shape (n, rank)
        The factor.
    pivots : tensor of shape (rank,)
        The order of the points.
    """
    import torch

    n = len(K)
    Z, pivots = K.new_empty((n, n)), torch.empty(n, dtype=torch.int64, device=K.device)
    left = K.diagonal().clone()  # -inf at pivots
    rank = 0
    while rank < n:
        size = min(BLOCK, n - rank)
        panel, heights = K.new_zeros((size, n)), K.new_empty(size)
        for j in range(size):  # nothing in here waits for the device
            p = left.argmax().view(1)
            height = left.index_select(0, p)
            column = K.index_select(0, p)[0]
            column = column - panel[:j].index_select(1, p)[:, 0] @ panel[:j]
            column = torch.where(left > -np.inf, column / height.clamp(min=1e-300).sqrt(), 0.0)
            column.index_copy_(0, p, height.clamp(min=0).sqrt())
            left = (left - column.square()).index_fill_(0, p, -np.inf)
            panel[j], heights[j], pivots[rank + j] = column, height[0], p[0]
        falls = (heights <= tolerance).nonzero()
        kept = int(falls[0]) if len(falls) else size
        Z[:, rank : rank + kept] = panel[:kept].T
        rank += kept
        K.addmm_(panel[:kept].T, panel[:kept], alpha=-1)
        if kept < size:
            break
    return Z[:, :rank], pivots[:rank]
