"""Gaussian posteriors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cholesky, lapack

from bayespoint.codings import Coding
from bayespoint.likelihoods import Likelihood, ProbitLikelihood
from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.stacked import StackedPosterior
from bayespoint.spaces import ProcessSpace
from bayespoint.spaces.coordinates import inverse_lower
from bayespoint.tools.arrays import is_tensor, kept, namespace, squares, to_host, triangular_squares
from bayespoint.tools.attributes import finite, need, optional, shaped
from bayespoint.tools.threads import useful_threads

STEP = ProbitLikelihood(0.0)
ROUNDING = 1e-12  # share of the prior variance that is added, so that roots exist
NEGLIGIBLE = 1e-6  # variance that new points may lack


class Messages(NamedTuple):
    r"""Messages :math:`\exp(h f - r f^2 / 2)` of the training points.

    Attributes
    ----------
    shift, rate : ndarray of shape (n_points, n_tasks)
        :math:`h` and :math:`r` of each point and task.

    Examples
    --------
    >>> from bayespoint import BayesPointClassifier
    >>> clf = BayesPointClassifier(kernel="linear", fit_intercept=False).fit([[-1], [1]], [0, 1])
    >>> clf.posterior_.messages.shift.round(3).ravel()
    array([-0.764,  0.764])
    """

    shift: NDArray[np.float64]
    rate: NDArray[np.float64]


def check_messages(messages: Messages | None, n_outputs: int) -> None:
    """Raise an error unless messages, if there are some, are about so many outputs."""
    if messages is not None:
        need(isinstance(messages, Messages), "its messages are not Messages")
        shaped(messages.rate, "f", "nt", **shaped(messages.shift, "f", "nt", t=n_outputs))


class GaussianPosterior(Posterior):
    r"""Gaussian weights :math:`w \sim N(\mu, \Sigma)` of each task, for any likelihood.

    The output :math:`f(x) = z(x)^T w` has the mean :math:`m = z^T \mu` and the variance
    :math:`s^2 = z^T \Sigma z`. The two rules are

    * ``"bayes_point"``: the predictive score and probability of the likelihood, which include the
      noise of the labels;
    * ``"vote"``: the decision is :math:`m / s`, and :math:`\Phi(m / s)` is the share of classifiers
      that say "yes".

    Both decisions have the sign of m: under a Gaussian posterior the Bayes point agrees with the
    majority.

    Parameters
    ----------
    mean : ndarray of shape (n_coordinates, n_tasks)
        :math:`\mu` of each task.
    factor : ndarray of shape (n_tasks, n_coordinates, n_coordinates) or (n_tasks, n_coordinates)
        F of each task, with :math:`\Sigma = F F^T`, or the standard deviations of independent
        weights.
    likelihood : Likelihood
        p(label | output).
    log_evidence : ndarray of shape (n_tasks,), optional
        log p(labels).
    left_out_log_probability : ndarray of shape (n_points, n_tasks), optional
        log p(label of a training point | all other labels).
    messages : Messages, optional
        Messages of the training points: the posterior is the prior times
        :math:`\prod_i \exp(h_i f_i - r_i f_i^2 / 2)`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import ProbitLikelihood
    >>> from bayespoint.posteriors import GaussianPosterior
    >>> mean, factor = np.array([[1.0], [0.0]]), np.eye(2)[None]
    >>> posterior = GaussianPosterior(mean, factor, ProbitLikelihood(noise=1.0))
    >>> Z = np.array([[1.0, 1.0], [0.0, 3.0]])
    >>> posterior.latent(Z)
    (array([[1.],
           [0.]]), array([[2.],
           [9.]]))
    >>> posterior.decision(Z, "bayes_point").round(3)
    array([[0.577],
           [0.   ]])
    """

    is_gaussian = True
    messages: Messages | None = None
    _mean: NDArray[np.float64]

    def __init__(
        self,
        mean: NDArray[np.float64],
        factor: NDArray[np.float64],
        likelihood: Likelihood,
        *,
        log_evidence: NDArray[np.float64] | None = None,
        left_out_log_probability: NDArray[np.float64] | None = None,
        messages: Messages | None = None,
    ) -> None:
        self._mean = mean
        self.factor = factor
        self.likelihood = likelihood
        self.log_evidence = log_evidence
        self.left_out_log_probability = left_out_log_probability
        self.messages = messages

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
    def is_diagonal(self) -> bool:  # type: ignore[override]
        """Whether the weights are independent."""
        return self.factor.ndim == 2

    @cached_property
    def _is_triangular(self) -> bool:
        return not self.is_diagonal and not np.tril(self.factor, -1).any()

    def latent(self, Z: Any) -> tuple[NDArray, NDArray]:
        """z.mu and z.Sigma z."""
        if self.is_diagonal:
            return Z @ self.mean, (Z * Z) @ np.square(self.factor.T)
        xp, is_short = namespace(Z), self._is_triangular and not is_tensor(Z)
        length = triangular_squares if is_short else lambda Z, factor: squares(Z @ factor)
        variance = [length(Z, factor) for factor in kept(Z, self.factor)]
        return to_host(Z @ kept(Z, self.mean)), to_host(xp.stack(variance, axis=1))

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights mu + F epsilon with standard normal epsilon, independent between tasks."""
        epsilon = rng.standard_normal((*self.factor.shape[:2], n))
        spread = self.factor[:, :, None] * epsilon if self.is_diagonal else self.factor @ epsilon
        return self.mean[:, None] + np.moveaxis(spread, 0, 2)

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """The mean output over its standard deviation, or the likelihood's predictive score."""
        return self._law(rule).predictive(*self.latent(Z))

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Logarithms of Phi(+-decision) for votes, else of the predictive probabilities."""
        return self._law(rule).log_predictive(decision)

    def class_shares(self, Z: NDArray, coding: Coding) -> NDArray[np.float64]:
        """Share of the classifiers that predict each class."""
        if self.likelihood.silent is None:
            return super().class_shares(Z, coding)
        return coding.vote_shares((1 + self.votes(Z)) / 2)

    def margins(self, outputs: NDArray, drawn: NDArray) -> NDArray:
        """What the likelihood takes, from the outputs of drawn classifiers."""
        return self.likelihood.margins(outputs)

    def _law(self, rule: str) -> Likelihood:
        """The likelihood, or for votes the one without noise."""
        return self.likelihood if rule != "vote" else self.likelihood.silent or STEP

    def forces(self, outputs: NDArray) -> NDArray[np.float64]:
        """Slopes of the logarithms of all messages at outputs (n_points, n_tasks)."""
        shift, rate = self.messages  # type: ignore[misc]
        return shift - rate * outputs

    def check_state(self) -> None:
        """Raise an error if the stored attributes are invalid."""
        sizes = finite(self.mean, "dt")
        n_tasks = sizes["t"]
        finite(self.factor, "td" if self.is_diagonal else "tdd", **sizes)
        optional(self.log_evidence, "t", t=n_tasks)
        optional(self.left_out_log_probability, "nc")
        need(isinstance(self.likelihood, Likelihood), "its likelihood is not a Likelihood")
        check_messages(self.messages, n_tasks)


class ValuePosterior(GaussianPosterior):
    r"""The same as another posterior, with kernel values as coordinates; it only predicts.

    With :math:`z = L^{-1} k`, the basis' :math:`k_{pp} = L L^T` and weights
    :math:`w \sim N(\mu, \Sigma)` of prior variance :math:`\tau^2`, outputs have the mean
    :math:`k^T L^{-T} \mu` and the variance

    .. math:: \tau^2 (k(x, x) - |z|^2) + z^T \Sigma z = \tau^2 k(x, x) - |C k|^2,
        \qquad C^T C = L^{-T} (\tau^2 I - \Sigma) L^{-1}.

    C is lower triangular: one product instead of a triangular system and a product.

    Parameters
    ----------
    space : ProcessSpace
        The basis.
    posterior : GaussianPosterior
        In this space.
    """

    def __init__(self, space: ProcessSpace, posterior: GaussianPosterior) -> None:
        self.scale = posterior.factor[:, -1, -1]
        with useful_threads(posterior.factor[0].size):
            L = inverse_lower(space.lower)
            roots = [told(factor[:-1, :-1] / factor[-1, -1]) for factor in posterior.factor]
            tasks = zip(self.scale, roots, strict=True)
            factor = [blas.dtrmm(scale, L, root, lower=1, trans_a=1) for scale, root in tasks]
            mean = L.T @ posterior.mean[:-1]
        super().__init__(mean, np.array(factor, order="C"), posterior.likelihood)

    def latent(self, Z: Any) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs, from kernel values, which are lost, and k(x, x)."""
        values, square = Z
        mean, variance = values @ self.mean, square[:, None] * self.scale**2
        for task, factor in enumerate(self.factor, 1):
            is_last = task == len(self.factor)  # memory that is written anew costs a third more
            variance[:, task - 1] -= triangular_squares(values, factor, overwrite=is_last)
        return mean, np.maximum(variance, 0.0)


def told(F: NDArray) -> NDArray[np.float64]:
    """D, upper triangular, with D D^T = I - F F^T, what labels say of weights."""
    square = F @ F.T if np.tril(F, -1).any() else lapack.dlauum(F)[0]  # the upper half counts
    rest = (1 + ROUNDING) * np.eye(len(F)) - square
    return np.asfortranarray(cholesky(rest[::-1, ::-1], lower=True)[::-1, ::-1])


def by_values(space: Any, posterior: Any) -> tuple[Callable[[NDArray], Any], Any]:
    """How new points become coordinates, and the posterior, in the form that predicts quickest.

    These are kernel values if they tell the same: if the basis neglects nothing, and if labels make
    outputs more certain.
    """
    if isinstance(posterior, StackedPosterior):
        pairs = [by_values(*pair) for pair in zip(space.spaces, posterior.members, strict=True)]
        views, members = zip(*pairs, strict=True)
        return (lambda X: (view(X) for view in views)), replace(posterior, members=members)  # type: ignore[type-var]
    is_usual = isinstance(space, ProcessSpace) and type(posterior) is GaussianPosterior
    if is_usual and space.has_rest and space.left * posterior.factor.max() ** 2 <= NEGLIGIBLE:
        with suppress(LinAlgError):
            return space.values(), ValuePosterior(space, posterior)
    return space.transform, posterior
