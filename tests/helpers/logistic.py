"""Problems for engines of the logistic model, and machines to solve them."""

import numpy as np
from scipy.special import expit

from bayespoint import BayesPointClassifier
from bayespoint.engines import LaplaceApproximation


def machine(**parameters):
    """A linear machine without an intercept, at rest to many digits."""
    return BayesPointClassifier(
        kernel="linear",
        temperature=1.0,
        fit_intercept=False,
        engine=LaplaceApproximation(**{"tol": 1e-10} | parameters),
    )


def problem(n=60, d=4, scale=1.0, seed=0):
    """Labels of the logistic model, with weights from N(0, scale^2)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(rng.random(n) < expit(X @ (scale * rng.normal(size=d))), 1, -1)
    y[:2] = 1, -1
    return X, y


def log_joint(w, X, y, prior_scale=1.0):
    """log p(labels, w) of weights (..., d), without the constant of the prior."""
    margins = y * (w @ X.T)
    return -np.logaddexp(0, -margins).sum(axis=-1) - np.square(w / prior_scale).sum(axis=-1) / 2
