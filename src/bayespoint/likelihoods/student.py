r"""A robust likelihood: signs of outputs with the noise of Student's t distribution.

C. Liu, Robit Regression: A Simple Robust Alternative to Logistic and Probit Regression, 2004.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, log_expit, log_ndtr, logsumexp

from bayespoint import _core
from bayespoint.likelihoods.base import HARD, Likelihood, together
from bayespoint.likelihoods.quadrature import NODES, WEIGHTS
from bayespoint.tools.attributes import number
from bayespoint.tools.numbers import TINY

# Student's t is a normal distribution whose scale e^u is drawn: log p(u) = -nu (u + e^(-2u) / 2)
# for nu degrees of freedom, up to a constant. By the trapezoidal rule over u it is a mixture.
DEGREES = 2  # the slope of log p falls like 2 / |f|: far enough, the size of an error is no matter
GRID = np.arange(-1.0, 5.01, 0.75)
SCALES = np.exp(GRID)  # up to 148: within 3 % of Student's t up to 30 scales, then Gaussian tails
LOG_SHARES = -DEGREES * (GRID + np.exp(-2 * GRID) / 2)
LOG_SHARES -= logsumexp(LOG_SHARES)
STEP = 1 / 32  # of quadrature over arsinh(f): fine enough for Gaussians up to 8 deviations from 0
FAR = 8.0
PART = 1000  # points whose densities are in memory together


class Parts(NamedTuple):
    """Components of the noise, along the first axis, given a label at a cavity.

    Attributes
    ----------
    log_share : ndarray
        Logarithms of the probabilities of the components and the label.
    slope, bend : ndarray
        First and negative second derivative of a component's log p(label) in the mean.
    left : ndarray
        Share of the variance that is left with the label.
    by_noise : ndarray
        Derivative of a component's log p(label) in the logarithm of the noise.
    """

    log_share: NDArray[np.float64]
    slope: NDArray[np.float64]
    bend: NDArray[np.float64]
    left: NDArray[np.float64]
    by_noise: NDArray[np.float64]


class StudentLikelihood(Likelihood):
    r"""Labels are signs of outputs with heavy-tailed noise, so that gross errors pull little.

    .. math:: p(\text{yes} | f) = \epsilon + (1 - 2 \epsilon) \sum_k w_k \Phi(f / (\beta s_k))

    The scales :math:`s_k` and shares :math:`w_k` are such that the noise is about :math:`\beta`
    times a variable of Student's t distribution with two degrees of freedom. Each term is a probit
    likelihood, so that predictions and moments are exact sums of probit terms. A wrong label at
    output f costs about :math:`2 \log |f|`, instead of :math:`f^2 / 2` with the probit likelihood:
    it is not log-concave. The score is the log-odds of the predictive probability.

    Parameters
    ----------
    noise : float, default=1.0
        Scale :math:`\beta` of the noise.
    label_noise : float, default=0.0
        Probability :math:`\epsilon \le 1/2` that a label is flipped.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import ProbitLikelihood, StudentLikelihood
    >>> for likelihood in StudentLikelihood(), ProbitLikelihood():
    ...     _, log_no = likelihood.log_likelihood(np.array([[1.0], [5.0]]))
    ...     print(np.exp(log_no).round(7).ravel())
    [0.2083755 0.018638 ]
    [1.586553e-01 3.000000e-07]
    """

    name = "student"
    parameters = ("noise", "label_noise")

    def __init__(self, noise: float = 1.0, label_noise: float = 0.0) -> None:
        self.noise = noise
        self.label_noise = label_noise

    @property
    def is_log_concave(self) -> bool:
        """Never: far outliers pull less than near ones."""
        return False

    @property
    def log_shares(self) -> NDArray[np.float64]:
        """Logarithms of the shares of the components; the last one, of infinite noise, is flips."""
        with np.errstate(divide="ignore"):
            flips, honest = np.log(2 * self.label_noise), np.log1p(-2 * self.label_noise)
        return np.append(honest + LOG_SHARES, flips)

    def log_yes(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Logarithm of E p(yes | f) for f ~ N(mean, variance), a sum of probit terms."""
        log_p = np.empty((len(SCALES) + 1, *np.shape(mean)))
        for k, scale in enumerate(SCALES):
            spread = np.sqrt(np.maximum(variance + np.square(self.noise * scale), TINY))
            log_p[k] = log_ndtr(mean / spread)
        log_p[-1] = np.log(0.5)
        return logsumexp(self.weighed(log_p), axis=0)

    def weighed(self, log_p: NDArray) -> NDArray[np.float64]:
        """Logarithms of the probabilities of each component and the label, from those given it."""
        return log_p + np.expand_dims(self.log_shares, tuple(range(1, log_p.ndim)))

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes | f) and p(no | f); without noise the sign decides."""
        largest = np.abs(outputs).max(axis=-1, keepdims=True)
        variance = np.square(np.where(self.noise < HARD * largest, HARD * largest, 0.0))
        return self.log_yes(outputs, variance), self.log_yes(-outputs, variance)

    def predictive(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Log-odds of the predictive probability."""
        return self.log_yes(mean, variance) - self.log_yes(-mean, variance)

    def log_predictive(self, score: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of the probabilities with these log-odds."""
        return log_expit(score), log_expit(-score)

    def parts(self, margin: NDArray, variance: NDArray) -> Parts:
        """What each component of the noise says of the label "yes" at N(margin, variance)."""
        shape = len(SCALES) + 1, *margin.shape
        log_p, slope, bend, by_noise = np.full(shape, np.log(0.5)), *np.zeros((3, *shape))
        left = np.ones(shape)
        for k, scale in enumerate(SCALES):
            noise = float(np.square(self.noise * scale))
            log_p[k], a, b = _core.ep.match_all(margin, variance, (_core.ep.PROBIT, noise, 0.0))
            left[k] = 1 / (1 + variance * b)
            slope[k], bend[k] = (a - margin * b) * left[k], b * left[k]
            by_noise[k] = -slope[k] * margin * noise / np.maximum(variance + noise, TINY)
        return Parts(self.weighed(log_p), slope, bend, left, by_noise)

    def site(
        self, labels: NDArray, mean: NDArray, variance: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        r"""Logarithm of the label's probability and a, b of its site.

        With the label, f is a mixture of the components' truncated Gaussians. With shares
        :math:`\pi_k` and slopes :math:`g_k`, the first and negative second derivative of log p are

        .. math:: g = \sum_k \pi_k g_k, \qquad
            h = \sum_k \pi_k h_k - \sum_k \pi_k (g_k - g)^2,

        the variance that is left is :math:`v (1 - v h)`, and the site is
        :math:`b = h / (1 - v h)`, :math:`a = g + b (m + v g)`.
        """
        y, mean, variance = (np.ascontiguousarray(one) for one in together(labels, mean, variance))
        part = self.parts(y * mean, variance)
        log_p = logsumexp(part.log_share, axis=0)
        share = np.exp(part.log_share - log_p)
        g = (share * part.slope).sum(axis=0)
        between = (share * np.square(part.slope - g)).sum(axis=0)
        # A sum of positive terms: 1 - v h would lose its digits where the label says much.
        left = (share * part.left).sum(axis=0) + variance * between
        b = ((share * part.bend).sum(axis=0) - between) / left
        return np.minimum(log_p, 0.0), y * g + b * (mean + variance * y * g), b

    def noise_derivatives(
        self, mean: NDArray, variance: NDArray, labels: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        """Derivatives of log p(yes) in the logarithms of the noise and of the flip rate."""
        margin, variance = map(np.ascontiguousarray, together(mean, variance))
        part = self.parts(margin, variance)
        log_p = logsumexp(part.log_share, axis=0)
        by_noise = (np.exp(part.log_share - log_p) * part.by_noise).sum(axis=0)
        # p = epsilon + (1 - 2 epsilon) q
        flip = self.label_noise
        q = (np.exp(log_p) - flip) / (1 - 2 * flip) if flip < 0.5 else np.full(margin.shape, 0.5)
        return by_noise, flip * (1 - 2 * q) * np.exp(-log_p)

    def information(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Entropy of the predictive label less the expected entropy given f, by quadrature.

        The entropy given f is a peak at 0 as wide as the noise, whose tails fall like a power of f.
        Gaussians that are narrower, or far away, are integrated over their standardised variable,
        wide ones over arsinh(f), which is fine near 0 and coarse far from it.
        """
        mean, variance = together(mean, variance)
        s = np.sqrt(variance)
        unit = max(float(self.noise), HARD * float(s.max(initial=0.0)), np.sqrt(TINY))
        total = entropy(self.log_yes(mean, variance), self.log_yes(-mean, variance))
        is_narrow = (s <= unit) | (np.abs(mean) > FAR * s)
        expected = np.empty(mean.shape)
        m, deviation = mean[is_narrow, None], s[is_narrow, None]
        expected[is_narrow] = self.given(m + deviation * NODES) @ WEIGHTS
        m, deviation = mean[~is_narrow], s[~is_narrow]
        far = np.arcsinh((np.abs(m) + FAR * deviation).max(initial=0.0) / unit)
        u = STEP * np.arange(-np.ceil(far / STEP), np.ceil(far / STEP) + 1)
        f = unit * np.sinh(u)
        height = STEP * unit * np.cosh(u) * self.given(f) / np.sqrt(2 * np.pi)
        wide = np.empty(len(m))
        for begin in range(0, len(m), PART):
            own = slice(begin, begin + PART), None
            wide[own[0]] = np.exp(-np.square((f - m[own]) / deviation[own]) / 2) @ height
        expected[~is_narrow] = wide / deviation
        return np.maximum(total - expected, 0.0)

    def given(self, outputs: NDArray) -> NDArray[np.float64]:
        """Entropy of the label, given outputs."""
        none = np.zeros(outputs.shape)
        return entropy(self.log_yes(outputs, none), self.log_yes(-outputs, none))

    def onnx_predictive(self, mean: Any, variance: Any) -> tuple[Any, Any, Any]:
        """The score and both logarithms, as nodes of an ONNX graph."""
        score = self.onnx_log_yes(mean, variance) - self.onnx_log_yes(-mean, variance)
        return score, score.log_logistic(), (-score).log_logistic()

    def onnx_log_yes(self, mean: Any, variance: Any) -> Any:
        """Logarithm of the probability of "yes", as a node of an ONNX graph."""
        p = mean * 0.0 + self.label_noise
        for scale, share in zip(SCALES, np.exp(self.log_shares), strict=False):
            spread = (variance + np.square(self.noise * scale)).at_least(TINY).sqrt()
            p = p + (mean / spread).log_ndtr().exp() * share
        return p.at_least(TINY).log()

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        number(self.noise, 0)
        number(self.label_noise, 0, 0.5)


def entropy(log_yes: NDArray, log_no: NDArray) -> NDArray[np.float64]:
    """Entropy of a label, from the logarithms of both probabilities."""
    return entr(np.exp(log_yes)) + entr(np.exp(log_no))
