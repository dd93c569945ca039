"""What the weights of all classes are thought to be before any label is seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky

from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.posteriors import JointPosterior
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
        root = self.one.root
        held = weights / (root**2)[:, None] if root.ndim == 1 else self.one.precision @ weights
        return np.asarray(held)

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of the covariance."""
        return self.mean.shape[1] * self.one.log_determinant

    def precision(self) -> NDArray[np.float64]:
        """All of it, (C d, C d), class by class."""
        return np.asarray(np.kron(np.eye(self.mean.shape[1]), self.one.precision))

    def root(self) -> NDArray[np.float64]:
        """F of the covariance F F^T, (C d, C d)."""
        root = np.diag(self.one.root) if self.one.root.ndim == 1 else self.one.root
        return np.asarray(np.kron(np.eye(self.mean.shape[1]), root))

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
        covariance = posterior.covariance
        self._factor = cholesky(covariance, lower=True)
        self._precision = cho_solve((self._factor, True), np.eye(d * n_classes))
        self.pull = self.hold(self.mean)

    def hold(self, weights: NDArray) -> NDArray[np.float64]:
        """The precision times weights, shape (d, C)."""
        return (self._precision @ weights.T.ravel()).reshape(weights.T.shape).T

    @property
    def log_determinant(self) -> float:
        """The logarithm of the determinant of the covariance."""
        return float(2 * np.log(self._factor.diagonal()).sum())

    def precision(self) -> NDArray[np.float64]:
        """All of it, (C d, C d), class by class."""
        return self._precision.copy()

    def root(self) -> NDArray[np.float64]:
        """F of the covariance F F^T, (C d, C d)."""
        return self._factor

    def output_covariances(self, space: Coordinates) -> NDArray[np.float64]:
        """Covariances of the outputs of each point, (n, C, C)."""
        return np.concatenate([self.posterior.outputs(rows)[1] for _, rows in space.parts()])
