r"""Likelihoods of ordered classes: one output, and thresholds between the classes.

W. Chu and Z. Ghahramani, Gaussian Processes for Ordinal Regression, JMLR 6, 2005: the class is c
where the noisy output lies between the thresholds :math:`b_{c-1}` and :math:`b_c`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, log_expit, log_ndtr, logit, ndtri

from bayespoint import _core
from bayespoint.likelihoods.base import Likelihood, log_rest
from bayespoint.likelihoods.logistic import SLOPE
from bayespoint.likelihoods.quadrature import NODES
from bayespoint.tools.attributes import finite, need, number
from bayespoint.tools.numbers import EPSILON, TINY

LOG_ROOT_2_PI = 0.5 * np.log(2 * np.pi)
CLOSE = 1e-5  # standard deviations between bounds below which the density is even
SHRINKS = 0.9  # most of a gap that one step may take away
FINEST = 100  # times as many nodes, at most, where outputs vary more than the noise
ROUNDING = 1e-8  # shorter steps come from rounding errors
FAR = 1e300  # stands for infinity in ONNX models
Covary = Callable[[NDArray], NDArray]


class OrdinalLikelihood(Likelihood):
    r"""Ordered classes :math:`0 < 1 < \dots < C - 1` of one output f.

    .. math:: p(y = c | f) = F\left(\frac{b_c - f}{s}\right) - F\left(\frac{b_{c-1} - f}{s}\right),
        \qquad b_{-1} = -\infty,\ b_{C-1} = \infty

    with a symmetric distribution function F and the scale s of the noise. The thresholds start at
    the quantiles of the class frequencies, and climb the evidence of the labels and of one more,
    spread over all classes: without it a class without labels has no room. It is concave in them.

    Parameters
    ----------
    thresholds : ndarray of shape (n_classes - 1,), optional
        :math:`b_c`, ascending; by default :meth:`started` sets them.
    noise : float, default=1.0
        Scale s of the noise.
    """

    kind = "interval"
    learns = True
    not_stored = ("step", "slope")
    radius: float
    step: Any = None  # the last one of the thresholds; and the gradient before it
    slope: Any = None
    has_cavities = True  # evidence is climbed at cavities, not at a mode

    def __init__(self, thresholds: NDArray[np.float64] | None = None, noise: float = 1.0) -> None:
        self.thresholds: Any = thresholds
        self.noise = noise
        self.radius = noise  # deviation of noisy outputs before any label is seen

    @abstractmethod
    def spread(self, variance: Any) -> Any:
        """Scale of F for an output of this variance."""

    @abstractmethod
    def quantile(self, share: NDArray) -> NDArray[np.float64]:
        """The inverse of F."""

    @abstractmethod
    def log_between(self, high: NDArray, low: NDArray) -> NDArray[np.float64]:
        """Logarithm of F(high) - F(low)."""

    @abstractmethod
    def log_density(self, x: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithm of the derivative of F, and the negative derivative of this logarithm."""

    @property
    def silent(self) -> OrdinalProbitLikelihood:
        """The same without noise: of votes of single classifiers."""
        return OrdinalProbitLikelihood(self.thresholds, 0.0)

    @property
    def n_classes(self) -> int:
        """One more than there are thresholds."""
        return len(self.thresholds) + 1

    def at(self, thresholds: NDArray[np.float64], **known: Any) -> Self:
        """The same with other thresholds."""
        other = copy(self)
        vars(other).update(known, thresholds=thresholds)
        return other

    def started(self, labels: NDArray, weight: NDArray, variance: NDArray) -> Self:
        """With thresholds at the quantiles of the class frequencies, for prior variances."""
        if self.thresholds is not None:
            return self
        n_classes = max(int(labels.max()) + 1, 2)
        count = np.bincount(labels, weight, n_classes) + 1 / n_classes
        radius = float(self.spread(np.average(variance, weights=weight)))
        share = count.cumsum()[:-1] / count.sum()
        return self.at(radius * self.quantile(share), radius=radius)

    def signs(self, labels: NDArray) -> NDArray[np.float64]:
        """1: sites are of f itself."""
        return np.ones(len(labels))

    def bounds(self, labels: NDArray) -> NDArray[np.float64]:
        """The thresholds below and above each label, shape (n, 2)."""
        every = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        return np.stack([every[labels], every[labels + 1]], axis=1)

    def errors(self, labels: NDArray, outputs: NDArray) -> NDArray[np.bool_]:
        """Whether an output lies beyond the thresholds of its label."""
        return np.searchsorted(self.thresholds, outputs) != labels

    def margins(self, outputs: NDArray) -> NDArray[np.float64]:
        """Outputs (..., 1) less each threshold."""
        return outputs - self.thresholds

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of the probabilities of the classes and of all others, given the margins."""
        return self.log_predictive(outputs / self.noise)

    def predictive(self, mean: NDArray, variance: NDArray) -> NDArray:
        """How far the mean is above each threshold, in standard deviations, noise included."""
        return (mean - self.thresholds) / self.spread(variance)

    def log_predictive(self, score: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of the probabilities of each class and of all others, from the scores."""
        end = np.full((*score.shape[:-1], 1), np.inf)
        high, low = (np.concatenate(one, axis=-1) for one in ((end, score), (score, -end)))
        log_p = self.log_between(high, low)
        return log_p, log_rest(log_p)

    def forecast(self, labels: NDArray, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Logarithms of the probabilities of all classes, shape (n, n_classes)."""
        return self.log_predictive(self.predictive(mean[:, None], variance[:, None]))[0]

    def by_bounds(
        self, bounds: NDArray, mean: NDArray, spread: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """First and second derivatives of log p by the lower and the upper bound, each (n, 2).

        The mixed second derivative is the negative product of both first ones.
        """
        x = (bounds - mean[:, None]) / spread[:, None]
        log_p = self.log_between(x[:, 1], x[:, 0])
        x = np.where(np.isfinite(x), x, FAR**0.25)
        log_density, falls = self.log_density(x)
        density = np.exp(log_density - log_p[:, None])
        first = density * [-1.0, 1.0]
        second = -first * falls - density**2
        return first / spread[:, None], second / np.square(spread)[:, None]

    def implicit(
        self, bounds: NDArray, mean: NDArray, variance: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What an approximate evidence adds to the first ones, and its derivative by outputs."""
        return np.zeros(bounds.shape), np.zeros(len(mean))

    def threshold_slopes(
        self, labels: NDArray, weight: NDArray, mean: NDArray, variance: NDArray, covary: Covary
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradient of the log evidence by the thresholds, and about its negative Hessian.

        ``mean`` and ``variance`` are those of the outputs, in the cavities of expectation
        propagation or around the mode. ``covary`` multiplies a vector with the covariance of all
        outputs: they follow the thresholds, so that the evidence is bent less.
        """
        bounds, v = self.bounds(labels), variance * self.has_cavities
        first, second = self.by_bounds(bounds, mean, self.spread(v))
        both = -first.prod(axis=1)
        mixed = -(second + both[:, None])  # by an output and its bounds
        of_output = np.zeros((len(labels), self.n_classes + 1))
        for side in (0, 1):
            of_output[np.arange(len(labels)), labels + side] = mixed[:, side]
        of_output = of_output[:, 1:-1]
        left = 1 - mixed.sum(axis=1) * v  # share of an output's variance, given its label
        pull = (weight / left)[:, None] * of_output
        follow = np.stack([covary(one) for one in pull.T], axis=1)
        more, by_output = self.implicit(bounds, mean, variance)
        gradient = self.gathered(labels, weight[:, None] * (first + more))
        bend = self.bend(labels, weight, second, both)
        bend += of_output.T @ (v[:, None] * pull) - pull.T @ follow
        return gradient + follow.T @ (weight * by_output), bend

    def bend(
        self, labels: NDArray, weight: NDArray, second: NDArray, both: NDArray
    ) -> NDArray[Any]:
        """Sums of negative second derivatives by all pairs of thresholds."""
        beside = np.diag(np.bincount(labels, weight * both, self.n_classes)[1:-1], 1)
        return -np.diag(self.gathered(labels, weight[:, None] * second)) - beside - beside.T

    def gathered(self, labels: NDArray, by_bounds: NDArray) -> NDArray[Any]:
        """Sums of derivatives by each threshold."""
        sides = [np.bincount(labels + k, by_bounds[:, k], self.n_classes + 1) for k in (0, 1)]
        return (sides[0] + sides[1])[1:-1]

    def adapted(self, labels: NDArray, weight: NDArray, *how: Any) -> Self | None:
        """With better thresholds by one step of Newton's method; None if it would be short.

        The last argument says how short, in standard deviations; all others are those of
        :meth:`threshold_slopes`.
        """
        *moments, enough = how
        gradient, bend = self.threshold_slopes(labels, weight, *moments)
        every = np.arange(self.n_classes)  # one more label, spread over all classes
        radius, share = np.full(len(every), self.radius), np.full(len(every), 1 / len(every))
        first, second = self.by_bounds(self.bounds(every), 0 * radius, radius)
        gradient += self.gathered(every, share[:, None] * first)
        bend += self.bend(every, share, second, -first.prod(axis=1))
        if self.step is not None and (turn := (change := self.slope - gradient) @ self.step) > 0:
            known = bend @ self.step  # as in BFGS: what the last step has shown of the bend
            bend += np.outer(change, change) / turn - np.outer(known, known) / (self.step @ known)
        try:
            ridge = EPSILON * np.abs(bend).max() * np.eye(len(bend))
            step = np.linalg.solve(bend + ridge, gradient)
        except np.linalg.LinAlgError:  # labels of next to no weight do not bend the evidence
            return None
        if not gradient @ step > max(enough, ROUNDING) ** 2:
            return None
        before = 0.0 if self.step is None else self.step @ step
        longest = self.radius if self.step is None else np.abs(self.step).max()
        longest *= 0.5 if before < 0 else 2.0 if before > 0 else 1.0  # it turns round, or goes on
        shrinks = np.max(-np.diff(step) / np.diff(self.thresholds), initial=SHRINKS) / SHRINKS
        step /= max(shrinks, np.abs(step).max() / longest)
        return self.at(self.thresholds + step, step=step, slope=gradient)

    def information(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """Entropy of the predictive label less the expected entropy given f, by quadrature."""
        finer = min(np.ceil(np.sqrt(variance.max(initial=0.0)) / max(self.noise, TINY) / 4), FINEST)
        nodes = np.linspace(NODES[0], NODES[-1], (len(NODES) - 1) * max(int(finer), 1) + 1)
        weights = (nodes[1] - nodes[0]) * np.exp(-(nodes**2) / 2 - LOG_ROOT_2_PI)
        p, conditional = 0.0, 0.0
        for node, share in zip(nodes, weights, strict=True):
            outputs = (mean + node * np.sqrt(variance))[..., None]
            given = np.exp(self.log_likelihood(self.margins(outputs))[0])
            p, conditional = p + share * given, conditional + share * entr(given).sum(axis=-1)
        return np.maximum(entr(p).sum(axis=-1) - conditional, 0.0)

    def onnx_predictive(self, mean: Any, variance: Any) -> tuple[Any, Any, Any]:
        """Scores and logarithms of the probabilities, as nodes of an ONNX graph."""
        score = (mean - self.thresholds) / self.spread(variance)
        none = mean * 0.0
        above, below = self.onnx_log(score), self.onnx_log(-score)
        more, less = (none.beside(above), below.beside(none))  # logarithms of both tails
        by_above = more + (1.0 - (above.beside(none - FAR) - more).exp()).at_least(TINY).log()
        by_below = less + (1.0 - ((none - FAR).beside(below) - less).exp()).at_least(TINY).log()
        is_high = ((none + FAR).beside(score) + score.beside(none - FAR)).is_positive()
        log_p = is_high * by_below + (1.0 - is_high) * by_above
        return score, log_p, log_p

    @abstractmethod
    def onnx_log(self, score: Any) -> Any:
        """Logarithm of F, as a node of an ONNX graph."""

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        finite(self.thresholds, "t")
        need((np.diff(self.thresholds) >= 0).all(), "its thresholds are not ascending")
        for scale in (self.noise, self.radius):
            number(scale, 0)


class OrdinalProbitLikelihood(OrdinalLikelihood):
    r"""Ordered classes with Gaussian noise: :math:`F = \Phi`.

    For :math:`f \sim N(m, v)` the predictive probabilities are exact, with
    :math:`\sqrt{v + s^2}` in place of s.

    Parameters
    ----------
    thresholds : ndarray of shape (n_classes - 1,), optional
        :math:`b_c`, ascending; by default they are found by :meth:`started`.
    noise : float, default=1.0
        Standard deviation s of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import OrdinalProbitLikelihood
    >>> likelihood = OrdinalProbitLikelihood(np.array([-1.0, 1.0]))
    >>> score = likelihood.predictive(np.array([[0.0], [2.0]]), np.array([[3.0], [3.0]]))
    >>> np.exp(likelihood.log_predictive(score)[0]).round(3)
    array([[0.309, 0.383, 0.309],
           [0.067, 0.242, 0.691]])
    """

    name = "probit"
    parameters = ("noise",)
    code = 1
    has_gaussian_noise = True

    @property
    def constants(self) -> tuple[float, float, float]:
        """Its code and s^2, as the compiled loops of one task take them."""
        return float(self.code), float(self.noise) ** 2, 0.0

    def site(
        self, labels: NDArray, mean: NDArray, variance: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Logarithm of the label's probability and a, b of its site: those of two truncations."""
        ranks, mean, variance = map(np.array, np.broadcast_arrays(labels, mean, variance))
        return _core.ep.match_all(mean, variance, self.constants, self.bounds(ranks.ravel()))

    def spread(self, variance: Any) -> Any:
        """Standard deviation of the noisy output."""
        return (variance + (self.noise**2 + TINY)) ** 0.5

    def quantile(self, share: NDArray) -> NDArray[np.float64]:
        """The inverse of Phi."""
        return ndtri(share)

    def log_between(self, high: NDArray, low: NDArray) -> NDArray[np.float64]:
        """Logarithm of Phi(high) - Phi(low), in the tail that has its digits."""
        is_high = high + low > 0
        high, low = np.where(is_high, -low, high), np.where(is_high, -high, low)
        log_high, width = log_ndtr(high), np.maximum(high - low, TINY)
        is_close = width < CLOSE
        middle = np.where(is_close, high - width / 2, 0.0)
        even = np.log(width) - middle**2 / 2 - LOG_ROOT_2_PI
        share = np.exp(np.where(is_close, -1.0, log_ndtr(low) - log_high))
        return np.where(is_close, even, log_high + np.log1p(-share))

    def log_density(self, x: NDArray) -> tuple[NDArray, NDArray]:
        """Of the standard normal distribution."""
        return -(x**2) / 2 - LOG_ROOT_2_PI, x

    def noise_derivatives(
        self, mean: NDArray, variance: NDArray, labels: NDArray
    ) -> tuple[NDArray, NDArray]:
        """Derivatives of log p in the logarithm of the noise, and 0: labels are not flipped."""
        bounds, spread = self.bounds(labels), self.spread(variance)
        first, _ = self.by_bounds(bounds, mean, spread)
        away = np.where(np.isfinite(bounds), bounds - mean[:, None], 0.0)
        by_noise = -(first * away).sum(axis=1) * np.square(self.noise / spread)
        return by_noise, np.zeros(len(mean))

    def onnx_log(self, score: Any) -> Any:
        """Logarithm of Phi."""
        return score.log_ndtr()


class OrdinalLogisticLikelihood(OrdinalLikelihood):
    r"""Ordered classes with logistic noise of scale 1: :math:`F = \sigma`, proportional odds.

    For :math:`f \sim N(m, v)` the scale becomes :math:`\sqrt{1 + \pi v / 8}`, as for two classes.

    Parameters
    ----------
    thresholds : ndarray of shape (n_classes - 1,), optional
        :math:`b_c`, ascending; by default they are found by :meth:`started`.

    Examples
    --------
    >>> from numpy import array, exp, zeros
    >>> from bayespoint.likelihoods import OrdinalLogisticLikelihood
    >>> law, zero = OrdinalLogisticLikelihood(array([-1.0, 1.0])), zeros((1, 1))
    >>> exp(law.log_predictive(law.predictive(zero, zero))[0]).round(3)
    array([[0.269, 0.462, 0.269]])
    """

    name = "logistic"
    has_cavities = False

    def __init__(self, thresholds: NDArray[np.float64] | None = None) -> None:
        super().__init__(thresholds)

    def spread(self, variance: Any) -> Any:
        """MacKay's scale of the noisy output."""
        return (variance * SLOPE**2 + 1.0) ** 0.5

    def quantile(self, share: NDArray) -> NDArray[np.float64]:
        """The inverse of the logistic function."""
        return logit(share)

    def log_between(self, high: NDArray, low: NDArray) -> NDArray[np.float64]:
        """Logarithm of sigma(high) - sigma(low)."""
        share = np.maximum(-np.expm1(low - high), TINY)
        return log_expit(high) + log_expit(-low) + np.log(share)

    def log_density(self, x: NDArray) -> tuple[NDArray, NDArray]:
        """Of the logistic distribution."""
        return log_expit(x) + log_expit(-x), np.tanh(x / 2)

    def slopes(
        self, labels: NDArray, outputs: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Logarithms of p(label | f), their first and negative second derivatives in f."""
        low, high = np.moveaxis(self.bounds(labels) - outputs[:, None], -1, 0)
        miss_low, miss_high = expit(low), expit(high)
        bend = miss_low * expit(-low) + miss_high * expit(-high)
        return self.log_between(high, low), miss_low + miss_high - 1, bend

    def log_labels(self, labels: NDArray, outputs: NDArray) -> NDArray[np.float64]:
        """Logarithms of p(label | f)."""
        low, high = (self.bounds(labels) - outputs[:, None]).T
        return self.log_between(high, low)

    def output_derivatives(self, labels: NDArray, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """First and negative second derivative of log p(label | f) in f."""
        x = self.bounds(labels) - outputs[:, None]
        return expit(x).sum(axis=1) - 1, (expit(x) * expit(-x)).sum(axis=1)

    def rate_slopes(self, labels: NDArray, outputs: NDArray) -> NDArray[np.float64]:
        """Derivative of the negative second derivative in f."""
        x = self.bounds(labels) - outputs[:, None]
        return (expit(x) * expit(-x) * np.tanh(x / 2)).sum(axis=1)

    def implicit(
        self, bounds: NDArray, mean: NDArray, variance: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """From the curvature at the mode, which changes with the thresholds and the outputs."""
        x = bounds - mean[:, None]
        falls = 0.5 * variance[:, None] * expit(x) * expit(-x) * np.tanh(x / 2)
        return falls, -falls.sum(axis=1)

    def onnx_log(self, score: Any) -> Any:
        """Logarithm of the logistic function."""
        return score.log_logistic()
