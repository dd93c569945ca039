"""The Gaussian sites of one task, and the two ways to sweep over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cholesky, lapack

from bayespoint import _core
from bayespoint.engines.gaussian.prior import LARGE, GaussianPrior
from bayespoint.engines.gaussian.results import TaskResult
from bayespoint.posteriors import Messages

BLOCK = 64  # points a block; fastest of 16 ... 256 on MNIST
CHUNK = 4096  # points whose products are held at a time
HALVINGS = 30  # of a step that left no posterior, before the run is given up
SETTLED = 1e-16  # square of a step of the mean, in standard deviations, that is small enough
# Share of its last exact value to which an output's variance may fall before Sigma is computed
# afresh: each subtraction of a sweep errs by the precision's unit of what it started from.
TRUSTED = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-3}

# All products of a sweep are SciPy's: NumPy has a BLAS of its own, whose idle threads get in the
# way of the other's when small products take turns (eight times slower on two cores).
BLAS = {
    np.dtype(np.float64): (blas.dgemm, blas.dgemv),
    np.dtype(np.float32): (blas.sgemm, blas.sgemv),
}


class Label(NamedTuple):
    """How labels come from outputs: variance beta^2 of the noise, and the rate of flips."""

    noise: float
    flip: float = 0.0


class Moments(NamedTuple):
    """F with Sigma = F F^T, mu, and the variances e and means f of the outputs."""

    factor: NDArray[np.float64]
    mu: NDArray[np.float64]
    e: NDArray[np.float64]
    f: NDArray[np.float64]


class Sites:
    """The sites of one task, a_i and b_i, and the Gaussian N(mu, Sigma) that they make.

    Sigma is held in float64 or, for the first sweeps, in float32, where products take half the
    time; :meth:`refresh` computes it from the sites, in float64.
    """

    collapsed = 1e-24  # share of its prior variance that no output of a sound posterior falls below

    def __init__(
        self, Z: NDArray, target: NDArray, weight: NDArray, label: Label, prior: GaussianPrior
    ) -> None:
        n = len(Z)
        self.Z = np.ascontiguousarray(Z)
        self.y = target.astype(np.float64)
        self.weight, self.label, self.prior = weight, label, prior
        self.a, self.b = np.zeros(n), np.zeros(n)
        self._valid = self.a, self.b  # the last ones that made a posterior
        self.removed = np.ones(n)  # copies of a site that its cavity lacks
        self.mu, self.Sigma, self.e = self._before()
        self.known = self.e.copy()  # variances when Sigma was last exact; e: at the last visit
        self.floor = self.collapsed * self.e
        self.radius = float(np.sqrt(self.e.max(initial=0.0)))
        self._fresh: Moments | None = None  # of the sites as they are now
        self.rough = False  # whether Sigma has become too inexact to go on with

    # Sweeps --------------------------------------------------------------------------------------

    def sweep_in_turn(self, damping: float, which: NDArray | None = None) -> NDArray:
        """Visit all sites, or ``which`` of them, one after another; how far each has moved.

        NaN means that the posterior has collapsed: variances are beyond the precision.
        """
        moved = np.zeros(len(self.y))
        which = np.arange(len(self.y)) if which is None else which
        begin, refreshed = 0, False
        while begin < len(which):
            own = which[begin : begin + BLOCK]
            moved[own] = self._visit(own, damping)
            lost = np.flatnonzero(np.isnan(moved[own]))
            if len(lost) == 0:
                begin, refreshed = begin + BLOCK, False
                continue
            if refreshed and lost[0] == 0:
                return moved
            begin, refreshed = begin + lost[0], True
            try:
                self.refresh()
            except LinAlgError:
                return moved
        self.Sigma = np.asfortranarray((self.Sigma + self.Sigma.T) / 2)
        return moved

    def _visit(self, own: NDArray, damping: float) -> NDArray:
        """Visit the sites of a block, and update mu and Sigma by all that has changed."""
        if self._fresh is not None:
            self.Sigma, self._fresh = np.asfortranarray(self._covariance(self._fresh)), None
        dtype = self.Sigma.dtype
        z, K, f = self._project(own)
        a, b, e = self.a[own], self.b[own], self.e[own]
        T, g, moved = _core.ep.sweep_block(
            K.astype(np.float64, copy=False), f, self.y[own], self.weight[own], a, b,
            self.removed[own], TRUSTED[dtype] * self.known[own], *self.label, damping, e,
        )  # fmt: skip
        self.a[own], self.b[own], self.e[own] = a, b, e
        gemm, gemv = BLAS[dtype]
        z_T = gemm(1.0, z, T.astype(dtype, copy=False))
        # Sigma - z T z^T, in place.
        self.Sigma = gemm(-1.0, z_T, z, 1.0, self.Sigma, trans_b=True, overwrite_c=True)
        self.mu += gemv(1.0, z, g.astype(dtype, copy=False))
        return moved

    def sweep_at_once(self, damping: float) -> NDArray:
        """Change all sites together; how far each would move undamped (NaN: collapsed)."""
        for _ in range(HALVINGS):
            try:
                moved = self.refresh()
                break
            except LinAlgError:  # sites of negative precision went too far: half the way back
                self.a, self.b = (self.a + self._valid[0]) / 2, (self.b + self._valid[1]) / 2
        else:
            return np.full(len(self.y), np.nan)
        self._valid = self.a, self.b
        self.step(damping)
        return moved

    def step(self, damping: float = 1.0) -> None:
        """Let all sites move to where the last :meth:`refresh` found that they should be."""
        a, b = self._wanted
        self.a, self.b = self.a + damping * (a - self.a), self.b + damping * (b - self.b)
        self._fresh = None

    def refresh(self) -> NDArray:
        """Compute the posterior from the sites; how far each is from where it should be."""
        self._fresh = fresh = self.moments()
        self.mu, self.e, self.known, self.rough = fresh.mu, fresh.e.copy(), fresh.e, False
        *self._wanted, moved = self._next(fresh.e, fresh.f)
        return moved

    def expected_moves(self) -> NDArray:
        """How far each site would move: exact means, variances as they were at the last visit.

        It takes a few n d operations, a sweep 4 n d^2.
        """
        self._settle_mean()
        return self._next(self.e, self._outputs())[2]

    def restore(self, a: NDArray, b: NDArray) -> None:
        """Go back to sites of before."""
        self.a, self.b, self._fresh = a, b, None

    def remove_less(self) -> None:
        """Let the cavities of sites that weigh less than one copy lack no more than is there."""
        self.removed = np.minimum(self.weight, 1.0)

    def use(self, dtype: type) -> None:
        """Hold Sigma in this precision."""
        self.Sigma = self.Sigma.astype(dtype)

    @property
    def in_range_of_float32(self) -> bool:
        """Whether squares of features, and variances of weights and outputs, fit into float32."""
        variance = self.Sigma.diagonal()
        small = min(variance.min(), self.known[self.known > 0].min(initial=1.0))
        large = max(variance.max(), self.known.max(), self.Z.max(), -self.Z.min())
        return small > 1e-20 and large < 1e15

    def _next(self, e: NDArray, f: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        return _core.ep.all_sites(e, f, self.y, self.a, self.b, self.removed, *self.label)

    @property
    def shift(self) -> NDArray:
        """What all copies of each site add to the pull on its output."""
        return self.weight * self.a * self.y

    @property
    def rate(self) -> NDArray:
        """What all copies of each site add to the precision of its output."""
        return np.clip(self.weight * self.b, -LARGE, LARGE)

    # The posterior of the weights, which OutputSites replaces by that of the outputs ---------

    def _before(self) -> tuple[NDArray, NDArray, NDArray]:
        """mu, Sigma and the variances of the outputs before any label is seen."""
        variances = [self.prior.output_variance(self.Z[own]) for own in self._chunks()]
        covariance = np.asfortranarray(self.prior.covariance)
        return self.prior.mean.copy(), covariance, np.concatenate(variances)

    def _project(self, own: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Sigma phi^T, phi Sigma phi^T and phi mu of the points of a block."""
        gapless = own[-1] - own[0] == len(own) - 1  # then a slice, and no copy
        rows = self.Z[own[0] : own[-1] + 1] if gapless else self.Z[own]
        phi = rows.astype(self.Sigma.dtype, copy=False)
        gemm, _ = BLAS[phi.dtype]
        z = gemm(1.0, self.Sigma, phi.T)
        return z, gemm(1.0, phi.T, z, trans_a=True), blas.dgemv(1.0, rows.T, self.mu, trans=True)

    def _covariance(self, fresh: Moments) -> NDArray:
        return fresh.factor @ fresh.factor.T

    def _outputs(self) -> NDArray:
        return self.Z @ self.mu

    def _settle_mean(self) -> None:
        """Bring mu to where the sites pull it: Sigma, even in float32, is a good preconditioner.

        If it is not, ``rough`` says so.
        """
        prior = self.prior
        pull = prior.pull + self.Z.T @ self.shift
        sizes = []
        for _ in range(2):
            left = pull - prior.hold(self.mu) - self.Z.T @ (self.rate * self._outputs())
            step = self.Sigma @ left
            sizes.append(left @ step)
            self.mu = self.mu + step
        self.rough = not falls(sizes)

    def _chunks(self) -> Iterator[slice]:
        return (slice(begin, begin + CHUNK) for begin in range(0, len(self.y), CHUNK))

    def moments(self) -> Moments:
        """The posterior that the sites make, computed from nothing else."""
        factor, mu = self._weights()
        # F is triangular: half the operations of a full product.
        spreads = (blas.dtrmm(1.0, factor, self.Z[own].T, trans_a=1) for own in self._chunks())
        e = np.concatenate([np.square(spread).sum(axis=0) for spread in spreads])
        return self._sound(Moments(factor, mu, e, self.Z @ mu))

    def _weights(self) -> tuple[NDArray, NDArray]:
        """F and mu of the weights."""
        precision = self.prior.precision.copy()
        for own in self._chunks():
            rate = self.rate[own]
            # A product of a matrix with its own transpose takes half the time.
            for sign in (1, -1) if rate.min() < 0 else (1,):
                scaled = np.sqrt(np.maximum(sign * rate, 0))[:, None] * self.Z[own]
                precision += sign * (scaled.T @ scaled)
        if not np.isfinite(precision).all():
            raise LinAlgError("the sites overflow")
        L = cholesky(precision, lower=True, overwrite_a=True, check_finite=False)
        factor = np.asfortranarray(lapack.dtrtri(L, lower=1)[0].T)
        return factor, self.prior.mean + self._move(factor)

    def _sound(self, moments: Moments) -> Moments:
        if not (np.isfinite(moments.mu).all() and (moments.e >= self.floor).all()):
            raise LinAlgError("the posterior has collapsed")
        return moments

    def _move(self, factor: NDArray) -> NDArray:
        """How far the sites move the mean of the prior: exact where the prior is sure of it."""
        shift = self.shift - self.rate * (self.Z @ self.prior.mean)
        return factor @ (factor.T @ (self.Z.T @ shift))

    def result(self) -> TaskResult:
        """The posterior of the weights, its evidence and its cavities."""
        while self._fresh is None:
            try:
                self._fresh = self.moments()
            except LinAlgError:  # sites of a collapsed run: weaker ones make a valid posterior
                self.a, self.b = self.a / 2, self.b / 2
        _, _, e, f = self._fresh
        factor, mu = self._of_weights(self._fresh)
        left_out, constant = _core.ep.summary(
            e, f, self.y, self.a, self.b, self.removed, *self.label
        )
        log_det = 2 * np.log(factor.diagonal()).sum() - self.prior.log_determinant
        # mu^T Sigma^-1 mu - m^T Sigma_0^-1 m
        square = self._move(factor) @ self.prior.pull + self.shift @ f
        log_evidence = self.weight @ constant + 0.5 * log_det + 0.5 * square
        training_error = float((self.y * f <= 0).mean())
        return TaskResult(
            mu, factor, float(log_evidence), left_out, training_error,
            Messages(self.shift, self.rate),
        )  # fmt: skip

    def _of_weights(self, fresh: Moments) -> tuple[NDArray, NDArray]:
        return fresh.factor, fresh.mu


def falls(sizes: list[float]) -> bool:
    """Whether two steps of a refinement, measured by their squares, have become smaller."""
    first, second = np.abs(sizes)
    return bool(second <= max(0.25 * first, SETTLED))
