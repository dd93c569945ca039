"""Maximisation of an expensive function with a known gradient."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

NOISE = 1e-9  # relative gain that may come from fits that have not quite converged


def climb(
    function: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    start: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    slope: float = 0.0,
    enough: float = 0.0,
    max_iter: int = 1000,
    max_calls: int = 1000,
    until: float = np.inf,
) -> OptimizeResult:
    """Find the maximum of a function between bounds, by few evaluations (L-BFGS-B).

    Parameters
    ----------
    function : callable
        Returns the value and the gradient at a point.
    start, low, high : ndarray of shape (n,)
        Where to begin, and the bounds.
    slope : float, default=0.0
        Largest derivative at which the search ends.
    enough : float, default=0.0
        The search ends after a step that gains less than this.
    max_iter, max_calls : int, default=1000
        Most steps, and evaluations after which no further step is made.
    until : float, default=inf
        When the search ends, on the monotonic clock of ``time``, which is read after each step.

    Returns
    -------
    OptimizeResult
        ``x`` is the best point.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tools.maximize import climb
    >>> def hill(x):
    ...     return -float(((x - 3) ** 2).sum()), -2 * (x - 3)
    >>> bounds = np.array([-9.0]), np.array([9.0])
    >>> climb(hill, np.array([0.0]), *bounds, slope=1e-6).x.round(3)
    array([3.])
    """
    first = function(start)
    # The first step of L-BFGS-B is the gradient. Unscaled it would end in a corner of the bounds,
    # where fits are slow; so it moves nothing by more than 1.
    unit = 1 / max(1.0, np.abs(first[1]).max())
    begin, reached = start.copy(), first[0]

    def loss(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = first if np.array_equal(x, begin) else function(x)
        return -unit * value, -unit * gradient

    def after_step(intermediate_result: OptimizeResult) -> None:
        nonlocal reached
        before, reached = reached, -intermediate_result.fun / unit
        if reached - before < enough or time.monotonic() > until:
            raise StopIteration

    return minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        callback=after_step,
        options={"gtol": unit * slope, "ftol": NOISE, "maxiter": max_iter, "maxfun": max_calls},
    )
