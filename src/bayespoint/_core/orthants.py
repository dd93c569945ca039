"""Which of several correlated Gaussian outputs is the largest, and the mean of their softmax."""

import math

import numpy as np
from numpy.typing import NDArray

from bayespoint._core.compiler import compiled

ROOT_HALF = math.sqrt(0.5)
ROOT_2_PI = math.sqrt(2 * math.pi)
FEW = 256  # quasi-random points that are enough for a probability p of four outputs,
CLEAR = 0.01  # or of any number, if p (1 - p) is smaller than this
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
END = 7.5  # 6e-14 of the standard normal distribution lies outside
SLOPE = 4.0  # of differences of outputs, up to which a step of 1 / 4 is good to 1e-8
FINEST = 256  # parts of a step
DOMINANT = 40.0  # lead of an output beyond which the others have no share: exp(-40) = 4e-18


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
        if point + 1 == FEW and total * (FEW - total) < CLEAR * FEW**2:
            return total / FEW
    return total / len(uniform)


@compiled
def points_for(n_outputs: int) -> int:
    """Quasi-random points at which probabilities of the largest output are good to 1e-3."""
    if n_outputs <= 4:
        return FEW
    return 4 * FEW if n_outputs <= 12 else 8 * FEW


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
                shares[i, c] = positive(m, S, uniform[: points_for(size)])
        shares[i] /= shares[i].sum()
    return shares


@compiled
def mean_softmax(mean: NDArray, roots: NDArray, points: NDArray) -> NDArray:
    """The mean of softmax(mean + root e) over points e, (n, C)."""
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
                shares[i, c] += f[c] / total
    return shares / len(points)


@compiled
def nodes_of(slope: NDArray) -> tuple[NDArray, NDArray]:
    """Nodes of the trapezoidal rule that suit the slopes of outputs, and their weights."""
    steepest = slope.max() - slope.min()
    parts = int(max(1.0, min(math.ceil(steepest / SLOPE), FINEST)))
    step = 1.0 / (SLOPE * parts)
    nodes = step * np.arange(int(2 * END * SLOPE) * parts + 1) - END
    return nodes, step / ROOT_2_PI * np.exp(-0.5 * nodes * nodes)


@compiled
def add_softmax(
    f: NDArray, slope: NDArray, nodes: NDArray, weights: NDArray, begin: int, end: int,
    total: NDArray,
) -> None:  # fmt: skip
    """Add the softmax of f + slope t at some of the nodes t; most exponentials are products."""
    n_classes, step = len(f), nodes[1] - nodes[0]
    e, factor = np.empty(n_classes), np.empty(n_classes)
    part = int(DOMINANT / max(step * (slope.max() - slope.min()), 1.0)) + 1
    for start in range(begin, end, part):
        top = 0
        for c in range(1, n_classes):
            if f[c] - f[top] > (slope[top] - slope[c]) * nodes[start]:
                top = c
        for c in range(n_classes):
            e[c] = math.exp(f[c] - f[top] + (slope[c] - slope[top]) * nodes[start])
            factor[c] = math.exp((slope[c] - slope[top]) * step)
        for k in range(start, min(start + part, end)):
            scale = 0.0
            for c in range(n_classes):
                scale += e[c]
            scale = weights[k] / scale
            for c in range(n_classes):
                total[c] += scale * e[c]
                e[c] *= factor[c]


@compiled
def find_dominant(
    f: NDArray, slope: NDArray, step: float, size: int, first: NDArray, last: NDArray
) -> None:
    """The first and last node at which each output f + slope t dominates all others, in place."""
    for c in range(len(f)):
        low, high = 0.0, size - 1.0
        for j in range(len(f)):
            lead, gain = f[c] - f[j] - DOMINANT, slope[c] - slope[j]
            if gain > 0.0:
                low = max(low, math.ceil((END - lead / gain) / step))
            elif gain < 0.0:
                high = min(high, math.floor((END - lead / gain) / step))
            elif lead < 0.0 and j != c:
                high = -1.0
        first[c], last[c] = int(min(low, size)), int(max(high, -1.0))


@compiled
def softmax_in_plane(mean: NDArray, roots: NDArray) -> NDArray:
    """The mean of softmax(mean + root e) for e ~ N(0, I) in two dimensions, (n, C).

    By the trapezoidal rule, with nodes as fine as the slopes of the outputs ask for. Of a row of
    nodes, in the direction of the larger slopes, only those are visited where no output dominates.
    """
    n, n_classes = mean.shape
    shares, row = np.zeros((n, n_classes)), np.empty(n_classes)
    first, last = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    for i in range(n):
        slope = np.ascontiguousarray(roots[i, :, 0])
        nodes, weights = nodes_of(slope)
        heights, height_weights = nodes_of(roots[i, :, 1])
        size = len(nodes)
        sums = np.zeros(size + 1)
        sums[1:] = np.cumsum(weights)
        for h in range(len(heights)):
            f = mean[i] + roots[i, :, 1] * heights[h]
            find_dominant(f, slope, nodes[1] - nodes[0], size, first, last)
            row[:] = 0.0
            k = 0
            while k < size:
                end = size
                for c in range(n_classes):
                    if first[c] <= k <= last[c]:
                        row[c] += sums[last[c] + 1] - sums[k]
                        k = end = last[c] + 1
                    elif k < first[c] <= last[c]:
                        end = min(end, first[c])
                if k < end:
                    add_softmax(f, slope, nodes, weights, k, end, row)
                    k = end
            shares[i] += height_weights[h] * row
    return shares
