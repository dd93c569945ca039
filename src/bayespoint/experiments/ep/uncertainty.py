"""What a Gaussian posterior of the probit model is unsure about: the data, or its own weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtr

from bayespoint.likelihoods import ProbitLikelihood


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
    likelihood = ProbitLikelihood()
    probability = ndtr(likelihood.predictive(mean, variance))
    entropy = (entr(probability) + entr(1 - probability)) / np.log(2)
    model = likelihood.information(mean, variance) / np.log(2)
    return Uncertainty(probability, np.maximum(entropy - model, 0.0), model)
