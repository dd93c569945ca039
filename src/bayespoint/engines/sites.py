"""The Gaussian sites of one task, and the two ways to sweep over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cholesky, solve_triangular

from bayespoint import _core
from bayespoint.engines.prior import LARGE, GaussianPrior
from bayespoint.engines.results import TaskResult
from bayespoint.posteriors import Messages

BLOCK = 64  # points a block; fastest of 16 ... 256 on MNIST
HALVINGS = 30  # of a step that left no posterior, before the run is given up
CHUNK = 4096  # points whose products are held at a time
COLLAPSED = 1e-24  # share of its prior variance that no output of a sound posterior falls below
# Share of its last exact value to which an output's variance may fall before Sigma is computed
# afresh: each subtraction of a sweep errs by the precision's unit of what it started from.
TRUSTED = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-3}


class Label(NamedTuple):
    """How labels come from outputs: variance beta^2 of the noise, and the rate of flips."""

    noise: float
    flip: float = 0.0


class Sites:
    """The sites of one task, a_i and b_i, and the Gaussian N(mu, Sigma) that they make.

    Sigma is held in float64 or, for the first sweeps, in float32, where products take half the
    time; :meth:`refresh` computes it from the sites, in float64.
    """

    def __init__(
        self, Z: NDArray, target: NDArray, weight: NDArray, label: Label, prior: GaussianPrior
    ) -> None:
        n = len(Z)
        self.Z = np.ascontiguousarray(Z)
        self.y = target.astype(np.float64)
        self.weight = weight
        self.label = label
        self.prior = prior
        self.a, self.b = np.zeros(n), np.zeros(n)
        self._valid = self.a, self.b  # the last ones that made a posterior
        self.removed = np.ones(n)  # copies of a site that its cavity lacks
        self.mu = prior.mean.copy()
        self.Sigma = np.asfortranarray(prior.covariance)
        self.e = prior.output_variance(self.Z)  # variances when each site was last visited
        self.known = self.e.copy()  # and when Sigma was last exact
        self.floor = COLLAPSED * self.e
        self.radius = float(np.sqrt(self.known.max(initial=0.0)))

    def sweep_in_turn(self, damping: float, which: NDArray | None = None) -> NDArray:
        """Visit all sites, or ``which`` of them, one after another; how far each has moved.

        NaN means that the posterior has collapsed: variances are beyond the precision.
        """
        moved = np.zeros(len(self.y))
        which = np.arange(len(self.y)) if which is None else which
        begin, fresh = 0, False
        while begin < len(which):
            own = which[begin : begin + BLOCK]
            moved[own] = self._visit(own, damping)
            lost = np.flatnonzero(np.isnan(moved[own]))
            if len(lost) == 0:
                begin, fresh = begin + BLOCK, False
                continue
            if fresh and lost[0] == 0:
                return moved
            begin, fresh = begin + lost[0], True
            try:
                self.refresh()
            except LinAlgError:
                return moved
        self.Sigma = np.asfortranarray((self.Sigma + self.Sigma.T) / 2)
        return moved

    def _visit(self, own: NDArray, damping: float) -> NDArray:
        """Visit the sites of a block, and update mu and Sigma by all that has changed."""
        dtype = self.Sigma.dtype
        # A slice where the block has no gaps: no copy.
        gapless = own[-1] - own[0] == len(own) - 1
        rows = self.Z[own[0] : own[-1] + 1] if gapless else self.Z[own]
        phi = rows.astype(dtype, copy=False)
        z = (phi @ self.Sigma).T  # Sigma phi^T, twice as fast for this order in memory
        a, b, e = self.a[own], self.b[own], self.e[own]
        T, g, moved = _core.ep.sweep_block(
            (phi @ z).astype(np.float64, copy=False), rows @ self.mu, self.y[own],
            self.weight[own], a, b, self.removed[own], TRUSTED[dtype] * self.known[own],
            *self.label, damping, e,
        )  # fmt: skip
        self.a[own], self.b[own], self.e[own] = a, b, e
        gemm = blas.dgemm if dtype == np.float64 else blas.sgemm
        self.Sigma = gemm(  # Sigma - z T z^T, in place
            -1.0, z @ T.astype(dtype, copy=False), z, 1.0, self.Sigma, trans_b=True,
            overwrite_c=True,
        )  # fmt: skip
        self.mu += z @ g
        return moved

    def sweep_at_once(self, damping: float) -> NDArray:
        """Change all sites together; how far each would move undamped (NaN: collapsed)."""
        for _ in range(HALVINGS):
            try:
                _, _, e, f = self.moments()
                break
            except LinAlgError:  # sites of negative precision went too far: half the way back
                self.a, self.b = (self.a + self._valid[0]) / 2, (self.b + self._valid[1]) / 2
        else:
            return np.full(len(self.y), np.nan)
        a, b, moved = self._next(e, f)
        self._valid = self.a, self.b
        self.a = self.a + damping * (a - self.a)
        self.b = self.b + damping * (b - self.b)
        return moved

    def refresh(self) -> NDArray:
        """Compute mu and Sigma from the sites; how far each site is from where it should be."""
        factor, self.mu, e, f = self.moments()
        self.Sigma = np.asfortranarray(factor @ factor.T)
        self.known, self.e = e, e.copy()
        return self._next(e, f)[2]

    def expected_moves(self) -> NDArray:
        """How far each site would move: exact means, variances as they were at the last visit.

        It takes 2 n d operations, a sweep 4 n d^2.
        """
        return self._next(self.e, self.Z @ self.mu)[2]

    @property
    def in_range_of_float32(self) -> bool:
        """Whether squares of features, and variances of weights and outputs, fit into float32."""
        variance = self.Sigma.diagonal()
        small = min(variance.min(), self.known[self.known > 0].min(initial=1.0))
        return small > 1e-20 and max(variance.max(), self.known.max(), self.Z.max()) < 1e15

    def use(self, dtype: type) -> None:
        """Hold Sigma in this precision."""
        self.Sigma = self.Sigma.astype(dtype)

    def remove_less(self) -> None:
        """Let the cavities of sites that weigh less than one copy lack no more than is there."""
        self.removed = np.minimum(self.weight, 1.0)

    def _next(self, e: NDArray, f: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        return _core.ep.all_sites(e, f, self.y, self.a, self.b, self.removed, *self.label)

    def moments(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """F with Sigma = F F^T, mu, and the variances e and means f of the outputs."""
        n, d = self.Z.shape
        precision = self.prior.precision.copy()
        rate = np.clip(self.weight * self.b, -LARGE, LARGE)
        chunks = [slice(begin, begin + CHUNK) for begin in range(0, n, CHUNK)]
        for own in chunks:
            # A product of a matrix with its own transpose takes half the time.
            for sign in (1, -1) if rate[own].min() < 0 else (1,):
                scaled = np.sqrt(np.maximum(sign * rate[own], 0))[:, None] * self.Z[own]
                precision += sign * (scaled.T @ scaled)
        if not np.isfinite(precision).all():
            raise LinAlgError("the sites overflow")
        L = cholesky(precision, lower=True, overwrite_a=True, check_finite=False)
        factor = solve_triangular(L, np.eye(d), lower=True, overwrite_b=True).T
        pull = self.prior.pull + self.Z.T @ (self.weight * self.a * self.y)
        mu = factor @ (factor.T @ pull)
        e = np.concatenate([np.square(self.Z[own] @ factor).sum(axis=1) for own in chunks])
        if not (np.isfinite(mu).all() and (e >= self.floor).all()):
            raise LinAlgError("the posterior has collapsed")
        return np.ascontiguousarray(factor), mu, e, self.Z @ mu

    def result(self) -> TaskResult:
        """The posterior, computed afresh from the sites, its evidence and its cavities."""
        while True:
            try:
                factor, mu, e, f = self.moments()
                break
            except LinAlgError:  # sites of a collapsed run: weaker ones make a valid posterior
                self.a, self.b = self.a / 2, self.b / 2
        left_out, constant = _core.ep.summary(
            e, f, self.y, self.a, self.b, self.removed, *self.label
        )
        log_det = 2 * np.log(factor.diagonal()).sum() - self.prior.log_determinant
        square = mu @ self.prior.pull + self.weight @ (self.a * self.y * f)  # mu^T Sigma^-1 mu
        square -= self.prior.mean @ self.prior.pull
        log_evidence = self.weight @ constant + 0.5 * log_det + 0.5 * square
        wrong = self.weight @ (left_out <= np.log(0.5)) / self.weight.sum()
        training_error = float((self.y * f <= 0).mean())
        messages = Messages(self.weight * self.a * self.y, self.weight * self.b)
        return TaskResult(
            mu, factor, float(log_evidence), left_out, float(wrong), training_error, messages
        )
