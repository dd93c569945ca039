"""The Gaussian sites of one task, whose weights have a full covariance."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, rq

from bayespoint import _core
from bayespoint.engines.gaussian.gaussians import WeightGaussian
from bayespoint.engines.gaussian.plain_sites import all_sites, constants
from bayespoint.engines.gaussian.prior import LARGE
from bayespoint.engines.gaussian.tasks import Labels, TaskResult, log_evidence
from bayespoint.posteriors import Messages
from bayespoint.tools.arrays import to_host

BLOCK = 48  # points a block; fastest of 32 ... 96 for 100 to 500 rows, and on MNIST as fast as 64
COARSE = 1e-4  # move down to which float32 is good enough
AT_REST = 0.3  # sites are left out while their expected move is below this share of tol
ACCURATE = 1e-3  # error of the mean, as a share of the last moves, that expected moves bear
HALVINGS = 30  # of a step that left no posterior, before the run is given up
COLLAPSED = 1e-24  # share of its prior variance that no output of a sound posterior falls below
# Labels that contradict each other, without noise or with little, leave outputs whose mean and
# standard deviation are rounding errors: up to 1e-7 of the prior's, where the kernel matrix has not
# full rank. Where a posterior has collapsed, or without noise has outputs of such a variance,
# deviations get this share of the prior's, in squares, so that such outputs are a tie.
TIE, ROUNDED = 0.01, 1e-12
# Share of its last exact value to which an output's variance may fall before Sigma is computed
# afresh: each subtraction of a sweep errs by the precision's unit of what it started from.
TRUSTED = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-3}


class Sites:
    """The sites of one task, a_i and b_i, and the Gaussian that they make.

    Parameters
    ----------
    gaussian : WeightGaussian
        The prior, of the weights or of the outputs; sweeps change it.
    labels : Labels
        What is learned from.
    at_once : bool, default=False
        Whether all sites change together, instead of one after another.

    Attributes
    ----------
    a, b : ndarray of shape (n,)
        The site of a label y is exp(a y f - b f^2 / 2).
    radius : float
        Standard deviation of the outputs before any label is seen, the largest.
    """

    def __init__(self, gaussian: WeightGaussian, labels: Labels, *, at_once: bool = False) -> None:
        target, weight, likelihood, self._left_out = labels
        n = len(target)
        self.gaussian, self.at_once = gaussian, at_once or likelihood.code is None
        self.labels, self.weight = target, weight
        self.likelihood = likelihood.started(target, weight, gaussian.variances)
        self.y, self._bounds = likelihood.signs(target), self.likelihood.bounds(target)
        self.a, self.b = np.zeros(n), np.zeros(n)
        self._before = self.a, self.b  # as the last sweep found them
        self._removed = np.ones(n)  # copies of a site that its cavity lacks
        self._visited, self._tie = np.arange(n), 0.0  # least deviation, as a share of the prior's
        self._change = np.inf  # the largest move that the last sweep made
        self._left = self._last_left = np.inf  # that is left, now and after the sweep before
        self._floor = COLLAPSED * gaussian.variances
        self.radius = float(np.sqrt(gaussian.variances.max(initial=0.0)))
        self.e: NDArray  # variances of the outputs, as the last visit left each
        self._known: NDArray  # the same when all were last known exactly
        self._take(gaussian.variances, gaussian.space.outputs(gaussian.prior.mean))

    @property
    def _sites(self) -> tuple[NDArray, ...]:
        """As compiled loops take them."""
        return self.y, self.a, self.b, self._removed

    @property
    def _law(self) -> tuple[tuple[float, ...], NDArray]:
        """What labels say, as compiled loops take it."""
        return self.likelihood.constants, self._bounds

    @property
    def shift(self) -> NDArray:
        """What all copies of each site add to the pull on its output."""
        return self.weight * self.a * self.y

    @property
    def rate(self) -> NDArray:
        """What all copies of each site add to the precision of its output."""
        return np.clip(self.weight * self.b, -LARGE, LARGE)

    def begin(self, a: NDArray, b: NDArray) -> bool:
        """Begin with these sites instead of none, if they make a posterior; whether they do."""
        none, (self.a, self.b) = (self.a, self.b), (a, b)
        try:
            self._compute()
        except LinAlgError:
            self.a, self.b = none
            self._compute()
        return self.a is a

    def sweep(self, share: float) -> float:
        """Let sites change, those that are expected to; the largest move.

        Where many have small moves left, and the moments of all are known exactly, they are made
        together, as long as that makes them much smaller.
        """
        falls = self._left < min(self._change / 2, COARSE)
        many = len(self._visited) > len(self.y) / 3
        together = self.at_once or (self._exact and share == 1 and falls and many)
        self._change = self._together(share) if together else self._in_turn(share)
        if np.isinf(self._change):  # a site had no cavity: lack no more copies than are there
            self._removed = np.minimum(self.weight, 1.0)
        return self._change

    def moves_left(self, tol: float) -> float:
        """How far the site that is furthest from where it should be would move.

        The answer is exact, from a posterior computed afresh, if it is not above ``tol``. Else it
        comes from exact means and the variances of the last visits, which takes a few n d
        operations instead of 2 n d^2.
        """
        if not self._exact:
            f = self.gaussian.settle(self.shift, self.rate, ACCURATE * min(self._change, 1.0))
            if f is not None:
                self._expect(self.e, f)
            enough = max(tol, COARSE if self.gaussian.is_single else 0.0)
            if f is None or self._left <= enough or self._left > self._last_left:
                self._renew()
        self._last_left = self._left
        self._visited = np.flatnonzero(self._moves > AT_REST * tol)
        return self._left

    def result(self) -> TaskResult:
        """The posterior of the weights, its evidence and its cavities."""
        while not self._exact:
            try:
                self._compute()
            except LinAlgError:  # sites of a collapsed run: weaker ones make a valid posterior
                if not self._has_prior:
                    raise ValueError(
                        "The prior, such as the posterior of earlier batches, is lost in rounding "
                        "errors. Scale the features to mean 0 and variance 1, or set a smaller "
                        "prior_scale."
                    ) from None
                self.a, self.b = self.a / 2, self.b / 2
        space, prior, factor = self.gaussian.space, self.gaussian.prior, self.gaussian.factor
        move = prior.moved(space, factor, self.shift, self.rate)
        square = move @ prior.pull + self.shift @ self._f
        factor = to_host(factor)
        if self.likelihood.code is None:
            constant = constants(self.likelihood, self.labels, (self.e, self._f), self._sites)
        else:
            _, constant = _core.ep.summary((self.e, self._f), self._sites, *self._law)
        log_det = 2 * np.log(factor.diagonal()).sum() - prior.log_determinant
        if self.likelihood.noise == 0 and (self.e * COLLAPSED < ROUNDED * self._floor).any():
            self._tie = TIE
        if self._tie:
            factor = rq(np.hstack([factor, self._tie * prior.matrix]), mode="economic")[0]
            factor *= np.sign(factor.diagonal())
        evidence = log_evidence(float(self.weight @ constant), log_det, square)
        left_out = self.likelihood.forecast(self.labels, *self._cavities(self._left_out))
        error = float(self.likelihood.errors(self.labels, self._f).mean())
        learned = Messages(self.shift, self.rate), self.likelihood
        return TaskResult(self.gaussian.mean, factor, evidence, left_out, error, *learned)

    def adapt(self, tol: float) -> bool:
        """Let the likelihood learn from the cavities; whether sites have to move then."""
        space, factor = self.gaussian.space, self.gaussian.factor
        better = self.likelihood.adapted(
            self.labels,
            self.weight,
            *self._cavities(self._removed),
            lambda forces: space.outputs(space.covary(factor, forces)),
            tol,
        )
        if better is None:
            return False
        self.likelihood, self._bounds = better, better.bounds(self.labels)
        self._change = self._last_left = np.inf
        self._expect(self._known, self._f)
        self._visited = np.arange(len(self.y))
        return self._left > tol

    def _cavities(self, copies: NDArray) -> tuple[NDArray, NDArray]:
        """Mean and variance of y f without copies of its site; with all where nothing is left."""
        mean, variance = _core.ep.cavities((self.e, self._f), (self.y, self.a, self.b, copies))
        lost = np.isnan(variance)
        return np.where(lost, self.y * self._f, mean), np.where(lost, self.e, variance)

    def _in_turn(self, share: float) -> float:
        """Let one site after another change; the largest move."""
        self._before = self.a.copy(), self.b.copy()
        moved = np.zeros(len(self.y))
        begin, renewed = 0, False
        while begin < len(self._visited):
            own = self._visited[begin : begin + BLOCK]
            moved[own] = self._visit(own, share)
            lost = np.flatnonzero(np.isnan(moved[own]))
            if len(lost) == 0:
                begin, renewed = begin + BLOCK, False
                continue
            if renewed and lost[0] == 0:
                self._give_up("a variance is lost in rounding errors")
            begin, renewed = begin + lost[0], True
            self._renew()
        return largest(moved)

    def _together(self, share: float) -> float:
        """Let all sites change at once, from where the last exact posterior saw them."""
        self._before = before = self.a, self.b
        move, (a, b) = self._left, self._wanted
        self.a, self.b = self.a + share * (a - self.a), self.b + share * (b - self.b)
        for _ in range(HALVINGS):
            try:
                self._compute()
                return move
            except LinAlgError:  # sites of negative precision went too far: half the way back
                self.a, self.b = (self.a + before[0]) / 2, (self.b + before[1]) / 2
        return self._give_up("no step leaves a posterior")

    def _visit(self, own: NDArray, share: float) -> NDArray:
        """Steps 1 to 4 for the sites of a block, one after another; how far each has moved."""
        z, K, f = self.gaussian.project(own)
        y, a, b, removed = (one[own] for one in self._sites)
        e, floor = self.e[own], TRUSTED[z.dtype] * self._known[own]
        block = y, a, b, removed, self.weight[own], floor, e
        law, bounds = self._law
        bounds = None if bounds is None else bounds[own]
        K = np.ascontiguousarray(K, np.float64)
        U, down, g, moved = _core.ep.sweep_block(K, f, block, law, share, bounds)
        self.a[own], self.b[own], self.e[own] = a, b, e
        self.gaussian.update(z, U, down, g)
        self._exact = False
        return moved

    @cached_property
    def _has_prior(self) -> bool:
        """Whether the prior alone is a Gaussian, to the digits that there are."""
        zeros = np.zeros(len(self.y))
        try:
            e, _ = self.gaussian.renew(zeros, zeros)
        except LinAlgError:
            return False
        return bool((e >= self._floor).all())

    def _renew(self) -> None:
        """Compute the posterior from the sites; if there is none, go back to the last sites."""
        try:
            self._compute()
        except LinAlgError as error:
            self._give_up(str(error))

    def _compute(self) -> None:
        """Compute the posterior from the sites, and how far each is from where it should be."""
        self._exact = False
        e, f = self.gaussian.renew(self.shift, self.rate)
        if not (e >= self._floor).all():
            raise LinAlgError("the posterior has collapsed")
        self._take(e, f)

    def _take(self, e: NDArray, f: NDArray) -> None:
        """Remember the exact moments of all outputs."""
        self._exact, self.e, self._known, self._f = True, e.copy(), e, f
        self._expect(e, f)

    def _expect(self, e: NDArray, f: NDArray) -> None:
        """Steps 1 to 3 for all sites: what each should be, and how far it is from that."""
        if self.likelihood.code is None:
            found = all_sites(self.likelihood, self.labels, (e, f), self._sites)
        else:
            found = _core.ep.all_sites((e, f), self._sites, *self._law)
        *self._wanted, self._moves = found
        self._left = largest(self._moves)

    def _give_up(self, why: str) -> float:
        (self.a, self.b), self._tie = self._before, TIE
        raise LinAlgError(why)


def largest(moves: NDArray) -> float:
    """The largest of the moves; NaN if one of them is."""
    return float(moves.max(initial=0.0))
