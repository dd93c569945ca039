"""Laplace's approximation for the logistic model.

R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification
(lecture slides), appendix "Bayesian Classification via Optimization".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint.engines.base import Engine, Progress, Request, Run
from bayespoint.engines.gaussian.blocks.modes import ModeRounds
from bayespoint.engines.gaussian.blocks.rows import BlockRows
from bayespoint.engines.gaussian.joint.runs import run_jointly
from bayespoint.engines.gaussian.modes import LogisticMode, SoftmaxMode
from bayespoint.engines.gaussian.newton import Descent
from bayespoint.engines.gaussian.prior import LARGE, GaussianPrior, check_prior, known_before
from bayespoint.engines.gaussian.prior_scale import run_with_best_scale
from bayespoint.engines.gaussian.tasks import Ending, TaskResult, learn_tasks, spans
from bayespoint.likelihoods import LogisticLikelihood, make_likelihood
from bayespoint.posteriors import GaussianPosterior, JointPosterior
from bayespoint.spaces import BasisSpace, ProcessSpace
from bayespoint.tools.validation import check_number


@dataclass(kw_only=True, eq=False, repr=False)
class LaplaceApproximation(Engine):
    r"""Gaussian posterior of the logistic model, around its mode.

    The model is :math:`w \sim N(m, \Sigma_0)`, :math:`f(x) = w \cdot \phi(x)` and
    :math:`p(y | x, w) = \sigma(y f(x))`, :math:`\sigma(f) = 1 / (1 + e^{-f})`. Newton's method
    finds the mode :math:`\mu` of the posterior, and the curvature there gives its covariance:

    .. math::

        \Sigma^{-1} = \Sigma_0^{-1} + \sum_i p_i (1 - p_i) \phi_i \phi_i^T,
        \qquad p_i = \sigma(\mu \cdot \phi_i).

    The evidence is estimated by the integral of this Gaussian,

    .. math::

        \log Z = \sum_i \log \sigma(y_i f_i)
        - \tfrac12 (\mu - m)^T \Sigma_0^{-1} (\mu - m) + \tfrac12 \log |\Sigma| / |\Sigma_0|,

    and leave-one-out predictions by taking the Gaussian message of a point out of it.

    Parameters
    ----------
    prior_scale : "auto", float or array-like of shape (n_features,), default="auto"
        Standard deviation of the weights before any label is seen, of all or of each. "auto" is the
        scale of the largest evidence, found on at most 1 000 points, one for all classes; with
        linear features it is 1.
    tol : float, default=1e-6
        The run ends when a step would change no output f by more than this share of 1 + \|f\|. The
        curvature changes by no larger share (times \|f\|) then, and the last step, which is taken,
        leads to the mode with about twice the digits.
    max_iter : int, default=100
        Newton steps after which a run that has not converged ends, with a ``NotConvergedWarning``.
    prior_mean : array-like of shape (n_features,) or (n_tasks, n_features), optional
        Mean :math:`m` of the weights before any label is seen; 0 by default.
    prior_covariance : array-like of shape (n_features, n_features), optional
        :math:`\Sigma_0`, instead of ``prior_scale``.
    intercept_scale : float, optional
        Standard deviation of the intercept before any label is seen. By default that of all weights
        if it is one number, else 1. Arrays may also cover the intercept, as their last entry.

    Notes
    -----
    A sample of weight k counts as k copies. A step costs :math:`n d^2 + d^3 / 3` operations, n
    points and d coordinates, and :math:`n^3` where d > n. Large problems take a few of them, with
    conjugate directions in between, which need products with vectors only.

    The mode is nearer to the prior's mean than the posterior's mean is, the more so the more
    weights there are for each point, and the wider the prior. So intervals hold too few of the true
    weights, and probabilities are too timid (``benchmarks/calibration.py``).
    :class:`ExpectationPropagation` is closer to the truth, at about four times the cost.

    ``partial_fit`` takes the posterior of all earlier batches as prior of the next one.

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
    space = ProcessSpace
    device_space = ProcessSpace
    can_update = learns_blocks = leaves_groups_out = True
    codings = ("binary", "one_vs_rest", "joint", "ordinal")
    link = "logistic"  # of its likelihoods
    unit = "steps"

    prior_scale: float | ArrayLike | str = "auto"
    tol: float = 1e-6
    max_iter: int = 100
    prior_mean: ArrayLike | None = None
    prior_covariance: ArrayLike | None = None
    intercept_scale: float | None = None

    @property
    def likelihood(self) -> LogisticLikelihood:
        """How labels of one task come from its outputs."""
        return self.likelihood_of("binary")

    def likelihood_of(self, coding: str) -> Any:
        """How labels of a coding come from outputs."""
        return make_likelihood(self.link, coding)

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_number(self, "tol", low=0, closed="neither")
        check_number(self, "max_iter", low=1, integer=True)
        check_prior(self)

    def run(
        self, space: BasisSpace, targets: NDArray[np.int8], request: Request
    ) -> tuple[GaussianPosterior | JointPosterior, Run]:
        """Find the mode of each task; see the base class."""
        if isinstance(space, BlockRows):
            return ModeRounds(self, space, request).run()
        if isinstance(self.prior_scale, str):
            return run_with_best_scale(self, space, targets, request)
        if request.coding == "joint":
            return self._run_jointly(space, targets, request)
        n_points, n_tasks = targets.shape
        likelihood = self.likelihood_of(request.coding)
        before = known_before(self, space, n_tasks, request.start)
        self.check_range(space.largest, before)
        weight = request.weights(n_points)
        in_span = spans(space, before)

        def learn(task: int, progress: Progress) -> tuple[TaskResult, Ending]:
            span, prior = in_span[task], before[task]
            data = targets[:, task], weight, likelihood
            mode = LogisticMode(span.space, span.project(prior), *data)
            mode.find(self, progress)
            while likelihood.learns and not mode.reason and mode.adapt(self.tol):
                mode.end_early(self, False)
                mode.find(self, progress)
            return span.lift(mode.result(), prior), self.ending(mode)

        size = space.n_coordinates**2
        return learn_tasks(self, learn, n_tasks, likelihood, request, size)

    def _run_jointly(
        self, space: BasisSpace, targets: NDArray[np.int8], request: Request
    ) -> tuple[JointPosterior, Run]:
        """Find the mode of all classes together."""

        def learn(gaussian: Any, codes: NDArray, weight: NDArray, progress: Progress) -> tuple:
            mode = SoftmaxMode(gaussian, codes, weight)
            mode.find(self, progress)
            return mode, self.ending(mode)

        likelihood = self.likelihood_of(request.coding)
        return run_jointly(self, space, targets, request, likelihood, learn)

    def ending(self, mode: Descent, training_error: float = 0.0) -> Ending:
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
