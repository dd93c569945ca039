"""Shares of several Gaussian outputs, against adaptive quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from bayespoint.likelihoods.quadrature import share_of_largest


def largest_by_quadrature(mean, deviation):
    def density(f, y):
        others = [z for z in range(len(mean)) if z != y]
        below = np.prod([ndtr((f - mean[z]) / deviation[z]) for z in others])
        return below * norm.pdf(f, mean[y], deviation[y])

    return [
        quad(density, m - 9 * s, m + 9 * s, args=(y,), epsabs=1e-12, limit=500, points=[*mean])[0]
        for y, (m, s) in enumerate(zip(mean, deviation, strict=True))
    ]


@pytest.mark.parametrize("spread", [1.0, 2.0, 4.0])
def test_shares_of_several_gaussian_outputs_by_adaptive_quadrature(spread):
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(5, 4))
    deviation = spread ** rng.uniform(-0.5, 0.5, size=(5, 4))
    expected = [largest_by_quadrature(m, s) for m, s in zip(mean, deviation, strict=True)]
    shares = share_of_largest(mean, deviation**2)
    np.testing.assert_allclose(shares, expected, atol=1e-8)
    # The negative control: to normalise the shares of one against the rest is something else.
    one_against_rest = ndtr(mean / deviation)
    wrong = one_against_rest / one_against_rest.sum(axis=1, keepdims=True)
    assert np.abs(wrong - expected).max() > 0.01


def test_shares_of_equal_outputs_are_equal():
    for variance in (0.0, 1.0):
        shares = share_of_largest(np.zeros((1, 5)), np.full((1, 5), variance))
        np.testing.assert_allclose(shares, 0.2)
