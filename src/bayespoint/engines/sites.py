"""The Gaussian sites of one task, and the two ways to sweep over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cholesky, solve_triangular

from bayespoint import _core

BLOCK = 64  # points a block; fastest of 16 ... 256 on MNIST
CHUNK = 4096  # points whose products are held at a time
COLLAPSED = 1e-14  # share of the prior variance below which an output's variance is rounding error


class Result(NamedTuple):
    """What is known of one task at the end."""

    mean: NDArray[np.float64]
    factor: NDArray[np.float64]
    log_evidence: float
    left_out: NDArray[np.float64]
    left_out_error: float
    training_error: float


class Sites:
    """The sites of one task, a_i and b_i, and the Gaussian N(mu, Sigma) that they make."""

    def __init__(
        self, Z: NDArray, target: NDArray, weight: NDArray, noise: float, prior_scale: float
    ) -> None:
        n, d = Z.shape
        self.Z = np.ascontiguousarray(Z)
        self.y = target.astype(np.float64)
        self.weight = weight
        self.noise, self.prior_scale = float(noise) ** 2, float(prior_scale)
        self.a, self.b = np.zeros(n), np.zeros(n)
        self.removed = np.ones(n)  # copies of a site that its cavity lacks
        self.mu = np.zeros(d)
        self.Sigma = np.asfortranarray(self.prior_scale**2 * np.eye(d))
        lengths = np.einsum("nd,nd->n", Z, Z)
        self.radius = float(np.sqrt(lengths.max()))
        self.floor = COLLAPSED * self.prior_scale**2 * lengths

    def sweep_in_turn(self, damping: float) -> float:
        """Visit all sites, one after another; returns the largest change (NaN: collapsed)."""
        largest = 0.0
        for begin in range(0, len(self.y), BLOCK):
            own = slice(begin, begin + BLOCK)
            phi = self.Z[own]
            z = (phi @ self.Sigma).T  # Sigma phi^T, twice as fast for this order in memory
            T, g, change = _core.ep.sweep_block(
                phi @ z, phi @ self.mu, self.y[own], self.weight[own], self.a[own], self.b[own],
                self.removed[own], self.floor[own], self.noise, damping,
            )  # fmt: skip
            if np.isnan(change):
                return change
            largest = max(largest, change)
            self.Sigma = blas.dgemm(  # Sigma - z T z^T, in place
                -1.0, z @ T, z, 1.0, self.Sigma, trans_b=True, overwrite_c=True
            )
            self.mu += z @ g
        self.Sigma = np.asfortranarray((self.Sigma + self.Sigma.T) / 2)
        return largest

    def sweep_at_once(self, damping: float) -> float:
        """Change all sites together; returns the largest change (NaN: collapsed)."""
        try:
            _, _, e, f = self.moments()
        except LinAlgError:
            return np.nan
        a, b, change = _core.ep.all_sites(
            e, f, self.y, self.a, self.b, self.removed, self.floor, self.noise
        )
        self.a += damping * (a - self.a)
        self.b += damping * (b - self.b)
        return change

    def remove_less(self) -> None:
        """Let the cavities of sites that weigh less than one copy lack no more than is there."""
        self.removed = np.minimum(self.weight, 1.0)

    def moments(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """F with Sigma = F F^T, mu, and the variances e and means f of the outputs."""
        n, d = self.Z.shape
        precision = np.eye(d) / self.prior_scale**2
        rate = np.sqrt(self.weight * self.b)[:, None]
        chunks = [slice(begin, begin + CHUNK) for begin in range(0, n, CHUNK)]
        for own in chunks:
            scaled = rate[own] * self.Z[own]
            precision += scaled.T @ scaled
        L = cholesky(precision, lower=True, overwrite_a=True)
        factor = solve_triangular(L, np.eye(d), lower=True, overwrite_b=True).T
        mu = factor @ (factor.T @ (self.Z.T @ (self.weight * self.a * self.y)))
        e = np.concatenate([np.square(self.Z[own] @ factor).sum(axis=1) for own in chunks])
        return np.ascontiguousarray(factor), mu, e, self.Z @ mu

    def result(self) -> Result:
        """The posterior, computed afresh from the sites, its evidence and its cavities."""
        while True:
            try:
                factor, mu, e, f = self.moments()
                break
            except LinAlgError:  # sites of a collapsed run: weaker ones make a valid posterior
                self.a, self.b = self.a / 2, self.b / 2
        left_out, constant = _core.ep.summary(
            e, f, self.y, self.a, self.b, self.removed, self.noise
        )
        log_det = 2 * np.log(factor.diagonal() / self.prior_scale).sum()  # |Sigma| / |Sigma_0|
        square = self.weight @ (self.a * self.y * f)  # mu^T Sigma^-1 mu
        log_evidence = self.weight @ constant + 0.5 * log_det + 0.5 * square
        wrong = self.weight @ (left_out <= np.log(0.5)) / self.weight.sum()
        training_error = float((self.y * f <= 0).mean())
        return Result(mu, factor, float(log_evidence), left_out, float(wrong), training_error)
