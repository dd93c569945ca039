r"""The Gaussian of all classes that messages of the points make.

A point sends its C outputs the message :math:`\exp(h^T f - f^T \Pi f / 2)` with shifts h, rates r
and :math:`\Pi = \operatorname{diag}(r) - r r^T / \sum_c r_c`. Both the sites of the argmax model
(with the noise of the own output integrated out) and the curvature of the softmax have this form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cho_solve, cholesky, lapack

from bayespoint.engines.gaussian.prior import IndependentPrior
from bayespoint.posteriors.joint import contrasts
from bayespoint.spaces import Coordinates
from bayespoint.spaces.coordinates import inverse_root
from bayespoint.tools.arrays import Array, beside, is_tensor, namespace, to_host
from bayespoint.tools.numbers import EPSILON, TINY

BYTES, DEVICE_BYTES = 2**26, 2**30  # memory for a part of the points


def coupled(rate: NDArray, f: NDArray) -> NDArray[np.float64]:
    """Pi f of each point, for outputs of shape (n, C) or (n, C, k).

    Only differences of outputs count. They are taken from the class of the largest rate, which may
    be larger than the sum of all others by more digits than there are.
    """
    points, largest = np.arange(len(rate)), rate.argmax(axis=1)
    share = rate / rate.sum(axis=1, keepdims=True).clip(TINY)  # rates underflow to 0
    f = f - f[points, largest][:, None]
    if f.ndim == 3:
        rate, share = rate[..., None], share[..., None]
    return rate * (f - (share * f).sum(axis=1, keepdims=True))


def precisions(rate: Array) -> Array:
    """Pi of each point, shape (n, C, C), to all digits even where one rate is by far largest."""
    each, total = list(range(rate.shape[1])), rate.sum(axis=1)[:, None].clip(TINY)
    Pi = -rate[:, :, None] * (rate / total)[:, None, :]
    others = rate @ beside(rate, 1 - np.eye(len(each)))
    Pi[:, each, each] = rate * others / total
    return Pi


class JointGaussian(ABC):
    """The posterior of all weights, given messages, in coordinates u: the weights less their prior.

    It answers what :class:`WeightGaussian` does, for C outputs of each point: weights are (d, C),
    outputs (n, C), and the precision P of the prior couples the classes.

    Parameters
    ----------
    space : Coordinates
        The training points.
    prior : IndependentPrior or DependentPrior
        Of the weights.

    Attributes
    ----------
    start : ndarray of shape (n, C)
        Means of the outputs before any label is seen.
    covariances : ndarray of shape (n, C, C)
        Their covariances, less their mean over the classes.
    common : ndarray of shape (n,)
        Variances of this mean, which no message changes. A wide prior makes them so large that the
        differences of outputs would be lost beside them.
    log_determinant : float
        Of the covariance of the weights over that of the prior.
    width : int
        Of the matrices that are factorised.
    """

    width: int
    cheap_steps = 0
    is_single = suits_single = can_look_ahead = False

    def __init__(self, space: Coordinates, prior: Any) -> None:
        self.space, self.prior = space, prior
        self.origin = np.zeros_like(prior.mean)
        self.start = space.outputs(prior.mean)
        self.covariances, self.common = apart(prior.output_covariances(space))
        self.log_determinant = 0.0

    def push(self, u: NDArray) -> NDArray[np.float64]:
        """Z u, the change of outputs."""
        return self.space.outputs(u)

    def residual(self, forces: NDArray, u: NDArray) -> NDArray[np.float64]:
        """Z^T s - P u: what forces s on the outputs leave of the gradient at u."""
        return self.space.pull(forces) - self.prior.hold(u)

    def inner(self, u: NDArray, step: NDArray, change: NDArray) -> float:
        """u^T P d, for a step d."""
        return float(np.vdot(u, self.prior.hold(step)))

    def along(self, residual: NDArray, step: NDArray, change: NDArray) -> float:
        """g^T d, for a gradient and a step d."""
        return float(np.vdot(residual, step))

    def solve(self, residual: NDArray) -> tuple[NDArray, NDArray]:
        """The covariance of the weights times a gradient, and how this changes the outputs."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is an error
            step = self.times_covariance(residual)
            return step, self.push(step)

    @abstractmethod
    def factorise(self, rate: NDArray) -> None:
        """Prepare products with the covariance that these rates make."""

    @abstractmethod
    def times_covariance(self, pull: NDArray) -> NDArray[np.float64]:
        """The covariance of the weights times (d, C) numbers."""

    @abstractmethod
    def moments(self) -> NDArray[np.float64]:
        """Covariances of the outputs of each point, less their mean over the classes."""

    @abstractmethod
    def factors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Own and shared factors of the covariance, as of :class:`JointPosterior`."""


class WeightJoint(JointGaussian):
    r"""By one precision matrix of the weights of C - 1 contrasts :math:`W H`.

    Messages have no information on the mean over all classes, :math:`\Pi 1 = 0`: it keeps its prior
    and is independent of the contrasts. A matrix takes :math:`C^2 n d^2 + ((C - 1) d)^3`
    operations. If the points are on a device, so are the matrices of the weights.
    """

    def __init__(self, space: Coordinates, prior: Any) -> None:
        super().__init__(space, prior)
        self._H = contrasts(prior.mean.shape[1])
        precision, root, self._prior_log_determinant, self._common = prior.in_contrasts()
        self._factor = space.there(root)
        self._prior_precision = space.there(np.asfortranarray(precision))
        self.width = len(self._factor)

    def factorise(self, rate: NDArray) -> None:
        """Factorise the precision of the contrasts, a matrix of (C - 1) d rows."""
        d, size = len(self.prior.mean), self._H.shape[1]
        xp, H = namespace(self._prior_precision), self.space.there(self._H)
        precision = xp.empty_like(self._prior_precision)  # of which the lower half counts
        precision[:] = self._prior_precision
        for here, some in small_parts(self.space, 8 * size * d):
            room = xp.empty(len(some) * size * d, dtype=xp.float64, device=some.device)
            told = H.T @ precisions(self.space.there(rate[here])) @ H
            for a in range(size):
                up_to = told[:, a, : a + 1]  # half of it: the matrix is symmetric
                held = room[: len(some) * (a + 1) * d].reshape(*up_to.shape, d)
                xp.multiply(up_to[:, :, None], some[:, None, :], out=held)
                total = some.T @ held.reshape(len(some), -1)
                precision[a * d : (a + 1) * d, : (a + 1) * d] += total
        self._factor = inverse_root(precision)
        logs = float(xp.log(self._factor.diagonal()).sum())
        self.log_determinant = 2 * logs - self._prior_log_determinant

    def times_covariance(self, pull: NDArray) -> NDArray[np.float64]:
        """F F^T v."""
        told = self._times_contrasts((pull @ self._H).T.ravel()).reshape(-1, len(pull)).T
        common = self._common @ (self._common.T @ pull.mean(axis=1))
        return np.asarray(told @ self._H.T + common[:, None])

    def moments(self) -> NDArray[np.float64]:
        """Covariances of the outputs of each point, less their mean over the classes."""
        return np.asarray(self._H @ self._contrast_covariances() @ self._H.T)

    def _times_contrasts(self, pull: NDArray) -> NDArray[np.float64]:
        """The covariance of the weights of the contrasts times numbers."""
        if is_tensor(self._factor):
            return to_host(self._factor @ (self._factor.T @ self.space.there(pull)))
        flat = blas.dtrmv(self._factor.T, pull, lower=1)
        return blas.dtrmv(self._factor.T, flat, lower=1, trans=1)

    def _contrast_covariances(self) -> NDArray[np.float64]:
        """Covariances of the contrasts of each point's outputs."""
        d, size = len(self.prior.mean), self._H.shape[1]
        S = np.empty((self.space.n_points, size, size))
        for here, some in small_parts(self.space, 8 * size * size * d):
            if is_tensor(some):
                spread = (some @ self._factor.reshape(size, d, -1)).transpose(0, 1)
                S[here] = to_host(spread @ spread.transpose(1, 2))
                continue
            # The factor is triangular: contrast a has nothing to do with columns before its own.
            spread = [some @ self._factor[a * d : (a + 1) * d, a * d :] for a in range(size)]
            for a in range(size):
                for b in range(a + 1):
                    both = spread[b][:, (a - b) * d :], spread[a]
                    S[here, a, b] = S[here, b, a] = np.einsum("nr,nr->n", *both)
        return S

    def factors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """All of it is shared."""
        d, n_classes = self.prior.mean.shape
        in_contrasts = np.ascontiguousarray(to_host(self._factor)).reshape(n_classes - 1, -1)
        told = (self._H @ in_contrasts).reshape(n_classes, d, -1)
        common = np.broadcast_to(self._common / np.sqrt(n_classes), (n_classes, d, d))
        return np.empty((n_classes, d, 0)), np.concatenate([told, common], axis=2)


class OutputJoint(JointGaussian):
    r"""By kernel matrices, for about as many coordinates as points: :math:`4 C n^3` operations.

    With K the covariance of the outputs of one class before any label, D_c the diagonal of its
    rates and :math:`E_c = D_c^{1/2} (I + D_c^{1/2} K D_c^{1/2})^{-1} D_c^{1/2}`, the covariance of
    the outputs of classes c and c' is

    .. math:: \delta_{cc'} (K - K E_c K) + K E_c M^{-1} E_{c'} K, \qquad M = \sum_c E_c.
    """

    prior: IndependentPrior

    def __init__(self, space: Coordinates, prior: IndependentPrior) -> None:
        super().__init__(space, prior)
        self.width = space.n_points
        root = prior.one.root
        if root.ndim == 1 and np.ptp(root) == 0:
            self._K = np.asfortranarray(root[0] ** 2 * space.gram())
        else:
            spread = prior.one.spread(space.rows())
            self._K = np.asfortranarray(spread @ spread.T)

    def factorise(self, rate: NDArray) -> None:
        """Find E_c of each class, and factorise M."""
        n, n_classes = rate.shape
        self._rate = rate
        self._E = np.empty((n_classes, n, n))
        self._own = np.empty((n_classes, n))  # D_c^{1/2} (K - K E_c K) D_c^{1/2}, its diagonal
        total = np.zeros((n, n))
        logs = 0.0
        for c in range(n_classes):
            root = np.sqrt(rate[:, c])
            B = root[:, None] * self._K * root
            B[np.diag_indices(n)] += 1.0
            L = cholesky(B, lower=True, overwrite_a=True, check_finite=False)
            logs += 2 * np.log(L.diagonal()).sum()
            inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
            self._own[c] = 1 - inverse.diagonal()
            E = np.tril(inverse * np.outer(root, root))
            E += np.tril(E, -1).T
            self._E[c] = E
            total += E
        self._M = cholesky(total, lower=True, overwrite_a=True, check_finite=False)
        logs += 2 * np.log(self._M.diagonal()).sum() - np.log(rate.sum(axis=1)).sum()
        self.log_determinant = float(-logs)

    def held_by(self, rate: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The matrices E_c for these rates, and the Cholesky factor of M."""
        self.factorise(rate)
        return self._E, self._M

    def times_covariance(self, pull: NDArray) -> NDArray[np.float64]:
        """R (I - A^T (E - E M^-1 E) A) R^T v with A = Z R."""
        prior = self.prior.one
        inner = prior.spread(pull.T)
        held = self._held(self.space.outputs(prior.rooted(inner.T)))
        return prior.rooted((inner - prior.spread(self.space.pull(held).T)).T)

    def _held(self, outputs: NDArray) -> NDArray[np.float64]:
        """(E - E M^-1 E) f."""
        each = np.stack([E @ f for E, f in zip(self._E, outputs.T, strict=True)], axis=1)
        common = cho_solve((self._M, True), each.sum(axis=1), check_finite=False)
        return each - np.stack([E @ common for E in self._E], axis=1)

    def moments(self) -> NDArray[np.float64]:
        """Covariances of the outputs of each point, less their mean over the classes."""
        n_classes, n, _ = self._E.shape
        spread = np.empty((n_classes, n, n))  # of each class, points in the last axis
        S = np.zeros((n, n_classes, n_classes))
        before = self._K.diagonal()
        for c, E in enumerate(self._E):
            product = blas.dsymm(1.0, E, self._K, lower=1)
            own = before - np.einsum("ij,ij->j", self._K, product)
            # The same without cancellation where the rate is large; where it is not, the error is
            # far below 1 / rate.
            certain = self._rate[:, c] * before > 1
            own[certain] = self._own[c, certain] / self._rate[certain, c]
            S[:, c, c] = np.maximum(own, EPSILON * before)
            spread[c] = blas.dtrsm(1.0, self._M, product, lower=1, overwrite_b=1)
        S = apart(S)[0]
        spread -= spread.mean(axis=0)
        for c in range(n_classes):
            for k in range(c + 1):
                both = np.einsum("ij,ij->j", spread[c], spread[k])
                S[:, c, k] += both
                if k < c:
                    S[:, k, c] = S[:, c, k]
        return S

    def factors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Own factors from d x d matrices, shared ones with a column for each point."""
        prior, space = self.prior.one, self.space
        n_classes, n, _ = self._E.shape
        d = space.n_coordinates
        own, shared = np.empty((n_classes, d, d)), np.empty((n_classes, d, n))
        A = prior.spread(space.rows())
        for c in range(n_classes):
            root = np.sqrt(self._rate[:, c])[:, None] * A
            H = root.T @ root
            H[np.diag_indices(d)] += 1.0
            L = cholesky(H, lower=True, overwrite_a=True, check_finite=False)
            own[c] = prior.rooted(lapack.dtrtri(L, lower=1)[0].T)
            # Sigma_c Z^T D_c M^-T/2 = R (I + A^T D A)^-1 A^T D M^-T/2 = R A^T E_c M^-T/2
            spread = blas.dtrsm(1.0, self._M, np.asfortranarray(self._E[c] @ A), lower=1)
            shared[c] = prior.rooted(spread.T)
        return own, shared


def apart(S: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Covariances of outputs less their mean over the classes, and the variances of this mean."""
    rows = S.mean(axis=2)
    common = rows.mean(axis=1)
    return S - rows[:, :, None] - rows[:, None, :] + common[:, None, None], common


def small_parts(space: Coordinates, bytes_a_row: float) -> Iterator[tuple[slice, Array]]:
    """Rows of all points in parts that take little memory, each with the slice of its points."""
    step = max(16, int((BYTES if space.device is None else DEVICE_BYTES) // bytes_a_row))
    for own, rows in space.native_parts():
        for begin in range(0, len(rows), step):
            some = rows[begin : begin + step]
            yield slice(own.start + begin, own.start + begin + len(some)), some
