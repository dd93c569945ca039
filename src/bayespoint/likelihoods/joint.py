"""Likelihoods of several classes together: argmax, the probit model, and softmax."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, ndtr, ndtri, owens_t, softmax
from scipy.stats import qmc

from bayespoint import _core
from bayespoint.likelihoods.base import JointLikelihood
from bayespoint.likelihoods.quadrature import share_of_largest
from bayespoint.tools.attributes import need, number
from bayespoint.tools.numbers import EPSILON, TINY
from bayespoint.tools.threads import in_parts

CERTAIN = 100.0  # standard deviations beyond which nothing changes
RELIABLE = 1e-9  # probability from which Owen's function has six digits
PART = 64  # points of a compiled call: some tens of milliseconds


class ArgmaxLikelihood(JointLikelihood):
    r"""The class is that of the largest noisy output, the probit model of several classes.

    .. math:: y = \operatorname{argmax}_c (f_c + n_c), \quad n_c \sim N(0, \beta^2), \qquad
        p(y | f) = E_u \prod_{j \ne y} \Phi\left(u + \frac{f_y - f_j}{\beta}\right),
        \quad u \sim N(0, 1)

    Parameters
    ----------
    noise : float, default=1.0
        Standard deviation :math:`\beta` of the noise of each output.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import ArgmaxLikelihood
    >>> mean, covariance = np.array([[1.0, 0.0, 0.0]]), np.eye(3)[None]
    >>> np.exp(ArgmaxLikelihood().log_predictive(mean, covariance)).round(3)
    array([[0.546, 0.227, 0.227]])
    """

    name = "probit"
    parameters = ("noise",)

    def __init__(self, noise: float = 1.0) -> None:
        self.noise = noise

    def log_probability(self, outputs: NDArray) -> NDArray[np.float64]:
        """Quadrature over the noise of the class."""
        flat = outputs.reshape(-1, outputs.shape[-1])
        shares = share_of_largest(flat, np.full(flat.shape, self.noise**2))
        return np.log(np.maximum(shares, TINY)).reshape(outputs.shape)

    def log_predictive(self, mean: NDArray, covariance: NDArray) -> NDArray[np.float64]:
        """Probability that the noisy output of each class is the largest."""
        return log_share_of_largest(mean, covariance + self.noise**2 * np.eye(mean.shape[1]))

    def check_state(self) -> None:
        """Raise an error if the noise is not positive."""
        number(self.noise, 0)
        need(self.noise > 0, "its noise is 0")


def log_share_of_largest(mean: NDArray, covariance: NDArray) -> NDArray[np.float64]:
    """Logarithm of the probability that each of several Gaussian outputs is the largest.

    Good to 1e-6 for three outputs, by Owen's function, and to 1e-3 for more, from quasi-random
    points (2e-3 where the covariance is nearly singular).

    Parameters
    ----------
    mean : ndarray of shape (n, n_classes)
        Means of the outputs.
    covariance : ndarray of shape (n, n_classes, n_classes)
        Their covariances.

    Returns
    -------
    ndarray of shape (n, n_classes)
        Logarithms of probabilities of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods.joint import log_share_of_largest
    >>> np.exp(log_share_of_largest(np.zeros((1, 3)), np.eye(3)[None])).round(6)
    array([[0.333333, 0.333333, 0.333333]])
    """
    n_classes = mean.shape[1]
    mean, covariance = np.ascontiguousarray(mean), np.ascontiguousarray(covariance)
    if n_classes == 3:
        shares = np.stack([leads_both(mean, covariance, c) for c in range(3)], axis=1)
        return np.log(np.maximum(shares / shares.sum(axis=1, keepdims=True), TINY))
    cube = unit_cube(max(n_classes - 2, 1), _core.orthants.points_for(n_classes))
    # What is compiled for more than four outputs takes a second.
    many = n_classes > 4
    points = normal_points(n_classes, _core.orthants.most_for(n_classes)) if many else None
    shares = few_at_a_time(_core.orthants.largest, mean, covariance, cube, points)
    return np.log(np.maximum(shares, TINY))


def few_at_a_time(
    function: Callable[..., NDArray], mean: NDArray, other: NDArray, *arguments: Any
) -> NDArray[np.float64]:
    """A compiled function of some points, in short calls; without points it is not compiled."""
    if not len(mean):
        return np.zeros(mean.shape)
    found = in_parts(lambda own: function(mean[own], other[own], *arguments), len(mean), PART)
    return np.concatenate(found)


def leads_both(mean: NDArray, covariance: NDArray, c: int) -> NDArray[np.float64]:
    """Probability that the output c is larger than both others, by Owen's T function.

    Where it is too small for that, the smaller probability to be larger than one of them.
    """
    i, j = (other for other in range(3) if other != c)
    lead = mean[:, [c]] - mean[:, [i, j]]
    own = covariance[:, c, c]
    plain = np.stack([own + covariance[:, k, k] for k in (i, j)], axis=1)
    square = plain - 2 * covariance[:, c, [i, j]]
    both = own - covariance[:, c, i] - covariance[:, c, j] + covariance[:, i, j]
    s = np.sqrt(np.maximum(square, EPSILON * np.abs(plain) + TINY))  # what is left after rounding
    h, k = np.clip(lead / s, -CERTAIN, CERTAIN).T
    with np.errstate(over="ignore"):
        r = np.clip(both / s[:, 0] / s[:, 1], -1.0, 1.0)
    rest = np.sqrt(np.maximum((1 - r) * (1 + r), TINY))
    sides = np.sign(h) * np.sign(k)  # a product of h and k may underflow
    opposite = (sides < 0) | ((sides == 0) & (h + k < 0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slopes = [
            np.where(a == 0, np.copysign(np.inf, b), (b - r * a) / (a * rest))
            for a, b in ((h, k), (k, h))
        ]
    total = (ndtr(h) + ndtr(k)) / 2 - owens_t(h, slopes[0]) - owens_t(k, slopes[1])
    share = np.minimum(total - 0.5 * opposite, 1.0)
    return np.where(share > RELIABLE, share, np.minimum(ndtr(np.minimum(h, k)), RELIABLE))


@lru_cache(maxsize=32)
def unit_cube(dimensions: int, n_points: int) -> NDArray[np.float64]:
    """Quasi-random points of the unit cube, Sobol's, of which the first are such points, too."""
    return np.clip(qmc.Sobol(dimensions, seed=0).random(n_points), 1e-12, 1 - 1e-12)


@lru_cache(maxsize=32)
def normal_points(dimensions: int, n_points: int) -> NDArray[np.float64]:
    """Quasi-random points of a standard normal distribution."""
    return ndtri(unit_cube(dimensions, n_points))


N_POINTS = 256  # quasi-random points, where outputs hardly vary: good to 1e-3
MOST_FINE = 256  # times as many points where they vary much
MANY = 10  # classes beyond which twice as many points are taken
WIDE = 200.0  # deviation of differences of three outputs: from here Gaussian noise is good to 1e-6
WIDE_OF_MANY = 20.0  # of more outputs: to 1e-3
LOST = 1e-15  # probability that counts as none


class SoftmaxLikelihood(JointLikelihood):
    r"""The softmax, the logistic model of several classes: :math:`p(y | f) \propto e^{f_y}`.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.likelihoods import SoftmaxLikelihood
    >>> mean, covariance = np.array([[1.0, 0.0, 0.0]]), np.eye(3)[None]
    >>> np.exp(SoftmaxLikelihood().log_predictive(mean, covariance)).round(3)
    array([[0.519, 0.241, 0.241]])
    """

    name = "logistic"

    def log_probability(self, outputs: NDArray) -> NDArray[np.float64]:
        """The logarithm of the softmax."""
        return log_softmax(outputs, axis=-1)

    def log_predictive(self, mean: NDArray, covariance: NDArray) -> NDArray[np.float64]:
        """Quadrature over two differences of outputs, quasi-random points for more.

        The softmax is the law of the largest output with Gumbel noise. Where outputs vary far more,
        Gaussian noise of the same variance does as well.
        """
        n_classes = mean.shape[1]
        centred, roots = differences(mean, covariance)
        wide = narrowest(roots) > (WIDE if n_classes <= 3 else WIDE_OF_MANY)
        noise = np.pi**2 / 6 * np.eye(n_classes)
        log_shares = np.empty(mean.shape)
        log_shares[wide] = log_share_of_largest(mean[wide], covariance[wide] + noise)
        integral = softmax_by_rows if n_classes <= 3 else softmax_at_random
        log_shares[~wide] = np.log(np.maximum(integral(centred[~wide], roots[~wide]), TINY))
        return log_shares


def narrowest(roots: NDArray) -> NDArray[np.float64]:
    """The smallest standard deviation of a difference of two outputs, of each point."""
    pairs = itertools.combinations(range(roots.shape[1]), 2)
    squares = [np.square(roots[:, i] - roots[:, j]).sum(axis=1) for i, j in pairs]
    return np.sqrt(np.min(squares, axis=0))


def softmax_by_rows(mean: NDArray, roots: NDArray) -> NDArray[np.float64]:
    """The mean of the softmax of two or three outputs, good to 1e-6.

    A class without a share, since another one dominates at all nodes, has that of the mean outputs.
    """
    plane = np.zeros((*mean.shape, 2))
    plane[:, :, : roots.shape[2]] = roots
    shares = few_at_a_time(_core.softmax.softmax_in_plane, mean, plane)
    return np.maximum(shares, np.minimum(softmax(mean, axis=1), LOST))


def softmax_at_random(mean: NDArray, roots: NDArray) -> NDArray[np.float64]:
    """The mean of the softmax of more outputs, from more quasi-random points where they vary."""
    spread = np.sqrt(np.square(roots).sum(axis=1).max(axis=1))
    doubled = np.ceil(np.minimum(spread, MOST_FINE)) + (mean.shape[1] > MANY)
    finer = np.minimum(2**doubled, MOST_FINE).astype(int)
    shares = np.empty(mean.shape)
    for factor in np.unique(finer):
        own = finer == factor
        points = normal_points(roots.shape[2], N_POINTS * int(factor))
        shares[own] = few_at_a_time(_core.softmax.mean_softmax, mean[own], roots[own], points)
    return shares


def differences(mean: NDArray, covariance: NDArray) -> tuple[NDArray, NDArray]:
    """Means about their mean, and roots (n, C, C - 1) of the covariance of what is left."""
    n_classes = mean.shape[1]
    centre = np.eye(n_classes) - 1 / n_classes
    values, vectors = np.linalg.eigh(centre @ covariance @ centre)
    roots = vectors[:, :, :0:-1] * np.sqrt(np.maximum(values[:, None, :0:-1], 0.0))
    return mean @ centre, np.ascontiguousarray(roots)
