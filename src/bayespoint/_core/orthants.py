"""Which of several correlated Gaussian outputs is the largest."""

import math

import numpy as np
from numpy.typing import NDArray

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
    -3.969683028665376e01, 2.209460984245205e02, -2.759285104469687e02,
    1.383577518672690e02, -3.066479806614716e01, 2.506628277459239e00,
)  # fmt: skip
UNDER_CENTRE = (
    -5.447609879822406e01, 1.615858368580409e02, -1.556989798598866e02,
    6.680131188771972e01, -1.328068155288572e01,
)  # fmt: skip
TAIL = (
    -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e00,
    -2.549732539343734e00, 4.374664141464968e00, 2.938163982698783e00,
)  # fmt: skip
UNDER_TAIL = (
    7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e00, 3.754408661907416e00,
)  # fmt: skip
FAR = 0.02425
GRID = np.arange(-LAST * FINE, LAST * FINE + 2) / FINE
PHI = np.array([0.5 * math.erfc(-x * ROOT_HALF) for x in GRID])
HAZARD = np.exp(-0.5 * GRID**2) / ROOT_2_PI / PHI


@compiled
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
def swap(m: NDArray, S: NDArray, L: NDArray, i: int, j: int) -> None:
    """Exchange two variables, in place."""
    m[i], m[j] = m[j], m[i]
    for k in range(len(m)):
        S[i, k], S[j, k] = S[j, k], S[i, k]
    for k in range(len(m)):
        S[k, i], S[k, j] = S[k, j], S[k, i]
    for k in range(i):
        L[i, k], L[j, k] = L[j, k], L[i, k]


@inner
def ordered_factor(m: NDArray, S: NDArray, L: NDArray) -> None:
    """Order variables such that the least likely to be positive come first; S = L L^T.

    The order of Gibson, Glasbey and Elston: each is the least likely given that those before it
    have their mean value above 0.
    """
    size = len(m)
    above = np.zeros(size)  # mean of the standard normal variables, given that all are positive
    for k in range(size):
        rarest, least = k, 2.0
        for j in range(k, size):
            mean, variance = m[j], S[j, j]
            for i in range(k):
                mean += L[j, i] * above[i]
                variance -= L[j, i] ** 2
            p = phi(mean / math.sqrt(max(variance, max(1e-12 * S[j, j], 1e-300))))
            if p < least:
                rarest, least = j, p
        swap(m, S, L, k, rarest)
        mean, variance = m[k], S[k, k]
        for i in range(k):
            mean += L[k, i] * above[i]
            variance -= L[k, i] ** 2
        L[k, k] = math.sqrt(max(variance, max(1e-12 * S[k, k], 1e-300)))
        for j in range(k + 1, size):
            rest = S[j, k]
            for i in range(k):
                rest -= L[j, i] * L[k, i]
            L[j, k] = rest / L[k, k]
        t = mean / L[k, k]
        above[k] = math.exp(-0.5 * t * t) / (ROOT_2_PI * phi(t)) if t > -30 else -t


@inner
def positive(m: NDArray, S: NDArray, uniform: NDArray) -> float:
    """Probability that all variables of N(m, S) are positive; changes m and S.

    A. Genz's sequence of conditional probabilities, at quasi-random points of a unit cube.
    """
    size = len(m)
    L, mean = np.zeros((size, size)), np.empty(size)
    ordered_factor(m, S, L)
    effect = L.T.copy()  # of each standard normal variable on the later ones, in their deviations
    for k in range(size):
        m[k] /= L[k, k]
        for i in range(k):
            effect[i, k] /= L[k, k]
    total = 0.0
    for point in range(len(uniform)):
        product = 1.0
        for k in range(size):
            mean[k] = m[k]
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


@inner
def solve(system: NDArray) -> bool:
    """Solve A X = B for system = (A, B), in place, by elimination; False if A is singular."""
    size = len(system)
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(system[i, k]) > abs(system[pivot, k]):
                pivot = i
        if not abs(system[pivot, k]) > 0.0:
            return False
        for j in range(k, system.shape[1]):
            system[k, j], system[pivot, j] = system[pivot, j], system[k, j]
        for i in range(size):
            if i != k:
                share = system[i, k] / system[k, k]
                for j in range(k, system.shape[1]):
                    system[i, j] -= share * system[k, j]
    for k in range(size):
        for j in range(size, system.shape[1]):
            system[k, j] /= system[k, k]
    return True


@compiled
def points_for(n_outputs: int) -> int:
    """Quasi-random points at which Genz's method is good to 1e-3."""
    if n_outputs <= 4:
        return FEW
    return 4 * FEW if n_outputs <= 12 else 8 * FEW


@compiled
def most_for(n_outputs: int) -> int:
    """Most quasi-random points of all outputs at once, which take no longer than Genz's method."""
    return 32 * FEW if n_outputs <= 12 else min(128 * FEW, 2 ** int(math.log2(MOST / n_outputs)))


@compiled
def split(m: NDArray, S: NDArray, f: NDArray, roots: NDArray, noise: NDArray) -> bool:
    """N(f, roots^T roots) plus independent noise, whose differences are those of N(m, S), scaled.

    The variances of the noise are in proportion to those of each output given all others, and as
    large as possible. False if there is little noise.
    """
    size, trace, noise_trace = len(m), 0.0, 0.0
    rows, R, system = np.zeros(size), np.empty((size, size)), np.zeros((size, 2 * size))
    for i in range(size):
        trace += S[i, i]
        for j in range(size):
            rows[i] += S[i, j] / size
    level, middle = (trace - rows.sum()) / (size - 1), rows.sum() / size
    if not 1e-250 < level < 1e250:
        return False
    for i in range(size):
        f[i] = (m[i] - m[0]) / math.sqrt(level)
        for j in range(size):
            R[i, j] = (S[i, j] - rows[i] - rows[j] + middle) / level + COMMON
        R[i, i] += RIDGE
        for j in range(size):
            system[i, j] = R[i, j]
        system[i, size + i] = 1.0
    if not solve(system):
        return False
    for i in range(size):
        if not system[i, size + i] > 0.0:
            return False
        noise[i] = math.sqrt(1.0 / system[i, size + i])
    for i in range(size):
        for j in range(size):
            R[i, j] /= noise[i] * noise[j]
    values, vectors = np.linalg.eigh(R)
    for i in range(size):
        for k in range(1, size - 1):  # the last is what all have in common
            roots[-k, i] = noise[i] * vectors[i, k] * math.sqrt(values[k] - values[0])
        noise[i] *= math.sqrt(max(values[0], RIDGE))
        noise_trace += noise[i] ** 2
    return noise_trace > LEAST_NOISE * size


@compiled
def all_at_once(m: NDArray, S: NDArray, points: NDArray, shares: NDArray) -> bool:
    """Probability that each output of N(m, S) is the largest; False if it takes more points.

    The outputs f without their independent noise are those of quasi-random points. Given f, output
    c is the largest with value t with the density of its noise at t - f_c times the probability
    that all others are below t, summed over equidistant t, the first of them quasi-random.
    """
    size, was_small = len(m), False
    mean, roots, noise = np.empty(size), np.empty((size - 2, size)), np.empty(size)
    if not split(m, S, mean, roots, noise):
        return False
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
            change, scale = 0.0, total.sum()
            for c in range(size):
                change = max(change, abs(total[c] / scale - shares[c]))
                shares[c] = total[c] / scale
            if change < SMALL_CHANGE and was_small:
                return True
            if q >= FEW and change**2 * (q + 1) > SMALL_CHANGE**2 * len(points):
                return False  # at the rate of random points
            was_small = change < SMALL_CHANGE
    return False


@inner
def chance(mean: NDArray, S: NDArray, i: int, j: int) -> float:
    """Probability that output i is larger than output j."""
    variance = max(S[i, i] - 2.0 * S[i, j] + S[j, j], 1e-300)
    return phi((mean[i] - mean[j]) / math.sqrt(variance))


@compiled
def largest(
    mean: NDArray, covariance: NDArray, uniform: NDArray, points: NDArray | None
) -> NDArray:
    """Probability that each output is the largest, (n, C).

    From quasi-random points, uniform (Q, C - 2) for Genz's method and normal (Q, C) for all outputs
    at once (None for at most four). Outputs that hardly ever beat the one of the largest mean are
    compared in pairs only, and take no part in the probabilities of the others.
    """
    n, n_classes = mean.shape
    shares = np.empty((n, n_classes))
    kept = np.empty(n_classes, dtype=np.int64)
    for i in range(n):
        best, size, total = np.int64(0), np.int64(0), 0.0  # not literals: one type, one compilation
        for c in range(1, n_classes):
            if mean[i, c] > mean[i, best]:
                best = c
        for c in range(n_classes):
            if c == best or chance(mean[i], covariance[i], c, best) > NEGLIGIBLE:
                kept[size] = c
                size += 1
        for c in range(n_classes):
            least = 1.0
            for k in range(size):
                if kept[k] != c:
                    least = min(least, chance(mean[i], covariance[i], c, kept[k]))
            shares[i, c] = least
        if size == 1:
            shares[i, best] = 1.0
        elif size > 2:
            m, S, found = np.empty(size), np.empty((size, size)), np.zeros(size)
            lead, spread = np.empty(size - 1), np.empty((size - 1, size - 1))
            for p in range(size):
                m[p] = mean[i, kept[p]]
                for q in range(size):
                    S[p, q] = covariance[i, kept[p], kept[q]]
            together = False
            if points is not None:
                together = size > 4 and all_at_once(m, S, points[: most_for(size)], found)
            enough = FEWEST if together else points_for(size)
            for k in range(size):
                if not together or found[k] * size < RARE:
                    leads(m, S, k, lead, spread)
                    found[k] = positive(lead, spread, uniform[:enough])
                shares[i, kept[k]] = found[k]
        for c in range(n_classes):
            total += shares[i, c]
        for c in range(n_classes):
            shares[i, c] /= total
    return shares
