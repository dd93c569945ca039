"""Laplace's approximation for the logistic model.

R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification
(lecture slides), appendix "Bayesian Classification via Optimization".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, lapack, qr
from scipy.special import log_softmax

from bayespoint.engines.base import Progress, Request
from bayespoint.engines.gaussian.blocks.modes import ModeRounds
from bayespoint.engines.gaussian.blocks.rows import BlockRows
from bayespoint.engines.gaussian.ep import GaussianEngine
from bayespoint.engines.gaussian.joint.gaussians import JointGaussian, coupled
from bayespoint.engines.gaussian.newton import Descent, OutputDescent, without_messages
from bayespoint.engines.gaussian.prior import LARGE, GaussianPrior
from bayespoint.engines.gaussian.tasks import ACTIVE, Ending, Labels, TaskResult
from bayespoint.spaces import Coordinates, ProcessSpace
from bayespoint.tools.numbers import EPSILON

NEGLIGIBLE = 1e-13  # share of H that is left out, in points that are certain of their label
CANCELLED = 1e8  # from here on so many digits of a pivot of H are lost that a QR is worth its price


class LogisticMode(OutputDescent):
    r"""One task on its way to the mode of :math:`\sum_i k_i \log \sigma(y_i f_i) - |u|^2 / 2`.

    The coordinates u are those in which the prior is N(0, I): :math:`w = m + R u` and
    :math:`f = Z m + A u` with A = Z R, which is never formed: :math:`A u = Z (R u)`.
    """

    def __init__(self, space: Coordinates, prior: GaussianPrior, labels: Labels) -> None:
        target, weight, likelihood, self.left = labels
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

        A cavity lacks one copy of a message, and the label is predicted as a new one would be.
        """
        F = lapack.dtrtri(self.L, lower=1)[0].T
        factor = self.prior.rooted(F)
        u, f = self.u + self.step, self.f + self.change
        log_evidence = self.weight @ self.likelihood.log_labels(self.labels, f) - 0.5 * (u @ u)
        log_evidence += np.log(F.diagonal()).sum()
        removed = self.left / self.weight  # share of its message
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
            self.labels,
            self.weight,
            self.f + self.change,
            variance,
            lambda forces: -self.push(self.downhill(self.pull(forces))),
            tol,
        )
        if better is not None:
            self.likelihood, self.reason, self.decrement = better, ACTIVE, np.inf
        return better is not None


class SoftmaxMode(OutputDescent):
    r"""On the way to the mode of :math:`\sum_i k_i \log p(y_i | f_i) + \log p(w)`.

    A step takes the log-likelihood for the quadratic function that it is near the current outputs:
    the messages with rates :math:`k p` and shifts :math:`k (e_y - p) + \Pi f`.

    Parameters
    ----------
    gaussian : JointGaussian
        The prior; steps change it.
    labels : Labels
        The classes of the points.
    """

    def __init__(self, gaussian: JointGaussian, labels: Labels) -> None:
        super().__init__(gaussian.space, gaussian.prior.mean, gaussian.width)
        self.gaussian, self.weight = gaussian, labels.weight
        self._own = np.eye(self.f.shape[1])[labels.target]

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


@dataclass(kw_only=True, eq=False, repr=False)
class LaplaceApproximation(GaussianEngine):
    r"""Gaussian posterior of the logistic model, around its mode.

    The model is :math:`w \sim N(m, \Sigma_0)`, :math:`f(x) = w \cdot \phi(x)` and
    :math:`p(y | x, w) = \sigma(y f(x))`, :math:`\sigma(f) = 1 / (1 + e^{-f})`. Newton's method
    finds the mode :math:`\mu` of the posterior, and the curvature there gives its covariance:

    .. math::

        \Sigma^{-1} = \Sigma_0^{-1} + \sum_i p_i (1 - p_i) \phi_i \phi_i^T,
        \qquad p_i = \sigma(\mu \cdot \phi_i).

    The integral of this Gaussian estimates the evidence,

    .. math::

        \log Z = \sum_i \log \sigma(y_i f_i)
        - \tfrac12 (\mu - m)^T \Sigma_0^{-1} (\mu - m) + \tfrac12 \log |\Sigma| / |\Sigma_0|,

    and leave-one-out predictions remove the Gaussian message of a point from it.

    Parameters
    ----------
    prior_scale : "auto", float or array-like of shape (n_features,), default="auto"
        Prior standard deviation of the weights, of all or of each. "auto" is the scale with the
        largest evidence, found on at most 1 000 points, one for all classes; with linear features
        it is 1.
    tol : float, default=1e-6
        The run ends when a step would change no output f by more than this share of 1 + \|f\|. The
        curvature then changes by at most the same share (times \|f\|). The last step is still
        taken, and about doubles the number of correct digits.
    max_iter : int, default=100
        Newton steps after which a run that has not converged ends, with a ``NotConvergedWarning``.
    prior_mean : array-like of shape (n_features,) or (n_tasks, n_features), optional
        Prior mean :math:`m` of the weights; 0 by default.
    prior_covariance : array-like of shape (n_features, n_features), optional
        :math:`\Sigma_0`, instead of ``prior_scale``.
    intercept_scale : float, optional
        Prior standard deviation of the intercept. By default it is that of all weights if that is
        one number, and 1 otherwise. Arrays may also cover the intercept, as their last entry.
    likelihood : {"logistic"}, default="logistic"
        How labels come from outputs.

    Notes
    -----
    A row of weight k counts as k copies. With n points and d coordinates, a step takes
    :math:`n d^2 + d^3 / 3` operations, and :math:`n^3` if d > n. Large problems take a few such
    steps, with conjugate gradient steps in between, which need only matrix-vector products.

    The mode is nearer to the mean of the prior than the mean of the posterior is. The difference
    grows with the number of weights per point and with the width of the prior. Intervals therefore
    contain too few of the true weights, and probabilities are underconfident
    (``benchmarks/calibration.py``). :class:`ExpectationPropagation` is more accurate, in about four
    times the time.

    ``partial_fit`` uses the posterior of all earlier batches as the prior of the next one.

    References
    ----------
    R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification
    (lecture slides).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import LaplaceApproximation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
    >>> clf = BayesPointClassifier(kernel="linear", engine=LaplaceApproximation(prior_scale=0.5))
    >>> print(f"{clf.fit(X_train, y_train).score(X_test, y_test):.3f}")
    0.972
    >>> print(f"{clf.log_evidence_[0]:.2f}, {clf.left_out_error_:.3f}")
    -51.31, 0.016
    """

    alias = "laplace"
    device_space = ProcessSpace
    leaves_groups_out = True
    kinds = ("sign", "class", "interval")
    has_evidence_gradient = is_at_mode = True
    needs = ("slopes",)
    unit = "steps"

    prior_scale: float | ArrayLike | str = "auto"
    tol: float = 1e-6
    max_iter: int = 100
    prior_mean: ArrayLike | None = None
    prior_covariance: ArrayLike | None = None
    intercept_scale: float | None = None
    likelihood: str = "logistic"

    def rounds(self, rows: BlockRows, request: Request) -> ModeRounds:
        """Newton steps from sums over blocks."""
        return ModeRounds(self, rows, request)

    def learn(
        self,
        space: Coordinates,
        prior: GaussianPrior,
        labels: Labels,
        request: Request,
        progress: Any,
    ) -> tuple[LogisticMode, LogisticMode]:
        """Find the mode of one task; see the base class."""
        mode = LogisticMode(space, prior, labels)
        mode.find(self, progress)
        while mode.likelihood.learns and not mode.reason and mode.adapt(self.tol):
            mode.end_early(self, False)
            mode.find(self, progress)
        return mode, mode

    def learn_jointly(
        self, gaussian: Any, labels: Labels, progress: Progress
    ) -> tuple[SoftmaxMode, SoftmaxMode]:
        """Find the mode of all classes together; see the base class."""
        mode = SoftmaxMode(gaussian, labels)
        mode.find(self, progress)
        return mode, mode

    def ending(self, mode: Descent, training_error: float) -> Ending:
        """How the steps of a task ended, and what to do if they did not converge."""
        return Ending(mode.changes, mode.reason, "raise max_iter, or scale the features")

    def check_range(self, feature: float, before: list[GaussianPrior]) -> None:
        """Refuse numbers whose fourth powers overflow; ``feature`` is the largest coordinate."""
        scale = max(float(np.abs(prior.root).max()) for prior in before)
        if max(feature, scale * feature) > np.sqrt(LARGE):
            raise ValueError(
                f"LaplaceApproximation works with fourth powers, which overflow for prior scales "
                f"up to {scale:g} and features up to {feature:g}. Scale the features, and take "
                f"prior_scale nearer to 1."
            )
