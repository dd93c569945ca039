"""The logistic likelihood: derivatives and information, against differences and quadrature."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from tests.helpers.information import coin

from bayespoint.likelihoods import LogisticLikelihood


def test_derivatives_by_differences():
    margin, h = np.linspace(-30, 30, 61)[:, None], 1e-5
    likelihood = LogisticLikelihood()
    ahead, here, behind = (likelihood.log_likelihood(margin + k * h)[0] for k in (1, 0, -1))
    first, second = likelihood.derivatives(margin)
    np.testing.assert_allclose(first, (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(second, -(ahead - 2 * here + behind) / h**2, atol=1e-4)


@pytest.mark.parametrize("deviation", [1e-3, 0.3, 0.999, 1.001, 4.0, 1e3])
@pytest.mark.parametrize("mean", [0.0, 0.7, -6.0])
def test_information_of_the_logistic_by_adaptive_quadrature(mean, deviation):
    def integrate(function):
        ends = [mean - 10 * deviation, mean + 10 * deviation]
        inner = [x for x in (-45.0, 0.0, 45.0, mean) if ends[0] < x < ends[1]]
        return sum(
            quad(lambda f: function(f) * norm.pdf(f, mean, deviation), a, b, epsabs=1e-13)[0]
            for a, b in itertools.pairwise(sorted({*ends, *inner}))
        )

    expected = coin(integrate(expit)) - integrate(lambda f: coin(expit(f)))
    found = LogisticLikelihood().information(np.array([mean]), np.array([deviation**2]))
    np.testing.assert_allclose(found, expected, atol=1e-8)
