"""What every posterior can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray


class Posterior(ABC):
    """A distribution over the weights of each task, in the coordinates of a space.

    A task is one binary problem: two classes make one, several classes one each. Points ``Z`` are
    given as the space transforms them, shape (n, n_coordinates).

    Attributes
    ----------
    n_iter : int
        Iterations of the algorithm that found it.
    support : ndarray of int or None
        Training points that carry weight, where coordinates belong to training points; the space
        is then restricted to them. None: all coordinates count.
    log_evidence : ndarray of shape (n_tasks,) or None
        log p(labels), from engines that know it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bayespoint import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> posterior = BayesPointClassifier(engine="laplace").fit(X, y == 0).posterior_
    >>> type(posterior).__name__, posterior.mean.shape  # four features and the constant
    ('LogisticPosterior', (5, 1))
    """

    n_iter: int
    support: NDArray[np.int64] | None = None
    log_evidence: NDArray[np.float64] | None = None

    @property
    @abstractmethod
    def mean(self) -> NDArray:
        """The Bayes point: posterior mean of the weights, shape (n_coordinates, n_tasks)."""

    @abstractmethod
    def latent(self, Z: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs f(x), each of shape (n, n_tasks)."""

    @abstractmethod
    def votes(self, Z: NDArray) -> NDArray:
        """Posterior mean of sign f(x), in [-1, 1], shape (n, n_tasks)."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Weights of n classifiers from the posterior, shape (n_coordinates, n, n_tasks)."""

    @abstractmethod
    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """Scores by the rule "bayes_point" or "vote", shape (n, n_tasks); yes where positive."""

    @abstractmethod
    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes) and p(no) of each task: monotone functions of its decision."""

    @abstractmethod
    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes | w, x) and p(no | w, x) for classifiers with these outputs."""
