"""Newton's method to the mode of a posterior: one line search, one rule to stop.

The objective, to be minimised, is the negative logarithm of likelihood times prior, which is convex
in the weights. What differs is where its slopes and curvatures come from: the outputs of one task,
those of all classes together, or sums over blocks of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian.tasks import Iterations, iterate
from bayespoint.posteriors import Messages
from bayespoint.spaces import Coordinates
from bayespoint.tools.numbers import EPSILON, TINY

NEAR = 1e-2  # change of outputs f below which curvatures, too, change by no larger share
FLAT = 0.1  # share of the first slope at which a line search is content
TRIALS = 100  # steps of a line search; far more than ever seen
CHEAP = 64  # coordinates from which a product with A takes 1, 1/2, 1/3 ... of the time of H
CONJUGATE = 16  # most conjugate directions after a step


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


class Local(NamedTuple):
    """What is known where a step has led.

    Attributes
    ----------
    largest : float
        Largest change of an output by a step, as a share of 1 + |f|.
    decrement : float
        Length of the step to the minimum of the local quadratic function, in its standard
        deviations: sqrt(gradient . H^-1 gradient).
    is_near : bool
        Whether the last step changed outputs so little that curvatures hardly changed.
    is_ahead : bool
        Whether ``largest`` is of the next step; else it is of the last.
    """

    largest: float
    decrement: float
    is_near: bool
    is_ahead: bool = True


@dataclass
class Descent(Iterations):
    """One task on its way to the mode; ``here`` is None where no step was made."""

    decrement: float = np.inf
    here: Local | None = None

    def go_on(self, engine: Any, should_stop: bool) -> None:
        """End, or go on from where the last step has led.

        The step from where a search ends is taken, and leads to the mode with about twice the
        digits.
        """
        here = self.here
        if here is not None:
            falls = here.decrement / max(self.decrement, TINY)
            # The next step changes outputs by about as much less as the decrement is.
            left = here.largest if here.is_ahead else here.largest * min(1.0, 10 * falls)
            self.changes.append(here.largest)
            self.decrement = here.decrement
            # Near the mode, the decrement falls by the share of the change, or is rounding.
            if left <= engine.tol or (here.is_near and falls > 10 * NEAR):
                self.reason = ""
                return
        self.end_early(engine, should_stop)


class OutputDescent(Descent, ABC):
    r"""A task with all outputs in memory, so that a trial of a line search takes few operations.

    The objective is :math:`u^T P u / 2 - \log p(y | f)` with :math:`f = f_0 + A u`: weights u, less
    the prior's mean, of the precision P before any label is seen.

    Parameters
    ----------
    space : Coordinates
        The training points.
    mean : ndarray of shape (d,) or (d, C)
        Of the prior.
    width : int
        Of the matrices that are factorised for a step.

    Attributes
    ----------
    u, f : ndarray
        Where the task is.
    slope, rate : ndarray
        Derivatives of the log-likelihood by the outputs where the last matrix was factorised.
    step, change : ndarray
        The next step from there, and how it changes the outputs.
    """

    def __init__(self, space: Coordinates, mean: NDArray[np.float64], width: int) -> None:
        super().__init__()
        self.space, self.width = space, width
        self.start = space.outputs(mean)
        self.u, self.f = np.zeros_like(mean), self.start
        self.step, self.change = np.zeros_like(mean), np.zeros_like(self.start)

    def find(self, engine: Any, progress: Progress) -> None:
        """Step until the mode is no more than the last step away."""
        iterate([self], engine, progress.advance, lambda _: self._next(engine.tol))

    def _next(self, tol: float) -> None:
        """Make the last step, and find the next. This is where the time goes."""
        is_near = False
        if self.changes:
            is_near = bool(np.abs(self.change).max() < NEAR)
            self.go(self.step, self.change, -(self.decrement**2))
            self._go_on(0.1 * tol)
        gradient = self._gradient()
        self.factorise()
        self.step = self.downhill(gradient)
        self.change = self.push(self.step)
        largest = np.abs(self.change / (1 + np.abs(self.f))).max()
        decrement = np.sqrt(max(0.0, -dot(gradient, self.step)))
        self.here = Local(float(largest), float(decrement), is_near)

    def _gradient(self) -> NDArray[np.float64]:
        """Of the objective by u."""
        self.slope, self.rate = self.derivatives(self.f)
        return self.hold(self.u) - self.pull(self.slope)

    def go(self, step: NDArray, change: NDArray, first_slope: float) -> None:
        """Go along a step, which changes outputs so, until the objective falls no more."""
        force = self.hold(step)
        along, square = dot(self.u, force), dot(step, force)
        other: LineSearch | None = LineSearch(first_slope)
        while other is not None:
            t = other.t
            slope, rate = self.derivatives(self.f + t * change)
            bend = square + dot(change, self.bent(rate, change))
            other = other.next(along + t * square - dot(slope, change), bend)
        self.u = self.u + t * step
        self.f = self.f + t * change

    def _go_on(self, enough: float) -> None:
        """After a step, go on in conjugate directions while that is cheap.

        Curvatures change between steps, H with them. But the last H is a good metric for conjugate
        gradients (Polak and Ribiere's), which need no more than two products with A each and come
        about as far as one or two steps. They end at a decrement of ``enough``.
        """
        direction = before = np.zeros_like(self.u)
        last = np.inf
        for _ in range(min(CONJUGATE, self.width // CHEAP)):
            gradient = self._gradient()
            steepest = self.downhill(gradient)
            square = -dot(gradient, steepest)
            if square <= enough**2:
                break
            direction = steepest + direction * max(0.0, dot(steepest, before - gradient) / last)
            if dot(direction, gradient) >= 0:
                direction = steepest
            self.go(direction, self.push(direction), dot(direction, gradient))
            before, last = gradient, square
        self.f = self.start + self.push(self.u)  # without the rounding errors of each move

    def messages(self) -> Messages:
        """The last quadratic function, exp(h f - r f^2 / 2) with :math:`h = s + r f`."""
        return Messages(self.slope + self.bent(self.rate, self.f), self.rate)

    @abstractmethod
    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes of the log-likelihood by the outputs, and the rates of its curvature."""

    @abstractmethod
    def factorise(self) -> None:
        """Prepare products with the inverse of H = A^T diag(rate) A + P."""

    @abstractmethod
    def downhill(self, gradient: NDArray) -> NDArray[np.float64]:
        """-H^-1 gradient, with the last H."""

    def push(self, u: NDArray) -> NDArray[np.float64]:
        """A u, the change of outputs."""
        return self.space.outputs(u)

    def pull(self, forces: NDArray) -> NDArray[np.float64]:
        """A^T s."""
        return self.space.pull(forces)

    def hold(self, u: NDArray) -> NDArray[np.float64]:
        """P u."""
        return u

    def bent(self, rate: NDArray, change: NDArray) -> NDArray[np.float64]:
        """The curvature of the log-likelihood times a change of outputs."""
        return rate * change


def dot(one: NDArray, two: NDArray) -> float:
    """The inner product of vectors, or of matrices as vectors."""
    return float(np.vdot(one, two))


def without_messages(
    f: NDArray, variance: NDArray, rate: NDArray, pull: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and variances of outputs without their messages; with them they are these.

    ``rate`` is the precision of what a cavity lacks, and ``pull`` its shift less rate times f.
    """
    remaining = np.maximum(1 - rate * variance, EPSILON)
    return f - pull * variance / remaining, variance / remaining
