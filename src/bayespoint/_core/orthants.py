"""Which of several correlated Gaussian outputs is the largest, and the mean of their softmax."""

import math

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled

ROOT_HALF = math.sqrt(0.5)
ROOT_2_PI = math.sqrt(2 * math.pi)
NEGLIGIBLE = 1e-5  # chance against the best below which an output takes no part in the others'
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


@compiled
def phi(x: float) -> float:
    """The normal distribution function."""
    return 0.5 * math.erfc(-x * ROOT_HALF)


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


@compiled
def swap(m: NDArray, S: NDArray, L: NDArray, i: int, j: int) -> None:
    """Exchange two variables, in place."""
    m[i], m[j] = m[j], m[i]
    for k in range(len(m)):
        S[i, k], S[j, k] = S[j, k], S[i, k]
    for k in range(len(m)):
        S[k, i], S[k, j] = S[k, j], S[k, i]
    for k in range(i):
        L[i, k], L[j, k] = L[j, k], L[i, k]


@compiled
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


@compiled
def positive(m: NDArray, S: NDArray, uniform: NDArray) -> float:
    """Probability that all variables of N(m, S) are positive; changes m and S.

    A. Genz's sequence of conditional probabilities, at quasi-random points of a unit cube.
    """
    size = len(m)
    L, z = np.zeros((size, size)), np.zeros(size)
    ordered_factor(m, S, L)
    if size == 1:
        return phi(m[0] / L[0, 0])
    total = 0.0
    for point in range(len(uniform)):
        product = 1.0
        for k in range(size):
            mean = m[k]
            for i in range(k):
                mean += L[k, i] * z[i]
            p = phi(mean / L[k, k])
            product *= p
            if product < 1e-250:
                break
            if k < size - 1:
                z[k] = -quantile(uniform[point, k] * p)
        total += product
    return total / len(uniform)


@compiled
def chance(mean: NDArray, S: NDArray, i: int, j: int) -> float:
    """Probability that output i is larger than output j."""
    variance = max(S[i, i] - 2.0 * S[i, j] + S[j, j], 1e-300)
    return phi((mean[i] - mean[j]) / math.sqrt(variance))


@compiled
def largest(mean: NDArray, covariance: NDArray, uniform: NDArray) -> NDArray:
    """Probability that each output is the largest, (n, C), from quasi-random points (Q, C - 2).

    Outputs that hardly ever beat the one of the largest mean are compared in pairs only, and take
    no part in the probabilities of the others.
    """
    n, n_classes = mean.shape
    shares = np.empty((n, n_classes))
    kept = np.empty(n_classes, dtype=np.int64)
    for i in range(n):
        best, size = int(np.argmax(mean[i])), 0
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
            for k in range(size):
                c = kept[k]
                m, S = np.empty(size - 1), np.empty((size - 1, size - 1))
                for p in range(size - 1):
                    j = kept[p if p < k else p + 1]
                    m[p] = mean[i, c] - mean[i, j]
                    for q in range(size - 1):
                        o = kept[q if q < k else q + 1]
                        S[p, q] = (covariance[i, c, c] - covariance[i, c, o]
                                   - covariance[i, j, c] + covariance[i, j, o])  # fmt: skip
                shares[i, c] = positive(m, S, uniform)
        shares[i] /= shares[i].sum()
    return shares


@compiled
def mean_softmax(mean: NDArray, roots: NDArray, points: NDArray, weights: NDArray) -> NDArray:
    """The mean of softmax(mean + root e) over points e of given weights, (n, C)."""
    n, n_classes = mean.shape
    shares, f = np.zeros((n, n_classes)), np.empty(n_classes)
    for i in range(n):
        for q in range(len(points)):
            top = -np.inf
            for c in range(n_classes):
                f[c] = mean[i, c]
                for k in range(points.shape[1]):
                    f[c] += roots[i, c, k] * points[q, k]
                top = max(top, f[c])
            total = 0.0
            for c in range(n_classes):
                f[c] = math.exp(f[c] - top)
                total += f[c]
            for c in range(n_classes):
                shares[i, c] += weights[q] * f[c] / total
    return shares
