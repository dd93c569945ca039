"""Small problems of several classes, and slow versions of their posteriors."""

import numpy as np
from scipy.special import log_ndtr, log_softmax

from bayespoint import _core
from bayespoint.engines import Request
from bayespoint.spaces import Coordinates


def problem(n=6, d=2, n_classes=3, seed=0):
    """Points and classes, each class at least once."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.append(
        np.arange(n_classes), rng.integers(n_classes, size=n)
    )[:n]


class Plain(Coordinates):
    """Coordinates that are features without names."""

    is_linear = names_features = has_intercept = has_basis = False


def targets(y, n_classes=3):
    """Labels -1 and +1 of each class."""
    return np.where(y[:, None] == np.arange(n_classes), 1, -1).astype(np.int8)


def learn(engine, Z, y, n_classes=3, **request):
    """The joint posterior in the coordinates Z."""
    return engine.run(Plain(Z), targets(y, n_classes), Request(kind="class", **request))[0]


def by_importance(Z, y, scale, n_classes=3, n_draws=400_000, softmax=False):
    """Weights drawn from the prior, (draws, d, C), and the likelihood of each.

    That of the argmax model is drawn, too: a product of Phi, given the noise of the own output.
    """
    rng = np.random.default_rng(1)
    w = scale * rng.normal(size=(n_draws, Z.shape[1], n_classes))
    log_p = np.zeros(n_draws)
    for z, label in zip(Z, y, strict=True):
        f = np.tensordot(w, z, axes=(1, 0))
        if softmax:
            log_p += log_softmax(f, axis=1)[:, label]
        else:
            lead = f[:, [label]] - np.delete(f, label, axis=1) + rng.normal(size=(n_draws, 1))
            log_p += log_ndtr(lead).sum(axis=1)
    return w, np.exp(log_p)


def factor_by_factor(Z, y, scale, noise=1.0, n_classes=3, sweeps=60):
    """Expectation propagation with one site for each factor, in all weights and noises at once.

    The variables are the weights, class by class, and the noise u of each point's own output. Each
    site is Phi(t / beta) of one direction. Returns mean and covariance of the weights, and the
    evidence.
    """
    n, d = Z.shape
    size = n_classes * d + n
    directions = []
    for i, label in enumerate(y):
        for rival in range(n_classes):
            if rival != label:
                b = np.zeros(size)
                b[label * d : (label + 1) * d] = Z[i]
                b[rival * d : (rival + 1) * d] = -Z[i]
                b[n_classes * d + i] = 1.0
                directions.append(b)
    B = np.array(directions)
    prior = np.append(np.full(n_classes * d, scale**-2.0), np.full(n, noise**-2.0))
    shift, rate, law = np.zeros(len(B)), np.zeros(len(B)), (_core.ep.PROBIT, noise**2, 0.0)
    for _ in range(sweeps):
        for k, b in enumerate(B):
            covariance = np.linalg.inv(np.diag(prior) + (B.T * rate) @ B)
            mean = covariance @ (B.T @ shift)
            e, f = b @ covariance @ b, b @ mean
            c = 1 - rate[k] * e
            shift[k], rate[k], _, _ = _core.ep.match((f - shift[k] * e) / c, e / c, law)
    covariance = np.linalg.inv(np.diag(prior) + (B.T * rate) @ B)
    mean = covariance @ (B.T @ shift)
    e, f = np.einsum("ki,ij,kj->k", B, covariance, B), B @ mean
    c = 1 - rate * e
    m, v = (f - shift * e) / c, e / c
    log_p, _, _ = _core.ep.match_all(m, v, law)
    exponent = (2 * m * shift + shift**2 * v - rate * m**2) / (1 + rate * v)
    constant = log_p + 0.5 * np.log1p(rate * v) - 0.5 * exponent
    determinant = np.linalg.slogdet(covariance)[1] + np.log(prior).sum()
    evidence = constant.sum() + 0.5 * determinant + 0.5 * shift @ f
    own = slice(0, n_classes * d)
    return mean[own].reshape(n_classes, d).T, covariance[own, own], evidence
