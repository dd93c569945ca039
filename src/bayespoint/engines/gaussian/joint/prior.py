"""What the weights of all classes are thought to be before any label is seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky

from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.posteriors import JointPosterior
from bayespoint.posteriors.joint import contrasts
from bayespoint.spaces import Coordinates


class IndependentPrior:
    """Weights of several classes that know nothing of each other, of equal covariances.

    Parameters
    ----------
    priors : sequence of GaussianPrior
        One for each class; their roots are the same.
    """

    def __init__(self, priors: Sequence[GaussianPrior]) -> None:
        self.one = priors[0]
        self.mean = np.stack([prior.mean for prior in priors], axis=1)
        self.pull = self.hold(self.mean)

    def hold(self, weights: NDArray) -> NDArray[np.float64]:
        """The precision times weights, shape (d, C)."""
        return self.one.hold(weights)

    @property
    def contrast_log_determinant(self) -> float:
        """The logarithm of the determinant of the covariance of the contrasts."""
        return (self.mean.shape[1] - 1) * self.one.log_determinant

    def contrast_precision(self) -> NDArray[np.float64]:
        """Of the weights of all contrasts, one after another."""
        return np.asarray(np.kron(np.eye(self.mean.shape[1] - 1), self.one.precision))

    def contrast_root(self) -> NDArray[np.float64]:
        """F of the covariance F F^T of the weights of all contrasts."""
        return np.asarray(np.kron(np.eye(self.mean.shape[1] - 1), self.common_root()))

    def common_root(self) -> NDArray[np.float64]:
        """F of the covariance F F^T of the sum of all classes, over the root of their number."""
        return self.one.matrix

    def output_covariances(self, space: Coordinates) -> NDArray[np.float64]:
        """Covariances of the outputs of each point, (n, C, C)."""
        return self.one.output_variances(space)[:, None, None] * np.eye(self.mean.shape[1])


class DependentPrior:
    """The posterior of earlier batches as a prior.

    Parameters
    ----------
    posterior : JointPosterior
        What is known so far.
    """

    def __init__(self, posterior: JointPosterior) -> None:
        self.posterior = posterior
        self.mean = posterior.mean
        d, n_classes = self.mean.shape
        blocks = posterior.covariance.reshape(n_classes, d, n_classes, d)
        H = contrasts(n_classes)
        told = np.einsum("ca,cikj,kb->aibj", H, blocks, H, optimize=True)
        self._H, self._common = H, cholesky(blocks.sum(axis=(0, 2)) / n_classes, lower=True)
        self._factor = cholesky(told.reshape(H.shape[1] * d, -1), lower=True)
        self._precision = cho_solve((self._factor, True), np.eye(H.shape[1] * d))
        self.pull = self.hold(self.mean)

    def hold(self, weights: NDArray) -> NDArray[np.float64]:
        """The precision times weights, shape (d, C)."""
        held = (self._precision @ (weights @ self._H).T.ravel()).reshape(-1, len(weights)).T
        common = cho_solve((self._common, True), weights.mean(axis=1))
        return np.asarray(held @ self._H.T + common[:, None])

    @property
    def contrast_log_determinant(self) -> float:
        """The logarithm of the determinant of the covariance of the contrasts."""
        return float(2 * np.log(self._factor.diagonal()).sum())

    def contrast_precision(self) -> NDArray[np.float64]:
        """Of the weights of all contrasts, one after another."""
        return self._precision

    def contrast_root(self) -> NDArray[np.float64]:
        """F of the covariance F F^T of the weights of all contrasts."""
        return self._factor

    def common_root(self) -> NDArray[np.float64]:
        """F of the covariance F F^T of the sum of all classes, over the root of their number."""
        return self._common

    def output_covariances(self, space: Coordinates) -> NDArray[np.float64]:
        """Covariances of the outputs of each point, (n, C, C)."""
        return np.concatenate([self.posterior.outputs(rows)[1] for _, rows in space.parts()])
