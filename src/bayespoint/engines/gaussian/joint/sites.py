"""The sites of all classes together: expectation propagation of the argmax model."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from bayespoint import _core
from bayespoint.engines.gaussian.joint.gaussians import JointGaussian, WeightJoint, precisions
from bayespoint.engines.gaussian.tasks import Labels, log_evidence
from bayespoint.posteriors import Messages
from bayespoint.tools.numbers import TINY
from bayespoint.tools.threads import in_parts

INNER = 10  # visits of the sites of a point to each other, before other points are told
PART = 500  # points whose sites a compiled call finds
STILL = 1e-10  # move at which they end
NARROW = 100  # weights up to which a new posterior takes less time than means that settle
MEANS = 8  # steps with the cavities' covariances of the last exact posterior
LESS, LESS_OF_MANY = 0.3, 0.05  # share of the first move at which these end
HALVINGS = 30  # of a step that left no posterior, before the run is given up
FAST = 1.0  # share of the moves of two sweeps before, below which there is no damping
HESITANT = 0.4  # smallest share of a move
SMALL, GROWN = 0.3, 2.0  # moves are extrapolated below, unless they are so much larger than before
ACCURATE = 1e-2  # error of the mean, as a share of the last moves
DEPTH = 5  # differences of moves that are combined
PRECISE = 1e-3  # singular value of the differences, as a share of the largest, that still counts


class JointSites:
    """The sites of all points, one for each class but their own, and the Gaussian they make.

    Parameters
    ----------
    gaussian : JointGaussian
        The prior; sweeps change it.
    labels : Labels
        The classes of the points.

    Attributes
    ----------
    shift, rate : ndarray of shape (n, C)
        Sites exp(shift t - rate t^2 / 2) of one copy, t = f_y - f_j + u; 0 for the own class.
    radius : float
        Standard deviation of the outputs before any label is seen, the largest.
    """

    def __init__(self, gaussian: JointGaussian, labels: Labels) -> None:
        codes, weight, likelihood, _ = labels
        shape = len(codes), gaussian.mean.shape[1]
        self.gaussian, self.codes, self.weight = gaussian, codes, weight
        self._noise = float(likelihood.noise) ** 2
        self.shift, self.rate = np.zeros(shape), np.zeros(shape)
        self._share = 1.0  # of the last move that was taken
        self._last: NDArray | None = None  # this move, if moves may not shrink fast
        # Points that share few weights turn back together.
        self._many_points = isinstance(gaussian, WeightJoint)
        self._extrapolation = Extrapolation()
        self._largest: list[float] = []  # of the moves of each sweep
        self._removed = np.ones(len(codes))  # copies of its sites that the cavity of a point lacks
        variances = np.diagonal(gaussian.S, axis1=1, axis2=2) + gaussian.common[:, None]
        self.radius = float(np.sqrt(variances.max(initial=0.0)))
        self._expect()

    def messages(self) -> Messages:
        """What all copies of each point say of its C outputs, the noise u integrated out."""
        rate = self.rate.copy()
        rate[np.arange(len(rate)), self.codes] = 1 / self._noise
        pull = self.shift.sum(axis=1) / rate.sum(axis=1)
        shift = rate * pull[:, None] - self.shift
        return Messages(self.weight[:, None] * shift, self.weight[:, None] * rate)

    def sweep(self, share: float) -> float:
        """Let all sites change, and then the mean and the sites in turn; the largest move.

        The covariance of all outputs is expensive, their means are not. So the covariances of the
        cavities stay as they are until the means have settled.
        """
        first, before = self._left, (self.shift, self.rate)
        if np.isnan(first):
            raise LinAlgError("the sites overflow")
        if np.isinf(first):  # a point had no cavity: lack no more copies than are there
            self._removed = np.minimum(self.weight, 1.0)
        self._step(share)
        is_cheap = self._many_points and self.gaussian.width <= NARROW
        if self.gaussian.is_renewed and not is_cheap:
            self._let_means_settle(share, first)
        self._damp(before, first)
        self._renew(before)
        return first

    def moves_left(self, tol: float) -> float:
        """The largest move that the next sweep would make, from an exact posterior."""
        return self._left

    def _renew(self, before: tuple[NDArray, NDArray]) -> None:
        """Compute the posterior from the sites, going back towards those before if need be."""
        for _ in range(HALVINGS):
            try:
                self.gaussian.renew(*self.messages())
                self._expect()
                return
            except LinAlgError:
                self.shift, self.rate = (self.shift + before[0]) / 2, (self.rate + before[1]) / 2
        raise LinAlgError("no step leaves a posterior")

    def _damp(self, before: tuple[NDArray, NDArray], first: float) -> None:
        """Go less far if there are many points for each weight, or if moves do not shrink fast.

        If all moves r shrank by the same factor c = (r . last) / (last . last) after the share s of
        the last, the share s / (1 - c) would make the next moves 0. Small moves are extrapolated.
        """
        gaussian = self.gaussian
        variance = np.diagonal(gaussian.S, axis1=1, axis2=2) + gaussian.common[:, None]
        variance = np.maximum(variance, 0.0) + self._noise  # wide priors round below 0
        scale = np.stack([np.sqrt(variance), variance])
        point = np.stack(before)
        move = np.stack([self.shift, self.rate]) - point
        self._largest.append(first)
        if self._last is None:
            is_slow = len(self._largest) > 2 and first > FAST * self._largest[-3]
            self._last = scale * move if is_slow or self._many_points else None
            return
        last, self._last = self._last, scale * move
        shrunk = np.vdot(self._last, last) / max(np.vdot(last, last), TINY)
        self._share = float(np.clip(self._share / max(1 - shrunk, TINY), HESITANT, 1.0))
        if first > SMALL or first > GROWN * self._largest[-2]:
            self._extrapolation.forget()
            self.shift, self.rate = point + self._share * move
        else:
            self.shift, self.rate = self._extrapolation.after(point, move, scale)
            self.rate = np.maximum(self.rate, 0.0)

    def _step(self, share: float) -> None:
        shift, rate = self._wanted
        # Copies move at once: those of a point would go too far together.
        part = share / np.clip(self.weight, 1.0, 2.0)[:, None]
        self.shift = self.shift + part * (shift - self.shift)
        self.rate = self.rate + part * (rate - self.rate)

    def _let_means_settle(self, share: float, first: float) -> None:
        gaussian, identity = self.gaussian, np.eye(self.rate.shape[1])
        exact = gaussian.S
        copies = precisions(self._messages.rate * (self._removed / self.weight)[:, None])
        cavity = np.linalg.solve(identity - exact @ copies, exact)
        for _ in range(MEANS):
            messages = self.messages()
            if not gaussian.settle(*messages, ACCURATE * min(self._left, 1.0)):
                return
            own = precisions(messages.rate * (self._removed / self.weight)[:, None])
            gaussian.S = np.linalg.solve(identity + cavity @ own, cavity)
            last = self._left
            self._expect()
            less = LESS_OF_MANY if self._many_points else LESS
            if not self._left < last or self._left < less * first:
                return
            self._step(share)

    def _expect(self) -> None:
        """What all sites should be, given the others, and how far they are from that."""
        self._messages = self.messages()
        settings = self._noise, INNER, STILL
        f, S = self._with_one_copy()

        def some(own: slice) -> tuple[NDArray, NDArray, NDArray]:
            sites = self.codes[own], self.shift[own], self.rate[own]
            return _core.joint.wanted_sites((f[own], S[own]), sites, settings)

        found = in_parts(some, len(self.codes), PART)
        *self._wanted, moves = (np.concatenate(one) for one in zip(*found, strict=True))
        self._left = float(moves.max(initial=0.0))

    def _with_one_copy(self) -> tuple[NDArray, NDArray]:
        """Means and covariances of the outputs if each cavity lacked one copy of its sites."""
        if np.all(self._removed == 1.0):
            return self.gaussian.f, self.gaussian.S
        return without(self.gaussian, self._messages, (self._removed - 1.0) / self.weight)

    def log_evidence(self) -> float:
        """The logarithm of the probability of all labels."""
        g, (shift, _) = self.gaussian, self._messages
        sites = self.codes, self.shift, self.rate
        constant = _core.joint.constants(self._with_one_copy(), sites, self._noise)
        square = np.vdot(g.mean - g.prior.mean, g.prior.pull) + np.vdot(shift, g.f)
        return log_evidence(self.weight @ constant, g.log_determinant, square)


def cavities(
    gaussian: JointGaussian, messages: Messages, share: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and covariances of the outputs of each point without a share of its message."""
    mean, covariance = without(gaussian, messages, share)
    return np.ascontiguousarray(mean), covariance + gaussian.common[:, None, None]


def without(
    gaussian: JointGaussian, messages: Messages, share: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same, without the variance that all outputs of a point have in common."""
    S = gaussian.S
    system = np.eye(S.shape[1]) - S @ (share[:, None, None] * precisions(messages.rate))
    mean = gaussian.f - np.einsum("nij,nj->ni", S, share[:, None] * messages.shift)
    solved = np.linalg.solve(system, np.concatenate([mean[..., None], S], axis=2))
    return solved[..., 0], (solved[..., 1:] + solved[..., 1:].transpose(0, 2, 1)) / 2


class Extrapolation:
    """Anderson's extrapolation of a fixed-point iteration x <- x + move(x).

    Near the fixed point moves are linear in x. The combination of the last points whose move would
    be the shortest is where the next one starts from.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.engines.gaussian.joint.sites import Extrapolation
    >>> matrix, x = np.array([[-0.9, 0.3], [0.0, 0.8]]), np.ones(2)
    >>> extrapolation = Extrapolation()
    >>> for _ in range(5):
    ...     x = extrapolation.after(x, matrix @ x - x, scale=1.0)
    >>> bool(np.abs(x).max() < 1e-9)
    True
    """

    def __init__(self) -> None:
        self._points: deque[NDArray] = deque(maxlen=DEPTH + 1)
        self._moves: deque[NDArray] = deque(maxlen=DEPTH + 1)

    def forget(self) -> None:
        """Begin anew."""
        self._points.clear()
        self._moves.clear()

    def after(self, point: NDArray, move: NDArray, scale: NDArray | float) -> NDArray[np.float64]:
        """The next point; ``scale`` times a move is how long it is, entry by entry."""
        self._points.append(point)
        self._moves.append(move)
        ahead = point + move
        if len(self._moves) == 1:
            return ahead
        along = np.diff(self._points, axis=0)
        turns = np.diff(self._moves, axis=0)
        columns = (scale * turns).reshape(len(turns), -1).T
        share = np.linalg.lstsq(columns, (scale * move).ravel(), rcond=PRECISE)[0]
        return np.asarray(ahead - np.tensordot(share, along + turns, axes=1))
