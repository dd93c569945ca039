"""The Gaussian that the sites of one task make: of weights, by sweeps, or of outputs, by rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from bayespoint import _core
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import ROUNDING, log_evidence
from bayespoint.likelihoods.base import Kind
from bayespoint.spaces import Coordinates
from bayespoint.spaces.coordinates import inverse_lower
from bayespoint.tools.numbers import TINY

SINGLE = 100  # coordinates from which float32 saves more time than the change to float64 costs
REFINEMENTS = 8  # of the mean, before the covariance is computed afresh instead
CONTRACTION = 0.25  # of the square of a refinement's step, at least
MOST_ROUNDS, STEPS = 40, 6  # 3 to 7 rounds are usual; steps of the means in each, at most
EXACT = 0.05  # error of the means, as a share of the moves that are left
FEW = 250  # rows of which a factor takes no longer than to find means twice
LEAST = 1e-8  # rate of a site over the prior's: with less, 1 - B^-1 would be rounding errors

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
    errors. :meth:`renew` recomputes them from the sites. Until its first call, Sigma may be in
    float32, in which products take half the time. Only the lower triangle of Sigma is used and
    changed.

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


def suits_rounds(engine: Any, kind: Kind) -> bool:
    """Whether all sites of an engine have positive rates."""
    is_probit = kind == "sign" and engine.law.code is not None
    return is_probit and engine.label_noise == 0 < engine.noise and engine.damping is None


class Rounds:
    r"""The sites a, b of one task, and what they make of the outputs: f = K alpha, variances e.

    The symbols are those of C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine
    Learning*, section 3.6: with the rates W of all sites, :math:`B = I + W^{1/2} K W^{1/2} = L L^T`
    gives the variances of the outputs, :math:`e_i = (1 - B^{-1}_{ii}) / W_i`, in :math:`n^3`
    operations, a third of what the posterior of the weights takes.

    All sites change together. In each round, the variances of the cavities are fixed, and the means
    of the outputs that agree with all labels are computed. They maximise a concave function, whose
    Newton step needs B. With many points, they are computed again with the variances that are
    expected with the new sites, to first order: errors are then squared from round to round.
    """

    inverse: NDArray[np.float64]  # of B, its lower triangle

    def __init__(self, K: NDArray, labels: tuple[NDArray, NDArray], engine: Any) -> None:
        self.K, self.labels, (self.y, self.weight) = np.asfortranarray(K), labels, labels
        self.law, self.tol = engine.law.constants, max(engine.tol, ROUNDING)
        self.alpha = self.f = np.zeros(len(K))
        self.moves: list[float] = []  # the largest that was left in each round

    def converge(self, sites: Any, stops: Callable[[], bool] = lambda: False) -> bool:
        """Bring sites to rest, from these or from None; whether they came there."""
        self.sites = sites or self.agreeing(np.ascontiguousarray(self.K.diagonal()))
        for number in range(MOST_ROUNDS):
            if not self.factorise():
                return False
            alpha, f = self.solve(self.weight * self.y * self.sites[0])  # of the posterior
            left = _core.ep.all_sites((self.e, f), self.known, self.law)[2].max()
            self.moves.append(float(left))
            rest = 1 - self.sites[1] * self.e
            is_sound = np.isfinite(left) and (rest > _core.ep.SMALLEST).all()
            if left <= self.tol or not is_sound or (number == 0 and sites):
                self.alpha, self.f = alpha, f
            if left <= self.tol or not is_sound or stops():
                return bool(is_sound and left <= self.tol)
            self.find_means(self.e / rest, EXACT * min(left, 1.0))
            if len(self.K) > FEW:
                self.find_means(self.foretold(), EXACT * min(left, 1.0))
        return False

    def foretold(self) -> NDArray[np.float64]:
        r"""Variances of the cavities of the new sites, to first order, and at most the prior's.

        The output of a point has the covariance :math:`-B^{-1}_{ij} / \sqrt{W_i W_j}` with others,
        whose squares times changes of the rates are what its variance falls by.
        """
        square, rate = np.square(self.inverse), self.root**2
        square[np.diag_indices_from(square)] = np.square(self.e * rate)
        fall = blas.dsymv(1.0, square, self.weight * self.sites[1] / rate - 1, lower=1)
        fall /= rate * self.e
        precision = np.maximum(1 + fall, 0.5) / self.e - self.sites[1]
        return 1 / np.maximum(precision, 1 / np.maximum(self.K.diagonal(), TINY))

    def find_means(self, variance: NDArray, enough: float) -> None:
        """Means and sites for cavities of this variance; along each step they rise."""
        self.sites = self.agreeing(variance)
        for _ in range(STEPS):
            step, change = self.solve(self.wanted - self.alpha)
            alpha, f, share, slope = self.alpha, self.f, 1.0, (self.wanted - self.alpha) @ change
            if slope <= enough**2:
                return
            for _ in range(STEPS):
                self.alpha, self.f = alpha + share * step, f + share * change
                self.sites = self.agreeing(variance)
                there = (self.wanted - self.alpha) @ change
                if there >= -0.5 * slope:
                    break
                share *= slope / (slope - there)  # about where the slope is 0

    def agreeing(self, variance: NDArray) -> tuple[NDArray, NDArray]:
        """Sites that agree with f; ``wanted`` is what alpha should be then."""
        known = self.f, self.alpha, variance, self.labels, self.law
        *sites, self.wanted = _core.ep.agreeing(*known)
        return tuple(sites)

    def factorise(self) -> bool:
        """Find B^-1 and the variances of the outputs; False if rounding leaves none."""
        rate = np.maximum(self.weight * self.sites[1], LEAST / np.maximum(self.K.diagonal(), TINY))
        self.root = np.sqrt(rate)
        B = self.K * self.root
        B *= self.root[:, None]
        B[np.diag_indices_from(B)] += 1.0
        self.lower, failed = lapack.dpotrf(B, lower=1, overwrite_a=1)
        self.inverse = lapack.dlauum(inverse_lower(self.lower), lower=1, overwrite_c=1)[0]
        self.e = (1 - self.inverse.diagonal()) / rate
        return not failed and bool((self.e > 0).all())

    @property
    def known(self) -> tuple[NDArray, ...]:
        """Labels and sites, as compiled loops take them; each cavity lacks one copy."""
        return self.y, *self.sites, np.ones(len(self.y))

    def solve(self, pulls: NDArray) -> tuple[NDArray, NDArray]:
        """(I + W K)^-1 times a vector, and K times the result."""
        pulled = self.root * blas.dsymv(1.0, self.K, pulls, lower=1)
        held = blas.dsymv(1.0, self.inverse, pulled, lower=1)
        return pulls - self.root * held, held / self.root

    def evidence(self) -> float:
        """The log evidence, as of any posterior."""
        _, constant = _core.ep.summary((self.e, self.f), self.known, self.law)
        square = (self.weight * self.y * self.sites[0]) @ self.f
        log_determinant = -2 * np.log(self.lower.diagonal()).sum()
        return log_evidence(self.weight @ constant, log_determinant, square)
