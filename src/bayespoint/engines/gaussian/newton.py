"""The mode of one task of the logistic model by Newton's method, and the Gaussian around it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cho_solve, cholesky, lapack, qr
from scipy.special import expit, log_expit

from bayespoint.engines.gaussian.results import TaskResult
from bayespoint.likelihoods import LogisticLikelihood
from bayespoint.posteriors import Messages

CHUNK = 4096  # points whose products are held at a time
NEGLIGIBLE = 1e-13  # share of H that is left out, in points that are certain of their label
CANCELLED = 1e8  # from here on so many digits of a pivot of H are lost that a QR is worth its price
FLAT = 0.1  # share of the first slope at which a line search is content
TRIALS = 100  # steps of a line search; far more than ever seen
CHEAP = 64  # coordinates from which a product with A takes 1, 1/2, 1/3 ... of the time of H
CONJUGATE = 16  # most conjugate directions after a step
EPS = np.finfo(np.float64).eps


class Whitened:
    r"""Training points in coordinates u in which the prior is N(0, I).

    :math:`w = m + R u` and :math:`f = Z m + A u` with A = Z R. Where there are more coordinates
    than points, labels say nothing outside the span of the rows of A: with the QR decomposition
    :math:`A^T = Q T^T`, u = Q v there, and T takes the place of A. All further work is then of the
    size of the points.
    """

    def __init__(self, Z: NDArray, root: NDArray) -> None:
        self.root = root
        A = Z * root if root.ndim == 1 else Z @ root
        self.basis: NDArray | None = None
        if A.shape[1] > len(A):
            self.basis, transposed = qr(A.T, mode="economic", overwrite_a=True)
            A = np.ascontiguousarray(transposed.T)
        self.A = A
        self.squares = np.einsum("nd,nd->n", A, A)

    def weights(self, u: NDArray) -> NDArray:
        """R u, by which w differs from its prior mean."""
        u = u if self.basis is None else self.basis @ u
        return self.root * u if self.root.ndim == 1 else self.root @ u

    def factor(self, F: NDArray) -> NDArray:
        """A factor of the covariance of w, from one of u; I remains outside the span."""
        if self.basis is not None:
            F = self.basis @ (F - np.eye(len(F))) @ self.basis.T
            F[np.diag_indices_from(F)] += 1.0
        return self.root[:, None] * F if self.root.ndim == 1 else self.root @ F


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
    r"""One task on its way to the mode of :math:`\sum_i k_i \log \sigma(y_i f_i) - |u|^2 / 2`."""

    def __init__(
        self, points: Whitened, Z: NDArray, target: NDArray, weight: NDArray, prior_mean: NDArray
    ) -> None:
        self.points = points
        self.prior_mean = prior_mean
        self.y = target.astype(np.float64)
        self.weight = weight
        self.u = np.zeros(points.A.shape[1])
        self.offset = Z @ prior_mean
        self.f = self.offset.copy()

    def quadratic(self) -> Quadratic:
        """Slope and curvature at u. This is where the time goes: n d^2 operations."""
        slope, gradient = self._slopes()
        rate = np.abs(slope) * expit(self.y * self.f)
        L = self._curvature(rate)
        step = -cho_solve((L, True), gradient, check_finite=False)
        decrement = np.sqrt(max(0.0, -(gradient @ step)))
        change = self.points.A @ step
        largest = np.abs(change / (1 + np.abs(self.f))).max()
        return Quadratic(slope, rate, L, step, change, float(decrement), float(largest))

    def _slopes(self) -> tuple[NDArray, NDArray]:
        """Derivatives of the log-likelihood by the outputs, and of the objective by u."""
        slope = self.weight * self.y * expit(-self.y * self.f)
        return slope, self.u - self.points.A.T @ slope

    def _curvature(self, rate: NDArray) -> NDArray:
        """The Cholesky factor of H = A^T diag(rate) A + I."""
        A, share = self.points.A, rate * self.points.squares
        told = np.flatnonzero(share > NEGLIGIBLE / len(share))
        root = np.sqrt(rate)
        H = np.eye(A.shape[1])
        for begin in range(0, len(told), CHUNK):
            own = told[begin : begin + CHUNK]
            scaled = A[own]
            scaled *= root[own, None]
            H += scaled.T @ scaled  # half the time of other products
        diagonal = H.diagonal().copy()
        try:
            L = cholesky(H, lower=True, overwrite_a=True, check_finite=False)
            if (diagonal <= CANCELLED * L.diagonal() ** 2).all():
                return L
        except LinAlgError:
            pass
        # Without squares: the triangle of a QR decomposition has twice the digits.
        stacked = np.vstack([root[told, None] * A[told], np.eye(A.shape[1])])
        triangle = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][: A.shape[1]]
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
            _, gradient = self._slopes()
            steepest = -cho_solve((way.L, True), gradient, check_finite=False)
            square = -(gradient @ steepest)
            if square <= enough**2:
                break
            direction = steepest + direction * max(0.0, steepest @ (before - gradient) / last)
            if direction @ gradient >= 0:
                direction = steepest
            self._go(direction, self.points.A @ direction, direction @ gradient)
            before, last = gradient, square
        self.f = self.offset + self.points.A @ self.u  # without the rounding errors of each move

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
            miss = expit(-margin - t * change)
            slope = along + t * square - (self.weight * change) @ miss
            if abs(slope) <= -FLAT * first_slope:
                return t
            low, high = (t, high) if slope < 0 else (low, t)
            t -= slope / (square + (self.weight * change**2) @ (miss * (1 - miss)))
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
        inverse, _ = lapack.dtrtri(last.L, lower=1)
        F = inverse.T
        u, f = self.u + last.step, self.f + last.change
        log_evidence = self.weight @ log_expit(self.y * f) - 0.5 * (u @ u)
        log_evidence += np.log(F.diagonal()).sum()

        removed = np.minimum(self.weight, 1.0) / self.weight  # share of its message
        variance = squared_lengths(inverse, self.points.A)
        remaining = np.maximum(1 - removed * last.rate * variance, EPS)
        pull = removed * (last.slope - last.rate * last.change)  # h - r f
        cavity = f - pull * variance / remaining, variance / remaining
        left_out = log_expit(self.y * LogisticLikelihood().predictive(*cavity))
        return TaskResult(
            self.prior_mean + self.points.weights(u), self.points.factor(F), float(log_evidence),
            left_out, float((self.y * f <= 0).mean()),
            Messages(last.slope + last.rate * self.f, last.rate),
        )  # fmt: skip


def squared_lengths(triangle: NDArray, A: NDArray) -> NDArray:
    """|T a|^2 of every row of A, T being lower triangular, which halves the work."""
    chunks = [A[begin : begin + CHUNK].T for begin in range(0, len(A), CHUNK)]
    products = (blas.dtrmm(1.0, triangle, chunk, lower=1) for chunk in chunks)
    return np.concatenate([np.einsum("dn,dn->n", product, product) for product in products])
