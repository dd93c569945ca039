r"""Gradients of the evidence of all classes together; symbols as in ``evidence_gradient``.

Outputs, weights and messages have one more axis, that of the classes, and
:math:`B = \operatorname{diag}(r)` becomes the matrices :math:`\Pi_i` of the points, which couple
the classes. All classes have the same kernel and prior scales, so that derivatives are sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from bayespoint.engines.gaussian.joint.gaussians import (
    OutputJoint,
    coupled,
    precisions,
    small_parts,
)
from bayespoint.engines.gaussian.joint.prior import IndependentPrior
from bayespoint.engines.gaussian.prior import priors
from bayespoint.posteriors import JointPosterior
from bayespoint.tools.arrays import to_host


class JointTask:
    """What all classes were learned from, and what was learned."""

    def __init__(self, engine: Any, space: Any, n_classes: int, posterior: JointPosterior) -> None:
        self.space, self.posterior = space, posterior
        self.prior = IndependentPrior(priors(engine, space, n_classes))
        self.shift, self.rate = posterior.messages  # type: ignore[misc]
        self.away = posterior.mean - self.prior.mean
        self.alpha = self.shift - coupled(self.rate, space.outputs(posterior.mean))
        self.by_output = np.zeros_like(self.rate)
        if engine.alias == "laplace":
            self.by_output = by_mode(self.rate, space, posterior)
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


def times_covariance(posterior: JointPosterior, pull: NDArray) -> NDArray[np.float64]:
    """The covariance of all weights times (d, C) numbers."""
    if not pull.any():
        return np.zeros_like(pull)
    common = np.einsum("cdr,dc->r", posterior.shared, pull)
    own = [part @ (part.T @ force) for part, force in zip(posterior.own, pull.T, strict=True)]
    return (np.stack(own) + posterior.shared @ common).T


def by_mode(rate: NDArray, space: Any, posterior: JointPosterior) -> NDArray[np.float64]:
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
