"""Gaussian posteriors by kernel values, for quick predictions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cholesky

from bayespoint.posteriors.base import Posterior
from bayespoint.posteriors.gaussian import GaussianPosterior
from bayespoint.spaces import ProcessSpace
from bayespoint.spaces.values import ValueSpace
from bayespoint.tools.arrays import triangular_squares

ROUNDING = 1e-10  # share of the prior's variance that may be added, so that roots exist
NEGLIGIBLE = 1e-6  # share of it that new points may lack


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
        L, self.scale = space.lower, posterior.factor[:, -1, -1]
        roots = [told(factor[:-1, :-1] / factor[-1, -1]) for factor in posterior.factor]
        tasks = zip(self.scale, roots, strict=True)
        factor = [blas.dtrsm(scale, L, root, lower=1, trans_a=1) for scale, root in tasks]
        mean = blas.dtrsm(1.0, L, posterior.mean[:-1], lower=1, trans_a=1)
        super().__init__(mean, np.array(factor, order="C"), posterior.likelihood)

    def latent(self, Z: Any) -> tuple[NDArray, NDArray]:
        """Mean and variance of the outputs, from kernel values and k(x, x)."""
        values, square = Z
        known = [triangular_squares(values, factor) for factor in self.factor]
        before = square[:, None] * self.scale**2
        return values @ self.mean, np.maximum(before - np.stack(known, axis=1), 0.0)


def told(F: NDArray) -> NDArray[np.float64]:
    """D, upper triangular, with D D^T = I - F F^T, what labels say of weights."""
    rest = -F @ F.T
    rest[np.diag_indices_from(rest)] += 1 + ROUNDING
    return np.asfortranarray(cholesky(rest[::-1, ::-1], lower=True, check_finite=False)[::-1, ::-1])


def by_values(space: Any, posterior: Posterior) -> tuple[Any, Any]:
    """Space and posterior by kernel values if these tell the same, else as they are.

    They do if no more than the basis was left out, and if labels make outputs more certain.
    """
    is_usual = isinstance(space, ProcessSpace) and type(posterior) is GaussianPosterior
    if is_usual and space.has_rest and not posterior.is_diagonal:
        if space.left * posterior.factor[:, -1, -1].max() ** 2 <= NEGLIGIBLE:
            with suppress(LinAlgError):
                return ValueSpace(space), ValuePosterior(space, posterior)
    return space, posterior
