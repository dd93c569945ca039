"""The prior of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky

from bayespoint.posteriors import JointPosterior
from bayespoint.posteriors.joint import contrasts
from bayespoint.spaces import BasisSpace, Coordinates
from bayespoint.tools.arrays import Array, beside, namespace
from bayespoint.tools.validation import check_number, parameter_error

SMALL, LARGE = 1e-140, 1e140  # squares, and sums of many of them, are far from 0 and from overflow


@dataclass(frozen=True)
class GaussianPrior:
    r"""Weights :math:`w \sim N(m, \Sigma_0)` of one task.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        :math:`m`.
    root : ndarray of shape (d,) or (d, d)
        Standard deviations of independent weights, or R with :math:`\Sigma_0 = R R^T`.
    """

    mean: NDArray[np.float64]
    root: NDArray[np.float64]

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Sigma_0."""
        return np.diag(self.root**2) if self.root.ndim == 1 else self.root @ self.root.T

    @property
    def scales(self) -> NDArray[np.float64]:
        """Standard deviations of the weights."""
        return self.root if self.root.ndim == 1 else np.linalg.norm(self.root, axis=1)

    @cached_property
    def precision(self) -> NDArray[np.float64]:
        """The inverse of Sigma_0."""
        if self.root.ndim == 1:
            return np.diag(self.root**-2)
        inverse = np.linalg.inv(self.root)
        return inverse.T @ inverse

    @cached_property
    def pull(self) -> NDArray[np.float64]:
        """Sigma_0^-1 m, what the prior adds to the sum of all messages."""
        return self.hold(self.mean)

    def hold(self, weights: NDArray) -> NDArray[np.float64]:
        """Sigma_0^-1 w, for a vector or for each column of a matrix."""
        return (weights.T / self.root**2).T if self.root.ndim == 1 else self.precision @ weights

    @property
    def log_determinant(self) -> float:
        """The logarithm of |Sigma_0|."""
        if self.root.ndim == 1:
            return float(2 * np.log(self.root).sum())
        return float(2 * np.linalg.slogdet(self.root)[1])

    @property
    def matrix(self) -> NDArray[np.float64]:
        """R, also of independent weights."""
        return np.diag(self.root) if self.root.ndim == 1 else self.root

    def rooted(self, u: Array) -> Array:
        """R u, for a vector or for each column of a matrix, where these are."""
        root = beside(u, self.root)
        return (root * u.T).T if root.ndim == 1 else root @ u

    def spread(self, rows: NDArray) -> NDArray[np.float64]:
        """Z R, rows in coordinates in which the prior is N(0, I)."""
        return rows * self.root if self.root.ndim == 1 else rows @ self.root

    def whitened(self, precision: Array) -> Array:
        """R^T G R + I: the precision of u, w = m + R u, if messages to the weights have G."""
        root = beside(precision, self.root)
        H = precision * root * root[:, None] if root.ndim == 1 else root.T @ precision @ root
        namespace(H).einsum("ii->i", H)[:] += 1.0
        return H

    def output_variances(self, space: Coordinates) -> NDArray[np.float64]:
        """z.Sigma_0 z of every point."""
        if space.device is not None:
            return space.variances(self.matrix, is_triangular=False)
        spreads = (self.spread(rows) for _, rows in space.parts())
        return np.concatenate([np.einsum("nd,nd->n", spread, spread) for spread in spreads])

    def given(
        self, space: Coordinates, shift: NDArray, rate: NDArray
    ) -> tuple[Any, NDArray[np.float64]]:
        r"""The posterior :math:`N(\mu, F F^T)`, given messages of the points.

        They are :math:`\exp(h_i f_i - r_i f_i^2 / 2)`, with shifts h and rates r.

        Returns
        -------
        factor : ndarray of shape (d, d), or tensor if the points are on a device
            F, upper triangular.
        mean : ndarray of shape (d,)
            :math:`\mu`.
        """
        prior = self.root**-2 if self.root.ndim == 1 else self.precision
        factor = space.posterior_root(rate, prior)
        mean = self.mean + self.moved(space, factor, shift, rate)
        if not np.isfinite(mean).all():
            raise LinAlgError("the messages leave no posterior")
        return factor, mean

    def moved(
        self, space: Coordinates, factor: Any, shift: NDArray, rate: NDArray
    ) -> NDArray[np.float64]:
        """How far messages move the mean, to many digits even where that is not far."""
        forces = shift - rate * space.outputs(self.mean) if self.mean.any() else shift
        return space.covary(factor, forces)


class IndependentPrior:
    """Independent weights of several classes, with equal covariances.

    Parameters
    ----------
    priors : sequence of GaussianPrior
        One for each class; their roots are the same.
    """

    def __init__(self, priors: Sequence[GaussianPrior]) -> None:
        self.one = priors[0]
        self.mean = np.stack([prior.mean for prior in priors], axis=1)
        self.pull = self.hold(self.mean)

    def hold(self, weights: NDArray) -> NDArray[np.float64]:
        """The precision times weights, shape (d, C)."""
        return self.one.hold(weights)

    def in_contrasts(self) -> tuple:
        """Of the weights of all contrasts, one after another: precision, root, log determinant.

        And the root of the covariance of the sum of all classes, over the root of their number.
        """
        size, root = self.mean.shape[1] - 1, self.one.matrix
        both = (np.kron(np.eye(size), part) for part in (self.one.precision, root))
        return *both, size * self.one.log_determinant, root

    def output_covariances(self, space: Coordinates) -> NDArray[np.float64]:
        """Covariances of the outputs of each point, (n, C, C)."""
        return self.one.output_variances(space)[:, None, None] * np.eye(self.mean.shape[1])


class DependentPrior:
    """The posterior of earlier batches as a prior.

    Parameters
    ----------
    posterior : JointPosterior
        The posterior of all earlier batches.
    """

    def __init__(self, posterior: JointPosterior) -> None:
        self.posterior = posterior
        self.mean = posterior.mean
        d, n_classes = self.mean.shape
        blocks = posterior.covariance.reshape(n_classes, d, n_classes, d)
        H = contrasts(n_classes)
        told = np.einsum("ca,cikj,kb->aibj", H, blocks, H, optimize=True)
        self._H, self._common = H, cholesky(blocks.sum(axis=(0, 2)) / n_classes, lower=True)
        self._factor = cholesky(told.reshape(H.shape[1] * d, -1), lower=True)
        self._precision = cho_solve((self._factor, True), np.eye(H.shape[1] * d))
        self.pull = self.hold(self.mean)

    def hold(self, weights: NDArray) -> NDArray[np.float64]:
        """The precision times weights, shape (d, C)."""
        held = (self._precision @ (weights @ self._H).T.ravel()).reshape(-1, len(weights)).T
        common = cho_solve((self._common, True), weights.mean(axis=1))
        return np.asarray(held @ self._H.T + common[:, None])

    def in_contrasts(self) -> tuple:
        """The same as of independent classes."""
        log_determinant = float(2 * np.log(self._factor.diagonal()).sum())
        return self._precision, self._factor, log_determinant, self._common

    def output_covariances(self, space: Coordinates) -> NDArray[np.float64]:
        """Covariances of the outputs of each point, (n, C, C)."""
        return np.concatenate([self.posterior.outputs(rows)[1] for _, rows in space.parts()])


def check_prior(engine: Any) -> None:
    """Raise a ValueError for a prior that is not allowed, as far as it shows without data."""
    is_auto = isinstance(engine.prior_scale, str) and engine.prior_scale == "auto"
    if is_number(engine.prior_scale) and not is_auto:
        check_number(engine, "prior_scale", low=0, closed="neither", words="'auto', an array or ")
    elif not is_auto:
        scales = as_array(engine, "prior_scale", 1)
        if not (scales > 0).all():
            raise parameter_error(engine, "prior_scale", "positive, in all its entries")
    if engine.prior_mean is not None:
        as_array(engine, "prior_mean", 1, 2)
    if engine.prior_covariance is not None:
        as_array(engine, "prior_covariance", 2)
    check_number(engine, "intercept_scale", low=0, closed="neither", also=(None,))


def priors(engine: Any, space: BasisSpace, n_tasks: int) -> list[GaussianPrior]:
    """The prior of each task, in the coordinates of the space.

    Arrays name features, so they need a linear kernel. They cover the features, or the features
    and then the intercept; where they do not, the intercept has mean 0 and ``intercept_scale``.
    """
    d = space.n_coordinates
    named = not is_number(engine.prior_scale) or any(
        value is not None
        for value in (engine.prior_mean, engine.prior_covariance, engine.intercept_scale)
    )
    if not named:
        root = np.full(d, float(engine.prior_scale))
        check_range(engine, root)
        return [GaussianPrior(np.zeros(d), root)] * n_tasks
    if not space.names_features:
        raise ValueError(
            f"A mean, a covariance or scales of single weights belong to features. "
            f"{type(engine).__name__} got one of them with a kernel whose features have no names: "
            f"use kernel='linear' (without a ridge), or one number as prior_scale."
        )
    if engine.intercept_scale is not None and not space.has_intercept:
        raise parameter_error(engine, "intercept_scale", "None where there is no intercept")
    root = prior_root(engine, d, space.has_intercept)
    check_range(engine, root if root.ndim == 1 else np.diag(root))
    means = prior_means(engine, d, space.has_intercept, n_tasks)
    return [GaussianPrior(mean, root) for mean in means]


def known_before(engine: Any, space: BasisSpace, n_tasks: int, start: Any) -> list[GaussianPrior]:
    """What is known of each task: the posterior of all earlier batches, or else the prior.

    The posterior must be Gaussian and of the same likelihood.
    """
    if start is None:
        return priors(engine, space, n_tasks)
    kind = type(engine.law)
    if not (start.is_gaussian and isinstance(start.likelihood, kind)):
        raise ValueError(
            f"{type(engine).__name__} can go on from a GaussianPosterior with a {kind.__name__} "
            f"only: other models have other weights. The last fit left a "
            f"{type(start).__name__} with a {type(start.likelihood).__name__}: fit anew."
        )
    check_same_weights(start, space)
    return [GaussianPrior(*both) for both in zip(start.mean.T, start.factor, strict=True)]


def check_same_weights(posterior: Any, space: BasisSpace) -> None:
    """Raise an error unless a batch has as many weights as those before it."""
    if len(posterior.mean) != space.n_coordinates:
        raise ValueError(
            f"The weights so far are {len(posterior.mean)}, those of this batch "
            f"{space.n_coordinates}: fit_intercept must not change between batches."
        )


def prior_root(engine: Any, d: int, has_intercept: bool) -> NDArray[np.float64]:
    """R of Sigma_0 = R R^T, or its diagonal."""
    if engine.prior_covariance is not None:
        covariance = as_array(engine, "prior_covariance", 2)
        if not is_number(engine.prior_scale) or engine.prior_scale != 1:
            raise parameter_error(engine, "prior_scale", "1.0 where prior_covariance is given")
        n, width = covariance.shape
        rounding = 1e-8 * np.abs(covariance).max()
        if n != width or not np.allclose(covariance, covariance.T, rtol=0, atol=rounding):
            raise parameter_error(engine, "prior_covariance", "square and symmetric")
        try:
            root = cholesky(covariance, lower=True)
        except LinAlgError as error:
            raise parameter_error(engine, "prior_covariance", "positive definite") from error
    elif is_number(engine.prior_scale):
        root = np.full(d - has_intercept, float(engine.prior_scale))
    else:
        root = as_array(engine, "prior_scale", 1)
    name = "prior_covariance" if root.ndim == 2 else "prior_scale"
    check_length(engine, name, len(root), d, has_intercept)
    if len(root) == d:
        return root
    own = engine.intercept_scale
    if own is None:
        own = engine.prior_scale if is_number(engine.prior_scale) else 1.0
    own = float(own)  # also of an integer that no array of integers can hold
    if root.ndim == 1:
        return np.append(root, own)
    return np.block([[root, np.zeros((d - 1, 1))], [np.zeros((1, d - 1)), np.array([[own]])]])


def prior_means(engine: Any, d: int, has_intercept: bool, n_tasks: int) -> NDArray[np.float64]:
    """The mean of each task, shape (n_tasks, d)."""
    if engine.prior_mean is None:
        return np.zeros((n_tasks, d))
    mean = np.atleast_2d(as_array(engine, "prior_mean", 1, 2))
    check_length(engine, "prior_mean", mean.shape[1], d, has_intercept)
    if len(mean) not in (1, n_tasks):
        raise parameter_error(
            engine, "prior_mean", f"one mean for all {n_tasks} tasks, or one row for each"
        )
    mean = np.pad(mean, ((0, 0), (0, d - mean.shape[1])))
    return np.broadcast_to(mean, (n_tasks, d))


def check_length(engine: Any, name: str, length: int, d: int, has_intercept: bool) -> None:
    """Raise an error unless an array covers the features, or the features and the intercept."""
    if length not in {d, d - has_intercept}:
        wanted = f"{d - 1} entries a side, or {d} with the intercept" if has_intercept else f"{d}"
        raise ValueError(
            f"The {name!r} parameter of {type(engine).__name__} must have as many entries as there "
            f"are features: {wanted}. Got {length} instead."
        )
    if (
        name != "prior_mean"
        and length == d
        and has_intercept
        and engine.intercept_scale is not None
    ):
        raise parameter_error(engine, "intercept_scale", f"None where {name} covers the intercept")


def check_range(engine: Any, root: NDArray) -> None:
    """Refuse scales whose squares overflow or vanish."""
    if not ((root > SMALL) & (root < LARGE)).all():
        raise ValueError(
            f"{type(engine).__name__} works with squares, which overflow for prior scales from "
            f"{root.min():g} to {root.max():g}. Scale the features, and take scales nearer to 1."
        )


def as_array(engine: Any, name: str, *dimensions: int) -> NDArray[np.float64]:
    """A parameter as an array of finite numbers with one of these numbers of dimensions."""
    try:
        array = np.asarray(getattr(engine, name), dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim not in dimensions or array.size == 0 or not np.isfinite(array).all():
        kinds = " or ".join(f"{n}-D" for n in dimensions)
        raise parameter_error(engine, name, f"a finite {kinds} array of numbers")
    return array


def is_number(value: Any) -> bool:
    """Whether a parameter is one number (or nonsense), not an array."""
    return isinstance(value, (Real, str, type(None)))
