"""Maximisation of an expensive function with a known gradient."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

NOISE = 1e-9  # relative gain that may come from fits that have not quite converged


class Layout:
    """How numbers and arrays that have names lie one after another in a vector.

    Parameters
    ----------
    examples : mapping of str to float or array
        A value for each name, of which only the size counts.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.tools.maximize import Layout
    >>> layout = Layout({"gamma": np.ones(2), "coef0": 1.0})
    >>> layout.vector({"gamma": [3.0, 4.0], "coef0": 5.0})
    array([3., 4., 5.])
    >>> layout.by_name(np.array([3.0, 4.0, 5.0]))
    {'gamma': array([3., 4.]), 'coef0': 5.0}
    """

    def __init__(self, examples: Mapping[str, Any]) -> None:
        self.is_array: dict[str, bool] = {}
        self.entries: dict[str, NDArray[np.intp]] = {}  # positions of the numbers of each name
        end = 0
        for name, value in examples.items():
            begin, end = end, end + np.size(value)
            self.is_array[name], self.entries[name] = np.ndim(value) > 0, np.arange(begin, end)

    def vector(self, values: Mapping[str, Any]) -> NDArray[np.float64]:
        """The vector of these values; a number may stand for each entry of an array."""
        parts = [np.full(len(own), values[name], float) for name, own in self.entries.items()]
        return np.concatenate(parts)

    def by_name(self, x: NDArray[np.float64]) -> dict[str, Any]:
        """The numbers and arrays of a vector."""
        return {
            name: x[own] if self.is_array[name] else float(x[own[0]])
            for name, own in self.entries.items()
        }


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
