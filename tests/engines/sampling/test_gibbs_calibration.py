"""Simulation-based calibration: where weights and labels are drawn from the model, so are ranks.

S. Talts, M. Betancourt, D. Simpson, A. Vehtari and A. Gelman, Validating Bayesian inference
algorithms with simulation-based calibration, 2018.
"""

import numpy as np
from scipy.stats import chisquare

from bayespoint.engines.sampling.halfspaces import Halfspaces
from bayespoint.engines.sampling.moves import Circles, Record

PROBLEMS, DRAWS, THIN = 400, 19, 15
M, D, Q = 8, 3, 0.15


def ranks(assumed=Q, seed=0):
    """Rank of the true outputs at a new point among those of samples, for many problems."""
    rng = np.random.default_rng(seed)
    theta = np.log((1 - assumed) / assumed)
    found = np.empty(PROBLEMS, int)
    for n in range(PROBLEMS):
        truth = rng.normal(size=D)
        truth /= np.linalg.norm(truth)
        X = rng.normal(size=(M, D)) * [2.0, 1.0, 0.5]
        y = np.where(X @ truth > 0, 1, -1) * np.where(rng.random(M) < Q, -1, 1)
        halfspaces = Halfspaces.of(X, y, None)
        moves = Circles(halfspaces)
        samples, state = np.empty((DRAWS + 5, D)), moves.state(halfspaces.centre(), rng)
        steps = (0, THIN * len(samples))
        moves.sample(theta, steps, state, rng, Record(THIN, samples, np.zeros(D), np.empty(0)))
        # Along the data, where labels tell most.
        new = y @ X
        found[n] = (samples[5:] @ new < truth @ new).sum()
    return found


def p_value(found):
    return chisquare(np.bincount(found, minlength=DRAWS + 1)).pvalue


def test_ranks_are_uniform():
    assert p_value(ranks()) > 1e-3


def test_ranks_of_a_chain_with_another_noise_are_not():
    """The control: labels have 15 % noise, the sampler believes in 1 %."""
    assert p_value(ranks(assumed=0.01)) < 1e-6
