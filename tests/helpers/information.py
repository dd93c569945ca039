"""Mutual information of labels and outputs, by adaptive quadrature."""

import itertools

import numpy as np
from scipy.integrate import quad
from scipy.special import entr, ndtr
from scipy.stats import norm


def coin(p):
    """Entropy of a label of this probability."""
    return entr(p) + entr(1 - p)


def information_by_quadrature(mean, deviation, noise, flips=0.0):
    def label(t):
        return coin(flips + (1 - 2 * flips) * ndtr(t))

    def conditional(f):
        return label(f / noise) * norm.pdf(f, mean, deviation)

    # The integrand is as narrow as the noise, around 0, or as the Gaussian, around its mean.
    ends = [mean - 10 * deviation, mean + 10 * deviation]
    inner = [x for x in (-9 * noise, 0.0, 9 * noise, mean) if ends[0] < x < ends[1]]
    knots = sorted({*ends, *inner})
    integral = sum(
        quad(conditional, a, b, epsabs=1e-14, limit=500)[0] for a, b in itertools.pairwise(knots)
    )
    return label(mean / np.hypot(deviation, noise)) - integral
