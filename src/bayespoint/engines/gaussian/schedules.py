"""In which order sites change, and when they are at rest.

Each schedule is an endless iterator over sweeps. It yields the largest move of a site (NaN if the
posterior has collapsed) and whether all of them are at rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.gaussian.factorised import FactorisedSites
from bayespoint.engines.gaussian.sites import Sites

SINGLE = 200  # coordinates from which float32 saves more time than the change to float64 costs
COARSE = 1e-4  # move down to which float32 is good enough
AT_REST = 0.3  # sites are left out while their expected move is below this share of tol
ROUNDING = 1e-10  # moves below this are rounding errors
HESITANT = 0.1  # smallest share of a step that is tried
PATIENCE = 20  # sweeps over independent weights after which moves should be smaller

Sweeps = Iterator[tuple[float, bool]]


def in_turn(sites: Sites, damping: float | None, tol: float) -> Sweeps:
    """One site after another; from the second sweep on only those that are expected to move.

    Where many have small moves left, and the moments of all are known exactly, they are made
    together, as long as that makes them much smaller.
    """
    single = sites.in_range_of_float32 and len(sites.mu) >= SINGLE
    if single:
        sites.use(np.float32)
    visited, moves, together, tol, last = None, np.zeros(0), False, max(tol, ROUNDING), np.inf
    while True:
        if together:
            sites.step()
            change, moves = largest(moves), sites.refresh()
        else:
            change = largest(sites.sweep_in_turn(damping or 1.0, visited))
        exact = together
        if np.isfinite(change) and not together:
            moves = sites.expected_moves()
            too_rough = sites.rough or (single and change > last)
            if too_rough or largest(moves) <= max(tol, COARSE if single else 0.0):
                moves, single, exact = sites.refresh(), False, True
        last = change
        if len(moves):
            visited = np.flatnonzero(moves > AT_REST * tol)
            falls = largest(moves) < min(change / 2, COARSE)
            together = exact and damping is None and falls and len(visited) > len(moves) / 3
        yield change, exact and largest(moves) <= tol


def at_once(sites: Sites, damping: float | None, tol: float) -> Sweeps:
    """All sites together; unless told, more of each step while moves shrink and less when not."""
    share, last = damping or 0.5, np.inf
    while True:
        change = largest(sites.sweep_at_once(share))
        yield change, change <= max(tol, ROUNDING)
        if damping is None:
            share = min(1.0, 1.2 * share) if change < last else max(HESITANT, share / 2)
        last = change


def row_by_row(sites: FactorisedSites, damping: float | None, tol: float) -> Sweeps:
    """One row of independent weights after another; smaller steps if moves do not shrink."""
    share, last = damping or 1.0, np.inf
    for sweep in count(1):
        change = sites.sweep(share)
        yield change, change <= max(tol, ROUNDING)
        if damping is None and sweep % PATIENCE == 0:
            share, last = share if change < last else max(HESITANT, share / 2), change


def largest(moves: NDArray) -> float:
    """The largest of the moves; NaN if one of them is."""
    return float(moves.max(initial=0.0))
