"""What all posteriors that consist of samples have in common."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayespoint.codings import Coding
from bayespoint.likelihoods.probit import HARD
from bayespoint.posteriors.base import Posterior
from bayespoint.tools.lazy import LazyAttributes


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

    def votes(self, Z: NDArray) -> NDArray:
        """Mean of sign f_n(x) over the samples."""
        return np.sign(self.outputs(Z)).mean(axis=1)

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
