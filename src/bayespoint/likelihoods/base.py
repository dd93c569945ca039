"""The interface of a likelihood, of binary tasks and of several classes, and the probit one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from bayespoint import _core
from bayespoint.likelihoods.quadrature import NODES, WEIGHTS
from bayespoint.tools.attributes import finite, need, number
from bayespoint.tools.numbers import TINY
from bayespoint.tools.stability import EXTENDING, unstable

LIKELIHOODS: list[Any] = []  # those that likelihoods/__init__.py lists

# What a label says of the outputs of its task: the sign of a noisy output (labels -1 and +1), which
# of the noisy outputs of all classes is the largest, or between which thresholds one output lies.
Kind = Literal["sign", "class", "interval"]


def log_rest(log_p: NDArray) -> NDArray[np.float64]:
    """Logarithm of 1 - p, from log p; finite also where p is 1."""
    return np.log(np.maximum(-np.expm1(np.minimum(log_p, 0.0)), TINY))


@unstable(EXTENDING)
class Likelihood(ABC):
    """The probability of the label "yes" of a binary task, given its output f.

    Engines learn with a likelihood and posteriors predict with it. The last axis of an array of
    outputs is the axis of the tasks. Engines declare which verbs they need (``Engine.needs``), and
    a likelihood has at least one of them: :meth:`site` for expectation propagation, and
    :meth:`slopes` for Laplace's approximation.

    Attributes
    ----------
    name : str
        The name of the model, such as "probit", which is the ``likelihood`` of an engine.
        Likelihoods of one name explain labels of different kinds.
    kind : {"sign", "class", "interval"}
        The kind of the labels that it explains, as codings declare it.
    parameters : tuple of str
        Parameters of its constructor, such as the noise of an engine.
    code : int or None
        Number of its ``tilt`` in the compiled loops of EP, which take it with the ``constants``;
        None if there is none.
    is_log_concave : bool
        Whether log p(label | f) is concave in f. If not, sites may have a negative precision.
    has_gaussian_noise : bool
        Whether labels are those of f plus Gaussian noise, so that more noise can be added to it.
    learns : bool
        Whether the evidence finds parameters of it, such as thresholds (:meth:`started` and
        :meth:`adapted`).
    silent : Likelihood or None
        The same without noise, by which single classifiers vote; None if the sign of f decides.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import LogisticLikelihood
    >>> likelihood = LogisticLikelihood()
    >>> log_yes, log_no = likelihood.log_likelihood(np.array([[0.0], [2.0]]))
    >>> np.exp(log_yes).round(3)
    array([[0.5  ],
           [0.881]])
    >>> score = likelihood.predictive(np.array([[2.0]]), np.array([[4.0]]))  # f ~ N(2, 4)
    >>> np.exp(likelihood.log_predictive(score)[0]).round(3)
    array([[0.777]])
    """

    name: ClassVar[str]
    kind: ClassVar[Kind] = "sign"
    parameters: ClassVar[tuple[str, ...]] = ()
    code: ClassVar[int | None] = None
    has_gaussian_noise: ClassVar[bool] = False
    learns: ClassVar[bool] = False
    silent: Any = None

    @property
    def is_log_concave(self) -> bool:
        """Whether log p(label | f) is concave in f."""
        return True

    @classmethod
    def offers(cls, verb: str) -> bool:
        """Whether it has a verb that engines may need, such as "site"."""
        return getattr(cls, verb) is not getattr(Likelihood, verb)

    def site(
        self, labels: NDArray, mean: NDArray, variance: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        r"""Match the moments of outputs f ~ N(mean, variance) after their labels are seen.

        Parameters
        ----------
        labels : ndarray of shape (n,)
            Labels of its kind.
        mean, variance : ndarray
            Moments of the outputs before; the arguments are broadcast.

        Returns
        -------
        log_p : ndarray
            Logarithms of the probabilities of the labels.
        a, b : ndarray
            Parameters of the sites :math:`\exp(a f - b f^2 / 2)`. Their products with the Gaussians
            have the means and variances of the true products. If the likelihood
            ``is_log_concave``, no b is negative.
        """
        raise NotImplementedError(f"{type(self).__name__} has no sites.")

    def slopes(
        self, labels: NDArray, outputs: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Logarithms of p(label | f), and their first and negative second derivatives in f."""
        raise NotImplementedError(f"{type(self).__name__} has no slopes.")

    @abstractmethod
    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes | f) and p(no | f)."""

    @abstractmethod
    def predictive(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Score of an output f ~ N(mean, variance): its sign decides, its size is the certainty."""

    @abstractmethod
    def log_predictive(self, score: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of E p(yes | f) and E p(no | f), from the score of :meth:`predictive`."""

    def onnx_predictive(self, mean: Any, variance: Any) -> tuple[Any, Any, Any]:
        """Scores, and both logarithms of :meth:`log_predictive`, as nodes of an ONNX graph."""
        raise ValueError(
            f"to_onnx cannot write a {type(self).__name__}. Use a probit or logistic likelihood."
        )

    def started(self, labels: NDArray, weight: NDArray, variance: NDArray) -> Self:
        """With a first guess of what it learns, for prior variances of the outputs."""
        return self

    def adapted(
        self, labels: NDArray, weight: NDArray, mean: NDArray, variance: NDArray, *how: Any
    ) -> Self | None:
        """With better values of what it learns, given moments of outputs; None if there are none.

        ``how`` are the covariance of the outputs, as a function of a vector, and a short step.
        """
        return None

    def with_noise(self, noise: float) -> Self:
        """With another noise."""
        other = copy(self)
        other.noise = noise  # type: ignore[attr-defined]
        return other

    def signs(self, labels: NDArray) -> NDArray[np.float64]:
        """The y of sites exp(a y f - b f^2 / 2)."""
        return labels.astype(np.float64)

    def bounds(self, labels: NDArray) -> NDArray[np.float64] | None:
        """What each label says of y f plus noise: between which numbers it lies; None: positive."""
        return None

    def errors(self, labels: NDArray, outputs: NDArray) -> NDArray[np.bool_]:
        """Whether each output is wrong."""
        return labels * outputs <= 0

    def margins(self, outputs: NDArray) -> NDArray:
        """What :meth:`log_likelihood` takes, from the outputs of single classifiers."""
        return outputs

    def forecast(self, labels: NDArray, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        """What the coding's ``left_out`` takes, where y f ~ N(mean, variance)."""
        return self.log_predictive(self.predictive(mean, variance))[0]

    @abstractmethod
    def information(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Mutual information, in nats, between an output f ~ N(mean, variance) and its label."""


class JointLikelihood(ABC):
    """The probability of each of several classes, given the outputs f of all of them.

    The last axis of an array of outputs is the axis of the classes. Attributes are those of a
    :class:`Likelihood`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import SoftmaxLikelihood
    >>> log_p, log_rest = SoftmaxLikelihood().log_likelihood(np.array([[2.0, 0.0, 0.0]]))
    >>> np.exp(log_p).round(3)
    array([[0.787, 0.107, 0.107]])
    """

    name: ClassVar[str]
    kind: ClassVar[Kind] = "class"
    parameters: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def log_probability(self, outputs: NDArray) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, given f."""

    @abstractmethod
    def log_predictive(self, mean: NDArray, covariance: NDArray) -> NDArray[np.float64]:
        """Logarithms of their expectations for f ~ N(mean, covariance), shape (n, n_classes)."""

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of the probabilities of each class and of all others."""
        log_p = self.log_probability(outputs)
        return log_p, log_rest(log_p)


@cache
def find_likelihood(name: str, kind: Kind) -> type[Likelihood | JointLikelihood] | None:
    """The class of a name for labels of a kind; None if there is none."""
    return next((one for one in LIKELIHOODS if (one.name, one.kind) == (name, kind)), None)


@cache
def names_with(verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Names of likelihoods of binary labels that have all of these verbs."""
    binary = (one for one in LIKELIHOODS if issubclass(one, Likelihood) and one.kind == "sign")
    return tuple(sorted(one.name for one in binary if all(map(one.offers, verbs))))


def make_likelihood(name: str, kind: Kind, **parameters: float) -> Any:
    """The likelihood of an engine for labels of a kind.

    Parameters
    ----------
    name : str
        The ``likelihood`` of the engine, such as "probit".
    kind : {"sign", "class", "interval"}
        What labels are, as their coding declares it.
    **parameters : float
        Parameters of the engine, of which the likelihood takes those that it has.

    Returns
    -------
    Likelihood or JointLikelihood

    Examples
    --------
    >>> from bayespoint.likelihoods import make_likelihood
    >>> type(make_likelihood("probit", "class", noise=0.5, label_noise=0.0)).__name__
    'ArgmaxLikelihood'
    """
    make = find_likelihood(name, kind)
    if make is None:
        raise ValueError(f"There is no {name} likelihood for labels of the kind {kind!r}.")
    return make(**{one: float(parameters[one]) for one in make.parameters})


def together(*arrays: NDArray) -> list[NDArray[np.float64]]:
    """Arrays of floats, broadcast to one shape."""
    return [np.asarray(one, dtype=np.float64) for one in np.broadcast_arrays(*arrays)]


HARD = 1e-9  # smallest noise relative to the largest output: below it labels are certain
LOG_ROOT_2_PI = 0.5 * np.log(2 * np.pi)


class ProbitLikelihood(Likelihood):
    r"""The probit likelihood: labels are signs of noisy outputs, flipped at some rate.

    .. math:: p(\text{yes} | f) = \epsilon + (1 - 2 \epsilon) \Phi(f / \beta)

    For :math:`f \sim N(m, s^2)` the score is :math:`t = m / \sqrt{\beta^2 + s^2}`, and the
    predictive probability :math:`\epsilon + (1 - 2 \epsilon) \Phi(t)` is exact. Without noise
    (:math:`\beta = 0`) this is the step likelihood: the sign of f decides.

    Parameters
    ----------
    noise : float or ndarray of shape (n_tasks,), default=1.0
        Standard deviation :math:`\beta` of the noise on the output.
    label_noise : float or ndarray of shape (n_tasks,), default=0.0
        Probability :math:`\epsilon \le 1/2` that a label is flipped.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import ProbitLikelihood
    >>> likelihood = ProbitLikelihood(noise=1.0, label_noise=0.1)
    >>> score = likelihood.predictive(np.array([2.0]), np.array([3.0]))  # f ~ N(2, 3)
    >>> score, np.exp(likelihood.log_predictive(score)[0]).round(3)
    (array([1.]), array([0.773]))
    """

    name = "probit"
    parameters = ("noise", "label_noise")
    code = 0
    has_gaussian_noise = True

    def __init__(
        self, noise: float | NDArray[np.float64] = 1.0, label_noise: float | NDArray = 0.0
    ) -> None:
        self.noise = noise
        self.label_noise = label_noise

    @property
    def constants(self) -> tuple[float, float, float]:
        """Its code, beta^2 and the flip rate, as the compiled loops of one task take them."""
        return float(self.code), float(self.noise) ** 2, float(self.label_noise)

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes | f) and p(no | f); without noise the sign decides."""
        largest = np.abs(outputs).max(axis=-1, keepdims=True)
        smallest = np.maximum(self.noise, HARD * largest)
        return self.log_predictive(outputs / np.where(smallest > 0, smallest, 1.0))

    def predictive(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Mean over standard deviation, noise included: m / sqrt(beta^2 + s^2)."""
        return mean / np.sqrt(np.maximum(variance + np.square(self.noise), TINY))

    def log_predictive(self, score: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of Phi(score) and Phi(-score), with flips."""
        return self.flipped(log_ndtr(score)), self.flipped(log_ndtr(-score))

    def flipped(self, log_p: NDArray) -> NDArray:
        """Logarithm of epsilon + (1 - 2 epsilon) p, from log p."""
        if not np.any(self.label_noise):
            return log_p
        with np.errstate(divide="ignore"):  # log 0 is right for a rate of 0 or 1/2
            flip, honest = np.log(self.label_noise), np.log1p(-2 * np.asarray(self.label_noise))
        return np.logaddexp(flip, honest + log_p)

    def onnx_predictive(self, mean: Any, variance: Any) -> tuple[Any, Any, Any]:
        """The score and Phi of it, with flips, as nodes of an ONNX graph."""
        score = mean / (variance + np.square(self.noise)).at_least(TINY).sqrt()
        return score, *(self.onnx_flipped(one) for one in (score.log_ndtr(), (-score).log_ndtr()))

    def onnx_flipped(self, log_p: Any) -> Any:
        """Logarithm of epsilon + (1 - 2 epsilon) p, as nodes of an ONNX graph."""
        flip = np.asarray(self.label_noise)
        return (log_p.exp() * (1 - 2 * flip) + flip).at_least(TINY).log() if flip.any() else log_p

    @property
    def is_log_concave(self) -> bool:
        """Whether no labels are flipped."""
        return not np.any(self.label_noise)

    def site(
        self, labels: NDArray, mean: NDArray, variance: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Logarithm of the label's probability and a, b of its site: those of a truncation."""
        y, mean, variance = (np.ascontiguousarray(one) for one in together(labels, mean, variance))
        log_p, a, b = _core.ep.match_all(y * mean, variance, self.constants)
        return log_p, y * a, b

    def noise_derivatives(
        self, mean: NDArray, variance: NDArray, labels: NDArray | None = None
    ) -> tuple[NDArray, NDArray]:
        r"""Derivatives of log p in the logarithms of the noise and of the flip rate.

        With :math:`s^2 = v + \beta^2` and :math:`t = m / s`,

        .. math:: \partial \log p / \partial \log \beta
            = -(1 - 2 \epsilon) \frac{\varphi(t)}{p} t \frac{\beta^2}{s^2}, \qquad
            \partial \log p / \partial \log \epsilon = \epsilon \frac{1 - 2 \Phi(t)}{p}.
        """
        noise, flip = np.square(self.noise), np.asarray(self.label_noise)
        t = self.predictive(mean, variance)
        log_p, _ = self.log_predictive(t)
        slope = np.exp(np.log1p(-2 * flip) - 0.5 * t**2 - LOG_ROOT_2_PI - log_p)
        by_noise = -slope * t * noise / np.maximum(variance + noise, TINY)
        return by_noise, flip * (1 - 2 * np.exp(log_ndtr(t))) * np.exp(-log_p)

    def information(self, mean: NDArray, variance: NDArray) -> NDArray[np.float64]:
        r"""Mutual information between an output and its label, by quadrature.

        With the entropy :math:`g(u)` of the label at :math:`f = \beta u`, the information is
        :math:`g(z) - E[g(f / \beta)]`, where :math:`z = m / \sqrt{\beta^2 + s^2}`. The second term
        is an integral of a bump as narrow as the noise. But g falls to :math:`g(\infty)`, the
        entropy of a flip, like :math:`e^{-u^2/2}`. Moving this factor into the Gaussian,

        .. math:: E[g(f/\beta) - g(\infty)] =
            b\,e^{-z^2/2}\,E_t\left[ \tilde g(b z + \sqrt{1 - b^2}\,t) \right],
            \quad \tilde g(u) = e^{u^2/2} (g(u) - g(\infty)), \quad b = \beta / \sqrt{\beta^2 + s^2}

        leaves the integral of a smooth function, for any noise.
        """
        total = np.sqrt(np.maximum(variance + np.square(self.noise), TINY))
        z = np.clip(mean / total, -100, 100)  # 0 beyond 40; squares would overflow
        b, spread = self.noise / total, np.sqrt(variance) / total  # spread^2 = 1 - b^2
        inner = (b * z)[..., None] + spread[..., None] * NODES
        conditional = b * (self._flat_entropy(inner) @ WEIGHTS)
        return np.exp(-(z**2) / 2) * np.maximum(self._flat_entropy(z) - conditional, 0)

    def _flat_entropy(self, u: NDArray) -> NDArray[np.float64]:
        r"""Entropy of a label less that of a flip, times exp(u^2 / 2): grows no faster than \|u\|.

        Let q be the probability of the rarer label. Without flips the entropy is
        :math:`q (-\log q + (1 - q)/q \cdot -\log(1 - q))`. With flips it is the difference of the
        entropies of the probabilities :math:`\epsilon + \delta` and :math:`\epsilon`, where
        :math:`\delta = (1 - 2\epsilon) q`, written so that no logarithms cancel.
        """
        flip = float(self.label_noise)
        log_q, log_rest = log_ndtr(-np.abs(u)), log_ndtr(np.abs(u))
        q = np.maximum(np.exp(log_q), TINY)
        if flip == 0:
            # The last term tends to 1 long before both parts of its ratio underflow.
            over_q = np.where(q > TINY, (1 - q) / q * -log_rest, 1.0) - log_q
        else:
            delta, honest = (1 - 2 * flip) * q, 1 - flip
            less = (flip + delta) * np.log1p(delta / flip)
            more = (honest - delta) * np.log1p(-delta / honest)
            over_q = (1 - 2 * flip) * np.log(honest / flip) - (less + more) / q
        return np.exp(log_q + u**2 / 2) * over_q

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        for numbers, high in ((self.noise, np.inf), (self.label_noise, 0.5)):
            if isinstance(numbers, np.ndarray):
                finite(numbers, "t")
                need((numbers >= 0).all() and (numbers <= high).all(), "a noise is out of range")
            else:
                number(numbers, 0, high)
