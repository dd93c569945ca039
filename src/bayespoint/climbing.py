"""Maximisation of an expensive function with a known gradient."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize


def climb(
    function: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    start: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    slope: float,
    gain: float,
    max_iter: int,
    max_calls: int = 1000,
) -> OptimizeResult:
    """Find the maximum of a function between bounds, by few evaluations (L-BFGS-B).

    Parameters
    ----------
    function : callable
        Returns the value and the gradient at a point.
    start, low, high : ndarray of shape (n,)
        Where to begin, and the bounds.
    slope : float
        Largest derivative at which the search ends.
    gain : float
        Relative gain at which it ends.
    max_iter, max_calls : int
        Most steps, and most evaluations.

    Returns
    -------
    OptimizeResult
        ``x`` is the best point.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.climbing import climb
    >>> def hill(x):
    ...     return -float(((x - 3) ** 2).sum()), -2 * (x - 3)
    >>> bounds = np.array([-9.0]), np.array([9.0])
    >>> climb(hill, np.array([0.0]), *bounds, slope=1e-6, gain=1e-9, max_iter=50).x.round(3)
    array([3.])
    """
    first = function(start)
    # The first step of L-BFGS-B is the gradient. Unscaled it would end in a corner of the bounds,
    # where fits are slow; so it moves nothing by more than 1.
    unit = 1 / max(1.0, np.abs(first[1]).max())
    begin = start.copy()

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = first if np.array_equal(x, begin) else function(x)
        return -unit * value, -unit * gradient

    return minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)),
        options={"gtol": unit * slope, "ftol": gain, "maxiter": max_iter, "maxfun": max_calls},
    )  # fmt: skip
