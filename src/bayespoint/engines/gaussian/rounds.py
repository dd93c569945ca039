r"""One algorithm for expectation propagation and Laplace's approximation: rounds.

The messages of the labels are the slopes and the curvatures of a function of the outputs, which is
the log-likelihood, smoothed by the cavity of each label. A round

1. climbs this function plus the logarithm of the prior, the cavities keeping their variances, by
   conjugate gradients with the last factor as their metric,
2. factorises the precision that the sites make there, which takes the time, and
3. computes the variances of all outputs, which are those of the next cavities.

With cavities of the variance 0 it is a step of Newton's method to the mode. Sources: M. Opper and
O. Winther, *Expectation consistent approximate inference*, JMLR 6, 2005; M. Seeger and H. Nickisch,
*Fast convergent algorithms for expectation propagation approximate Bayesian inference*, AISTATS
2011.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from bayespoint import _core
from bayespoint._core.calls import Slices
from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian.gaussians import WeightGaussian
from bayespoint.engines.gaussian.sites import MatchedSites
from bayespoint.engines.gaussian.tasks import (
    ACTIVE,
    COLLAPSE,
    HESITANT,
    MANY,
    PATIENCE,
    SMALLER,
    STALLED,
    Iterations,
    iterate,
)
from bayespoint.posteriors import Messages
from bayespoint.tools.numbers import EPSILON, TINY

FLAT = 0.1  # share of the first slope at which a line search is content
TRIALS = 100  # steps of a line search; far more than ever seen
NEAR = 1e-2  # change of outputs f below which curvatures, too, change by no larger share
EXACT = 0.05  # error of the means, as a share of the moves that are left
MOST_STEPS = 16  # conjugate directions in a round
COARSE = 1e-3  # move down to which float32 is good enough
HALVINGS = 20  # of a step that left no posterior, before the rounds are given up
LEAST = 0.05  # smallest share of a step where there are no sweeps instead
WEAKER = 200  # halvings of sites, after which nothing is left of them


class LineSearch(NamedTuple):
    """The search for a share t of a step at which the slope is small beside that at t = 0.

    The objective is convex, so that it is then far enough below its first value (Armijo's rule). t
    = 1 is right near the mode. Larger steps save iterations if classes are separable, because
    curvatures decrease as margins grow.
    """

    first_slope: float
    t: float = 1.0  # the share that is tried
    low: float = 0.0  # the longest that was too short, and the shortest that was too long
    high: float = np.inf
    trials: float = 0

    def next(self, slope: float, bend: float, *, may_be_short: bool = False) -> LineSearch | None:
        """Another share to try, or None if this one will do.

        Parameters
        ----------
        slope, bend : float
            First and second derivative of the objective by t.
        may_be_short : bool
            Whether a step that ends before the minimum will do: where a trial is as expensive as a
            step.
        """
        is_flat = abs(slope) <= -FLAT * self.first_slope
        if is_flat or (may_be_short and slope < 0) or self.trials >= TRIALS:
            return None
        low, high = (self.t, self.high) if slope < 0 else (self.low, self.t)
        t = self.t - slope / bend
        if not low < t < high:
            t = 2 * low if np.isinf(high) else (low + high) / 2
        return LineSearch(self.first_slope, t, low, high, self.trials + 1)


class Search(Iterations, ABC):
    """The way of one task, or of all classes together, to sites that agree with their posterior.

    Parameters
    ----------
    gaussian : WeightGaussian, OutputGaussian or JointGaussian
        The posterior.
    sites : Sites or JointSites
        What labels say of the outputs.

    Attributes
    ----------
    u, f : ndarray
        Where the sites were found, in the coordinates of the Gaussian, and its outputs.
    slope, rate : ndarray
        Slopes and rates of the sites there.
    step, change : ndarray
        The way from there to the mean of the posterior, and how it changes the outputs.
    left : float
        How far the sites are from agreeing with the posterior, as ``tol`` measures it.
    """

    slope: NDArray[np.float64]
    rate: NDArray[np.float64]

    def __init__(self, gaussian: Any, sites: Any) -> None:
        super().__init__()
        self.gaussian, self.sites, self.has_cavities = gaussian, sites, sites.has_cavities
        self.u, self.f = gaussian.origin, gaussian.start
        self.step, self.change = np.zeros_like(self.u), np.zeros_like(self.f)
        self.decrement = self.last_decrement = np.inf

    @property
    def radius(self) -> float:
        """Standard deviation of the outputs before any label is seen, the largest."""
        return self.sites.radius

    def run(self, engine: Any, progress: Progress) -> None:
        """Go on until the sites agree, or until the run has to end."""
        iterate([self], engine, progress.advance, self.visit)

    def visit(self, active: Any = None) -> None:
        """Move the sites, and compute the posterior that they make."""
        self.is_ahead = False
        while not self.is_ahead and self.reason == ACTIVE:
            try:
                with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is an error
                    self.advance()
                    self.renew()
                self.is_ahead = True
            except LinAlgError:
                self.retreat()

    @abstractmethod
    def advance(self) -> None:
        """Move the sites."""

    @abstractmethod
    def retreat(self) -> None:
        """End where the sites leave no posterior."""

    def take_over(self) -> None:
        """Take over slopes and rates of the sites as they are, at the outputs f."""
        shift, self.rate = self.sites.messages()
        self.slope = shift - self.sites.bent(self.rate, self.f)

    def renew(self) -> None:
        """Compute the posterior of the sites, and how far these are from agreeing with it."""
        residual = self.gaussian.residual(self.slope, self.u)
        self.gaussian.factorise(self.rate)
        self.step, self.change = self.gaussian.solve(residual)
        if not np.isfinite(self.step).all():
            raise LinAlgError("the sites leave no posterior")
        square = self.gaussian.along(residual, self.step, self.change)
        self.last_decrement, self.decrement = self.decrement, float(np.sqrt(max(square, 0.0)))
        self.left = self.sites.compare(self.gaussian, self.f, self.change)
        if np.isnan(self.left):
            raise LinAlgError("the sites overflow")

    def adapt(self, tol: float) -> bool:
        """Let the likelihood learn from the posterior; whether sites have to move then."""
        if not self.sites.adapt(self.gaussian, self.f + self.change, tol):
            return False
        self.decrement = np.inf
        self.go_on_anew()
        return True

    def end(self) -> tuple[NDArray[np.float64], NDArray[np.float64], Messages]:
        """The mean of the posterior in the coordinates of the Gaussian, its outputs, messages."""
        if not np.isfinite(self.left) or self.decrement > 1 / EPSILON:
            raise LinAlgError("there is no posterior")
        return self.u + self.step, self.f + self.change, self.sites.messages()

    def result(self) -> Any:
        """The posterior of one task and its evidence."""
        return self.sites.result(self.gaussian, self.u + self.step, self.f + self.change)


class Rounds(Search):
    """Rounds in which the means of all outputs follow the sites before the variances do.

    Parameters
    ----------
    gaussian, sites
        See the base class.
    start : Messages, optional
        Of an earlier fit to the same rows, where the search begins.
    """

    def __init__(self, gaussian: Any, sites: Any, start: Messages | None = None) -> None:
        super().__init__(gaussian, sites)
        self.begins_at = start
        self.awaits_posterior = False  # of sites from which it goes on
        self.known: Any = None  # where the last sound posterior was
        self.n_retreats = 0
        self.is_near = False  # whether the last round changed outputs, and so rates, by little

    def in_weights(self, engine: Any, progress: Progress) -> Rounds:
        """The search in the coordinates of the weights, which goes on there if it has converged.

        Kernel matrices that are nearly singular hide errors of :class:`OutputGaussian`.
        """
        gaussian = WeightGaussian(self.gaussian.space, self.gaussian.prior)
        search = Rounds(gaussian, self.sites)
        search.changes = self.changes[:-1]
        search.u = gaussian.prior.spread(gaussian.space.pull(self.u + self.step))
        search.f = gaussian.start + gaussian.push(search.u)
        search.take_over()
        search.awaits_posterior = True
        if self.reason == "":
            search.run(engine, progress)
        else:
            search.visit()
            search.changes, search.reason = self.changes, self.reason
        return search

    def advance(self) -> None:
        """Climb, the cavities keeping their variances."""
        if self.awaits_posterior:
            self.awaits_posterior = False
            return
        if not self.changes:
            self.gaussian.is_single = self.gaussian.suits_single
            self.slope, self.rate = self.sites.begin(self.begins_at, self.f)
            return
        if self.begins_at is not None:  # go on from the mean that these messages make
            self.u, self.begins_at = self.u + self.step, None
        # Without the rounding errors of each move.
        before = self.f = self.gaussian.start + self.gaussian.push(self.u)
        self.known = self.u, self.f, self.sites.state
        most = min(MOST_STEPS, self.sites.fewest_steps + self.gaussian.cheap_steps)
        enough = EXACT * self.sites.enough(self.left)
        self.climb(enough, most)
        if self.sites.look_ahead(self.gaussian):
            self.climb(enough, most)
        self.is_near = bool(np.abs(self.f - before).max(initial=0.0) < NEAR)

    def retreat(self) -> None:
        """Go back, and let cavities move less far from there; or give up."""
        self.n_retreats += 1
        if self.known is None or self.n_retreats > HALVINGS:
            self.reason = STALLED
        if self.known is not None:
            self.u, self.f, state = self.known
            self.sites.go_back(state)
            if self.reason == STALLED:
                self.take_over()
                self.renew()

    def climb(self, enough: float, most: int) -> None:
        """Climb in conjugate directions (Polak and Ribiere's), until a step would be short.

        The last factor is their metric. ``enough`` is in standard deviations of the posterior.
        """
        gaussian = self.gaussian
        before, direction, change, last = None, 0.0, 0.0, np.inf
        self.derive(self.f)
        for _ in range(most):
            residual = gaussian.residual(self.slope, self.u)
            steepest, its_change = gaussian.solve(residual)
            square = gaussian.along(residual, steepest, its_change)
            if not np.isfinite(square):
                raise LinAlgError("the steps overflow")
            if square <= enough**2:
                return
            share = 0.0
            if before is not None:
                share = max(0.0, gaussian.along(residual - before, steepest, its_change) / last)
            direction, change = steepest + share * direction, its_change + share * change
            first_slope = -gaussian.along(residual, direction, change)
            if first_slope >= 0:
                direction, change, first_slope = steepest, its_change, -square
            self.go(direction, change, first_slope)
            before, last = residual, square

    def go(self, step: NDArray, change: NDArray, first_slope: float) -> None:
        """Go along a step, which changes outputs so, until the objective falls no more."""
        along = self.gaussian.inner(self.u, step, change)
        square = self.gaussian.inner(step, step, change)
        search: LineSearch | None = LineSearch(first_slope)
        while search is not None:
            t, f = search.t, self.f + search.t * change
            self.derive(f)
            bend = square + float(np.vdot(change, self.sites.bent(self.rate, change)))
            slope = along + t * square - float(np.vdot(self.slope, change))
            search = search.next(slope, bend)
        self.u, self.f = self.u + t * step, f

    def derive(self, f: NDArray) -> None:
        """Find the sites where the outputs have the means f."""
        self.slope, self.rate = self.sites.derivatives(f)
        if not (np.isfinite(self.slope).all() and np.isfinite(self.rate).all()):
            raise LinAlgError("the sites overflow")

    def agrees(self, tol: float) -> bool:
        """Whether the sites agree, in float64, or steps are rounding errors."""
        if self.gaussian.is_single:
            before = self.changes[-2:-1] or [np.inf]
            if self.left <= COARSE or not self.left < SMALLER * before[0]:
                self.gaussian.is_single = False
            return False
        if self.left <= tol:
            return True
        if self.has_cavities:
            self.sites.share = max(self.share_after(self.sites.share), LEAST)
            has_none = np.isinf(self.changes[-PATIENCE:]).all() and len(self.changes) >= PATIENCE
            if self.sites.can_be_swept and (self.sites.share < HESITANT or has_none):
                self.reason = STALLED
            return False
        # Near the mode, the decrement falls by the share of the change, or is rounding.
        return self.is_near and self.decrement > 10 * NEAR * max(self.last_decrement, TINY)


class Sweeps(Search):
    """Sweeps in which one site after another changes: the algorithm of the slides.

    Each site a, b, in turn,

    1. leaves the posterior of its output f, of mean f and variance e: the cavity, of mean
       m = (f - a e) / c and variance e / c with c = 1 - b e;
    2. gets the variance s^2 = e / c + beta^2 with the noise;
    3. becomes a', b', such that its product with the cavity has the mean and the variance that
       the true label gives;
    4. joins the posterior again: mu and Sigma change by a' - a and b' - b.

    After each sweep the posterior is computed afresh from the sites.

    Parameters
    ----------
    gaussian : WeightGaussian
        The prior.
    sites : MatchedSites
        From which the sweeps begin.
    share : float or None
        Share of each step; None is 1, and less if moves have not decreased in 20 sweeps.
    """

    def __init__(self, gaussian: WeightGaussian, sites: MatchedSites, share: float | None) -> None:
        super().__init__(gaussian, sites)
        self.share, self.is_damped = share or 1.0, share is not None
        self.before = sites.a.copy(), sites.b.copy()  # as the last sweep found them

    @classmethod
    def instead_of(cls, search: Search, share: float | None) -> Sweeps:
        """Sweeps from the prior, where rounds do not get on."""
        gaussian = WeightGaussian(search.gaussian.space, search.gaussian.prior)
        sweeps = cls(gaussian, search.sites.anew(gaussian), share)
        sweeps.changes, sweeps.n_before = search.changes, len(search.changes)
        return sweeps

    def advance(self) -> None:
        """Visit all sites in turn."""
        if not np.isfinite(self.left):
            self.follow()
            self.renew()
        self.before = self.sites.a.copy(), self.sites.b.copy()
        self.sweep()
        self.follow()

    def retreat(self) -> None:
        """Go back to the sites before the last sweep, as those of outputs that are a tie."""
        self.reason, self.sites.is_tie = COLLAPSE, True
        self.sites.a, self.sites.b = self.before
        for _ in range(WEAKER):
            self.u, self.f = self.gaussian.origin, self.gaussian.start
            self.step, self.change = np.zeros_like(self.u), np.zeros_like(self.f)
            self.follow()
            try:
                self.renew()
                return
            except LinAlgError:  # weaker sites make a posterior, at last that of the prior
                self.sites.a, self.sites.b = self.sites.a / 2, self.sites.b / 2
        raise ValueError(
            "The prior, such as the posterior of earlier batches, is lost in rounding errors. "
            "Scale the features to mean 0 and variance 1, or set a smaller prior_scale."
        )

    def follow(self) -> None:
        """Go to the mean of the last posterior, and take over the sites as they are."""
        self.u = self.u + self.step
        self.f = self.gaussian.start + self.gaussian.push(self.u)
        self.take_over()

    def sweep(self) -> None:
        """Visit all rows; where an output's variance is lost in rounding errors, begin anew."""
        begin, n_rows = 0, len(self.f)
        while begin < n_rows:
            end = self.visit_rows(begin)
            if end == begin:
                raise LinAlgError("a variance is lost in rounding errors")
            begin = end
            if begin < n_rows:
                self.follow()
                self.renew()

    def visit_rows(self, begin: int) -> int:
        """Visit rows from one on; the first that was not visited."""
        sites, (law, bounds) = self.sites, self.sites.law
        move, factor = self.gaussian.weights(self.u + self.step)
        mu, Sigma = self.gaussian.prior.mean + move, factor @ factor.T
        for first, last in Slices().of(len(self.f) - begin):
            some = slice(begin + first, begin + last)
            rows = np.ascontiguousarray(self.gaussian.space.rows(some))
            own = tuple(array[some] for array in sites.arrays)
            limits = None if bounds is None else bounds[some]
            moved = _core.ep.sweep(rows, Sigma, mu, own, law, self.share, limits)
            if np.isinf(moved).any():  # a site had no cavity: lack no more copies than are there
                sites.removed = np.minimum(sites.weight, 1.0)
            lost = np.flatnonzero(np.isnan(moved))
            if len(lost):
                return int(some.start + lost[0])
        return len(self.f)

    def agrees(self, tol: float) -> bool:
        """Whether the sites agree; steps become shorter where moves have not decreased."""
        if not self.is_damped:
            self.share = max(HESITANT, self.share_after(self.share, MANY))
        return self.left <= tol
