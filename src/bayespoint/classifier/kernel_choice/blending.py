"""How candidates are blended: weights, and the temperature of their mixture."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bayespoint.classifier.calibration import best_temperature
from bayespoint.classifier.problem import Problem
from bayespoint.tools.numbers import TINY

# Smallest weight of a candidate in the mixture, and how many there are at most; of many points
# fewer, since these are better spent on a larger basis. On the tuning tables 1 to 5 % are equally
# good as the smallest weight, and 10 % cost 1.5 % of log-loss.
LEAST, MOST, MOST_OF_MANY = 0.05, 4, 2
# What few points say of weights depends on single points. So candidates that may be as good as the
# best one share this many points before any is seen.
PRIOR_POINTS = 5.0
# Points after which half of a mixture's temperature is believed: fewer than of one machine, since
# mixtures of few points are timid.
CAUTION = 30.0
# Points that count as wrong, since all predictions of few points may be right. On the tuning tables
# log-loss is 3 % less with 60 points, and the same with 200 or more; half a point costs 1 % there.
DOUBT = 0.1
N_STEPS = 200  # of expectation maximisation, after which weights change in the third digit at most


class Blend(NamedTuple):
    """Weights of candidates, and the temperature of their mixture."""

    share: NDArray[np.float64]
    temperature: float

    def mixed(self, everyone: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the mixture, from those of all candidates."""
        return softmax(log_mean(self.share, everyone) / self.temperature, axis=1)


def log_mean(share: NDArray[np.float64], everyone: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of the mean probabilities of all candidates."""
    return np.log(np.maximum(np.einsum("k,knc->nc", share, everyone), TINY))


def blended(
    everyone: NDArray[np.float64],
    problem: Problem,
    temperature: float | str,
    most: int,
    some: Any = slice(None),
) -> Blend:
    """The blend of which some labels are most probable; candidates of little weight are dropped."""
    codes, everyone, n_all = problem.codes[some], everyone[:, some], len(problem.codes)
    weight = None if problem.weight is None else problem.weight[some]
    own = np.log(np.maximum(everyone[:, np.arange(len(codes)), codes], TINY))
    first = mixture_weights(own, weight, PRIOR_POINTS * plausibility(own, weight))
    kept = first >= max(LEAST, np.sort(first)[-most:][0])
    share = np.zeros(len(own))
    prior = PRIOR_POINTS * plausibility(own[kept], weight)
    share[kept] = mixture_weights(own[kept], weight, prior)
    if isinstance(temperature, str):
        n_units = None if problem.n_units is None else problem.n_units * len(codes) / n_all
        scores = log_mean(share, everyone)
        temperature = best_temperature(scores, codes, weight, n_units, CAUTION, DOUBT)
    return Blend(share, temperature)


def mixture_weights(
    log_probability: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
    prior: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    r"""Weights :math:`v` that maximise :math:`\sum_i \log \sum_k v_k p_k(y_i | \text{others})`.

    The stacking of Yao, Vehtari, Simpson and Gelman (2018): a convex problem, solved by
    expectation maximisation.

    Parameters
    ----------
    log_probability : ndarray of shape (n_members, n)
        log p_k(label of row i | all other labels) of each member.
    weight : ndarray of shape (n,), optional
        How many copies each row counts for.
    prior : ndarray of shape (n_members,), optional
        Rows that each member is given before any is seen; none by default.

    Returns
    -------
    ndarray of shape (n_members,)
        Weights, of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.classifier.kernel_choice.blending import mixture_weights
    >>> mixture_weights(np.log([[0.9, 0.9, 0.1], [0.5, 0.5, 0.5]])).round(3)
    array([0.417, 0.583])
    """
    chance = np.exp(log_probability - log_probability.max(axis=0))
    copies = np.ones(chance.shape[1]) if weight is None else weight
    v, total = np.full(len(chance), 1 / len(chance)), copies.sum() + np.sum(prior)
    for _ in range(N_STEPS if len(chance) > 1 else 0):
        v = (v * (chance @ (copies / (v @ chance))) + prior) / total
    return v


def plausibility(
    log_probability: NDArray[np.float64], weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""How plausible it is that each member is as good as the best one, of sum 1.

    :math:`\exp(-t^2 / 2)`, where t is the mean difference of their log probabilities over its
    standard error.

    Parameters
    ----------
    log_probability, weight
        As in :func:`mixture_weights`.

    Returns
    -------
    ndarray of shape (n_members,)
        Numbers of sum 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint.classifier.kernel_choice.blending import plausibility
    >>> plausibility(np.log([[0.9, 0.8, 0.7], [0.8, 0.9, 0.6], [0.2, 0.1, 0.1]])).round(2)
    array([0.57, 0.43, 0.  ])
    """
    copies = np.ones(log_probability.shape[1]) if weight is None else weight
    share = copies / copies.sum()
    behind = log_probability[np.argmax(log_probability @ share)] - log_probability
    mean = behind @ share
    variance = (behind - mean[:, None]) ** 2 @ share / copies.sum()
    chance = np.exp(-0.5 * mean**2 / np.maximum(variance, TINY))
    return chance / chance.sum()
