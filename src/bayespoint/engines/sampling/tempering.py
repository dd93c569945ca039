"""The evidence for all flip rates, by chains at increasing weights of the labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.sampling.chains import Chains
from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.posteriors import FlipEvidence

RUNGS = 25  # their laws overlap for some hundred points
MOST_COUNTS = 10**6  # errors in all copies: every rung of every chain has a histogram of them
STEEPEST = 7.0  # theta of q = 0.001, to which every ladder leads at least


def rungs_to(theta: float, m: int) -> NDArray[np.float64]:
    """A ladder from 0, dense at its foot, where the number of errors falls fastest.

    Towards hard labels it ends where each of m errors costs exp(-7) / m: hardly any is made.
    """
    top = max(STEEPEST, theta if np.isfinite(theta) else STEEPEST + np.log(m))
    return top * (np.arange(RUNGS) / (RUNGS - 1)) ** 2


def temper(chains: Chains, halfspaces: Halfspaces, theta: float, n_steps: int) -> FlipEvidence:
    """Run chains up the ladder, ``n_steps`` on every rung after a fifth of that to settle."""
    check_counts(halfspaces.weight)
    rungs = rungs_to(theta, len(halfspaces.weight))
    n_errors = int(halfspaces.weight.sum()) + 1
    histograms = chains.count(rungs, n_steps // 5, n_steps, n_errors)
    return FlipEvidence(rungs, histograms, halfspaces.n_coins)


def ladder_steps(n_steps: int) -> int:
    """Moves that a chain makes on all rungs."""
    return RUNGS * (n_steps // 5 + n_steps)


def check_counts(weight: NDArray[np.float64]) -> None:
    """Raise an error for weights that are not integers, or too many, for a histogram of errors."""
    if (weight % 1).any():
        raise ValueError(
            "The evidence counts errors, and needs sample weights that are whole numbers. Got "
            f"{weight[weight % 1 > 0][0]:g} among them: round the weights (class_weight included), "
            "or set evidence=False and a number as label_noise."
        )
    if weight.sum() > MOST_COUNTS:
        raise ValueError(
            f"The evidence counts errors, of at most {MOST_COUNTS} copies of rows. The sample "
            f"weights sum to {weight.sum():g}: take smaller ones, or set evidence=False and a "
            "number as label_noise."
        )
