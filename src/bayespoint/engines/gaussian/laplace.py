"""Laplace's approximation for the logistic model.

R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification
(lecture slides), appendix "Bayesian Classification via Optimization".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayespoint.engines.base import Progress
from bayespoint.engines.gaussian.blocks.descent import BlockDescent
from bayespoint.engines.gaussian.blocks.rows import BlockRows
from bayespoint.engines.gaussian.ep import GaussianEngine
from bayespoint.engines.gaussian.gaussians import make_gaussian
from bayespoint.engines.gaussian.joint.sites import TangentClasses
from bayespoint.engines.gaussian.prior import LARGE, GaussianPrior
from bayespoint.engines.gaussian.rounds import Rounds, Search
from bayespoint.engines.gaussian.sites import TangentSites
from bayespoint.engines.gaussian.tasks import Ending, Labels
from bayespoint.posteriors import Messages
from bayespoint.spaces import Coordinates, ProcessSpace

NEGLIGIBLE = 1e-13  # share of H that is left out, in points that are certain of their label
CANCELLED = 1e8  # from here on so many digits of a pivot of H are lost that a QR is worth its price


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

    def keeps_rows(self, n_rows: int, n_weights: int) -> bool:
        """Messages follow from the outputs."""
        return False

    def begin_blocks(self, task: int, prior: GaussianPrior, rows: BlockRows) -> BlockDescent:
        """A task over blocks, before the first round."""
        return BlockDescent(task, prior, rows.sizes, has_cavities=False, keeps_rows=False)

    def learn(
        self,
        space: Coordinates,
        prior: GaussianPrior,
        labels: Labels,
        start: Messages | None,
        progress: Progress,
    ) -> Search:
        """Find the mode of one task; see the base class."""
        gaussian = make_gaussian(space, prior, rates_are_positive=True)
        search = Rounds(gaussian, TangentSites(labels, gaussian, self.tol), start)
        search.run(self, progress)
        if not gaussian.is_of_weights:
            search = search.in_weights(self, progress)
        while search.sites.likelihood.learns and not search.reason and search.adapt(self.tol):
            search.end_early(self, should_stop=False)
            search.run(self, progress)
        return search

    def joint_sites(self, labels: Labels, gaussian: Any) -> TangentClasses:
        """The messages of all classes together."""
        return TangentClasses(labels, gaussian, self.tol)

    def ending(self, mode: Any, training_error: float) -> Ending:
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
