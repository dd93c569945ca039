"""Expectation propagation of several classes: the sites of one point, which its rivals share.

A point of class y has one site for each other class j, along t_j = f_y - f_j + u with the noise
u ~ N(0, noise) of its own output: exp(shift_j t_j - rate_j t_j^2 / 2), which stands for
Phi(t_j / beta), noise = beta^2. Arrays of sites have shape (n, C); the entries of the own class are
0. A posterior of outputs is given by the mean and the covariance of the C outputs of each point.
"""

import math

import numpy as np
from numpy.typing import NDArray

# Defined in another file: after a change there, delete the cache of this one.
from bayespoint._core.compiler import compiled
from bayespoint._core.ep import PROBIT, SMALLEST, match


@compiled
def leads(
    mean: NDArray, covariance: NDArray, y: int, m: NDArray, S: NDArray, rivals: NDArray
) -> None:
    """Mean and covariance of f_y - f_j for all rivals j, written into m and S."""
    k = 0
    for j in range(len(mean)):
        if j != y:
            rivals[k] = j
            k += 1
    for p in range(k):
        j = rivals[p]
        m[p] = mean[y] - mean[j]
        for q in range(k):
            i = rivals[q]
            S[p, q] = covariance[y, y] - covariance[y, i] - covariance[j, y] + covariance[j, i]


@compiled
def with_noise(m: NDArray, S: NDArray, shift: NDArray, rate: NDArray, noise: float) -> None:
    """From leads to t = lead + u: what the sites say of u is added, in place.

    Given the leads T, u has the variance k = noise / (1 + noise sum_j rate_j) and the mean
    k sum_j (shift_j - rate_j T_j).
    """
    size = len(m)
    k, pull = noise / (1.0 + noise * rate.sum()), shift.sum()
    held, spread = 0.0, 0.0
    row = np.zeros(size)
    for j in range(size):
        held += rate[j] * m[j]
        for i in range(size):
            row[i] += rate[j] * S[j, i]
    for j in range(size):
        spread += rate[j] * row[j]
    for j in range(size):
        m[j] += k * (pull - held)
    for j in range(size):
        for i in range(size):
            S[j, i] += k * k * spread + k - k * (row[i] + row[j])


@compiled
def without_copies(
    m: NDArray, S: NDArray, shift: NDArray, rate: NDArray, noise: float, removed: float
) -> bool:
    """Leads in a posterior that has one copy of the sites, if it had ``removed`` of them.

    False if there is no such posterior.
    """
    size = len(m)
    k, pull = noise / (1.0 + noise * rate.sum()), shift.sum()
    more = 1.0 - removed
    system, right = np.eye(size), np.empty((size, size + 1))
    P = np.diag(rate) - k * np.outer(rate, rate)
    system += more * (S @ P)
    right[:, 0] = m + more * (S @ (shift - k * pull * rate))
    right[:, 1:] = S
    solved = np.linalg.solve(system, right)
    m[:] = solved[:, 0]
    S[:] = 0.5 * (solved[:, 1:] + solved[:, 1:].T)
    return bool(np.diag(S).min() > 0)


@compiled
def with_sites(
    mean: NDArray,
    covariance: NDArray,
    y: int,
    shift: NDArray,
    rate: NDArray,
    removed: float,
    noise: float,
) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, bool]:
    """Mean and covariance of t with one copy of the sites of a point.

    Also the sites, without that of the own class, the rivals they belong to, and whether there is
    such a posterior.
    """
    size = len(mean) - 1
    rivals = np.empty(size, dtype=np.int64)
    m, S = np.empty(size), np.empty((size, size))
    leads(mean, covariance, y, m, S, rivals)
    a, b = shift[rivals], rate[rivals]
    sound = True
    if removed != 1.0:
        sound = without_copies(m, S, a, b, noise, removed)
    with_noise(m, S, a, b, noise)
    return m, S, a, b, rivals, sound


@compiled
def log_mass(mean: float, variance: float, shift: float, rate: float) -> float:
    """Logarithm of the expectation of exp(shift t - rate t^2 / 2) for t ~ N(mean, variance)."""
    d = 1.0 + rate * variance
    exponent = (2.0 * mean * shift + shift**2 * variance - rate * mean**2) / d
    return 0.5 * exponent - 0.5 * math.log(max(d, SMALLEST))


@compiled
def add_site(m: NDArray, S: NDArray, p: int, shift: float, rate: float) -> None:
    """N(m, S) of t times exp(shift t_p - rate t_p^2 / 2), in place."""
    size = len(m)
    d = 1.0 + rate * S[p, p]
    along = (shift - rate * m[p]) / d
    column = S[:, p].copy()
    for j in range(size):
        m[j] += along * column[j]
        share = rate / d * column[j]
        for k in range(size):
            S[j, k] -= share * column[k]


@compiled
def agree(
    m: NDArray,
    S: NDArray,
    a: NDArray,
    b: NDArray,
    s: NDArray,
    noise: float,
    sweeps: int,
    tol: float,
) -> bool:
    """Let the sites a, b of a point visit each other; t ~ N(m, S) with them. All is in place.

    ``s`` becomes the variances of t_j + noise without each site. They end after ``sweeps``, or when
    none moves by more than ``tol``. False if a site has no cavity.
    """
    size = len(m)
    for _ in range(sweeps):
        largest = 0.0
        for p in range(size):
            q = S[p, p]
            c = 1.0 - b[p] * q
            if not (c > SMALLEST) or not (q > 0):
                return False
            new_a, new_b, s2, _ = match((m[p] - a[p] * q) / c, q / c, (PROBIT, noise, 0.0))
            s[p] = s2
            da, db = new_a - a[p], new_b - b[p]
            a[p], b[p] = new_a, new_b
            step = max(abs(da) * math.sqrt(s2), abs(db) * s2)
            if step > largest or math.isnan(step):
                largest = step
            add_site(m, S, p, da, db)
        if largest <= tol:
            break
    return True


@compiled
def wanted(
    mean: NDArray,
    covariance: NDArray,
    y: int,
    shift: NDArray,
    rate: NDArray,
    removed: float,
    noise: float,
    sweeps: int,
    tol: float,
) -> tuple[NDArray, NDArray, float]:
    """What the sites of one point should be, and the largest move to there.

    A move is the larger of |shift' - shift| s and |rate' - rate| s^2, s^2 being the variance of
    t_j + noise without the site; infinite where a site has no cavity.
    """
    m, S, a, b, rivals, sound = with_sites(mean, covariance, y, shift, rate, removed, noise)
    s = np.empty(len(m))
    new_shift, new_rate, moved = shift.copy(), rate.copy(), 0.0
    if not sound or not agree(m, S, a, b, s, noise, sweeps, tol):
        return new_shift, new_rate, np.inf
    for p in range(len(m)):
        j = rivals[p]
        step = max(abs(a[p] - shift[j]) * math.sqrt(s[p]), abs(b[p] - rate[j]) * s[p])
        if step > moved or math.isnan(step):
            moved = step
        new_shift[j], new_rate[j] = a[p], b[p]
    return new_shift, new_rate, moved


@compiled
def wanted_sites(
    mean: NDArray,
    covariance: NDArray,
    label: NDArray,
    shift: NDArray,
    rate: NDArray,
    removed: NDArray,
    noise: float,
    sweeps: int,
    tol: float,
) -> tuple[NDArray, NDArray, NDArray]:
    """What the sites of all points should be, and the largest move of each; see :func:`wanted`."""
    new_shift, new_rate, moved = np.empty_like(shift), np.empty_like(rate), np.empty(len(label))
    for i in range(len(label)):
        new_shift[i], new_rate[i], moved[i] = wanted(
            mean[i], covariance[i], label[i], shift[i], rate[i], removed[i], noise, sweeps, tol
        )
    return new_shift, new_rate, moved


@compiled
def message(y: int, shift: NDArray, rate: NDArray, noise: float) -> tuple[NDArray, NDArray]:
    """Shift h and precision Pi of the message of a point to its outputs, u integrated out."""
    pi = rate.copy()
    pi[y] = 1.0 / noise
    total = pi.sum()
    precision = -np.outer(pi, pi) / total
    for j in range(len(pi)):
        others = 0.0  # not the total less pi[j], which may be all of it but for rounding
        for i in range(len(pi)):
            if i != j:
                others += pi[i]
        precision[j, j] = pi[j] * others / total
    return shift.sum() / total * pi - shift, precision


@compiled
def sweep_points(
    Z: NDArray,
    label: NDArray,
    weight: NDArray,
    shift: NDArray,
    rate: NDArray,
    removed: NDArray,
    noise: float,
    sweeps: int,
    tol: float,
    damping: float,
    mu: NDArray,
    Sigma: NDArray,
) -> float:
    """Visit the points one after another; the largest move.

    Changes the sites, and mean and covariance of all weights, class by class, as Z has the points.
    """
    n, d = Z.shape
    n_classes = shift.shape[1]
    largest, identity = 0.0, np.eye(n_classes)
    V, f = np.empty((n_classes * d, n_classes)), np.empty(n_classes)
    S = np.empty((n_classes, n_classes))
    for i in range(n):
        for c in range(n_classes):
            V[:, c] = Z[i] @ Sigma[c * d : (c + 1) * d]  # symmetric, and contiguous
            f[c] = Z[i] @ mu[c * d : (c + 1) * d]
        for c in range(n_classes):
            S[c] = Z[i] @ V[c * d : (c + 1) * d]
        new_shift, new_rate, moved = wanted(
            f, S, label[i], shift[i], rate[i], removed[i], noise, sweeps, tol
        )
        if moved > largest or math.isnan(moved):
            largest = moved
        if not math.isfinite(moved):
            continue
        step = damping / min(max(weight[i], 1.0), 2.0)  # copies move at once: half as far
        before = message(label[i], shift[i], rate[i], noise)
        shift[i] += step * (new_shift - shift[i])
        rate[i] += step * (new_rate - rate[i])
        after = message(label[i], shift[i], rate[i], noise)
        more = weight[i] * (after[1] - before[1])
        pull = weight[i] * (after[0] - before[0]) - more @ f
        held = np.linalg.solve(identity + more @ S, more)
        mu += V @ (pull - held @ (S @ pull))
        Sigma -= V @ np.ascontiguousarray(0.5 * (held + held.T)) @ V.T
    return largest


@compiled
def constants(
    mean: NDArray,
    covariance: NDArray,
    label: NDArray,
    shift: NDArray,
    rate: NDArray,
    removed: NDArray,
    noise: float,
) -> NDArray:
    """Logarithms of the constants of each point's sites, the integral over u among them."""
    constant = np.empty(len(label))
    for i in range(len(label)):
        m, S, a, b, _, _ = with_sites(
            mean[i], covariance[i], label[i], shift[i], rate[i], removed[i], noise
        )
        d = 1.0 + noise * b.sum()
        constant[i] = 0.5 * noise * a.sum() ** 2 / d - 0.5 * math.log(d)
        for p in range(len(m)):
            q = S[p, p]
            c = 1.0 - b[p] * q
            if not (c > SMALLEST):  # no cavity: the posterior itself stands in
                c, cavity, variance = 1.0, m[p], q
            else:
                cavity, variance = (m[p] - a[p] * q) / c, q / c
            _, _, _, log_p = match(cavity, variance, (PROBIT, noise, 0.0))
            constant[i] += log_p - log_mass(cavity, variance, a[p], b[p])
    return constant
