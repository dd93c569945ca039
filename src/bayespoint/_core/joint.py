"""Expectation propagation of several classes: the sites of one point, which its rivals share.

A point of class y has one site for each other class j, along t_j = f_y - f_j + u with the noise
u ~ N(0, noise) of its own output: exp(shift_j t_j - rate_j t_j^2 / 2), which stands for
Phi(t_j / beta), noise = beta^2. Arrays of sites have shape (n, C); the entries of the own class are
0. ``posterior`` are the mean and the covariance of the C outputs of each point, with one copy of
its sites, and ``sites`` are its label, shift and rate.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from bayespoint._core.compiler import compiled, inner
from bayespoint._core.ep import PROBIT, SMALLEST, match


def with_sites(posterior: tuple, sites: tuple, noise: float) -> tuple[NDArray, NDArray, NDArray]:
    """Means and covariances of t of all points, and 1 + noise sum_j rate_j.

    From leads T to t = T + u: given the leads, u has the variance k = noise / (1 + noise sum_j
    rate_j) and the mean k sum_j (shift_j - rate_j T_j). That t of the own class has no site.
    """
    (mean, covariance), (label, shift, rate) = posterior, sites
    rows = np.arange(len(label))
    m = mean[rows, label][:, None] - mean
    S = covariance[rows, label, label][:, None, None] - covariance[rows, label][:, None]
    S = S - covariance[rows, :, label][:, :, None] + covariance
    d = 1.0 + noise * rate.sum(axis=1, keepdims=True)
    k, share = noise / d, noise / d * rate  # shares sum to less than 1: squares of k may overflow
    row = (share[:, None] @ S)[:, 0]
    m += (k * shift - share * m).sum(axis=1, keepdims=True)
    S += ((share * row).sum(axis=1, keepdims=True) + k - row)[:, None] - row[:, :, None]
    return m, S, d[:, 0]


@inner
def add_site(m: NDArray, S: NDArray, p: int, shift: float, rate: float) -> None:
    """N(m, S) of t times exp(shift t_p - rate t_p^2 / 2), in place."""
    size = len(m)
    d = 1.0 + rate * S[p, p]
    along = (shift - rate * m[p]) / d
    column = np.empty(size)
    for j in range(size):
        column[j] = S[j, p]
    for j in range(size):
        m[j] += along * column[j]
        share = rate / d * column[j]
        for k in range(size):
            S[j, k] -= share * column[k]


@compiled
def agreeing(
    f: NDArray,
    cavity: NDArray,
    removed: NDArray,
    label: NDArray,
    shift: NDArray,
    rate: NDArray,
    settings: tuple[float, int, float],
) -> tuple[NDArray, NDArray]:
    """One step to sites with which the outputs of each point have the means f.

    ``cavity`` are the covariances of the outputs without ``removed`` copies r. With the pull
    h - Pi f of the sites, the cavity has the mean m = f - r V (h - Pi f); there they visit each
    other, as in :func:`agree`.
    """
    noise, size = settings[0], f.shape[1]
    a, b, s = shift.copy(), rate.copy(), np.zeros(f.shape)
    m, S = np.empty((len(f), size)), np.empty((len(f), size, size))
    pull, cavity_mean = np.empty(size), np.empty(size)
    for i in range(len(f)):
        y, V = label[i], cavity[i]
        # The pull of the sites on the leads, the noise of the own output integrated out.
        total, force = 1.0 / noise, 0.0
        for j in range(size):
            if j != y:
                pull[j] = a[i, j] - b[i, j] * (f[i, y] - f[i, j])
                total += b[i, j]
                force += pull[j]
        share, pull[y] = force / total, 0.0
        for j in range(size):
            if j != y:
                pull[j] = b[i, j] * share - pull[j]
                pull[y] -= pull[j]
        for j in range(size):
            cavity_mean[j] = f[i, j]
            for k in range(size):
                cavity_mean[j] -= removed[i] * V[j, k] * pull[k]
        for j in range(size):
            m[i, j] = cavity_mean[y] - cavity_mean[j]
            for k in range(size):
                S[i, j, k] = V[y, y] - V[y, j] - V[k, y] + V[j, k] + noise
        for j in range(size):
            if j != y:
                add_site(m[i], S[i], j, a[i, j], b[i, j])
    agree(m, S, label, a, b, s, settings)
    for i in range(len(f)):
        for j in range(size):
            if math.isnan(s[i, j]):  # a site had no cavity: all of the point stay
                a[i], b[i] = shift[i], rate[i]
    return a, b


@compiled
def agree(
    m: NDArray,
    S: NDArray,
    label: NDArray,
    a: NDArray,
    b: NDArray,
    s: NDArray,
    settings: tuple[float, int, float],
) -> None:
    """Let the sites a, b of each point visit each other; t ~ N(m, S) with them. All is in place.

    ``s`` becomes the variances of t_j + noise without each site, NaN where one has no cavity. They
    end after ``sweeps``, or when none moves by more than ``tol``.
    """
    noise, sweeps, tol = settings
    for i in range(len(m)):
        for _ in range(sweeps):
            largest = 0.0
            for p in range(m.shape[1]):
                if p == label[i]:
                    continue
                q = S[i, p, p]
                c = 1.0 - b[i, p] * q
                if not (c > SMALLEST) or not (q > 0):
                    s[i, p], largest = np.nan, 0.0
                    break
                cavity = (m[i, p] - a[i, p] * q) / c
                new_a, new_b, s2, _ = match(cavity, q / c, (PROBIT, noise, 0.0))
                s[i, p] = s2
                da, db = new_a - a[i, p], new_b - b[i, p]
                a[i, p], b[i, p] = new_a, new_b
                step = max(abs(da) * math.sqrt(s2), abs(db) * s2)
                if step > largest or math.isnan(step):
                    largest = step
                add_site(m[i], S[i], p, da, db)
            if largest <= tol:
                break


def wanted_sites(
    posterior: tuple, sites: tuple, settings: tuple[float, int, float]
) -> tuple[NDArray, NDArray, NDArray]:
    """What the sites of all points should be, and the largest move of each to there.

    A move is the larger of |shift' - shift| s and |rate' - rate| s^2, s^2 being the variance of
    t_j + noise without the site; infinite where a site has no cavity. ``settings`` are noise,
    sweeps and tol of :func:`agree`.
    """
    label, shift, rate = sites
    m, S, _ = with_sites(posterior, sites, settings[0])
    a, b, s = shift.copy(), rate.copy(), np.zeros(shift.shape)
    agree(m, S, label, a, b, s, settings)
    lacking = np.isnan(s).any(axis=1)
    a[lacking], b[lacking] = shift[lacking], rate[lacking]
    moves = np.maximum(np.abs(a - shift) * np.sqrt(s), np.abs(b - rate) * s)
    return a, b, np.where(lacking, np.inf, moves.max(axis=1))


def constants(posterior: tuple, sites: tuple, noise: float) -> NDArray:
    """Logarithms of the constants of each point's sites, the integral over u among them."""
    label, a, b = sites
    m, S, d = with_sites(posterior, sites, noise)
    q = np.diagonal(S, axis1=1, axis2=2)
    c = 1.0 - b * q
    with_cavity = c > SMALLEST  # else the posterior itself stands in
    c = np.where(with_cavity, c, 1.0)
    cavity, variance = np.where(with_cavity, m - a * q, m) / c, q / c
    log_p = log_ndtr(cavity / np.sqrt(variance + noise))
    log_p[np.arange(len(label)), label] = 0.0
    rest = 1.0 + b * variance
    exponent = (2.0 * cavity * a + a**2 * variance - b * cavity**2) / rest
    each = log_p - 0.5 * exponent + 0.5 * np.log(np.maximum(rest, SMALLEST))
    return each.sum(axis=1) + 0.5 * noise * a.sum(axis=1) ** 2 / d - 0.5 * np.log(d)
