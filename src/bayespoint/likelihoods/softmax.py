"""The softmax likelihood of several classes, the logistic model of all outputs together."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from bayespoint import _core
from bayespoint.likelihoods.argmax import few_at_a_time, log_share_of_largest, normal_points
from bayespoint.likelihoods.base import JointLikelihood
from bayespoint.tools.numbers import TINY

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

    link = "logistic"
    codings = ("joint",)

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
