"""Expectation propagation for the probit model.

R. Herbrich, Introduction to Probabilistic Machine Learning, Unit 9: Bayesian Classification
(lecture slides). Steps are numbered as on the slide "Update of i-th Data Message".
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from bayespoint.engines.base import Engine
from bayespoint.engines.sites import Sites
from bayespoint.exceptions import NotConvergedWarning, check_choice, check_number, parameter_error
from bayespoint.monitor import Monitor
from bayespoint.posteriors import GaussianPosterior, Posterior
from bayespoint.spaces import BasisSpace

COLLAPSE = "the posterior collapsed"
LARGEST = 1e140  # squares, and sums of many of them, are far from the largest float64, 1.8e308
SOFT = 1e-4  # noise, as a share of the outputs before any label, that is enough for any labels


class ExpectationPropagation(Engine):
    r"""Gaussian posterior of the probit model by expectation propagation.

    The model is :math:`w \sim N(0, \tau^2 I)` and :math:`p(y | x, w) = \Phi(y f(x) / \beta)`. Each
    label is replaced by a Gaussian site :math:`\exp(a_i y_i f_i - b_i f_i^2 / 2)`, chosen such that
    mean and variance of :math:`f_i` are right when the true label meets the cavity, that is, all
    other sites. The result is a Gaussian :math:`N(\mu, \Sigma)`, an estimate of the evidence
    log p(labels), and leave-one-out predictions, which the cavities give for free.

    Parameters
    ----------
    noise : float, default=1.0
        Standard deviation :math:`\beta` of the label noise. 0 means hard labels, for classes that
        can be separated. Only :math:`\tau / \beta` matters to predictions.
    prior_scale : float, default=1.0
        Standard deviation :math:`\tau` of the weights before any label is seen.
    schedule : {"sequential", "parallel"}, default="sequential"
        Whether sites change one after another (in blocks, exactly) or all at once. Both come to
        rest at the same point; the first in fewer sweeps and nearly always.
    damping : float or None, default=None
        Share, in (0, 1], of each step that is taken. None is 1 if sequential and 0.5 if parallel.
    tol : float, default=1e-6
        The run ends when no site changes by more: :math:`|\Delta a_i| s_i` and
        :math:`|\Delta b_i| s_i^2`, with :math:`s_i^2` the cavity's variance plus :math:`\beta^2`.
    max_iter : int, default=200
        Sweeps after which a run that has not come to rest ends, with a ``NotConvergedWarning``.

    Notes
    -----
    A sample of weight k counts as k copies: its site enters the posterior k times, and its cavity
    lacks one of them. To lack one copy of less than one can be impossible, if the weight is small
    and the label surprising; cavities then lack only what is there, which is less exact.

    A sweep costs :math:`4 n d^2` operations, n points and d coordinates.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.preprocessing import scale
    >>> from bayespoint import BayesPointClassifier
    >>> from bayespoint.engines import ExpectationPropagation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
    >>> clf = BayesPointClassifier(engine=ExpectationPropagation(prior_scale=0.5))
    >>> print(f"{clf.fit(X_train, y_train).score(X_test, y_test):.3f}")
    0.972
    >>> print(f"{clf.log_evidence_[0]:.2f}, {clf.posterior_.left_out_error[0]:.3f}")
    -45.00, 0.019
    """

    alias = "ep"
    space = BasisSpace

    def __init__(
        self,
        *,
        noise: float = 1.0,
        prior_scale: float = 1.0,
        schedule: str = "sequential",
        damping: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 200,
    ) -> None:
        self.noise = noise
        self.prior_scale = prior_scale
        self.schedule = schedule
        self.damping = damping
        self.tol = tol
        self.max_iter = max_iter

    def check(self) -> None:
        """Raise a ValueError for a parameter that is not allowed."""
        check_number(self, "noise", low=0)
        check_number(self, "prior_scale", low=0, closed=False)
        check_choice(self, "schedule", ("sequential", "parallel"))
        if self.damping is not None:
            check_number(self, "damping", low=0, closed=False, words="None or ")
            if self.damping > 1:
                raise parameter_error(self, "damping", "None or a float in the range (0, 1]")
        check_number(self, "tol", low=0, closed=False)
        check_number(self, "max_iter", low=1, integer=True)

    def run(
        self,
        space: BasisSpace,
        targets: NDArray[np.int8],
        *,
        rng: np.random.Generator,
        monitor: Monitor,
        sample_weight: NDArray[np.float64] | None = None,
        start: Posterior | None = None,
        n_jobs: int | None = None,
    ) -> GaussianPosterior:
        """Find the sites of each task; see the base class."""
        self._check_range(float(np.abs(space.Z_).max()))
        n_points, n_tasks = targets.shape
        weight = np.ones(n_points) if sample_weight is None else sample_weight.astype(np.float64)
        results, n_iter = [], 0
        with monitor.running(n_tasks * self.max_iter, "sweeps"):
            for task in range(n_tasks):
                sites = Sites(space.Z_, targets[:, task], weight, self.noise, self.prior_scale)
                changes, reason = self._iterate(sites, monitor, task * self.max_iter)
                results.append(sites.result())
                n_iter = max(n_iter, len(changes))
                monitor.update((task + 1) * self.max_iter)
                if reason:
                    error = results[-1].training_error
                    remedy = self._remedy(reason, error, sites.radius)
                    warnings.warn(
                        NotConvergedWarning(task, tuple(changes), self.tol, error, reason, remedy),
                        stacklevel=4,
                    )
        mean, factor, evidence, left_out, left_out_error, _ = zip(*results, strict=True)
        return GaussianPosterior(
            np.stack(mean, axis=1),
            np.stack(factor),
            float(self.noise),
            np.array(evidence),
            np.stack(left_out, axis=1),
            np.array(left_out_error),
            n_iter,
        )

    def _iterate(self, sites: Sites, monitor: Monitor, done: int) -> tuple[list[float], str]:
        """Sweep until the sites are at rest; what changed in each sweep, and what went wrong."""
        sequential = self.schedule == "sequential"
        damping = self.damping if self.damping is not None else (1.0 if sequential else 0.5)
        sweep = sites.sweep_in_turn if sequential else sites.sweep_at_once
        changes: list[float] = []
        while len(changes) < self.max_iter:
            before = sites.a.copy(), sites.b.copy()
            change = sweep(damping)
            if np.isnan(change):
                sites.a, sites.b = before
                return changes, COLLAPSE
            if np.isinf(change):
                sites.remove_less()
            changes.append(change)
            if change <= self.tol:
                return changes, ""
            monitor.update(done + len(changes))
            if monitor.should_stop():
                return changes, "stopped by the monitor"
        return changes, "max_iter was reached"

    def _check_range(self, feature: float) -> None:
        """Refuse numbers whose squares overflow, or a prior whose precision does."""
        largest = max(self.noise, self.prior_scale, feature, self.prior_scale * feature)
        if largest > LARGEST or self.prior_scale < 1 / LARGEST:
            raise ValueError(
                f"ExpectationPropagation works with squares, which overflow for "
                f"noise={self.noise:g}, prior_scale={self.prior_scale:g} and features up to "
                f"{feature:g}. Scale the features, and take noise and prior_scale nearer to 1."
            )

    def _remedy(self, reason: str, training_error: float, radius: float) -> str:
        """What to do about a run that did not converge."""
        if training_error > 0 and self.noise < SOFT * self.prior_scale * radius:
            return "set a larger noise, these classes cannot be separated without mistakes"
        if reason == COLLAPSE:
            return "set a larger noise, or a smaller prior_scale"
        return "raise max_iter, set damping=0.5, or set a larger noise"
