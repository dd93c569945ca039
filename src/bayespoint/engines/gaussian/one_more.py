"""Leave-one-out predictions of expectation propagation with one more row, of either label.

Full conformal sets need them: the new row is added to the training rows with each label in turn,
and the label of each of the n + 1 rows is predicted from the n others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.sites import cavities, matched, standing
from bayespoint.posteriors import GaussianPosterior
from bayespoint.spaces import Coordinates
from bayespoint.spaces.coordinates import inverse_root

TOL = 1e-4  # largest move of a site at the end, as ``tol`` of the engine measures it
FAILED = 1e-2  # move after the last iteration from which a new row is done exactly
MOST = 30  # iterations; five to ten are usual
BATCH = 64  # new rows at a time
SIGNS = np.array([-1.0, 1.0])
NARROWEST = 1e-9  # share of its variance before that an output keeps
WORK = 3e6  # n d^2 up to which posteriors are computed afresh: about 4 ms for both labels
SPAN = 1e-7  # share of the largest variance below which a direction does not matter

Moments = Callable[[NDArray, NDArray, NDArray], tuple[NDArray, NDArray]]


class OneMore:
    """The task of a classifier, to whose n rows one more is added.

    Answers are logarithms of p(label of a row | labels of the n others), of shape
    (n_new, 2, n + 1): for each new row and each of its labels -1 and +1, the new row last.

    Parameters
    ----------
    posterior : GaussianPosterior
        Of all tasks, with the messages of its training rows.
    task : int
        Which of them.
    Z : ndarray of shape (n, d)
        Coordinates of the training rows.
    target : ndarray of shape (n,)
        Their labels -1 and +1 in this task.
    few : int, default=30
        Coordinates that are taken as they are; of more, those directions that matter.
    """

    def __init__(
        self, posterior: GaussianPosterior, task: int, Z: NDArray, target: NDArray, few: int = 30
    ) -> None:
        assert posterior.messages is not None
        self.Z, self.y, self.few = Z, target.astype(np.float64), few
        self.law = posterior.likelihood
        self.mean, self.factor = posterior.mean[:, task], posterior.factor[task]
        self.shift, self.rate = (message[:, task] for message in posterior.messages)

    def answers(self, new: NDArray) -> NDArray[np.float64]:
        """The answers of new rows, given by their coordinates."""
        if len(self.y) * self._basis.shape[1] ** 2 <= WORK:
            return np.stack([self._afresh(one) for one in new])
        answers, failed = self.perturbed(new)
        for i in np.flatnonzero(failed):
            answers[i] = self._afresh(new[i])
        return answers

    def refitted(self, rows: NDArray, prior: GaussianPrior | None = None) -> NDArray[np.float64]:
        r"""The answers of one new row, (2, n + 1); ``rows`` are coordinates of all n + 1.

        They may differ from Z where the scaling of the features sees the new row as well. The
        posterior is computed afresh in each iteration, :math:`n d^2` operations. The prior is what
        the posterior is without the messages of its rows.
        """
        space, prior = Coordinates(rows), prior or self._prior

        def moments(shift: NDArray, rate: NDArray, _: NDArray) -> tuple[NDArray, NDArray]:
            factor, mean = prior.given(space, shift[:, 0], rate[:, 0])
            e = space.variances(factor, is_triangular=True)
            return e[:, None], space.outputs(mean)[:, None]

        return np.array([self._iterate(np.array([sign]), moments)[0][:, 0] for sign in SIGNS])

    @cached_property
    def _basis(self) -> NDArray[np.float64]:
        """Orthonormal directions in which the training rows differ, (d, r)."""
        d = self.Z.shape[1]
        if d <= self.few:
            return np.eye(d)
        sizes, directions = np.linalg.eigh(self.Z.T @ self.Z)
        return directions[:, sizes > SPAN * sizes[-1]]

    @cached_property
    def _prior(self) -> GaussianPrior:
        """The prior of the weights in the basis."""
        Z, mean = self.Z @ self._basis, self._basis.T @ self.mean
        half = self._basis.T @ self.factor
        try:
            root = np.linalg.inv(np.linalg.cholesky(half @ half.T))
            precision = root.T @ root - Coordinates(Z).curvature(self.rate)
            pull = root.T @ (root @ mean) - Z.T @ self.shift
            root = inverse_root((precision + precision.T) / 2)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(
                "Labels tell so much more of the weights than the prior that rounding hides the "
                "prior."
            ) from None
        return GaussianPrior(root @ (root.T @ pull), root)

    def _afresh(self, new: NDArray) -> NDArray[np.float64]:
        """The answers of one new row, with one more weight for what of it is outside the basis."""
        known = new @ self._basis
        outside = np.linalg.norm((new - self._basis @ known) @ self.factor)
        rows = np.vstack([self.Z @ self._basis, known])
        rows = np.column_stack([rows, np.append(np.zeros(len(self.y)), outside)])
        prior = self._prior
        return self.refitted(
            rows, GaussianPrior(np.append(prior.mean, 0.0), block_diag(prior.root, 1.0))
        )

    def perturbed(self, new: NDArray) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        r"""The answers of new rows in :math:`n^2` operations, and where iterations failed.

        With C the posterior covariance of the outputs of the training rows, c and v the covariances
        and the variance of the new one, the site of the new row is a rank-one change,
        :math:`C' = C - \delta c c^T`. It moves the sites of the others by little, D and H in rate
        and shift. Means follow exactly, :math:`f = f' + C' (H - D f)`, and variances to the first
        order, :math:`e_i = e_i' - \sum_j C_{ij}'^2 D_j / (1 + D_j e_j')`.
        """
        parts, failed = [], []
        for begin in range(0, len(new), BATCH):
            part = np.repeat(new[begin : begin + BATCH], 2, axis=0)  # a column for each label
            signs = np.tile(SIGNS, len(part) // 2)
            answers, moves = self._iterate(signs, self._perturbation(part))
            parts.append(answers.T.reshape(-1, 2, len(answers)))
            failed.append(moves.reshape(-1, 2).max(axis=1) > FAILED)
        return np.concatenate(parts), np.concatenate(failed)

    @cached_property
    def _outputs(self) -> tuple[NDArray, NDArray, NDArray]:
        """V, C = V V^T and its squares."""
        V = self.Z @ self.factor
        C = V @ V.T
        return V, C, C * C

    def _perturbation(self, part: NDArray) -> Moments:
        """Moments of the outputs of all rows, with one of some new rows in each column."""
        V, C, squares = self._outputs
        e, f = C.diagonal()[:, None], (self.Z @ self.mean)[:, None]
        spread, means = part @ self.factor, part @ self.mean
        covariances, variances = V @ spread.T, np.square(spread).sum(axis=1)
        before = np.vstack([f + 0 * covariances, means])

        def moments(shift: NDArray, rate: NDArray, own: NDArray) -> tuple[NDArray, NDArray]:
            c, v, m, last = covariances[:, own], variances[own], means[own], before[:-1, own]
            down = 1 / (1 + rate[-1] * v)
            delta, along = rate[-1] * down, (shift[-1] - rate[-1] * m) * down
            near = e - delta * c * c
            D = rate[:-1] - self.rate[:, None]
            force = shift[:-1] - self.shift[:, None] - D * last
            pull = (c * force).sum(axis=0)
            # One step of Jacobi's method for the means: rows meet themselves exactly.
            mean = f + along * c + C @ force - delta * c * pull + D * near * last
            before[:, own] = np.vstack([mean / (1 + D * near), m + v * along + down * pull])
            D = D / (1 + D * near)
            square = (c * c * D).sum(axis=0)
            cross = squares @ D - 2 * delta * c * (C @ (c * D)) + delta**2 * c * c * square
            variance = np.vstack([near - cross, v * down - down**2 * square])
            return np.maximum(variance, NARROWEST * np.vstack([e + 0 * c, v])), before[:, own]

        return moments

    def _iterate(self, signs: NDArray, moments: Moments) -> tuple[NDArray, NDArray]:
        """Let all sites change at once until they rest; columns are new rows with a label each.

        Returns the answers, and how far a site of each column would still move.
        """

        def with_new(old: NDArray, last: NDArray) -> NDArray:
            return np.vstack([np.repeat(old[:, None], len(signs), axis=1), last])

        y = with_new(self.y, signs)
        a, b = (with_new(known, 0 * signs) for known in (self.shift, self.rate))
        answers, left, share = np.empty(y.shape), np.full(len(signs), np.inf), np.ones(len(signs))
        own = np.arange(len(signs))  # columns that are not at rest yet
        for step in range(MOST):
            labels, sites = y[:, own], (a[:, own], b[:, own])
            e, f = moments(*sites, own)
            new_a, new_b, moves = matched(self.law, labels, (e, f), sites, 1.0)
            moves = moves.max(axis=0)
            done = (moves < TOL) | (step == MOST - 1)
            if done.any():
                m, v = standing(cavities((e, f), sites, 1.0), (e, f))
                answers[:, own[done]] = self.law.site(labels, m, v)[0][:, done]
            grows = moves > left[own]
            share[own] = np.where(
                grows, np.maximum(share[own] / 2, 0.05), np.fmin(1.2 * share[own], 1)
            )
            left[own] = moves
            a[:, own] += share[own] * (new_a - sites[0])
            b[:, own] += share[own] * (new_b - sites[1])
            own = own[~done]
            if not len(own):
                break
        return answers, left
