r"""Gradients of the evidence that Gaussian engines find.

Every derivative is one with respect to the logarithm of a positive parameter. The symbols of one
task: the posterior :math:`N(\mu, \Sigma)` of the weights, outputs :math:`f = Z w`, messages
:math:`\exp(h_i f_i - r_i f_i^2 / 2)` of the points, of weight :math:`k_i`, and
:math:`\alpha_i = h_i - r_i z_i^T \mu`.

When expectation propagation has converged, its evidence does not change with its sites, to first
order, so the derivative is the explicit one, messages and cavities held fixed (M. Seeger,
*Expectation Propagation for Exponential Families*, 2005). That of Laplace's approximation also
changes with the mode, through the rates alone: :math:`s_i = \partial \log Z / \partial f_i`
(C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, Algorithm 5.1;
there s_2). All formulas have both parts; s is 0 for expectation propagation, and

.. math:: u = \Sigma Z^T s, \qquad v = s - B Z u, \qquad B = \operatorname{diag}(r).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from bayespoint.engines.base import Engine, Progress
from bayespoint.engines.gaussian.gaussians import OutputGaussian
from bayespoint.engines.gaussian.joint.gaussians import (
    OutputJoint,
    coupled,
    precisions,
    small_parts,
)
from bayespoint.engines.gaussian.prior import GaussianPrior, IndependentPrior, priors
from bayespoint.engines.gaussian.rounds import Rounds
from bayespoint.engines.gaussian.sites import MatchedSites, cavities
from bayespoint.engines.gaussian.tasks import Labels
from bayespoint.likelihoods.base import Kind
from bayespoint.posteriors import GaussianPosterior, JointPosterior, Messages
from bayespoint.spaces import Coordinates
from bayespoint.tools.arrays import to_host
from bayespoint.tools.monitor import Monitor
from bayespoint.tools.threads import useful_threads

PRIOR_PARAMETERS = ("prior_scale", "intercept_scale")
LABEL_PARAMETERS = ("noise", "label_noise")


class Task(NamedTuple):
    """What one task was learned from, and what was learned."""

    space: Coordinates
    target: NDArray[np.int8]
    weight: NDArray[np.float64]
    prior: GaussianPrior
    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    shift: NDArray[np.float64]
    rate: NDArray[np.float64]
    by_output: NDArray[np.float64]  # s

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The pull of each point on its output."""
        return self.shift - self.rate * self.space.outputs(self.mean)

    @property
    def by_weight(self) -> NDArray[np.float64]:
        """The vector u = Sigma Z^T s."""
        return self.factor @ (self.factor.T @ self.space.pull(self.by_output))

    def by_prior_scales(self) -> NDArray[np.float64]:
        r"""Derivative by the logarithm of the prior scale :math:`\tau_j` of each weight.

        .. math:: \partial \log Z / \partial \log \tau_j
            = -1 + \bigl(\Sigma_{jj} + (\mu_j - m_j)^2 + 2 u_j (\mu_j - m_j)\bigr) / \tau_j^2

        The first three terms are :math:`E_q\, \partial \log p(w) / \partial \log \tau_j`.
        """
        variance, away = np.square(self.factor).sum(axis=1), self.mean - self.prior.mean
        return (variance + away**2 + 2 * self.by_weight * away) / self.prior.root**2 - 1

    def by_label_noise(self, likelihood: Any) -> tuple[float, float]:
        r"""Derivatives by the logarithms of the noise :math:`\beta` and of the rate of flips.

        Sums over the points, by weight, of those of :math:`\log p(y_i)` at the cavities.
        """
        y = likelihood.signs(self.target)
        by_noise, by_flip = likelihood.noise_derivatives(*self.cavities(y), self.target)
        return float(self.weight @ by_noise), float(self.weight @ by_flip)

    def by_kernel(self) -> NDArray[np.float64]:
        r"""Derivative by the kernel matrix K of outputs with prior covariance :math:`\tau^2 K`.

        .. math:: \partial \log Z / \partial K
            = \tfrac{\tau^2}{2} (\alpha \alpha^T + \alpha v^T + v \alpha^T - R),
            \qquad R = B - B Z \Sigma Z^T B
        """
        v = self.by_output - self.rate * self.space.outputs(self.by_weight)
        spread = self.rate[:, None] * self.space.outputs(self.factor)
        both = np.column_stack([spread, self.alpha + v])
        pull = both @ both.T  # a product of a matrix with its own transpose takes half the time
        pull -= np.outer(v, v)
        pull[np.diag_indices_from(pull)] -= self.rate
        return 0.5 * self.prior.root[0] ** 2 * pull

    def by_features(self) -> NDArray[np.float64]:
        r"""Derivative by features Z, in :math:`O(n d^2)` and for any prior.

        .. math:: \partial \log Z / \partial Z_{ij}
            = \alpha_i (\mu_j + u_j) + v_i \mu_j - r_i (Z \Sigma)_{ij}

        Without s it is :math:`E_q (h_i - r_i f_i) w_j`.
        """
        u = self.by_weight
        v = self.by_output - self.rate * self.space.outputs(u)
        if len(self.target) < len(self.mean):
            spread = self.space.outputs(self.factor) @ self.factor.T
        else:
            spread = self.space.outputs(self.factor @ self.factor.T)
        pull = np.outer(self.alpha, self.mean + u) + np.outer(v, self.mean)
        return pull - self.rate[:, None] * spread

    def cavities(self, y: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of y f without one copy of its own site.

        Where less than one copy is there and more cannot be removed, the engine removed just that;
        and where nothing would be left, the posterior itself stands in.
        """
        f = self.space.outputs(self.mean)
        e = self.space.variances(self.factor, is_triangular=False)
        sites = self.shift / self.weight, self.rate / self.weight
        mean, variance = cavities((e, f), sites, np.ones(len(y)))
        if np.isnan(variance).any():
            mean, variance = cavities((e, f), sites, np.minimum(self.weight, 1.0))
        is_lost = np.isnan(variance)
        return y * np.where(is_lost, f, mean), np.where(is_lost, e, variance)


class JointTask:
    r"""What all classes were learned from together, and what was learned.

    Outputs, weights and messages have one more axis, that of the classes, and B becomes the
    matrices :math:`\Pi_i` of the points, which couple the classes. All classes have the same kernel
    and prior scales, so that derivatives are sums.
    """

    def __init__(self, engine: Any, space: Any, n_classes: int, posterior: JointPosterior) -> None:
        self.space, self.posterior = space, posterior
        self.prior = IndependentPrior(priors(engine, space, n_classes))
        self.shift, self.rate = posterior.messages  # type: ignore[misc]
        self.away = posterior.mean - self.prior.mean
        self.alpha = self.shift - coupled(self.rate, space.outputs(posterior.mean))
        self.by_output = np.zeros_like(self.rate)
        if engine.is_at_mode:
            self.by_output = by_softmax_mode(self.rate, space, posterior)
        # u = Sigma Z^T s and v = s - Pi Z u
        self.by_weight = times_covariance(posterior, space.pull(self.by_output))
        self.v = self.by_output - coupled(self.rate, space.outputs(self.by_weight))

    def by_prior_scales(self) -> NDArray[np.float64]:
        """By the logarithm of the prior scale of each weight, over all classes."""
        own, shared = self.posterior.own, self.posterior.shared
        variance = np.einsum("cdk,cdk->d", own, own) + np.einsum("cdr,cdr->d", shared, shared)
        square = (self.away**2 + 2 * self.by_weight * self.away).sum(axis=1)
        return (variance + square) / self.prior.one.root**2 - self.away.shape[1]

    def by_label_noise(self, likelihood: Any) -> tuple[float, float]:
        """By the logarithm of the noise: only its ratio to prior scales and means matters.

        The second number is that of flips, which the model of several classes does not have.
        """
        moved = np.vdot(self.prior.mean, self.prior.hold(self.away))
        return -float(self.by_prior_scales().sum() + moved), 0.0

    def by_kernel(self) -> NDArray[np.float64]:
        r"""By the kernel matrix, with :math:`R_{cc} = E_c - E_c M^{-1} E_c`."""
        gaussian = OutputJoint(self.space, self.prior)
        E, M = gaussian.held_by(self.rate)
        pull = np.zeros_like(M)
        for part in E:
            half = blas.dtrsm(1.0, M, np.asfortranarray(part), lower=1)
            pull += half.T @ half
            pull -= part
        both = self.alpha + self.v
        pull += both @ both.T
        pull -= self.v @ self.v.T
        return 0.5 * self.prior.one.root[0] ** 2 * pull

    def by_features(self) -> NDArray[np.float64]:
        r"""By features Z: without s it is :math:`\sum_c E_q (h - \Pi f)_{ic} w_{cj}`."""
        mean, shared, own = self.posterior.mean, self.posterior.shared, self.posterior.own
        n_classes, d, rank = shared.shape
        pull = self.alpha @ (mean + self.by_weight).T + self.v @ mean.T
        flat = shared.transpose(1, 0, 2).reshape(d, -1)
        for here, some in small_parts(self.space, 8 * n_classes * max(rank, 1)):
            spread = (to_host(some) @ flat).reshape(len(some), n_classes, rank)
            held = coupled(self.rate[here], spread)
            pull[here] -= held.reshape(len(some), -1) @ flat.T
        if own.shape[2]:
            hold = np.diagonal(precisions(self.rate), axis1=1, axis2=2)
            for c, part in enumerate(own):
                pull -= hold[:, c, None] * self.space.outputs(part @ part.T)
        return pull


def has_gradient(engine: Engine, name: str | None = None) -> bool:
    """Whether the gradient is known: of a full covariance, if the run is to converge.

    ``name`` is that of a parameter of the engine; None stands for those of the space.
    """
    settings: Any = engine
    if not engine.has_evidence_gradient or settings.max_iter == 1:
        return False
    if name in PRIOR_PARAMETERS:
        return settings.prior_covariance is None
    return name is None or (name in LABEL_PARAMETERS and hasattr(engine, name))


def evidence_gradient(
    engine: Any,
    space: Any,
    points: NDArray,
    targets: NDArray[np.int8],
    posterior: GaussianPosterior | JointPosterior,
    names: tuple[str, ...],
    sample_weight: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Derivatives of the log evidence, summed over the tasks, by the logarithms of parameters.

    Parameters
    ----------
    engine, space, points, targets, sample_weight
        What was run, on what.
    posterior : GaussianPosterior
        What came out.
    names : tuple of str
        Parameters of the engine, or of the space: "ridge" and what the kernel calls positive.

    Returns
    -------
    dict of str to float or ndarray
        The derivative of each; an array where the parameter is one.
    """
    with useful_threads(space.n_coordinates**2):
        if isinstance(posterior, JointPosterior):
            tasks: list = [JointTask(engine, space, targets.shape[1], posterior)]
        else:
            tasks = learned(engine, space, targets, posterior, sample_weight)
        gradient: dict[str, Any] = {}
        if any(name in PRIOR_PARAMETERS for name in names):
            by_weight = np.sum([task.by_prior_scales() for task in tasks], axis=0)
            own = space.has_intercept and engine.intercept_scale is not None
            is_array = np.ndim(engine.prior_scale) == 1
            by_scale = by_weight[: len(engine.prior_scale) if is_array else len(by_weight) - own]
            gradient["prior_scale"] = by_scale if is_array else float(by_scale.sum())
            gradient["intercept_scale"] = float(by_weight[-1]) if own else 0.0
        if any(name in LABEL_PARAMETERS for name in names):
            by_label = [task.by_label_noise(posterior.likelihood) for task in tasks]
            total = np.sum(by_label, axis=0).tolist()
            gradient |= dict(zip(LABEL_PARAMETERS, total, strict=True))
        of_space = [name for name in names if name not in PRIOR_PARAMETERS + LABEL_PARAMETERS]
        if of_space:
            has_features = space.is_linear or space.has_basis
            pull = 0.0
            for task in tasks:
                pull = pull + (task.by_features() if has_features else task.by_kernel())
        for name in of_space:
            gradient[name] = space.slope(points, name, pull)
    return {name: gradient[name] for name in names}


def learned(
    engine: Any,
    space: Any,
    targets: NDArray[np.int8],
    posterior: GaussianPosterior,
    sample_weight: NDArray[np.float64] | None = None,
) -> list[Task]:
    """The tasks one by one."""
    n_points, n_tasks = targets.shape
    weight = np.ones(n_points) if sample_weight is None else sample_weight
    before = priors(engine, space, n_tasks)
    shift, rate = posterior.messages  # type: ignore[misc]
    by_output = np.zeros_like(rate)
    if engine.is_at_mode:
        parts = [posterior.latent(rows) for _, rows in space.parts()]
        mean, variance = map(np.concatenate, zip(*parts, strict=True))
        slopes = [
            posterior.likelihood.rate_slopes(*one) for one in zip(targets.T, mean.T, strict=True)
        ]
        by_output = -0.5 * variance * weight[:, None] * np.stack(slopes, axis=1)
    return [
        Task(
            space,
            targets[:, t],
            weight,
            before[t],
            posterior.mean[:, t],
            posterior.factor[t],
            shift[:, t],
            rate[:, t],
            by_output[:, t],
        )
        for t in range(n_tasks)
    ]


def times_covariance(posterior: JointPosterior, pull: NDArray) -> NDArray[np.float64]:
    """The covariance of all weights times (d, C) numbers."""
    if not pull.any():
        return np.zeros_like(pull)
    common = np.einsum("cdr,dc->r", posterior.shared, pull)
    own = [part @ (part.T @ force) for part, force in zip(posterior.own, pull.T, strict=True)]
    return (np.stack(own) + posterior.shared @ common).T


def by_softmax_mode(rate: NDArray, space: Any, posterior: JointPosterior) -> NDArray[np.float64]:
    r"""Derivative s of Laplace's log evidence by the mode's outputs, softmax labels.

    The rates are :math:`r = k p`, and a change of f changes p by :math:`(\operatorname{diag}(p) -
    p p^T)\, df`. So :math:`s = -\tfrac12 \Pi (\operatorname{diag}(S) - 2 S p)`, S being the
    covariance of the outputs of a point.
    """
    s = np.empty_like(rate)
    share = rate / rate.sum(axis=1, keepdims=True)
    for own, rows in space.parts():
        S = posterior.outputs(rows)[1]
        variance = np.diagonal(S, axis1=1, axis2=2)
        s[own] = variance - 2 * np.einsum("nij,nj->ni", S, share[own])
    return -0.5 * coupled(rate, s)


def has_process_evidence(engine: Any, kind: Kind) -> bool:
    """Whether the evidence of single tasks follows from the kernel matrix of all rows alone."""
    law = engine.likelihood_of(kind)
    matches = law.offers("site") if kind != "class" else False
    return bool(matches and law.is_log_concave and not law.learns and engine.noise > 0)


class ProcessEvidence:
    """Log evidence of the labels as a function of the kernel matrix, and its derivative.

    The sites of the last matrix are where those of the next one begin.

    Parameters
    ----------
    engine : ExpectationPropagation
        With noise, without flipped labels, and one number as prior scale.
    targets : ndarray of shape (n, n_tasks)
        Labels.
    weight : ndarray of shape (n,) or None
        How many copies each row counts for.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.engines import ExpectationPropagation
    >>> from bayespoint.engines.gaussian.evidence_gradient import ProcessEvidence
    >>> engine = ExpectationPropagation(prior_scale=1.0)
    >>> value, _ = ProcessEvidence(engine, np.array([[1], [-1]]), None)(np.eye(2))
    >>> print(f"{value:.4f}")  # of two independent labels: twice log 1/2
    -1.3863
    """

    def __init__(self, engine: Any, targets: NDArray, weight: NDArray[np.float64] | None) -> None:
        self.engine = engine
        weight = np.ones(len(targets)) if weight is None else weight
        left = np.minimum(weight, 1.0)
        self.labels = [Labels(y, weight, engine.law, left) for y in targets.T]
        self.sites: list[Messages | None] = [None] * len(self.labels)  # as they were last found

    def __call__(self, K: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]] | None:
        """The evidence and its derivative by K, summed over the tasks; None if it is not found."""
        value, pull, scale = 0.0, np.zeros_like(K), float(self.engine.prior_scale) ** 2
        for task, labels in enumerate(self.labels):
            gaussian = OutputGaussian(scale * K)
            search = Rounds(gaussian, MatchedSites(labels, gaussian), self.sites[task])
            search.run(self.engine, Progress(Monitor()))
            if search.reason:
                return None
            alpha, f, self.sites[task] = search.end()
            value += search.sites.evidence(gaussian, f)
            pull += gaussian.by_covariance(alpha)
        return value, scale * pull
