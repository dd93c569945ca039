"""Separable priors of weights: log densities of a single one, up to a constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SPIKE = 0.05  # half the width of the l0 prior's spike: weights of standardised features, all but 0
IMPOSSIBLE = -1e9  # stands for log 0: deeper than any message, and finite
FAR = 1e3  # a log prior must have fallen out here, or weights could grow without end


class Prior(NamedTuple):
    """A log density of one weight, and the positions of its kinks, each of which needs a bin."""

    log_density: Callable[[NDArray], NDArray]
    knots: tuple[float, ...] = ()

    def on(self, grid: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log density on a grid; where it is -inf, a finite number far below all others."""
        values = np.asarray(self.log_density(grid.copy()), dtype=np.float64)
        if values.shape != grid.shape:
            raise ValueError(
                f"The prior must return one log density for each weight. Given weights of shape "
                f"{grid.shape} it returned the shape {values.shape}."
            )
        bad = ~(values < np.inf)
        if bad.any():
            raise ValueError(
                f"The prior must return finite log densities, or -inf where a weight is "
                f"impossible. At the weight {grid[bad][0]:g} it returned {values[bad][0]}."
            )
        return np.maximum(values, IMPOSSIBLE)

    def check(self, start: NDArray[np.float64]) -> None:
        """Raise an error unless weights are possible on the first grid and finite in the end."""
        inside, outside = self.on(start).max(), self.on(np.array([[-FAR, FAR]])).max()
        if inside <= IMPOSSIBLE:
            raise ValueError(
                f"The prior must allow weights between {start.min():g} and {start.max():g}, where "
                "the search begins. It is -inf at all of them: rescale the features and the prior."
            )
        if outside >= inside:
            raise ValueError(
                f"The prior must fall for large weights. At {FAR:g} or -{FAR:g} its log density is "
                f"{outside:g}, and near 0 no more than {inside:g}: weights could grow without end."
            )


def gaussian(weights: NDArray) -> NDArray:
    """-w^2 / 2, the Gaussian prior of the paper: the l2 norm."""
    return -0.5 * np.square(weights)


def laplace(weights: NDArray) -> NDArray:
    """-|w|, the Laplace prior: the l1 norm of LASSO."""
    return -np.abs(weights)


def spike_and_slab(weights: NDArray) -> NDArray:
    """-w^2 / 2 - min(|w| / SPIKE, 1): the l0 norm, with ramps of finite width, beside the l2 norm.

    The norm alone is no prior: it leaves the size of a weight that is not 0 open.
    """
    return -0.5 * np.square(weights) - np.minimum(np.abs(weights) / SPIKE, 1.0)


PRIORS = {
    "l2": Prior(gaussian),
    "l1": Prior(laplace, (0.0,)),
    "l0": Prior(spike_and_slab, (-SPIKE, 0.0, SPIKE)),
}


def get_prior(prior: str | Callable[[NDArray], NDArray]) -> Prior:
    """A prior by its name, or the user's log density (with a bin at 0, where kinks mostly are)."""
    return PRIORS[prior] if isinstance(prior, str) else Prior(prior, (0.0,))
