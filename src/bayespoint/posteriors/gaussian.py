"""Gaussian posteriors: what all of them share, and that of the probit model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.probit import log_probit

TINY = np.finfo(np.float64).tiny  # stands for the variance of an output that is always 0


class Messages(NamedTuple):
    r"""Messages :math:`\exp(h f - r f^2 / 2)` of the training points.

    Attributes
    ----------
    shift, rate : ndarray of shape (n_points, n_tasks)
        :math:`h` and :math:`r` of every point and task.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> clf = BayesPointClassifier(engine="ep", fit_intercept=False).fit([[-1.0], [1.0]], [0, 1])
    >>> clf.posterior_.messages.shift.round(3).ravel()
    array([-0.764,  0.764])
    """

    shift: NDArray[np.float64]
    rate: NDArray[np.float64]


class GaussianWeights(Posterior):
    r"""Weights :math:`w \sim N(\mu, \Sigma)` of each task; subclasses say how labels come about.

    Parameters
    ----------
    mean : ndarray of shape (n_coordinates, n_tasks)
        :math:`\mu` of each task.
    factor : ndarray of shape (n_tasks, n_coordinates, n_coordinates) or (n_tasks, n_coordinates)
        F of each task, with :math:`\Sigma = F F^T`, or the standard deviations of weights that are
        independent.
    log_evidence : ndarray of shape (n_tasks,), optional
        log p(labels).
    left_out_log_probability : ndarray of shape (n_points, n_tasks), optional
        log p(label of a training point | all other labels).
    left_out_error : ndarray of shape (n_tasks,), optional
        Share of the training points (by weight) whose label the others do not predict.
    messages : Messages, optional
        What each training point says of its output, by which the posterior is the prior times
        :math:`\prod_i \exp(h_i f_i - r_i f_i^2 / 2)`.
    n_iter : int, default=1
        Iterations of the algorithm that found it.
    changes : sequence of sequences of float, optional
        For each task the largest change in each of its iterations, as ``tol`` measures it.
    endings : sequence of str, optional
        For each task what ended its iterations; empty where they came to rest.

    See Also
    --------
    GaussianPosterior : With the probit likelihood.
    LogisticPosterior : With the logistic one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors import GaussianPosterior, GaussianWeights
    >>> posterior = GaussianPosterior(np.zeros((2, 1)), np.array([[[1.0, 0.0], [1.0, 2.0]]]))
    >>> isinstance(posterior, GaussianWeights)
    True
    >>> posterior.covariance
    array([[[1., 1.],
            [1., 5.]]])
    """

    def __init__(
        self,
        mean: NDArray[np.float64],
        factor: NDArray[np.float64],
        *,
        log_evidence: NDArray[np.float64] | None = None,
        left_out_log_probability: NDArray[np.float64] | None = None,
        left_out_error: NDArray[np.float64] | None = None,
        messages: Messages | None = None,
        n_iter: int = 1,
        changes: Sequence[Sequence[float]] = (),
        endings: Sequence[str] = (),
    ) -> None:
        self._mean = mean
        self.factor = factor
        self.log_evidence = log_evidence
        self.left_out_log_probability = left_out_log_probability
        self.left_out_error = left_out_error
        self.messages = messages
        self.n_iter = n_iter
        self.changes = changes
        self.endings = endings

    @property
    def mean(self) -> NDArray[np.float64]:
        """The Bayes point mu."""
        return self._mean

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma of each task, shape (n_tasks, n_coordinates, n_coordinates)."""
        if self.is_diagonal:
            return np.stack([np.diag(scale**2) for scale in self.factor])
        return self.factor @ self.factor.transpose(0, 2, 1)

    @property
    def is_diagonal(self) -> bool:
        """Whether the weights are independent of each other."""
        return self.factor.ndim == 2

    def latent(self, Z: NDArray) -> tuple[NDArray, NDArray]:
        """z.mu and z.Sigma z."""
        if self.is_diagonal:
            return Z @ self.mean, (Z * Z) @ np.square(self.factor.T)
        variance = [np.square(Z @ factor).sum(axis=1) for factor in self.factor]
        return Z @ self.mean, np.stack(variance, axis=1)

    def votes(self, Z: NDArray) -> NDArray:
        """2 Phi(m / s) - 1."""
        return 2 * ndtr(self.decision(Z, "vote")) - 1

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights mu + F epsilon with standard normal epsilon, independent between tasks."""
        epsilon = rng.standard_normal((*self.factor.shape[:2], n))
        spread = self.factor[:, :, None] * epsilon if self.is_diagonal else self.factor @ epsilon
        return self.mean[:, None] + np.moveaxis(spread, 0, 2)

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """The mean output over its standard deviation, or as the likelihood moderates it."""
        mean, variance = self.latent(Z)
        if rule == "vote":
            return mean / np.sqrt(np.maximum(variance, TINY))
        return self.moderated(mean, variance)

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Logarithms of Phi(+-decision) where classifiers vote, else of the likelihood's answer."""
        if rule == "vote":
            return log_ndtr(decision), log_ndtr(-decision)
        return self.log_predictive(decision)

    @abstractmethod
    def moderated(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Decision of "bayes_point" for outputs of this mean and variance."""

    @abstractmethod
    def log_predictive(self, decision: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes) and p(no) for a moderated output."""


class GaussianPosterior(GaussianWeights):
    r"""Weights :math:`w \sim N(\mu, \Sigma)` of each task, and labels with Gaussian noise.

    A label is the sign of :math:`f(x) + \beta \varepsilon` with :math:`f(x) = z(x)^T w` and
    :math:`\varepsilon \sim N(0, 1)`, flipped at the rate :math:`\epsilon`. With
    :math:`m = z^T \mu` and :math:`s^2 = z^T \Sigma z` the answers are

    * ``"bayes_point"``: decision :math:`t = m / \sqrt{\beta^2 + s^2}`, and the predictive
      probability :math:`\epsilon + (1 - 2 \epsilon) \Phi(t)` of the label "yes";
    * ``"vote"``: decision :math:`m / s`, and its :math:`\Phi`, the share of classifiers that say
      "yes".

    Both have the sign of m: the Bayes point of a Gaussian is its majority.

    Parameters
    ----------
    mean, factor : ndarray
        :math:`\mu` and :math:`\Sigma`, as in :class:`GaussianWeights`.
    noise : float, default=1.0
        Standard deviation :math:`\beta` of the noise of outputs.
    label_noise : float, default=0.0
        Rate :math:`\epsilon` of flips.
    **known
        What else is known; see :class:`GaussianWeights`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.posteriors import GaussianPosterior
    >>> posterior = GaussianPosterior(np.array([[1.0], [0.0]]), np.eye(2)[None], noise=1.0)
    >>> Z = np.array([[1.0, 1.0], [0.0, 3.0]])
    >>> posterior.latent(Z)
    (array([[1.],
           [0.]]), array([[2.],
           [9.]]))
    >>> posterior.decision(Z, "bayes_point").round(3)
    array([[0.577],
           [0.   ]])
    """

    def __init__(
        self,
        mean: NDArray[np.float64],
        factor: NDArray[np.float64],
        *,
        noise: float = 1.0,
        label_noise: float = 0.0,
        **known: Any,
    ) -> None:
        super().__init__(mean, factor, **known)
        self.noise = noise
        self.label_noise = label_noise

    def moderated(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Mean over standard deviation, noise included: m / sqrt(beta^2 + s^2)."""
        return mean / np.sqrt(np.maximum(variance + self.noise**2, TINY))

    def log_predictive(self, decision: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of Phi(decision) and Phi(-decision), with flips."""
        return self._flipped(log_ndtr(decision), log_ndtr(-decision))

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Probit with the noise alone; without noise the sign decides."""
        return self._flipped(*log_probit(outputs, np.asarray(self.noise)))

    def _flipped(self, log_yes: NDArray, log_no: NDArray) -> tuple[NDArray, NDArray]:
        """The logarithms of p and 1 - p as labels have them that are flipped at times."""
        if self.label_noise == 0:
            return log_yes, log_no
        honest, flip = np.log1p(-2 * self.label_noise), np.log(self.label_noise)
        return np.logaddexp(flip, honest + log_yes), np.logaddexp(flip, honest + log_no)
