"""Which of several correlated Gaussian outputs is the largest."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bayespoint._core.compiler import compiled, inner

ROOT_HALF = math.sqrt(0.5)
ROOT_2_PI = math.sqrt(2 * math.pi)
FEW = 256  # quasi-random points that are enough for a probability p of four outputs,
CLEAR = 0.01  # or of any number, if p (1 - p) is smaller than this
NEGLIGIBLE = 1e-5  # chance against the best below which an output takes no part in the others'
SMALL_CHANGE = 5e-4  # of all shares; two doublings of the points with less are enough for 1e-3
MOST = 2**21  # numbers in an array of points
RARE = 0.005  # share times number of outputs below which an output has points of its own,
FEWEST = 128  # which are good to some per cent of its share
LEAST_NOISE = 0.1  # part of the variance that is independent noise, below which shares jump
RIDGE, COMMON = 1e-6, 1e3  # variances, of 1, that make the matrix regular and change nothing
BELOW, ABOVE, STEP = -3.5, 4.5, 1.5  # nodes of the largest output, in deviations of the noise
FINE, LAST = 64, 10  # cells a unit, and last value, of a table: good to 1e-5 and to 0.3 % of Phi
# P. J. Acklam's rational approximation of the quantiles of the normal distribution, to 1e-9.
CENTRE = (
    -3.969683028665376e01,
    2.209460984245205e02,
    -2.759285104469687e02,
    1.383577518672690e02,
    -3.066479806614716e01,
    2.506628277459239e00,
)
UNDER_CENTRE = (
    -5.447609879822406e01,
    1.615858368580409e02,
    -1.556989798598866e02,
    6.680131188771972e01,
    -1.328068155288572e01,
)
TAIL = (
    -7.784894002430293e-03,
    -3.223964580411365e-01,
    -2.400758277161838e00,
    -2.549732539343734e00,
    4.374664141464968e00,
    2.938163982698783e00,
)
UNDER_TAIL = (
    7.784695709041462e-03,
    3.224671290700398e-01,
    2.445134137142996e00,
    3.754408661907416e00,
)
FAR = 0.02425
GRID = np.arange(-LAST * FINE, LAST * FINE + 2) / FINE
PHI = np.array([0.5 * math.erfc(-x * ROOT_HALF) for x in GRID])
HAZARD = np.exp(-0.5 * GRID**2) / ROOT_2_PI / PHI


@inner
def phi(x: float) -> float:
    """The normal distribution function."""
    return 0.5 * math.erfc(-x * ROOT_HALF)


@inner
def near_phi(x: float) -> float:
    """The same by a table, to 0.3 % of its value."""
    if x < -LAST:
        return phi(x)
    x = FINE * (min(x, LAST) + LAST)
    cell = int(x)
    return PHI[cell] + (x - cell) * (PHI[cell + 1] - PHI[cell])


@compiled
def quantile(p: float) -> float:
    """Its inverse, to 1e-9 of its value."""
    low = min(p, 1.0 - p)
    if low < FAR:
        q = math.sqrt(-2.0 * math.log(max(low, 1e-300)))
        c, d = TAIL, UNDER_TAIL
        top = ((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]
        x = top / ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1.0)
        return x if p < 0.5 else -x
    q = p - 0.5
    r = q * q
    a, b = CENTRE, UNDER_CENTRE
    top = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q
    return top / (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1.0)


@inner
def ordered_factor(m: NDArray, S: NDArray, L: NDArray, order: NDArray) -> None:
    """Order variables such that the least likely to be positive come first; S = L L^T.

    The order of Gibson, Glasbey and Elston: each is the least likely given that those before it
    have their mean value above 0. Rows of L are those of S, its columns are in this order.
    """
    size = len(m)
    mean, variance = np.empty(size), np.empty(size)  # given those before
    for j in range(size):
        order[j], mean[j], variance[j] = j, m[j], S[j, j]
    for k in range(size):
        rarest, least, root = k, 2.0, 1.0
        for j in range(k, size):
            v = order[j]
            deviation = math.sqrt(max(variance[v], max(1e-12 * S[v, v], 1e-300)))
            p = phi(mean[v] / deviation)
            if p < least:
                rarest, least, root = j, p, deviation
        order[k], order[rarest] = order[rarest], order[k]
        own = order[k]
        L[own, k] = root
        t = mean[own] / root  # and the mean of the standard normal variable, given that t > 0:
        above = math.exp(-0.5 * t * t) / (ROOT_2_PI * phi(t)) if t > -30 else -t
        for j in range(k + 1, size):
            v = order[j]
            rest = S[v, own]
            for i in range(k):
                rest -= L[v, i] * L[own, i]
            L[v, k] = rest / root
            mean[v] += L[v, k] * above
            variance[v] -= L[v, k] ** 2


@inner
def positive(m: NDArray, S: NDArray, uniform: NDArray) -> float:
    """Probability that all variables of N(m, S) are positive.

    A. Genz's sequence of conditional probabilities, at quasi-random points of a unit cube.
    """
    size = len(m)
    L, effect = np.empty((size, size)), np.empty((size, size))
    start, mean, order = np.empty(size), np.empty(size), np.empty(size, np.int64)
    ordered_factor(m, S, L, order)
    for k in range(size):  # of each standard normal variable on the later ones, in deviations
        v = order[k]
        start[k] = m[v] / L[v, k]
        for i in range(k):
            effect[i, k] = L[v, i] / L[v, k]
    total = 0.0
    for point in range(len(uniform)):
        product = 1.0
        for k in range(size):
            mean[k] = start[k]
        for k in range(size):
            p = near_phi(mean[k])
            product *= p
            if product < 1e-250 or k == size - 1:
                break
            z = -quantile(uniform[point, k] * p)
            for j in range(k + 1, size):
                mean[j] += effect[k, j] * z
        total += product
        if point + 1 == FEW and total * (FEW - total) < CLEAR * FEW**2:
            return total / FEW
    return total / len(uniform)


@inner
def leads(m: NDArray, S: NDArray, c: int, lead: NDArray, spread: NDArray) -> None:
    """Mean and covariance of the differences between output c and all others, written to both."""
    for p in range(len(m) - 1):
        j = p if p < c else p + 1
        lead[p] = m[c] - m[j]
        for q in range(len(m) - 1):
            o = q if q < c else q + 1
            spread[p, q] = S[c, c] - S[c, o] - S[j, c] + S[j, o]


@compiled
def by_genz(
    m: NDArray, S: NDArray, wanted: NDArray, uniform: NDArray, enough: NDArray, shares: NDArray
) -> None:
    """Write the shares that are wanted, each by itself, from so many of the quasi-random points."""
    size = m.shape[1] - 1
    lead, spread = np.empty(size), np.empty((size, size))
    for i in range(len(m)):
        for k in range(size + 1):
            if wanted[i, k]:
                leads(m[i], S[i], k, lead, spread)
                shares[i, k] = positive(lead, spread, uniform[: enough[i]])


def points_for(n_outputs: int) -> int:
    """Quasi-random points at which Genz's method is good to 1e-3."""
    if n_outputs <= 4:
        return FEW
    return 4 * FEW if n_outputs <= 12 else 8 * FEW


def most_for(n_outputs: int) -> int:
    """Most quasi-random points of all outputs at once, which take no longer than Genz's method."""
    return 32 * FEW if n_outputs <= 12 else min(128 * FEW, 2 ** int(math.log2(MOST / n_outputs)))


def split(m: NDArray, S: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """N(f, roots^T roots) plus independent noise, whose differences are those of N(m, S), scaled.

    The variances of the noise are in proportion to those of each output given all others, and as
    large as possible. Returns the rows of m and S that have more than little noise, f, roots and
    the deviations of the noise.
    """
    size, rows = m.shape[1], S.mean(axis=2)
    total = rows.sum(axis=1)
    level = (np.trace(S, axis1=1, axis2=2) - total) / (size - 1)
    own = np.flatnonzero((level > 1e-250) & (level < 1e250))
    m, S, rows, level = m[own], S[own], rows[own], level[own]
    common = COMMON + RIDGE * np.eye(size)
    R = S - rows[:, :, None] - rows[:, None] + (total[own] / size)[:, None, None]
    R = R / level[:, None, None] + common
    inverse = np.diagonal(np.linalg.inv(R), axis1=1, axis2=2)
    noise = np.sqrt(1.0 / np.where(inverse > 0, inverse, np.inf))
    sound = (inverse > 0).all(axis=1)
    own, f, R, noise = own[sound], (m - m[:, :1])[sound], R[sound], noise[sound]
    values, vectors = np.linalg.eigh(R / (noise[:, :, None] * noise[:, None]))
    f /= np.sqrt(level[sound])[:, None]
    # From the largest on; the very largest is what all have in common.
    spread = np.sqrt(values - values[:, :1])[:, -2:0:-1, None]
    roots = noise[:, None] * vectors.transpose(0, 2, 1)[:, -2:0:-1] * spread
    noise = noise * np.sqrt(np.maximum(values[:, :1], RIDGE))
    noisy = np.square(noise).sum(axis=1) > LEAST_NOISE * size
    return own[noisy], f[noisy], np.ascontiguousarray(roots[noisy]), noise[noisy]


@compiled
def all_at_once(
    mean: NDArray, roots: NDArray, noise: NDArray, points: NDArray, shares: NDArray
) -> bool:
    """Probability that each output is the largest; False if it takes more points.

    Outputs are N(mean, roots^T roots) plus ``noise``, as :func:`split` returns them. Those without
    noise, f, are those of quasi-random points. Given f, output c is the largest with
    value t with the density of its noise at t - f_c times the probability that all others are below
    t, summed over equidistant t, the first of them quasi-random.
    """
    size, was_small = len(mean), False
    f, hazard, total = np.empty(size), np.empty(size), np.zeros(size)
    near = np.empty(size, np.int64)
    for q in range(len(points)):
        for c in range(size):
            f[c] = mean[c]
        for k in range(size - 2):
            for c in range(size):
                f[c] += roots[k, c] * points[q, k + 1]
        low = high = -np.inf
        for c in range(size):
            low, high = max(low, f[c] + BELOW * noise[c]), max(high, f[c] + ABOVE * noise[c])
        step, n_near = np.inf, 0
        for c in range(size):
            if f[c] + ABOVE * noise[c] > low:
                near[n_near], step = c, min(step, STEP * noise[c])
                n_near += 1
        t = low + step * phi(points[q, 0])
        while t < high:
            density = 1.0
            for k in range(n_near):
                c = near[k]
                x = FINE * (min(max((t - f[c]) / noise[c], -LAST), LAST) + LAST)
                cell = int(x)
                part = x - cell
                density *= PHI[cell] + part * (PHI[cell + 1] - PHI[cell])
                hazard[k] = HAZARD[cell] + part * (HAZARD[cell + 1] - HAZARD[cell])
            for k in range(n_near):
                total[near[k]] += step * density * hazard[k] / noise[near[k]]
            t += step
        if q + 1 >= FEW and q + 1 & q == 0:
            change, scale = 0.0, 0.0
            for c in range(size):
                scale += total[c]
            for c in range(size):
                change = max(change, abs(total[c] / scale - shares[c]))
                shares[c] = total[c] / scale
            if change < SMALL_CHANGE and was_small:
                return True
            if q >= FEW and change**2 * (q + 1) > SMALL_CHANGE**2 * len(points):
                return False  # at the rate of random points
            was_small = change < SMALL_CHANGE
    return False


def largest(
    mean: NDArray, covariance: NDArray, uniform: NDArray, points: NDArray | None
) -> NDArray:
    """Probability that each output is the largest, (n, C).

    From quasi-random points, uniform (Q, C - 2) for Genz's method and normal (Q, C) for all outputs
    at once (None for at most four). Outputs that hardly ever beat the one of the largest mean are
    compared in pairs only, and take no part in the probabilities of the others.
    """
    shares = np.empty(mean.shape)
    kept = chances(mean, covariance, mean.argmax(axis=1)[:, None])[:, :, 0] > NEGLIGIBLE
    sizes = kept.sum(axis=1)
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        which = np.nonzero(kept[own])[1].reshape(-1, size)
        shares[own] = chances(mean[own], covariance[own], which).min(axis=2)
        if size > 2:
            rows, columns = own[:, None], which[:, None]
            S = covariance[rows[:, None], which[:, :, None], columns]
            shares[rows, which] = largest_of(mean[rows, which], S, uniform, points)
    return shares / shares.sum(axis=1, keepdims=True)


def chances(mean: NDArray, covariance: NDArray, which: NDArray) -> NDArray:
    """Probability that each output is larger than some, (n, C, which); 1 for itself."""
    rows, variance = np.arange(len(mean))[:, None], np.diagonal(covariance, axis1=1, axis2=2)
    columns = covariance.transpose(0, 2, 1)[rows, which].transpose(0, 2, 1)
    with np.errstate(all="ignore"):
        square = variance[:, :, None] - 2.0 * columns + variance[rows, which][:, None]
        lead = mean[:, :, None] - mean[rows, which][:, None]
        found = ndtr(lead / np.sqrt(np.maximum(square, 1e-300)))
    found[rows, which, np.arange(which.shape[1])] = 1.0
    return found


def largest_of(m: NDArray, S: NDArray, uniform: NDArray, points: NDArray | None) -> NDArray:
    """The same of outputs that are all compared, without the last normalisation."""
    (n, size), shares = m.shape, np.zeros(m.shape)
    wanted, enough = np.ones(m.shape, bool), np.full(n, points_for(size))
    if points is not None and size > 4:
        few = points[: most_for(size)]
        for i, *parts in zip(*split(m, S), strict=True):
            if all_at_once(*parts, few, shares[i]):
                wanted[i], enough[i] = shares[i] * size < RARE, FEWEST
    if wanted.any():
        by_genz(m, S, wanted, uniform, enough, shares)
    return shares
