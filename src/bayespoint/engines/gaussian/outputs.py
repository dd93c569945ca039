"""The sites of one task that has at least as many coordinates as points, as kernels have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from bayespoint.engines.gaussian.sites import Moments, Sites, falls


class OutputSites(Sites):
    r"""Sites that keep the distribution of the n outputs :math:`f = Z w` instead of the weights'.

    ``mu`` and ``Sigma`` are mean and covariance of the outputs. The columns that a block needs are
    there already, so a sweep takes half the operations, :math:`2 n^3`; computing all afresh takes
    one Cholesky factor of :math:`I + R^{1/2} K R^{1/2}` with :math:`K = Z \Sigma_0 Z^T` and the
    rates R of the sites, which must not be negative. The weights are asked for once, at the end.

    Variances are differences from K. Where labels leave less than ``collapsed`` of one,
    :class:`Sites` must do the work.
    """

    collapsed = 1e-10  # so that six digits of the variances are right

    def _before(self) -> tuple[NDArray, NDArray, NDArray]:
        root = self.prior.root
        spread = self.Z * root if root.ndim == 1 else self.Z @ root
        self.K = spread @ spread.T
        self.prior_outputs = self.Z @ self.prior.mean
        return self.prior_outputs.copy(), np.array(self.K, order="F"), self.K.diagonal().copy()

    def _project(self, own: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        z = np.array(self.Sigma[:, own], order="F")
        return z, z[own], self.mu[own]

    def _outputs(self) -> NDArray:
        return self.mu

    def _settle_mean(self) -> None:
        """Solve alpha = shift - R f with f = m + K alpha; (I + R K)^-1 = I - R Sigma."""
        if not (self.e >= self.floor).all():
            raise LinAlgError("variances are lost in rounding errors")
        alpha = self.shift - self.rate * self.mu
        sizes = []
        for _ in range(2):
            left = self.shift - self.rate * (self.prior_outputs + self.K @ alpha) - alpha
            step = self.Sigma @ left
            sizes.append(left @ step)
            alpha = alpha + left - self.rate * step
        self.mu = self.prior_outputs + self.K @ alpha
        self.rough = not falls(sizes)

    def moments(self) -> Moments:
        """Of the outputs: here F is S with Sigma = K - S^T S."""
        root = np.sqrt(self.rate)
        B = root[:, None] * self.K * root
        B[np.diag_indices_from(B)] += 1.0
        L = cholesky(B, lower=True, overwrite_a=True, check_finite=False)
        S = solve_triangular(L, root[:, None] * self.K, lower=True, check_finite=False)
        e = self.K.diagonal() - np.square(S).sum(axis=0)
        pull = self.shift - self.rate * self.prior_outputs
        alpha = pull - root * cho_solve((L, True), root * (self.K @ pull))
        f = self.prior_outputs + self.K @ alpha
        return self._sound(Moments(S, f, e, f))

    def _covariance(self, fresh: Moments) -> NDArray:
        return self.K - fresh.factor.T @ fresh.factor

    def _of_weights(self, fresh: Moments) -> tuple[NDArray, NDArray]:
        return self._weights()
