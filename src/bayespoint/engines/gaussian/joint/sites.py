"""What the labels of several classes say of the outputs of all classes together.

A row sends its C outputs a message of the form that :mod:`.gaussians` describes. The two kinds are
those of one output: the messages of expectation propagation match moments at cavities, and those of
Laplace's approximation have the slope and the curvature of the log-likelihood.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.special import log_softmax

from bayespoint import _core
from bayespoint.engines.gaussian.joint.gaussians import JointGaussian, coupled, precisions
from bayespoint.engines.gaussian.sites import Sites
from bayespoint.engines.gaussian.tasks import Labels, log_evidence
from bayespoint.posteriors import Messages
from bayespoint.tools.threads import in_parts

INNER = 10  # visits of the sites of a point to each other, before other points are told
PART = 500  # points whose sites a compiled call finds
STILL = 1e-10  # move at which they end


class ClassSites(Sites):
    """The messages of rows with one output for each class."""

    def bent(self, rate: NDArray, change: NDArray) -> NDArray[np.float64]:
        """Pi times a change of outputs."""
        return coupled(rate, change)

    def look_ahead(self, gaussian: Any) -> bool:
        """Cavities stay as they are until the next posterior."""
        return False

    @abstractmethod
    def log_evidence(self, gaussian: JointGaussian, u: NDArray, f: NDArray) -> float:
        """The logarithm of the probability of all labels."""


class MatchedClasses(ClassSites):
    """The sites of the argmax model: one of each point for each class but its own.

    Parameters
    ----------
    labels : Labels
        The classes of the points.
    gaussian : JointGaussian
        The prior.

    Attributes
    ----------
    shift, rate : ndarray of shape (n, C)
        Sites exp(shift t - rate t^2 / 2) of one copy, t = f_y - f_j + u; 0 for the own class.
    cavity : ndarray of shape (n, C, C)
        Covariances of the outputs without them.
    radius : float
        Standard deviation of the outputs before any label is seen, the largest.
    """

    has_cavities, fewest_steps = True, 8

    def __init__(self, labels: Labels, gaussian: JointGaussian, share: float = 1.0) -> None:
        self.codes, self.weight, likelihood, _ = labels
        self.noise = float(likelihood.noise) ** 2
        self.shift, self.rate = np.zeros((2, *gaussian.start.shape))
        self.cavity = gaussian.covariances
        self.removed = np.ones(len(self.codes))  # copies of its sites that a cavity lacks
        self.left, self.share = 1.0, share
        variances = np.diagonal(self.cavity, axis1=1, axis2=2) + gaussian.common[:, None]
        self.radius = float(np.sqrt(variances.max(initial=0.0)))

    def enough(self, left: float) -> float:
        """How exact the means should be, of sites that have so far to go."""
        return min(left, 1.0)

    def messages(self) -> Messages:
        """What all copies of each point say of its C outputs, the noise u integrated out."""
        rate = self.rate.copy()
        rate[np.arange(len(rate)), self.codes] = 1 / self.noise
        pull = self.shift.sum(axis=1) / rate.sum(axis=1)
        shift = rate * pull[:, None] - self.shift
        return Messages(self.weight[:, None] * shift, self.weight[:, None] * rate)

    def begin(self, messages: Messages | None, f: NDArray) -> tuple[NDArray, NDArray]:
        """Slopes and rates to begin with: of messages of an earlier fit, or those at the prior."""
        if messages is None:
            return self.derivatives(f)
        own = np.arange(len(f)), self.codes
        shift, rate = (one / self.weight[:, None] for one in messages)
        self.shift, self.rate = rate * (self.noise * shift[own])[:, None] - shift, rate
        self.shift[own] = self.rate[own] = 0.0
        return messages.shift - coupled(messages.rate, f), messages.rate

    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes and rates of the messages that agree with f, at cavities of these covariances."""
        settings = self.noise, INNER, STILL

        def some(own: slice) -> tuple[NDArray, NDArray]:
            sites = self.codes[own], self.shift[own], self.rate[own]
            known = f[own], self.cavity[own], self.removed[own]
            return _core.joint.agreeing(*known, *sites, settings)

        found = in_parts(some, len(self.codes), PART)
        self.shift, self.rate = (np.concatenate(one) for one in zip(*found, strict=True))
        shift, rate = self.messages()
        return shift - coupled(rate, f), rate

    def wanted(self, f: NDArray, S: NDArray) -> tuple[NDArray, NDArray, float]:
        """What the sites should be, given outputs with one copy of them; the largest move."""
        settings = self.noise, INNER, STILL

        def some(own: slice) -> tuple[NDArray, NDArray, NDArray]:
            sites = self.codes[own], self.shift[own], self.rate[own]
            return _core.joint.wanted_sites((f[own], S[own]), sites, settings)

        found = in_parts(some, len(self.codes), PART)
        shift, rate, moves = (np.concatenate(one) for one in zip(*found, strict=True))
        return shift, rate, float(moves.max(initial=0.0))

    def compare(self, gaussian: JointGaussian, f: NDArray, change: NDArray) -> float:
        """The largest move of a site to where it should be, given all others."""
        self.S, self.f = gaussian.moments(), f + change
        if not (np.diagonal(self.S, axis1=1, axis2=2) >= 0).all():
            raise LinAlgError("the messages leave no posterior")
        *_, self.left = self.wanted(*self.with_one_copy())
        if np.isinf(self.left):  # a point had no cavity: lack no more copies than are there
            self.removed = np.minimum(self.weight, 1.0)
        _, cavity = self.cavities(self.removed)
        self.last_cavity = self.cavity
        self.cavity = (1 - self.share) * self.cavity + self.share * cavity
        return self.left

    @property
    def state(self) -> tuple[NDArray, NDArray]:
        """The sites."""
        return self.shift, self.rate

    def go_back(self, state: tuple[NDArray, NDArray]) -> None:
        """Go back to earlier sites, and let cavities move half as far from there."""
        self.shift, self.rate = state
        self.cavity = (self.last_cavity + self.cavity) / 2

    def with_one_copy(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and covariances of the outputs if each cavity lacked one copy of its sites."""
        if (self.removed == 1.0).all():
            return self.f, self.S
        return self.cavities(self.removed - 1.0)

    def cavities(self, copies: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and covariances of the outputs of each point without copies of its message."""
        return without(self.f, self.S, self.messages(), copies / self.weight)

    def log_evidence(self, gaussian: JointGaussian, u: NDArray, f: NDArray) -> float:
        """The logarithm of the probability of all labels."""
        sites = self.codes, self.shift, self.rate
        constant = _core.joint.constants(self.with_one_copy(), sites, self.noise)
        square = np.vdot(u, gaussian.prior.pull) + np.vdot(self.messages().shift, f)
        return log_evidence(self.weight @ constant, gaussian.log_determinant, square)


class TangentClasses(ClassSites):
    r"""Messages of the softmax, with rates :math:`k p` and shifts :math:`k (e_y - p) + \Pi f`.

    Parameters
    ----------
    labels : Labels
        The classes of the points.
    gaussian : JointGaussian
        The prior.
    tol : float
        At which steps end.
    """

    has_cavities, fewest_steps = False, 1

    def __init__(self, labels: Labels, gaussian: JointGaussian, tol: float) -> None:
        self.weight, self.tol = labels.weight, tol
        self.own = np.eye(gaussian.start.shape[1])[labels.target]

    def enough(self, left: float) -> float:
        """How exact a climb should be: exact, as it is cheap, and the next factor depends on it."""
        return 2 * self.tol

    def messages(self) -> Messages:
        """The quadratic function that the log-likelihood is near f."""
        return Messages(self.slope + coupled(self.rate, self.f), self.rate)

    def begin(self, messages: Messages | None, f: NDArray) -> tuple[NDArray, NDArray]:
        """Slopes and rates to begin with: of messages of an earlier fit, or those at the prior."""
        if messages is None:
            return self.derivatives(f)
        self.f, self.rate = f, messages.rate
        self.slope = messages.shift - coupled(messages.rate, f)
        return self.slope, self.rate

    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By the outputs: k (e_y - p), and the rates k p."""
        p = np.exp(log_softmax(f, axis=1))
        self.f, self.slope = f, self.weight[:, None] * (self.own - p)
        self.rate = self.weight[:, None] * p
        return self.slope, self.rate

    @property
    def state(self) -> None:
        """Nothing: messages follow from the outputs."""

    def go_back(self, state: None) -> None:
        """Nothing."""

    def compare(self, gaussian: JointGaussian, f: NDArray, change: NDArray) -> float:
        """The largest change of an output by the next step, as a share of 1 + |f|."""
        return float(np.abs(change / (1 + np.abs(f))).max(initial=0.0))

    def log_evidence(self, gaussian: JointGaussian, u: NDArray, f: NDArray) -> float:
        """The logarithm of the integral of the Gaussian."""
        fit = self.weight @ log_softmax(f, axis=1)[self.own > 0]
        return float(fit - 0.5 * gaussian.inner(u, u, f) + 0.5 * gaussian.log_determinant)


def without(
    f: NDArray, S: NDArray, messages: Messages, share: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and covariances of the outputs of each point without a share of its message.

    Without the variance that all outputs of a point have in common.
    """
    system = np.eye(S.shape[1]) - S @ (share[:, None, None] * precisions(messages.rate))
    mean = f - np.einsum("nij,nj->ni", S, share[:, None] * messages.shift)
    solved = np.linalg.solve(system, np.concatenate([mean[..., None], S], axis=2))
    return (
        np.ascontiguousarray(solved[..., 0]),
        (solved[..., 1:] + solved[..., 1:].transpose(0, 2, 1)) / 2,
    )
