"""Sweeps over sites until no site would move: one loop and one rule to stop.

Sites may be those of one task or of all classes together, with a full covariance or independent
weights, in memory or in blocks that are read again in every round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from bayespoint.engines.gaussian.tasks import ACTIVE, EXHAUSTED, STOPPED, TaskResult
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


@dataclass
class Sweeps:
    """The sweeps of one task, or of all classes together.

    Attributes
    ----------
    sites : Sweeping
        What they change.
    share : float
        Share of each step that the next sweep takes.
    is_damped : bool
        Whether this share stays.
    patience : int
        Sweeps after which moves should be smaller.
    changes : list of float
        The largest move of each sweep.
    reason : str
        Why they ended; empty if they converged.
    """

    STATE: ClassVar = ("share", "changes", "reason")  # what a checkpoint keeps

    sites: Any
    share: float
    is_damped: bool
    patience: int
    changes: list[float] = field(default_factory=list)
    reason: str = ACTIVE

    @classmethod
    def of(cls, engine: Any, sites: Sweeping, *, in_turn: bool, share: float = 0.5) -> Sweeps:
        """Before the first one; sites that change at once begin with a smaller share."""
        share = engine.damping or (1.0 if in_turn else share)
        return cls(sites, share, engine.damping is not None, PATIENCE if in_turn else 1)

    def go_on(self, tol: float, max_iter: int, should_stop: bool) -> None:
        """End, or make one more sweep."""
        try:
            if self.changes:
                if max_iter == 1 or self.sites.moves_left(tol) <= tol:
                    self.reason = ""
                elif should_stop:
                    self.reason = STOPPED
                elif len(self.changes) >= max_iter:
                    self.reason = EXHAUSTED
            if self.reason == ACTIVE:
                self.changes.append(self.sites.sweep(self.share))
                self.share = self.next_share()
        except LinAlgError:
            self.reason = COLLAPSE

    def resume(self, engine: Any) -> None:
        """Go on after the sites have learned another likelihood."""
        self.reason = ACTIVE
        self.share = self.share if self.is_damped or self.patience == 1 else 1.0
        self.go_on(max(engine.tol, ROUNDING), engine.max_iter, False)

    def next_share(self) -> float:
        """More of each step while moves shrink, and less if they do not."""
        n_sweeps = len(self.changes)
        if self.is_damped or n_sweeps % self.patience or n_sweeps <= self.patience:
            return self.share
        if not self.changes[-1] < self.changes[-1 - self.patience]:
            return max(HESITANT, self.share / 2)
        return min(1.0, 1.2 * self.share) if self.patience == 1 else self.share


def iterate(
    engine: Any,
    tasks: Sequence[Sweeps],
    advance: Callable[[], bool],
    visit: Callable[[list[Sweeps]], None] = lambda active: None,
    keep: Callable[[], None] = lambda: None,
) -> None:
    """Sweep until no site of any task would move.

    In a sweep each site a, b, one after another or all at once,

    1. leaves the posterior of its output f, of mean f and variance e: the cavity, of mean
       m = (y f - a e) / c and variance e / c with c = 1 - b e;
    2. gets the variance s^2 = e / c + beta^2 with the noise;
    3. becomes a', b', such that its product with the cavity has the mean and the variance that
       the true label gives;
    4. joins the posterior again: mu and Sigma change by a' - a and b' - b.

    Parameters
    ----------
    engine : ExpectationPropagation
        Its ``tol`` and ``max_iter``.
    tasks : sequence of Sweeps
        What goes on side by side.
    advance : callable
        Called after every sweep; whether the monitor wants the run to stop.
    visit : callable, optional
        Reads what tasks need for their next sweep, for all of them at once.
    keep : callable, optional
        Called after every sweep.
    """
    tol = max(engine.tol, ROUNDING)
    while active := [task for task in tasks if task.reason == ACTIVE]:
        begun = any(task.changes for task in active)
        if engine.max_iter > 1 or not begun:
            visit(active)
        should_stop = begun and advance()
        for task in active:
            task.go_on(tol, engine.max_iter, should_stop)
        keep()


def independence_warnings(ratios: NDArray[np.float64]) -> list[Warning]:
    """A warning if a full covariance would give other predictions, from all tasks' ratios."""
    off = np.abs(np.log(ratios))
    n_off = int((off > np.log(TOLERATED)).sum())
    if not n_off:
        return []
    worst = int(off.argmax())
    return [FactorisedWarning(worst, n_off - 1, float(ratios[worst]))]
