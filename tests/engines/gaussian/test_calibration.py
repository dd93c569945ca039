"""Simulation-based calibration: posteriors hold as many true weights as they promise."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import norm

from bayespoint import BayesPointClassifier

LINKS = {"ep": ndtr, "laplace": expit}  # p(yes) of an output
LEVELS = np.array([0.5, 0.8, 0.95])
N_RUNS = 200


def standardised_errors(engine, n, d):
    """(w - mu) / sd of weights from the prior N(0, I), after labels from the engine's model."""
    rng, link = np.random.default_rng(0), LINKS[engine]
    errors = np.empty((N_RUNS, d))
    for run in range(N_RUNS):
        w, X = rng.normal(size=d), rng.normal(size=(n, d))
        y = np.where(rng.random(n) < link(X @ w), 1, -1)
        clf = BayesPointClassifier(
            kernel="linear", temperature=1.0, fit_intercept=False, engine=engine
        )
        posterior = clf.partial_fit(X, y, classes=[-1, 1]).posterior_  # labels may be all alike
        deviation = np.sqrt(posterior.covariance[0].diagonal())
        errors[run] = (w - posterior.mean[:, 0]) / deviation
    return errors


def miss(errors):
    """By how much central intervals hold too few or too many, beyond five standard errors."""
    inside = np.abs(errors)[:, :, None] < norm.ppf(0.5 + LEVELS / 2)
    share = inside.mean(axis=1)
    return np.abs(share.mean(axis=0) - LEVELS) - 5 * share.std(axis=0) / np.sqrt(N_RUNS)


# The known error of the approximation: benchmarks/calibration.py.
@pytest.mark.parametrize(
    ("engine", "n", "d", "known"),
    [
        ("ep", 20, 10, 0.01),
        ("ep", 100, 5, 0.01),
        ("laplace", 20, 10, 0.04),
        ("laplace", 100, 5, 0.02),
    ],
)
def test_intervals_hold_what_they_promise(engine, n, d, known):
    errors = standardised_errors(engine, n, d)
    assert (miss(errors) < known).all()
    assert (miss(np.sqrt(2) * errors) > known).any()  # half the variance: must fail
    assert (miss(errors / np.sqrt(2)) > known).any()  # twice the variance, too
