"""The mode of one task of the logistic model by Newton's method, and the Gaussian around it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, lapack, qr

from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import TaskResult
from bayespoint.likelihoods import LogisticLikelihood
from bayespoint.posteriors import Messages
from bayespoint.spaces import Coordinates

NEGLIGIBLE = 1e-13  # share of H that is left out, in points that are certain of their label
CANCELLED = 1e8  # from here on so many digits of a pivot of H are lost that a QR is worth its price
FLAT = 0.1  # share of the first slope at which a line search is content
TRIALS = 100  # steps of a line search; far more than ever seen
CHEAP = 64  # coordinates from which a product with A takes 1, 1/2, 1/3 ... of the time of H
CONJUGATE = 16  # most conjugate directions after a step
EPS = np.finfo(np.float64).eps


class Quadratic(NamedTuple):
    """The objective as a quadratic function around u: what its minimum and curvature are."""

    slope: NDArray[np.float64]  # (n,) derivative of the log-likelihood by f
    rate: NDArray[np.float64]  # (n,) its negative second derivative, k p (1 - p)
    L: NDArray[np.float64]  # (d, d) Cholesky factor of H = A^T diag(rate) A + I
    step: NDArray[np.float64]  # (d,) from u to the minimum, -H^-1 gradient
    change: NDArray[np.float64]  # (n,) of the outputs by this step
    decrement: float  # sqrt(gradient . H^-1 gradient): the step's length in standard deviations
    largest: float  # change of an output, as a share of 1 + |f|


class LogisticMode:
    r"""One task on its way to the mode of :math:`\sum_i k_i \log \sigma(y_i f_i) - |u|^2 / 2`.

    The coordinates u are those in which the prior is N(0, I): :math:`w = m + R u` and
    :math:`f = Z m + A u` with A = Z R, which is never formed: :math:`A u = Z (R u)`.
    """

    likelihood = LogisticLikelihood()

    def __init__(
        self, space: Coordinates, prior: GaussianPrior, target: NDArray, weight: NDArray
    ) -> None:
        self.space, self.prior = space, prior
        self.y = target.astype(np.float64)
        self.weight = weight
        self.u = np.zeros(space.n_coordinates)
        self.offset = space.outputs(prior.mean)
        self.f = self.offset.copy()
        self._squares = prior.output_variances(space)

    def quadratic(self) -> Quadratic:
        """Slope and curvature at u. This is where the time goes: n d^2 operations."""
        miss, bend = self.likelihood.derivatives(self.y * self.f)
        slope, rate = self.weight * self.y * miss, self.weight * bend
        gradient = self.u - self._pull(slope)
        L = self._curvature(rate)
        step = -cho_solve((L, True), gradient, check_finite=False)
        decrement = np.sqrt(max(0.0, -(gradient @ step)))
        change = self._push(step)
        largest = np.abs(change / (1 + np.abs(self.f))).max()
        return Quadratic(slope, rate, L, step, change, float(decrement), float(largest))

    def _push(self, u: NDArray) -> NDArray:
        """A u, the change of outputs."""
        return self.space.outputs(self.prior.rooted(u))

    def _pull(self, forces: NDArray) -> NDArray:
        """A^T s."""
        return self.prior.spread(self.space.pull(forces))

    def _curvature(self, rate: NDArray) -> NDArray:
        """The Cholesky factor of H = A^T diag(rate) A + I."""
        rate = np.where(rate * self._squares > NEGLIGIBLE / len(rate), rate, 0.0)
        G = self.space.curvature(rate)
        sizes = np.sqrt(G.diagonal())
        H = self.prior.spread(self.prior.spread(G).T)
        H[np.diag_indices_from(H)] += 1.0
        diagonal = H.diagonal().copy()
        root = self.prior.root
        # What is lost where features are combined such that large ones cancel.
        rounding = EPS * np.square(sizes @ np.abs(root)) if root.ndim == 2 else 0.0
        try:
            L = cholesky(H, lower=True, overwrite_a=True, check_finite=False)
            if (diagonal <= CANCELLED * L.diagonal() ** 2).all() and (
                CANCELLED * rounding <= diagonal
            ).all():
                return L
        except LinAlgError:
            pass
        return self._curvature_without_squares(rate)

    def _curvature_without_squares(self, rate: NDArray) -> NDArray:
        """The same: the triangle of a QR decomposition of A has twice the digits."""
        d = len(self.u)
        triangle = np.empty((0, d))
        for own, rows in self.space.parts():
            told = np.flatnonzero(rate[own])
            scaled = np.sqrt(rate[own][told])[:, None] * self.prior.spread(rows[told])
            triangle = qr(np.vstack([triangle, scaled]), mode="r", overwrite_a=True)[0][:d]
        triangle = qr(np.vstack([triangle, np.eye(d)]), mode="r", overwrite_a=True)[0][:d]
        return triangle.T * np.sign(triangle.diagonal())

    def move(self, way: Quadratic, enough: float) -> None:
        """Take the step, then go on in conjugate directions while that is cheap.

        Curvatures change between steps, H with them. But the last H is a good metric for conjugate
        gradients (Polak and Ribiere's), which need no more than two products with A each and come
        about as far as one or two steps. They end at a decrement of ``enough``.
        """
        self._go(way.step, way.change, -(way.decrement**2))
        direction = before = np.zeros_like(self.u)
        last = np.inf
        for _ in range(min(CONJUGATE, len(self.u) // CHEAP)):
            miss, _ = self.likelihood.derivatives(self.y * self.f)
            gradient = self.u - self._pull(self.weight * self.y * miss)
            steepest = -cho_solve((way.L, True), gradient, check_finite=False)
            square = -(gradient @ steepest)
            if square <= enough**2:
                break
            direction = steepest + direction * max(0.0, steepest @ (before - gradient) / last)
            if direction @ gradient >= 0:
                direction = steepest
            self._go(direction, self._push(direction), direction @ gradient)
            before, last = gradient, square
        self.f = self.offset + self._push(self.u)  # without the rounding errors of each move

    def _go(self, step: NDArray, change: NDArray, slope: float) -> None:
        """Go along a step, which changes outputs so, until the objective falls no more."""
        t = self._length(step, change, slope)
        self.u += t * step
        self.f += t * change

    def _length(self, step: NDArray, change: NDArray, first_slope: float) -> float:
        """A t at which the slope of the objective along the step is small beside that at t = 0.

        The objective is convex, so it is far enough below its first value there (as Armijo's rule
        asks). A trial takes n operations; t = 1 is right near the mode, and larger ones save steps
        where classes can be separated, since curvatures fall as margins grow.
        """
        along, square = self.u @ step, step @ step
        margin, change = self.y * self.f, self.y * change
        low, high, t = 0.0, np.inf, 1.0
        for _ in range(TRIALS):
            miss, bend = self.likelihood.derivatives(margin + t * change)
            slope = along + t * square - (self.weight * change) @ miss
            if abs(slope) <= -FLAT * first_slope:
                return t
            low, high = (t, high) if slope < 0 else (low, t)
            t -= slope / (square + (self.weight * change**2) @ bend)
            if not low < t < high:
                t = 2 * low if np.isinf(high) else (low + high) / 2
        return low

    def result(self, last: Quadratic) -> TaskResult:
        r"""The Gaussian around the minimum of the last quadratic function.

        It is the prior times the messages exp(h f - r f^2 / 2) with r the rate and
        :math:`h_i = s_i + r_i f_i`, slope and output where the function was taken. A cavity lacks
        one copy of a message (all of it, if it weighs less), and the label is predicted as a new
        one would be.
        """
        F = lapack.dtrtri(last.L, lower=1)[0].T
        factor = self.prior.rooted(F)
        u, f = self.u + last.step, self.f + last.change
        log_evidence = self.weight @ self.likelihood.log_likelihood(self.y * f)[0] - 0.5 * (u @ u)
        log_evidence += np.log(F.diagonal()).sum()

        removed = np.minimum(self.weight, 1.0) / self.weight  # share of its message
        variance = self.space.variances(factor, is_triangular=self.prior.root.ndim == 1)
        pull = removed * (last.slope - last.rate * last.change)  # h - r f
        left_out = left_out_log_probability(
            self.likelihood, self.y, f, variance, removed * last.rate, pull
        )
        return TaskResult(
            self.prior.mean + self.prior.rooted(u), factor, float(log_evidence), left_out,
            float((self.y * f <= 0).mean()),
            Messages(last.slope + last.rate * self.f, last.rate),
        )  # fmt: skip


def left_out_log_probability(
    likelihood: LogisticLikelihood,
    y: NDArray,
    f: NDArray,
    variance: NDArray,
    rate: NDArray,
    pull: NDArray,
) -> NDArray[np.float64]:
    """Of labels y, without their messages: outputs have means f and variances with them.

    ``rate`` is the precision of what a cavity lacks, and ``pull`` its shift less rate times f.
    """
    remaining = np.maximum(1 - rate * variance, EPS)
    score = likelihood.predictive(f - pull * variance / remaining, variance / remaining)
    return likelihood.log_predictive(y * score)[0]
