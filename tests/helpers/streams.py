"""Streams: rows to learn from, and slow versions of what is learned."""

import numpy as np
from scipy import sparse
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import norm

from bayespoint import BayesPointClassifier
from bayespoint.engines import FactorisedPropagation

LONGEST = 100


def filtering(decay=1.0, *, fit_intercept=True, temperature=1.0, **parameters):
    """A classifier that visits each row once."""
    parameters = {"max_iter": 1, "decay": decay, **parameters}
    return BayesPointClassifier(
        kernel="linear",
        temperature=temperature,
        fit_intercept=fit_intercept,
        engine=FactorisedPropagation(**parameters),
    )


def stream(n=300, d=30, entries=4, n_classes=2, drift=0.0, switch=None, seed=0):
    """Sparse rows whose first columns are more common, and labels of weights that may drift.

    All weights change their sign after every ``switch`` rows.
    """
    rng = np.random.default_rng(seed)
    popular = 1 / np.arange(1, d + 1)
    X = np.zeros((n, d))
    for row in X:
        row[rng.choice(d, entries, replace=False, p=popular / popular.sum())] = rng.normal(
            1, 0.5, entries
        )
    w = rng.normal(size=(d, n_classes - 1 or 1))
    y = np.empty(n, dtype=int)
    for i, row in enumerate(X):
        w += drift * rng.normal(size=w.shape)
        w *= -1 if switch and i % switch == 0 else 1
        noisy = row @ w + rng.normal(size=w.shape[1])
        y[i] = noisy[0] > 0 if n_classes == 2 else np.append(noisy, 0).argmax()
    return sparse.csr_array(X), y


def slow_filter(X, y, decay, scale, *, prior_mean=0.0, noise=1.0, flip=0.0, longest=LONGEST):
    """Assumed-density filtering with forgetting, weight by weight in natural parameters.

    ``y`` is -1 or +1. Returns means, variances and log p(label | all earlier labels).
    """
    d = X.shape[1]
    prior_pull = np.broadcast_to(np.asarray(prior_mean) / scale**2, d)
    pull, precision, visited = prior_pull.copy(), np.full(d, scale**-2.0), np.zeros(d)
    log_p = []
    for i, (x, label) in enumerate(zip(X.toarray(), y, strict=True), 1):
        for j in np.flatnonzero(x):
            keep = decay ** min(i - visited[j], longest)
            precision[j] = keep * precision[j] + (1 - keep) * scale**-2.0
            pull[j] = keep * pull[j] + (1 - keep) * prior_pull[j]
            visited[j] = i
        mean, variance = pull / precision, 1 / precision
        s = np.sqrt(x**2 @ variance + noise**2)
        t = label * (x @ mean) / s
        p = flip + (1 - 2 * flip) * ndtr(t)
        log_p.append(np.log(p))
        slope = (1 - 2 * flip) * norm.pdf(t) / p  # of log p by t
        bend = slope * (slope + t)  # less its second derivative
        for j in np.flatnonzero(x):
            new_mean = mean[j] + label * variance[j] * x[j] / s * slope
            new_variance = variance[j] - (variance[j] * x[j] / s) ** 2 * bend
            precision[j], pull[j] = 1 / new_variance, new_mean / new_variance
    return pull / precision, 1 / precision, np.array(log_p)


def slow_rates(X, y, members, chunk, memory, calibration):
    """Evidence of rates, log p(label | earlier rows), and slope and offset at the end.

    ``members`` have the methods ``partial_fit`` and ``predict_proba``; ``y`` is 0 or 1.
    """
    evidence, log_p = np.zeros(len(members)), []
    mean, covariance = calibration[:2].copy(), calibration[2:].reshape(2, 2).copy()
    prior_precision = np.linalg.inv(covariance)
    prior_pull = prior_precision @ mean
    for begin in range(0, X.shape[0], chunk):
        rows, labels = X[begin : begin + chunk], y[begin : begin + chunk]
        keep = 0.5 ** (len(labels) / memory)
        p = np.array(
            [
                member.predict_proba(rows)[:, 1] if begin else np.full(len(labels), 0.5)
                for member in members
            ]
        )
        v = np.exp(evidence - evidence.max())
        z = ndtri(v @ p / v.sum())
        h = np.column_stack([z, np.ones(len(z))])
        evidence = keep * evidence + np.log(np.where(labels, p, 1 - p)).sum(axis=1)
        precision = np.linalg.inv(covariance)
        pull = keep * precision @ mean + (1 - keep) * prior_pull
        covariance = np.linalg.inv(keep * precision + (1 - keep) * prior_precision)
        mean = covariance @ pull
        for one, label in zip(h, 2 * labels - 1, strict=True):
            s = np.sqrt(1 + one @ covariance @ one)
            t = label * (one @ mean) / s
            slope = np.exp(norm.logpdf(t) - log_ndtr(t))
            along = covariance @ one
            mean = mean + label * slope / s * along
            covariance = covariance - slope * (slope + t) / s**2 * np.outer(along, along)
        for member in members:
            member.partial_fit(rows, labels, classes=[0, 1])
        each = [member.posterior_.left_out_log_probability[:, 0] for member in members]
        log_p.append(np.log(v @ np.exp(each) / v.sum()))
    return evidence, np.concatenate(log_p), mean, covariance
