r"""What the labels of one task say of its outputs, as Gaussian sites.

Each label sends its output the message :math:`\exp(a f - b f^2 / 2)`. A row of weight k sends k of
them. The slope of all messages of a row is :math:`k (a - b f)`, their rate :math:`k b`.

* :class:`MatchedSites`, of expectation propagation: with the cavity, the product of the prior and
  all other messages, a message gives its output the moments that the label does. For a cavity of
  the variance v, and a mean m such that the output has the mean f, the slope is that of the
  likelihood smoothed by N(0, v).
* :class:`TangentSites`, of Laplace's approximation: a message has the slope and the curvature of
  the log-likelihood at f, which is the case v = 0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, rq

from bayespoint import _core
from bayespoint.engines.gaussian.prior import LARGE
from bayespoint.engines.gaussian.tasks import Labels, TaskResult, log_evidence
from bayespoint.posteriors import Messages
from bayespoint.tools.numbers import EPSILON, TINY
from bayespoint.tools.threads import in_parts

FEW = 250  # rows of which a factor takes no longer than to find means twice
PRECISE, MOST_STEPS = 1e-10, 50  # error of a cavity's mean; Newton's steps to it
PART = 8000  # rows of a compiled call: some milliseconds
SMALLEST = 1e-10  # share of the precision of an output that a cavity must have, or it is rounding
COLLAPSED = 1e-24  # share of its prior variance that no output of a sound posterior falls below
# Labels that contradict each other, without noise or with little, leave outputs whose mean and
# standard deviation are rounding errors: up to 1e-7 of the prior's, where the kernel matrix has not
# full rank. Where a posterior has collapsed, or without noise has outputs of such a variance,
# deviations get this share of the prior's, in squares, so that such outputs are a tie.
TIE, ROUNDED = 0.01, 1e-12


class Sites(ABC):
    """What the labels of all rows say of their outputs, one or several of each.

    Attributes
    ----------
    has_cavities : bool
        Whether sites match moments at their cavities.
    fewest_steps : int
        Steps in which means follow before the next posterior, at least.
    can_be_swept : bool
        Whether there are sweeps over them, one after another.
    radius : float
        Standard deviation of the outputs before any label is seen, the largest.
    """

    has_cavities: ClassVar[bool]
    fewest_steps: ClassVar[int]
    can_be_swept = False
    radius = np.nan  # where it does not matter

    @abstractmethod
    def begin(self, messages: Messages | None, f: NDArray) -> tuple[NDArray, NDArray]:
        """Slopes and rates to begin with: of messages of an earlier fit, or those at the prior."""

    @abstractmethod
    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes of the messages of all rows where the outputs have the means f, and rates."""

    @abstractmethod
    def bent(self, rate: NDArray, change: NDArray) -> NDArray[np.float64]:
        """How much less rows push when their outputs change."""

    @abstractmethod
    def enough(self, left: float) -> float:
        """How exact the means should be, of sites that have so far to go."""

    @abstractmethod
    def look_ahead(self, gaussian: Any) -> bool:
        """Set the cavities to those that the sites will have; whether that is possible."""

    @abstractmethod
    def compare(self, gaussian: Any, f: NDArray, change: NDArray) -> float:
        """How far the sites are from agreeing with the posterior that they make.

        The posterior has the outputs f + change, and the sites are those of f.
        """

    @abstractmethod
    def messages(self) -> Messages:
        """Shifts and rates of the messages of all rows."""

    @property
    @abstractmethod
    def state(self) -> Any:
        """What sites go back to where they leave no posterior."""

    @abstractmethod
    def go_back(self, state: Any) -> None:
        """Go back to an earlier state, and then less far."""


class TaskSites(Sites):
    """The sites of one task, which has one output for each row.

    Parameters
    ----------
    labels : Labels
        What is learned from.
    gaussian : WeightGaussian or OutputGaussian
        The prior of the outputs.

    Attributes
    ----------
    likelihood : Likelihood
        What labels say of outputs, with what it has learned.
    """

    def __init__(self, labels: Labels, gaussian: Any) -> None:
        self.labels, self.weight, likelihood, self.left = labels
        self.likelihood = likelihood.started(self.labels, self.weight, gaussian.variances)
        self.radius = float(np.sqrt(gaussian.variances.max(initial=0.0)))

    def bent(self, rate: NDArray, change: NDArray) -> NDArray[np.float64]:
        """How much less rows push when their outputs change."""
        return rate * change


class MatchedSites(TaskSites):
    """Sites that match the moments of the labels at their cavities.

    Attributes
    ----------
    a, b : ndarray of shape (n,)
        One copy of each site.
    m, v : ndarray of shape (n,)
        Means and variances of the cavities.
    removed : ndarray of shape (n,)
        Copies of a site that its cavity lacks.
    share : float
        Share of the way that cavities go to where they should be.
    is_tie : bool
        Whether the posterior has collapsed, so that outputs are a tie.
    """

    has_cavities, fewest_steps = True, 2

    def __init__(self, labels: Labels, gaussian: Any, share: float = 1.0) -> None:
        super().__init__(labels, gaussian)
        n = len(self.labels)
        self.a, self.b, self.removed = np.zeros(n), np.zeros(n), np.ones(n)
        self.m, self.v = gaussian.start.copy(), gaussian.variances.copy()
        self.share, self.can_be_swept = share, self.likelihood.code is not None
        self.floor = COLLAPSED * gaussian.variances
        self.is_tie = False

    def enough(self, left: float) -> float:
        """How exact the means should be, of sites that have so far to go."""
        return min(left, 1.0)

    def anew(self, gaussian: Any) -> MatchedSites:
        """No sites, of the same labels."""
        labels = Labels(self.labels, self.weight, self.likelihood, self.left)
        return MatchedSites(labels, gaussian)

    def begin(self, messages: Messages | None, f: NDArray) -> tuple[NDArray, NDArray]:
        """Slopes and rates to begin with: of messages of an earlier fit, or those at the prior."""
        if messages is None:
            return self.derivatives(f)
        self.a, self.b = messages.shift / self.weight, messages.rate / self.weight
        return messages.shift - messages.rate * f, messages.rate

    def messages(self) -> Messages:
        """Shifts and rates of the messages of all rows."""
        return Messages(self.weight * self.a, np.clip(self.weight * self.b, -LARGE, LARGE))

    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes and rates of the smoothed likelihood, cavities keeping their variances."""
        self.a, self.b, self.m = agreeing(
            self.likelihood, self.labels, f, self.v, self.m, self.removed
        )
        shift, rate = self.messages()
        return shift - rate * f, rate

    def compare(self, gaussian: Any, f: NDArray, change: NDArray) -> float:
        """The largest move of a site to where it should be, given all others.

        Moves are measured as ``tol`` is. Cavities get the variances that they have now.
        """
        e, f = gaussian.moments(), f + change
        if not (e >= self.floor).all():
            raise LinAlgError("the posterior has collapsed")
        self.e, self.f = e, f
        return self.move_cavities()

    def move_cavities(self) -> float:
        """Set the cavities to those of the last posterior; the largest move of a site."""
        moments, sites = (self.e, self.f), (self.a, self.b)
        m, v = cavities(moments, sites, self.removed)
        if np.isnan(v).any():  # a site had no cavity: lack no more copies than are there
            self.removed = np.minimum(self.weight, 1.0)
            m, v = cavities(moments, sites, self.removed)
        is_lost = np.isnan(v)
        m, v = np.where(is_lost, self.m, m), np.where(is_lost, self.v, v)
        _, a, b = self.likelihood.site(self.labels, m, v)
        moves = distance((a - self.a, b - self.b), v + float(self.likelihood.noise) ** 2)
        self.m, self.last_v, self.v = m, self.v, between(self.v, v, self.share)
        return np.inf if is_lost.any() else float(moves.max(initial=0.0))

    @property
    def state(self) -> tuple[NDArray, NDArray]:
        """The sites."""
        return self.a, self.b

    def go_back(self, state: tuple[NDArray, NDArray]) -> None:
        """Go back to earlier sites, and let cavities move half as far from there."""
        self.a, self.b = state
        self.v = between(self.last_v, self.v, 0.5)

    def look_ahead(self, gaussian: Any) -> bool:
        """Set the cavities to those that the sites will have, to first order."""
        if not gaussian.can_look_ahead or len(self.labels) <= FEW:
            return False
        variance = gaussian.ahead(self.e, self.messages().rate)
        precision = 1 / variance - self.removed * self.b
        self.v = 1 / np.maximum(precision, 1 / np.maximum(gaussian.variances, TINY))
        return True

    def cavities(self, copies: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and variances of the outputs without copies of their sites.

        Where nothing would be left, the posterior itself stands in.
        """
        moments = self.e, self.f
        return standing(cavities(moments, (self.a, self.b), copies), moments)

    def result(self, gaussian: Any, u: NDArray, f: NDArray) -> TaskResult:
        """The posterior of the weights, its evidence and its cavities."""
        move, factor = gaussian.weights(u)
        prior = gaussian.prior
        mean, evidence = prior.mean + move, self.evidence(gaussian, f) + 0.5 * move @ prior.pull
        without_noise = self.likelihood.noise == 0 and (
            (self.e * COLLAPSED < ROUNDED * self.floor).any()
        )
        if self.is_tie or without_noise:
            factor = rq(np.hstack([factor, TIE * prior.matrix]), mode="economic")[0]
            factor *= np.sign(factor.diagonal())
        m, v = self.cavities(self.left)
        left_out = self.likelihood.forecast(self.labels, self.signs * m, v)
        error = float(self.likelihood.errors(self.labels, self.f).mean())
        learned = self.messages(), self.likelihood
        return TaskResult(mean, factor, float(evidence), left_out, error, *learned)

    @property
    def law(self) -> tuple[tuple[float, ...], NDArray | None]:
        """What labels say, as compiled loops take it."""
        return self.likelihood.constants, self.likelihood.bounds(self.labels)

    @property
    def arrays(self) -> tuple[NDArray[np.float64], ...]:
        """All sites, as compiled loops take and change them."""
        return self.signs, self.a, self.b, self.removed, self.weight, self.floor

    @property
    def signs(self) -> NDArray[np.float64]:
        """Signs with which forecasts take outputs."""
        return self.likelihood.signs(self.labels)

    def evidence(self, gaussian: Any, f: NDArray) -> float:
        """The logarithm of the probability of all labels, where the prior has the mean 0."""
        m, v = self.cavities(self.removed)
        log_p, _, _ = self.likelihood.site(self.labels, m, v)
        constants = self.weight @ (log_p - log_mass(m, v, self.a, self.b))
        return log_evidence(constants, gaussian.log_determinant, self.messages().shift @ f)

    def adapt(self, gaussian: Any, f: NDArray, tol: float) -> bool:
        """Let the likelihood learn from the cavities; whether it has changed."""
        m, v = self.cavities(self.removed)
        better = self.likelihood.adapted(
            self.labels, self.weight, self.signs * m, v, gaussian.covary, tol
        )
        if better is None:
            return False
        self.likelihood = better
        return self.move_cavities() > tol


class TangentSites(TaskSites):
    """Messages with the slopes and the curvatures of the log-likelihood at the outputs."""

    has_cavities, fewest_steps = False, 1

    def __init__(self, labels: Labels, gaussian: Any, tol: float) -> None:
        super().__init__(labels, gaussian)
        self.tol = tol

    def enough(self, left: float) -> float:
        """How exact a climb should be: exact, as it is cheap, and the next factor depends on it."""
        return 2 * self.tol

    def look_ahead(self, gaussian: Any) -> bool:
        """There are no cavities."""
        return False

    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The first derivatives of the log-likelihood, and the negative second ones."""
        _, slope, bend = self.likelihood.slopes(self.labels, f)
        self.f, self.slope, self.rate = f, self.weight * slope, self.weight * bend
        return self.slope, self.rate

    @property
    def state(self) -> None:
        """Nothing: messages follow from the outputs."""

    def go_back(self, state: None) -> None:
        """Nothing."""

    def compare(self, gaussian: Any, f: NDArray, change: NDArray) -> float:
        """The largest change of an output by the next step, as a share of 1 + |f|."""
        return float(np.abs(change / (1 + np.abs(f))).max(initial=0.0))

    def begin(self, messages: Messages | None, f: NDArray) -> tuple[NDArray, NDArray]:
        """Slopes and rates to begin with: of messages of an earlier fit, or those at the prior."""
        if messages is None:
            return self.derivatives(f)
        self.f, self.slope, self.rate = f, messages.shift - messages.rate * f, messages.rate
        return self.slope, self.rate

    def messages(self) -> Messages:
        """The quadratic function that the log-likelihood is near f."""
        return Messages(self.slope + self.rate * self.f, self.rate)

    def result(self, gaussian: Any, u: NDArray, f: NDArray) -> TaskResult:
        """The Gaussian around the end of the last step, its evidence and its cavities.

        A cavity lacks one copy of a message, and the label is predicted as a new one would be.
        """
        move, factor = gaussian.weights(u)
        mean = gaussian.prior.mean + move
        fit = self.weight @ self.likelihood.slopes(self.labels, f)[0]
        evidence = fit - 0.5 * gaussian.inner(u, u, f - gaussian.start)
        evidence += 0.5 * gaussian.log_determinant
        shift, rate = self.messages()
        m, v = without_messages(gaussian.moments(), f, shift, rate, self.left / self.weight)
        left_out = self.likelihood.forecast(self.labels, self.likelihood.signs(self.labels) * m, v)
        error = float(self.likelihood.errors(self.labels, f).mean())
        learned = Messages(shift, rate), self.likelihood
        return TaskResult(mean, factor, float(evidence), left_out, error, *learned)

    def adapt(self, gaussian: Any, f: NDArray, tol: float) -> bool:
        """Let the likelihood learn at the mode; whether it has changed."""
        moments = f, gaussian.moments()
        better = self.likelihood.adapted(self.labels, self.weight, *moments, gaussian.covary, tol)
        self.likelihood = self.likelihood if better is None else better
        return better is not None


def agreeing(
    law: Any, labels: NDArray, f: NDArray, v: NDArray, m: NDArray, removed: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Sites a, b with which the outputs have the means f, and the means m of their cavities.

    With its site a cavity N(m, v) has the mean (m + v a) / (1 + v b), which grows with m, and is
    convex or concave for most likelihoods: Newton's steps find the m of the mean f.
    """
    if law.code is not None:
        y, bounds = law.signs(labels), law.bounds(labels)

        def some(own: slice) -> tuple[NDArray, NDArray, NDArray]:
            known = f[own], v[own], m[own], removed[own], y[own]
            limits = None if bounds is None else bounds[own]
            return _core.ep.agreeing(*known, law.constants, limits)

        if len(f) <= PART:
            return some(slice(None))
        a, b, m = map(np.concatenate, zip(*in_parts(some, len(f), PART), strict=True))
        return a, b, m
    m = m.copy()
    for _ in range(MOST_STEPS):
        _, a, b = law.site(labels, m, v)
        step = m + removed * v * a - f * (1.0 + removed * v * b)
        m -= step
        if (np.abs(step) <= PRECISE * (1.0 + np.abs(f))).all():
            break
    return a, b, m


def cavities(
    moments: tuple[NDArray, NDArray], sites: Sequence[NDArray], copies: NDArray | float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and variances of outputs without copies of their sites; NaN where there is no cavity.

    ``moments`` are the variances e and the means f of the outputs, ``sites`` a and b.
    """
    (e, f), (a, b) = moments, sites
    c = 1.0 - copies * b * e
    c = np.where((c > SMALLEST) & (e >= 0), c, np.nan)
    return (f - copies * a * e) / c, e / c


def standing(
    cavity: tuple[NDArray, NDArray], moments: tuple[NDArray, NDArray]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cavities, for which the posterior stands in where nothing would be left."""
    (m, v), (e, f) = cavity, moments
    return np.where(np.isnan(v), f, m), np.where(np.isnan(v), e, v)


def matched(
    law: Any,
    labels: NDArray,
    moments: tuple[NDArray, NDArray],
    sites: Sequence[NDArray],
    copies: NDArray | float,
) -> tuple[NDArray, NDArray, NDArray]:
    """What all sites should be, given the others, and how far they are from that.

    Infinitely far without a cavity, where a site stays.
    """
    (e, f), (old_a, old_b) = moments, sites
    m, v = cavities(moments, sites, copies)
    is_lost = np.isnan(v)
    m, v = np.where(is_lost, f, m), np.where(is_lost, e, v)
    _, a, b = law.site(labels, m, v)
    moves = distance((a - old_a, b - old_b), v + float(law.noise) ** 2)
    return (
        np.where(is_lost, old_a, a),
        np.where(is_lost, old_b, b),
        np.where(is_lost, np.inf, moves),
    )


def between(old: NDArray, new: NDArray, share: float) -> NDArray[np.float64]:
    """Variances whose precisions lie between those of others."""
    return new if share == 1 else old * new / np.maximum((1 - share) * new + share * old, TINY)


def distance(moves: tuple[NDArray, NDArray], total: NDArray) -> NDArray[np.float64]:
    """How far sites move, as ``tol`` measures it; ``total`` are variances of noisy outputs."""
    return np.maximum(np.abs(moves[0]) * np.sqrt(total), np.abs(moves[1]) * total)


def log_mass(m: NDArray, v: NDArray, a: NDArray, b: NDArray) -> NDArray[np.float64]:
    """Logarithms of the expectations of the sites exp(a f - b f^2 / 2) for f ~ N(m, v)."""
    d = 1.0 + b * v
    return 0.5 * (2.0 * m * a + a**2 * v - b * m**2) / d - 0.5 * np.log(np.maximum(d, SMALLEST))


def without_messages(
    e: NDArray, f: NDArray, shift: NDArray, rate: NDArray, share: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and variances of outputs without a share of their messages."""
    remaining = np.maximum(1 - share * rate * e, EPSILON)
    return f - share * (shift - rate * f) * e / remaining, e / remaining
