"""The sites of one task when weights are treated as independent."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError

from bayespoint import _core
from bayespoint._core.calls import Slices
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.tasks import (
    COLLAPSE,
    HESITANT,
    MANY,
    Iterations,
    Labels,
    TaskResult,
    log_evidence,
)
from bayespoint.spaces import Coordinates

COLLAPSED = 1e-60  # share of its prior variance that no weight of a sound posterior falls below
START = 1e-3  # share of its prior precision that messages to start from must leave a weight
PROBES = 3  # training points whose outputs are compared
STEPS = 10  # of conjugate gradients; far fewer where weights are nearly independent
ENOUGH = 0.05  # residual, relative, at which these stop
TINY = np.finfo(np.float64).tiny  # instead of a division by zero


class FactorisedSites:
    r"""Messages from each label to each weight of its row, and the product of Gaussians they make.

    The posterior is :math:`\prod_j N(w_j; \mu_j, \sigma_j^2)`. The cavity of a label leaves out its
    message to each weight. Mean and variance of the output of the label are sums over the row.

    Parameters
    ----------
    space : Coordinates
        The training points, as :func:`sparse_rows` gives them.
    prior : GaussianPrior
        With independent weights.
    labels : Labels
        What is learned from: -1 and +1.
    """

    def __init__(self, space: Coordinates, prior: GaussianPrior, labels: Labels) -> None:
        target, weight, likelihood, self._left_out = labels
        self.Z = space.rows()
        self.y = target.astype(np.float64)
        self.weight, self.likelihood, self.prior = weight, likelihood, prior
        self.a, self.b = np.zeros(self.Z.nnz), np.zeros(self.Z.nnz)
        self._removed = np.ones(len(target))  # copies of a site that its cavity lacks
        self._change = np.inf
        self.pull, self.precision = prior.pull.copy(), prior.root**-2.0
        self.last = np.zeros((len(target), 2))
        self._slices = Slices()
        variance = (self.Z * self.Z) @ prior.root**2
        self.radius = float(np.sqrt(variance.max(initial=0.0)))

    def _part(self, begin: int, end: int, removed: NDArray) -> tuple:
        """Some rows, what is known of their labels, and all messages, as compiled loops take it."""
        own = slice(begin, end)
        rows = self.Z.indptr[begin : end + 1], self.Z.indices, self.Z.data
        labels = self.y[own], removed[own], self.weight[own], self.last[own]
        sums = self.pull, self.precision
        return rows, labels, (self.a, self.b), sums, self.likelihood.constants

    def sweep(self, share: float) -> float:
        """Visit all sites in turn; the largest move. A LinAlgError: no posterior is left."""
        before = self.a.copy(), self.b.copy()
        self._change = 0.0
        for own in self._slices.of(len(self.y)):
            moved = _core.factorised.sweep_rows(*self._part(*own, self._removed), share)
            self._change = float(np.maximum(self._change, moved))  # NaN stays NaN
        sound = (self.precision * self.prior.root**2 < 1 / COLLAPSED).all()
        if np.isnan(self._change) or not sound:
            self.a, self.b = before
            raise LinAlgError("the posterior has collapsed")
        if np.isinf(self._change):  # no cavity: lack no more copies than are there
            self._removed = np.minimum(self.weight, 1.0)
        return self._change

    def start_from(self, other: FactorisedSites) -> None:
        """Take over the messages of the same rows, if they leave a posterior."""
        self.a, self.b, self.last = other.a, other.b, other.last
        self._add_up()
        if not (self.precision * self.prior.root**2 > START).all():
            self.a, self.b, self.last = (np.zeros_like(one) for one in (self.a, self.b, self.last))
            self._add_up()

    def totals(self) -> NDArray[np.float64]:
        """Shifts and rates of all messages to each weight, (2, d), computed anew."""
        weight = np.repeat(self.weight, np.diff(self.Z.indptr))
        d = len(self.prior.mean)
        return np.stack([np.bincount(self.Z.indices, weight * m, d) for m in (self.a, self.b)])

    def _add_up(self) -> NDArray[np.float64]:
        """Compute the posterior from the prior and all messages, whose totals are returned."""
        shift, rate = totals = self.totals()
        self.pull, self.precision = self.prior.pull + shift, self.prior.root**-2.0 + rate
        return totals

    def result(self) -> TaskResult:
        """The posterior, from sums of messages computed anew, its evidence and its cavities."""
        prior = self.prior
        shift, rate = self._add_up()
        left_out, constant, *_ = self.summary
        move = (shift - rate * prior.mean) / self.precision
        mean = prior.mean + move
        log_det = -2 * np.log(prior.root).sum() - np.log(self.precision).sum()
        square = move @ prior.pull + mean @ shift
        outputs = self.Z @ mean
        return TaskResult(
            mean,
            self.precision**-0.5,
            log_evidence(self.weight @ constant, log_det, square),
            left_out,
            float((self.y * outputs <= 0).mean()),
        )

    def variance_ratio(self) -> float:
        """Predictive variance over that of a full covariance, the one furthest from 1.

        The full posterior of the same Gaussian sites, one for each output, is asked at a few
        training points: a linear system each, solved roughly by conjugate gradients. (Its mean is
        the same: converged, both solve the same equation.)
        """
        *_, b = self.summary
        rate = self.weight * np.maximum(b, 0.0)
        _, noise, _ = self.likelihood.constants
        which = np.linspace(0, len(self.y) - 1, min(PROBES, len(self.y))).astype(np.intp)
        probes = self.Z[which].toarray()
        diagonal = self.prior.root**-2.0

        def hold(w: NDArray) -> NDArray:
            return diagonal[:, None] * w + self.Z.T @ (rate[:, None] * (self.Z @ w))

        inverse = 1 / (diagonal + (self.Z * self.Z).T @ rate)
        solved = solve(hold, inverse[:, None], probes.T)
        exact = np.maximum(np.einsum("pd,dp->p", probes, solved), 0) + noise
        found = np.square(probes) @ (1 / self.precision) + noise
        known = found > 0  # points without features and noise have no output to compare
        ratio = np.append(found[known] / np.maximum(exact[known], TINY), 1.0)
        return float(ratio[np.abs(np.log(ratio)).argmax()])

    @cached_property
    def summary(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Left-out probabilities, constants, and a, b of each output, when all sweeps are done."""
        left_out, constant, a, b = self._summarise(self._removed)
        if not np.array_equal(self._left_out, self._removed):
            left_out, *_ = self._summarise(self._left_out)
        return left_out, constant, a, b

    def _summarise(self, removed: NDArray) -> list[NDArray]:
        """The same with cavities that lack so many copies."""
        slices = self._slices.of(len(self.y))
        parts = [_core.factorised.summary_rows(*self._part(*own, removed)) for own in slices]
        return [np.concatenate(column) for column in zip(*parts, strict=True)]


class FactorisedSweeps(Iterations):
    """Sweeps over the rows of one task until no message moves.

    Parameters
    ----------
    sites : FactorisedSites
        The messages.
    share : float or None
        Share of each step; None is 1, and less if moves have not decreased in 20 sweeps.
    """

    has_cavities = True

    def __init__(self, sites: FactorisedSites, share: float | None) -> None:
        super().__init__()
        self.sites, self.share, self.is_damped = sites, share or 1.0, share is not None
        self.radius = sites.radius

    def visit(self, active: Any = None) -> None:
        """Sweep over all rows."""
        try:
            self.left = self.sites.sweep(self.share)
        except LinAlgError:
            self.reason = COLLAPSE

    def agrees(self, tol: float) -> bool:
        """Whether the last sweep moved no message by more."""
        if not self.is_damped:
            self.share = max(HESITANT, self.share_after(self.share, MANY))
        return self.left <= tol


def sparse_rows(space: Coordinates) -> Coordinates:
    """The same points as CSR rows in canonical form."""
    rows = sparse.csr_array(space.rows())
    if not rows.has_canonical_format:
        rows = rows.copy()  # the user's array stays as it is
        rows.sum_duplicates()
    return Coordinates(rows)


def solve(hold: Callable[[NDArray], NDArray], scale: NDArray, right: NDArray) -> NDArray:
    """Solve hold(x) = right for each column, roughly, by conjugate gradients.

    ``scale`` is about the inverse of the diagonal of ``hold``.
    """
    x, residual = np.zeros_like(right), right.copy()
    step = scale * residual
    size = (residual * step).sum(axis=0)
    first = np.maximum(size, TINY)
    for _ in range(STEPS):
        if (size <= ENOUGH**2 * first).all():
            break
        image = hold(step)
        length = size / np.maximum((step * image).sum(axis=0), TINY)
        x += length * step
        residual -= length * image
        before, size = size, (scale * residual**2).sum(axis=0)
        step = scale * residual + (size / np.maximum(before, TINY)) * step
    return x
