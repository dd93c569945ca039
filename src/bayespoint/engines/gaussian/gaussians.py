"""The Gaussian that the sites of one task make, as a sweep over the sites changes it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.spaces import Coordinates

SINGLE = 100  # coordinates from which float32 saves more time than the change to float64 costs
REFINEMENTS = 8  # of the mean, before the covariance is computed afresh instead
CONTRACTION = 0.25  # of the square of a refinement's step, at least

# All products of a sweep are SciPy's: NumPy has a BLAS of its own, whose idle threads get in the
# way of the other's when small products take turns (eight times slower on two cores).
GEMM = {np.dtype(np.float64): blas.dgemm, np.dtype(np.float32): blas.sgemm}
GEMV = {np.dtype(np.float64): blas.dgemv, np.dtype(np.float32): blas.sgemv}
SYMM = {np.dtype(np.float64): blas.dsymm, np.dtype(np.float32): blas.ssymm}
SYMV = {np.dtype(np.float64): blas.dsymv, np.dtype(np.float32): blas.ssymv}
SYRK = {np.dtype(np.float64): blas.dsyrk, np.dtype(np.float32): blas.ssyrk}


class WeightGaussian:
    """Mean ``mu`` and covariance ``Sigma`` of the d weights of one task.

    A sweep over n points changes both, site by site, in 3 n d^2 operations, and adds rounding
    errors; :meth:`renew` computes them from nothing but the sites. Until it is called for the first
    time Sigma may be in float32, where products take half the time. Only the lower triangle of
    Sigma is used, and changed.

    Parameters
    ----------
    space : Coordinates
        The training points.
    prior : GaussianPrior
        Of the weights.

    Attributes
    ----------
    mean, factor : ndarray of shape (d,) and (d, d)
        Of the weights, N(mean, factor factor^T), when it was last renewed.
    variances : ndarray of shape (n,)
        Of the outputs, before any label is seen.
    """

    mean: NDArray[np.float64]
    factor: Any  # an array, or a tensor if the points are on a device

    def __init__(self, space: Coordinates, prior: GaussianPrior) -> None:
        self.space, self.prior = space, prior
        self.mu = prior.mean.copy()
        self.variances = prior.output_variances(space)
        self.is_prior = True  # until it is renewed
        self._Sigma: NDArray | None = None  # until somebody asks for it

    @property
    def Sigma(self) -> NDArray:
        """The covariance, exact if no site has changed since it was renewed."""
        if self._Sigma is None:
            covariance = self.prior.covariance if self.is_prior else self.factor @ self.factor.T
            dtype = np.float32 if self.is_prior and self._fits_single() else np.float64
            self._Sigma = np.asarray(covariance, dtype=dtype, order="F")
        return self._Sigma

    @property
    def is_single(self) -> bool:
        """Whether Sigma is in float32."""
        return self._Sigma is not None and self._Sigma.dtype == np.float32

    def _fits_single(self) -> bool:
        """Whether float32 pays, and the range of all numbers allows it."""
        known, variances = self.variances[self.variances > 0], self.prior.scales**2
        low, high = variances.min(), max(variances.max(), self.space.largest)
        low, high = min(low, known.min(initial=1.0)), max(high, known.max(initial=0.0))
        return len(self.mu) >= SINGLE and low > 1e-20 and high < 1e15

    def update(self, z: NDArray, U: NDArray, down: NDArray, g: NDArray) -> None:
        """Step 4 for a block of sites: Sigma - z U^T diag(down) U z^T and mu + z g."""
        roots = U.T * np.sqrt(np.abs(down))
        roots = GEMM[z.dtype](1.0, z, roots.astype(z.dtype, order="F"))
        self._Sigma = self._with_squares(roots, -np.sign(down))
        self.mu += GEMV[z.dtype](1.0, z, g.astype(z.dtype))

    def renew(self, shift: NDArray, rate: NDArray) -> tuple[NDArray, NDArray]:
        """Compute all from the sites, in float64; variances and means of the outputs.

        Raises a LinAlgError if these sites make no Gaussian.
        """
        self.factor, self.mean = self.prior.given(self.space, shift, rate)
        self.is_prior, self._Sigma, self.mu = False, None, self.mean.copy()
        variances = self.space.variances(self.factor, is_triangular=True)
        return variances, self.space.outputs(self.mean)

    def settle(self, shift: NDArray, rate: NDArray, enough: float) -> NDArray | None:
        """Bring mu to where the sites pull it, Sigma being about right; the means of the outputs.

        Sigma is a good preconditioner, even in float32. Steps are measured in standard deviations;
        they end when the next would be shorter than ``enough``. None if they do not shrink: Sigma
        is too inexact then.
        """
        last = np.inf
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that grow
            for _ in range(REFINEMENTS):
                square = abs(self._refine(shift, rate))
                following = square if np.isinf(last) else square * (square / last)
                if following <= enough**2:
                    return self.space.outputs(self.mu)
                if not square <= CONTRACTION * last:
                    break
                last = square
        return None

    def project(self, own: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """For the points ``own``: z = Sigma phi^T, phi Sigma phi^T and phi mu."""
        gapless = own[-1] - own[0] == len(own) - 1  # then a slice, and no copy
        rows = self.space.rows(slice(own[0], own[-1] + 1) if gapless else own)
        phi = np.ascontiguousarray(rows, dtype=self.Sigma.dtype)
        z = SYMM[phi.dtype](1.0, self.Sigma, phi.T, lower=1)
        f = blas.dgemv(1.0, np.ascontiguousarray(rows).T, self.mu, trans=True)
        return z, GEMM[phi.dtype](1.0, phi.T, z, trans_a=True), f

    def _with_squares(self, roots: NDArray, signs: NDArray) -> NDArray:
        """Sigma + roots diag(signs) roots^T; sites of negative precision give variance back."""
        syrk, total = SYRK[roots.dtype], self.Sigma
        for sign in (-1.0, 1.0):
            own = signs == sign
            if own.any():
                some = roots if own.all() else roots[:, own]
                total = syrk(sign, some, 1.0, total, lower=1, overwrite_c=True)
        return total

    def _refine(self, shift: NDArray, rate: NDArray) -> float:
        """One step of mu; the square of its length."""
        forces = shift - rate * self.space.outputs(self.mu)
        left = self.prior.pull - self.prior.hold(self.mu) + self.space.pull(forces)
        step = SYMV[self.Sigma.dtype](1.0, self.Sigma, left.astype(self.Sigma.dtype), lower=1)
        self.mu = self.mu + step
        return left @ step
