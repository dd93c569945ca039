"""A posterior known by samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from bayespoint.posteriors.base import Posterior

HARD = 1e-9  # smallest scale of the probit: below it a label is certain for all that doubles tell


@dataclass(frozen=True)
class TrainingMoments:
    r"""How far samples disagree, and how noisy labels are, as seen at the training points.

    A training point :math:`x_i` gets the output
    :math:`f_n(x_i) = \langle w_n, \phi(x_i) \rangle / |w_n| |\phi(x_i)|` of sample n; a new point
    has no coefficient of its own, so what counts is the output without the own term. The ridge
    gives every point a private feature, whose share of the output is the noise of its label.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    total : ndarray of shape (m, n_tasks)
        Sum over samples of the outputs without the own terms.
    squares : ndarray of shape (n_tasks,)
        Sum over samples of their mean squares over the points.
    noise : ndarray of shape (n_tasks,)
        Sum over samples of the mean squares of the private features' outputs.
    """

    n_samples: int
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    noise: NDArray[np.float64]

    def __add__(self, other: TrainingMoments) -> TrainingMoments:
        return TrainingMoments(
            self.n_samples + other.n_samples,
            self.total + other.total,
            self.squares + other.squares,
            self.noise + other.noise,
        )

    @property
    def noise_variance(self) -> NDArray[np.float64]:
        """Variance of the label noise, one number a task."""
        return self.noise / self.n_samples

    @property
    def model_variance(self) -> NDArray[np.float64]:
        """Variance of an output over the samples, one number a task.

        A single sample cannot tell; its mean square output stands in, which is too large rather
        than too small.
        """
        n = self.n_samples
        if n == 1:
            return self.squares
        variance = self.squares / n - ((self.total / n) ** 2).mean(axis=0)
        return np.maximum(variance, 0) * n / (n - 1)


class SampledPosterior(Posterior):
    r"""Equally likely classifiers :math:`w_1 \dots w_N` of unit length.

    Two rules make one score of the N outputs :math:`f_n(x)`:

    * ``"bayes_point"``: their mean, the output of the Bayes point;
    * ``"vote"``: the mean of their signs; the mean output, divided by N, breaks ties only.

    Probabilities of the Bayes point are :math:`\Phi(\bar f(x) / \sigma)`, where
    :math:`\sigma^2` is the variance of outputs over the samples plus that of the label noise, both
    averaged over the training points (:class:`TrainingMoments`). One :math:`\sigma` for all points
    keeps the order of the outputs; on held-out data it also has the better log-loss than the
    spread of N outputs at each point, which is itself noisy (README). Votes give
    :math:`(n_+ + 1/2) / (N + 1)`.

    Parameters
    ----------
    weights : ndarray of shape (n_coordinates, n_samples, n_tasks)
        The classifiers.
    moments : TrainingMoments
        Their outputs at the training points.
    support : ndarray of int, optional
        Training points to which the coordinates belong, ascending.
    n_iter : int, default=1
        Iterations of the algorithm that made the samples.
    """

    def __init__(
        self,
        weights: NDArray,
        moments: TrainingMoments,
        support: NDArray[np.int64] | None = None,
        n_iter: int = 1,
    ) -> None:
        self.weights = weights
        self.moments = moments
        self.support = support
        self.n_iter = n_iter

    @classmethod
    def join(cls, parts: Sequence[SampledPosterior]) -> SampledPosterior:
        """All samples of several posteriors on the same training set, in their order."""
        supports = [part.support for part in parts if part.support is not None]
        support = np.unique(np.concatenate(supports))
        n_tasks = parts[0].weights.shape[2]
        weights = np.zeros((len(support), sum(part.n_samples for part in parts), n_tasks))
        begin = 0
        for part, own in zip(parts, supports, strict=True):
            end = begin + part.n_samples
            weights[np.searchsorted(support, own), begin:end] = part.weights
            begin = end
        moments = sum((part.moments for part in parts[1:]), start=parts[0].moments)
        return cls(weights, moments, support, max(part.n_iter for part in parts))

    @property
    def n_samples(self) -> int:
        """Number of classifiers N."""
        return self.weights.shape[1]

    @property
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

    def draw(self, n: int, rng: np.random.Generator) -> NDArray:
        """Classifiers drawn with replacement."""
        return self.weights[:, rng.integers(self.n_samples, size=n)]

    def decision(self, Z: NDArray, rule: str) -> NDArray:
        """Mean output or mean vote."""
        if rule == "bayes_point":
            return Z @ self.mean.astype(Z.dtype, copy=False)
        outputs = self.outputs(Z)
        # Votes differ by steps of 2/N and outputs are at most 1 in size (but for new points of a
        # precomputed kernel, hence the clip): a tie-break, no more.
        tie_break = np.clip(outputs.mean(axis=1), -1, 1) / self.n_samples
        return np.sign(outputs).mean(axis=1) + tie_break

    def log_probability(self, decision: NDArray, rule: str) -> tuple[NDArray, NDArray]:
        """Probit of the mean output, or share of the votes."""
        if rule == "bayes_point":
            variance = self.moments.model_variance + self.moments.noise_variance
            return log_probit(decision, variance)
        n = self.n_samples
        share = ((decision + 1) * n / 2 + 0.5) / (n + 1)
        share = np.clip(share, HARD, 1 - HARD)  # outputs of size 1 would make it 0 or 1
        return np.log(share), np.log1p(-share)

    def log_likelihood(self, outputs: NDArray) -> tuple[NDArray, NDArray]:
        """Probit with the label noise alone; without a ridge the sign decides."""
        return log_probit(outputs, self.moments.noise_variance)


def log_probit(outputs: NDArray, variance: NDArray) -> tuple[NDArray, NDArray]:
    """Logarithms of Phi(f/s) and Phi(-f/s), with s^2 the variance."""
    z = outputs / np.maximum(np.sqrt(variance), HARD)
    return log_ndtr(z), log_ndtr(-z)
