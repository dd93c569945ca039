"""The Gaussian posterior of the logistic model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from bayespoint.posteriors.gaussian import GaussianWeights


class LogisticPosterior(GaussianWeights):
    r"""Weights :math:`w \sim N(\mu, \Sigma)` of each task, and labels of the logistic model.

    A label is "yes" with probability :math:`\sigma(f(x)) = 1 / (1 + e^{-f(x)})`,
    :math:`f(x) = z(x)^T w`. With :math:`m = z^T \mu` and :math:`s^2 = z^T \Sigma z` the answers are

    * ``"bayes_point"``: decision :math:`t = m / \sqrt{1 + \pi s^2 / 8}`, and the probability
      :math:`\sigma(t)` of the label "yes", within 0.018 of the mean of :math:`\sigma(f)` over
      :math:`f \sim N(m, s^2)` [1]_;
    * ``"vote"``: decision :math:`m / s`, and :math:`\Phi` of it, the share of classifiers that say
      "yes".

    Both have the sign of m: the Bayes point of a Gaussian is its majority.

    Parameters
    ----------
    mean, factor, log_evidence, left_out_log_probability, left_out_error
        As in :class:`GaussianWeights`.
    messages, n_iter, changes, endings
        As there.

    References
    ----------
    .. [1] D. J. C. MacKay, The evidence framework applied to classification networks, Neural
       Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors import LogisticPosterior
    >>> posterior = LogisticPosterior(np.array([[1.0], [0.0]]), np.eye(2)[None])
    >>> Z = np.array([[1.0, 1.0], [0.0, 3.0]])
    >>> decision = posterior.decision(Z, "bayes_point")
    >>> log_yes, log_no = posterior.log_probability(decision, "bayes_point")
    >>> np.exp(log_yes).round(3)
    array([[0.679],
           [0.5  ]])
    """

    def moderated(self, mean: NDArray, variance: NDArray) -> NDArray:
        """The output m / sqrt(1 + pi s^2 / 8)."""
        return moderated(mean, variance)

    def log_predictive(self, decision: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of sigma(decision) and sigma(-decision)."""
        return log_expit(decision), log_expit(-decision)

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of sigma(f) and sigma(-f)."""
        return log_expit(outputs), log_expit(-outputs)


def moderated(mean: NDArray, variance: NDArray) -> NDArray:
    """The output whose sigma is nearly the mean of sigma(f) over f ~ N(mean, variance).

    sigma(f) is close to Phi(f sqrt(pi / 8)), of the same slope at 0, for which it is exact.
    """
    return mean / np.sqrt(1 + np.pi / 8 * variance)
