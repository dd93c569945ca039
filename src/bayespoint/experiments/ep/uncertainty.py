"""What a Gaussian posterior of the probit model is unsure about: the data, or its own weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtr

REACH = 8.0  # beyond it, probit labels are certain: their entropy is below 1e-13 bits
STEP = 0.1  # between outputs; exact up to rounding for Gaussians wider than
NARROW = 0.2  # this; narrower ones, ...
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(16)  # ... over which the entropy hardly bends


class Uncertainty(NamedTuple):
    """p(y = 1), and the entropy of y in bits: that of single weights, and what they disagree on."""

    probability: NDArray[np.float64]
    data: NDArray[np.float64]
    model: NDArray[np.float64]


def uncertainty(mean: NDArray, variance: NDArray) -> Uncertainty:
    r"""Split the entropy of labels whose outputs are :math:`f \sim N(m, v)`, with noise 1.

    .. math::

       H[y] = \underbrace{E_f\, H[y | f]}_{\text{data}}
            + \underbrace{I[y; f]}_{\text{model}}, \qquad
       p(y = 1) = \Phi\left(m / \sqrt{1 + v}\right).

    More data do not lessen the first part, they lessen the second.
    """
    probability = ndtr(mean / np.sqrt(1 + variance))
    data = mean_entropy(mean, np.sqrt(variance))
    return Uncertainty(probability, data, np.maximum(bits(probability) - data, 0.0))


def mean_entropy(mean: NDArray, deviation: NDArray) -> NDArray[np.float64]:
    """E H[y | f] for each mean and standard deviation of f."""
    around = mean[:, None] + deviation[:, None] * NODES
    narrow = bits(ndtr(around)) @ WEIGHTS / WEIGHTS.sum()
    outputs = np.arange(-REACH, REACH + STEP / 2, STEP)
    wide = np.maximum(deviation, NARROW)[:, None]
    density = np.exp(-np.square((outputs - mean[:, None]) / wide) / 2) / (np.sqrt(2 * np.pi) * wide)
    return np.where(deviation < NARROW, narrow, density @ bits(ndtr(outputs)) * STEP)


def bits(probability: NDArray) -> NDArray[np.float64]:
    """Entropy of a yes-or-no answer with this probability of "yes"."""
    return (entr(probability) + entr(1 - probability)) / np.log(2)
