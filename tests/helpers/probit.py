"""Problems for engines of the probit model, and machines to solve them."""

import numpy as np

from bayespoint import BayesPointClassifier
from bayespoint.engines import get_engine
from bayespoint.engines.gaussian.gaussians import WeightGaussian
from bayespoint.engines.gaussian.prior import GaussianPrior
from bayespoint.engines.gaussian.sites import Sites
from bayespoint.engines.gaussian.tasks import Labels
from bayespoint.likelihoods import ProbitLikelihood
from bayespoint.spaces import Coordinates


def machine(engine="ep", **parameters):
    """A linear machine without an intercept, at rest to many digits."""
    return BayesPointClassifier(
        kernel="linear",
        temperature=1.0,
        fit_intercept=False,
        engine=get_engine(engine).set_params(**{"tol": 1e-12} | parameters),
    )


def prior(d, scale=1.0):
    return GaussianPrior(np.zeros(d), np.full(d, scale))


def full_sites(Z, y, before, weight=None, *, at_once=False, **noise):
    """The sites of one task, in float64 from the first sweep on."""
    weight = np.ones(len(y)) if weight is None else weight
    gaussian = WeightGaussian(Coordinates(Z), before)
    gaussian.renew(np.zeros(len(y)), np.zeros(len(y)))
    return Sites(
        gaussian,
        Labels(y, weight, ProbitLikelihood(**noise), np.minimum(weight, 1)),
        at_once=at_once,
    )


def problem(n=60, d=4, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


def separable(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) > 0, 1, -1)


def assert_same(one, other, atol):
    np.testing.assert_allclose(one.posterior_.mean, other.posterior_.mean, atol=atol)
    np.testing.assert_allclose(one.posterior_.covariance, other.posterior_.covariance, atol=atol)
    np.testing.assert_allclose(one.log_evidence_, other.log_evidence_, atol=100 * atol)
