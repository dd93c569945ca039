"""Sweeps over sites until no site would move."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from bayespoint.engines.gaussian.tasks import EXHAUSTED, STOPPED, TaskResult
from bayespoint.engines.progress import Progress
from bayespoint.exceptions import FactorisedWarning

COLLAPSE = "the posterior collapsed"
ROUNDING = 1e-10  # moves below this are rounding errors
PATIENCE = 20  # sweeps after which moves should be smaller, where sites change one after another
HESITANT = 0.1  # smallest share of a step that is tried
TOLERATED = 1.5  # predictive variances may be off by this factor


class Sweeping(Protocol):
    """Sites that sweeps bring to where they should be."""

    def sweep(self, share: float) -> float:
        """Let sites go this share of the way to where they should be; the largest whole move.

        Moves are measured as ``tol`` is. A LinAlgError says that no posterior would be left.
        """

    def moves_left(self, tol: float) -> float:
        """The largest move that the next sweep would make; exact, if it is not above ``tol``."""


class SiteKeeper(Sweeping, Protocol):
    """The sites of one task, and the posterior that they make with the prior."""

    radius: float  # standard deviation of the outputs before any label is seen, the largest

    def result(self) -> TaskResult:
        """The posterior, its evidence and its cavities."""

    def variance_ratio(self) -> float:
        """Predictive variance over that of a full covariance, the one furthest from 1."""


def iterate(engine: Any, sites: Sweeping, progress: Progress) -> tuple[list[float], str]:
    """Sweep until no site would move; the largest move of each sweep, and what went wrong.

    In a sweep each site a, b, one after another or all at once,

    1. leaves the posterior of its output f, of mean f and variance e: the cavity, of mean
       m = (y f - a e) / c and variance e / c with c = 1 - b e;
    2. gets the variance s^2 = e / c + beta^2 with the noise;
    3. becomes a', b', such that its product with the cavity has the mean and the variance that
       the true label gives;
    4. joins the posterior again: mu and Sigma change by a' - a and b' - b.
    """
    tol = max(engine.tol, ROUNDING)
    share = engine.damping or (1.0 if engine.schedule == "sequential" else 0.5)
    changes: list[float] = []
    while len(changes) < engine.max_iter:
        try:
            changes.append(sites.sweep(share))
            converged = engine.max_iter == 1 or sites.moves_left(tol) <= tol
        except LinAlgError:
            return changes, COLLAPSE
        should_stop = progress.advance()
        if converged:
            return changes, ""
        if should_stop:
            return changes, STOPPED
        if engine.damping is None:
            share = next_share(engine, share, changes)
    return changes, EXHAUSTED


def next_share(engine: Any, share: float, changes: list[float]) -> float:
    """More of each step while moves shrink, and less if they do not."""
    patience = PATIENCE if engine.schedule == "sequential" else 1
    if len(changes) % patience or len(changes) <= patience:
        return share
    shrinks = changes[-1] < changes[-1 - patience]
    if engine.schedule == "sequential":
        return share if shrinks else max(HESITANT, share / 2)
    return min(1.0, 1.2 * share) if shrinks else max(HESITANT, share / 2)


def independence_warnings(ratios: NDArray[np.float64]) -> list[Warning]:
    """A warning if a full covariance would give other predictions, from all tasks' ratios."""
    off = np.abs(np.log(ratios))
    n_off = int((off > np.log(TOLERATED)).sum())
    if not n_off:
        return []
    worst = int(off.argmax())
    return [FactorisedWarning(worst, n_off - 1, float(ratios[worst]))]
