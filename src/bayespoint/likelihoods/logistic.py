"""The logistic likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, log_expit, ndtr

from bayespoint.likelihoods.base import Likelihood
from bayespoint.likelihoods.quadrature import expectation_of_bump

SLOPE = np.sqrt(np.pi / 8)  # Phi(SLOPE f) and sigma(f) have equal slopes at 0


class LogisticLikelihood(Likelihood):
    r"""The logistic likelihood, :math:`p(\text{yes} | f) = \sigma(f) = 1 / (1 + e^{-f})`.

    For :math:`f \sim N(m, s^2)` the score is :math:`t = m / \sqrt{1 + \pi s^2 / 8}`, and
    :math:`\sigma(t)` is within 0.018 of the mean of :math:`\sigma(f)` [1]_.

    References
    ----------
    .. [1] D. J. C. MacKay, The evidence framework applied to classification networks, Neural
       Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import LogisticLikelihood
    >>> score = LogisticLikelihood().predictive(np.array([1.0]), np.array([2.0]))
    >>> np.exp(LogisticLikelihood().log_predictive(score)[0]).round(3)
    array([0.679])
    """

    name = "logistic"

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of sigma(f) and sigma(-f)."""
        return log_expit(outputs), log_expit(-outputs)

    def slopes(
        self, labels: NDArray, outputs: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Logarithms of sigma(y f), their first and negative second derivatives in f."""
        margin = labels * outputs
        miss = expit(-margin)
        return log_expit(margin), labels * miss, miss * expit(margin)

    def derivatives(self, margin: NDArray) -> tuple[NDArray, NDArray]:
        """First and negative second derivative of log sigma(y f) in y f: 1 - p and p (1 - p)."""
        miss = expit(-margin)
        return miss, miss * expit(margin)

    def output_derivatives(self, labels: NDArray, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """First and negative second derivative of log p(label | f) in f."""
        miss, bend = self.derivatives(labels * outputs)
        return labels * miss, bend

    def log_labels(self, labels: NDArray, outputs: NDArray) -> NDArray[np.float64]:
        """Logarithms of p(label | f)."""
        return log_expit(labels * outputs)

    def rate_slopes(self, labels: NDArray, outputs: NDArray) -> NDArray[np.float64]:
        """Derivative of the negative second derivative in f."""
        return -expit(outputs) * expit(-outputs) * np.tanh(outputs / 2)

    def predictive(self, mean: NDArray, variance: NDArray) -> NDArray:
        """The score t with sigma(t) close to the mean of sigma(f).

        sigma(f) is close to Phi(f sqrt(pi / 8)), which has the same slope at 0. For that function
        the score is exact.
        """
        return mean / np.sqrt(1 + SLOPE**2 * variance)

    def log_predictive(self, score: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of sigma(score) and sigma(-score)."""
        return self.log_likelihood(score)

    def onnx_predictive(self, mean: Any, variance: Any) -> tuple[Any, Any, Any]:
        """The score and its logistic function, as nodes of an ONNX graph."""
        score = mean / (variance * SLOPE**2 + 1.0).sqrt()
        return score, score.log_logistic(), (-score).log_logistic()

    def information(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        r"""Entropy of the predictive label less the expected entropy of the label given f.

        The mean of :math:`\sigma(f)` is the mean of :math:`\Phi(f \sqrt{\pi / 8})`, known exactly,
        plus the mean of their difference. That difference is a bump, and so is the entropy given f.
        """
        conditional = expectation_of_bump(label_entropy, mean, variance)
        probit = ndtr(SLOPE * mean / np.sqrt(1 + SLOPE**2 * variance))
        p = probit + expectation_of_bump(lambda f: expit(f) - ndtr(SLOPE * f), mean, variance)
        p = np.clip(p, 0.0, 1.0)
        return np.maximum(entr(p) + entr(1 - p) - conditional, 0.0)


def label_entropy(outputs: NDArray) -> NDArray[np.float64]:
    """Entropy of the label at output f: log(1 + exp(-|f|)) + |f| sigma(-|f|)."""
    size = np.abs(outputs)
    return size * expit(-size) - log_expit(size)
