"""Expectation propagation of several classes on sparse rows, with independent weights.

The outputs of C classes are f = H g with C - 1 contrasts g, the columns of H an orthonormal basis
of all vectors of sum 0: what all classes have in common, no label can tell. Each weight of each
contrast is an independent Gaussian, and a point sends it the message
exp(shift w - rate w^2 / 2). Arrays of messages have shape (entries, C - 1), arrays of weights
(d, C - 1). The sites of a point are those of ``joint``: one for each rival of its class.
"""

import math

import numpy as np
from numpy.typing import NDArray

# Defined in other files: after a change there, delete the cache of this one.
from bayespoint._core.compiler import compiled
from bayespoint._core.ep import INNER, NARROWEST, SMALLEST, match
from bayespoint._core.joint import add_site, agree, leads, log_mass

VISITS = 10  # of the sites of a point to each other, before its weights are told
STILL = 1e-12  # move at which they end


@compiled
def cavity(
    first: int,
    last: int,
    column: NDArray,
    x: NDArray,
    removed: float,
    shift: NDArray,
    rate: NDArray,
    pull: NDArray,
    precision: NDArray,
    means: NDArray,
    variances: NDArray,
    m: NDArray,
    v: NDArray,
) -> bool:
    """Weights of a row and its contrasts g ~ N(m, diag(v)), without its messages.

    False if a weight has no cavity; there the posterior itself stands in.
    """
    sound = True
    m[:], v[:] = 0.0, 0.0
    for p in range(first, last):
        j = column[p]
        for k in range(len(m)):
            left, lacking = precision[j, k] - removed * rate[p, k], removed * shift[p, k]
            if not (left > SMALLEST * precision[j, k]):
                left, lacking, sound = precision[j, k], 0.0, False
            variance = 1.0 / left
            mean = (pull[j, k] - lacking) * variance
            means[p - first, k], variances[p - first, k] = mean, variance
            m[k] += x[p] * mean
            v[k] += x[p] * x[p] * variance
    return sound


@compiled
def noisy_leads(
    m: NDArray, v: NDArray, H: NDArray, label: int, noise: float, t: NDArray, S: NDArray,
    rivals: NDArray,
) -> None:  # fmt: skip
    """Mean and covariance of t_j = f_y - f_j + u for all rivals j, given those of contrasts."""
    leads(H @ m, (H * v) @ H.T, label, t, S, rivals)
    S += noise


@compiled
def wanted_site(
    m: NDArray, v: NDArray, H: NDArray, label: int, noise: float, shift: NDArray, rate: NDArray
) -> float:
    """Bring the sites of one point to where they should be at a cavity; the largest move.

    Moves are those of ``joint.wanted_sites``; nothing is changed if they are not finite.
    """
    size = len(m)
    rivals = np.empty(size, dtype=np.int64)
    t, S, a, b, s = (np.empty(size), np.empty((size, size)), np.empty(size), np.empty(size),
                     np.empty(size))  # fmt: skip
    noisy_leads(m, v, H, label, noise, t, S, rivals)
    for p in range(size):
        a[p], b[p] = shift[rivals[p]], rate[rivals[p]]
        add_site(t, S, p, a[p], b[p])
    if not agree(t, S, a, b, s, noise, VISITS, STILL):
        return np.inf
    largest = 0.0
    for p in range(size):
        j = rivals[p]
        step = max(abs(a[p] - shift[j]) * math.sqrt(s[p]), abs(b[p] - rate[j]) * s[p])
        if not math.isfinite(step):
            return np.nan
        largest = max(largest, step)
    for p in range(size):
        shift[rivals[p]], rate[rivals[p]] = a[p], b[p]
    return largest


@compiled
def log_probability(
    m: NDArray, v: NDArray, H: NDArray, label: int, noise: float, shift: NDArray, rate: NDArray
) -> float:
    """Logarithm of p(label) at a cavity, as the sites of the point approximate it."""
    size = len(m)
    rivals = np.empty(size, dtype=np.int64)
    t, S = np.empty(size), np.empty((size, size))
    noisy_leads(m, v, H, label, noise, t, S, rivals)
    total = 0.0
    for p in range(size):
        a, b = shift[rivals[p]], rate[rivals[p]]
        total += log_mass(t[p], S[p, p], a, b)
        add_site(t, S, p, a, b)
    for p in range(size):
        a, b, q = shift[rivals[p]], rate[rivals[p]], S[p, p]
        c = 1.0 - b * q
        if not (c > SMALLEST):  # no cavity: the posterior itself stands in
            mean, variance = t[p], q
        else:
            mean, variance = (t[p] - a * q) / c, q / c
        _, _, _, log_p = match(mean, variance, noise, 0.0)
        total += log_p - log_mass(mean, variance, a, b)
    return total


@compiled
def told(
    m: NDArray, v: NDArray, H: NDArray, label: int, noise: float, shift: NDArray, rate: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """What the sites of a point say of each contrast, at its cavity of variances v > 0.

    With the noise u integrated out they say exp(h.g - g.A g / 2) of all contrasts,

        A = sum_j r_j (H_j - c) (H_j - c)^T,  h = sum_j a_j (c - H_j),
        c = sum_j r_j H_j / sum_j r_j

    where H_j are rows, a_j and r_j shifts and rates, r_y = 1 / noise. The posterior of g is
    N(m + diag(v) e, diag(v)^1/2 B^-1 diag(v)^1/2) with B = I + diag(v)^1/2 A diag(v)^1/2. Returns
    e, the shares diag(B^-1) of the variances that are left, and the rates of the messages that
    give each contrast its variance.
    """
    n_classes, size = H.shape
    rates = rate.copy()
    rates[label] = 1.0 / noise
    centre = (rates @ H) / rates.sum()
    root = np.sqrt(v)
    A, force = np.zeros((size, size)), np.zeros(size)
    for j in range(n_classes):
        along = 0.0
        for k in range(size):
            along += (H[j, k] - centre[k]) * m[k]
        for k in range(size):
            off = H[j, k] - centre[k]
            force[k] -= (shift[j] + rates[j] * along) * off * root[k]
            for l in range(k + 1):
                A[k, l] += rates[j] * off * (H[j, l] - centre[l])
    for k in range(size):
        for l in range(k + 1):
            A[k, l] *= root[k] * root[l]
            A[l, k] = A[k, l]
    left = np.linalg.inv(np.eye(size) + A)
    e, share, rate_to = (left @ force) / root, np.empty(size), np.empty(size)
    for k in range(size):
        share[k] = left[k, k]
        lost = 1.0 - share[k]
        if share[k] > 0.5:  # the same, without cancellation
            lost = 0.0
            for l in range(size):
                lost += left[k, l] * A[l, k]
        rate_to[k] = lost / (share[k] * v[k])
    return e, share, rate_to


@compiled
def sweep(
    begin: NDArray,
    column: NDArray,
    x: NDArray,
    label: NDArray,
    weight: NDArray,
    removed: NDArray,
    shift: NDArray,
    rate: NDArray,
    pull: NDArray,
    precision: NDArray,
    site_shift: NDArray,
    site_rate: NDArray,
    H: NDArray,
    noise: float,
    damping: float,
) -> float:
    """Visit all points in turn; as ``ep.sweep_rows``, for several classes.

    Changes the messages, their sums ``pull`` and ``precision``, and the sites of the points, of
    shape (n, C). Returns the largest move of a site, infinite if there was no cavity, and NaN if
    numbers overflow: that point and those behind it stay as they are.
    """
    size = H.shape[1]
    largest, longest = 0.0, np.diff(begin).max() if len(label) else 0
    means, variances = np.empty((longest, size)), np.empty((longest, size))
    m, v = np.empty(size), np.empty(size)
    for i in range(len(label)):
        first, last = begin[i], begin[i + 1]
        step = damping / min(max(weight[i], 1.0), 2.0)  # copies move at once: half as far
        for inner in range(1 if weight[i] <= 1 else INNER):
            sound = cavity(first, last, column, x, removed[i], shift, rate, pull, precision,
                           means, variances, m, v)  # fmt: skip
            if not v.min() > 0:  # no features, so no outputs to learn of
                break
            moved = np.inf
            if sound:
                moved = wanted_site(m, v, H, label[i], noise, site_shift[i], site_rate[i])
            if math.isnan(moved):
                return np.nan
            if inner == 0:
                largest = max(largest, moved)
            if math.isinf(moved):
                largest = np.inf
                break
            e, share, rates = told(m, v, H, label[i], noise, site_shift[i], site_rate[i])
            for p in range(first, last):
                j = column[p]
                for k in range(size):
                    mean, variance = means[p - first, k], variances[p - first, k]
                    others = max(v[k] - variance * x[p] * x[p], 0.0)
                    scale = 1.0 / (1.0 + rates[k] * others)
                    shift_to = x[p] * (e[k] / share[k] + rates[k] * x[p] * mean) * scale
                    rate_to = x[p] * x[p] * rates[k] * scale
                    ds, dr = step * (shift_to - shift[p, k]), step * (rate_to - rate[p, k])
                    while weight[i] * dr < (NARROWEST - 1.0) * precision[j, k]:
                        ds, dr = 0.5 * ds, 0.5 * dr
                    shift[p, k] += ds
                    rate[p, k] += dr
                    pull[j, k] += weight[i] * ds
                    precision[j, k] += weight[i] * dr
            if moved < 1e-14:
                break
    return largest


@compiled
def summary(
    begin: NDArray,
    column: NDArray,
    x: NDArray,
    label: NDArray,
    removed: NDArray,
    shift: NDArray,
    rate: NDArray,
    pull: NDArray,
    precision: NDArray,
    site_shift: NDArray,
    site_rate: NDArray,
    H: NDArray,
    noise: float,
) -> tuple[NDArray, NDArray, NDArray]:
    """Means and variances (n, C - 1) of the contrasts' cavities, and constants as in ``ep``."""
    n, size = len(label), H.shape[1]
    longest = np.diff(begin).max() if n else 0
    means, variances = np.empty((longest, size)), np.empty((longest, size))
    m, v, constant = np.empty((n, size)), np.empty((n, size)), np.empty(n)
    for i in range(n):
        first, last = begin[i], begin[i + 1]
        cavity(first, last, column, x, removed[i], shift, rate, pull, precision,
               means, variances, m[i], v[i])  # fmt: skip
        a, b = site_shift[i].copy(), site_rate[i].copy()
        wanted_site(m[i], v[i], H, label[i], noise, a, b)
        constant[i] = log_probability(m[i], v[i], H, label[i], noise, a, b)
        for p in range(first, last):
            for k in range(size):
                mean, variance = means[p - first, k], variances[p - first, k]
                constant[i] -= log_mass(mean, variance, shift[p, k], rate[p, k])
    return m, v, constant
