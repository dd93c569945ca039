r"""The Gaussian that the sites of one task make: of its weights, or of its outputs.

Sites are messages :math:`\exp(h f - r f^2 / 2)` to the outputs f = Z w, of shifts h and rates r.
Both classes answer the same questions, in coordinates u of their own, with f = f_0 + A u: products
with A and its transpose, the factor of the precision :math:`H = P + A^T \operatorname{diag}(r) A`
that rates make, steps :math:`H^{-1} g`, and the variances of all outputs.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, blas, cho_solve, cholesky, lapack, qr

from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.spaces import Coordinates
from bayespoint.spaces.coordinates import inverse_lower, inverse_root
from bayespoint.tools.arrays import to_host
from bayespoint.tools.numbers import EPSILON, TINY

NEGLIGIBLE = 1e-13  # share of H that is left out, in points that are certain of their label
CANCELLED = 1e8  # from here on so many digits of a pivot of H are lost that a QR is worth its price
LEAST = 1e-8  # rate of a site over the prior's: with less, 1 - B^-1 would be rounding errors
MOSTLY = 0.75  # coordinates a point from which outputs take fewer operations than weights
# Operations n d^2 from which products in float32 save more time than the copy of the rows takes,
# and the range of numbers whose squares and sums it can hold.
LARGE, LOW, HIGH = 2e8, 1e-10, 1e7
CHEAP = 64  # coordinates from which a product with A takes 1, 1/2, 1/3 ... of the time of H


def make_gaussian(
    space: Coordinates, prior: GaussianPrior, *, rates_are_positive: bool
) -> WeightGaussian | OutputGaussian:
    """The Gaussian of the weights, or of the outputs where that takes fewer operations."""
    is_plain = prior.root.ndim == 1 and np.ptp(prior.root) == 0 and not prior.mean.any()
    is_cheaper = space.device is None and space.n_coordinates >= MOSTLY * space.n_points
    if is_plain and is_cheaper and rates_are_positive:
        return OutputGaussian(prior.root[0] ** 2 * space.gram(), space, prior)
    return WeightGaussian(space, prior)


class WeightGaussian:
    r"""The weights :math:`w = m + R u` of one task, where the prior is N(m, R R^T): A = Z R, P = I.

    Parameters
    ----------
    space : Coordinates
        The training points.
    prior : GaussianPrior
        Of the weights.

    Attributes
    ----------
    start : ndarray of shape (n,)
        Means f_0 of the outputs before any label is seen.
    variances : ndarray of shape (n,)
        Their variances.
    width : int
        Of the matrices that are factorised.
    cheap_steps : int
        Steps that together take no more time than H.
    is_single : bool
        Whether sums over all points are in float32; each takes half the time.
    """

    can_look_ahead, is_of_weights = False, True

    _L: Any  # lower triangular, of the last precision; None on a device, where F is found at once

    def __init__(self, space: Coordinates, prior: GaussianPrior) -> None:
        self.space, self.prior, self.width = space, prior, space.n_coordinates
        self.start = space.outputs(prior.mean)
        self.variances = prior.output_variances(space)
        self.origin = np.zeros(self.width)
        self.is_single = False
        # On a device products with A cost more than H, since sites are on the host.
        self.cheap_steps = self.width // CHEAP if space.device is None else 0

    @property
    def suits_single(self) -> bool:
        """Whether float32 saves time in sums over all points, and has their range."""
        if self.space.device is not None or len(self.variances) * self.width**2 < LARGE:
            return False
        sizes = np.append(self.prior.scales, np.sqrt(self.variances[self.variances > 0]))
        return bool(sizes.min() > LOW and max(sizes.max(), self.space.largest) < HIGH)

    @property
    def _points(self) -> Coordinates:
        """The points in the precision of large sums at the moment."""
        return self.space.in_single() if self.is_single else self.space

    def push(self, u: NDArray) -> NDArray[np.float64]:
        """A u, the change of outputs."""
        return self.space.outputs(self.prior.rooted(u))

    def residual(self, forces: NDArray, u: NDArray) -> NDArray[np.float64]:
        """A^T s - P u: what forces s on the outputs leave of the gradient at u."""
        return self.prior.spread(self.space.pull(forces)) - u

    def inner(self, u: NDArray, step: NDArray, change: NDArray) -> float:
        """u^T P d, for a step d that changes outputs by A d."""
        return float(u @ step)

    def along(self, residual: NDArray, step: NDArray, change: NDArray) -> float:
        """g^T d, for a gradient and a step d that changes outputs by A d."""
        return float(residual @ step)

    def factorise(self, rate: NDArray) -> None:
        """Factorise the precision that these rates make; a LinAlgError if it is not positive."""
        rate = np.where(np.abs(rate) * self.variances > NEGLIGIBLE / len(rate), rate, 0.0)
        vars(self).pop("root", None)
        if self.space.device is not None:
            self._L = None
            self.root = inverse_root(self.prior.whitened(self.space.native_curvature(rate)))
            return
        G, root = self._points.curvature(rate), self.prior.root
        H = self.prior.whitened(G)
        if not np.isfinite(H).all():
            raise LinAlgError("the precision overflows")
        diagonal = H.diagonal().copy()
        # What is lost where features are combined such that large ones cancel.
        sizes = np.sqrt(np.maximum(G.diagonal(), 0.0))
        rounding = EPSILON * np.square(sizes @ np.abs(root)) if root.ndim == 2 else 0.0
        try:
            self._L = cholesky(H, lower=True, overwrite_a=True, check_finite=False)
            pivots = self._L.diagonal() ** 2
            is_lost = (diagonal > CANCELLED * pivots) | (CANCELLED * rounding > diagonal)
        except LinAlgError:
            is_lost = np.array(True)
        if is_lost.any():
            if (rate < 0).any():
                raise LinAlgError("the sites leave no posterior")
            self._L = self._without_squares(rate)

    def _without_squares(self, rate: NDArray) -> NDArray[np.float64]:
        """The factor by a QR decomposition of A, which keeps twice the digits."""
        d = self.width
        triangle = np.empty((0, d))
        for own, rows in self.space.parts():
            counted = np.flatnonzero(rate[own])
            scaled = np.sqrt(rate[own][counted])[:, None] * self.prior.spread(rows[counted])
            triangle = qr(np.vstack([triangle, scaled]), mode="r", overwrite_a=True)[0][:d]
        triangle = qr(np.vstack([triangle, np.eye(d)]), mode="r", overwrite_a=True)[0][:d]
        return triangle.T * np.sign(triangle.diagonal())

    @cached_property
    def root(self) -> Any:
        """F, upper triangular, with F F^T = H^-1; a tensor if the points are on a device."""
        return inverse_lower(self._L).T

    def solve(self, residual: NDArray) -> tuple[NDArray, NDArray]:
        """The step H^-1 g, and how it changes the outputs."""
        if self._L is None:
            there = self.space.there(residual)
            step = to_host(self.root @ (self.root.T @ there))
        else:
            step = cho_solve((self._L, True), residual, check_finite=False)
        return step, self.push(step)

    def moments(self) -> NDArray[np.float64]:
        """Variances of all outputs."""
        is_triangular = self.prior.root.ndim == 1
        return self._points.variances(self.prior.rooted(self.root), is_triangular=is_triangular)

    @property
    def log_determinant(self) -> float:
        """Logarithm of the determinant of the covariance over that of the prior."""
        if self._L is None:
            return 2.0 * float(self.root.diagonal().log().sum())
        return -2.0 * float(np.log(self._L.diagonal()).sum())

    def weights(self, u: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How far u is from the mean of the prior, and the factor of the weights."""
        return self.prior.rooted(u), self.prior.rooted(to_host(self.root))

    def covary(self, forces: NDArray) -> NDArray[np.float64]:
        """The covariance of all outputs times a vector."""
        return self.solve(self.prior.spread(self.space.pull(forces)))[1]


class OutputGaussian:
    r"""The outputs of one task, :math:`f = f_0 + K \alpha`, for about as many weights as points.

    The symbols are those of C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine
    Learning*, section 3.6: with the rates W, :math:`B = I + W^{1/2} K W^{1/2}` gives the variances
    of the outputs, :math:`(1 - B^{-1}_{ii}) / W_i`, in :math:`n^3` operations, a third of what the
    weights take. Here u is :math:`\alpha`, and both A and P are K; what is called a gradient lacks
    the factor K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Covariance of the outputs before any label is seen; their mean is 0.
    space, prior
        As of :class:`WeightGaussian`, if it is to be that of weights; the prior has one scale.
    """

    is_single = suits_single = is_of_weights = False
    can_look_ahead = True

    def __init__(self, K: NDArray, space: Any = None, prior: Any = None) -> None:
        self.space, self.prior, self.K = space, prior, np.asfortranarray(K)
        self.width, self.cheap_steps = len(self.K), len(self.K) // CHEAP
        self.variances = np.ascontiguousarray(self.K.diagonal())
        self.start = self.origin = np.zeros(self.width)

    def push(self, u: NDArray) -> NDArray[np.float64]:
        """K u."""
        return blas.dsymv(1.0, self.K, u, lower=1)

    def residual(self, forces: NDArray, u: NDArray) -> NDArray[np.float64]:
        """What forces on the outputs leave at u."""
        return forces - u

    def inner(self, u: NDArray, step: NDArray, change: NDArray) -> float:
        """u^T K d, for a step d."""
        return float(u @ change)

    along = inner

    def factorise(self, rate: NDArray) -> None:
        """Find B^-1 for these rates; a LinAlgError if B is not positive definite."""
        if not (rate >= 0).all():
            raise LinAlgError("rates of outputs must not be negative")
        self._rate = np.maximum(rate, LEAST / np.maximum(self.variances, TINY))
        self._root = np.sqrt(self._rate)
        B = self.K * self._root
        B *= self._root[:, None]
        B[np.diag_indices_from(B)] += 1.0
        self._lower, failed = lapack.dpotrf(B, lower=1, overwrite_a=1)
        if failed:
            raise LinAlgError("the sites leave no posterior")
        self.inverse = lapack.dlauum(inverse_lower(self._lower), lower=1, overwrite_c=1)[0]

    def solve(self, residual: NDArray) -> tuple[NDArray, NDArray]:
        """(I + W K)^-1 g, and K times this."""
        pulled = self._root * self.push(residual)
        held = blas.dsymv(1.0, self.inverse, pulled, lower=1)
        return residual - self._root * held, held / self._root

    def moments(self) -> NDArray[np.float64]:
        """Variances of all outputs."""
        return (1 - self.inverse.diagonal()) / self._rate

    def ahead(self, variance: NDArray, rate: NDArray) -> NDArray[np.float64]:
        r"""Variances of the outputs at other rates, to first order.

        The output of a point has the covariance :math:`-B^{-1}_{ij} / \sqrt{W_i W_j}` with others,
        whose squares times changes of the rates are what its variance falls by.
        """
        square = np.square(self.inverse)
        square[np.diag_indices_from(square)] = np.square(variance * self._rate)
        fall = blas.dsymv(1.0, square, rate / self._rate - 1, lower=1) / (self._rate * variance)
        return variance / np.maximum(1 + fall, 0.5)

    @property
    def log_determinant(self) -> float:
        """Logarithm of the determinant of the covariance over that of the prior."""
        return -2.0 * float(np.log(self._lower.diagonal()).sum())

    def by_covariance(self, u: NDArray) -> NDArray[np.float64]:
        r"""Derivative of the evidence by K: (alpha alpha^T - W^1/2 B^-1 W^1/2) / 2."""
        held = np.tril(self.inverse) + np.tril(self.inverse, -1).T
        return 0.5 * (np.outer(u, u) - held * np.outer(self._root, self._root))

    def covary(self, forces: NDArray) -> NDArray[np.float64]:
        """The covariance of all outputs times a vector."""
        return self.solve(forces)[1]
