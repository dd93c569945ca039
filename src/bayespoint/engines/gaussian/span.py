"""Fewer coordinates where there are more weights than training points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import TaskResult
from bayespoint.spaces import Coordinates


class Span:
    r"""Training points and prior in no more coordinates than there are points.

    Labels say nothing of weights outside the span of the rows of A = Z R, R being the root of the
    prior's covariance. With the QR decomposition :math:`A^T = Q T^T` and :math:`w = R u`, outputs
    are :math:`f = T v` of :math:`v = Q^T u`, which has the prior :math:`N(Q^T R^{-1} m, I)`.

    Parameters
    ----------
    space : Coordinates
        The training points.
    root : ndarray of shape (d,) or (d, d), optional
        Of the prior's covariance. None: all stays as it is.

    Attributes
    ----------
    space : Coordinates
        The training points in the new coordinates.
    basis : ndarray of shape (d, n) or None
        Q; None if all stays as it is.
    """

    def __init__(self, space: Coordinates, root: NDArray | None = None) -> None:
        self.space = space
        self.basis: NDArray | None = None
        if root is not None:
            A = GaussianPrior(np.zeros(len(root)), root).spread(space.rows())
            self.basis, transposed = qr(A.T, mode="economic", overwrite_a=True)
            self.space = Coordinates(np.ascontiguousarray(transposed.T))

    def project(self, prior: GaussianPrior) -> GaussianPrior:
        """The prior in the new coordinates."""
        if self.basis is None:
            return prior
        mean: NDArray = prior.mean
        if mean.any():
            root = prior.root
            mean = mean / root if root.ndim == 1 else np.linalg.solve(root, mean)
        return GaussianPrior(self.basis.T @ mean, np.ones(self.space.n_coordinates))

    def lift(self, result: TaskResult, prior: GaussianPrior) -> TaskResult:
        """A result in the old coordinates; the prior remains outside the span."""
        if self.basis is None:
            return result
        move = self.basis @ (result.mean - self.project(prior).mean)
        factor = self.lift_factor(result.factor, prior)
        return result._replace(mean=prior.mean + prior.rooted(move), factor=factor)

    def lift_factor(self, factor: NDArray, prior: GaussianPrior) -> NDArray[np.float64]:
        """A factor of a covariance in the old coordinates."""
        if self.basis is None:
            return factor
        F = self.basis @ (factor - np.eye(len(factor))) @ self.basis.T
        F[np.diag_indices_from(F)] += 1.0
        return prior.rooted(F)


def spans(space: Coordinates, priors: Sequence[GaussianPrior]) -> list[Span]:
    """The span for each prior, if there are more weights than points; equal roots share it."""
    # Spaces of kernels have one coordinate more, which is 0 at all training points.
    if space.n_coordinates <= space.n_points + 1:
        return [Span(space)] * len(priors)
    roots = {id(prior.root): prior.root for prior in priors}
    known = {key: Span(space, root) for key, root in roots.items()}
    return [known[id(prior.root)] for prior in priors]
