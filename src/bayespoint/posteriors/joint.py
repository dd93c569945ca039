"""The Gaussian posterior of several classes together."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from bayespoint.codings import Coding
from bayespoint.likelihoods import JointLikelihood
from bayespoint.likelihoods.base import log_rest
from bayespoint.likelihoods.joint import log_share_of_largest
from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.gaussian import Messages, check_messages
from bayespoint.tools.arrays import kept, namespace, to_host
from bayespoint.tools.attributes import finite, need, optional
from bayespoint.tools.numbers import TINY

BYTES = 2**26  # memory for a part of some points


class JointPosterior(Posterior):
    r"""Gaussian weights of all classes together, :math:`w \sim N(\mu, \Sigma)`.

    The weights of classes c and c' have the covariance

    .. math:: \Sigma_{cc'} = \delta_{cc'} O_c O_c^T + S_c S_{c'}^T,

    so that the outputs :math:`f_c(x) = z(x)^T w_c` of a point are jointly Gaussian. The predictive
    probabilities of the classes come from their likelihood, and sum to 1 by themselves.

    Parameters
    ----------
    mean : ndarray of shape (n_coordinates, n_classes)
        :math:`\mu`.
    own : ndarray of shape (n_classes, n_coordinates, k)
        The parts :math:`O_c` that a class does not share with others; k may be 0.
    shared : ndarray of shape (n_classes, n_coordinates, r)
        The parts :math:`S_c`; r may be 0.
    likelihood : JointLikelihood
        p(class | outputs).
    log_evidence : ndarray of shape (1,), optional
        log p(labels).
    cavities : tuple of ndarrays (n_points, n_classes), (n_points, n_classes, n_classes), optional
        Means and covariances of the outputs of each training point, given all other labels.
    messages : Messages, optional
        Messages :math:`\exp(h^T f - f^T (\operatorname{diag}(r) - r r^T / \sum r) f / 2)` of the
        training points to their C outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import SoftmaxLikelihood
    >>> from bayespoint.posteriors import JointPosterior
    >>> mean, own = np.array([[1.0, 0.0, -1.0]]), np.ones((3, 1, 1))
    >>> posterior = JointPosterior(mean, own, np.empty((3, 1, 0)), SoftmaxLikelihood())
    >>> np.exp(posterior.decision(np.array([[1.0]]), "bayes_point")).round(3)
    array([[0.596, 0.281, 0.123]])
    """

    not_stored = ("cavities", "messages")
    is_gaussian = True
    cavities: tuple[NDArray, NDArray] | None = None
    messages: Messages | None = None
    _mean: NDArray[np.float64]

    def __init__(
        self,
        mean: NDArray[np.float64],
        own: NDArray[np.float64],
        shared: NDArray[np.float64],
        likelihood: JointLikelihood,
        *,
        log_evidence: NDArray[np.float64] | None = None,
        cavities: tuple[NDArray, NDArray] | None = None,
        messages: Messages | None = None,
    ) -> None:
        self._mean = mean
        self.own, self.shared = own, shared
        self.likelihood = likelihood
        self.log_evidence = log_evidence
        self.cavities = cavities
        self.messages = messages

    @property
    def mean(self) -> NDArray[np.float64]:
        """The Bayes point mu."""
        return self._mean

    @cached_property
    def left_out_log_probability(self) -> NDArray[np.float64] | None:  # type: ignore[override]
        """Logarithms of p(class of a training point | all other labels), of each class.

        It takes as long as predictions, so it is computed when it is asked for.
        """
        if self.cavities is None:
            return None
        return self.likelihood.log_predictive(*self.cavities)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma, (n_classes n_coordinates, the same), class by class."""
        n_classes, d = self.shared.shape[:2]
        flat = self.shared.reshape(n_classes * d, -1)
        covariance = flat @ flat.T
        for c, part in enumerate(self.own):
            here = slice(c * d, (c + 1) * d)
            covariance[here, here] += part @ part.T
        return covariance

    def outputs(self, Z: Any) -> tuple[NDArray, NDArray]:
        """Means (n, n_classes) and covariances (n, n_classes, n_classes) of the outputs."""
        n_classes = self.mean.shape[1]
        xp, own = namespace(Z), kept(Z, self.own)
        covariance = np.zeros((len(Z), n_classes, n_classes))
        step = max(1, BYTES // (8 * max(1, self.shared.shape[2] * n_classes)))
        flat = xp.moveaxis(kept(Z, self.shared), 0, 1).reshape(len(self.mean), -1)
        for begin in range(0, len(Z), step):
            some = Z[begin : begin + step]
            spread = (some @ flat).reshape(len(some), n_classes, -1)
            part = spread @ spread.mT
            for c, factor in enumerate(own):
                part[:, c, c] += xp.square(some @ factor).sum(axis=1)
            covariance[begin : begin + step] = to_host(part)
        return to_host(Z @ kept(Z, self.mean)), covariance

    def latent(self, Z: NDArray) -> tuple[NDArray, NDArray]:
        """Means and variances of the outputs."""
        mean, covariance = self.outputs(Z)
        return mean, np.diagonal(covariance, axis1=1, axis2=2).copy()

    def votes(self, Z: NDArray) -> NDArray:
        """Twice the share of the classifiers that predict each class, less 1."""
        return 2 * np.exp(self.decision(Z, "vote")) - 1

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights of n classifiers, with the covariance between classes."""
        n_classes, _, k = self.own.shape
        spread = self.own @ rng.standard_normal((n_classes, k, n))
        spread += self.shared @ rng.standard_normal((self.shared.shape[2], n))
        return self.mean[:, None] + np.moveaxis(spread, 0, 2)

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """Log-probabilities of the classes, or logarithms of the shares of the vote."""
        mean, covariance = self.outputs(Z)
        if rule == "vote":
            return log_share_of_largest(mean, covariance)
        return self.likelihood.log_predictive(mean, covariance)

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """The decision, and the logarithm of the probability of all other classes."""
        return decision, log_rest(decision)

    def class_shares(self, Z: NDArray, coding: Coding) -> NDArray[np.float64]:
        """Share of the classifiers that predict each class."""
        return np.exp(self.decision(Z, "vote"))

    def forces(self, outputs: NDArray) -> NDArray[np.float64]:
        """Slopes of the logarithms of all messages at outputs (n_points, n_classes)."""
        shift, rate = self.messages  # type: ignore[misc]
        sums = np.maximum(rate.sum(axis=1, keepdims=True), TINY)
        mean = (rate * outputs).sum(axis=1, keepdims=True) / sums
        return shift - rate * (outputs - mean)

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.mean, "dc")
        need(np.ndim(self.own) == 3, "joint classes with independent weights are not supported")
        finite(self.own, "cdk", **sizes)
        finite(self.shared, "cdr", **sizes)
        optional(self.log_evidence, "e", e=1)
        need(isinstance(self.likelihood, JointLikelihood), "its likelihood is not a joint one")
        check_messages(self.messages, sizes["c"])


def contrasts(n_classes: int) -> NDArray[np.float64]:
    """Helmert's orthonormal basis H of all vectors of sum 0, (n_classes, n_classes - 1)."""
    return np.ascontiguousarray(helmert(n_classes).T)
