"""The interface of a likelihood."""

from __future__ import annotations

from abc import ABC, abstractmethod

from numpy.typing import NDArray


class Likelihood(ABC):
    """The probability of the label "yes" of a binary task, given its output f.

    Engines learn with a likelihood and posteriors predict with it. The last axis of an array of
    outputs is the axis of the tasks.

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

    @abstractmethod
    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of p(yes | f) and p(no | f)."""

    @abstractmethod
    def predictive(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Score of an output f ~ N(mean, variance): its sign decides, its size is the certainty."""

    @abstractmethod
    def log_predictive(self, score: NDArray) -> tuple[NDArray, NDArray]:
        """Logarithms of E p(yes | f) and E p(no | f), from the score of :meth:`predictive`."""

    @abstractmethod
    def information(self, mean: NDArray, variance: NDArray) -> NDArray:
        """Mutual information, in nats, between an output f ~ N(mean, variance) and its label."""
