"""Problems for engines of the probit model, machines to solve them, and a slow version."""

from typing import NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr
from tests.helpers.joint import Plain

from bayespoint import BayesPointClassifier
from bayespoint.engines import ExpectationPropagation, Request, get_engine
from bayespoint.engines.gaussian.prior import GaussianPrior


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


class Features(Plain):
    """Coordinates that are named features, so that each may have a prior."""

    names_features = True


def learn(X, y, weight=None, **parameters):
    """The posterior of one task of any labels, also of one class only, and its run."""
    engine = ExpectationPropagation(**{"prior_scale": 1.0, "tol": 1e-12} | parameters)
    return engine.run(Features(X), y[:, None].astype(np.int8), Request(sample_weight=weight))


class Slow(NamedTuple):
    """The posterior of a plain loop, its evidence, left-out labels, and one copy of each site."""

    mean: np.ndarray
    covariance: np.ndarray
    log_evidence: float
    left_out: np.ndarray
    a: np.ndarray
    b: np.ndarray


def match(m, v, noise, flip):
    """The site with the moments of the label +1 at a cavity N(m, v), and log p of the label."""
    s = np.sqrt(v + noise**2)
    t = m / s
    log_p = np.logaddexp(np.log(flip), np.log1p(-2 * flip) + log_ndtr(t)) if flip else log_ndtr(t)
    honest = 1.0 if flip == 0 else (1 - 2 * flip) * np.exp(log_ndtr(t) - log_p)
    slope = honest * np.sqrt(2 / np.pi) / erfcx(-t / np.sqrt(2)) / s
    bend = slope * (slope + t / s)
    b = bend / (1 - bend * v)
    return slope + b * (m + v * slope), b, log_p


def slow_sweeps(
    X, y, n_sweeps=1000, *, weight=None, mean=None, covariance=None, noise=1.0, flip=0.0, step=1.0
):
    """The slide "Putting It all Together" in NumPy, of as many sweeps or until sites rest.

    A row of weight k has k copies of its site, of which cavities lack one; ``step`` is the share of
    a change that is made.
    """
    n, d = X.shape
    k, m0 = np.ones(n) if weight is None else weight, np.zeros(d) if mean is None else mean
    S0 = np.eye(d) if covariance is None else covariance
    (a, b), mu, S, move = np.zeros((2, n)), m0.copy(), S0.copy(), np.inf
    lacks = np.ones(n)

    def cavity(i, copies):
        z, f = S @ X[i], X[i] @ mu
        e = X[i] @ z
        c = 1 - copies * b[i] * e
        return z, e, f, (f - copies * a[i] * e) / c, e / c

    while n_sweeps and move > 1e-13:
        n_sweeps, move = n_sweeps - 1, 0.0
        for i in range(n):
            z, e, f, m, v = cavity(i, lacks[i])
            if v < 0:  # the one copy is not there: less than that
                lacks = np.minimum(k, 1.0)
                z, e, f, m, v = cavity(i, lacks[i])
            new_a, new_b, _ = match(y[i] * m, v, noise, flip)
            da, db = y[i] * new_a - a[i], new_b - b[i]
            move = max(move, abs(da) * np.sqrt(v + noise**2), abs(db) * (v + noise**2))
            a[i], b[i] = a[i] + step * da, b[i] + step * db
            pull, rate = k[i] * step * da, k[i] * step * db
            S -= rate / (1 + rate * e) * np.outer(z, z)
            mu += (pull - f * rate) / (1 + rate * e) * z
    assert n_sweeps or move, "the slow version does not come to rest"
    # Once more from the sites alone, and the evidence.
    P0 = np.linalg.inv(S0)
    S = np.linalg.inv(P0 + (X.T * (k * b)) @ X)
    mu = S @ (P0 @ m0 + X.T @ (k * a))
    square = mu @ (P0 @ m0 + X.T @ (k * a)) - m0 @ P0 @ m0
    evidence = 0.5 * (np.linalg.slogdet(S)[1] - np.linalg.slogdet(S0)[1] + square)
    left_out = np.empty(n)
    for i in range(n):
        *_, m, v = cavity(i, lacks[i])
        exponent = (2 * m * a[i] + a[i] ** 2 * v - b[i] * m**2) / (1 + b[i] * v)
        log_p = match(y[i] * m, v, noise, flip)[2]
        evidence += k[i] * (log_p + 0.5 * np.log1p(b[i] * v) - 0.5 * exponent)
        *_, m, v = cavity(i, min(k[i], 1.0))
        left_out[i] = match(y[i] * m, v, noise, flip)[2]
    return Slow(mu, S, float(evidence), left_out, a, b)


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
