"""One pass over sparse rows with independent weights: assumed-density filtering with forgetting.

What is known of a weight is one record, so that a visit touches one cache line: its mean, its
variance, the number of rows up to its last visit, and the precision of its prior. Rows are four
things, begin, column, x and constant: x[begin[i]:begin[i + 1]] at the weights ``column``, each of
them once. If ``constant`` is not 0, all rows have this entry, too, at the last weight.
"""

import math

import numpy as np
from numpy.typing import NDArray

# Defined in another file: after a change there, delete the cache of this one.
from bayespoint._core.compiler import compiled
from bayespoint._core.ep import PROBIT, tilt

MEAN, VARIANCE, VISITED, PRIOR = 0, 1, 2, 3  # places in a record


@compiled
def are_within(x: NDArray, largest: float) -> bool:
    """Whether all numbers are at most so large; NaN is not."""
    n_within = 0  # counted to the end, which is vectorised
    for one in x:
        n_within += abs(one) <= largest
    return n_within == len(x)


@compiled
def forget(record: NDArray, j: int, now: float, prior_mean: float, keep: NDArray) -> None:
    """At its visit weight j becomes N(mean, variance)^k times prior^(1 - k).

    k = keep[g], and its last visit was g rows before ``now``, or longer ago than ``keep`` tells.
    """
    share = keep[np.uint64(min(now - record[j, VISITED], len(keep) - 1.0))]
    lost = (1.0 - share) * record[j, PRIOR] * record[j, VARIANCE]
    wider = 1.0 / (share + lost)
    record[j, MEAN] = (share * record[j, MEAN] + lost * prior_mean) * wider
    record[j, VARIANCE] *= wider
    record[j, VISITED] = now


@compiled
def forget_once(
    column: NDArray, record: NDArray, now: float, prior_mean: NDArray, keep: NDArray
) -> None:
    """Let all weights of ``column`` forget, each once, before a batch that ends at ``now``."""
    for j in column:
        if record[j, VISITED] < now:
            forget(record, j, now, prior_mean[j], keep)


@compiled
def outputs(rows: tuple, record: NDArray) -> tuple[NDArray, NDArray]:
    """Mean and variance of the output of each row."""
    begin, column, x, constant = rows
    n, last = len(begin) - 1, len(record) - 1
    mean, variance = np.empty(n), np.empty(n)
    for i in range(n):
        m, v = constant * record[last, MEAN], constant * constant * record[last, VARIANCE]
        for p in range(begin[i], begin[i + 1]):
            j = column[p]
            m += x[p] * record[j, MEAN]
            v += x[p] * x[p] * record[j, VARIANCE]
        mean[i], variance[i] = m, v
    return mean, variance


@compiled
def all_outputs(rows: tuple, records: NDArray) -> tuple[NDArray, NDArray]:
    """The same at each rate and of each task, (n_rates, n_tasks, n)."""
    shape = (records.shape[0], records.shape[1], len(rows[0]) - 1)
    means, variances = np.empty(shape), np.empty(shape)
    for k in range(shape[0]):
        for t in range(shape[1]):
            means[k, t], variances[k, t] = outputs(rows, records[k, t])
    return means, variances


@compiled
def learn_all(
    rows: tuple,
    y: NDArray,
    records: NDArray,
    n_rows: int,
    prior_mean: NDArray,
    keep: NDArray,
    law: tuple,
) -> NDArray:
    """Visit each row once at each rate, for each task: see :func:`learn`; returns ``log_p``."""
    log_p = np.empty((records.shape[0], y.shape[0], y.shape[1]))
    for k in range(log_p.shape[0]):
        for t in range(log_p.shape[1]):
            learn(rows, y[t], records[k, t], n_rows, prior_mean[t], keep[k], law, log_p[k, t])
    return log_p


@compiled
def learn(
    rows: tuple,
    y: NDArray,
    record: NDArray,
    n_rows: int,
    prior_mean: NDArray,
    keep: NDArray,
    law: tuple,
    log_p: NDArray,
) -> None:
    """Visit each row once; sets ``log_p``, the logarithm of p(label | all earlier labels).

    ``n_rows`` rows came before. Weights forget at each visit, unless all is kept. Then with
    y f ~ N(m, v), s^2 = v + noise and t = m / s, the moments of each weight given the label are

        mean + y x variance (u - t w) / s,  variance (1 - w x^2 variance / s^2).
    """
    begin, column, x, constant = rows
    forgets, last = keep[-1] < 1, np.uint64(len(record) - 1)
    for i in range(len(y)):
        now, m, v = n_rows + i + 1.0, 0.0, 0.0
        if constant != 0:
            if forgets:
                forget(record, last, now, prior_mean[last], keep)
            m, v = constant * record[last, MEAN], constant * constant * record[last, VARIANCE]
        for p in range(begin[i], begin[i + 1]):
            j = np.uint64(column[p])  # unsigned: not counted from the end, which costs a tenth
            if forgets:
                forget(record, j, now, prior_mean[j], keep)
            m += x[p] * record[j, MEAN]
            v += x[p] * x[p] * record[j, VARIANCE]
        s2, w, rest, u, log_p[i] = tilt(y[i] * m, v, law)
        if s2 <= 0:
            continue
        s = math.sqrt(s2)
        force, share = y[i] * (u - y[i] * m / s * w) / s, w / s2
        for p in range(begin[i], begin[i + 1]):
            tell(record, np.uint64(column[p]), x[p], force, s2, rest, share)
        if constant != 0:
            tell(record, last, constant, force, s2, rest, share)


@compiled
def tell(
    record: NDArray, j: int, x: float, force: float, s2: float, rest: float, share: float
) -> None:
    """Moments of weight j after the label of a row with the entry x."""
    variance = record[j, VARIANCE]
    record[j, MEAN] += force * x * variance
    others = max(s2 - x * x * variance, 0.0)
    record[j, VARIANCE] = variance * (rest + share * others)  # no cancellation where w is near 1


@compiled
def calibrate(z: NDArray, y: NDArray, known: NDArray, keep: float, prior: NDArray) -> None:
    """Learn slope a and offset b of p(label) = Phi(y (a z + b)) from scores z, in place.

    ``known`` and ``prior`` are the means of a and b and their covariance, row by row. What was
    known keeps the share ``keep`` of its weight before the first row, as in :func:`forget`.
    """
    a, b, aa, ab, _, bb = known
    pull, precision = natural(known)
    prior_pull, prior_precision = natural(prior)
    pull = keep * pull + (1.0 - keep) * prior_pull
    precision = keep * precision + (1.0 - keep) * prior_precision
    (a, b), (aa, ab, bb) = solved(precision, pull)
    for i in range(len(z)):
        ha, hb = aa * z[i] + ab, ab * z[i] + bb  # covariance times (z, 1)
        s2, w, _, u, _ = tilt(y[i] * (a * z[i] + b), ha * z[i] + hb, (PROBIT, 1.0, 0.0))
        s = math.sqrt(s2)
        force, share = y[i] * (u - y[i] * (a * z[i] + b) / s * w) / s, w / s2
        a, b = a + force * ha, b + force * hb
        aa, ab, bb = aa - share * ha * ha, ab - share * ha * hb, bb - share * hb * hb
    known[:] = np.array([a, b, aa, ab, ab, bb])


@compiled
def natural(known: NDArray) -> tuple[NDArray, NDArray]:
    """Precision times mean, and three numbers of the precision, of a Gaussian of two numbers."""
    a, b, aa, ab, _, bb = known
    (pa, pb), precision = solved(np.array([aa, ab, bb]), np.array([a, b]))
    return np.array([pa, pb]), np.array([precision[0], precision[1], precision[2]])


@compiled
def solved(
    matrix: NDArray, right: NDArray
) -> tuple[tuple[float, float], tuple[float, float, float]]:
    """Inverse of a symmetric matrix of three numbers, times a vector, and by itself."""
    p, q, r = matrix
    scale = 1.0 / (p * r - q * q)
    x = (r * right[0] - q * right[1]) * scale, (p * right[1] - q * right[0]) * scale
    return x, (r * scale, -q * scale, p * scale)
