"""The interface of a posterior, and what all that consist of samples have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bayespoint.codings import Coding
from bayespoint.likelihoods.base import HARD
from bayespoint.spaces.dual import KernelMatrix
from bayespoint.tools.lazy import LazyAttributes
from bayespoint.tools.stability import EXTENDING, unstable

TIE = 16.0  # how large a rounding error of z'w may be, in units of epsilon sum |z_i w_i|


@unstable(EXTENDING)
class Posterior(ABC):
    """A distribution over the weights of each task, in the coordinates of a space.

    A task is one binary problem: one for two classes, one per class for several. Points ``Z`` are
    given as the space transforms them, shape (n, n_coordinates). How the engine computed the
    posterior is kept apart, in a :class:`~bayespoint.engines.Run`.

    Attributes
    ----------
    likelihood : Likelihood or JointLikelihood
        p(label | output) of a single classifier.
    n_samples : int or None
        Number of classifiers, if the posterior consists of samples.
    is_gaussian : bool
        Whether outputs are Gaussian.
    is_diagonal : bool
        Whether the weights are Gaussian and independent.
    left_out_log_probability : ndarray of shape (n_points, n_tasks) or None
        log p(label of a training point | all other labels), if the engine computes it.
    support : ndarray of int or None
        Indices of the training points with nonzero coefficients, if coordinates belong to training
        points; the space is then restricted to these. None if all coordinates are used.
    log_evidence : ndarray of shape (n_tasks,) or None
        log p(labels), if the engine computes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> posterior = BayesPointClassifier(kernel="linear").fit(X, y == 0).posterior_
    >>> type(posterior).__name__, posterior.mean.shape  # four features and the intercept
    ('GaussianPosterior', (5, 1))
    """

    # Of training points: files stay small. And what is on a device.
    not_stored: ClassVar[tuple[str, ...]] = (
        "left_out_log_probability",
        "messages",
        "_later",
        "device_visits",
    )
    likelihood: Any  # a Likelihood, or a JointLikelihood of several classes
    oob_decision: Any  # a method of samples that know what has not learned from a point
    n_samples: int | None = None
    is_gaussian: bool = False
    is_diagonal: bool = False
    left_out_log_probability: NDArray[np.float64] | None = None
    support: NDArray[np.int64] | None = None
    log_evidence: NDArray[np.float64] | None = None

    @property
    @abstractmethod
    def mean(self) -> NDArray:
        """The Bayes point: posterior mean of the weights, shape (n_coordinates, n_tasks)."""

    @abstractmethod
    def latent(self, Z: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs f(x), each of shape (n, n_tasks)."""

    def votes(self, Z: NDArray) -> NDArray:
        """Posterior mean of sign f(x), in [-1, 1]: 2 Phi(decision by vote) - 1, (n, n_tasks)."""
        return 2 * ndtr(self.decision(Z, "vote")) - 1

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights of n classifiers drawn from the posterior, shape (n_coordinates, n, n_tasks)."""

    @abstractmethod
    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """Scores by the rule "bayes_point" or "vote", shape (n, n_tasks); positive means yes."""

    def class_shares(self, Z: NDArray, coding: Coding) -> NDArray[np.float64]:
        """Share of the classifiers that predict each class, outputs taken as Gaussian."""
        return coding.gaussian_shares(*self.latent(Z))

    @abstractmethod
    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes) and p(no) of each task, monotone in its decision."""

    def margins(self, outputs: NDArray, drawn: NDArray) -> NDArray:
        """What the likelihood takes, from the outputs of drawn classifiers."""
        return outputs

    def scores(self, decision: NDArray, rule: str, coding: Coding) -> NDArray:
        """Scores of the classes, from the decisions of the tasks."""
        return coding.scores(decision, *self.log_probability(decision, rule))


class Samples(LazyAttributes, Posterior):
    """Equally likely classifiers w_1 ... w_N.

    Attributes
    ----------
    weights : ndarray of shape (n_coordinates, n_samples, n_tasks)
        The classifiers.
    """

    weights: NDArray

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """Number of classifiers N."""
        return self.weights.shape[1]

    @cached_property
    def mean(self) -> NDArray:
        """The Bayes point, 1/N sum_n w_n."""
        return self.weights.mean(axis=1)

    def outputs(self, Z: NDArray) -> NDArray:
        """f_n(x) of every classifier, shape (n, n_samples, n_tasks)."""
        flat = self.weights.reshape(len(self.weights), -1).astype(Z.dtype, copy=False)
        return (Z @ flat).reshape(len(Z), *self.weights.shape[1:])

    def latent(self, Z: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and variance of f_n(x) over the samples."""
        outputs = self.outputs(Z)
        return outputs.mean(axis=1), outputs.var(axis=1)

    def signs(self, outputs: NDArray, Z: Any) -> NDArray:
        r"""Signs of the outputs, 0 where :math:`|z^T w| \le 16 \epsilon \sum_i |z_i w_i|`.

        Rounding errors may be that large. Integer features have many such ties, and each would be
        decided by the order in which a processor sums. (On a device they still are: coordinates
        are not stored there.)
        """
        signs = np.sign(outputs)
        if not isinstance(Z, (np.ndarray, KernelMatrix)):
            return signs
        sizes = TIE * np.finfo(Z.dtype).eps * abs(self.weights.reshape(len(self.weights), -1))
        if isinstance(Z, KernelMatrix):
            most = Z.largest @ sizes
        else:
            most = abs(Z).max(axis=1, initial=0.0)[:, None] * sizes.sum(axis=0)
        flat = outputs.reshape(len(outputs), -1)
        close = np.flatnonzero((abs(flat) <= most).any(axis=1))
        if len(close):
            some = Z.rows(close) if isinstance(Z, KernelMatrix) else Z[close]
            is_tie = abs(flat[close]) <= abs(some) @ sizes
            signs[close] *= ~is_tie.reshape(-1, *signs.shape[1:])
        return signs

    def votes(self, Z: NDArray) -> NDArray:
        """Mean of sign f_n(x) over the samples."""
        return self.signs(self.outputs(Z), Z).mean(axis=1)

    def class_shares(self, Z: NDArray, coding: Coding) -> NDArray[np.float64]:
        """Share of the samples that predict each class."""
        return coding.sample_shares(self.outputs(Z))

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Classifiers drawn with replacement."""
        return self.weights[:, rng.integers(self.n_samples, size=n)]

    def log_vote_shares(self, decision: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of the smoothed shares of "yes" and "no", (n + 1/2) / (N + 1).

        ``decision`` is the mean vote.
        """
        n_yes = (decision + 1) * self.n_samples / 2
        share = np.clip((n_yes + 0.5) / (self.n_samples + 1), HARD, 1 - HARD)
        return np.log(share), np.log1p(-share)
