"""Rounds of one task over blocks of rows: one reading of all blocks for each.

A block finds the sites of its rows from the posterior of the last round, and sends the sums that
the next one needs: so a round is a step of the climb that :mod:`..rounds` describes, and computes
the variances of the next cavities on the way. Laplace's approximation needs no variances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky

from bayespoint.engines.gaussian.blocks.rows import Look, Order, Sums
from bayespoint.engines.gaussian.prior import LARGE, GaussianPrior
from bayespoint.engines.gaussian.rounds import NEAR, LineSearch
from bayespoint.engines.gaussian.sites import (
    agreeing,
    between,
    cavities,
    log_mass,
    matched,
    standing,
    without_messages,
)
from bayespoint.engines.gaussian.tasks import HESITANT, Iterations, TaskResult
from bayespoint.spaces import Coordinates
from bayespoint.spaces.coordinates import inverse_lower
from bayespoint.tools.numbers import TINY

MANY = 1000  # points for each weight, from which sites need not be kept
AT_FIRST = LineSearch(-np.inf)  # whatever the slope is, it is flat beside this one
HALVINGS = 30  # of a step that left no posterior, before the run is given up
# Steps to find the sites of a posterior: few while it moves by more than this, as it is not final.
CLOSE, FEW_STEPS, MOST_STEPS = 1e-2, 2, 30
EARLY = 0.01  # share of the last round's move at which sites are found

SitesOfBlock = NDArray[np.float64]  # a, b and the variances of the cavities of its rows, (3, rows)


class Place(NamedTuple):
    """Weights of a task with which a block is visited.

    Attributes
    ----------
    task : int
        Which task.
    mean : ndarray of shape (d,)
        The weights.
    step : ndarray of shape (d,)
        The step that led to them.
    factor : ndarray of shape (d, d), or of shape (0, 0)
        F, for the posterior N(mean, F F^T) of the last round; empty where variances do not matter.
    is_triangular : bool
        Whether F is upper triangular.
    share : float
        Share of the way to where they should be that cavities go.
    takes_copies : bool
        Whether the cavity of a site of weight k lacks one of k copies, or all if k < 1.
    is_prior : bool
        Whether this is the prior, before any label is seen.
    tol, n_steps : float and int
        Where sites of rows are not kept: the move at which they are found, and most steps to that.
    """

    task: int
    mean: NDArray[np.float64]
    step: NDArray[np.float64]
    factor: NDArray[np.float64]
    is_triangular: bool = True
    share: float = 1.0
    takes_copies: bool = False
    is_prior: bool = False
    tol: float = 0.0
    n_steps: int = 1

    def removed(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Copies of each site that its cavity lacks."""
        return np.minimum(weight, 1.0) if self.takes_copies else np.ones(len(weight))

    def moments(self, space: Coordinates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Variances and means of outputs."""
        variance = space.variances(self.factor, is_triangular=self.is_triangular)
        return variance, space.outputs(self.mean)


@dataclass(frozen=True)
class RoundSums(Sums):
    r"""Sums over the rows of some blocks, for each place.

    Attributes
    ----------
    curvature : ndarray of shape (n_places, d, d)
        :math:`Z^T \mathrm{diag}(r) Z`, with the rates r of the sites.
    pull : ndarray of shape (n_places, d)
        :math:`Z^T s`, with their slopes s.
    largest : ndarray of shape (n_places,)
        The largest move of a site.
    change : ndarray of shape (2, n_places)
        The largest change of an output f by the last step, and the largest as a share of 1 + |f|.
    widest : ndarray of shape (n_places,)
        Largest variance of an output, of places that are the prior.
    """

    MAXIMA = ("largest", "change", "widest")

    curvature: NDArray[np.float64]
    pull: NDArray[np.float64]
    largest: NDArray[np.float64]
    change: NDArray[np.float64]
    widest: NDArray[np.float64]


def visit(
    block: Any, k: int, sites: list[SitesOfBlock] | None, order: Order
) -> tuple[list[SitesOfBlock] | None, RoundSums]:
    """The sites of all rows of a block at each place, and their sums: two n d^2 operations."""
    n, d = len(order.beliefs), order.design.space.n_coordinates
    new = None if sites is None else [one.copy() for one in sites]
    of_places = [np.zeros(shape) for shape in ((n, d, d), (n, d), n, (2, n), n)]
    sums = RoundSums(*of_places)
    for own, space, targets, weight, _ in order.design.parts(block):
        for i, place in enumerate(order.beliefs):
            labels, f = targets[:, place.task], space.outputs(place.mean)
            if not place.factor.size:
                _, slope, rate = order.likelihood.slopes(labels, f)
            else:
                moments = space.variances(place.factor, is_triangular=place.is_triangular), f
                if place.is_prior:
                    sums.widest[i] = max(sums.widest[i], moments[0].max(initial=0.0))
                known = None if sites is None else sites[i][:, own]
                found, moved = new_sites(order.likelihood, labels, moments, weight, known, place)
                sums.largest[i] = np.maximum(sums.largest[i], moved)  # NaN stays NaN
                if new is not None:
                    new[i][:, own] = found
                slope, rate = found[0] - found[1] * f, found[1]
            sums.curvature[i] += space.curvature(np.clip(weight * rate, -LARGE, LARGE))
            sums.pull[i] += space.pull(weight * slope)
            step = np.abs(space.outputs(place.step))
            change = np.stack([step, step / (1 + np.abs(f - step))])
            sums.change[:, i] = np.maximum(sums.change[:, i], change.max(axis=1, initial=0.0))
    return new, sums


def new_sites(
    law: Any,
    labels: NDArray,
    moments: tuple[NDArray, NDArray],
    weight: NDArray,
    known: SitesOfBlock | None,
    place: Place,
) -> tuple[SitesOfBlock, float]:
    """Sites that agree with the means of the outputs, and the largest move of a known one."""
    removed, (e, f) = place.removed(weight), moments
    if known is None:
        a, b, moved = find_sites(law, labels, moments, removed, place)
        return np.stack([a, b, e]), float(moved.max(initial=0.0))
    a, b, before = known
    before = e if place.is_prior else before
    *_, moved = matched(law, labels, moments, (a, b), removed)
    m, v = cavities(moments, (a, b), removed)
    v = between(before, np.where(np.isnan(v), before, v), place.share)
    m = np.where(np.isnan(m), f, m)
    a, b, _ = agreeing(law, labels, f, v, m, removed)
    return np.stack([a, b, v]), float(moved.max(initial=0.0))


def find_sites(
    law: Any, labels: NDArray, moments: tuple[NDArray, NDArray], removed: NDArray, place: Place
) -> tuple[NDArray, NDArray, NDArray]:
    """The sites that outputs of these variances and means have, and the last moves to them.

    A site is what it should be at the posterior without itself. Where its share of the posterior is
    small, as with many more points than weights, a step brings it there but for that share.
    """
    a, b, before = *np.zeros((2, len(labels))), 0.0
    for _ in range(place.n_steps):
        new_a, new_b, moved = matched(law, labels, moments, (a, b), removed)
        is_lost = np.isinf(moved)  # no cavity is left: half of the site
        a, b = np.where(is_lost, a / 2, new_a), np.where(is_lost, b / 2, new_b)
        move = float(moved.max(initial=0.0))
        shrinks = move / before if before > move else 1.0
        if shrinks * move <= place.tol:  # as far as the next would go
            break
        before = move
    return a, b, moved


def look(block: Any, sites: list[SitesOfBlock] | None, order: Order) -> Iterator[Look]:
    """What rows look like at the end, some of them at a time."""
    law = order.likelihood
    for own, space, targets, weight, left in order.design.parts(block):
        for i, place in enumerate(order.beliefs):
            labels, (e, f) = targets[:, place.task], place.moments(space)
            if sites is None and law.offers("site"):
                a, b, _ = find_sites(law, labels, (e, f), place.removed(weight), place)
            elif sites is not None:
                a, b, _ = sites[i][:, own]
            else:
                log_p, slope, rate = law.slopes(labels, f)
                m, v = without_messages(e, f, slope + rate * f, rate, left)
                yield i, own, law.errors(labels, f), law.forecast(labels, labels * m, v), log_p
                continue
            m, v = standing(cavities((e, f), (a, b), place.removed(weight)), (e, f))
            constant = law.site(labels, m, v)[0] - log_mass(m, v, a, b) + 0.5 * a * f
            m, v = standing(cavities((e, f), (a, b), left), (e, f))
            yield i, own, law.errors(labels, f), law.site(labels, m, v)[0], constant


class BlockDescent(Iterations):
    """One task over blocks: u, and the step from there that is being tried.

    The coordinates are those in which the prior is N(0, I): w = m + R u.

    Parameters
    ----------
    task : int
        Which task.
    prior : GaussianPrior
        Of its weights.
    sizes : list of int
        Rows of the blocks.
    has_cavities : bool
        Whether sites match moments at their cavities.
    keeps_rows : bool
        Whether the sites of all rows are kept between rounds.
    share : float, default=1.0
        Share of the way to where they should be that cavities go.
    """

    STATE = (
        "u",
        "step",
        "root",
        "search",
        "decrement",
        "changes",
        "reason",
        "share",
        "takes_copies",
        "radius",
        "precision",
        "sites",
    )

    def __init__(
        self,
        task: int,
        prior: GaussianPrior,
        sizes: list[int],
        *,
        has_cavities: bool,
        keeps_rows: bool,
        share: float = 1.0,
    ) -> None:
        super().__init__()
        self.task, self.prior, d = task, prior, len(prior.mean)
        self.has_cavities, self.keeps_rows, self.share = has_cavities, keeps_rows, share
        self.u, self.step = np.zeros((2, d))
        self.precision = np.eye(d)  # in which the last step was found
        self.root = np.eye(d)  # F with F F^T the inverse of it
        self.search, self.decrement, self.falls = AT_FIRST, np.inf, 1.0
        self.takes_copies, self.radius, self.is_near = False, 0.0, False
        self.sites = [np.zeros((3, n)) for n in sizes] if keeps_rows else []
        self.n_retreats = 0

    def place(self, tol: float) -> Place:
        """The weights that are tried, and how they differ from the last ones."""
        change = self.prior.rooted(self.search.t * self.step)
        mean = self.prior.mean + self.prior.rooted(self.u) + change
        return self.around(mean, change, tol, has_factor=self.has_cavities)

    def around(self, mean: NDArray, step: NDArray, tol: float, *, has_factor: bool) -> Place:
        """A place with what blocks need to know of this task."""
        last = min([1.0, *self.changes[-1:]])
        factor = self.prior.rooted(self.root) if has_factor else np.empty((0, 0))
        return Place(
            self.task,
            mean,
            step,
            factor,
            is_triangular=self.prior.root.ndim == 1,
            share=self.share,
            takes_copies=self.takes_copies,
            is_prior=self.search == AT_FIRST,
            tol=max(0.1 * tol, EARLY * last),
            n_steps=FEW_STEPS if last > CLOSE else MOST_STEPS,
        )

    def arrive(self, sums: RoundSums, i: int, new: list[SitesOfBlock], tol: float) -> None:
        """Go where sums i were taken, or refuse to, if that is too far."""
        self.is_ahead, is_first = False, self.search == AT_FIRST
        if np.isnan(sums.largest[i]):
            raise LinAlgError("the sites overflow")
        tried = self.u + self.search.t * self.step
        gradient = tried - self.prior.spread(sums.pull[i])
        H = self.prior.whitened(sums.curvature[i])
        try:
            L = cholesky(H, lower=True)
        except (LinAlgError, ValueError) as error:
            self.refuse(error)
            return
        slope, bend = float(gradient @ self.step), float(self.step @ H @ self.step)
        nearest, relative = map(float, sums.change[:, i])
        other = self.search.next(slope, bend, may_be_short=True)
        if other is not None and relative > tol:
            self.search = other
            return
        self.is_ahead = True
        self.radius = max(self.radius, float(np.sqrt(sums.widest[i])))
        known = self.root, self.precision
        self.u, self.precision, self.root = tried, H, inverse_lower(L).T
        self.step = -cho_solve((L, True), gradient, check_finite=False)
        self.search = LineSearch(float(gradient @ self.step))
        before, self.decrement = self.decrement, float(np.sqrt(max(0.0, -self.search.first_slope)))
        self.falls, self.is_near = self.decrement / max(before, TINY), nearest < NEAR
        if not self.has_cavities:
            # The next step changes outputs by about as much less as the decrement is.
            self.left = relative * min(1.0, 10 * self.falls)
            self.is_ahead = not is_first
            return
        if self.keeps_rows:
            self.sites, self.left = new, float(sums.largest[i])
        else:
            root, precision = known
            distance = float(np.linalg.norm(root.T @ (H - precision) @ root, 2))
            self.left = max(self.decrement, distance)
        if np.isinf(sums.largest[i]):  # no cavity: lack no more copies than are there
            self.takes_copies, self.left = True, np.inf

    def refuse(self, error: Exception) -> None:
        """Let cavities move less far, and try half of the step, where no posterior is left."""
        self.n_retreats += 1
        if not self.has_cavities or self.search == AT_FIRST or self.n_retreats > HALVINGS:
            raise ValueError(
                "The curvature of the posterior overflows or is lost in rounding errors. Scale "
                "the features, and take prior_scale nearer to 1."
            ) from error
        self.share /= 2
        self.search = self.search._replace(t=self.search.t / 2)

    def agrees(self, tol: float) -> bool:
        """Whether the sites agree with their posterior, or steps are rounding errors."""
        if self.has_cavities:
            self.share = max(HESITANT, self.share_after(self.share))
            return self.left <= tol
        return self.left <= tol or (self.is_near and self.falls > 10 * NEAR)

    def end(self, tol: float) -> Place:
        """Where the last step ends: the mean, and the Gaussian around it."""
        mean = self.prior.mean + self.prior.rooted(self.u + self.step)
        return self.around(mean, 0 * mean, tol, has_factor=True)

    def result(self, end: Place, constant: float, error: float) -> TaskResult:
        """The Gaussian and its evidence; ``constant`` is the sum of those of the rows."""
        u, evidence = self.u + self.step, constant + np.log(self.root.diagonal()).sum()
        if self.has_cavities:
            evidence += 0.5 * (end.mean - self.prior.mean) @ self.prior.pull
        else:
            evidence -= 0.5 * (u @ u)
        return TaskResult(end.mean, end.factor, float(evidence), np.empty(0), error)
