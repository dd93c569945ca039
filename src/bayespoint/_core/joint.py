"""Expectation propagation of several classes: the sites of one point, which its rivals share.

A point of class y has one site for each other class j, along t_j = f_y - f_j + u with the noise
u ~ N(0, noise) of its own output: exp(shift_j t_j - rate_j t_j^2 / 2), which stands for
Phi(t_j / beta), noise = beta^2. Arrays of sites have shape (n, C); the entries of the own class are
0. ``posterior`` are the mean and the covariance of the C outputs of each point, ``sites`` are its
label, shift and rate, and ``removed`` the copies that its cavity lacks; None: one of each.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled, inner
from bayespoint._core.ep import PROBIT, SMALLEST, log_mass, match
from bayespoint._core.orthants import leads, solve


@inner
def with_noise(
    m: NDArray, S: NDArray, shift: NDArray, rate: NDArray, noise: float, row: NDArray
) -> None:
    """From leads to t = lead + u: what the sites say of u is added, in place.

    Given the leads T, u has the variance k = noise / (1 + noise sum_j rate_j) and the mean
    k sum_j (shift_j - rate_j T_j).
    """
    size, total, pull, spread = len(m), 0.0, 0.0, 0.0
    for i in range(size):
        total, pull, row[i] = total + rate[i], pull + shift[i] - rate[i] * m[i], 0.0
        for j in range(size):
            row[i] += rate[j] * S[j, i]
        spread += rate[i] * row[i]
    k = noise / (1.0 + noise * total)
    for j in range(size):
        m[j] += k * pull
        for i in range(size):
            S[j, i] += k * k * spread + k - k * (row[i] + row[j])


@inner
def without_copies(
    m: NDArray, S: NDArray, shift: NDArray, rate: NDArray, noise: float, removed: float
) -> bool:
    """Leads in a posterior that has one copy of the sites, if it had ``removed`` of them.

    False if there is no such posterior.
    """
    size, more, total, pull, sound = len(m), 1.0 - removed, 0.0, 0.0, True
    for j in range(size):
        total, pull = total + rate[j], pull + shift[j]
    k = noise / (1.0 + noise * total)
    # (I + more S P) times the new mean and covariance is m + more S (shift - k pull rate) and S,
    # for P = diag(rate) - k rate rate^T.
    system = np.zeros((size, 2 * size + 1))
    for i in range(size):
        held = 0.0
        for j in range(size):
            held += S[i, j] * rate[j]
        system[i, size] = m[i] - more * k * pull * held
        for j in range(size):
            system[i, j] = more * rate[j] * (S[i, j] - k * held)
            system[i, size] += more * S[i, j] * shift[j]
            system[i, size + 1 + j] = S[i, j]
        system[i, i] += 1.0
    if not solve(system):
        return False
    for i in range(size):
        m[i] = system[i, size]
        for j in range(size):
            S[i, j] = 0.5 * (system[i, size + 1 + j] + system[j, size + 1 + i])
        sound = sound and S[i, i] > 0
    return sound


@inner
def with_sites(
    posterior: tuple, sites: tuple, i: int, noise: float, t: tuple, removed: NDArray | None
) -> bool:
    """Mean and covariance of t with one copy of the sites of point i, and these sites.

    They are written to the first four arrays of ``t``; the fifth is for what is computed meanwhile.
    False if there is no such posterior.
    """
    (mean, covariance), (label, shift, rate) = posterior, sites
    m, S, a, b, row = t
    sound = True
    leads(mean[i], covariance[i], label[i], m, S)
    for p in range(len(m)):
        j = p if p < label[i] else p + 1
        a[p], b[p] = shift[i, j], rate[i, j]
    if removed is not None:
        sound = removed[i] == 1.0 or without_copies(m, S, a, b, noise, removed[i])
    with_noise(m, S, a, b, noise, row)
    return sound


@inner
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


@inner
def agree(
    m: NDArray, S: NDArray, a: NDArray, b: NDArray, s: NDArray, settings: tuple[float, int, float]
) -> bool:
    """Let the sites a, b of a point visit each other; t ~ N(m, S) with them. All is in place.

    ``s`` becomes the variances of t_j + noise without each site. They end after ``sweeps``, or when
    none moves by more than ``tol``. False if a site has no cavity.
    """
    size, (noise, sweeps, tol) = len(m), settings
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


@inner
def empty(size: int) -> tuple:
    """Arrays for :func:`with_sites`."""
    rows = np.empty((size + 4, size))
    return rows[0], rows[4:], rows[1], rows[2], rows[3]


@compiled
def wanted_sites(
    posterior: tuple,
    sites: tuple,
    settings: tuple[float, int, float],
    removed: NDArray | None = None,
) -> tuple[NDArray, NDArray, NDArray]:
    """What the sites of all points should be, and the largest move of each to there.

    A move is the larger of |shift' - shift| s and |rate' - rate| s^2, s^2 being the variance of
    t_j + noise without the site; infinite where a site has no cavity. ``settings`` are noise,
    sweeps and tol of :func:`agree`.
    """
    label, shift, rate = sites
    new_shift, new_rate, moved = shift.copy(), rate.copy(), np.zeros(len(label))
    t = m, S, a, b, s = empty(shift.shape[1] - 1)
    for i in range(len(label)):
        sound = with_sites(posterior, sites, i, settings[0], t, removed)
        if not sound or not agree(m, S, a, b, s, settings):
            moved[i] = np.inf
            continue
        for p in range(len(m)):
            j = p if p < label[i] else p + 1
            step = max(abs(a[p] - shift[i, j]) * math.sqrt(s[p]), abs(b[p] - rate[i, j]) * s[p])
            if step > moved[i] or math.isnan(step):
                moved[i] = step
            new_shift[i, j], new_rate[i, j] = a[p], b[p]
    return new_shift, new_rate, moved


@compiled
def constants(
    posterior: tuple, sites: tuple, noise: float, removed: NDArray | None = None
) -> NDArray:
    """Logarithms of the constants of each point's sites, the integral over u among them."""
    constant = np.empty(len(sites[0]))
    t = m, S, a, b, _ = empty(sites[1].shape[1] - 1)
    for i in range(len(constant)):
        with_sites(posterior, sites, i, noise, t, removed)
        d, pull = 1.0, 0.0
        for p in range(len(m)):
            d, pull = d + noise * b[p], pull + a[p]
        constant[i] = 0.5 * noise * pull**2 / d - 0.5 * math.log(d)
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
