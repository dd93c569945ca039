"""The modes of the logistic and of the softmax model, and the Gaussians around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, lapack, qr
from scipy.special import log_softmax

from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian.joint.gaussians import JointGaussian, coupled
from bayespoint.engines.gaussian.joint.sites import cavities
from bayespoint.engines.gaussian.newton import OutputDescent
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import ACTIVE, TaskResult
from bayespoint.likelihoods import LogisticLikelihood
from bayespoint.spaces import Coordinates
from bayespoint.tools.numbers import EPSILON

NEGLIGIBLE = 1e-13  # share of H that is left out, in points that are certain of their label
CANCELLED = 1e8  # from here on so many digits of a pivot of H are lost that a QR is worth its price


class LogisticMode(OutputDescent):
    r"""One task on its way to the mode of :math:`\sum_i k_i \log \sigma(y_i f_i) - |u|^2 / 2`.

    The coordinates u are those in which the prior is N(0, I): :math:`w = m + R u` and
    :math:`f = Z m + A u` with A = Z R, which is never formed: :math:`A u = Z (R u)`.
    """

    likelihood: Any = LogisticLikelihood()

    def __init__(
        self,
        space: Coordinates,
        prior: GaussianPrior,
        target: NDArray,
        weight: NDArray,
        likelihood: Any = likelihood,
    ) -> None:
        super().__init__(space, prior.mean, space.n_coordinates)
        self.prior, self.weight, self.labels = prior, weight, target
        self._squares = prior.output_variances(space)
        self.likelihood = likelihood.started(target, weight, self._squares)
        self.y = likelihood.signs(target)

    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By f: the first, k y (1 - p), and the negative second, k p (1 - p)."""
        slope, bend = self.likelihood.output_derivatives(self.labels, f)
        return self.weight * slope, self.weight * bend

    def push(self, u: NDArray) -> NDArray[np.float64]:
        """Z R u."""
        return self.space.outputs(self.prior.rooted(u))

    def pull(self, forces: NDArray) -> NDArray[np.float64]:
        """R^T Z^T s."""
        return self.prior.spread(self.space.pull(forces))

    def downhill(self, gradient: NDArray) -> NDArray[np.float64]:
        """-H^-1 gradient."""
        return -cho_solve((self.L, True), gradient, check_finite=False)

    def factorise(self) -> None:
        """Find the Cholesky factor L of H, in n d^2 operations."""
        rate = np.where(self.rate * self._squares > NEGLIGIBLE / len(self.rate), self.rate, 0.0)
        G, root = self.space.curvature(rate), self.prior.root
        H = self.prior.whitened(G)
        diagonal = H.diagonal().copy()
        # What is lost where features are combined such that large ones cancel.
        sizes = np.sqrt(G.diagonal())
        rounding = EPSILON * np.square(sizes @ np.abs(root)) if root.ndim == 2 else 0.0
        try:
            self.L = cholesky(H, lower=True, overwrite_a=True, check_finite=False)
            pivots = self.L.diagonal() ** 2
            is_lost = (diagonal > CANCELLED * pivots) | (CANCELLED * rounding > diagonal)
        except LinAlgError:
            is_lost = np.array(True)
        if is_lost.any():
            self.L = self._without_squares(rate)

    def _without_squares(self, rate: NDArray) -> NDArray:
        """The same: the triangle of a QR decomposition of A has twice the digits."""
        d = len(self.u)
        triangle = np.empty((0, d))
        for own, rows in self.space.parts():
            told = np.flatnonzero(rate[own])
            scaled = np.sqrt(rate[own][told])[:, None] * self.prior.spread(rows[told])
            triangle = qr(np.vstack([triangle, scaled]), mode="r", overwrite_a=True)[0][:d]
        triangle = qr(np.vstack([triangle, np.eye(d)]), mode="r", overwrite_a=True)[0][:d]
        return triangle.T * np.sign(triangle.diagonal())

    def result(self) -> TaskResult:
        """The Gaussian around the end of the last step: the prior times the messages.

        A cavity lacks one copy of a message (all of it, if it weighs less), and the label is
        predicted as a new one would be.
        """
        F = lapack.dtrtri(self.L, lower=1)[0].T
        factor = self.prior.rooted(F)
        u, f = self.u + self.step, self.f + self.change
        log_evidence = self.weight @ self.likelihood.log_labels(self.labels, f) - 0.5 * (u @ u)
        log_evidence += np.log(F.diagonal()).sum()
        removed = np.minimum(self.weight, 1.0) / self.weight  # share of its message
        variance = self.space.variances(factor, is_triangular=self.prior.root.ndim == 1)
        pull = removed * (self.slope - self.rate * self.change)
        cavity = without_messages(f, variance, removed * self.rate, pull)
        left_out = self.likelihood.forecast(self.labels, self.y * cavity[0], cavity[1])
        mean = self.prior.mean + self.prior.rooted(u)
        error = float(self.likelihood.errors(self.labels, f).mean())
        return TaskResult(
            mean, factor, float(log_evidence), left_out, error, self.messages(), self.likelihood
        )

    def adapt(self, tol: float) -> bool:
        """Let the likelihood learn at the mode; whether it has changed."""
        factor = self.prior.rooted(lapack.dtrtri(self.L, lower=1)[0].T)
        variance = self.space.variances(factor, is_triangular=False)
        better = self.likelihood.adapted(
            self.labels, self.weight, self.f + self.change, variance,
            lambda forces: -self.push(self.downhill(self.pull(forces))), tol,
        )  # fmt: skip
        if better is not None:
            self.likelihood, self.reason, self.decrement = better, ACTIVE, np.inf
        return better is not None


def without_messages(
    f: NDArray, variance: NDArray, rate: NDArray, pull: NDArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and variances of outputs without their messages; with them they are these.

    ``rate`` is the precision of what a cavity lacks, and ``pull`` its shift less rate times f.
    """
    remaining = np.maximum(1 - rate * variance, EPSILON)
    return f - pull * variance / remaining, variance / remaining


def left_out_log_probability(y: NDArray, *moments: NDArray) -> NDArray[np.float64]:
    """Of labels y, without their messages; the moments are those of :func:`without_messages`."""
    mean, variance = without_messages(*moments)
    return LogisticMode.likelihood.forecast(y, y * mean, variance)


class SoftmaxMode(OutputDescent):
    r"""On the way to the mode of :math:`\sum_i k_i \log p(y_i | f_i) + \log p(w)`.

    A step takes the log-likelihood for the quadratic function that it is near the current outputs:
    the messages with rates :math:`k p` and shifts :math:`k (e_y - p) + \Pi f`.

    Parameters
    ----------
    gaussian : JointGaussian
        The prior; steps change it.
    codes, weight : ndarray of shape (n,)
        Class of each point, and how many copies it counts for.
    """

    def __init__(
        self, gaussian: JointGaussian, codes: NDArray[np.intp], weight: NDArray[np.float64]
    ) -> None:
        super().__init__(gaussian.space, gaussian.prior.mean, gaussian.width)
        self.gaussian, self.weight = gaussian, weight
        self._own = np.eye(self.f.shape[1])[codes]

    def find(self, engine: Any, progress: Progress) -> None:
        """Step to the mode, and find the Gaussian around it."""
        super().find(engine, progress)
        if self.decrement > 1 / EPSILON:  # along what all classes have in common, where no slope is
            raise LinAlgError("the step is lost in rounding errors")
        if self.reason:
            self.go(self.step, self.change, -(self.decrement**2))
        else:  # slopes are rounding errors by now
            self.f = self.f + self.change
        self.slope, self.rate = self.derivatives(self.f)
        self.gaussian.renew(*self.messages())

    def derivatives(self, f: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By the outputs: k (e_y - p), and the rates k p."""
        p = np.exp(log_softmax(f, axis=1))
        return self.weight[:, None] * (self._own - p), self.weight[:, None] * p

    def factorise(self) -> None:
        """Find the Gaussian that the messages make."""
        self.gaussian.centre(*self.messages())

    def downhill(self, gradient: NDArray) -> NDArray[np.float64]:
        """The covariance of the Gaussian times -gradient."""
        return -self.gaussian.times_covariance(gradient)

    def hold(self, u: NDArray) -> NDArray[np.float64]:
        """The precision of the prior times weights."""
        return self.gaussian.prior.hold(u)

    def bent(self, rate: NDArray, change: NDArray) -> NDArray[np.float64]:
        """Pi times a change of outputs."""
        return coupled(rate, change)

    def log_evidence(self) -> float:
        """The logarithm of the integral of the Gaussian."""
        away = self.gaussian.mean - self.gaussian.prior.mean
        fit = self.weight @ log_softmax(self.gaussian.f, axis=1)[self._own > 0]
        objective = fit - 0.5 * np.vdot(away, self.hold(away))
        return float(objective + 0.5 * self.gaussian.log_determinant)

    def cavities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means and covariances of the outputs of each point, given all other labels."""
        return cavities(self.gaussian, self.messages(), self.weight)
