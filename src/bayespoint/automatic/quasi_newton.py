"""Maximisation by few evaluations, each of which is expensive."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

LONGEST = 3.0  # largest move of a coordinate in a step


def maximise(
    function: Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]],
    start: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    *,
    enough: float,
    max_calls: int,
    until: float = np.inf,
) -> NDArray[np.float64]:
    """Find the maximum of a smooth function between bounds (BFGS with short steps).

    Line searches of the usual programs try steps that are far too long before they know the
    curvature. For the evidence of a kernel such evaluations are useless, and take the longest. Here
    no coordinate moves by more than 3 in a step.

    Parameters
    ----------
    function : callable
        Returns the value and the gradient at a point.
    start, low, high : ndarray of shape (n,)
        Where to begin, and the bounds.
    enough : float
        The search ends when the next step promises to gain less than this.
    max_calls : int
        Most evaluations.
    until : float, default=inf
        When the search ends, on the monotonic clock of ``time``.

    Returns
    -------
    ndarray of shape (n,)
        The best point that was tried.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.automatic.quasi_newton import maximise
    >>> def hill(x):
    ...     return -float(((x - 3) ** 2).sum()), -2 * (x - 3)
    >>> bounds = np.array([-9.0]), np.array([9.0])
    >>> maximise(hill, np.array([0.0]), *bounds, enough=1e-6, max_calls=20).round(3)
    array([3.])
    """
    x, (value, slope) = start, function(start)
    inverse: NDArray[np.float64] | None = None  # of the negative second derivatives
    radius = LONGEST
    for _ in range(max_calls - 1):
        held = ((x <= low) & (slope < 0)) | ((x >= high) & (slope > 0))
        uphill = np.where(held, 0.0, slope)
        direction = uphill if inverse is None else np.where(held, 0.0, inverse @ uphill)
        furthest = np.abs(direction).max(initial=0.0)
        if furthest > radius or (inverse is None and furthest > 0):
            direction = direction * (radius / furthest)
        tried = np.clip(x + direction, low, high)
        step = tried - x
        if 0.5 * slope @ step < enough or time.monotonic() > until:
            break
        new_value, new_slope = function(tried)
        inverse = updated(inverse, step, slope - new_slope)
        if new_value > value:
            x, value, slope = tried, new_value, new_slope
            radius = min(2 * radius, LONGEST)
        else:
            radius = np.abs(step).max() / 4
    return x


def updated(
    inverse: NDArray[np.float64] | None, step: NDArray[np.float64], change: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The BFGS formula: the inverse takes the change of the slope to the step that made it."""
    product = step @ change
    if product <= 1e-8 * np.linalg.norm(step) * np.linalg.norm(change):
        return inverse  # no hill along this step
    if inverse is None:
        inverse = product / (change @ change) * np.eye(len(step))
    image = inverse @ change
    inverse = inverse - (np.outer(image, step) + np.outer(step, image)) / product
    return inverse + (1 + change @ image / product) / product * np.outer(step, step)
